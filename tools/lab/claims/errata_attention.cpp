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

Evidence products() {
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
    return {text("off R_(j-i) by ", figure(right, 2)),
            text("elements of R_3^T R_14 differ from those of R_(14-3) by at most ", figure(right, 2),
                 ", from those of R_(3-14) by ", figure(other))};
}

Evidence counting() {
    constexpr int t = 100;
    const Model model = counting_model(t);
    Session session(model);
    std::vector<Token> tokens(t, 1);
    tokens[0] = counting_start;
    const std::string answer = figure(static_cast<double>(session.feed(tokens)[0]), 6);
    return {text("the mask alone gives 1/t: ", answer),
            text("without any encoding hand-set weights answer ", answer, " after ", t,
                 " tokens, which is 1/t = ", figure(1.0 / t))};
}

Evidence positive_exponent() {
    const Vector w = column_of(LooseEncoding("rope:theta=0.0001", dims_of(8)).table(1, "frequency"), 1);
    std::string list, left;
    for (const double theta : w) {
        append(list, figure(theta, 4));
        append(left, figure(turned(theta)));
    }
    return {text("up to ", figure(w.back(), 4), " rad a step"),
            text("width 8: ", list, " rad a step, which is ", left, " after whole turns")};
}

Evidence leaks(std::uint64_t seed) {
    const auto changes = [](const Leak& leak) {
        std::string list;
        for (const double x : leak.changes) append(list, figure(x, 2));
        return list;
    };
    using namespace study_data;
    const Leak wrong = leak(HeadSplit::reshaped, length, width, heads, seed),
               right = leak(HeadSplit::transposed, length, width, heads, seed);
    return {text("the future leaks, by ", figure(wrong.changes[0], 2)),
            text("another last token of ", length,
                 " changes the outputs at positions 0 to 2, which have a deviation of ", figure(wrong.deviation, 2),
                 ", by up to ", changes(wrong), "; split right by ", changes(right))};
}

Evidence parameters() {
    using namespace study_data;
    constexpr int one = 4 * width * width + width * vocabulary, embedding = vocabulary * width; // projections, head
    return {text(batch * one + embedding, " stored, ", one + embedding, " used"),
            text(batch, " x ", one, " weights and an embedding of ", vocabulary, " x ", width, ": ",
                 batch * one + embedding, " stored, ", one + embedding, " used")};
}

// Relative error of the gradient of w . embed(x) against central differences; and of none at all, dx = w.
Evidence gradients(std::uint64_t seed) {
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
    return {text("relative error of softmax: ", figure(softmax.from_gradient)),
            text("relative error: softmax from dL/dA ", figure(softmax.from_gradient), ", from A ",
                 figure(softmax.right, 2), "; rotate-stretch passed through as if it were not there ",
                 figure(distance(w, numeric) / norm(numeric)), ", with its gradient ",
                 figure(distance(analytic, numeric) / norm(numeric), 2))};
}

Evidence slopes() {
    const Vector eight = alibi_slopes(8), twelve = alibi_slopes(12);
    std::string tail;
    for (std::size_t h = 8; h < 12; ++h) append(tail, figure(twelve[h], 4));
    return {text("of 8 heads m_7 = 2^-", -std::log2(eight[7])),
            text("8 heads: m_0 = ", figure(eight[0]), ", m_7 = ", figure(eight[7], 6), " = 2^-", -std::log2(eight[7]),
                 "; 12 heads end in ", tail, ", not in 2^(-8h/12) = ", figure(std::exp2(-8.0), 4))};
}

Evidence scales(std::uint64_t seed) {
    constexpr int e = 8, draws = 4000;
    const std::vector<float> q = normal_floats(e * draws, seed, 0xe2), k = normal_floats(e * draws, seed, 0xe3);
    Sample raw;
    for (std::size_t i = 0; i < draws; ++i)
        raw.add(dot(std::span(q).subspan(i * e, e), std::span(k).subspan(i * e, e)));
    const std::string by_width = figure(raw.deviation() / e), by_root = figure(raw.deviation() / std::sqrt(e));
    return {text("spread ", by_width, "; by the root ", by_root),
            text("width 8, random q and k: scores spread by ", by_width, " with 1/d, by ", by_root,
                 " with 1/sqrt(d); a bias of slope 1/2 at distance 3 is a weight of ", figure(std::exp(-1.5)), ", and ",
                 figure(std::exp(-1.5 / std::sqrt(e))), " if it were scaled too")};
}

Evidence decays() {
    const Vector m = alibi_slopes(16);
    const std::string slowest = figure(std::exp(-3 * m.back())), fastest = figure(std::exp(-3 * m.front()));
    return {text("heads keep ", slowest, " to ", fastest),
            text("16 heads, 3 words away: the slowest keeps ", slowest, " of the weight, the fastest ", fastest)};
}

