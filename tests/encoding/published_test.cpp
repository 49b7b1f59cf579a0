// SPDX-License-Identifier: MIT
// Numbers that papers, authors' code and notebooks print. Each stands here once, for the encoding; the oracles agree
// with the encodings (oracle_test.cpp, tables_test.cpp).
#include "encoding/base/model_encodings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ordo {
namespace published_test {

Table table(const std::string& spec, const Dims& dims, const TableRequest& request) {
    return make_encodings(spec, dims).at(0)->table(request);
}
Dims heads(int n, int d_head = 8, Mask mask = Mask::causal) {
    return {.d_model = n * d_head, .n_heads = n, .d_head = d_head, .n_layers = 1, .context = 4096, .mask = mask};
}

// ---- Columns of tables -----------------------------------------------------------------------------

// Expects numbers in some rows of a column.
void expect_column(const char* what, const std::string& spec, const Dims& dims, const TableRequest& request,
                   std::size_t column, const std::vector<int>& rows, const std::vector<double>& numbers,
                   double tolerance = 0) {
    const Table found = table(spec, dims, request);
    for (std::size_t i = 0; i < rows.size(); ++i)
        EXPECT_NEAR(found.rows.at(rows[i]).at(column), numbers[i], tolerance) << what << ": " << rows[i];
}

TEST(Published, SlopesOfAlibi) {
    const auto slopes = [](const char* what, int n, const std::vector<int>& rows, const std::vector<double>& numbers,
                           double tolerance = 0, const char* spec = "alibi") {
        expect_column(what, spec, heads(n), {.part = "slopes"}, 1, rows, numbers, tolerance);
    };
    slopes("Press et al. 2022, 8 heads", 8, {0, 1, 2, 3, 4, 5, 6, 7},
           {1 / 2.0, 1 / 4.0, 1 / 8.0, 1 / 16.0, 1 / 32.0, 1 / 64.0, 1 / 128.0, 1 / 256.0});
    slopes("16 heads: 2^-0.5, 2^-1 ... 2^-8", 16, {0, 1, 14, 15}, {std::sqrt(0.5), 0.5, std::exp2(-7.5), 1 / 256.0},
           1e-15);
    slopes("their code, 12 heads: 4 of the slopes of 16", 12, {0, 7, 8, 9, 10, 11},
           {1 / 2.0, 1 / 256.0, 0.7071, 0.3536, 0.1768, 0.0884}, 0.5e-4);
    slopes("6 heads", 6, {0, 1, 2, 3, 4, 5}, {1 / 4.0, 1 / 16.0, 1 / 64.0, 1 / 256.0, 1 / 2.0, 1 / 8.0});
    slopes("1 head", 1, {0}, {1 / 256.0});
    for (const int n : {2, 3, 5, 12, 33}) { // as the help text says: for the last head only if n is a power of two
        double least = 1;
        for (const auto& row : table("alibi:max=3", heads(n), {.part = "slopes"}).rows) least = std::min(least, row[1]);
        EXPECT_EQ(least, std::ldexp(1, -3)) << n;
    }
    slopes("MPT, alibi_bias_max", 4, {0, 1, 2, 3}, {1 / 16.0, 1 / 256.0, 1 / 4096.0, 1 / 65536.0}, 0, "alibi:max=16");
}

TEST(Published, BucketsOfT5) {
    const auto buckets = [](const char* what, const char* spec, const std::vector<int>& distances,
                            const std::vector<double>& numbers, Mask mask = Mask::causal, std::size_t column = 1) {
        expect_column(what, spec, heads(3, 8, mask), {.length = 9001, .part = "buckets"}, column, distances, numbers);
    };
    buckets("T5's code", "t5", {0, 1, 15, 16, 19, 31, 64, 127, 128, 9000}, {0, 1, 15, 16, 17, 21, 26, 31, 31, 31});
    const std::vector<int> distances = {0, 7, 8, 11, 12, 16, 32, 64, 91, 128};
    buckets("its encoder", "t5", distances, {0, 7, 8, 8, 9, 10, 12, 14, 15, 15}, Mask::bidirectional);
    buckets("later keys", "t5", distances, {0, 23, 24, 24, 25, 26, 28, 30, 31, 31}, Mask::bidirectional, 2);
    // Where the quotient of logarithms is a whole number, a bucket begins. Rounding must not move it.
    buckets("4 + 4 ln(D/4) / ln 64, 32 = 4 sqrt 64", "t5:buckets=8,distance=256", {31, 32}, {5, 6});
    buckets("16 + 16 ln(D/16) / ln 16", "t5:buckets=32,distance=256", {32, 64, 128}, {20, 24, 28});
    buckets("18 + 18 ln(D/18) / ln 16/9, 24 = 18 sqrt 16/9", "t5:buckets=36,distance=32", {23, 24}, {25, 27});
}

TEST(Published, DenominatorsOfSinusoids) {
    const auto denominators = [](const char* what, const char* spec, int d, const std::vector<int>& rows,
                                 const std::vector<double>& numbers, double tolerance,
                                 const char* part = "denominator") {
        expect_column(what, spec, heads(1, d), {.part = part}, 1, rows, numbers, tolerance);
    };
    denominators("in PyTorch", "sinusoidal", 512, {0, 255}, {1, 1.0366e-4}, 0.5e-8, "div_term");
    denominators("a notebook", "sinusoidal", 6, {0, 1, 2}, {1, 21.5443, 464.1590}, 1.5e-4);
    const char* const tensor2tensor = "sinusoidal:law=tensor2tensor";
    denominators("it reaches its base", tensor2tensor, 8, {0, 1, 2, 3}, {1, std::cbrt(1e4), std::cbrt(1e8), 1e4}, 1e-9);
    denominators("an odd width", tensor2tensor, 7, {0, 1, 2}, {1, 100, 10000}, 1e-9);
}

TEST(Published, PairsOfRotations) {
    const auto pairs = [](const char* what, const std::string& spec, int d, std::size_t column,
                          const std::vector<int>& rows, const std::vector<double>& numbers, double tolerance = 0) {
        expect_column(what, spec, heads(1, d), {.part = "frequency"}, column, rows, numbers, tolerance);
    };
    const auto power = [](double base, int pair) { return std::pow(base, -pair / 64.0); };
    pairs("bloc97: the base 40890 for 4 and 128", "rope:scaling=ntk,factor=4", 128, 1, {0, 1, 40, 63},
          {1, power(40890, 1), power(40890, 40), power(10000, 63) / 4}, 1e-7);
    pairs("emozilla: 4 x 2 - 3 at twice the length", "rope:scaling=dynamic,factor=4,original=2048", 128, 1, {63},
          {power(10000 * std::pow(5, 128 / 126.0), 63)}, 1e-15);
    pairs("Qwen2-VL", "rope:sections=16/24/24", 128, 2, {0, 15, 16, 39, 40, 63}, {0, 0, 1, 1, 2, 2});
    pairs("Qwen3-VL", "rope:sections=24/20/20,interleaved=yes", 128, 2, {0, 1, 2, 3, 4, 5, 58, 59, 60, 61, 62, 63},
          {0, 1, 2, 0, 1, 2, 1, 2, 0, 0, 0, 0});
    pairs("Sun et al. 2022: zeta", "xpos", 8, 2, {0, 1, 3}, {0.4 / 1.4, 0.65 / 1.4, 1.15 / 1.4}, 1e-15);
    const auto factor = [](const char* what, const std::string& scaling, double number) {
        expect_column(what, "rope:scaling=" + scaling, heads(1), {.length = 1}, 3, {0}, {number}, 5e-5);
    };
    factor("Peng et al. 2023: 0.1 ln s + 1", "yarn,factor=4", 1.1386);
    factor("16", "yarn,factor=16", 1.2773);
    factor("32", "yarn,factor=32", 1.3466);
    factor("40", "yarn,factor=40", 1.3689);
    factor("llama.cpp without extrapolation", "yarn,factor=4,extrapolation=0", 1);
    factor("Phi-3, 128k", "longrope,factor=32,short=1/1.5/2/4,long=1/8/16/32", 1.1902);
}

// ---- 10 x 6, step by step, as a notebook with PyTorch 2 prints it to 4 decimals ----------------------

using Numbers = std::vector<std::vector<double>>;

void expect_near(const Numbers& found, const Numbers& expected, double tolerance = 0.5001e-4) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].size(), expected[i].size());
        for (std::size_t j = 0; j < found[i].size(); ++j)
            EXPECT_NEAR(found[i][j], expected[i][j], tolerance) << i << ", " << j;
    }
}
Numbers sinusoids(int d_model, int length, const std::string& part = "", const std::string& spec = "sinusoidal") {
    return table(spec, heads(1, d_model), {.length = length, .part = part}).rows;
}

