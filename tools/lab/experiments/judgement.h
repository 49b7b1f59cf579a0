// SPDX-License-Identifier: MIT
// What became of an expectation that several cases bear on.
#pragma once

#include "tools/lab/math/statistics.h"

#include <string>

namespace ordo::lab {

class Judgement {
public:
    // A case by its name: "rope at 8x".
    void add(Verdict verdict, const std::string& name);
    // "Expectation 2 was missed: it held in 3 of 5; missed by alibi; undecided for none." Missed if it is in one case.
    // why_not: after "could not be tested".
    std::string sentence(int number, const std::string& why_not = {}) const;

private:
    int cases_ = 0, held_ = 0;
    std::string missed_, undecided_;
};

} // namespace ordo::lab
