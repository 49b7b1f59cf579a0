// SPDX-License-Identifier: MIT
#include "encoding/base/registry.h"
#include "tools/lab/claims/counting.h"
#include "tools/lab/claims/errata.h"
#include "tools/lab/claims/permutation.h"
#include "tools/lab/claims/slips.h"
#include "tools/lab/claims/study.h"
#include "tools/lab/study/encodings.h"

#include <algorithm>
#include <cmath>

namespace ordo::lab {
namespace {

Values products() {
    const LooseEncoding rope("rope", dims_of(8));
    const auto matrix = [&](int t) { return rope.table(1, "matrix", t).rows; };
    const auto three = matrix(3), fourteen = matrix(14), eleven = matrix(11);
    double right = 0, other = 0;
    for (std::size_t i = 0; i < 8; ++i)
        for (std::size_t j = 0; j < 8; ++j) {
            double sum = 0;
            for (std::size_t l = 0; l < 8; ++l) sum += three[l][i] * fourteen[l][j];
            right = std::max(right, std::abs(sum - eleven[i][j]));
            other = std::max(other, std::abs(sum - eleven[j][i])); // R_-11 is the transpose
        }
    return {figure(right, 2), figure(other)};
}

Values counting() {
    constexpr int t = 100;
    const Model model = counting_model(t);
    Session session(model);
    std::vector<Token> tokens(t, 1);
    tokens[0] = counting_start;
    return {figure(static_cast<double>(session.feed(tokens)[0]), 6), figure(1.0 / t)};
}

Values positive_exponent() {
    const Vector w = column_of(LooseEncoding("rope:theta=0.0001", dims_of(8)).table(1, "frequency"), 1);
    std::string list, left;
    for (const double theta : w) {
        append(list, figure(theta, 4));
        append(left, figure(turned(theta)));
    }
    return {figure(w.back(), 4), list, left};
}

Values leaks(std::uint64_t seed) {
    const auto changes = [](const Leak& leak) {
        std::string list;
        for (const double x : leak.changes) append(list, figure(x, 2));
        return list;
    };
    using namespace study_data;
    const Leak wrong = leak(HeadSplit::reshaped, length, width, heads, seed),
               right = leak(HeadSplit::transposed, length, width, heads, seed);
    return {figure(wrong.changes[0], 2), figure(wrong.deviation, 2), changes(wrong), changes(right), text(length)};
}

Values parameters() {
    using namespace study_data;
    constexpr int one = 4 * width * width + width * vocabulary, embedding = vocabulary * width; // projections, head
    return {
        text(batch * one + embedding), text(one + embedding), text(one), text(batch), text(vocabulary), text(width)};
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
    Vector numeric;
    constexpr float h = 1e-2f;
    for (std::size_t i = 0; i < x.size(); ++i) {
        std::vector<float> up = x, down = x;
        up[i] += h;
        down[i] -= h;
        stretch.embed(view(up.data(), 1, 16), 40);
        stretch.embed(view(down.data(), 1, 16), 40);
        numeric.push_back((dot(up, w) - dot(down, w)) / (2 * double{h}));
    }
    return {figure(softmax.from_gradient), figure(softmax.right, 2), figure(distance(w, numeric) / norm(numeric)),
            figure(distance(analytic, numeric) / norm(numeric), 2)};
}

Values slopes() {
    const Vector eight = alibi_slopes(8), twelve = alibi_slopes(12);
    std::string tail;
    for (std::size_t h = 8; h < 12; ++h) append(tail, figure(twelve[h], 4));
    return {text(-std::log2(eight[7])), figure(eight[0]), figure(eight[7], 6), tail, figure(std::exp2(-8.0), 4)};
}

Values scales(std::uint64_t seed) {
    constexpr int e = 8, draws = 4000;
    const std::vector<float> q = normal_floats(e * draws, seed, 0xe2), k = normal_floats(e * draws, seed, 0xe3);
    Sample raw;
    for (std::size_t i = 0; i < draws; ++i)
        raw.add(dot(std::span(q).subspan(i * e, e), std::span(k).subspan(i * e, e)));
    return {figure(raw.deviation() / e), figure(raw.deviation() / std::sqrt(e)), figure(std::exp(-1.5)),
            figure(std::exp(-1.5 / std::sqrt(e)))};
}

Values decays() {
    const Vector m = alibi_slopes(16);
    return {figure(std::exp(-3 * m.back())), figure(std::exp(-3 * m.front()))};
}

// The last answer after the tokens before it are permuted, for one layer with random weights. Covers every registered
// encoding that acts on queries, keys or scores.
Values reversals(std::uint64_t seed) {
    std::string list;
    double least = HUGE_VAL;
    for (const EncodingInfo* info : registered_encodings())
        if (example_of(*info)->moments() & (moment_rotate | moment_bias)) {
            const double change = permute(std::string(info->name), 1, seed).difference;
            least = std::min(least, change);
            append(list, text(info->name, " ", figure(change)));
        }
    return {figure(least), list};
}

Values bags(std::uint64_t seed) {
    const auto change = [seed](int layers) { return figure(permute("none", layers, seed).difference, 2); };
    return {change(1), change(2), change(4)};
}

} // namespace

std::map<int, Values> evidence_of_attention(const Request& request) {
    return {{6, products()},          {7, counting()},
            {8, positive_exponent()}, {10, leaks(request.seed)},
            {11, parameters()},       {12, gradients(request.seed)},
            {17, slopes()},           {18, scales(request.seed)},
            {19, decays()},           {20, reversals(request.seed)},
            {21, bags(request.seed)}};
}

} // namespace ordo::lab