TEST(Published, TenBySixSinusoids) {
    const Numbers sines = {{0.0000, 0.0000, 0.0000},  {0.8415, 0.0464, 0.0022},  {0.9093, 0.0927, 0.0043},
                           {0.1411, 0.1388, 0.0065},  {-0.7568, 0.1846, 0.0086}, {-0.9589, 0.2300, 0.0108},
                           {-0.2794, 0.2749, 0.0129}, {0.6570, 0.3192, 0.0151},  {0.9894, 0.3629, 0.0172},
                           {0.4121, 0.4057, 0.0194}};
    const Numbers cosines = {{1.0000, 1.0000, 1.0000},  {0.5403, 0.9989, 1.0000},  {-0.4161, 0.9957, 1.0000},
                             {-0.9900, 0.9903, 1.0000}, {-0.6536, 0.9828, 1.0000}, {0.2837, 0.9732, 0.9999},
                             {0.9602, 0.9615, 0.9999},  {0.7539, 0.9477, 0.9999},  {-0.1455, 0.9318, 0.9999},
                             {-0.9111, 0.9140, 0.9998}};
    Numbers stacked, flat(10), halves(10), angles(10), positions; // stacked [10, 3, 2] is flattened to [10, 6]
    for (std::size_t i = 0; i < 10; ++i) {
        positions.push_back({static_cast<double>(i)});
        for (std::size_t k = 0; k < 3; ++k) {
            stacked.push_back({sines[i][k], cosines[i][k]});
            flat[i].insert(flat[i].end(), {sines[i][k], cosines[i][k]});
            angles[i].push_back(static_cast<double>(i) * std::vector<double>{1, 4.6416e-02, 2.1544e-03}[k]);
        }
        halves[i] = sines[i];
        halves[i].insert(halves[i].end(), cosines[i].begin(), cosines[i].end());
    }
    expect_near(sinusoids(6, 10, "position"), positions, 0);
    expect_near(sinusoids(6, 10, "angle"), angles, 1e-5);
    expect_near(sinusoids(6, 10, "sin"), sines);
    expect_near(sinusoids(6, 10, "cos"), cosines);
    expect_near(sinusoids(6, 10, "stack"), stacked);
    expect_near(sinusoids(6, 10), flat);
    expect_near(sinusoids(6, 10, "", "sinusoidal:layout=halves"), halves);
    expect_near(sinusoids(4, 3), {{0, 1, 0, 1}, {0.8415, 0.5403, 0.0100, 1.0000}, {0.9093, -0.4161, 0.0200, 0.9998}});
    // Odd widths, and the parts that they lack.
    EXPECT_EQ(sinusoids(5, 3, "sin")[0].size(), 3u);
    EXPECT_EQ(sinusoids(5, 3, "cos")[0].size(), 2u);
    EXPECT_THROW(sinusoids(5, 3, "stack"), Error);
    const std::string t2t = "sinusoidal:law=tensor2tensor"; // channels // 2 timescales, then a column of zeros
    EXPECT_EQ(sinusoids(1, 3, "", t2t), (Numbers{{0}, {0}, {0}}));
    EXPECT_EQ(sinusoids(1, 3, "denominator", t2t), Numbers{});
    EXPECT_THROW(sinusoids(1, 3, "angle", t2t), Error);
}

