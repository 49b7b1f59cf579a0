// SPDX-License-Identifier: MIT
// If an encoding's formula reduces to nothing or to a scale, a model with it equals the model without it.
#include "encoding/base/model_encodings.h"
#include "encoding/base/registry.h"
#include "tests/model/small_models.h"

#include <gtest/gtest.h>

namespace ordo {
namespace limit_cases_test {

constexpr int length = 40;

Rows logits(const Model& model, int chunk = length) {
    return logits_of(model, random_tokens(length, small_blueprint().vocab_size, 52), chunk);
}

// A model with the weights of one seed, and an encoding with one value in its tensors of this name, and 0 elsewhere.
Model with_encoding_of(const Blueprint& b, const std::string& spec, const std::string& name, float value) {
    const reference::Tensors weights = tensors_of(random_model(b, "none", 51));
    ModelEncodings encodings(spec, b.dims());
    TensorMemory tensors(model_tensors(b, encodings));
    for (std::size_t i = 0; i < tensors.specs().size(); ++i) {
        const std::span<float> to = tensors.values(i);
        const std::string& own = tensors.specs()[i].name;
        if (const auto from = weights.find(own); from != weights.end())
            std::copy(from->second.values.begin(), from->second.values.end(), to.begin());
        else
            std::fill(to.begin(), to.end(), own.ends_with(name) ? value : 0);
    }
    return make_model("limit", b, std::move(encodings), std::move(tensors), {}, {}, b.context);
}

TEST(LimitCases, ASinkAtMinusInfinityIsNone) {
    const Blueprint b = small_blueprint();
    const Rows none = logits(random_model(b, "none", 51));
    for (const int chunk : {1, 7, length}) {
        EXPECT_LE(difference(logits(with_encoding_of(b, "sink", "logit", -INFINITY), chunk), none), 1e-4) << chunk;
        EXPECT_GT(difference(logits(with_encoding_of(b, "sink", "logit", 0), chunk), none), 1e-2) << chunk;
    }
}

TEST(LimitCases, AGateThatForgetsAllIsAWindowOfOne) {
    Blueprint b = small_blueprint();
    const Rows forgetting = logits(with_encoding_of(b, "forget", "bias", -1000));
    b.window = 1;
    EXPECT_LE(difference(forgetting, logits(random_model(b, "none", 51))), 1e-4);
}

// Nothing of the query is left in the output.
TEST(LimitCases, AFactorOfZeroHasTheGradientZero) {
    const auto log_scale = std::move(make_encodings("log-scale", small_blueprint().dims()).at(0));
    std::vector<float> zero(4), x(10), dx(10, 1), d(4);
    const View grad = view(d.data(), 1, 4);
    log_scale->bind(0, std::vector<View>{view(zero.data(), 1, 4)});
    log_scale->rotate_backward(view(dx.data(), 1, 10), view(x.data(), 1, 10),
                               {.n_heads = 1, .positions = std::vector<int>{5}}, {.tensors = {&grad, 1}});
    EXPECT_EQ(d, zero);
}

// The bits are those of the whole row, however it is fed.
TEST(LimitCases, AWindowOfAllTokensHidesNone) {
    for (const EncodingInfo* info : registered_encodings()) {
        SCOPED_TRACE(info->name);
        Blueprint b = small_blueprint();
        b.n_layers = 1;
        const auto windowed = [&](int window, int chunk) {
            b.window = window;
            return logits(random_model(b, info->name, 53), chunk);
        };
        for (const int chunk : {1, 7, length}) {
            const Rows whole = windowed(0, chunk);
            for (const int window : {length, length + 1, 1000})
                EXPECT_EQ(difference(windowed(window, chunk), whole), 0) << window << " " << chunk;
        }
    }
}

} // namespace limit_cases_test
} // namespace ordo
