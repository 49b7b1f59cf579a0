// SPDX-License-Identifier: MIT
// What models did at several lengths, and what was expected of them.
#pragma once

#include "tools/lab/shipped/trained.h"
#include "tools/model/scores.h"

#include <map>

namespace ordo::lab {

struct Extrapolation {
    std::string name, encoding; // of the file; of the encoding, its parameters apart
    int context = 0;            // trained
    int refused = 0;            // the first length that the encoding refuses; 0: none
    std::string refusal;        // a sentence that says so
    // Nats of each token scored, by length: the same tokens in the same order at every length.
    std::map<int, std::vector<double>> whole, last;
    std::vector<int> whole_documents, last_documents; // that each of these tokens is of
    // Of the whole windows of the greatest length, by position in the window.
    int longest = 0;
    std::vector<tools::Tally> positions;
};

struct WindowPlan {
    std::vector<int> lengths;     // rising, each a multiple of the one before
    int step = 64;                // tokens from one end of a window to the next, where only the last are scored
    bool short_documents = false; // of each as many tokens as the greatest length has, and no more
    std::string text = {};        // the name of what the documents are from
};
// What a model does at all lengths that its encoding does not refuse, in documents that have the longest; of a window's
// last tokens at most 32 are scored. Throws Error(usage) if no document is so long.
Extrapolation extrapolate(const Trained& trained, const Model& model, std::span<const tools::Document> documents,
                          const WindowPlan& plan, const std::function<void(const std::string&)>& progress);

// Writes what was expected, whether it came so, and the published figures, with their picture.
void judge(std::span<const Extrapolation> all, Result& result);

} // namespace ordo::lab