// The last answer after the tokens before it are permuted, one layer, random weights: every registered encoding
// that acts on queries, keys or scores.
Evidence reversals(std::uint64_t seed) {
    std::string list;
    double least = HUGE_VAL;
    for (const EncodingInfo* info : registered_encodings())
        if (example_of(*info)->moments() & (moment_rotate | moment_bias)) {
            const double change = permute(std::string(info->name), 1, seed).difference;
            least = std::min(least, change);
            append(list, text(info->name, " ", figure(change)));
        }
    return {text("logits move by ", figure(least), " or more"),
            text("earlier tokens permuted, the last logits change by: ", list)};
}

Evidence bags(std::uint64_t seed) {
    const auto change = [seed](int layers) { return figure(permute("none", layers, seed).difference, 2); };
    const std::string one = change(1), two = change(2);
    return {text("1 layer ", one, ", 2 layers ", two),
            text("earlier tokens permuted, no encoding, the last logits change by ", one, " with one layer, ", two,
                 " with two, ", change(4), " with four")};
}

// Rotary, and the layer of the study's code.
std::vector<Erratum> errata_of_the_layer(std::uint64_t seed) {
    return {
        {6,
         study,
         {"R_i^T R_j is not R_(i-j)", "R_i^T R_j is not R_(i-j): the paper is wrong, and nothing decays"},
         "wrong",
         "it is R_(j-i), exactly; what decays is a bound for aligned vectors; random ones are noise",
         products(),
         "ordo lab rotary"},
        {7,
         study,
         {"rotation tells no position", "rotating q and k cannot express absolute position"},
         "partly",
         "right for the score; but the causal mask tells the position",
         counting(),
         "ordo lab nope"},
        {8,
         study_code,
         {"theta = 10000^(+2(i-1)/d)", "theta = 10000^(+2(i-1)/d)"},
         "wrong",
         "the exponent is negative; with this one every pair aliases",
         positive_exponent(),
         "ordo lab rotary"},
        {10,
         study_code,
         {"[T, 128] read as [16, T, 8]", "[T, 128] reshaped straight to [16, T, 8]"},
         "wrong",
         "a head then holds chunks of one token, and merging lets every token see the last",
         leaks(seed),
         "-"},
        {11,
         study_code,
         {"weights with a batch axis", "weights with a batch axis"},
         "wrong",
         "32 models side by side, each with 1/32 of the data; one is used",
         parameters(),
         "-"},
        {12,
         study_code,
         {"softmax's backward from dL/dA",
          "backward: softmax's matrix from dL/dA, its diagonal never reached; Q^T dS reshaped to dK; nothing through "
          "the rotations"},
         "wrong",
         "diag(A) - A A^T, whose diagonal is A (1 - A); dK is dS^T Q, so that Q^T dS must be transposed and a reshape "
         "scrambles it; every encoding has its adjoint",
         gradients(seed),
         "-"},
    };
}

// ALiBi, and what relative and no positions can tell.
std::vector<Erratum> errata_of_distances(std::uint64_t seed) {
    return {
        {17,
         study,
         {"m_n = 2^-8", "m_n = 2^-8"},
         "wrong",
         "the heads are m_0 to m_(n-1); between powers of two the slopes interleave",
         slopes(),
         "ordo lab slopes"},
        {18,
         study,
         {"scaling of scores is open", "the paper does not say whether scores are scaled by 1/dim_q"},
         "wrong",
         "they are, by 1/sqrt(dim_q), and the bias is not",
         scales(seed),
         "ordo encodings alibi"},
        {19,
         study,
         {"ALiBi is too harsh over 3 words", "ALiBi decays linearly, which is too harsh over three words"},
         "partly",
         "linear in the scores, exponential in the weights, and slow in most heads",
         decays(),
         "ordo lab slopes (picture shapes)"},
        {20,
         study,
         {"relative: 123 is like 321", "relative encodings cannot tell 123 from 321"},
         "wrong",
         "the sign of the distance counts, and so does the mask",
         reversals(seed),
         "ordo lab word-order (table order)"},
        {21,
         study,
         {"NoPE is a bag of words", "without encoding a model is a bag of words"},
         "partly",
         "one layer is, over what precedes the last token; two are not",
         bags(seed),
         "ordo lab nope; ordo lab word-order (table order)"},
    };
}

} // namespace

std::vector<Erratum> errata_of_attention(const Request& request) {
    std::vector<Erratum> all = errata_of_the_layer(request.seed);
    for (Erratum& erratum : errata_of_distances(request.seed)) all.push_back(std::move(erratum));
    return all;
}

} // namespace ordo::lab
