// SPDX-License-Identifier: MIT
#include "tools/lab/counting.h"
#include "tools/lab/encodings.h"
#include "tools/lab/errata.h"
#include "tools/lab/permutation.h"
#include "tools/lab/slips.h"

#include <algorithm>

namespace ordo::lab {

namespace {

std::string products() {
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
    return text("R_3^T R_14 - R_11: ", figure(right, 2), "; - R_-11: ", figure(other));
}

std::string counting() {
    const Model model = counting_model(100);
    Session session(model);
    std::vector<Token> tokens(100, 1);
    tokens[0] = counting_start;
    return text("without any encoding hand-set weights answer ",
                figure(static_cast<double>(session.feed(tokens)[0]), 6), " after 100 tokens");
}

std::string positive_exponent() {
    const Vector w = column_of(LooseEncoding("rope:theta=0.0001", dims_of(8)).table(1, "frequency"), 1);
    std::string list, left;
    for (const double theta : w) {
        append(list, figure(theta, 4));
        append(left, figure(turned(theta)));
    }
    return text("width 8: ", list, " rad a step, which is ", left, " after whole turns");
}

std::string leaks(std::uint64_t seed) {
    const auto figures = [](const Vector& v) {
        std::string list;
        for (const double x : v) append(list, figure(x, 2));
        return list;
    };
    return text("changing the last of 4 tokens changes positions 0 to 2 by ",
                figures(leak(HeadSplit::reshaped, 4, 128, 16, seed)), "; split right by ",
                figures(leak(HeadSplit::transposed, 4, 128, 16, seed)));
}

std::string parameters() {
    constexpr int d = 128, vocabulary = 40, batch = 32;
    constexpr int one = 4 * d * d + d * vocabulary; // four projections and the head
    return text(batch, " x ", one, " = ", batch * one, " weights stored, ", one, " used");
}

// Relative error of the gradient of w . embed(x) against central differences; and of none at all, dx = w.
std::string gradients(std::uint64_t seed) {
    const SoftmaxGradient softmax = softmax_gradient(8, seed);
    const LooseEncoding stretch("rotate-stretch", dims_of(16));
    const std::vector<float> x = normal_floats(16, seed, 0xe0), w = normal_floats(16, seed, 0xe1);
    const int positions[] = {40};
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
    return text("relative error: softmax from dL/dA ", figure(softmax.from_gradient), ", from A ",
                figure(softmax.right, 2), "; rotate-stretch passed through as if it were not there ",
                figure(distance(w, numeric) / norm(numeric)), ", with its gradient ",
                figure(distance(analytic, numeric) / norm(numeric), 2));
}

std::string slopes() {
    const Vector eight = alibi_slopes(8), twelve = alibi_slopes(12);
    std::string tail;
    for (std::size_t h = 8; h < 12; ++h) append(tail, figure(twelve[h], 4));
    return text("8 heads: m_0 = ", figure(eight[0]), ", m_7 = ", figure(eight[7], 6), " = 2^-", -std::log2(eight[7]),
                "; 12 heads end in ", tail, ", not in 2^(-8h/12) = ", figure(std::exp2(-8.0), 4));
}

std::string scales(std::uint64_t seed) {
    constexpr int e = 8, draws = 4000;
    const std::vector<float> q = normal_floats(e * draws, seed, 0xe2), k = normal_floats(e * draws, seed, 0xe3);
    Sample raw;
    for (std::size_t i = 0; i < draws; ++i)
        raw.add(dot(std::span(q).subspan(i * e, e), std::span(k).subspan(i * e, e)));
    return text("width 8, random q and k: scores spread by ", figure(raw.deviation() / e), " with 1/d, by ",
                figure(raw.deviation() / std::sqrt(e)),
                " with 1/sqrt(d); a bias of slope 1/2 at distance 3 is a weight of ", figure(std::exp(-1.5)), ", and ",
                figure(std::exp(-1.5 / std::sqrt(e))), " if it were scaled too");
}

std::string decays() {
    const Vector m = alibi_slopes(16);
    return text("16 heads, 3 words away: the slowest keeps ", figure(std::exp(-3 * m.back())),
                " of the weight, the fastest ", figure(std::exp(-3 * m.front())));
}

// The last answer after the tokens before it are permuted, one layer, random weights: every registered encoding
// that acts on queries, keys or scores.
std::string reversals(std::uint64_t seed) {
    std::string list;
    for (const EncodingInfo* info : registered_encodings())
        if (info->moments & (moment_rotate | moment_bias))
            append(list, text(info->name, " ", figure(permute(std::string(info->name), 1, seed).difference)));
    return text("earlier tokens permuted, the last answer changes by: ", list);
}

std::string bags(std::uint64_t seed) {
    return text("earlier tokens permuted, no encoding, the last answer changes by ",
                figure(permute("none", 1, seed).difference, 2), " with one layer, ",
                figure(permute("none", 2, seed).difference), " with two, ", figure(permute("none", 4, seed).difference),
                " with four");
}

} // namespace

std::vector<Erratum> errata_of_attention(const Request& request) {
    const std::uint64_t seed = request.seed;
    return {
        {6, study, "R_i^T R_j is not R_(i-j): the paper is wrong, and nothing decays",
         "it is R_(j-i), exactly; what decays is a bound for aligned vectors; random ones are noise", products(),
         "ordo lab rotary"},
        {7, study, "rotating q and k cannot express absolute position",
         "right for the score; but the causal mask tells the position", counting(), "ordo lab nope"},
        {8, study_code, "theta = 10000^(+2(i-1)/d)", "the exponent is negative; with this one every pair aliases",
         positive_exponent(), "ordo lab rotary"},
        {10, study_code, "[T, 128] reshaped straight to [16, T, 8]",
         "a head then holds chunks of one token, and merging lets every token see the last", leaks(seed),
         "make test (LabSlips)"},
        {11, study_code, "weights with a batch axis", "32 models side by side, each with 1/32 of the data; one is used",
         parameters(), "ordo info FILE"},
        {12, study_code, "backward: softmax from dL/dA, nothing through the rotations",
         "diag(A) - A A^T, and every encoding has its adjoint", gradients(seed), "make test (LabSlips, Gradient)"},
        {17, study, "m_n = 2^-8", "the heads are m_0 to m_(n-1); between powers of two the slopes interleave", slopes(),
         "ordo lab slopes"},
        {18, study, "the paper does not say whether scores are scaled by 1/dim_q",
         "they are, by 1/sqrt(dim_q), and the bias is not", scales(seed), "ordo encodings alibi"},
        {19, study, "ALiBi decays linearly, which is too harsh over three words",
         "linear in the scores, exponential in the weights, and slow in most heads", decays(), "ordo lab slopes"},
        {20, study, "relative encodings cannot tell 123 from 321",
         "the sign of the distance counts, and so does the mask", reversals(seed), "ordo lab nope"},
        {21, study, "without encoding a model is a bag of words",
         "one layer is, over what precedes the last token; two are not", bags(seed), "ordo lab nope"},
    };
}

} // namespace ordo::lab
