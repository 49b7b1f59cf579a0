// SPDX-License-Identifier: MIT
// Numbers of other implementations, for oracles whose papers print none. Each implementation ran in double precision,
// under PyTorch 1.13, on inputs that are sines: row t of a token's vectors is sin(seed + t + 1.7 i), and a tensor is
// sin(seed + 1.7 i). Plain versions from the same repositories stood in for Triton kernels.
#include "tests/oracle.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ordo::reference {
namespace oracle_reference_test {

constexpr int tokens = 6, width = 24, heads = 4, columns = 6;
const Dims small{width, heads, columns, 2, 64}, grouped{width, heads, columns, 2, 64, 2};

Matrix some(int rows, int cols, double seed) {
    Matrix m(rows, cols);
    for (std::size_t i = 0; i < m.values.size(); ++i) m.values[i] = std::sin(seed + 1.7 * static_cast<double>(i));
    return m;
}
std::vector<Vector> rows(int n, double seed) {
    std::vector<Vector> all;
    for (int t = 0; t < tokens; ++t) all.push_back(some(1, n, seed + t).values);
    return all;
}
void expect_equal(const Vector& found, const Vector& expected, const char* what = "") {
    ASSERT_GE(found.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2e-10) << what << i;
}

// One encoding in layer 0, and a sequence of x, queries and keys at positions 0, 1, ..
struct Sequence {
    Sequence(const std::string& spec, std::map<std::string, Matrix> its_tensors, const Dims& dims = small)
        : oracles(spec, dims, tensors) {
        const std::string name = "encoding." + spec.substr(0, spec.find(':')) + ".";
        for (const auto& [tensor, values] : its_tensors) {
            tensors[name + tensor] = values;
            tensors[name + "layers.0." + tensor] = values;
        }
        for (int t = 0; t < tokens; ++t) {
            at.push_back({t});
            states.push_back(
                oracle().observe(x[static_cast<std::size_t>(t)], at.back(), 0, t == 0 ? Vector() : states.back()));
        }
    }
    const Oracle& oracle() const { return *oracles.all().at(0); }
    Vector biases(int head, std::size_t query) const {
        Vector row;
        for (std::size_t j = 0; j < k.size(); ++j)
            row.push_back(oracle().bias({0, head, 1}, {q[query], at[query], states[query]}, {k[j], at[j], states[j]}));
        return row;
    }
    // The attention weights of a query, with a causal mask.
    Vector weights(int head, std::size_t query, double scale) const {
        ScoreRow of{{0, head, scale}, {q[query], at[query], states[query]}, {}, query};
        Vector row;
        for (std::size_t j = 0; j <= query; ++j) {
            of.keys.push_back({k[j], at[j], states[j]});
            row.push_back(scale * dot(q[query], k[j]));
        }
        double total = std::exp(oracle().sink_of(of, row));
        oracle().rescore_row(row, of);
        for (double& score : row) total += score = std::exp(score);
        for (double& weight : row) weight /= total;
        return row;
    }
    Vector rotated(const Vector& of, std::size_t t, Role role, int head) const {
        Vector y = of;
        oracle().rotate_with(y, at[t], states[t], role, 0, head);
        return y;
    }
    std::vector<Vector> shifted(Stage stage) const {
        std::vector<Vector> all = x;
        oracle().shift(all, stage, 0);
        return all;
    }

