// SPDX-License-Identifier: MIT
// Trained weights and the text that they are measured on.
#pragma once

#include "tools/lab/lab.h"
#include "tools/train/documents.h"

namespace ordo::lab {

struct Trained {
    std::string name; // of the file, without folders and ending
    std::filesystem::path file;
    std::string encoding; // canonical, as trained
    int context = 0;      // trained, in tokens
};

// The files that --model names, or else all shipped ones; those of causal models. Throws Error(io) if there are none.
std::vector<Trained> trained_models(const Request& request);

// The text that --corpus names, or else the shipped heldout.txt.
struct Text {
    std::string name; // of the file, without folders
    std::string text;
};
Text held_out(const Request& request);
std::vector<tools::Document> documents_of(const Text& text, const Model& model);

// Of each token scored: its nats, and which document it is of.
struct Losses {
    std::vector<double> nll;
    std::vector<int> document;
};
// In windows of the trained length, as `ordo perplexity` cuts them; at most so many tokens of each document.
Losses score(const Model& model, std::span<const tools::Document> documents,
             std::size_t most = std::numeric_limits<std::size_t>::max());

} // namespace ordo::lab
