// SPDX-License-Identifier: MIT
// Runs of training that differ by encoding and seed, what each loses on the documents of a text, and what pairs of them say.
#pragma once

#include "tools/lab/math/statistics.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ordo::lab {

struct DocumentLoss {
    std::int64_t tokens = 0; // scored
    double nll = 0;          // their mean, in nats
};

struct Run {
    std::string file, tokens;            // seen in training
    std::string why_not;                 // what was not measured
    double nll = 0;                      // of all tokens in windows of the trained length
    double farther = std::nan("");       // what the last tokens cost more in windows of 4x that; NaN: not measured
    std::vector<DocumentLoss> documents; // empty: not kept
};

// The runs of one encoding, by seed.
struct Group {
    std::string name, spec;
    std::map<std::string, Run> runs;

    std::vector<double> values(double Run::*what) const;
    double loss() const { return mean_of(values(&Run::nll)).mean; }
};

// What one encoding loses more than another with the same seeds and as many tokens.
struct Paired {
    int seeds = 0, documents = 0; // documents: 0 where not every run has the same
    Mean by_seed;                 // over seeds: what another seed would give
    Mean by_document;             // over documents, of the mean over seeds: what another text would give

    // Both together: half of an interval for another seed and another text.
    double half() const { return std::hypot(by_seed.half, documents > 0 ? by_document.half : 0); }
    Interval interval() const { return {by_seed.mean - half(), by_seed.mean + half()}; }
};
// None if they share no seed.
std::optional<Paired> paired(const Group& a, const Group& b);

// Of groups, the best first: "shaw loses least (undecided against 12 of 14), none most (undecided against 2 of 14)".
std::string extremes_of(const std::vector<Group>& groups);

// What bench/seeds.sh keeps of runs whose weights are too many to be shipped.
struct KeptRuns {
    std::filesystem::path folder;
    std::string recipe;
    std::vector<Group> groups;
};
inline constexpr const char *kept_runs_file = "seeds-runs.csv", *kept_documents_file = "seeds-documents.csv",
                            *kept_recipe_file = "seeds-recipe.txt";
// Where they are looked for: bench/results beside each folder of weights.
std::vector<std::filesystem::path> kept_folders();
// Those of the first such folder that has any. Throws Error naming file and line for what cannot be read.
std::optional<KeptRuns> find_kept_runs();
KeptRuns read_kept_runs(const std::filesystem::path& folder);

} // namespace ordo::lab
