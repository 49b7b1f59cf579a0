// SPDX-License-Identifier: MIT
// RoPE scaled for longer contexts, limited to some pairs, and on several axes: published numbers, limits and formulas.
#include "tests/encoding/single_encoding.h"

#include <algorithm>
#include <cmath>

namespace ordo {
namespace rope_scaling_test {

using namespace test;

Dims dims(int d_head, int context = 4096) {
    return {.d_model = d_head, .n_heads = 1, .d_head = d_head, .n_layers = 1, .context = context};
}

std::unique_ptr<Encoding> rope(const std::string& parameters, int d_head = 128, int context = 4096) {
    return std::move(
        make_encodings("rope" + (parameters.empty() ? "" : ":" + parameters), dims(d_head, context)).at(0));
}

std::vector<double> column(const Encoding& encoding, std::size_t at) {
    std::vector<double> out;
    for (const auto& row : encoding.table({.part = "frequency"}).rows) out.push_back(row.at(at));
    return out;
}
std::vector<double> frequencies(const Encoding& encoding) {
    return column(encoding, 1);
}
std::vector<double> plain(int width, double theta = 10000) {
    std::vector<double> out;
    for (int k = 0; k < width / 2; ++k) out.push_back(std::pow(theta, -2.0 * k / width));
    return out;
}

// The factor of the cosines.
double gain(const Encoding& encoding) {
    return encoding.table({.length = 1, .start = 0}).rows.at(0).at(3);
}

std::vector<float> rotate(const Encoding& encoding, std::vector<float> x, std::vector<int> position) {
    const int cols = static_cast<int>(x.size()), axes = static_cast<int>(position.size());
    encoding.rotate(view(x.data(), 1, cols),
                    {.n_heads = 1, .role = Role::key, .positions = Positions(std::span<const int>(position), axes)});
    return x;
}

void expect_equal(const std::vector<double>& found, const std::vector<double>& expected, double relative = 1e-13) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], expected[k], relative * expected[k]) << k;
}

// ---- Limits -----------------------------------------------------------------------------------

TEST(RopeScaling, AtFactorOneEveryLawIsRope) {
    for (const char* law : {"linear", "ntk", "dynamic", "yarn", "llama3"}) {
        const auto scaled = rope("factor=1,scaling=" + std::string(law));
        expect_equal(frequencies(*scaled), plain(128), 1e-15);
        EXPECT_EQ(gain(*scaled), 1) << law;
    }
    const auto longrope = rope("scaling=longrope,original=4096,short=1/1/1/1,long=1/1/1/1", 8);
    expect_equal(frequencies(*longrope), plain(8), 1e-15);
    EXPECT_EQ(gain(*longrope), 1);
}

TEST(RopeScaling, NothingIsSaidOfWhatIsNotScaled) {
    EXPECT_EQ(rope("")->spec(), "rope:theta=10000,pairing=adjacent,width=128");
    EXPECT_EQ(rope("scaling=none,keep=1")->spec(), "rope:theta=10000,pairing=adjacent,width=128");
    EXPECT_THROW(rope("factor=2"), Error) << "no law to scale by";
    EXPECT_THROW(rope("scaling=linear,beta-fast=2"), Error) << "yarn's";
    EXPECT_THROW(rope("scaling=lin"), Error);
}

