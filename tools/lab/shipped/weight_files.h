// SPDX-License-Identifier: MIT
// Trained weights, and the text for measuring them.
#pragma once

#include "tools/lab/study/prelude.h"
#include "tools/train/documents.h"

namespace ordo::lab {

struct Trained {
    std::string name; // of the file, without folders and extension
    std::filesystem::path file;
    std::string encoding; // canonical, as trained
    int context = 0;      // trained, in tokens
};

// The best known encodings, which stand for all where a picture has a curve for each model.
inline constexpr std::string_view best_known[] = {"none", "sinusoidal", "learned", "rope", "alibi", "t5"};
inline bool has_curve(const std::string& name, std::size_t models) {
    return models <= std::size(best_known) || std::ranges::find(best_known, name) != std::end(best_known);
}

// The causal models that --model names, or else all shipped ones. Throws Error(io) if there are none.
std::vector<Trained> trained_models(const Request& request);

// The text of --corpus, or else the shipped heldout.txt.
struct Text {
    std::string name; // of the file, without folders
    std::string text;
};
Text held_out(const Request& request);
inline constexpr std::size_t most_documents = std::numeric_limits<std::size_t>::max();
std::vector<tools::Document> documents_of(const Text& text, const Model& model, std::size_t most = most_documents);

// For each scored token: its nats and its document.
struct Losses {
    std::vector<double> nll;
    std::vector<int> document;
};
// Scores windows of the trained length, cut as in `ordo perplexity`; at most `most` tokens of each document. Each
// window begins at first_position.
Losses score(const Model& model, std::span<const tools::Document> documents,
             std::size_t most = std::numeric_limits<std::size_t>::max(), int first_position = 0);

} // namespace ordo::lab
