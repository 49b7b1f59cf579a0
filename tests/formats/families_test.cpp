// SPDX-License-Identifier: MIT
// Every folder of tests/families is a tiny checkpoint in its family's own format. Its logits must agree with those of a
// transcription in double precision (tests/families/README.md), within the bounds that models/README.md states.
#include "formats/architecture.h"
#include "tests/formats/family_run.h"
#include "tests/model/small_models.h"
#include "tests/temp_dir.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

namespace fs = std::filesystem;
using test::Json;

std::vector<std::string> families() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator("tests/families"))
        if (fs::exists(entry.path() / "expected.json")) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

void expect_logits(const test::Logits& found, const Json& expected) {
    ASSERT_LE(expected.size(), found.size());
    test::Gate gate;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (expected[i].is_null()) continue; // padding
        gate.add(found[found.size() - expected.size() + i], expected[i]);
    }
    gate.expect_met();
}

void expect_greedy(const Model& model, const Json& given) {
    auto tokens = given.at("tokens").get<std::vector<Token>>();
    SessionOptions options;
    options.capacity = static_cast<int>(tokens.size() + given.at("greedy").size());
    Session session(model, options);
    std::span<const float> logits = session.feed(tokens);
    for (const Json& expected : given.at("greedy")) {
        const auto best = static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
        ASSERT_EQ(best, expected.get<Token>());
        logits = session.feed({&best, 1});
    }
}

class Families : public ::testing::TestWithParam<std::string> {};

TEST_P(Families, GiveTheLogitsOfTheirTranscription) {
    const fs::path folder = test::family(GetParam());
    std::vector<std::string> warnings;
    LoadOptions options;
    options.on_warning = [&](std::string_view text) { warnings.emplace_back(text); };
    options.dtype = "f32"; // bf16 may round activations too, if the machine multiplies pairs of bf16
    const Model model = Model::load(folder, options);
    EXPECT_TRUE(warnings.empty()) << warnings.front();
    if (!blueprint_of(model).head) return; // its vectors: encoders_test.cpp
    for (const Json& each : test::read_cases(folder)) {
        if (each.contains("encoder") || each.contains("padding")) continue; // see encoders_test.cpp
        SCOPED_TRACE(each.at("tokens").size());
        const auto tokens = each.at("tokens").get<std::vector<Token>>();
        const auto segments = each.value("segments", std::vector<int>());
        expect_logits(test::logits_of(model, tokens, {}, tokens.size(), segments), each.at("logits"));
        if (each.contains("greedy")) expect_greedy(model, each);
    }
}

// Any encoding fits any trunk: forced onto the weights, it gives the logits of the oracle (tests/reference.h).
TEST_P(Families, TakeAnotherEncodingIfForced) {
    const fs::path folder = test::family(GetParam());
    LoadOptions options;
    options.dtype = "f32";
    const Model as_trained = Model::load(folder, options);
    const Dims dims = blueprint_of(as_trained).dims();
    for (const char* spec : {"none", "alibi", "rope:theta=700", "sinusoidal", "pattern(rope,none)"}) {
        SCOPED_TRACE(spec);
        options.encoding = spec;
        options.force_encoding = false;
        if (ModelEncodings(spec, dims).spec() == as_trained.encoding()) continue;
        try {
            Model::load(folder, options);
            FAIL() << "another encoding than the trained one was taken without a word";
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::usage) << error.what();
        }
        options.force_encoding = true;
        const Model model = Model::load(folder, options);
        const Blueprint& b = blueprint_of(model);
        if (!b.encoder.empty() || !b.head) continue; // its logits depend on an input, or there are none
        const reference::Tensors tensors = tensors_of(model);
        const std::vector<Token> tokens = random_tokens(12, b.vocab_size, 3);
        const reference::Oracles oracles(model.encoding(), b.dims(), tensors, 12);
        reference::Input in{{tokens.begin(), tokens.end()}, {}, {}};
        for (int i = 0; i < 12; ++i) in.positions.push_back(i);
        EXPECT_LE(
            difference(test::logits_of(model, tokens), to_rows(reference::Transformer(b, tensors, oracles).logits(in))),
            2e-4);
    }
}

TEST(FamilyTable, NamesEachModelTypeAndFixture) {
    const std::string text = test::file_content("models/README.md");
    for (const Architecture& each : architectures())
        for (const std::string_view type : each.hugging_face.model_types) EXPECT_NE(text.find(type), text.npos) << type;
    for (const std::string& name : families()) EXPECT_NE(text.find(name), text.npos) << name;
}

INSTANTIATE_TEST_SUITE_P(All, Families, ::testing::ValuesIn(families()), [](const auto& each) {
    std::string name = each.param;
    for (char& c : name)
        if (c == '-') c = '_';
    return name;
});

} // namespace
} // namespace ordo
