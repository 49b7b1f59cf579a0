// SPDX-License-Identifier: MIT
// What the heads of a model attend to: on a text, and on random tokens that come a second time.
#pragma once

#include "ordo.h"

#include <array>
#include <functional>

namespace ordo::lab {

// Weights of one head, a row for each query; what the mask hides is not a number.
using AttentionMap = std::vector<std::vector<double>>;
// Of each layer's heads, layer by layer, as the model computes them.
std::vector<AttentionMap> attention_maps(const Model& model, std::span<const Token> tokens);

// What a head may attend to, of each query: the token before it; an earlier one that is the same; what came after that
// one, which is what an induction head predicts by (Olsson et al. 2022: prefix matching).
enum class HeadKind { previous, duplicate, induction };
inline constexpr HeadKind head_kinds[] = {HeadKind::previous, HeadKind::duplicate, HeadKind::induction};
const char* name_of(HeadKind kind);

// Sequences of n tokens, no two the same, that come twice; n is drawn anew for each. The controls have, in the place of
// the first time, other tokens: what looks back by so many positions gets there what it gets of a repetition.
struct RepetitionPlan {
    int sequences = 128;
    int shortest = 24, longest = 48; // n
};

struct HeadScores {
    int layers = 0, heads = 0;
    // Mean weight over the queries of each sequence, [kind][layer * heads + head][sequence]: of all queries for
    // previous, of those of the second time for the others.
    std::array<std::vector<std::vector<double>>, 3> score, control;
    // What a head would give that attends to all that it sees alike, mean over the sequences.
    std::array<double, 3> uniform = {};
    // Nats a token that the same tokens cost less after a first time than after the others, of each sequence.
    std::vector<double> gain;

    int count() const { return layers * heads; }
};

// Throws Error(usage) for a model whose vocabulary has not enough tokens, or whose context is too short.
HeadScores head_scores(
    const Model& model, const RepetitionPlan& plan, std::uint64_t seed, const std::function<void()>& progress = [] {});

} // namespace ordo::lab