TEST(RopeScaling, SpecsAreRead) {
    for (const char* spec :
         {"rope:theta=10000,pairing=adjacent,width=8,scaling=linear,factor=4",
          "rope:theta=10000,pairing=halves,width=8,scaling=ntk,factor=2.5",
          "rope:theta=10000,pairing=adjacent,width=8,scaling=dynamic,factor=2,original=512",
          "rope:theta=10000,pairing=adjacent,width=8,scaling=dynamic,factor=2,original=512,length=8192",
          "rope:theta=10000,pairing=adjacent,width=8,scaling=yarn,factor=2,original=512,beta-fast=32,beta-slow=1,"
          "attention=1.5",
          "rope:theta=10000,pairing=adjacent,width=8,scaling=yarn,factor=2,original=512,beta-fast=16,beta-slow=2,"
          "attention=1,truncate=no,keep=0.5",
          "rope:theta=10000,pairing=adjacent,width=8,scaling=yarn,factor=2,original=512,beta-fast=32,beta-slow=1,"
          "attention=1.5,extrapolation=0.5",
          "rope:theta=500000,pairing=adjacent,width=8,scaling=llama3,factor=8,low=1,high=4,original=8192",
          "rope:theta=10000,pairing=adjacent,width=4,scaling=longrope,original=512,factor=4,short=1/1.5,long=2/3.25,"
          "attention=1.25",
          "rope:theta=10000,pairing=adjacent,width=4,scaling=longrope,original=512,factor=4,short=1/1.5,long=2/3.25,"
          "attention=1.25,factors=short",
          "rope:theta=10000,pairing=adjacent,width=8,keep=0.75,sections=1/2/1",
          "rope:theta=10000,pairing=adjacent,width=8,sections=2/1/1,interleaved=yes"}) {
        EXPECT_EQ(make_encodings(spec, dims(8)).at(0)->spec(), spec);
    }
}

TEST(RopeScaling, WhatCannotBeIsRefused) {
    for (const char* wrong :
         {"scaling=ntk,factor=2,width=2", "scaling=yarn,theta=1", "scaling=llama3,low=4,high=4",
          "scaling=longrope,short=1/1/1/1", "scaling=longrope,short=1/1/1,long=1/1/1/1",
          "scaling=longrope,short=1/1/1/0,long=1/1/1/1", "sections=2/1", "sections=1.5/2.5", "sections=4/0/0/0/0",
          "sections=1/1/2,interleaved=yes", "interleaved=yes", "keep=1.5", "scaling=linear,factor=0",
          "scaling=dynamic,original=100,length=99", "scaling=yarn,beta-fast=1,beta-slow=2",
          "scaling=yarn,extrapolation=1.5", "scaling=linear,extrapolation=1"})
        EXPECT_THROW(rope(wrong, 8), Error) << wrong;
}

// ---- Scalings ---------------------------------------------------------------------------------

TEST(RopeScaling, LinearDividesPositions) {
    std::vector<double> expected = plain(128);
    for (double& w : expected) w /= 4;
    expect_equal(frequencies(*rope("scaling=linear,factor=4")), expected);
}

// bloc97: alpha = 4 on heads of 128 columns gives the base 40890.
TEST(RopeScaling, NtkChangesTheBase) {
    const double base = 10000 * std::pow(4.0, 128 / 126.0);
    EXPECT_NEAR(base, 40890, 1);
    const std::vector<double> w = frequencies(*rope("scaling=ntk,factor=4"));
    expect_equal(w, plain(128, base));
    EXPECT_EQ(w.front(), 1);
    EXPECT_NEAR(w.back(), plain(128).back() / 4, 1e-15) << "the slowest pair is interpolated whole";
}

TEST(RopeScaling, DynamicGrowsWithTheSession) {
    const auto encoding = rope("scaling=dynamic,factor=2,original=2048", 64, 2048);
    expect_equal(frequencies(*encoding), plain(64));
    EXPECT_EQ(encoding->at_length(100), nullptr);
    EXPECT_EQ(encoding->at_length(2048), nullptr);
    for (const int tokens : {2049, 4096, 10000}) {
        const auto longer = encoding->at_length(tokens);
        ASSERT_NE(longer, nullptr);
        const double base = 10000 * std::pow(2.0 * tokens / 2048 - 1, 64 / 62.0);
        expect_equal(frequencies(*longer), plain(64, base));
        EXPECT_EQ(longer->spec(), encoding->spec() + ",length=" + std::to_string(tokens));
        // The spec alone gives the same frequencies for any requested length.
        const auto again = std::move(make_encodings(longer->spec(), dims(64, 2048)).at(0));
        expect_equal(frequencies(*again), plain(64, base));
        EXPECT_EQ(again->at_length(5), nullptr);
    }
}

