// SPDX-License-Identifier: MIT
// The verdict on an expectation with several cases, and the findings of a picture, in words.
#pragma once

#include "tools/lab/lab.h"
#include "tools/lab/math/statistics.h"

#include <deque>
#include <string>

namespace ordo::lab {

class Judgement {
public:
    // A case by name: "rope at 8x".
    void add(Verdict verdict, const std::string& name);
    // "Expectation 2 was missed: it held in 3 of 5; missed by alibi; undecided for none." One missed case makes it
    // missed. why_not: the text after "could not be tested".
    std::string sentence(int number, const std::string& why_not = {}) const;

private:
    int cases_ = 0, held_ = 0;
    std::string missed_, undecided_;
};

// Sentences from before the run, numbered from 1, and the outcome of each.
class Expectations {
public:
    // Adds the next sentence; add its cases to the returned object. why_not: as above.
    Judgement& expect(std::string sentence, std::string why_not = {});
    void write_to(Result& result) const; // the sentences, and their outcomes after the findings

private:
    struct One {
        std::string sentence, why_not;
        Judgement judgement;
    };
    std::deque<One> all_; // a deque keeps references valid
};

// The smallest and the largest of the curves' last values, and whether their intervals differ: "from 0.12 (sinusoidal)
// to 0.56 (alibi), which is undecided".
std::string extremes_of(const Curves& curves);

} // namespace ordo::lab
