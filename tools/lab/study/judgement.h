// SPDX-License-Identifier: MIT
// What became of an expectation that several cases bear on, and what a picture shows, in words.
#pragma once

#include "tools/lab/lab.h"
#include "tools/lab/math/statistics.h"

#include <deque>
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

// Sentences that were written before the run, numbered from 1, and the outcome of each.
class Expectations {
public:
    // The next one; its cases are added to the result. why_not: as above.
    Judgement& expect(std::string sentence, std::string why_not = {});
    void write_to(Result& result) const; // the sentences, and the outcomes behind whatever was found

private:
    struct One {
        std::string sentence, why_not;
        Judgement judgement;
    };
    std::deque<One> all_; // which leaves references as they are
};

// The least and the greatest of the curves' last values, and whether their intervals tell them apart: "from 0.12
// (sinusoidal) to 0.56 (alibi), which is undecided".
std::string extremes_of(const Curves& curves);

} // namespace ordo::lab
