// SPDX-License-Identifier: MIT
// The encodings that training refuses, and the initial values of tensors.
#include "encoding/base/initial.h"
#include "encoding/base/registry.h"
#include "encoding/base/stack.h"

#include "core/random.h"
#include "core/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ordo {
namespace trainable_test {

const Dims dims{24, 3, 8, 4, 64};

// An encoding with moments and without a backward pass.
class Bare : public Encoding {
public:
    explicit Bare(unsigned moments, bool trained = false, unsigned reads = 0)
        : moments_(moments), trained_(trained), reads_(reads) {}
    std::string spec() const override { return "bare:x=1"; }
    unsigned moments() const override { return moments_; }
    unsigned reads() const override { return reads_; }
    std::vector<TensorSpec> tensors() const override {
        return {{.name = "fixed", .shape = {3}, .trainable = false},
                {.name = "weight", .shape = {2, 3}, .trainable = trained_}};
    }

private:
    unsigned moments_;
    bool trained_;
    unsigned reads_;
};

std::string untrainable(std::unique_ptr<Encoding> encoding) {
    std::vector<std::unique_ptr<Encoding>> items;
    items.push_back(std::move(encoding));
    try {
        EncodingStack(std::move(items), 2).check_trainable();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::usage);
        return error.what();
    }
    return "";
}

TEST(Trainable, NoBackwardDoesNothingByDefault) {
    for (const MomentInfo& info : moments_of_a_pass) {
        const std::string text = untrainable(std::make_unique<Bare>(info.moment, true));
        EXPECT_NE(text.find("bare: has no gradient for " + std::string(info.name)), text.npos) << text;
        EXPECT_NE(text.find("'weight'"), text.npos) << text;
    }
}

// Calling the missing backward pass of an encoding throws the same message.
TEST(Trainable, ABackwardThatIsMissingThrows) {
    const Bare bare(moment_embed);
    const std::function<void()> calls[] = {
        [&] { bare.embed_backward({}, {}, {}, {}); },   [&] { bare.observe_backward({}, {}, 0, {}, {}, {}, {}); },
        [&] { bare.rotate_backward({}, {}, {}, {}); },  [&] { bare.bias_backward({}, {}, {}); },
        [&] { bare.rescore_backward({}, {}, {}, {}); }, [&] { bare.sink_backward(0, 0, 0, {}); },
        [&] { bare.mix_backward({}, {}, {}, {}, {}); }};
    for (std::size_t i = 0; i < std::size(calls); ++i) {
        try {
            calls[i]();
            FAIL() << moments_of_a_pass[i].name;
        } catch (const Error& error) {
            EXPECT_EQ(error.what(), "bare: has no gradient for " + std::string(moments_of_a_pass[i].name));
        }
    }
}

TEST(Trainable, AnEncodingThatNamesItsGradientsIs) {
    class Taught final : public Bare {
    public:
        explicit Taught(unsigned gradients) : Bare(moment_embed | moment_rotate, true), gradients_(gradients) {}
        unsigned gradients() const override { return gradients_; }

    private:
        unsigned gradients_;
    };
    EXPECT_EQ(untrainable(std::make_unique<Taught>(moment_embed | moment_rotate)), "");
    EXPECT_NE(untrainable(std::make_unique<Taught>(moment_embed)).find("no gradient for rotate"), std::string::npos);
}

TEST(Trainable, WhatActsNowhereTrainsNothing) {
    EXPECT_EQ(untrainable(std::make_unique<Bare>(0, true)),
              "'bare:x=1' cannot be trained (tensor 'weight'): it acts on no moment of a pass");
    EXPECT_EQ(untrainable(std::make_unique<Bare>(0)), "");
}

TEST(Trainable, ABiasOrASinkThatIsConstantNeedsNone) {
    EXPECT_EQ(untrainable(std::make_unique<Bare>(moment_bias | moment_sink)), "");
    EXPECT_NE(
        untrainable(std::make_unique<Bare>(moment_bias, false, reads_keys)).find("bare: has no gradient for bias"),
        std::string::npos);
    for (const Moment moment : {moment_embed, moment_rotate, moment_observe, moment_rescore, moment_mix})
        EXPECT_NE(untrainable(std::make_unique<Bare>(moment)), "");
    // ALiBi without trained slopes needs no backward pass.
    const EncodingStack stack("alibi", dims);
    EXPECT_EQ(stack.layer(0).backward_moments(), 0u);
    stack.layer(0).bias_backward({}, {}, {}, stack.gradients_of_layer(0, {}));
    stack.layer(0).sink_backward(0, 1, stack.gradients_of_layer(0, {}));
}

TEST(Trainable, EveryRegisteredEncodingIs) {
    for (const EncodingInfo* info : registered_encodings()) {
        EncodingStack stack(info->name, dims);
        std::vector<Tensor> storage;
        std::vector<View> views;
        for (const TensorSpec& spec : stack.tensors())
            storage.emplace_back(spec.shape.size() == 1 ? 1 : static_cast<int>(spec.shape[0]),
                                 static_cast<int>(spec.shape.back()));
        for (Tensor& tensor : storage) views.push_back(tensor.view());
        stack.bind(views);
        stack.prepare(64);
        EXPECT_NO_THROW(stack.check_trainable()) << info->name;
    }
}

TEST(InitialValues, AreNormalUniformConstantOrTheEncodingsOwn) {
    const auto filled = [](const InitialValues& initial, std::uint64_t seed = 7) {
        std::vector<float> values(10000);
        fill_initial({.name = "w", .shape = {10000}, .initial = initial}, values, seed, 0x1417);
        return values;
    };
    const Random random(7, 0x1417);
    const std::vector<float> normal = filled({}), uniform = filled(InitialValues::uniform(2, 5));
    for (std::size_t i = 0; i < normal.size(); ++i) {
        // The initial values must not change between versions.
        ASSERT_EQ(normal[i], static_cast<float>(0.02f * random.normal(i)));
        ASSERT_TRUE(uniform[i] >= 2 && uniform[i] <= 5);
    }
    EXPECT_NEAR(*std::min_element(uniform.begin(), uniform.end()), 2, 0.01);
    EXPECT_NEAR(*std::max_element(uniform.begin(), uniform.end()), 5, 0.01);
    EXPECT_NE(filled({}, 8), normal);
    EXPECT_EQ(filled(InitialValues::constant(1)), std::vector<float>(10000, 1.0f));
    double sum = 0;
    for (const float value : filled(InitialValues::normal(0.5f, 3))) sum += value;
    EXPECT_NEAR(sum / 10000, 3, 0.02);
    std::uint64_t given = 0;
    const std::vector<float> own = filled(InitialValues::from([&](std::span<float> out, std::uint64_t seed) {
        given = seed;
        std::fill(out.begin(), out.end(), 4.0f);
    }));
    EXPECT_EQ(own, std::vector<float>(10000, 4.0f));
    const std::uint64_t first = given;
    filled(InitialValues::from([&](std::span<float>, std::uint64_t seed) { given = seed; }), 8);
    EXPECT_NE(given, first);
}

} // namespace trainable_test
} // namespace ordo