// ---- RoPE for longer contexts ------------------------------------------------------------------------

// Expects pairs of 128 columns to have w (1 - r) + w/s r, with a ramp r from pair `low` to pair `high`.
void expect_ramp(const std::string& spec, double low, double high, double s, double extrapolation = 1) {
    const Table found = table("rope:scaling=yarn," + spec, heads(1, 128), {.part = "frequency"});
    for (int k = 0; k < 64; ++k) {
        const double w = std::pow(10000, -k / 64.0),
                     kept = extrapolation * (1 - std::clamp((k - low) / (high - low), 0.0, 1.0));
        EXPECT_NEAR(found.rows[k][1], w * kept + w / s * (1 - kept), 1e-14 * w) << spec << ": " << k;
    }
}

// Peng et al. 2023 and their code; llama.cpp's ext_factor; Hugging Face's truncate.
TEST(Published, PairsThatYarnBlends) {
    expect_ramp("factor=4,original=2048", 16, 41, 4);
    expect_ramp("factor=4,original=4096", 20, 46, 4);
    for (const double e : {0.0, 0.25, 0.5})
        expect_ramp("factor=4,original=2048,extrapolation=" + std::to_string(e), 16, 41, 4, e);
    const auto pair = [](double turns) {
        return 128 * std::log(2048 / (2 * std::acos(-1.0) * turns)) / (2 * std::log(10000));
    };
    expect_ramp("factor=8,original=2048,truncate=no", pair(32), pair(1), 8);
}