TEST(RopeScaling, DynamicStandsForItsContextUntilItIsToldOtherwise) {
    const auto encoding = rope("scaling=dynamic,factor=2,original=2048", 64, 8192);
    expect_equal(frequencies(*encoding), plain(64, 10000 * std::pow(7.0, 64 / 62.0)));
    EXPECT_EQ(encoding->at_length(8192), nullptr);
    const auto a = encoding->at_length(10), b = encoding->at_length(2048);
    ASSERT_NE(a, nullptr);
    expect_equal(frequencies(*a), plain(64));
    EXPECT_EQ(a->spec(), b->spec()) << "all that are short enough share one";
    EXPECT_EQ(a->spec(), encoding->spec() + ",length=2048");
}

// Peng et al. 2023 and their code: the pairs that the ramp covers, and the scale of queries and keys.
TEST(RopeScaling, YarnHasThePublishedRampAndFactors) {
    const auto expect_ramp = [](int original, int low, int high) {
        const std::vector<double> w = frequencies(*rope("scaling=yarn,factor=4,original=" + std::to_string(original)));
        const std::vector<double> base = plain(128);
        for (int k = 0; k < 64; ++k) {
            const auto at = static_cast<std::size_t>(k);
            const double ramp = std::clamp((k - low) / double(high - low), 0.0, 1.0);
            EXPECT_NEAR(w[at], base[at] * (1 - ramp) + base[at] / 4 * ramp, 1e-14 * base[at]) << k;
        }
    };
    expect_ramp(2048, 16, 41);
    expect_ramp(4096, 20, 46);
    for (const auto& [factor, attention] : {std::pair("4", 1.1386), {"16", 1.2773}, {"32", 1.3466}, {"40", 1.3689}}) {
        const auto yarn = rope("scaling=yarn,factor=" + std::string(factor));
        EXPECT_NEAR(gain(*yarn), attention, 5e-5) << factor;
    }
    EXPECT_NEAR(gain(*rope("scaling=yarn,factor=4,attention=1.25")), 1.25, 1e-15);
}

// llama.cpp's rope_yarn: theta = interpolated (1 - m) + extrapolated m, m = ext_factor (1 - ramp).
TEST(RopeScaling, YarnMixesInAsMuchAsItsExtrapolation) {
    const std::string yarn = "scaling=yarn,factor=4,original=2048";
    const std::vector<double> base = plain(128);
    for (const double extrapolation : {0.0, 0.25, 0.5, 1.0}) {
        const auto mixed = rope(yarn + ",extrapolation=" + std::to_string(extrapolation));
        const std::vector<double> w = frequencies(*mixed);
        for (std::size_t k = 0; k < 64; ++k) {
            const double ramp = std::clamp((static_cast<double>(k) - 16) / (41 - 16), 0.0, 1.0);
            const double m = extrapolation * (1 - ramp);
            EXPECT_NEAR(w[k], base[k] / 4 * (1 - m) + base[k] * m, 1e-14 * base[k]) << extrapolation << " " << k;
        }
        EXPECT_NEAR(gain(*mixed), extrapolation == 0 ? 1 : 0.1 * std::log(4.0) + 1, 1e-12) << extrapolation;
    }
    EXPECT_EQ(rope(yarn + ",extrapolation=1")->spec(), rope(yarn)->spec());
}

TEST(RopeScaling, YarnCanBeginInsideAPair) {
    const auto pair = [](double turns) {
        return 64 * std::log(2048 / (2 * std::acos(-1.0) * turns)) / (2 * std::log(10000));
    };
    const double low = pair(32), high = pair(1);
    const std::vector<double> w = frequencies(*rope("scaling=yarn,factor=8,original=2048,truncate=no", 64));
    const std::vector<double> base = plain(64);
    for (std::size_t k = 0; k < 32; ++k) {
        const double ramp = std::clamp((static_cast<double>(k) - low) / (high - low), 0.0, 1.0);
        EXPECT_NEAR(w[k], base[k] * (1 - ramp) + base[k] / 8 * ramp, 1e-14 * base[k]) << k;
    }
}

