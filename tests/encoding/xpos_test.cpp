// SPDX-License-Identifier: MIT
// Sun et al. 2022: RoPE, with pair k of a query multiplied by zeta_k^(n/512), and of a key by zeta_k^(-n/512).
#include "tests/encoding/single_encoding.h"

#include <cmath>
#include <limits>

namespace ordo {
namespace xpos_test {

using namespace test;

constexpr int e = 8;

std::unique_ptr<Encoding> make(const std::string& spec, int d_head = e) {
    const Dims dims{.d_model = d_head, .n_heads = 1, .d_head = d_head, .n_layers = 1, .context = 64};
    return std::move(make_encodings(spec, dims).at(0));
}

std::vector<float> rotate(const Encoding& encoding, std::vector<float> x, int position, Role role) {
    const int cols = static_cast<int>(x.size());
    encoding.rotate(view(x.data(), 1, cols),
                    {.n_heads = cols / e, .role = role, .positions = Positions({&position, 1})});
    return x;
}

TEST(Xpos, TurnsAndScalesByTheFormula) {
    for (const bool halves : {false, true}) {
        const auto encoding = make(halves ? "xpos:pairing=halves,width=6" : "xpos:width=6");
        encoding->prepare(50);
        const std::vector<float> x = normals(2 * e, 3);
        for (const Role role : {Role::query, Role::key})
            for (const int p : {0, 1, 30, 49, 50, 4000}) {
                const std::vector<float> y = rotate(*encoding, x, p, role);
                for (std::size_t head = 0; head < 2 * e; head += e) {
                    for (std::size_t k = 0; k < 3; ++k) {
                        const double t = p * std::pow(10000, -2.0 * static_cast<double>(k) / 6);
                        const double zeta = (static_cast<double>(k) / 3 + 0.4) / 1.4;
                        const double g = std::pow(zeta, (role == Role::query ? p : -p) / 512.0);
                        const std::size_t a = head + (halves ? k : 2 * k), b = head + (halves ? k + 3 : 2 * k + 1);
                        EXPECT_NEAR(y[a], g * (x[a] * std::cos(t) - x[b] * std::sin(t)), 1e-6 * std::max(1.0, g));
                        EXPECT_NEAR(y[b], g * (x[a] * std::sin(t) + x[b] * std::cos(t)), 1e-6 * std::max(1.0, g));
                    }
                    for (std::size_t c = head + 6; c < head + e; ++c) EXPECT_EQ(y[c], x[c]);
                }
            }
    }
}

TEST(Xpos, WithEveryZetaAtOneItIsRope) {
    const auto xpos = make("xpos:zeta=one,theta=500"), rope = make("rope:theta=500");
    for (const auto* encoding : {&xpos, &rope}) (*encoding)->prepare(40);
    for (const Role role : {Role::query, Role::key})
        for (const int p : {0, 39, 40, 100000})
            EXPECT_EQ(rotate(*xpos, normals(e, 4), p, role), rotate(*rope, normals(e, 4), p, role)) << p;
    EXPECT_EQ(xpos->max_position(), std::numeric_limits<int>::max());
}

TEST(Xpos, ScoresDependOnTheDistanceAndFallWithIt) {
    const auto encoding = make("xpos");
    const auto score = [&](const std::vector<float>& q, const std::vector<float>& k, int i, int j) {
        const std::vector<float> a = rotate(*encoding, q, i, Role::query), b = rotate(*encoding, k, j, Role::key);
        double sum = 0;
        for (std::size_t c = 0; c < e; ++c) sum += static_cast<double>(a[c]) * b[c];
        return sum;
    };
    const std::vector<float> q = normals(e, 1), k = normals(e, 2);
    for (const int shift : {1, 100, 5000}) EXPECT_NEAR(score(q, k, 70 + shift, 3 + shift), score(q, k, 70, 3), 1e-4);
    // After whole periods of the fastest pair only zeta is left: 710 is 6e-5 short of 113 periods.
    std::vector<float> unit(e);
    unit[0] = 1;
    EXPECT_NEAR(score(unit, unit, 710, 0), std::pow(0.4 / 1.4, 710 / 512.0), 1e-5);
}

TEST(Xpos, BackwardIsTheTransposeForEachRole) {
    const auto encoding = make("xpos:width=6");
    for (const Role role : {Role::query, Role::key}) {
        const int p = 300;
        const std::vector<float> x = normals(e, 5), g = normals(e, 6), y = rotate(*encoding, x, p, role);
        std::vector<float> dx = g;
        encoding->rotate_backward(view(dx.data(), 1, e), view(dx.data(), 1, e),
                                  {.n_heads = 1, .role = role, .positions = Positions({&p, 1})}, {});
        double forward = 0, backward = 0;
        for (std::size_t c = 0; c < e; ++c) {
            forward += static_cast<double>(g[c]) * y[c];
            backward += static_cast<double>(dx[c]) * x[c];
        }
        EXPECT_NEAR(forward, backward, 1e-5);
        EXPECT_GT(std::abs(dx[0] - g[0]), 1e-3);
    }
}

// Positions that would overflow a float are refused. At the last allowed position nothing is lost.
TEST(Xpos, ReachesAsFarAsFloatsDo) {
    const auto encoding = make("xpos");
    const int last = encoding->max_position() - 1;
    EXPECT_GT(last, 16384);
    EXPECT_LT(last, 36000);
    const std::vector<float> x = normals(e, 7);
    for (const Role role : {Role::query, Role::key})
        for (const float value : rotate(*encoding, x, last, role)) EXPECT_TRUE(std::isnormal(value));
    EXPECT_GT(make("xpos:scale=5120")->max_position(), 9 * last);
}

TEST(Xpos, SpecAndTables) {
    EXPECT_EQ(make("xpos")->spec(), "xpos:theta=10000,scale=512,pairing=adjacent,width=8,gamma=0.4,zeta=paper");
    EXPECT_EQ(make("xpos:zeta=one,width=4")->spec(),
              "xpos:theta=10000,scale=512,pairing=adjacent,width=4,gamma=0.4,zeta=one");
    EXPECT_THROW(make("xpos:width=3"), Error);
    EXPECT_THROW(make("xpos:scale=0"), Error);
    const Table table = make("xpos")->table({.length = 2, .start = 511});
    ASSERT_EQ(table.rows.size(), 8u);
    EXPECT_NEAR(table.rows[4][5], 0.4 / 1.4, 1e-15); // pair 0 of position 512
    EXPECT_NEAR(table.rows[5][5], (0.25 + 0.4) / 1.4, 1e-15);
    EXPECT_NEAR(make("xpos")->table({.part = "frequency"}).rows[3][2], (0.75 + 0.4) / 1.4, 1e-15);
}

} // namespace xpos_test
} // namespace ordo
