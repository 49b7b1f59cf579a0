// SPDX-License-Identifier: MIT
// How the heads of a model attend: on a text, and on random tokens that occur twice.
#pragma once

#include "tools/lab/study/prelude.h"

namespace ordo::lab {

// The weights of one head, a row for each query. Masked entries are NaN.
using AttentionMap = std::vector<Vector>;
// The maps of each layer's heads, layer by layer, as the model computes them.
std::vector<AttentionMap> attention_maps(const Model& model, std::span<const Token> tokens);

// The key that each query may attend to: the token before it, an earlier equal token, or the token after that one.
// Induction heads predict by the third (Olsson et al. 2022: prefix matching).
enum class HeadKind { previous, duplicate, induction };
inline constexpr HeadKind head_kinds[] = {HeadKind::previous, HeadKind::duplicate, HeadKind::induction};
const char* name_of(HeadKind kind);
template <class Value>
struct OfKinds : std::array<Value, std::size(head_kinds)> {
    Value& operator[](HeadKind kind) { return this->at(static_cast<std::size_t>(kind)); }
    const Value& operator[](HeadKind kind) const { return this->at(static_cast<std::size_t>(kind)); }
};

// Sequences of n distinct tokens that occur twice; each draws a new n. The controls replace the first occurrence with
// other tokens. Heads that look back by a fixed distance score the same on both.
struct RepetitionPlan {
    int sequences = 128;
    int shortest = 24, longest = 48; // n
};

struct HeadScores {
    int layers = 0, heads = 0;
    // The mean weight over the queries of each sequence, [kind][layer * heads + head][sequence]. For previous these are
    // all queries, for the other kinds the queries of the second occurrence.
    OfKinds<std::vector<Vector>> score, control;
    // The weight for a head that attends equally to all visible keys, mean over the sequences.
    OfKinds<double> uniform = {};
    // For each sequence, the saving in nats per token when the same tokens occurred before.
    Vector gain;

    int count() const { return layers * heads; }
};

// Throws Error(usage) for a model with too few tokens in its vocabulary or too short a context.
HeadScores head_scores(
    const Model& model, const RepetitionPlan& plan, std::uint64_t seed, const std::function<void()>& progress = [] {});

// "layer 1 head 2"
std::string head_name(const HeadScores& scores, int head);
// The score minus the control. The score for the previous token needs no control.
Vector over_control(const HeadScores& scores, HeadKind kind, int head);

// The head of the highest score on every second sequence, and its values on the others.
struct Best {
    int head = 0;
    Share score;
    Mean over; // over the control; for previous, over the uniform weight
};
Best best_of(const HeadScores& scores, HeadKind kind);

// A token as the label of an axis.
std::string label_of(const Model& model, Token token);

} // namespace ordo::lab
