// SPDX-License-Identifier: MIT
// Trained with one encoding, run with another: an experiment with --force-encoding.
#include "tools/lab/shipped/weight_files.h"
#include "tools/opening/scores.h"
#include "tools/opening/weights.h"

namespace ordo::lab {
namespace swap_file {

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
        add(std::string(info->name), ModelEncodings(info->name, dims).spec());
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
    HeatMap map{.blank = "cannot run"};
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
            add_row(swaps.refused, trained.name, other.name, reason);
            continue;
        }
        const Mean mean = mean_of_clusters(nll, own.document);
        row.push_back(mean.mean);
        const Mean over = mean_of_clusters(minus(nll, own.nll), own.document);
        add_row(swaps.pairs, trained.name, other.name, nll.size(), mean, std::exp(mean.mean), over);
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
    for (std::size_t i = 0; i < map.values.size(); ++i) add_row(figures, map.y_names[i], map.values[i]);
    return figures;
}

// Drops the encodings with which no weights can run.
void without_empty_columns(HeatMap& map) {
    for (std::size_t c = map.x_names.size(); c-- > 0;) {
        const auto empty = [c](const Vector& row) { return std::isnan(row[c]); };
        if (!std::all_of(map.values.begin(), map.values.end(), empty)) continue;
        map.x_names.erase(map.x_names.begin() + static_cast<std::ptrdiff_t>(c));
        for (Vector& row : map.values) row.erase(row.begin() + static_cast<std::ptrdiff_t>(c));
    }
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
    result.answer = told(
        "{} of {} swaps predict worse than the weights' own encoding, by up to {} nats per token ({}). The smallest "
        "change is {} ({}).",
        swaps.dearer, swaps.swapped, figure(swaps.most, 2), swaps.most_pair, figure(swaps.least, 2), swaps.least_pair);
    result.found = {told("By the 95 % interval over documents, {} of {} swaps predict worse and {} better; the others "
                         "are undecided. {} pairs cannot run, because the weights lack tensors or dimensions.",
                         swaps.dearer, swaps.swapped, swaps.cheaper, swaps.refused.rows.size()),
                    told("Without --force-encoding, {} of {} pairs of different encodings are refused.",
                         swaps.unforced_refused, swaps.unforced)};
    result.notes = {
        "nll is the mean negative log-likelihood, in nats per token; nll_over_own is the difference from the weights' "
        "own encoding, on the same tokens. It shows how much the weights rely on their own encoding, not how "
        "good the other is: that takes training with it.",
        "sinusoidal multiplies the embeddings by sqrt(d) before it adds its waves, so weights trained with it "
        "have small embeddings, and the other encodings do not scale them up.",
        text("Text: ", held.name,
             ", windows of the trained length; half: half the width of the 95 % interval over documents.")};
    const std::string best = text(swaps.best_as_trained, " of ", models.size(),
                                  " weights (rows) have their smallest loss with their own encoding (columns)");
    result.tables.push_back({"matrix", best + ": nats per token", matrix_of(swaps.map)});
    if (!swaps.refused.rows.empty())
        result.tables.push_back(
            {"refused", text(swaps.refused.rows.size(), " pairs cannot run"), std::move(swaps.refused)});
    result.tables.push_back(
        {"pairs",
         text("Each of ", swaps.swapped, " swaps: nats per token, and the difference from the weights' own encoding"),
         std::move(swaps.pairs)});
    without_empty_columns(swaps.map);
    result.pictures.push_back({"heat-map", best, "run with", "trained with", std::move(swaps.map)});
    return result;
}

} // namespace swap_file

const Experiment swap_experiment{
    .name = "swap",
    .summary = "What if weights run with another encoding?",
    .details = "Every shipped weight file runs with its own encoding, with those of the other files and with every "
               "registered encoding; the loss on held-out text is compared. Pairs that cannot run are listed.",
    .options = {"model", "corpus"},
    .seconds = {40, 8},
    .run = swap_file::run};

} // namespace ordo::lab
