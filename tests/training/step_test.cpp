// SPDX-License-Identifier: MIT
#include "training/step.h"

#include "tests/kernels/sets.h"
#include "tests/model/small_models.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>

namespace ordo {
namespace {

struct Learner {
    static constexpr int batch = 2, length = 6;

    Blueprint blueprint = small_blueprint();
    ModelEncodings encodings{"rope", blueprint.dims()};
    Parameters parameters{blueprint, encodings};
    Network network{blueprint, encodings, parameters, batch, length};
    Optimizer optimizer{parameters, hidden_matrices(blueprint)};
    std::vector<Token> tokens = random_tokens(batch * length, blueprint.vocab_size, 1),
                       targets = random_tokens(batch * length, blueprint.vocab_size, 2);

    Learner() { parameters.initialise(3); }
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

} // namespace
} // namespace ordo
