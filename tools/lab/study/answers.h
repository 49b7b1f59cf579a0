// SPDX-License-Identifier: MIT
// The answers of several models as sentences, curves and maps, and the verdicts on expectations with several cases.
#pragma once

#include "tools/lab/lab.h"
#include "tools/lab/math/statistics.h"

#include <deque>
#include <functional>
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

using Names = std::vector<std::string>;

// Of several models, by a function of a model's place among their names: the smallest and the largest value,
// "0.12 (sinusoidal) to 0.56 (alibi)". NaN is skipped.
std::string ends_of(const Names& names, const std::function<double(std::size_t)>& value, int decimals = 2);

// A curve for each name over x, with the interval of each share if it is known. A share of NaN is left out.
Curves curves_of(const Names& names, const Vector& x,
                 const std::function<Share(std::size_t name, std::size_t x)>& share, const std::string& interval);

// A map of shares, with a row for each name of y.
HeatMap map_of(const Names& y, const Names& x, const std::function<double(std::size_t y, std::size_t x)>& share);

} // namespace ordo::lab
