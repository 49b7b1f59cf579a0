// SPDX-License-Identifier: MIT
// Training runs that differ by encoding and seed: their losses on the documents of a text, and comparisons of these.
#pragma once

#include "tools/lab/math/comparisons.h"
#include "tools/lab/study/prelude.h"

namespace ordo::lab {

struct DocumentLoss {
    std::int64_t tokens = 0; // scored
    double nll = 0;          // mean over these tokens, in nats
};

struct Run {
    std::string file, tokens;            // seen in training
    std::string processor;               // that finished its training; empty: unknown
    std::string why_not;                 // the reason for a missing measurement
    double nll = 0;                      // of all tokens, in windows of the trained length
    double farther = std::nan("");       // extra cost of last tokens at 4x the trained length; NaN: unknown
    std::vector<DocumentLoss> documents; // empty: not kept
};

// The runs of one encoding, by seed.
struct Group {
    std::string name, spec;
    std::map<std::string, Run> runs;

    std::vector<double> values(double Run::*what) const;
    double loss() const { return mean_of(values(&Run::nll)).mean; }
};

// The group of this spec, added at the end if there is none.
Group& group_of(std::vector<Group>& groups, const std::string& spec);

// The extra loss of one encoding over another, for runs with the same number of training tokens. Seeds are not paired:
// losses of two encodings that began with the same weights do not correlate.
struct Comparison {
    double mean = 0;                   // nats per token
    int runs = 0, others = 0;          // runs of each encoding
    int degrees_of_seeds = 0;          // of freedom of the pooled spread; 0: there is none
    int documents = 0;                 // 0 unless every run has the same documents
    double by_seed = std::nan("");     // standard error between seeds
    double by_document = std::nan(""); // and between texts

    bool known() const { return degrees_of_seeds > 0; } // whether chance can be estimated
    double error() const;                               // for seeds and documents together
    int degrees() const;                                // of freedom of error() (Satterthwaite 1946)
    double half() const;                                // of the 95 % interval for another seed and another text
    double p() const;                                   // of such a difference by chance
};
// Empty if their numbers of training tokens differ.
std::optional<Comparison> compare(const Group& a, const Group& b, const Spread& spread);

// The spread between seeds, pooled over the encodings.
Spread spread_of(const std::vector<Group>& groups);

// Comparisons judged together: the chance of any error among all of them is at most 5 %.
struct Judged {
    std::size_t group, other; // of the groups
    Comparison difference;
    double half = std::nan(""), p = std::nan(""); // corrected for the number of comparisons
    bool decided() const { return p < 0.05; }
};
// Compares each encoding with none by Dunnett's test. It uses the smallest degrees of freedom of all comparisons, and
// the correlation of the seeds for the documents, too.
std::vector<Judged> against_none(const std::vector<Group>& groups, const Spread& spread);
// The pairs of a list fixed before the runs of their encodings, with Holm's correction. If the groups contain none of
// these pairs, all pairs without the encoding none.
std::vector<Judged> listed_pairs(const std::vector<Group>& groups, const Spread& spread, bool& fixed);

// The shortest names that tell the groups apart: rope; rotate-stretch:period=6; pattern(rope,none); or the full spec.
void name_groups(std::vector<Group>& groups);

// Which encodings lose less than others, by more than chance: sentences, tables and pictures. groups: sorted, the best
// first.
void judge(const std::vector<Group>& groups, Result& result);

// The results that bench/seeds.sh keeps of runs whose weights are too large to ship.
struct KeptRuns {
    std::filesystem::path folder;
    std::string recipe;
    std::vector<Group> groups;
};
inline constexpr const char *kept_runs_file = "seeds-runs.csv", *kept_documents_file = "seeds-documents.csv",
                            *kept_recipe_file = "seeds-recipe.txt";
// Where to look for them: bench/results next to each folder of weights.
std::vector<std::filesystem::path> kept_folders();
// The runs of the first folder that has any. Throws Error with file and line for unreadable input.
std::optional<KeptRuns> find_kept_runs();
KeptRuns read_kept_runs(const std::filesystem::path& folder);

} // namespace ordo::lab
