// SPDX-License-Identifier: MIT
#include "training/step.h"

#include "tests/kernels/sets.h"
#include "tests/model/small_models.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace ordo {
namespace {

struct Learner {
    const int batch = 2, length = 6;

    const std::string spec = "rope";
    Blueprint blueprint = small_blueprint();
    ModelEncodings encodings{spec, blueprint.dims()};
    Parameters parameters{blueprint, encodings};
    Network network{blueprint, encodings, parameters, batch, length};
    Optimizer optimizer{parameters, hidden_matrices(blueprint)};
    std::vector<Token> tokens = random_tokens(batch * length, blueprint.vocab_size, 1),
                       targets = random_tokens(batch * length, blueprint.vocab_size, 2);

    Learner() { parameters.initialise(3); }
    Learner(std::string encoding, int sequences, int tokens_of_each)
        : batch(sequences), length(tokens_of_each), spec(std::move(encoding)) {
        parameters.initialise(3);
    }
    TrainingStep step(const ShareGradients& share = {}) {
        return take_step(network, optimizer, {tokens, targets}, {0.1, 0, 1, 0.1}, {}, share);
    }
    std::vector<float> values() { return {parameters.values().begin(), parameters.values().end()}; }
};

TEST(TakeStep, UpdatesByWhatIsShared) {
    Learner learner;
    const std::vector<float> before = learner.values();
    const TrainingStep step = learner.step([](double, std::span<float> gradients) {
        EXPECT_TRUE(std::any_of(gradients.begin(), gradients.end(), [](float g) { return g != 0; }));
        std::fill(gradients.begin(), gradients.end(), 0.0f);
        return 7.0;
    });
    EXPECT_EQ(step.loss, 7);
    EXPECT_EQ(step.gradient_norm, 0);
    EXPECT_EQ(learner.values(), before);
    EXPECT_EQ(learner.optimizer.steps, 1);
    EXPECT_TRUE(learner.step().finite());
    EXPECT_NE(learner.values(), before);
}

TEST(TakeStep, ALossThatIsNotFiniteChangesNothing) {
    Learner learner;
    const std::vector<float> before = learner.values();
    const TrainingStep step =
        learner.step([](double, std::span<float>) { return std::numeric_limits<double>::quiet_NaN(); });
    EXPECT_FALSE(step.finite());
    EXPECT_EQ(learner.values(), before);
    EXPECT_EQ(learner.optimizer.steps, 0);
}

TEST(TakeStep, RoundsProductsOfTheNetworkAndOfMuon) {
    for (const Kernels* set : test::tested_kernels()) {
        const test::Selected selected(*set);
        Learner both, network, floats;
        if (!PairProducts::available()) {
            EXPECT_THROW(multiply_pairs(both.network, both.optimizer), Error) << set->name;
            continue;
        }
        multiply_pairs(both.network, both.optimizer);
        network.network.multiply_pairs();
        EXPECT_EQ(both.step().loss, network.step().loss) << set->name;
        floats.step();
        EXPECT_NE(network.values(), floats.values()) << set->name;
        EXPECT_NE(both.values(), network.values()) << set->name;
    }
}

// Attention in pairs has nearly the gradient of attention in floats, with encodings that act at each of its moments.
TEST(TakeStep, GradientsOfPairsAreNearlyThoseOfFloats) {
    for (const Kernels* set : test::tested_kernels()) {
        const test::Selected selected(*set);
        if (!PairProducts::available()) continue;
        for (const char* spec : {"rope", "t5:buckets=8,distance=12", "shaw:clip=3,values=yes", "cope:positions=4",
                                 "sink+rope", "forget", "path:rank=2", "relative-logits:rank=2,extent=5"}) {
            Learner pairs(spec, 3, 37), floats(spec, 3, 37);
            pairs.network.multiply_pairs();
            (void)pairs.network.loss_and_grad({pairs.tokens, pairs.targets}, {});
            (void)floats.network.loss_and_grad({floats.tokens, floats.targets}, {});
            double off = 0, all = 0;
            for (std::size_t i = 0; i < floats.parameters.grads().size(); ++i) {
                const double exact = floats.parameters.grads()[i], found = pairs.parameters.grads()[i];
                off += (found - exact) * (found - exact), all += exact * exact;
            }
            EXPECT_GT(off, 0) << set->name << ": " << spec;
            EXPECT_LT(std::sqrt(off / all), 0.01) << set->name << ": " << spec;
        }
    }
}

// The only key of a sequence has the weight 1, whatever its score: the gradient of scores is 0.
TEST(TakeStep, OneKeyLeavesScoresWithoutGradient) {
    for (const Kernels* set : test::tested_kernels()) {
        const test::Selected selected(*set);
        if (!PairProducts::available()) continue;
        Learner one("t5:buckets=8,distance=12", 12, 1);
        one.network.multiply_pairs();
        (void)one.network.loss_and_grad({one.tokens, one.targets}, {});
        for (int i = one.parameters.first_encoding_tensor(); i < one.parameters.count(); ++i) {
            const View grad = one.parameters.grad(i);
            for (int j = 0; j < grad.rows * grad.cols; ++j) EXPECT_NEAR(grad.data[j], 0, 1e-7) << set->name;
        }
    }
}

} // namespace
} // namespace ordo