// Meta's Llama 3.1: of 64 pairs, it keeps 29, blends 6, and divides 29 by 8.
TEST(RopeScaling, Llama3KeepsBlendsAndDivides) {
    const std::vector<double> w = frequencies(*rope("theta=500000,scaling=llama3")), base = plain(128, 500000);
    int kept = 0, divided = 0, blended = 0;
    for (std::size_t k = 0; k < 64; ++k) {
        const double turns = 8192 * base[k] / (2 * std::acos(-1.0));
        if (turns > 4) {
            EXPECT_EQ(w[k], base[k]);
            ++kept;
        } else if (turns < 1) {
            EXPECT_NEAR(w[k], base[k] / 8, 1e-15 * base[k]);
            ++divided;
        } else {
            const double t = (turns - 1) / 3;
            EXPECT_NEAR(w[k], (1 - t) * base[k] / 8 + t * base[k], 1e-14 * base[k]);
            ++blended;
        }
    }
    EXPECT_EQ(kept, 29);
    EXPECT_EQ(blended, 6);
    EXPECT_EQ(divided, 29);
    // If every wavelength is short, nothing changes.
    expect_equal(frequencies(*rope("scaling=llama3,original=100000000")), plain(128), 1e-15);
}

TEST(RopeScaling, LongropeSwitchesItsFactors) {
    const std::string spec = "scaling=longrope,original=4096,factor=32,short=1/1.5/2/4,long=1/8/16/32";
    const auto encoding = rope(spec, 8, 4096), wide = rope(spec, 8, 131072);
    EXPECT_NEAR(gain(*encoding), 1.1902, 5e-5); // Phi-3, 128k
    std::vector<double> of_short = plain(8), of_long = plain(8);
    for (std::size_t k = 0; k < 4; ++k) {
        of_short[k] /= std::vector{1.0, 1.5, 2.0, 4.0}[k];
        of_long[k] /= std::vector{1, 8, 16, 32}[k];
    }
    expect_equal(frequencies(*encoding), of_short);
    expect_equal(frequencies(*wide), of_long);
    EXPECT_EQ(encoding->at_length(4096), nullptr);
    EXPECT_EQ(wide->at_length(4097), nullptr);
    const auto longer = encoding->at_length(4097), longest = encoding->at_length(100000), shorter = wide->at_length(12);
    ASSERT_TRUE(longer && longest && shorter);
    expect_equal(frequencies(*longer), of_long);
    expect_equal(frequencies(*shorter), of_short);
    EXPECT_EQ(longer->spec(), longest->spec());
    EXPECT_EQ(longer->spec(), encoding->spec() + ",factors=long");
    EXPECT_EQ(shorter->spec(), wide->spec() + ",factors=short");
    EXPECT_EQ(make_encodings(longer->spec(), dims(8, 4096)).at(0)->at_length(5), nullptr) << "the spec says which";
}

// ---- Pairs and axes ---------------------------------------------------------------------------

TEST(RopePairs, KeepTurnsTheFastest) {
    const std::vector<float> x = normals(16, 4);
    EXPECT_EQ(rotate(*rope("keep=1", 16), x, {41}), rotate(*rope("", 16), x, {41}));
    EXPECT_EQ(rotate(*rope("keep=0", 16), x, {41}), x);
    const std::vector<float> half = rotate(*rope("keep=0.5", 16), x, {41}), all = rotate(*rope("", 16), x, {41});
    for (std::size_t c = 0; c < 16; ++c) EXPECT_EQ(half[c], c < 8 ? all[c] : x[c]) << c;
    const std::vector<double> w = frequencies(*rope("keep=0.7", 16)); // 5 of 8
    for (std::size_t k = 0; k < 8; ++k) EXPECT_EQ(w[k], k < 5 ? plain(16)[k] : 0);
}

