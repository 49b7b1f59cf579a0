// SPDX-License-Identifier: MIT
// The figures of claims that no other experiment has, in the order in which the claim's sentences number them.
#include "encoding/base/rotation.h"
#include "tools/bench/predict.h"
#include "tools/lab/claims/errata.h"
#include "tools/lab/claims/slips.h"
#include "tools/lab/claims/study.h"
#include "tools/lab/shipped/weight_files.h"
#include "tools/opening/scores.h"
#include "tools/opening/weights.h"

namespace ordo::lab {
namespace {

std::string list_of(const Vector& values) {
    std::string list;
    for (const double x : values) append(list, figure(x, 2));
    return list;
}

// theta -> theta^2: 10000^(-2 (2k) / d)
Values doubled_exponent() {
    const Vector right = rope_frequencies(128), wrong = rope_frequencies(128, "rope:theta=100000000");
    const auto slow = [](const Vector& all) {
        return text(std::ranges::count_if(all, [](double w) { return w < 1.000001e-4; }));
    };
    return {slow(wrong), text(wrong.size()), slow(right), figure(wrong.back(), 2), figure(right.back(), 2)};
}

Values segments(std::uint64_t seed) {
    std::vector<float> x(10 * 8);
    const View rows = view(x.data(), 10, 8);
    LooseEncoding("segment", dims_of(8), seed).embed(rows);
    double most = 0;
    for (int i = 1; i < 10; ++i) most = std::max(most, largest_difference(row_span(rows, 0), row_span(rows, i)));
    return {figure(most)};
}

Values leaks(std::uint64_t seed) {
    using namespace study_data;
    const Leak wrong = leak(HeadSplit::reshaped, length, width, heads, seed),
               right = leak(HeadSplit::transposed, length, width, heads, seed);
    return {figure(wrong.changes[0], 2), figure(wrong.deviation, 2), list_of(wrong.changes), list_of(right.changes)};
}

Values parameters() {
    using namespace study_data;
    constexpr int one = 4 * width * width + width * vocabulary, embedding = vocabulary * width; // projections, head
    return {text(batch * one + embedding), text(one + embedding)};
}

// Relative error of the gradient of w . embed(x) against central differences, and the error of dx = w.
Values gradients(std::uint64_t seed) {
    const SoftmaxGradient softmax = softmax_gradient(8, seed);
    const LooseEncoding stretch("rotate-stretch", dims_of(16));
    const std::vector<float> x = normal_floats(16, seed, 0xe0), w = normal_floats(16, seed, 0xe1);
    const std::vector<int> positions = {40};
    std::vector<float> analytic = w, at = x;
    stretch.stack().items()[0]->embed_backward(view(analytic.data(), 1, 16), view(at.data(), 1, 16), {positions, {}},
                                               {});
    const Vector numeric = central_differences(x, 1e-2f, [&](std::vector<float> moved) {
        stretch.embed(view(moved.data(), 1, 16), 40);
        return dot(moved, w);
    });
    return {figure(softmax.from_gradient), figure(softmax.right, 2), figure(distance(w, numeric) / norm(numeric)),
            figure(distance(analytic, numeric) / norm(numeric), 2)};
}

Values scales(std::uint64_t seed) {
    constexpr int e = 8, draws = 4000;
    const std::vector<float> q = normal_floats(e * draws, seed, 0xe2), k = normal_floats(e * draws, seed, 0xe3);
    Sample raw;
    for (std::size_t i = 0; i < draws; ++i)
        raw.add(dot(std::span(q).subspan(i * e, e), std::span(k).subspan(i * e, e)));
    return {figure(raw.deviation() / e), figure(raw.deviation() / std::sqrt(e))};
}

Values refusals(const std::vector<Trained>& models) {
    int pairs = 0, refused = 0;
    for (const Trained& one : models)
        for (const Trained& other : models) {
            if (one.encoding == other.encoding) continue;
            ++pairs;
            try {
                Model::load(one.file, {.encoding = other.encoding});
            } catch (const Error&) {
                ++refused;
            }
        }
    return {text(refused), text(pairs)};
}

Values standard_start(const Request& request, const std::vector<Trained>& models) {
    const auto trained = std::ranges::find(models, "none", &Trained::encoding);
    if (trained == models.end()) return {"no weights at hand"};
    const Model model = Model::load(trained->file);
    Session session(model);
    tools::Tally tally;
    for (const tools::Document& document : documents_of(held_out(request), model)) {
        const std::size_t n = std::min(document.tokens.size(), static_cast<std::size_t>(session.capacity()));
        if (n < 2 || tally.tokens > 1000) continue;
        for (const double nll : tools::score_window(session, std::span(document.tokens).first(n))) tally.add(nll, 0);
    }
    return {text("perplexity ", figure(std::exp(tally.mean())), " of ", model.vocab_size())};
}

// The gradient of an embedding is that of the sum, whatever position is added.
Values differentiability(std::uint64_t seed) {
    const LooseEncoding waves("sinusoidal:scale=1", dims_of(16));
    const std::vector<float> out = normal_floats(32, seed, 0xe5);
    std::vector<float> in = out, x = out;
    const std::vector<int> positions = {1, 100};
    const Encoding& encoding = *waves.stack().items()[0];
    encoding.embed_backward(view(in.data(), 2, 16), view(x.data(), 2, 16), {positions, {}}, {});
    return {figure(largest_difference(in, out)), text(encoding.tensors().size())};
}

// The operations of encodings, in percent of those of the model's products, for a text of the trained length.
Values complications(const std::vector<Trained>& models) {
    const Blueprint b = tools::read_facts(models[0].file).blueprint;
    const bench::Workload load{.n_prompt = models[0].context};
    const double products = bench::predict(b, WeightType::f32, load, b.context).flops / b.context;
    Values out;
    for (const char* spec : {"rope", "none", "sinusoidal", "alibi"}) {
        const ModelEncodings stack(spec, b.dims());
        out.push_back(figure(100 * bench::encoding_operations(b, stack, load, b.context).sum() / products, 2));
    }
    return out;
}

} // namespace

std::map<int, Values> evidence_of(const Request& request) {
    using namespace study_data;
    const std::uint64_t seed = request.seed;
    const std::vector<Trained> models = trained_models(request);
    const PairColumns last = pair_columns(Pairing::adjacent, 255, 256);
    const Vector sixteen = alibi_slopes(16);
    const auto columns = [](const char* part) { return text(sinusoidal_table(5, 1, part).header.size()); };
    constexpr int neighbours = words - 1, across = sentences - 1;
    const Sample distances = sample_of(food_is);
    return {
        {2, {figure(std::pow(10000.0, 1 - 1.0 / 6), 5)}},
        {9, {text(figure(distances.least()), " to ", figure(distances.most())), figure(lines().unigram), beside()}},
        {10, leaks(seed)},
        {11, parameters()},
        {12, gradients(seed)},
        {13, refusals(models)},
        {14, doubled_exponent()},
        {15, {text(last.first), text(last.second)}},
        {18, scales(seed)},
        {19, {figure(std::exp(-3 * sixteen.back())), figure(std::exp(-3 * sixteen.front()))}},
        {22, standard_start(request, models)},
        {25, segments(seed)},
        {26, {columns("sin"), columns("cos")}},
        {28, {figure(100.0 * across / neighbours), text(neighbours), text(across)}},
        {31, {fixed_text(food_next.front(), 5), fixed_text(sample_of(food_next).most(), 5), figure(1.0 / vocabulary)}},
        {32, {text(good_beside_is), text(good), text(food_beside_is), text(food)}},
        {33, differentiability(seed)},
        {36, {fixed_text(good_is[4], 3), fixed_text(good_is[5], 3), fixed_text(lines().uniform, 3)}},
        {37, complications(models)}};
}

} // namespace ordo::lab