    Tensors tensors;
    Oracles oracles;
    std::vector<Vector> x = rows(width, 0), q = rows(columns, 10), k = rows(columns, 20), states;
    std::vector<Place> at;
};

TEST(ReferenceNumbers, InklingsRelativeLogitsInTransformers) {
    const Sequence s("relative-logits:rank=3,extent=4", {{"projection", some(12, width, 1)}, {"table", some(3, 4, 2)}});
    expect_equal(s.biases(2, 5), {0, 0, -3.4722988205, 1.7271091197, 3.02724181826, -2.50719600207});
    expect_equal(s.biases(2, 1), {-7.41872857032, 5.08571126039, 0, 0, 0, 0});
}

// naive_path_attn of flash-linear-attention, with the projections of its layer.
TEST(ReferenceNumbers, PathInFlashLinearAttention) {
    const Sequence s("path:rank=3,kernel=3",
                     {{"down", some(3, width, 1)},
                      {"up", some(12, 3, 2)},
                      {"convolution", some(12, 3, 3)},
                      {"gate", some(2, width, 4)},
                      {"gate_bias", some(1, 2, 5)}},
                     grouped);
    expect_equal({s.states[3].begin() + 6, s.states[3].begin() + 14},
                 {-0.288216071038, -1.75020003554e-08, -0.459656915888, -0.00025704534177, -6.36005445669e-07,
                  -0.840018344673, 1.99214152994, 0.00301961616797});
    expect_equal(s.weights(3, 5, 0.4),
                 {0.259795709813, 0.123862407772, 0.394459237837, 0.118801142252, 0.0466648194852, 0.0564166828418});
    expect_equal(s.weights(0, 3, 0.4), {0.525230538072, 0.274050180811, 0.113001534429, 0.0877177466884});
}

TEST(ReferenceNumbers, WallInFlashLinearAttention) {
    const Sequence s("wall", {{"weight", some(24, width, 6)}, {"bias", some(1, 24, 7)}});
    expect_equal(s.weights(2, 5, 0.4),
                 {0.212598439937, 0.212599089039, 0.212596200901, 0.14592937707, 0.140695317729, 0.0755815753227});
    expect_equal(s.weights(0, 3, 0.4), {0.410920151599, 0.22132864425, 0.197470277598, 0.170280926554});
}

// lucidrains' PoPE-pytorch with three magnitudes, whose products the order of the columns does not change.
TEST(ReferenceNumbers, PopeInPopePytorch) {
    Matrix shift(heads, 3);
    for (int h = 0; h < heads; ++h) shift.at(h, 0) = -0.5, shift.at(h, 1) = 0.25, shift.at(h, 2) = -7;
    const Sequence s("pope:theta=10000", {{"shift", shift}});
    Vector scores;
    for (std::size_t j = 0; j < tokens; ++j)
        scores.push_back(dot(s.rotated(s.q[5], 5, Role::query, 1), s.rotated(s.k[j], j, Role::key, 1)));
    expect_equal(scores, {1.403013182, 0.084954242878, -0.161419323635, 0.513994819487, 0.95758578134, 1.37911521856});
}

// The expressions of Ministral 3 and Inkling in transformers, of Llama 4 there and in SGLang, and of the first Qwen.
TEST(ReferenceNumbers, FactorsOfLogScale) {
    const auto factors = [](const std::string& spec) {
        const Sequence s("log-scale:" + spec, {{"scale", some(1, heads, 1)}});
        Vector all;
        for (const int position : {0, 8190, 8191, 16383, 16384, 131072}) {
            Vector x = {1, -2};
            s.oracle().rotate(x, {position}, Role::query, 0, 2);
            EXPECT_EQ(x[1], -2 * x[0]);
            all.push_back(x[0]);
            s.oracle().rotate(x, {position}, Role::key, 0, 2);
            EXPECT_EQ(x[0], all.back());
        }
        return all;
    };
    expect_equal(factors("kind=ministral,length=16384,factor=0.1"), {1, 1, 1, 1, 1.06931471806, 1.21972245773});
    expect_equal(factors("kind=llama4,length=8192,factor=0.1"),
                 {1, 1, 1.06931471806, 1.10986122887, 1.10986122887, 1.28332133441});
    expect_equal(factors("kind=inkling,length=128000,factor=0.1"), {1, 1, 1, 1, 1, 1.0023724156});
    expect_equal(factors("kind=log-n,length=2048"),
                 {1, 1.18180217082, 1.18181818182, 1.27272727273, 1.27273527749, 1.54545554608});
    const double s = std::sin(1 + 1.7 * 2); // the paper's s log n, by head
    expect_equal(factors("kind=ssmax"), {0, s * std::log(8191), s * std::log(8192), s * std::log(16384)});
}

TEST(ReferenceNumbers, DynamicPositionBiasInXTransformers) {
    const std::map<std::string, Matrix> tensors = {{"in.weight", some(5, 1, 1)},     {"in.bias", some(1, 5, 4)},
                                                   {"hidden.weight", some(5, 5, 2)}, {"hidden.bias", some(1, 5, 5)},
                                                   {"out.weight", some(4, 5, 3)},    {"out.bias", some(1, 4, 6)}};
    const Sequence linear("dpb:width=5,depth=2,distance=linear", tensors),
        logarithm("dpb:width=5,depth=2,distance=log", tensors);
    expect_equal(linear.biases(3, 5),
                 {1.68201559231, 1.00438885135, 0.457460450437, 0.0604916494021, -0.877699041344, -2.52922416978});
    expect_equal(linear.biases(3, 0),
                 {-2.52922416978, -4.18406438061, -5.72177212212, -7.20194658258, -8.65285337303, -10.089622726});
    expect_equal(logarithm.biases(3, 5),
                 {-0.0556893088908, -0.187375607186, -0.394978271285, -0.740808199194, -1.34910790082, -2.52922416978});
    expect_equal(logarithm.biases(3, 0),
                 {-2.52922416978, -3.69145317469, -4.33981324906, -4.788162566, -5.13071026525, -5.40782390945});
}

// ShortConvolution of PhysicsLM4's canon_helper.py, and modded-nanogpt's two lines.
TEST(ReferenceNumbers, CanonInPhysicsLM4AndSmearInModdedNanogpt) {
    const std::map<std::string, Matrix> tensors = {{"a", some(width, 4, 8)}, {"c", some(width, 4, 8)}};
    const Sequence a("canon:kernel=4,places=a", tensors), ac("canon:kernel=4,places=ac", tensors);
    const Vector first = {0, 1.85207693306, -0.511080605096, -1.73232888485},
                 last = {0.110328067869, 1.38327454166, 1.18305654236, -2.07995286317};
    for (const auto& found :
         {a.shifted(Stage::attention), ac.shifted(Stage::attention), ac.shifted(Stage::feed_forward)}) {
        expect_equal(found[0], first);
        expect_equal(found[5], last);
    }
    EXPECT_EQ(a.shifted(Stage::feed_forward), a.x);
    EXPECT_EQ(ac.shifted(Stage::embedding), ac.x);
    Matrix scale(1, 1);
    scale.at(0, 0) = 0.3;
    const Sequence smear("canon:places=smear", {{"gate", some(1, 12, 9)}, {"scale", scale}});
    expect_equal(smear.shifted(Stage::embedding)[0], {0, 0.991664810452, -0.255541102027});
    expect_equal(smear.shifted(Stage::embedding)[4], {-0.72413073594, -0.782185331369, 0.925691282872});
    EXPECT_EQ(smear.shifted(Stage::attention), smear.x);
}

// sb_ref.py of shawntan/stickbreaking-attention. Its scale is 1 / sqrt(6).
TEST(ReferenceNumbers, StickBreakingOfItsAuthors) {
    const Sequence s("stick-breaking", {});
    const double scale = 1 / std::sqrt(6.0);
    expect_equal(s.weights(0, 5, scale),
                 {0.0166199967225, 0.0990204888294, 0.31960078198, 0.33170501998, 0.222718429418, 0});
    const double rest[] = {1, 0.759283972588, 0.447133341273, 0.121492373838, 0.0233384842212, 0.0103352830704};
    for (std::size_t i = 0; i < tokens; ++i) {
        double sum = 0;
        for (const double weight : s.weights(0, i, scale)) sum += weight;
        EXPECT_NEAR(1 - sum, rest[i], 1e-10) << i;
    }
}

// rotary.py of timurcarstensen/selective-rope, and the released mode of SakanaAI/repo (swigluex_multihead).
TEST(ReferenceNumbers, RotationsOfSelectiveRopeAndRepo) {
    const Sequence s("selective-rope:kind=selective,rank=3,kernel=4,theta=10000",
                     {{"down", some(3, width, 1)}, {"up", some(12, 3, 2)}, {"convolution", some(12, 4, 3)}});
    expect_equal(s.rotated(s.q[5], 5, Role::query, 2),
                 {0.248242123017, -0.509159894772, -0.451654475851, -1.12342669621, 0.691127698071, -0.990466177568});
    expect_equal(s.rotated(s.k[3], 3, Role::key, 1),
                 {0.365631012945, -0.12862842633, 0.953969868345, 0.782616499299, -1.0757708643, 0.0874828044194});
    const Sequence repo("selective-rope:kind=repo,rank=4,theta=10000",
                        {{"gate", some(4, width, 1)}, {"content", some(4, width, 2)}, {"out", some(4, 4, 3)}});
    expect_equal(repo.rotated(repo.q[5], 5, Role::query, 2),
                 {-0.969413340803, -0.216920337356, -0.484582293679, 0.619636561273, 0.830570202167, -0.97477946999});
}

// CARoPE has no public code. The paper's formula, in pair k: the sum of (1 / (softplus(w . x) + 1))^k.
TEST(ReferenceNumbers, CaropesPhaseIsASumOfPowers) {
    const Sequence s("selective-rope:kind=carope", {{"frequency", some(heads, width, 1)}});
    Vector angles(3);
    for (std::size_t t = 0; t <= 4; ++t) {
        const double f = 1 / (std::log(1 + std::exp(dot(s.x[t], some(heads, width, 1), 3))) + 1);
        angles[0] += 1; // as RoPE's first pair
        angles[1] += f;
        angles[2] += f * f;
    }
    const Vector turned = s.rotated({1, 1, 1, 0, 0, 0}, 4, Role::key, 3);
    for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_NEAR(turned[k], std::cos(angles[k]), 1e-12);
        EXPECT_NEAR(turned[k + 3], std::sin(angles[k]), 1e-12);
    }
}

// abacus.py of mcleish7/arithmetic, with the digits 5 .. 14.
TEST(ReferenceNumbers, PositionsOfAbacus) {
    const Sequence s("abacus:first=5,last=14,length=8", {{"weight", some(8, width, 1)}});
    EXPECT_EQ(s.oracle().positions({5, 14, 3, 7, 7, 8, 0, 15, 9}), (std::vector<int>{1, 2, 0, 1, 2, 3, 0, 0, 1}));
    Vector x(width);
    s.oracle().embed(x, {0}, 0); // other tokens have a row, too
    EXPECT_EQ(x[0], std::sin(1));
}

// The last columns hold a row as wide as they are, and the others only the embedding.
TEST(ReferenceNumbers, SinusoidsInTheLastColumns) {
    const Sequence s("sinusoidal:scale=2,base=10000,offset=0,columns=4", {});
    Vector x = {1, 1, 1, 1, 1, 1};
    s.oracle().embed(x, {1}, 0);
    expect_equal(x, {2, 2, std::sin(1), std::cos(1), std::sin(0.01), std::cos(0.01)});
}

} // namespace oracle_reference_test
} // namespace ordo::reference