TEST(RopePairs, OnTextSectionsAreRope) {
    const std::vector<float> x = normals(16, 4);
    for (const char* pairing : {",pairing=adjacent", ",pairing=halves"})
        for (const char* sections : {"sections=2/3/3", "sections=4/2/2,interleaved=yes", "sections=4/4", "sections=8"})
            for (const int p : {0, 41, 3000}) {
                const auto plane = rope(std::string(sections) + pairing, 16), line = rope(pairing + 1, 16);
                for (Encoding* encoding : {plane.get(), line.get()}) encoding->prepare(100);
                const std::vector<float> expected = rotate(*line, x, {p});
                EXPECT_EQ(rotate(*plane, x, {p}), expected) << sections;
                EXPECT_EQ(rotate(*plane, x, {p, p, p}), expected) << sections;
            }
}

// Wang et al. 2024: the first pairs rotate with time, the next with height, the last with width.
TEST(RopePairs, SectionsTurnByTheirOwnAxis) {
    const auto check = [](const char* parameters, const std::vector<int>& axes) {
        const int width = 2 * static_cast<int>(axes.size());
        const auto encoding = rope(parameters, width);
        const std::vector<double> found = column(*encoding, 2);
        EXPECT_EQ(std::vector<int>(found.begin(), found.end()), axes);
        encoding->prepare(20);
        const std::vector<float> x = normals(static_cast<std::size_t>(width), 4);
        const std::vector<int> position = {17, 3, 1000}; // in the table and beyond
        const std::vector<float> y = rotate(*encoding, x, position);
        for (std::size_t k = 0; k < axes.size(); ++k) {
            const double t = position[axes[k]] * std::pow(10000, -2.0 * static_cast<double>(k) / width);
            EXPECT_NEAR(y[2 * k], x[2 * k] * std::cos(t) - x[2 * k + 1] * std::sin(t), 1e-6) << k;
            EXPECT_NEAR(y[2 * k + 1], x[2 * k] * std::sin(t) + x[2 * k + 1] * std::cos(t), 1e-6) << k;
        }
    };
    check("sections=2/3/3", {0, 0, 1, 1, 1, 2, 2, 2});
    check("sections=4/4", {0, 0, 0, 0, 1, 1, 1, 1});
    check("sections=4/2/2,interleaved=yes", {0, 1, 2, 0, 1, 2, 0, 0});

    const std::vector<double> qwen2 = column(*rope("sections=16/24/24"), 2);
    EXPECT_EQ(std::count(qwen2.begin(), qwen2.end(), 1), 24);
    const std::vector<double> qwen3 = column(*rope("sections=24/20/20,interleaved=yes"), 2);
    for (const auto& [axis, pairs] : {std::pair(0, 24), {1, 20}, {2, 20}})
        EXPECT_EQ(std::count(qwen3.begin(), qwen3.end(), axis), pairs);
    EXPECT_EQ(qwen3[59], 2);
    EXPECT_EQ(qwen3[61], 0);
}

// For a point in the plane, scores depend only on both differences.
TEST(RopePairs, TwoAxesAreShiftInvariant) {
    const auto encoding = rope("sections=4/4", 16);
    const std::vector<float> q = normals(16, 1), k = normals(16, 2);
    const auto score = [&](int y, int x, int v, int u) {
        const std::vector<float> a = rotate(*encoding, q, {y, x}), b = rotate(*encoding, k, {v, u});
        double sum = 0;
        for (std::size_t c = 0; c < 16; ++c) sum += static_cast<double>(a[c]) * b[c];
        return sum;
    };
    EXPECT_NEAR(score(5, 9, 3, 2), score(105, 1009, 103, 1002), 1e-5);
    EXPECT_GT(std::abs(score(5, 9, 3, 2) - score(5, 8, 3, 2)), 1e-3);
    EXPECT_GT(std::abs(score(5, 9, 3, 2) - score(6, 9, 3, 2)), 1e-3);
}

// ---- All together -----------------------------------------------------------------------------

