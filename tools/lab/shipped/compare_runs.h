// SPDX-License-Identifier: MIT
// Training runs that differ by encoding and seed: their losses on the documents of a text, and comparisons of these.
#pragma once

#include "tools/lab/math/comparisons.h"
#include "tools/lab/shipped/weight_files.h"
#include "tools/lab/study/prelude.h"

#include <array>

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
    std::string trunk = {}; // how the model differs from the first in size or windows; empty: in nothing

    std::vector<double> values(double Run::*what) const;
    double loss() const { return mean_of(values(&Run::nll)).mean; }
};

// A spec without the parameters that have their default in a model of these sizes: rope, rope:theta=100. The same for a
// file whatever other files are compared.
std::string without_defaults(const std::string& spec, const Dims& dims);
// The group of this spec and trunk, added at the end if there is none.
Group& group_of(std::vector<Group>& groups, const std::string& spec, const std::string& trunk = {});
// Removes the groups with a trunk of their own and returns them. They stand beside the ranking.
std::vector<Group> take_others(std::vector<Group>& groups);

// By how much runs on one type of processor lose more than runs of the same encodings on another.
struct ProcessorDifference {
    std::string type, other;
    std::size_t encodings = 0; // that have runs on both
    double mean = 0, error = 0;
    int degrees = 0; // of freedom; at least 1
};
// For the two types that share the most encodings. Empty: no encoding has runs on two types, or no spread is known.
std::optional<ProcessorDifference> processor_difference(const std::vector<Group>& groups);

// The spread between seeds, pooled over the encodings, and the size that a processor's difference may have.
struct StudySpread : Spread {
    double processors = 0; // root mean square of that difference; 0: unknown
};
StudySpread spread_of(const std::vector<Group>& groups);

// The extra loss of one encoding over another, for runs with the same number of training tokens. Seeds are not paired:
// losses of two encodings that began with the same weights do not correlate.
struct Comparison {
    double mean = 0;          // nats per token
    int runs = 0, others = 0; // runs of each encoding
    int documents = 0;        // 0 unless every run has the same documents
    // The errors between the seeds of each, and between texts; the last is 0 without documents. If the shares of runs
    // on each type of processor differ, the first has the error of that, too.
    std::array<ErrorPart, 3> parts{};

    bool known() const { return parts[0].degrees > 0; } // whether chance can be estimated
    double by_seed() const { return std::sqrt(parts[0].square + parts[1].square); }
    double by_document() const { return documents > 0 ? std::sqrt(parts[2].square) : std::nan(""); }
    double error() const { return std::sqrt(parts[0].square + parts[1].square + parts[2].square); } // of all
    int degrees() const { return satterthwaite(parts); }                                            // of freedom
    // Half of the 95 % interval for other seeds and another text, and the probability of such a difference by chance,
    // for `comparisons` together.
    double half(std::size_t comparisons = 1) const;
    double p(std::size_t comparisons = 1) const;
    bool above_one_sided(std::size_t comparisons) const; // whether the first loses more, by more than chance
};
// Empty if their numbers of training tokens differ.
std::optional<Comparison> compare(const Group& a, const Group& b, const StudySpread& spread);

// A comparison judged together with others: the chance of any error among all of them is at most 5 %.
struct Judged {
    std::size_t group, other; // of the groups
    Comparison difference;
    double half = std::nan(""), p = std::nan(""); // corrected for the number of comparisons
    bool decided() const { return p < 0.05; }
};
// Compares each encoding with none.
std::vector<Judged> against_none(const std::vector<Group>& groups, const StudySpread& spread);
// The pairs of a fixed list. If the groups contain none of these pairs, all pairs without the encoding none.
std::vector<Judged> listed_pairs(const std::vector<Group>& groups, const StudySpread& spread, bool& fixed);
inline constexpr const char* list_dates = "twelve listed on 25 November 2026, after the first runs, and two on 27 "
                                          "November 2026, before their runs";

// The encodings that can be the best: no other encoding is better by more than chance. The best encoding is among them
// with a probability of 95 % (Hsu 1984, Annals of Statistics 12, 1136-1144).
std::vector<std::size_t> can_be_best(const std::vector<Group>& groups, const StudySpread& spread);

// The losses of the files of --model, with the sentences on their training.
std::vector<Group> measure_files(const Request& request, const Text& held, Result& result);

// How often the intervals hold in simulated studies that have as many runs and documents as this one.
struct Coverage {
    std::string spread;   // between the seeds of each encoding, in words
    double all_hold = 0;  // the share of studies in which each interval of a difference from none holds
    double best_kept = 0; // and in which the best encoding is among those that can be the best
};
std::vector<Coverage> simulate(const std::vector<Group>& groups, const StudySpread& spread, int studies,
                               std::uint64_t seed);

// The shortest names that tell the groups apart: an encoding without its parameters, or its full spec.
void name_groups(std::vector<Group>& groups);

// Which encodings lose less than others, by more than chance: sentences, tables and pictures. groups: sorted, the best
// first; text: the name of the held-out text; studies: to simulate.
void judge(const std::vector<Group>& groups, const std::string& text, int studies, Result& result);
// The groups beside the ranking, with their differences from none and from the same encoding.
void show_others(const std::vector<Group>& groups, const std::vector<Group>& others, Result& result);

// The results that bench/seeds.sh keeps of runs whose weights are too large to ship.
struct KeptRuns {
    std::filesystem::path folder;
    std::string recipe, text; // of training; of the held-out text
    std::vector<Group> groups;
};
inline constexpr const char *kept_runs_file = "seeds-runs.csv", *kept_documents_file = "seeds-documents.csv",
                            *kept_recipe_file = "seeds-recipe.txt";
inline constexpr const char* second_text_folder = "heldout-2"; // in that folder: the same runs on a second text
// Where to look for them: bench/results next to each folder of weights.
std::vector<std::filesystem::path> kept_folders();
// The runs of the first folder that has any. Throws Error with file and line for unreadable input.
std::optional<KeptRuns> find_kept_runs();
KeptRuns read_kept_runs(const std::filesystem::path& folder);
// The predictions of that folder beside the results of the groups: a sentence and a table. Nothing without predictions.
void show_predictions(const std::filesystem::path& folder, const std::vector<Group>& groups, Result& result);

} // namespace ordo::lab
