// SPDX-License-Identifier: MIT
// Compares the arithmetic of the benchmarks with values worked out by hand or counted one by one. No test depends on
// speed.
#include "encoding/base/registry.h"
#include "tools/bench/overhead.h"
#include "tools/bench/predict.h"
#include "tools/bench/shapes.h"
#include "tools/bench/statistics.h"
#include "tools/bench/training_speed.h"

#include <gtest/gtest.h>

namespace ordo::bench {
namespace {

using Values = std::vector<double>;
using Names = std::vector<std::string>;

TEST(BenchStatistics, QuantilesAsRsTypeSeven) {
    EXPECT_DOUBLE_EQ(quantile(Values{7}, 0.5), 7);
    EXPECT_DOUBLE_EQ(quantile(Values{5, 1, 3}, 0.5), 3);
    EXPECT_DOUBLE_EQ(quantile(Values{4, 1, 3, 2}, 0.5), 2.5);
    // R: quantile(c(1, 2, 4, 8, 16, 32), c(.25, .75)) is 2.5 and 14
    EXPECT_DOUBLE_EQ(quantile(Values{32, 1, 16, 2, 8, 4}, 0.25), 2.5);
    EXPECT_DOUBLE_EQ(quantile(Values{32, 1, 16, 2, 8, 4}, 0.75), 14);
    EXPECT_DOUBLE_EQ(quantile(Values{3, 9, 6}, 0), 3);
    EXPECT_DOUBLE_EQ(quantile(Values{3, 9, 6}, 1), 9);
}

TEST(BenchStatistics, SummaryOfFiveValues) {
    const Summary s = summarize(Values{9, 2, 4, 4, 6});
    EXPECT_DOUBLE_EQ(s.min, 2);
    EXPECT_DOUBLE_EQ(s.first_quartile, 4);
    EXPECT_DOUBLE_EQ(s.median, 4);
    EXPECT_DOUBLE_EQ(s.third_quartile, 6);
    EXPECT_DOUBLE_EQ(s.max, 9);
    EXPECT_DOUBLE_EQ(s.mean, 5);
    EXPECT_DOUBLE_EQ(s.deviation * s.deviation, 28.0 / 4); // 16 + 9 + 1 + 1 + 1
    EXPECT_DOUBLE_EQ(summarize(Values{3}).deviation, 0);
}

TEST(BenchStatistics, PairedRatiosCancelWhatBothSidesSuffer) {
    // The machine halves its speed for the second round; the encoding costs 10 % in each.
    const Values percent = paired_percent(Values{1.1, 2.2, 1.1}, Values{1, 2, 1});
    ASSERT_EQ(percent.size(), 3u);
    for (const double p : percent) EXPECT_NEAR(p, 10, 1e-12);
    EXPECT_NEAR(paired_percent(Values{0.5}, Values{2})[0], -75, 1e-12);
}

TEST(BenchStatistics, RatesAreCountsPerSecond) {
    EXPECT_EQ(rates(512, Values{0.5, 2}), (Values{1024, 256}));
}

TEST(BenchShapes, ListsOfEncodings) {
    EXPECT_EQ(encoding_list(Names{"rope:theta=500,pairing=halves,alibi"}),
              (Names{"none", "rope:theta=500,pairing=halves", "alibi"}));
    EXPECT_EQ(encoding_list(Names{"alibi;rope:theta=500,width=8", "none", "alibi"}),
              (Names{"none", "alibi", "rope:theta=500,width=8"}));
    EXPECT_EQ(encoding_list(Names{"segment+learned,rotate-stretch:period=6"}),
              (Names{"none", "segment+learned", "rotate-stretch:period=6"}));
    EXPECT_EQ(encoding_list({}), Names{"none"});
    EXPECT_THROW(encoding_list(Names{"rope,"}), Error);
    EXPECT_THROW(encoding_list(Names{""}), Error);
}

TEST(BenchShapes, AllIsEveryRegisteredEncodingAfterNone) {
    const Names all = encoding_list(Names{"all"});
    ASSERT_EQ(all.size(), registered_encodings().size());
    EXPECT_EQ(all.front(), "none");
    for (const EncodingInfo* info : registered_encodings())
        EXPECT_EQ(std::count(all.begin(), all.end(), info->name), 1) << info->name;
}

TEST(BenchShapes, EveryNameIsASoundBlueprint) {
    for (const std::string& name : shape_names()) {
        EXPECT_NO_THROW(check(shape(name), name));
        EXPECT_FALSE(shape(name).bidirectional()) << name;
    }
    for (const char* name : {"llama16m", "bert", "roberta", "t5"}) EXPECT_THROW(shape(name), Error) << name;
}

// Parameters of matrices and embeddings, in millions, as llama2.c and the model hubs count them.
TEST(BenchShapes, SizesAreTheKnownOnes) {
    const auto millions = [](const char* name) {
        return static_cast<double>(parameter_count(tensor_list(shape(name)))) / 1e6;
    };
    EXPECT_NEAR(millions("llama15m"), 15.2, 0.05);
    EXPECT_NEAR(millions("llama110m"), 109.5, 0.1);
    EXPECT_NEAR(millions("gpt2-124m"), 124.4 - 1024 * 768 / 1e6, 0.1); // positions belong to the encoding
    EXPECT_NEAR(millions("llama1.1b"), 1100, 1);
}

TEST(BenchWorkloads, TheGridIsCrossed) {
    const std::int64_t prompts[] = {512, 0}, gens[] = {128}, depths[] = {0, 1024}, threads[] = {1, 2};
    const std::int64_t parallel[] = {1}, several[] = {1, 8};
    const std::vector<Workload> loads = workloads(prompts, gens, depths, threads, parallel);
    Names names;
    for (const Workload& load : loads) names.push_back(load.name() + " t" + std::to_string(load.n_threads));
    EXPECT_EQ(names, (Names{"pp512 t1", "tg128 t1", "pp512 @ d1024 t1", "tg128 @ d1024 t1", "pp512 t2", "tg128 t2",
                            "pp512 @ d1024 t2", "tg128 @ d1024 t2"}));
    EXPECT_EQ(loads[0].tokens(), 512);
    EXPECT_EQ(loads[1].tokens(), 128);
    // Only decoding has several sequences in the batch.
    Names together;
    for (const Workload& load :
         workloads(prompts, gens, std::span(depths).first(1), std::span(threads).first(1), several))
        together.push_back(load.name());
    EXPECT_EQ(together, (Names{"pp512", "tg128", "tg128 x 8"}));
}

TEST(BenchTraining, BothTrunksHaveTheSameProducts) {
    // 6 layers of 576 x 192 + 192 x 192 + 2 x 768 x 192, and the head's 4096 x 192
    EXPECT_EQ(matmul_parameters(training_trunk(false)), 3'440'640);
    EXPECT_EQ(matmul_parameters(training_trunk(true)), 3'440'640);
}

TEST(BenchTraining, ProductsAddUpToSixPerParameterAndToken) {
    for (const char* name : {"ordo", "llama", "gpt2"}) {
        const Blueprint b = shape(name);
        const std::vector<Product> products = training_products(b, 2048, 512);
        double flops = 0;
        for (const Product& p : products) flops += p.count * p.flops();
        EXPECT_DOUBLE_EQ(flops, 6 * matmul_parameters(b) * 2048) << name;
    }
}

// The head has as few columns as the embedding, and there is a matrix on either side of the trunk. The matrix before
// the head is multiplied wherever the head is.
TEST(BenchTraining, ANarrowEmbeddingHasTwoProjections) {
    Blueprint b = training_trunk(true); // 4096 entries, 192 wide
    const double wide = matmul_parameters(b), trunk = wide - 4096 * 192;
    const Workload prompt{.n_prompt = 8};
    const Cost before = predict(b, WeightType::f32, prompt, 8);
    b.embedding_width = 64;
    EXPECT_EQ(matmul_parameters(b), trunk + 4096 * 64 + 2 * 64 * 192);
    double flops = 0;
    for (const Product& p : training_products(b, 2048, 512)) flops += p.count * p.flops();
    EXPECT_DOUBLE_EQ(flops, 6 * matmul_parameters(b) * 2048);
    const Cost after = predict(b, WeightType::f32, prompt, 8);
    EXPECT_DOUBLE_EQ(before.flops - after.flops, 2.0 * 4096 * (192 - 64) - 2.0 * 64 * 192 * 8 - 2.0 * 64 * 192);
    // The head and a token's row each lose columns, and both matrices are read once.
    EXPECT_DOUBLE_EQ(before.bytes - after.bytes, 4.0 * (4096 * (192 - 64) + 8 * (192 - 64) - 2 * 64 * 192));
    b.embedding_width = 40; // not a multiple of 32, so without blocks: f16
    EXPECT_EQ(weight_sizes(b, WeightType::q8_0).row, 80);
}

TEST(BenchTraining, ProductsOfASmallTrunk) {
    Blueprint b;
    b.vocab_size = 10;
    b.context = 4;
    b.n_layers = 3;
    b.d_model = 6;
    b.n_heads = 4;
    b.n_kv_heads = 2;
    b.d_head = 5;
    b.d_ff = 7;
    const std::vector<Product> products = training_products(b, 8, 4);
    const auto find = [&](std::string_view name) {
        return *std::find_if(products.begin(), products.end(), [&](const Product& p) { return p.name == name; });
    };
    const Product qkv = find("attention.qkv y"); // [8, 6] times [(4 + 2 + 2) * 5, 6]^T
    EXPECT_EQ((std::array{qkv.m, qkv.n, qkv.k, qkv.count}), (std::array{8, 40, 6, 3}));
    EXPECT_EQ(qkv.flops(), 2 * 8 * 40 * 6);
    const Product dw = find("feed_forward.in dw"); // gated: [8, 14]^T times [8, 6]
    EXPECT_EQ((std::array{dw.m, dw.n, dw.k, dw.count}), (std::array{14, 6, 8, 3}));
    const Product head = find("head dx"); // [4, 10] times [10, 6], twice
    EXPECT_EQ((std::array{head.m, head.n, head.k, head.count}), (std::array{4, 6, 10, 2}));
}

TEST(BenchTraining, AttentionIsCountedOverWhatIsSeen) {
    Blueprint b = training_trunk(true);
    b.n_layers = 2;
    const int batch = 3, length = 9;
    double multiplications = 0;
    for (int layer = 0; layer < 2; ++layer)
        for (int sequence = 0; sequence < batch; ++sequence)
            for (int head = 0; head < 6; ++head)
                for (int query = 0; query < length; ++query)
                    for (int key = 0; key <= query; ++key) multiplications += 32 * 6; // q.k and p.v; dv, dp, dq and dk
    EXPECT_DOUBLE_EQ(step_flops(b, batch, length), 6 * matmul_parameters(b) * 27 + 2 * multiplications);
    // Of 9 + 8 + .. + 1 pairs, a window of 4 in the second layer hides those 4 or more apart: 5 + 4 + .. + 1.
    b.pattern = {b, b};
    b.pattern[1].window = 4;
    EXPECT_DOUBLE_EQ(step_flops(b, batch, length),
                     6 * matmul_parameters(b) * 27 + 2 * (multiplications - batch * 6 * 15 * 32 * 6.0));
}

} // namespace
} // namespace ordo::bench