const char* const all_kinds[] = {"scaling=linear,factor=3",
                                 "scaling=ntk,factor=4",
                                 "scaling=dynamic,factor=4,original=100",
                                 "scaling=yarn,factor=4,original=100",
                                 "scaling=llama3,original=100,pairing=halves",
                                 "scaling=longrope,original=100,factor=8,short=1/1/2/2/3/3/4/4,long=1/2/3/4/5/6/7/8",
                                 "keep=0.6",
                                 "sections=3/3/2",
                                 "scaling=yarn,factor=4,original=100,sections=3/3/2,keep=0.8,pairing=halves,width=16"};

// The backward pass multiplies with the transpose, including the attention factor.
TEST(RopeScaling, BackwardIsTheTranspose) {
    for (const char* parameters : all_kinds) {
        const auto encoding = rope(parameters, 16);
        encoding->prepare(30);
        for (const std::vector<int>& position : {std::vector{7, 20, 3}, std::vector{1234, 1, 99}, std::vector{29}}) {
            const std::vector<float> x = normals(16, 5), g = normals(16, 6), y = rotate(*encoding, x, position);
            std::vector<float> dx = g;
            const HeadRows rows{.n_heads = 1,
                                .role = Role::key,
                                .positions =
                                    Positions(std::span<const int>(position), static_cast<int>(position.size()))};
            encoding->rotate_backward(view(dx.data(), 1, 16), view(dx.data(), 1, 16), rows, {});
            double forward = 0, backward = 0;
            for (std::size_t c = 0; c < 16; ++c) {
                forward += static_cast<double>(g[c]) * y[c];
                backward += static_cast<double>(dx[c]) * x[c];
            }
            EXPECT_NEAR(forward, backward, 1e-5) << parameters;
        }
    }
}

TEST(RopeScaling, TablesChangeNoBit) {
    for (const char* parameters : all_kinds) {
        const auto bare = rope(parameters, 16), ready = rope(parameters, 16);
        ready->prepare(50);
        for (const int p : {0, 1, 49, 50, 4000})
            EXPECT_EQ(rotate(*bare, normals(16, 7), {p, p / 2, 3}), rotate(*ready, normals(16, 7), {p, p / 2, 3}));
    }
}

// Angles are computed in double. In float they would be off by more than a radian here.
TEST(RopeScaling, FarAwayTheAnglesAreRight) {
    for (const char* parameters : all_kinds) {
        const auto encoding = rope(parameters, 16);
        const std::vector<double> w = frequencies(*encoding);
        const bool halves = std::string(parameters).find("halves") != std::string::npos;
        const double g = gain(*encoding);
        std::vector<float> unit(16);
        for (std::size_t k = 0; k < 8; ++k) unit[halves ? k : 2 * k] = 1;
        for (const int p : {1000000, 16777217}) {
            const std::vector<float> y = rotate(*encoding, unit, {p});
            for (std::size_t k = 0; k < 8; ++k) {
                const long double t = static_cast<long double>(p) * w[k];
                EXPECT_NEAR(y[halves ? k : 2 * k], g * static_cast<double>(std::cos(t)), 1e-6) << parameters << k;
                EXPECT_NEAR(y[halves ? k + 8 : 2 * k + 1], g * static_cast<double>(std::sin(t)), 1e-6) << parameters;
            }
        }
    }
}

TEST(RopeScaling, MatrixShowsTheAttentionFactor) {
    const auto encoding = rope("scaling=yarn,factor=4,original=100,width=4", 6);
    const Table table = encoding->table({.length = 1, .start = 3, .part = "matrix"});
    const double g = gain(*encoding), t = 3 * frequencies(*encoding)[1];
    EXPECT_GT(g, 1.1);
    EXPECT_NEAR(table.rows[2][2], g * std::cos(t), 1e-14);
    EXPECT_NEAR(table.rows[2][3], -g * std::sin(t), 1e-14);
    EXPECT_NEAR(table.rows[3][2], g * std::sin(t), 1e-14);
    EXPECT_EQ(table.rows[5][5], 1);
}

} // namespace rope_scaling_test
} // namespace ordo
