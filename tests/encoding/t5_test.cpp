// SPDX-License-Identifier: MIT
// Compares T5's bias with the formula of its paper and the buckets of the authors' code.
#include "tests/encoding/bias_formula.h"

#include <cmath>

namespace ordo {
namespace t5_test {

Dims dims(Mask mask = Mask::causal) {
    return {.d_model = 24, .n_heads = 3, .d_head = 8, .n_layers = 2, .context = 64, .mask = mask};
}

// Mesh TensorFlow's relative_position_bucket, of the key's position minus the query's.
int bucket_of(int relative, bool bidirectional, int buckets, int distance) {
    int bucket = 0, n = -relative;
    if (bidirectional) {
        buckets /= 2;
        if (n < 0) bucket += buckets;
        n = std::abs(n);
    } else {
        n = std::max(n, 0);
    }
    const int exact = buckets / 2;
    if (n < exact) return bucket + n;
    const double steps = std::log(double(n) / exact) / std::log(double(distance) / exact) * (buckets - exact) + 1e-9;
    return bucket + std::min(exact + static_cast<int>(steps), buckets - 1);
}

BiasFormula formula(Mask mask, int buckets = 32, int distance = 128) {
    return [=](const LayerParameters& parameters, int head, int i, int j) {
        const int bucket = bucket_of(j - i, mask == Mask::bidirectional, buckets, distance);
        return parameters[0][3 * bucket + head];
    };
}

double bucket_in_table(const std::string& spec, Mask mask, int distance, std::size_t column = 1) {
    const auto encoding = std::move(make_encodings(spec, dims(mask)).at(0));
    const Table table = encoding->table({.length = 1, .start = distance, .part = "buckets"});
    EXPECT_EQ(table.rows[0][0], distance);
    return table.rows[0][column];
}

// As Hugging Face's T5 computes the buckets, in single precision.
TEST(T5, BucketsOfTheAuthorsCode) {
    const std::pair<int, int> causal[] = {{0, 0},   {1, 1},   {15, 15},  {16, 16},  {19, 17},
                                          {31, 21}, {64, 26}, {127, 31}, {128, 31}, {9000, 31}};
    for (const auto& [distance, bucket] : causal)
        EXPECT_EQ(bucket_in_table("t5", Mask::causal, distance), bucket) << distance;
    const std::pair<int, int> both[] = {{0, 0},   {7, 7},   {8, 8},   {11, 8},  {12, 9},
                                        {16, 10}, {32, 12}, {64, 14}, {91, 15}, {128, 15}};
    for (const auto& [distance, bucket] : both) {
        EXPECT_EQ(bucket_in_table("t5", Mask::bidirectional, distance), bucket) << distance;
        const int later = distance > 0 ? 16 + bucket : bucket;
        EXPECT_EQ(bucket_in_table("t5", Mask::bidirectional, distance, 2), later) << distance;
    }
}

// 8 buckets a side up to 256: 4 exact ones, then one for each factor of 64^(1/4) = 2.83. 8^2 = 64 begins a bucket.
TEST(T5, AQuotientThatIsAWholeNumberBeginsABucket) {
    EXPECT_EQ(bucket_in_table("t5:buckets=8,distance=256", Mask::causal, 31), 5);
    EXPECT_EQ(bucket_in_table("t5:buckets=8,distance=256", Mask::causal, 32), 6);
    EXPECT_EQ(bucket_in_table("t5:buckets=32,distance=256", Mask::causal, 32), 20);
    EXPECT_EQ(bucket_in_table("t5:buckets=32,distance=256", Mask::causal, 64), 24);
    EXPECT_EQ(bucket_in_table("t5:buckets=32,distance=256", Mask::causal, 128), 28);
}

TEST(T5, IsTheFormulaWhateverIsPrepared) {
    for (const Mask mask : {Mask::causal, Mask::bidirectional})
        for (const int prepared : {0, 7, 40, 400}) {
            BoundEncoding encoding("t5", dims(mask), prepared);
            expect_bias(encoding, positions_from(0, 20), positions_from(0, 20), formula(mask), 0);
            expect_bias(encoding, {300}, positions_from(0, 301), formula(mask), 0);
            expect_bias(encoding, {5, 300, 6}, {300, 2, 2, 250, 6, 7}, formula(mask), 0);
            expect_bias(encoding, {2000000000}, {0, 1999999990, 2000000000}, formula(mask), 0);
        }
}

TEST(T5, GradientIsTheSumOfABucketsScores) {
    for (const Mask mask : {Mask::causal, Mask::bidirectional})
        for (const char* spec : {"t5", "t5:buckets=8,distance=12"}) {
            BoundEncoding encoding(spec, dims(mask), 32);
            const bool few = std::string(spec) != "t5";
            const BiasFormula expected = formula(mask, few ? 8 : 32, few ? 12 : 128);
            expect_gradients(encoding, positions_from(10, 30), positions_from(0, 40), expected);
            expect_gradients(encoding, {7, 900, 3, 40}, {2, 3, 3, 41, 7, 600}, expected);
        }
}

TEST(T5, HasOneTableForAllLayers) {
    const auto encoding = std::move(make_encodings("t5", dims()).at(0));
    ASSERT_EQ(encoding->tensors().size(), 1u);
    EXPECT_FALSE(encoding->tensors()[0].per_layer);
    EXPECT_EQ(encoding->tensors()[0].name, "weight");
    EXPECT_EQ(encoding->tensors()[0].shape, (std::vector<std::int64_t>{32, 3}));
    // std 1 / sqrt(d_model), T5's initial values.
    EXPECT_EQ(encoding->tensors()[0].initial.kind, InitialValues::Kind::normal);
    EXPECT_FLOAT_EQ(encoding->tensors()[0].initial.b, 1 / std::sqrt(24.0f));
}

// With -m_h D in bucket D, for all distances that have a bucket of their own.
TEST(T5, WithSlopesInItsTableIsAlibiUpToTheBuckets) {
    BoundEncoding t5("t5:buckets=64,distance=128", dims(), 32);
    const BoundEncoding alibi("alibi", dims());
    const Table slopes = alibi->table({.part = "slopes"});
    std::vector<double> weights;
    for (int bucket = 0; bucket < 64; ++bucket)
        for (std::size_t head = 0; head < 3; ++head) weights.push_back(-slopes.rows[head][1] * bucket);
    t5.set(0, 0, weights);
    for (int head = 0; head < 3; ++head) {
        Tensor a = t5.bias(1, head, positions_from(20, 12), positions_from(0, 20));
        Tensor b = alibi.bias(1, head, positions_from(20, 12), positions_from(0, 20));
        for (std::size_t i = 0; i < a.size(); ++i) EXPECT_FLOAT_EQ(a.data()[i], b.data()[i]);
    }
}

TEST(T5, ShowsItsTables) {
    BoundEncoding encoding("t5", dims(), 8);
    const Table table = encoding->table({.length = 4, .start = 100, .head = 2});
    const LayerParameters parameters = encoding.parameters(0);
    for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < 4; ++j)
            EXPECT_EQ(table.rows[i][j], j > i ? -INFINITY : parameters[0][3 * (i - j) + 2]);
    EXPECT_EQ(encoding->table({.part = "weights"}).rows.size(), 32u);
    EXPECT_EQ(encoding->table({.part = "weights"}).rows[5][1], parameters[0][3 * 5 + 1]);
    EXPECT_THROW(encoding->table({.head = 3}), Error);
    EXPECT_THROW(std::move(make_encodings("t5", dims()).at(0))->table({}), Error); // without weights
}

TEST(T5, RefusesWhatMakesNoBuckets) {
    for (const char* spec :
         {"t5:buckets=0", "t5:buckets=7", "t5:distance=16", "t5:buckets=64,distance=32", "t5:scale=2"})
        EXPECT_THROW(make_encodings(spec, dims()), Error) << spec;
    EXPECT_THROW(make_encodings("t5:buckets=6", dims(Mask::bidirectional)), Error);
    EXPECT_EQ(make_encodings("t5:distance=17", dims()).at(0)->spec(), "t5:buckets=32,distance=17");
    EXPECT_EQ(make_encodings("t5:buckets=2,distance=2", dims()).at(0)->spec(), "t5:buckets=2,distance=2");
}

} // namespace t5_test
} // namespace ordo
