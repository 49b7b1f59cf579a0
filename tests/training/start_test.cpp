// SPDX-License-Identifier: MIT
// The initial weights of a run, and its learning rate.
#include "tests/model/small_models.h"
#include "training/parameters.h"
#include "training/schedule.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

// The root mean square of a tensor. Its expectation is the deviation.
double deviation(Parameters& parameters, const std::string& name) {
    const View v = parameters.value(name);
    double sum = 0;
    for (int i = 0; i < v.rows * v.cols; ++i) sum += static_cast<double>(v.data[i]) * v.data[i];
    return std::sqrt(sum / (v.rows * v.cols));
}

class Start : public testing::Test {
protected:
    Start() {
        b_.n_layers = 8; // branches by 1 / sqrt(16)
        b_.d_model = 64, b_.d_head = 16, b_.d_ff = 144;
        encodings_ = ModelEncodings("t5", b_.dims());
    }
    Parameters started(const InitialMatrices& matrices) {
        Parameters parameters(b_, encodings_);
        parameters.initialise(3, matrices);
        return parameters;
    }
    void expect_deviations(const InitialMatrices& matrices, double embedding, double attention_out, double in,
                           double out) {
        Parameters p = started(matrices);
        EXPECT_NEAR(deviation(p, "embedding.weight"), embedding, 0.05 * embedding);
        EXPECT_NEAR(deviation(p, "layers.7.attention.out.weight"), attention_out, 0.05 * attention_out);
        EXPECT_NEAR(deviation(p, "layers.2.feed_forward.in.weight"), in, 0.05 * in);
        EXPECT_NEAR(deviation(p, "layers.2.feed_forward.out.weight"), out, 0.05 * out);
        EXPECT_EQ(deviation(p, "final_norm.weight"), 1);
    }

    Blueprint b_ = small_blueprint();
    ModelEncodings encodings_;
};

TEST_F(Start, MatricesHaveTheDeviationThatWasAskedFor) {
    expect_deviations({}, 0.02, 0.005, 0.02, 0.005);
    expect_deviations({.deviation = 0.06}, 0.06, 0.015, 0.06, 0.015);
    expect_deviations({.deviation = 0.06, .shrink_branches = false}, 0.06, 0.06, 0.06, 0.06);
    expect_deviations({.deviation = 0}, 1.0 / 8, 1.0 / 32, 1.0 / 8, 1.0 / 48);
    expect_deviations({.deviation = 0, .shrink_branches = false}, 1.0 / 8, 1.0 / 8, 1.0 / 8, 1.0 / 12);
}

TEST_F(Start, AnEncodingsTensorsStartAsItSays) {
    Parameters usual = started({}), other = started({.deviation = 0.5, .shrink_branches = false});
    for (int i = usual.first_encoding_tensor(); i < usual.count(); ++i)
        EXPECT_EQ(usual.value(i).data[1], other.value(i).data[1]);
    ASSERT_LT(usual.first_encoding_tensor(), usual.count());
}

TEST(Schedule, CosineFallsFromTheWarmUpOn) {
    const Schedule s{.peak = 2, .least = 0.1, .steps = 110, .warmup = 10};
    EXPECT_DOUBLE_EQ(s(0), 0.2);
    EXPECT_DOUBLE_EQ(s(9), 2);
    EXPECT_DOUBLE_EQ(s(10), 2);
    EXPECT_DOUBLE_EQ(s(60), 1.1);                                            // halfway: (1 + 0.1) / 2 of the peak
    EXPECT_NEAR(s(85), 2 * (0.1 + 0.9 * 0.5 * (1 - std::sqrt(0.5))), 1e-12); // cos(3 pi / 4)
    EXPECT_GT(s(109), 0.2);                                                  // the last step
    EXPECT_DOUBLE_EQ(s(110), 0.2);
    EXPECT_DOUBLE_EQ((Schedule{.peak = 2, .steps = 110, .warmup = 0}(0)), 2);
}

TEST(Schedule, StableFallsInALineAtTheEnd) {
    const Schedule s{.peak = 2, .least = 0.1, .steps = 110, .warmup = 10, .decay = 20};
    EXPECT_DOUBLE_EQ(s(4), 1);
    for (const int step : {10, 60, 89, 90}) EXPECT_DOUBLE_EQ(s(step), 2) << step;
    EXPECT_DOUBLE_EQ(s(95), 2 * (0.1 + 0.9 * 0.75));
    EXPECT_DOUBLE_EQ(s(100), 1.1);
    EXPECT_DOUBLE_EQ(s(110), 0.2);
    // A decay longer than the remaining steps begins after the warm-up.
    const Schedule all{.peak = 1, .least = 0, .steps = 20, .warmup = 10, .decay = 15};
    EXPECT_DOUBLE_EQ(all(9), 1);
    EXPECT_DOUBLE_EQ(all(15), 0.5);
}

} // namespace
} // namespace ordo
