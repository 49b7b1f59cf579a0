// SPDX-License-Identifier: MIT
// Compares the oracles of RoPE, in its many forms, and of xPos with published numbers and with their limits.
#include "tests/encoding/one_oracle.h"

#include <cmath>
#include <tuple>

namespace ordo::reference {
namespace reference_rotation_test {

TEST(RopeOracle, LinearAndNtk) {
    const Subject plain(rope(""), wide), linear(rope(",scaling=linear,factor=4"), wide),
        ntk(rope(",scaling=ntk,factor=4"), wide);
    for (const int k : {0, 1, 40, 63}) {
        EXPECT_NEAR(linear.angle(k), plain.angle(k) / 4, 1e-15);
        EXPECT_NEAR(ntk.angle(k), std::pow(40890, -k / 64.0), 1e-5); // bloc97's base for s = 4 and 128
    }
    EXPECT_NEAR(ntk.angle(63), plain.angle(63) / 4, 1e-15); // the base is chosen to interpolate the last pair
    for (const char* kind : {",scaling=linear,factor=1", ",scaling=ntk,factor=1"})
        expect_same_rotation(Subject(rope(kind), wide), plain);
}

TEST(RopeOracle, DynamicFollowsTheLength) {
    const std::string spec = rope(",scaling=dynamic,factor=4,original=2048");
    const Subject plain(rope(""), wide);
    expect_same_rotation(Subject(spec, wide), plain);
    expect_same_rotation(Subject(spec, wide, {}, 2048), plain);
    expect_same_rotation(Subject(spec, wide, {}, 4096), Subject(rope(",scaling=ntk,factor=5"), wide)); // 4 x 2 - 3
    expect_same_rotation(Subject(spec + ",length=4096", wide), Subject(spec, wide, {}, 4096));
}

// The ends of the ramp for 128 columns, base 10000 (jquesnelle/yarn), and the factor 0.1 ln s + 1.
TEST(RopeOracle, YarnBlendsBetweenItsTwoPairs) {
    const Subject plain(rope(""), wide);
    for (const auto& [original, low, high] : {std::tuple{2048, 16, 41}, {4096, 20, 46}}) {
        const Subject yarn(rope(",scaling=yarn,factor=4,original=" + std::to_string(original) +
                                ",beta-fast=32,beta-slow=1,attention=1"),
                           wide);
        const auto ratio = [&](int k) { return yarn.angle(k) / plain.angle(k); };
        EXPECT_NEAR(ratio(0), 1, 1e-12);
        EXPECT_NEAR(ratio(low), 1, 1e-12);
        EXPECT_NEAR(ratio(low + 1), 1 - 0.75 / (high - low), 1e-12);
        EXPECT_NEAR(ratio(high - 1), 0.25 + 0.75 / (high - low), 1e-12);
        EXPECT_NEAR(ratio(high), 0.25, 1e-12);
        EXPECT_NEAR(ratio(63), 0.25, 1e-12);
    }
    const Subject one(rope(",scaling=yarn,factor=1,original=2048,beta-fast=32,beta-slow=1,attention=1"), wide);
    expect_same_rotation(one, plain);
    const Subject grown(rope(",scaling=yarn,factor=4,original=2048,beta-fast=32,beta-slow=1,attention=1.1386"), wide);
    for (const int k : {0, 30, 63}) EXPECT_NEAR(grown.size(k), 1.1386, 1e-12);
    EXPECT_NEAR(0.1 * std::log(4) + 1, 1.1386, 5e-5);
    const Subject rough(rope(",scaling=yarn,factor=4,original=2048,beta-fast=32,beta-slow=1,attention=1,truncate=no"),
                        wide);
    EXPECT_NEAR(rough.angle(16), plain.angle(16), 1e-12); // the bound 16.1 is not rounded
    EXPECT_GT(rough.angle(17) / plain.angle(17), 1 - 0.75 / 25);
}

// Llama 3.1: base 500000, 128 columns, 8 x 8192. It keeps 29 pairs, blends 6, and divides 29.
TEST(RopeOracle, Llama3GoesByWavelength) {
    const std::string base = "rope:theta=500000,pairing=adjacent,width=128";
    const Subject plain(base, wide), llama(base + ",scaling=llama3,factor=8,low=1,high=4,original=8192", wide);
    int kept = 0, divided = 0, between = 0;
    for (int k = 0; k < 64; ++k) {
        const double ratio = llama.angle(k) / plain.angle(k);
        if (ratio > 1 - 1e-9)
            ++kept;
        else if (ratio < 1 / 8.0 + 1e-9)
            ++divided;
        else
            ++between;
    }
    EXPECT_EQ(kept, 29);
    EXPECT_EQ(between, 6);
    EXPECT_EQ(divided, 29);
    expect_same_rotation(Subject(base + ",scaling=llama3,factor=1,low=1,high=4,original=8192", wide), plain);
}

TEST(RopeOracle, LongropeHasAListForShortAndOneForLong) {
    const std::string spec =
        rope(",scaling=longrope,original=4096,factor=32,short=1/2/1,long=1/4/8,attention=1.1902", 6);
    const Subject plain(rope("", 6)), shorter(spec, small, {}, 4096), longer(spec, small, {}, 4097);
    EXPECT_NEAR(std::sqrt(1 + std::log(32) / std::log(4096)), 1.1902, 5e-5); // Phi-3's factor
    EXPECT_NEAR(shorter.size(1), 1.1902, 1e-12);
    for (const auto& [k, a, b] : {std::tuple{0, 1, 1}, {1, 2, 4}, {2, 1, 8}}) {
        EXPECT_NEAR(shorter.angle(k), plain.angle(k) / a, 1e-12);
        EXPECT_NEAR(longer.angle(k), plain.angle(k) / b, 1e-12);
    }
    expect_same_rotation(Subject(spec + ",factors=long"), longer);
    expect_same_rotation(Subject(spec + ",factors=short", small, {}, 9999), shorter);
    const std::string ones = ",scaling=longrope,original=4096,factor=1,short=1/1/1,long=1/1/1,attention=1";
    expect_same_rotation(Subject(rope(ones, 6)), plain);
}

TEST(RopeOracle, KeepDropsTheLowestFrequencies) {
    const Subject plain(rope(""), wide), kept(rope(",keep=0.75"), wide);
    EXPECT_EQ(kept.angle(47), plain.angle(47));
    EXPECT_EQ(kept.angle(48), 0);
    expect_same_rotation(Subject(rope(",keep=1"), wide), plain);
    expect_same_rotation(Subject(rope(",keep=0"), wide), Subject("none", wide));
}

// The axis that rotates pair k, or -1 for more than one.
int axis_of(const Subject& subject, int pair, int axes) {
    int found = -1;
    for (int axis = 0; axis < axes; ++axis) {
        Place at(static_cast<std::size_t>(axes));
        at[axis] = 1;
        Vector x(128);
        x[2 * pair] = 1;
        if (subject.rotated(x, at)[2 * pair] == 1) continue;
        if (found >= 0) return -1;
        found = axis;
    }
    return found;
}

TEST(RopeOracle, SectionsTurnByAxis) {
    const Subject plain(rope(""), wide), sections(rope(",sections=16/24/24"), wide), // Qwen2-VL
        interleaved(rope(",sections=24/20/20,interleaved=yes"), wide);               // Qwen3-VL
    const Vector x = some_vector(128, 5);
    for (const Subject* subject : {&sections, &interleaved}) {
        expect_equal(subject->rotated(x, {77, 77, 77}), plain.rotated(x, {77})); // text is unchanged
        expect_equal(subject->rotated(x, {77}), plain.rotated(x, {77}));
    }
    std::string found;
    for (const int k : {0, 15, 16, 39, 40, 63}) found += std::to_string(axis_of(sections, k, 3));
    EXPECT_EQ(found, "001122");
    int count[3] = {};
    found.clear();
    for (int k = 0; k < 64; ++k) {
        const int axis = axis_of(interleaved, k, 3);
        ASSERT_GE(axis, 0);
        ++count[axis];
        if (k < 6 || k >= 58) found += std::to_string(axis);
    }
    EXPECT_EQ(found, "012012120000"); // THWTHW... and T alone at the end
    EXPECT_EQ(count[0], 24);
    EXPECT_EQ(count[1], 20);
    EXPECT_EQ(count[2], 20);
}

TEST(XposOracle, IsRopeWhereNothingShrinks) {
    const std::string rest = ",pairing=adjacent,width=128";
    expect_same_rotation(Subject("xpos:theta=10000,scale=512" + rest + ",gamma=0.4,zeta=one", wide),
                         Subject(rope(""), wide));
}

// The score depends on the distance alone, by zeta^(D/512) in each pair.
TEST(XposOracle, ScoresByDistance) {
    const Subject xpos("xpos:theta=10000,scale=512,pairing=halves,width=6,gamma=0.4,zeta=paper");
    const Subject rotary("rope:theta=10000,pairing=halves,width=6");
    const Vector q = some_vector(6, 1), k = some_vector(6, 2);
    const auto score = [&](const Subject& s, int i, int j) {
        return dot(s.rotated(q, {i}), s.rotated(k, {j}, Role::key));
    };
    EXPECT_NEAR(score(xpos, 30, 10), score(xpos, 1030, 1010), 1e-9);
    for (std::size_t pair = 0; pair < 3; ++pair) {
        Vector one(6);
        one[pair] = 1;
        const double zeta = (2 * static_cast<double>(pair) / 6 + 0.4) / 1.4;
        const double grown = dot(xpos.rotated(one, {512}), xpos.rotated(one, {0}, Role::key));
        const double turned = dot(rotary.rotated(one, {512}), one);
        EXPECT_NEAR(grown, zeta * turned, 1e-12);
    }
}

} // namespace reference_rotation_test
} // namespace ordo::reference
