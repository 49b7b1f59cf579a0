// SPDX-License-Identifier: MIT
// Perplexity in windows shorter and longer than the trained length, on the same tokens at every length.
// Press, Smith and Lewis 2022, "Train Short, Test Long", arXiv 2108.12409, first asked this question.
#include "tools/lab/shipped/extrapolation.h"
#include "tools/lab/study/answers.h"

namespace ordo::lab {
namespace extrapolate_file {

// A row for each length and kind of window, with errors.
void add_rows(Figures& figures, const Extrapolation& one, int length) {
    const double multiple = one.times(length);
    for (const bool last : {false, true}) {
        const std::map<int, Vector>& values = one.losses(last);
        const std::vector<int>& documents = one.documents(last);
        const Vector& own = values.at(length);
        const Mean mean = mean_of_clusters(own, documents);
        add_row(figures, one.name, length, multiple, last ? "last" : "whole", own.size(), mean, std::exp(mean.mean));
        // An encoding may refuse even the length at which the weights were trained.
        if (const auto trained = values.find(one.context); trained != values.end())
            set(figures.rows.back(), 8, mean_of_clusters(minus(own, trained->second), documents));
    }
}

// Perplexity: a row for each length, a column for each model.
Figures by_length(std::span<const Extrapolation> all, bool last) {
    Figures figures{{"of_trained"}, {}, 2};
    std::map<double, Vector> rows;
    for (std::size_t m = 0; m < all.size(); ++m) {
        figures.columns.push_back(all[m].name);
        for (const auto& [length, values] : all[m].losses(last))
            rows.try_emplace(all[m].times(length), all.size(), NAN).first->second[m] =
                std::exp(sample_of(values).mean());
    }
    for (const auto& [multiple, row] : rows) add_row(figures, multiple, row);
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
        Vector row(all.size(), NAN);
        for (std::size_t m = 0; m < all.size(); ++m)
            if (bucket < all[m].positions.size() && all[m].positions[bucket].tokens > 0)
                row[m] = std::exp(all[m].positions[bucket].mean());
        add_row(figures, tools::bucket_name(bucket, std::numeric_limits<int>::max()), row);
    }
    return figures;
}

// Nats more than at the trained length, by the window's length over the trained one. Empty if that was not measured.
std::map<double, double> rises_of(const Extrapolation& one, bool last) {
    const auto& values = one.losses(last);
    std::map<double, double> rises;
    if (const auto near = values.find(one.context); near != values.end())
        for (const auto& [length, nll] : values)
            rises[one.times(length)] = sample_of(nll).mean() - sample_of(near->second).mean();
    return rises;
}

// The best known encodings as curves; all are in the map.
Picture known_curves(std::span<const Extrapolation> all) {
    Curves curves;
    curves.log_x = curves.log_y = true;
    for (const Extrapolation& one : all) {
        if (!has_curve(one.name, all.size())) continue;
        Series& curve = curves.add(one.name, Series::Style::line_points);
        for (const auto& [length, nll] : one.last) curve.add(one.times(length), std::exp(sample_of(nll).mean()));
    }
    return {"last-curve", "Perplexity of the last tokens of a window, for the best known encodings",
            "window, in trained lengths", "perplexity", std::move(curves)};
}

// A row for each model, the smallest rise first. Nothing if no model was measured at its trained length.
void add_map(std::vector<Picture>& pictures, std::span<const Extrapolation> all, bool last) {
    constexpr double most = 1.5; // of the colours; the numbers go on
    std::vector<std::pair<std::string, std::map<double, double>>> rows;
    std::set<double> lengths;
    for (const Extrapolation& one : all) {
        rows.emplace_back(one.name, rises_of(one, last));
        if (rows.back().second.empty()) rows.pop_back();
        for (const auto& [multiple, rise] : rises_of(one, last)) lengths.insert(multiple);
    }
    if (rows.empty()) return;
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
        const auto far_a = a.second.rbegin(), far_b = b.second.rbegin();
        return far_a->first != far_b->first ? far_a->first > far_b->first : far_a->second < far_b->second;
    });
    HeatMap map{.blank = "refused",
                .value_label = text("nats per token; colours end at ", most),
                .scale = std::pair{-most, most}};
    for (const double multiple : lengths) map.x_names.push_back(text(multiple, "x"));
    for (const auto& [name, rises] : rows) {
        map.y_names.push_back(name);
        Vector& row = map.values.emplace_back();
        for (const double multiple : lengths)
            row.push_back(rises.contains(multiple) ? std::round(1000 * rises.at(multiple)) / 1000 : std::nan(""));
    }
    pictures.push_back({last ? "last-map" : "whole-map",
                        told("Loss of {} less that at the trained length: at {}x {}",
                             last ? "the last tokens of a window" : "whole windows", *lengths.rbegin(),
                             ends_of(map.y_names, [&](std::size_t row) { return map.values[row].back(); })),
                        "window, in trained lengths", "encoding", map});
}

