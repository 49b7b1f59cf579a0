// SPDX-License-Identifier: MIT
// Compares KL and top-1 with their definitions, and checks the bounds for weight types on the shipped weights.
#include "core/parallel.h"
#include "io/file.h"
#include "model/model_file.h"
#include "tests/kernels/sets.h"
#include "tests/model/small_models.h"
#include "tests/temp_dir.h"
#include "tools/bench/accuracy.h"
#include "tools/train/documents.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <sstream>

namespace ordo::bench {
namespace {

// A single thread: no result depends on the number of threads, and on a busy machine more threads are slow.
class BenchAccuracy : public testing::Test {
protected:
    BenchAccuracy() { set_threads(1); }
    ~BenchAccuracy() override { set_threads(threads_); }

private:
    int threads_ = thread_count();
};

std::vector<double> probabilities(std::span<const float> logits) {
    std::vector<double> p;
    for (const float logit : logits) p.push_back(std::exp(static_cast<double>(logit)));
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& x : p) x /= sum;
    return p;
}

TEST_F(BenchAccuracy, IsTheDefinitionOverEveryWindow) {
    const Model reference = random_model(small_blueprint(), "rope", 5),
                model = random_model(small_blueprint(), "alibi", 5);
    const std::vector<std::vector<Token>> documents{random_tokens(25, 101, 1), random_tokens(8, 101, 2)};
    double kl = 0, same = 0, n = 0;
    for (const std::vector<Token>& document : documents)
        for (std::size_t start = 0; start < document.size(); start += 10) { // windows of 10, 10, 5 and 8
            Session a(reference), b(model);
            for (std::size_t i = start; i + 1 < std::min(start + 10, document.size()); ++i) {
                const auto p = probabilities(a.feed({&document[i], 1}));
                const auto q = probabilities(b.feed({&document[i], 1}));
                for (std::size_t t = 0; t < p.size(); ++t) kl += p[t] * std::log(p[t] / q[t]);
                same += std::max_element(p.begin(), p.end()) - p.begin() ==
                        std::max_element(q.begin(), q.end()) - q.begin();
                ++n;
            }
        }
    const Accuracy found = measure_accuracy(reference, model, documents, 10);
    EXPECT_EQ(found.tokens, 9 + 9 + 4 + 7);
    EXPECT_EQ(static_cast<double>(found.tokens), n);
    EXPECT_GT(kl / n, 1e-4);
    EXPECT_NEAR(found.kl, kl / n, 1e-5 * kl / n + 1e-9);
    EXPECT_NEAR(found.top1, same / n, 1e-12);
    EXPECT_EQ(measure_accuracy(reference, model, documents, 10, 12).tokens, 12);
    EXPECT_EQ(measure_accuracy(reference, model, documents, 10, 1000).tokens, 29);
}

TEST_F(BenchAccuracy, AModelAgreesWithItself) {
    const Model model = random_model(small_blueprint(), "rope", 5);
    const std::vector<std::vector<Token>> documents{random_tokens(90, 101, 1)};
    const Accuracy found = measure_accuracy(model, model, documents, 96);
    EXPECT_EQ(found.kl, 0);
    EXPECT_EQ(found.top1, 1);
    Blueprint other = small_blueprint();
    other.vocab_size = 99;
    EXPECT_THROW(measure_accuracy(model, random_model(other, "rope", 5), documents, 96), Error);
}

// ---- Shipped weights --------------------------------------------------------------------------

class WeightTypeGates : public testing::TestWithParam<const char*> {
protected:
    WeightTypeGates() { set_threads(1); }
    ~WeightTypeGates() override { set_threads(threads_); }

