// SPDX-License-Identifier: MIT
// Small problems with exact answers, of any length, for asking whether a model that learnt short ones solves
// longer ones.
#pragma once

#include "ordo.h"

namespace ordo::lab {

// A sequence; the tokens at `scored` are the answer: the model must predict each from all before it.
struct Example {
    std::vector<Token> tokens;
    std::vector<bool> scored; // one for each token
};

struct Task {
    std::string_view name;
    std::string_view question; // what is asked, in one line
    std::string_view unit;     // what its length counts
    int shortest, trained;     // lengths in training, from and to
    int steps, batch;          // of training: at most, and examples of a step
    int choices;               // symbols that an answer is made of, its end apart
    int vocab;
    int (*tokens)(int length); // of an example
    Example (*make)(std::uint64_t seed, std::uint64_t index, int length);
};

inline constexpr Token end_of_answer = 2; // of all tasks

std::span<const Task> tasks();
// Throws Error(usage) with the names that there are.
const Task& find_task(std::string_view name);
// An example as a person would write it: "= start, letters, digits".
std::string text_of(const Example& example);

} // namespace ordo::lab
