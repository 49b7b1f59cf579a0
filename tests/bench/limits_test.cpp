// SPDX-License-Identifier: MIT
// The cost of a load, worked out by hand for a small trunk, and the measurement of the limits.
#include "core/parallel.h"
#include "model/stack.h"
#include "tools/bench/limits.h"
#include "tools/bench/predict.h"
#include "tools/bench/shapes.h"

#include <cmath>
#include <gtest/gtest.h>

namespace ordo::bench {
namespace {

// Two layers; 4 query heads on 2 key heads of 8; 16 wide, gated 24, 50 entries, tied, norms without bias.
Blueprint tiny() {
    Blueprint b;
    b.vocab_size = 50;
    b.context = 64;
    b.n_layers = 2;
    b.d_model = 16;
    b.n_heads = 4;
    b.n_kv_heads = 2;
    b.d_head = 8;
    b.d_ff = 24;
    return b;
}

// A layer has qkv [64, 16] of 1,024 weights, out [16, 32] of 512, gate and up [48, 16] of 768, and down [16, 24] of
// 384. This gives 2,688 weights and two norms of 16. The head [50, 16] has 800, and a norm of 16. Panels of 32 outputs
// extend 48 and 50 rows to 64, so in memory a layer has 2,944 and the head 1,024. A matrix with fewer than 32 rows has
// no panel. A query and a key take 8 multiplications and additions for q . k and 8 for p v, in 4 heads of 2 layers: 256
// flops. A key with its value has 2 x 8 numbers in 2 heads of 2 layers: 256 bytes of f32.

TEST(BenchPredict, AStepOfDecoding) {
    const Cost cost = predict(tiny(), WeightType::f32, {.n_gen = 1, .n_depth = 9}, 256);
    // 2 x (2 x 2,688 + 800) = 12,352 and ten keys
    EXPECT_DOUBLE_EQ(cost.flops, 12'352 + 10 * 256);
    // 4 x (2 x (2,944 + 32) + 1,040) = 27,968, a row of the embedding and ten keys
    EXPECT_DOUBLE_EQ(cost.bytes, 27'968 + 64 + 10 * 256);
    EXPECT_EQ(weight_bytes(tiny(), WeightType::f32), 27'968u);
}

TEST(BenchPredict, StepsOfDecodingSeeMoreAndMore) {
    const Cost cost = predict(tiny(), WeightType::f32, {.n_gen = 3}, 256);
    EXPECT_DOUBLE_EQ(cost.flops, 3 * 12'352 + (1 + 2 + 3) * 256);
    EXPECT_DOUBLE_EQ(cost.bytes, 3 * (27'968 + 64) + (1 + 2 + 3) * 256);
}

TEST(BenchPredict, SequencesTogetherReadTheWeightsOnce) {
    const Cost cost = predict(tiny(), WeightType::f32, {.n_gen = 2, .n_depth = 4, .n_parallel = 8}, 256);
    EXPECT_DOUBLE_EQ(cost.flops, 8 * (2 * 12'352 + (5 + 6) * 256));
    EXPECT_DOUBLE_EQ(cost.bytes, 2 * 27'968 + 8 * (2 * 64 + (5 + 6) * 256));
    const Cost halves =
        predict(tiny(), WeightType::f32, {.n_gen = 2, .n_depth = 4, .n_parallel = 8, .cache = CacheType::f16}, 256);
    EXPECT_DOUBLE_EQ(halves.bytes, 2 * 27'968 + 8 * (2 * 64 + (5 + 6) * 128));
}

TEST(BenchPredict, APromptHasLogitsOnceAndReadsWeightsForEveryChunk) {
    // Five tokens after two, in chunks of 3 and 2. The queries see 3, 4, 5, 6 and 7 keys, and the chunks 5 and 7.
    const Cost cost = predict(tiny(), WeightType::f32, {.n_prompt = 5, .n_depth = 2}, 3);
    EXPECT_DOUBLE_EQ(cost.flops, 5 * 10'752 + 1'600 + 25 * 256);
    EXPECT_DOUBLE_EQ(cost.bytes, 2 * 23'808 + 4'160 + 5 * 64 + 12 * 256);
}

TEST(BenchPredict, AWindowHidesKeys) {
    Blueprint b = tiny();
    b.window = 3;
    // The queries see 3 keys each. The first chunk reads keys 0..4, the second 3..5.
    const Cost prompt = predict(b, WeightType::f32, {.n_prompt = 4, .n_depth = 2}, 3);
    EXPECT_DOUBLE_EQ(prompt.flops, 4 * 10'752 + 1'600 + 12 * 256);
    EXPECT_DOUBLE_EQ(prompt.bytes, 2 * 23'808 + 4'160 + 4 * 64 + (5 + 3) * 256);
    const Cost start = predict(b, WeightType::f32, {.n_gen = 4}, 1);
    EXPECT_DOUBLE_EQ(start.flops, 4 * 12'352 + (1 + 2 + 3 + 3) * 256);
    EXPECT_DOUBLE_EQ(start.bytes, 4 * (27'968 + 64) + (1 + 2 + 3 + 3) * 256);
}

// As above, but the feed-forward part has 8 experts of 1,152 weights (1,408 in memory), a token uses 2 of them, and
// there is a router [8, 16]. Each token always reads 1,024 + 512 + 128 + 32 = 1,696 of a layer.
TEST(BenchPredict, ExpertsAreReadAsFarAsTokensGoThere) {
    Blueprint b = tiny();
    b.experts = 8;
    b.experts_used = 2;
    const auto weights = [](int experts) { return 4 * (2 * (1'696 + experts * 1'408) + 1'040); };
    EXPECT_EQ(weight_bytes(b, WeightType::f32), static_cast<unsigned>(weights(2)));
    EXPECT_DOUBLE_EQ(weight_sizes(b, WeightType::f32).all, weights(8));
    const auto step = [&](int sequences) {
        return predict(b, WeightType::f32, {.n_gen = 1, .n_parallel = sequences}, 256).bytes - sequences * (64 + 256);
    };
    EXPECT_DOUBLE_EQ(step(1), weights(2));
    EXPECT_DOUBLE_EQ(step(3), weights(6));
    EXPECT_DOUBLE_EQ(step(4), weights(8));
    EXPECT_DOUBLE_EQ(step(5), weights(8)); // there are only 8 experts
    // Chunks of 3 and 1 tokens, the last with logits; keys 1 .. 3 and 1 .. 4.
    const Cost prompt = predict(b, WeightType::f32, {.n_prompt = 4}, 3);
    EXPECT_DOUBLE_EQ(prompt.bytes, weights(6) + weights(2) - 4 * 1'040 + 4 * 64 + (3 + 4) * 256);
    // Only every other layer has experts.
    b.pattern = {tiny(), b};
    EXPECT_DOUBLE_EQ(predict(b, WeightType::f32, {.n_gen = 1}, 256).bytes,
                     4 * (2'976 + 1'696 + 2 * 1'408 + 1'040) + 64 + 256);
}

// 64 wide, 2 heads of 32, ungated 96, 40 entries, a separate head, LayerNorm and biases.
TEST(BenchPredict, PackedTypesAndBiases) {
    Blueprint b = tiny();
    b.n_layers = 1;
    b.d_model = 64;
    b.n_heads = b.n_kv_heads = 2;
    b.d_head = 32;
    b.d_ff = 96;
    b.vocab_size = 40;
    b.gated = false;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.attention_bias(true);
    b.ffn_bias = true;
    b.tied_head = false;
    // Weights: qkv 192 x 64, out 64 x 64, up 96 x 64, down 64 x 96: 28,672. f32: biases 192 + 64 + 96 + 64,
    // two norms of 2 x 64: 672. The head 40 x 64, in panels of 32 rows 64 x 64 = 4,096, and a norm of 128.
    const double vectors = 4 * (672 + 128);
    const Workload one{.n_gen = 1};
    const double key = 2 * 2 * 32 * 4;
    // q8_0: 34 bytes for 32 weights; a row of the embedding is 2 x 34
    EXPECT_DOUBLE_EQ(predict(b, WeightType::q8_0, one, 1).bytes, 30'464 + 4'352 + vectors + 68 + key);
    // q4_0: 18 bytes; the embedding and the head stay q8_0
    EXPECT_DOUBLE_EQ(predict(b, WeightType::q4_0, one, 1).bytes, 16'128 + 4'352 + vectors + 68 + key);
    EXPECT_DOUBLE_EQ(predict(b, WeightType::bf16, one, 1).bytes, 57'344 + 8'192 + vectors + 128 + key);
    for (const WeightType type : weight_types)
        EXPECT_DOUBLE_EQ(predict(b, type, one, 1).flops, 2 * (28'672 + 40 * 64) + 4 * 2 * 32) << name_of(type);
}

// The sizes of a model's own weights equal the prediction of its type, if it has a single type.
TEST(BenchPredict, AModelsOwnWeightsAreThoseOfItsType) {
    Blueprint b = tiny();
    b.d_model = 256; // a multiple of 256, unlike the 24 of the feed-forward part
    for (const WeightType type : {WeightType::f32, WeightType::bf16, WeightType::q4_0, WeightType::q4_K}) {
        const WeightSizes held = weight_sizes(random_model(b, "none", 1, type)), told = weight_sizes(b, type);
        EXPECT_EQ(held.layers, told.layers) << name_of(type);
        EXPECT_EQ(held.head, told.head) << name_of(type);
        EXPECT_EQ(held.row, told.row) << name_of(type);
        EXPECT_EQ(held.all, static_cast<double>(packed_bytes(tensor_list(b), type))) << name_of(type);
    }
}

TEST(BenchPredict, KnownSizes) {
    // llama2.c's stories15M: 15,191,712 parameters of f32, all read for each token.
    EXPECT_EQ(weight_bytes(shape("llama15m"), WeightType::f32), 4u * 15'191'712);
}

TEST(BenchLimits, TheLargestMatrixIsOfALayer) {
    const auto largest = [](const Blueprint& b) {
        const LargestMatrix m = largest_matrix(b);
        return std::pair(m.outputs, m.inputs);
    };
    EXPECT_EQ(largest(tiny()), (std::pair(64, 16)));               // qkv: grouped heads wider than the trunk
    EXPECT_EQ(largest(shape("llama15m")), (std::pair(1536, 288))); // gate and up
    Blueprint plain = shape("llama15m");
    plain.gated = false;
    plain.d_ff = 100;
    EXPECT_EQ(largest(plain), (std::pair(864, 288)));
}

TEST(BenchLimits, BetterOfEach) {
    const Limits best = better({3, 10, 1, 9, 4}, {5, 7, 2, 8, 6});
    EXPECT_EQ(best.stream, 5);
    EXPECT_EQ(best.sgemm, 10);
    EXPECT_EQ(best.products(WeightType::f32), 2);
    EXPECT_EQ(best.products(WeightType::f16), 2);
    EXPECT_EQ(best.products(WeightType::bf16), 9);
    EXPECT_EQ(best.products(WeightType::q8_0), 6);
    EXPECT_EQ(best.products(WeightType::q4_K), 6);
}

// The rates themselves are not tested, only that there is a rate for any number of threads and the smallest buffer.
TEST(BenchLimits, AreMeasuredOnTheThreadsThatWereAsked) {
    const int before = thread_count();
    for (const int threads : {1, 3}) {
        const Limits limits = measure_limits(tiny(), WeightType::q4_0, threads);
        EXPECT_EQ(thread_count(), threads);
        EXPECT_GT(limits.stream, 0);
        EXPECT_GT(limits.sgemm, 0);
        EXPECT_TRUE(std::isfinite(limits.stream) && std::isfinite(limits.sgemm));
        for (const double rate : {limits.floats, limits.pairs, limits.bytes})
            EXPECT_TRUE(rate > 0 && std::isfinite(rate)) << rate;
    }
    set_threads(before);
}

} // namespace
} // namespace ordo::bench