    std::filesystem::path file() const { return std::string("weights/") + GetParam() + ".safetensors"; }
    static Model load(const std::filesystem::path& path, const std::string& dtype) {
        LoadOptions options;
        options.dtype = dtype;
        return Model::load(path, options);
    }
    static Accuracy compare(const Model& reference, const Model& model, std::int64_t max_tokens = 0,
                            CacheType cache = CacheType::f32) {
        const std::string text = read_file("weights/heldout.txt", 1 << 20);
        return measure_accuracy(reference, model,
                                tools::tokens_of(tools::read_documents(text, reference, "heldout.txt")),
                                reference.context(), max_tokens, {}, cache);
    }

private:
    int threads_ = thread_count();
};

// Compares with the same weights in f32. Only the order of sums differs. For bf16, inputs are also rounded to 8 bits of
// precision if the kernels multiply pairs. The shipped weights, trained with orthogonal steps (Muon), amplify any
// rounding more than AdamW's weights did, which stayed below 1e-5.
TEST_P(WeightTypeGates, HalvesComputeWhatTheirWeightsInF32Do) {
    const test::TempDir dir;
    const Model shipped = load(file(), "f32");
    for (const auto type : {WeightType::f16, WeightType::bf16}) {
        TensorMemory tensors = floats_of(shipped);
        ModelFile halves{blueprint_of(shipped), shipped.encoding(), shipped.metadata("tokenizer"), {}, {}, {}, type};
        halves.specs.assign(tensors.specs().begin(), tensors.specs().end());
        for (std::size_t i = 0; i < halves.specs.size(); ++i) halves.values.push_back(tensors.view(i));
        write_model(dir / "halves", halves);
        for (const Kernels* set : {available_kernels().back(), &test::amx_emulated_kernels}) {
            // There, too, f16 runs on vectors.
            if (set == &test::amx_emulated_kernels && type == WeightType::f16) continue;
            const test::Selected selected(*set);
            const int tokens = set == &test::amx_emulated_kernels ? 1024 : 4096; // the emulation is slower
            const Accuracy found = compare(load(dir / "halves", "f32"), load(dir / "halves", ""), tokens);
            EXPECT_LE(found.kl, 2e-5) << set->name << ": " << name_of(type);
            EXPECT_EQ(found.tokens, tokens);
        }
    }
}

TEST_P(WeightTypeGates, Q8_0IsCloseToF32) {
    const Accuracy found = compare(load(file(), "f32"), load(file(), "q8_0"));
    EXPECT_LE(found.kl, 2e-3);
    // Two standard errors below the 98.0 % of rope and alibi.
    EXPECT_GE(found.top1, 0.978);
}

// Compares with an f32 cache on the same weights.
TEST_P(WeightTypeGates, CachesAreCloseToOneOfFloats) {
    const Model model = load(file(), "f32");
    const Accuracy halves = compare(model, model, 0, CacheType::f16), pairs = compare(model, model, 0, CacheType::bf16),
                   blocks = compare(model, model, 0, CacheType::q8_0);
    EXPECT_GT(halves.kl, 0);
    EXPECT_GT(pairs.kl, halves.kl);
    EXPECT_GT(blocks.kl, halves.kl);
    EXPECT_LE(halves.kl, 1e-6);
    EXPECT_GE(halves.top1, 0.999);
    EXPECT_LE(pairs.kl, 2e-5);
    EXPECT_GE(pairs.top1, 0.996);
    EXPECT_LE(blocks.kl, 1e-4);
    EXPECT_GE(blocks.top1, 0.993);
}

// bench/results/accuracy.csv: file,dtype,bytes,tokens,kl,top1
std::map<std::string, Accuracy> recorded() {
    std::map<std::string, Accuracy> records;
    std::istringstream in(read_file("bench/results/accuracy.csv", 1 << 20));
    for (std::string line; std::getline(in, line);) {
        std::istringstream fields(line);
        std::string name, dtype, bytes, tokens, kl, top1;
        std::getline(fields, name, ',');
        std::getline(fields, dtype, ',');
        std::getline(fields, bytes, ',');
        std::getline(fields, tokens, ',');
        std::getline(fields, kl, ',');
        std::getline(fields, top1, ',');
        if (name != "file") records[name + " " + dtype] = {std::stoll(tokens), std::stod(kl), std::stod(top1)};
    }
    return records;
}

// Not all types, because they would take long. Other tests check that tile products have the bits of vector products.
TEST_P(WeightTypeGates, QuantisedTypesAreAsCloseOnTiles) {
    const test::Selected selected(test::amx_emulated_kernels);
    const Model reference = load(file(), "f32");
    EXPECT_LE(compare(reference, load(file(), "q8_0"), 1024).kl, 2e-3);
    EXPECT_LE(compare(reference, load(file(), "q4_0"), 1024).kl,
              1.25 * recorded().at(file().filename().string() + " q4_0").kl); // for all tokens
}

TEST_P(WeightTypeGates, Q4_0IsNotWorseThanItWas) {
    const auto records = recorded();
    const auto record = records.find(file().filename().string() + " q4_0");
    ASSERT_NE(record, records.end());
    const Accuracy found = compare(load(file(), "f32"), load(file(), "q4_0"));
    EXPECT_EQ(found.tokens, record->second.tokens);
    EXPECT_LE(found.kl, 1.1 * record->second.kl);
    EXPECT_LE(1 - found.top1, 1.1 * (1 - record->second.top1));
}

INSTANTIATE_TEST_SUITE_P(Weights, WeightTypeGates, testing::Values("rope", "alibi"),
                         [](const auto& test) { return std::string(test.param); });

} // namespace
} // namespace ordo::bench
