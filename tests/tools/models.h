// SPDX-License-Identifier: MIT
// Small models for the program to run.
#pragma once

#include <filesystem>
#include <string>

namespace ordo::test {

// A directory that exists as long as the process:
//   rope, none, learned, alibi.safetensors: the alphabet model, each trained with that encoding
//   random.safetensors: random weights, rope:theta=500; segments.safetensors: the same with segment+learned
//   chat/mistral.safetensors: random weights with Mistral's chat template; chat/odd.safetensors: an unknown template
//   heldout.txt: "abcd", "abca" and "xyzz" as documents
const std::filesystem::path& model_directory();
std::string model_file(const std::string& name); // without ".safetensors"

constexpr int model_context = 64;

// The tokens of the alphabet model are bytes, and each byte has one successor. Attention and the feed-forward network
// output zero. The embedding of byte b is the b-th unit vector of width 260, which RMSNorm scales to the length
// 1 / sqrt(1/260 + 1e-5). The head multiplies that by 1/2 for the successor and by 0 for all other tokens. So one logit
// is alphabet_logit(), and the other 256 are 0. The successor of b is b + 1, with two exceptions. First,
// x > 0xc3 > 0xa9 > ! > end of text, so that "é!" follows x. Second, Z > Z.
double alphabet_logit();
int successor(int token);

} // namespace ordo::test
