// SPDX-License-Identifier: MIT
// Runs of training that differ by encoding and seed, what each loses on the documents of a text, and what comparisons
// of them say.
#pragma once

#include "tools/lab/math/comparisons.h"
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

// What one encoding loses more than another, of runs that have seen as many tokens. Seeds are not paired: over seeds
// an encoding's losses do not follow those of another that began with the same weights.
struct Comparison {
    double mean = 0;                   // nats per token
    int runs = 0, others = 0;          // of each
    int degrees_of_seeds = 0;          // of freedom of the pooled spread; 0: there is none
    int documents = 0;                 // 0 where not every run has the same
    double by_seed = std::nan("");     // standard errors: what another seed would change,
    double by_document = std::nan(""); // and what another text would

    bool known() const { return degrees_of_seeds > 0; } // what chance does
    double error() const;                               // of both
    int degrees() const;                                // of freedom of that (Satterthwaite 1946)
    double half() const;                                // of the 95 % interval for another seed and another text
    double p() const;                                   // of a difference as large by chance
};
// None if they have seen other numbers of tokens.
std::optional<Comparison> compare(const Group& a, const Group& b, const Spread& spread);

// The spread between seeds, pooled over the encodings.
Spread spread_of(const std::vector<Group>& groups);

// Comparisons that are judged together, so that the chance of one error among all of them is 5 % at most.
struct Judged {
    std::size_t group, other; // of the groups
    Comparison difference;
    double half = std::nan(""), p = std::nan(""); // corrected for the number of comparisons
    bool decided() const { return p < 0.05; }
};
// Each encoding with none, by Dunnett's test. It takes the least degrees of freedom of all, and the seeds'
// correlation for the documents too.
std::vector<Judged> against_none(const std::vector<Group>& groups, const Spread& spread);
// The pairs of a list that was fixed before any run, by Holm's correction; where the groups have none of these, all
// pairs without none.
std::vector<Judged> listed_pairs(const std::vector<Group>& groups, const Spread& spread, bool& fixed);

// A name as short as tells the groups apart: rope; rotate-stretch:period=6; pattern(rope,none); or all of a spec if
// need be.
void name_groups(std::vector<Group>& groups);

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
