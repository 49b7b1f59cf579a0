// SPDX-License-Identifier: MIT
// The results of models at several lengths, and the expectations about them.
#pragma once

#include "tools/lab/shipped/weight_files.h"
#include "tools/opening/scores.h"

#include <map>

namespace ordo::lab {

struct Extrapolation {
    std::string name, encoding; // name: of the file; encoding: without its parameters
    std::string spec;           // as trained
    int context = 0;            // trained
    int refused = 0;            // the first length that the encoding refuses; 0: none
    std::string refusal = {};   // a sentence about this
    // Nats of each scored token, by length. Every length has the same tokens in the same order.
    std::map<int, Vector> whole = {}, last = {};
    std::vector<int> whole_documents = {}, last_documents = {}; // the document of each of these tokens
    // By position in the window, for the whole windows of the largest length.
    int longest = 0;
    std::vector<tools::Tally> positions = {};

    double times(int length) const { return static_cast<double>(length) / context; } // in trained lengths
    const std::map<int, Vector>& losses(bool of_last) const { return of_last ? last : whole; }
    const std::vector<int>& documents(bool of_last) const { return of_last ? last_documents : whole_documents; }
};

// The lengths of --length, or 1/4 to 8 times the context of a model. Throws Error(usage) for lengths that do not divide
// one another or lack the context.
std::vector<int> lengths_of(const Request& request, const std::string& model, int context);

struct WindowPlan {
    std::vector<int> lengths;     // ascending; each is a multiple of the one before
    int step = 64;                // tokens from one end of a window to the next, for the scores of last tokens
    int tail = 32;                // the number of last tokens
    bool short_documents = false; // truncate each document to the largest length
    std::string text = {};        // the name of the documents' source
};
// The result of a pass over windows of one length.
struct WindowLosses {
    std::vector<double> whole; // nats of the tokens after the first of every window, at all lengths
    std::vector<double> last;  // of the last tokens before each end
    std::vector<int> whole_documents, last_documents; // the document of each token
    std::vector<tools::Tally> buckets;                // of whole, by position in the window
};
// Whole: disjoint windows, without the tokens that come first in a window of any length. Last: some tokens before ends
// that are the same at every length. Skips documents shorter than the longest length.
WindowLosses measure_windows(const Model& model, std::span<const tools::Document> documents, const WindowPlan& plan,
                             int length);
// Measures a model at all lengths that its encoding accepts, in documents of at least the longest length. It scores at
// most `tail` of a window's last tokens. Throws Error(usage) if no document is long enough.
Extrapolation extrapolate(const Trained& trained, const Model& model, std::span<const tools::Document> documents,
                          const WindowPlan& plan, const std::function<void(const std::string&)>& progress);

// Writes the expectations, their outcomes, and the published figures with their picture.
void judge(std::span<const Extrapolation> all, Result& result);
// The loss at each length from the trained one on, less that of none there: a picture and a table. chosen: of all
// models, in place of a few. Nothing without none.
void show_frontier(std::span<const Extrapolation> all, bool chosen, Result& result);

} // namespace ordo::lab
