// SPDX-License-Identifier: MIT
// Small problems with exact answers, of any length. They test whether a model that learnt short ones solves longer
// ones.
#pragma once

#include "rows.h"

namespace ordo::lab {

// A sequence. The tokens at `scored` are the answer: the model must predict each from all tokens before it.
struct Example {
    std::vector<Token> tokens;
    std::vector<bool> scored;       // one for each token
    std::vector<int> segments = {}; // likewise; empty: none
};

struct Task {
    std::string_view name;
    std::string_view question; // in one line
    std::string_view unit;     // the unit of its length
    int shortest, trained;     // shortest and longest length in training
    int steps, batch;          // steps: the maximum; batch: examples in a step
    int choices;               // number of symbols in answers, without the end
    int vocab;
    int factor, extra; // for the tokens of an example
    Example (*make)(std::uint64_t seed, std::uint64_t index, int length);
    std::string_view encodings = {}; // that a paper compares on it; empty: the usual ones. Others run if they are named
    std::string_view winner = {};    // of these encodings, predicted before any run to be right most often beyond
                                     // the trained length

    int tokens(int length) const { return factor * length + extra; }
};

inline constexpr Token end_of_answer = 2; // of all tasks

std::span<const Task> tasks();
// Two parts of a text give each key another digit, and a question asks one of the parts. Only the segments tell the
// parts apart.
const Task& segment_task();
std::string task_names();
// Throws Error(usage) with the names of all tasks.
const Task& find_task(std::string_view name);
// An example in readable form: "= start, letters, digits".
std::string text_of(const Example& example);

} // namespace ordo::lab
