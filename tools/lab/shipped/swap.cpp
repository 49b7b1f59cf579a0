// SPDX-License-Identifier: MIT
// Trained with one encoding, run with another: an experiment with --force-encoding.
#include "core/error.h"
#include "encoding/base/registry.h"
#include "model/model.h"
#include "tools/lab/math/numbers.h"
#include "tools/lab/math/statistics.h"
#include "tools/lab/shipped/trained.h"
#include "tools/model/scores.h"
#include "tools/model/weights.h"

#include <algorithm>
#include <cmath>

namespace ordo::lab {

namespace {

// An encoding to run with: its name in the tables, and its spec.
struct Other {
    std::string name, spec;
};

// The encodings of the models, then all other registered encodings.
std::vector<Other> encodings_of(std::span<const Trained> models) {
    std::vector<Other> all;
    const auto add = [&](const std::string& name, const std::string& spec) {
        if (std::none_of(all.begin(), all.end(), [&](const Other& other) { return other.spec == spec; }))
            all.push_back({name, spec});
    };
    for (const Trained& trained : models) add(trained.name, trained.encoding);
    const Dims dims = tools::read_facts(models[0].file).blueprint.dims();
    for (const EncodingInfo* info : registered_encodings())
        add(std::string(info->name), EncodingStack(info->name, dims).spec());
    return all;
}

// Empty on success, otherwise the reason.
std::string try_score(const Trained& trained, const Other& other, bool force, const Text& text, std::size_t most,
                      Vector& out) {
    LoadOptions options;
    options.encoding = other.spec;
    options.force_encoding = force;
    try {
        const Model model = Model::load(trained.file, options);
        if (most > 0) out = score(model, documents_of(text, model), most).nll;
        return {};
    } catch (const Error& error) {
        if (error.code == ErrorCode::io) throw;
        const std::string why = error.what(), file = trained.file.filename().string() + ": ";
        const std::size_t at = why.find(file); // the row already names the file
        return at == std::string::npos ? why : why.substr(at + file.size());
    }
}

struct Swaps {
    Figures pairs{{"trained_with", "run_with", "tokens", "nll", "half", "ppl", "nll_over_own", "half_over_own"}, {}, 3};
    Figures refused{{"trained_with", "run_with", "reason"}, {}, -1};
    HeatMap map{.blank = "refused, for the reason in the table"};
    int swapped = 0;                           // pairs that ran
    int dearer = 0, cheaper = 0;               // than with the own encoding, by more than the interval
    int unforced = 0, unforced_refused = 0;    // pairs of different encodings, without force
    int best_as_trained = 0;                   // rows whose smallest loss is with their own encoding
    double least = HUGE_VAL, most = -HUGE_VAL; // nll relative to the own encoding
    std::string least_pair, most_pair;
};

void run_one(const Trained& trained, std::span<const Other> others, const Request& request, const Text& held,
             Swaps& swaps) {
    const std::size_t most = request.quick ? 100 : 700; // tokens of each document
    const Model model = Model::load(trained.file);
    const Losses own = score(model, documents_of(held, model), most);
    std::vector<double>& row = swaps.map.values.emplace_back();
    swaps.map.y_names.push_back(trained.name);
    for (const Other& other : others) {
        request.progress(trained.name + " with " + other.name);
        const bool same = other.spec == trained.encoding;
        Vector nll = same ? own.nll : Vector();
        const std::string reason = same ? "" : try_score(trained, other, true, held, most, nll);
        if (!same) {
            Vector nothing;
            ++swaps.unforced;
            swaps.unforced_refused += !try_score(trained, other, false, held, 0, nothing).empty();
        }
        if (!reason.empty()) {
            row.push_back(std::nan(""));
            swaps.refused.add(trained.name, other.name, reason);
            continue;
        }
        const Mean mean = mean_of_clusters(nll, own.document);
        row.push_back(mean.mean);
        const auto count = static_cast<std::int64_t>(nll.size());
        for (std::size_t i = 0; i < nll.size(); ++i) nll[i] -= own.nll[i];
        const Mean over = mean_of_clusters(nll, own.document);
        swaps.pairs.add(trained.name, other.name, count, mean.mean, known(mean.half), std::exp(mean.mean), over.mean,
                        known(over.half));
        if (same) continue;
        ++swaps.swapped;
        swaps.dearer += above(over.interval(), 0) == Verdict::held;
        swaps.cheaper += below(over.interval(), 0) == Verdict::held;
        const std::string pair = text(trained.name, " run with ", other.name);
        if (over.mean < swaps.least) swaps.least = over.mean, swaps.least_pair = pair;
        if (over.mean > swaps.most) swaps.most = over.mean, swaps.most_pair = pair;
    }
    const double own_loss = mean_of_clusters(own.nll, own.document).mean;
    swaps.best_as_trained +=
        std::none_of(row.begin(), row.end(), [&](double loss) { return loss < own_loss; }); // refused: NaN
}

Figures matrix_of(const HeatMap& map) {
    Figures figures{{"trained_with"}, {}, 2};
    figures.columns.insert(figures.columns.end(), map.x_names.begin(), map.x_names.end());
    for (std::size_t i = 0; i < map.values.size(); ++i) {
        std::vector<Cell> row(1 + map.values[i].size());
        row[0] = map.y_names[i];
        for (std::size_t j = 0; j < map.values[i].size(); ++j)
            if (!std::isnan(map.values[i][j])) row[1 + j] = map.values[i][j];
        figures.rows.push_back(std::move(row));
    }
    return figures;
}

Result run(const Request& request) {
    const std::vector<Trained> models = trained_models(request);
    const Text held = held_out(request);
    const std::vector<Other> others = encodings_of(models);
    Swaps swaps;
    swaps.map.diverging = false;
    swaps.map.value_label = "nats per token";
    for (const Other& other : others) swaps.map.x_names.push_back(other.name);
    for (const Trained& trained : models) run_one(trained, others, request, held, swaps);

    Result result;
    result.found = {text(swaps.dearer, " of ", swaps.swapped,
                         " pairs that ran predict the text worse than with the encoding that the weights were trained "
                         "with, by more than the 95 % interval over documents; ",
                         swaps.cheaper, " better, and ", swaps.swapped - swaps.dearer - swaps.cheaper,
                         " are undecided.")};
    if (swaps.swapped > 0)
        result.found.push_back(text("The swap that matters least is ", swaps.least_pair, " (", figure(swaps.least, 2),
                                    " nats per token more), the one that matters most ", swaps.most_pair, " (",
                                    figure(swaps.most, 2), ")."));
    result.found.push_back(text(swaps.refused.rows.size(),
                                " pairs cannot run at all, for want of the other encoding's tensors or of "
                                "dimensions that it needs; the table says why."));
    result.found.push_back(text("Without --force-encoding ", swaps.unforced_refused, " of ", swaps.unforced,
                                " pairs of different encodings are refused."));
    result.notes = {
        "nll: mean negative log-likelihood, in nats per token; ppl: perplexity, e^nll; nll_over_own: nll less that "
        "with the weights' own encoding, on the same tokens.",
        "A model that runs with an encoding that it never saw shows what its weights rely on, not what the other "
        "encoding is worth: that takes training with it.",
        "sinusoidal multiplies the embeddings by sqrt(d) before it adds its waves: weights trained with it have small "
        "embeddings, which the others leave as they are, and the other way round.",
        text("Text: ", held.name,
             ", windows of the trained length, the same tokens for every pair; half: of the 95 % interval over "
             "documents.")};
    const std::string best = text(swaps.best_as_trained, " of ", models.size(),
                                  " weights (rows) lose least with the encoding (columns) that they were trained with");
    result.tables.push_back({"matrix", best + ": nats per token", matrix_of(swaps.map)});
    if (!swaps.refused.rows.empty())
        result.tables.push_back(
            {"refused", text(swaps.refused.rows.size(), " pairs cannot run"), std::move(swaps.refused)});
    result.tables.push_back({"pairs",
                             text("Of ", swaps.swapped, " swaps ", swaps.dearer,
                                  " cost more beyond the interval: nats per token, and the difference to the weights' "
                                  "own encoding on the same tokens"),
                             std::move(swaps.pairs)});
    result.pictures.push_back({"heat-map", best, "run with", "trained with", std::move(swaps.map)});
    return result;
}

constexpr std::string_view options[] = {"model", "corpus"};

} // namespace

extern const Experiment swap_experiment;
const Experiment swap_experiment{
    .name = "swap",
    .summary = "what if weights trained with one encoding are run with another?",
    .details = "Every shipped weight file with the encoding of every other and with every registered one, forced; the "
               "loss on held-out text. Pairs that cannot run are named with the reason.",
    .options = options,
    .seconds = 40,
    .quick_seconds = 8,
    .run = run};

} // namespace ordo::lab