// Llama 3.1: of 64 pairs, it keeps 29, blends 6, and divides 29 by 8.
TEST(Published, PairsThatLlama3Divides) {
    const Table found = table("rope:theta=500000,scaling=llama3", heads(1, 128), {.part = "frequency"});
    int kept = 0, divided = 0;
    for (int k = 0; k < 64; ++k) {
        const double ratio = found.rows[k][1] * std::pow(500000, k / 64.0);
        kept += ratio > 1 - 1e-9;
        divided += ratio < 1 / 8.0 + 1e-9;
    }
    EXPECT_EQ(kept, 29);
    EXPECT_EQ(divided, 29);
}

// Phi-3 and Hugging Face's dynamic: the length of a text or session chooses. A spec that says the length stays.
TEST(Published, LengthsThatChangeRope) {
    const std::string dynamic = "rope:scaling=dynamic,factor=2,original=2048",
                      longrope = "rope:scaling=longrope,original=2048,factor=32,short=1/1.5/2/4,long=1/8/16/32";
    const auto at = [&](const std::string& spec, int tokens) {
        const auto encoding = std::move(make_encodings(spec, heads(1)).at(0)),
                   other = encoding->at_length(tokens, tokens).instead.encoding;
        const std::string rest = (other ? other : encoding)->spec();
        return rest.substr(rest.rfind(',') + 1);
    };
    EXPECT_EQ(at(dynamic, 2049), "length=2049");
    EXPECT_EQ(at(dynamic, 4096), "original=2048") << "stands for its context";
    for (const int few : {10, 2048})
        EXPECT_EQ(at(dynamic, few), "length=2048") << "all that are short enough share one";
    EXPECT_EQ(at(dynamic + ",length=3000", 10), "length=3000");
    EXPECT_EQ(at(longrope, 2048), "factors=short");
    for (const int many : {2049, 100000})
        EXPECT_EQ(at(longrope, many).substr(0, 10), "attention=") << "as at its context";
    EXPECT_EQ(at(longrope + ",factors=long", 10), "factors=long");
}

} // namespace published_test
} // namespace ordo
