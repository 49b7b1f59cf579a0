// SPDX-License-Identifier: MIT
// The costs of rotary weights in windows beyond their trained length, with scaled frequencies.
#pragma once

#include "tools/lab/shipped/extrapolation.h"

namespace ordo::lab::extension {

inline constexpr int multiples[] = {1, 2, 4, 8}; // of the trained length
inline constexpr int most_multiple = 8;

// A scaling method: the suffix after the trained spec, followed by the factor if the method takes one. * stands for the
// trained length. own_factor: of a method that follows the length by itself.
struct Method {
    const char *name, *suffix;
    bool takes_factor;
    int own_factor = 0;
};
inline constexpr Method methods[] = {
    {"none", "", false},
    {"linear", ",scaling=linear,factor=", true},
    {"ntk", ",scaling=ntk,factor=", true},
    {"yarn", ",scaling=yarn,factor=", true},
    {"llama3", ",scaling=llama3,original=*,factor=", true},
    {"dynamic", ",scaling=dynamic,factor=", false, 2},
    {"p-rope", ",keep=0.75", false},
};
inline constexpr std::size_t none = 0, linear = 1, ntk = 2, yarn = 3, dynamic = 5, p_rope = 6;

// Nats of documents: a sum and a count for each document.
struct Costs {
    Vector sums, counts;
    double mean() const { return mean_of_sums(sums, counts).mean; }
};
struct AtLength {
    Costs whole, last;
};
// [method][multiple]. For methods with a factor: `fitted` uses the factor for the length, `greatest` the largest factor
// at every length.
struct Extension {
    Trained file;
    std::map<std::pair<std::size_t, int>, AtLength> fitted, greatest;
    std::map<int, std::map<std::pair<std::size_t, int>, AtLength>> by_factor; // 2, 4 and 8, at every length
};

// The extra cost of `over` compared with `under` on the same tokens.
Mean paired(const Costs& over, const Costs& under);

// The weights that were trained with rope, unscaled. Throws Error if there are none, and for other files that --model
// names, unless those have another use.
std::vector<Trained> rotary_models(const Request& request, bool others_too = false);
// The trained spec with a method's scaling.
std::string spec_of(const Trained& file, const Method& method, int factor);
// The file with it.
Model load(const Trained& file, const Method& method, int factor);
// The file with dynamic NTK and keys that are cached one by one, for texts up to a length.
Model load_growing(const Trained& file, int length);
// The documents with at least the longest length, at most `most`. Throws Error(usage) if they are fewer than two.
std::vector<tools::Document> long_documents(const Text& held, const Model& model, std::size_t most);
AtLength measure(const Model& model, std::span<const tools::Document> documents, int trained, int length);
Extension measure_file(const Trained& file, const Text& held, const Request& request);

} // namespace ordo::lab::extension
