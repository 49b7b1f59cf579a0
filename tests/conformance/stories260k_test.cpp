// SPDX-License-Identifier: MIT
// A model trained by others, in llama2.c's legacy layout, must give the text of llama2.c itself. The tests read it
// directly, as GGUF, and in every type within the bounds of models/README.md.
#include "formats/gguf/export.h"
#include "formats/llama2c.h"
#include "tests/temp_dir.h"
#include "tools/bench/accuracy.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>

namespace ordo {
namespace {

namespace fs = std::filesystem;

class Stories260K : public ::testing::Test {
protected:
    void SetUp() override {
        const char* set = std::getenv("ORDO_CONFORMANCE");
        folder_ = fs::path(set != nullptr ? set : "../shared/conformance") / "stories260K";
        if (fs::exists(folder_ / "stories260K.bin")) return;
        std::cerr << "SKIPPED: no conformance data in " << folder_ << "; set ORDO_CONFORMANCE\n";
        GTEST_SKIP();
    }
    Source source() const { return llama2c_source(folder_ / "stories260K.bin", folder_ / "tok512.bin"); }
    // llama2.c ends its output with a newline.
    std::string published() const { return test::file_content(folder_ / "greedy_200.txt"); }

    fs::path folder_;
};

Model load(const Source& source, std::string dtype) {
    LoadOptions options;
    options.dtype = std::move(dtype);
    return load_model(source, options);
}

// 200 steps from the begin-of-text token.
std::string greedy(const Model& model) {
    GenerateOptions options;
    options.max_tokens = 200;
    options.sampling.temperature = 0;
    return generate(model, "", options).text + "\n";
}

TEST_F(Stories260K, GreedyTextIsThatOfLlama2c) {
    const Source from = source();
    for (const char* dtype : {"f32", "f16"}) EXPECT_EQ(greedy(load(from, dtype)), published()) << dtype;
}

TEST_F(Stories260K, GreedyTextIsTheSameThroughGguf) {
    const Source from = source();
    for (const auto type : {WeightType::f32, WeightType::f16}) {
        const GgufExport file = gguf_export(from, type);
        const std::vector<std::byte> bytes = gguf_bytes(file.metadata, file.tensors, "mem");
        const Source again = gguf_source(std::make_shared<const Gguf>(Gguf::parse(bytes, "mem")));
        EXPECT_EQ(greedy(load(again, "")), published()) << name_of(type);
    }
}

// The model's own texts, drawn with several seeds.
TEST_F(Stories260K, Q8_0IsWithinTheGate) {
    const Source from = source();
    const Model reference = load(from, "f32"), model = load(from, "q8_0");
    std::vector<std::vector<Token>> documents;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        GenerateOptions options;
        options.max_tokens = 250;
        options.sampling.seed = seed;
        documents.push_back(reference.encode(generate(reference, "", options).text));
        documents.back().insert(documents.back().begin(), 1);
    }
    const bench::Accuracy accuracy = bench::measure_accuracy(reference, model, documents, 512);
    EXPECT_GT(accuracy.tokens, 1000);
    EXPECT_LE(accuracy.kl, 2e-3);
    EXPECT_GE(accuracy.top1, 0.985);
    RecordProperty("kl", std::to_string(accuracy.kl));
    RecordProperty("top1", std::to_string(accuracy.top1));
}

} // namespace
} // namespace ordo