// The models by the first length at which their perplexity rises by a quarter; the others, by their rise at the longest
// one that they accept.
std::string answer_of(std::span<const Extrapolation> all) {
    std::map<double, std::string> breaks;
    std::map<double, std::string> others; // by the factor of their perplexity
    double far = 0;
    for (const Extrapolation& one : all) {
        const std::map<double, double> rises = rises_of(one, true);
        if (rises.empty() || rises.rbegin()->first <= 1) continue;
        const auto breaking =
            std::ranges::find_if(rises, [](const auto& at) { return at.first > 1 && at.second > std::log(1.25); });
        if (breaking != rises.end())
            append(breaks[breaking->first], in_text(one.name));
        else
            others[std::exp(rises.rbegin()->second)] = in_text(one.name), far = std::max(far, rises.rbegin()->first);
    }
    std::string out;
    for (const auto& [multiple, names] : breaks) append(out, told("{}x with {}", multiple, names), "; ");
    out = told("Perplexity rises by a quarter or more, compared with the trained length, at {}.", or_none(out));
    if (others.empty()) return out;
    const auto end = [](const auto& one) { return told("{} ({})", figure(one.first, 3), one.second); };
    return out + told(" With the others it is multiplied by {} to {}, at up to {}x.", end(*others.begin()),
                      end(*others.rbegin()), far);
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
        WindowPlan plan{.lengths = lengths_of(request, trained.name, trained.context), .text = held.name};
        const Model model = Model::load(trained.file);
        plan.short_documents = request.quick;
        all.push_back(extrapolate(trained, model, documents_of(held, model), plan, request.progress));
        if (!all.back().refusal.empty()) result.found.push_back(all.back().refusal);
        for (const auto& [length, values] : all.back().whole) add_rows(lengths, all.back(), length);
    }
    result.tables = {
        {"last", text("Perplexity of the last tokens of windows, ", held.name), by_length(all, true)},
        {"whole", text("Perplexity of whole windows, ", held.name), by_length(all, false)},
        {"position", "Perplexity by position in the longest windows of each model", by_position(all)},
        {"lengths",
         "Nats per token with the half-width of the 95 % interval over documents, and the difference from the same "
         "tokens at the trained length",
         std::move(lengths)}};
    result.answer = answer_of(all);
    result.pictures = {known_curves(all)};
    for (const bool last : {true, false}) add_map(result.pictures, all, last);
    judge(all, result);
    show_frontier(all, request.arguments.has("model"), result);
    result.notes = {
        "nll is the mean negative log-likelihood, in nats per token; ppl is e^nll. A trained table refuses windows "
        "beyond its rows.",
        "window whole: documents are cut into disjoint windows, and the first token of any window is not scored. "
        "window last: the last tokens before ends that are the same at every length, so a longer window can only help "
        "a model that can use it. Both score the same tokens at every length.",
        "nll_over_1x is the mean difference from the same tokens at the trained length, half is half the width of its "
        "95 % "
        "interval over the documents. One trained model of each kind says nothing about other seeds.",
        "Models of this size show the shapes, not the published gaps. The paper's last tokens (tables 13 to 15): from "
        "512 to 3072 tokens the perplexity goes from 18.35 to 360.12 (sinusoidal), from 17.92 to 30.77 (T5 bias) and "
        "from 17.98 to 18.3 (ALiBi)."};
    return result;
}

} // namespace extrapolate_file

const Experiment extrapolate_experiment{
    .name = "extrapolate",
    .summary = "Which encodings still work beyond the trained length?",
    .details = "Perplexity of every shipped weight file in windows of 0.25 to 8 times its trained length, for whole "
               "windows, for last tokens and by position, with the figures of the ALiBi paper (Press, Smith and Lewis "
               "2022, arXiv 2108.12409). The expectations were written before the first run.",
    .options = {"model", "corpus", "length"},
    .seconds = {640, 30},
    .run = extrapolate_file::run};

} // namespace ordo::lab
