// SPDX-License-Identifier: MIT
// Perplexity in windows shorter and longer than the trained length, on the same tokens at every length.
// Press, Smith and Lewis 2022, "Train Short, Test Long", arXiv 2108.12409, first asked this question.
#include "core/error.h"
#include "tools/lab/math/numbers.h"
#include "tools/lab/math/statistics.h"
#include "tools/lab/shipped/extrapolation.h"

#include <algorithm>
#include <cmath>

namespace ordo::lab {

namespace {

// Multiples of the trained context.
constexpr double multiples[] = {0.25, 0.5, 1, 2, 4, 8};

std::vector<int> lengths_of(const Request& request, const std::string& model, int context) {
    std::vector<int> lengths;
    if (!request.arguments.has("length"))
        for (const double multiple : multiples) lengths.push_back(std::max(2, static_cast<int>(multiple * context)));
    else
        for (const std::int64_t length : request.arguments.integers("length"))
            lengths.push_back(static_cast<int>(length));
    for (std::size_t i = 0; i < lengths.size(); ++i)
        if (i == 0 && lengths[i] < 2)
            fail(ErrorCode::usage, "option --length: expected lengths of 2 tokens or more, found ", lengths[i]);
        else if (i > 0 && (lengths[i] <= lengths[i - 1] || lengths[i] % lengths[i - 1] != 0))
            fail(ErrorCode::usage, "option --length: expected each a multiple of the one before, found ", lengths[i],
                 " after ", lengths[i - 1]);
    if (std::find(lengths.begin(), lengths.end(), context) == lengths.end())
        fail(ErrorCode::usage, "option --length: expected the ", context, " that ", model,
             " was trained on among them, found only others");
    return lengths;
}

// A row for each length and kind of window, with errors.
void add_rows(Figures& figures, const Extrapolation& one, int length) {
    const double multiple = static_cast<double>(length) / one.context;
    for (const bool last : {false, true}) {
        const std::map<int, std::vector<double>>& values = last ? one.last : one.whole;
        const std::vector<int>& documents = last ? one.last_documents : one.whole_documents;
        const Vector& own = values.at(length);
        const Mean mean = mean_of_clusters(own, documents);
        std::vector<Cell> row{one.name,
                              std::int64_t{length},
                              multiple,
                              std::string(last ? "last" : "whole"),
                              static_cast<std::int64_t>(own.size()),
                              mean.mean,
                              known(mean.half),
                              std::exp(mean.mean),
                              {},
                              {}};
        // An encoding may refuse even the length at which the weights were trained.
        if (const auto trained = values.find(one.context); trained != values.end()) {
            Vector over = own;
            for (std::size_t i = 0; i < over.size(); ++i) over[i] -= trained->second[i];
            const Mean difference = mean_of_clusters(over, documents);
            row[8] = difference.mean;
            row[9] = known(difference.half);
        }
        figures.rows.push_back(std::move(row));
    }
}

// Perplexity: a row for each length, a column for each model.
Figures by_length(std::span<const Extrapolation> all, bool last) {
    Figures figures{{"of_trained"}, {}, 2};
    std::map<double, std::vector<Cell>> rows;
    for (std::size_t m = 0; m < all.size(); ++m) {
        figures.columns.push_back(all[m].name);
        for (const auto& [length, values] : last ? all[m].last : all[m].whole) {
            std::vector<Cell>& row = rows[static_cast<double>(length) / all[m].context];
            row.resize(1 + all.size());
            row[1 + m] = std::exp(sample_of(values).mean());
        }
    }
    for (auto& [multiple, row] : rows) {
        row[0] = multiple;
        figures.rows.push_back(std::move(row));
    }
    return figures;
}

// Perplexity by position in the longest windows that a model accepts.
Figures by_position(std::span<const Extrapolation> all) {
    Figures figures{{"position"}, {}, 2};
    std::size_t most = 0;
    for (const Extrapolation& one : all) {
        figures.columns.push_back(one.name);
        most = std::max(most, one.positions.size());
    }
    for (std::size_t bucket = 0; bucket < most; ++bucket) {
        std::vector<Cell> row(1 + all.size());
        row[0] = tools::bucket_name(bucket, std::numeric_limits<int>::max());
        for (std::size_t m = 0; m < all.size(); ++m)
            if (bucket < all[m].positions.size() && all[m].positions[bucket].tokens > 0)
                row[1 + m] = std::exp(all[m].positions[bucket].mean());
        figures.rows.push_back(std::move(row));
    }
    return figures;
}

// The models whose tokens cost more in the longest windows than at the trained length, by the interval over documents.
std::string who_rises(std::span<const Extrapolation> all, bool last) {
    int more = 0, less = 0, undecided = 0;
    for (const Extrapolation& one : all) {
        const std::map<int, std::vector<double>>& values = last ? one.last : one.whole;
        const auto near = values.find(one.context);
        if (near == values.end() || values.rbegin()->first <= one.context) continue;
        Vector over = values.rbegin()->second;
        for (std::size_t i = 0; i < over.size(); ++i) over[i] -= near->second[i];
        const Verdict verdict =
            above(mean_of_clusters(over, last ? one.last_documents : one.whole_documents).interval(), 0);
        ++(verdict == Verdict::held ? more : verdict == Verdict::missed ? less : undecided);
    }
    return text("higher in the longest windows than at the trained length for ", more, ", lower for ", less,
                ", undecided for ", undecided);
}

Picture picture_of(std::span<const Extrapolation> all, bool last) {
    Curves curves;
    curves.log_x = curves.log_y = true;
    for (const Extrapolation& one : all) {
        Series& curve = curves.series.emplace_back(series(one.name, Series::Style::line_points));
        for (const auto& [length, nll] : last ? one.last : one.whole) {
            curve.x.push_back(static_cast<double>(length) / one.context);
            curve.y.push_back(std::exp(sample_of(nll).mean()));
        }
    }
    return {last ? "last-curve" : "whole-curve",
            (last ? "Perplexity of the last tokens of a window: " : "Perplexity of all tokens of a window: ") +
                who_rises(all, last),
            "window, in trained lengths", "perplexity", std::move(curves)};
}

Result run(const Request& request) {
    const std::vector<Trained> models = trained_models(request);
    const Text held = held_out(request);
    Figures lengths{
        {"model", "length", "of_trained", "window", "tokens", "nll", "half", "ppl", "nll_over_1x", "half_over_1x"},
        {},
        3};
    Result result;
    std::vector<Extrapolation> all;
    for (const Trained& trained : models) {
        const Model model = Model::load(trained.file);
        WindowPlan plan{.lengths = lengths_of(request, trained.name, trained.context), .text = held.name};
        plan.short_documents = request.quick;
        all.push_back(extrapolate(trained, model, documents_of(held, model), plan, request.progress));
        if (!all.back().refusal.empty()) result.found.push_back(all.back().refusal);
        for (const auto& [length, values] : all.back().whole) add_rows(lengths, all.back(), length);
    }
    result.tables = {
        {"last", text("Perplexity of the last tokens of windows, ", held.name), by_length(all, true)},
        {"whole", text("Perplexity of whole windows, ", held.name), by_length(all, false)},
        {"position", "Perplexity by position in the longest windows that a model can take", by_position(all)},
        {"lengths",
         "Nats per token with half of the 95 % interval over documents, and the difference to the same tokens at the "
         "trained length",
         std::move(lengths)}};
    result.pictures = {picture_of(all, false), picture_of(all, true)};
    judge(all, result);
    if (std::any_of(all.begin(), all.end(), [](const Extrapolation& one) {
            return one.last.contains(one.context) && one.last.rbegin()->first > one.context;
        }))
        result.found.insert(result.found.begin(),
                            text("Perplexity of the last tokens of a window is ", who_rises(all, true), "."));
    result.notes = {
        "nll: mean negative log-likelihood, in nats per token; ppl: perplexity, e^nll; of_trained: the window's length "
        "over the trained one.",
        "window whole: documents cut into disjoint windows of the length; the same tokens are scored at every length, "
        "which leaves out those that are the first of a window at any length. window last: the last tokens before ends "
        "that are the same at every length; each has the whole window before it, so that a longer window can only help "
        "a model that can use it.",
        "nll_over_1x is the mean difference to the same tokens at the trained length; half: of the 95 % interval over "
        "the "
        "documents of the text, which are few. One trained model of each kind says nothing of what another seed would "
        "give.",
        "In whole windows a shorter window has more tokens with little before them; that is why perplexity falls up to "
        "the trained length even for a model that could not use more context.",
        "Models of this size show shapes, not the published gaps: those are of 247M parameters on another text. What "
        "the last tokens of windows are here the paper measures by sliding windows (its tables 13 to 15): from 512 to "
        "3072 tokens the perplexity goes from 18.35 to 360.12 (sinusoidal), from 17.92 to 30.77 (T5 bias) and from "
        "17.98 to 18.3 (ALiBi); so what ALiBi gains in whole windows is that fewer tokens have little before them."};
    return result;
}

constexpr std::string_view options[] = {"model", "corpus", "length"};

} // namespace

extern const Experiment extrapolate_experiment;
const Experiment extrapolate_experiment{
    .name = "extrapolate",
    .summary = "what happens to perplexity beyond the length that a model was trained on?",
    .details = "Every shipped weight file at 0.25x to 8x of its trained context, whole windows and last tokens, by "
               "position, beside figures of the ALiBi paper. What was expected was written before any of it was run.",
    .options = options,
    .seconds = 240,
    .quick_seconds = 30,
    .run = run};

} // namespace ordo::lab
