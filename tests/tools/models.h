// SPDX-License-Identifier: MIT
// Small models for the program to run.
#pragma once

#include <filesystem>
#include <string>

namespace ordo::test {

// A directory that lives as long as the process:
//   rope, none, learned, alibi.safetensors: the alphabet model, each trained with that encoding
//   random.safetensors: random weights, rope:theta=500; segments.safetensors: the same with segment+learned
//   chat/mistral.safetensors: random weights with Mistral's chat template; chat/odd.safetensors: with one that is none
//     of the known
//   heldout.txt: "abcd", "abca" and "xyzz" as documents
const std::filesystem::path& model_directory();
std::string model_file(const std::string& name); // without ".safetensors"

constexpr int model_context = 64;

// The alphabet model has bytes for tokens and knows one thing: what follows each of them. Attention
// and feed-forward give zero; the embedding of byte b is the b-th unit vector of width 260, which
// RMSNorm makes 1 / sqrt(1/260 + 1e-5) long; the head multiplies that by 1/2 for the successor and by
// 0 for all others. So one logit is alphabet_logit(), the other 256 are 0.
// Successors: b + 1; but x > 0xc3 > 0xa9 > ! > end of text, so that "é!" follows x; and Z > Z.
double alphabet_logit();
int successor(int token);

} // namespace ordo::test
