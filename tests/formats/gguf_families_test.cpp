// SPDX-License-Identifier: MIT
// GGUF files of families that Ordo does not write, or writes under another name. The test converts tensors of
// tests/families as llama.cpp's converter does, and compares the results with the transcriptions.
#include "formats/gguf/export.h"
#include "formats/source.h"
#include "tests/formats/gguf_converter.h"
#include "tests/temp_dir.h"

#include <cmath>
#include <gtest/gtest.h>

namespace ordo {
namespace {

using test::Json;

using Case = test::GgufCase;
using Writer = test::ConverterFile;

// Whether the weights of a token's chosen experts are divided by their sum. A key that agrees with the architecture
// changes nothing, and a contrary key is refused.
TEST(GgufExperts, WeightsNormIsThatOfTheArchitecture) {
    const std::pair<Case, bool> cases[] = {{{"qwen2-moe", "qwen2moe"}, false},
                                           {{"qwen3-moe-plain", "qwen3moe"}, true},
                                           {{"mixtral", "llama", true}, true}};
    for (const auto& [each, divided] : cases)
        for (const bool said : {false, true}) {
            SCOPED_TRACE(each.family + (said ? ", true" : ", false"));
            Writer file(each);
            file.put("expert_weights_norm", said);
            const std::vector<std::byte> bytes = file.bytes();
            std::string refusal;
            try {
                gguf_source(std::make_shared<const Gguf>(Gguf::parse(bytes, "mem")));
            } catch (const Error& error) {
                refusal = error.what();
            }
            const std::string expected = "mem: '" + each.architecture + ".expert_weights_norm': expected ";
            EXPECT_EQ(refusal.substr(0, expected.size()), said == divided ? "" : expected) << refusal;
        }
}

// Reads a file with metadata that differs from the converter's.
Source changed(const Case& each, const std::string& key, const GgufValue& value, std::vector<std::byte>& bytes) {
    Writer file(each);
    std::erase_if(file.metadata(), [&](const auto& entry) { return entry.first == each.architecture + "." + key; });
    if (value.size() != 0) file.metadata().emplace_back(each.architecture + "." + key, value);
    bytes = file.bytes();
    return gguf_source(std::make_shared<const Gguf>(Gguf::parse(bytes, "mem")));
}

// llama.cpp, llama-model.cpp: the type is linear if none is named, and a factor of 0 is 1. llama-context.cpp: type none
// never scales.
TEST(GgufRope, AFactorWithoutATypeIsLinear) {
    const auto spec = [](float factor, const std::string& type) {
        Writer file({"mistral", "llama", true});
        if (factor != 1) file.put("rope.scaling.factor", factor);
        if (!type.empty()) file.put("rope.scaling.type", std::string_view(type));
        const std::vector<std::byte> bytes = file.bytes();
        return gguf_source(std::make_shared<const Gguf>(Gguf::parse(bytes, "mem"))).trained_encodings().spec();
    };
    const std::string plain = spec(1, "");
    EXPECT_EQ(plain.find("scaling"), std::string::npos) << plain;
    EXPECT_NE(spec(4, "").find("scaling=linear,factor=4"), std::string::npos) << spec(4, "");
    EXPECT_EQ(spec(4, ""), spec(4, "linear"));
    for (const auto& [factor, type] : {std::pair{0.0f, ""}, {0.0f, "linear"}, {4.0f, "none"}})
        EXPECT_EQ(spec(factor, type), plain);
}

// ggml's rope divides an angle by the tensor's factor and by rope.scaling.factor. Phi 3's lists divided by two, with a
// factor of 2, equal the lists.
TEST(GgufRope, TensorsOfFactorsAndAFactorMultiply) {
    const Case each{"phi3-longrope", "phi3"};
    std::vector<std::byte> bytes;
    const std::string expected = changed(each, "rope.scaling.factor", GgufValue(), bytes).trained_encodings().spec();
    Writer file(each);
    for (const char* name : {"rope_factors_long.weight", "rope_factors_short.weight"})
        for (float& factor : file.tensors().at(name).all) factor /= 2;
    file.put("rope.scaling.factor", 2.0f);
    bytes = file.bytes();
    const auto parsed = std::make_shared<const Gguf>(Gguf::parse(bytes, "mem"));
    EXPECT_EQ(gguf_source(parsed).trained_encodings().spec(), expected);
    file.put("rope.scaling.type", "yarn");
    bytes = file.bytes();
    try {
        gguf_source(std::make_shared<const Gguf>(Gguf::parse(bytes, "mem")));
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("'phi3.rope.scaling.type': expected none, linear or longrope"),
                  std::string::npos)
            << error.what();
    }
}

// A number or a list says which layers slide. Without both, the architecture decides.
TEST(GgufWindows, ThePatternIsANumberAListOrTheFamilys) {
    const Case each{"gemma3", "gemma3"};
    std::vector<std::byte> bytes;
    const auto windows = [&](const GgufValue& value) {
        const Source source = changed(each, "attention.sliding_window_pattern", value, bytes);
        std::vector<int> all;
        for (int i = 0; i < 3; ++i) all.push_back(source.blueprint.layer(i).window);
        return all;
    };
    EXPECT_EQ(windows(GgufValue::of(std::uint32_t{3})), (std::vector<int>{12, 12, 0}));
    EXPECT_EQ(windows(GgufValue(GgufKind::boolean, true, std::string("\1\0\1", 3))), (std::vector<int>{12, 0, 12}));
    EXPECT_EQ(windows(GgufValue()), (std::vector<int>{12, 12, 12})); // five of six layers
    try {
        windows(GgufValue(GgufKind::boolean, true, std::string("\1\0", 2)));
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what())
                      .find("mem: 'gemma3.attention.sliding_window_pattern': expected true or false "
                            "for each of 3 layers, or a number, found "),
                  0U)
            << error.what();
    }
}

// The 27-billion-parameter models of Gemma 2 and 3 divide scores by the root of the width over the heads. No key says
// so.
TEST(GgufGemma, TheLargestScaleScoresByTheWidth) {
    for (const auto& [architecture, layers] : {std::pair{"gemma2", 46}, {"gemma3", 62}, {"gemma2", 42}}) {
        std::vector<std::byte> bytes;
        const Source source = changed({architecture, architecture}, "block_count",
                                      GgufValue::of(static_cast<std::uint32_t>(layers)), bytes);
        const float expected = layers == 42 ? 0 : static_cast<float>(1 / std::sqrt(18.0)); // 36 / 2
        for (int i = 0; i < 2; ++i) EXPECT_EQ(source.blueprint.layer(i).score_scale, expected) << layers;
    }
}

// llama.cpp, models/granite.cpp: a factor of 0 has no effect, except that logits are always divided by theirs. If
// rope.scaling.finetuned is false, rope is omitted.
TEST(GgufGranite, AFactorOfZeroIsNoneExceptThatOfTheLogits) {
    const Case each{"granite", "granite", true};
    std::vector<std::byte> bytes;
    for (const GgufValue& none : {GgufValue::of(0.0f), GgufValue()}) {
        EXPECT_EQ(changed(each, "attention.scale", none, bytes).blueprint.score_scale, 0); // the default
        EXPECT_FLOAT_EQ(changed(each, "embedding_scale", none, bytes).blueprint.embedding_scale, 1 / 0.22f);
        const Source plain = changed(each, "residual_scale", none, bytes);
        EXPECT_FLOAT_EQ(plain.blueprint.embedding_scale, 6);
        EXPECT_FLOAT_EQ(plain.blueprint.norm_eps, 0.02f);
    }
    const auto refused = [&](const std::string& key, const GgufValue& value) {
        try {
            changed(each, key, value, bytes);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_EQ(refused("logit_scale", GgufValue()), "mem: 'granite.logit_scale': expected a number, found none");
    EXPECT_EQ(refused("logit_scale", GgufValue::of(0.0f)).find("mem: 'granite.logit_scale': expected"), 0U);
    EXPECT_EQ(refused("rope.scaling.finetuned", GgufValue::of(false)),
              "mem: 'granite.rope.scaling.finetuned': expected true, found false");
    EXPECT_EQ(refused("rope.scaling.finetuned", GgufValue::of(true)), "accepted");
}

// The StableLM 2 model of 12 billion parameters has a LayerNorm for each head of queries and keys.
TEST(GgufStableLm, NormsOfHeadsAreRefused) {
    Writer file({"stablelm", "stablelm"});
    for (int layer = 0; layer < 2; ++layer)
        for (const auto& [name, heads] : {std::pair{"attn_q_norm", 4}, {"attn_k_norm", 2}})
            file.tensors()["blk." + std::to_string(layer) + "." + name + ".weight"] = {
                {heads, 8}, std::vector<float>(static_cast<std::size_t>(heads) * 8, 1.0f)};
    const std::vector<std::byte> bytes = file.bytes();
    EXPECT_THROW(load_model(gguf_source(std::make_shared<const Gguf>(Gguf::parse(bytes, "mem"))), {}), Error);
}

// Command R+ has a weight for each column of each head: attn_q_norm of {n_embd_head_k, n_head} in llama.cpp.
TEST(GgufCohere, NormsWithAWeightForEachHeadAreRefused) {
    Writer file({"cohere", "command-r"});
    for (int layer = 0; layer < 2; ++layer)
        for (const auto& [name, heads] : {std::pair{"attn_q_norm", 4}, {"attn_k_norm", 2}})
            file.tensors()["blk." + std::to_string(layer) + "." + name + ".weight"] = {
                {heads, 8}, std::vector<float>(static_cast<std::size_t>(heads) * 8, 1.0f)};
    const std::vector<std::byte> bytes = file.bytes();
    try {
        load_model(gguf_source(std::make_shared<const Gguf>(Gguf::parse(bytes, "mem"))), {});
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("attn_q_norm.weight': expected [8], found [4, 8]"), std::string::npos)
            << error.what();
    }
}

// Saves the file for tests/llama_cpp/run.sh, which compares it with llama.cpp, if $ORDO_GGUF_OUT names a folder. The
// file has a tokenizer of two letters, because llama.cpp loads no model without a tokenizer.
void keep(const Case& each) {
    const char* const folder = std::getenv("ORDO_GGUF_OUT");
    if (folder == nullptr) return;
    TextSide letters;
    letters.tokenizer = tokenizer_from_json(test::file_content("tests/llama_cpp/two_letters.json"), "two_letters.json");
    Writer file(each);
    for (const auto& entry : gguf_entries(letters, 64, "two_letters.json")) file.metadata().push_back(entry);
    const std::vector<std::byte> bytes = file.bytes();
    test::put_file(std::filesystem::path(folder) / (each.family + "_as_" + each.architecture + ".gguf"),
                   {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

class GgufFamilies : public ::testing::TestWithParam<Case> {};

TEST_P(GgufFamilies, GiveTheLogitsOfTheirTranscription) {
    const std::vector<std::byte> bytes = Writer(GetParam()).bytes();
    const Source source = gguf_source(std::make_shared<const Gguf>(Gguf::parse(bytes, "mem")));
    std::vector<std::string> warnings;
    LoadOptions options;
    options.dtype = "f32";
    options.on_warning = [&](std::string_view text) { warnings.emplace_back(text); };
    const Model model = load_model(source, options);
    EXPECT_TRUE(warnings.empty()) << warnings.front();
    int cases = 0;
    for (const Json& each : test::read_cases(test::family(GetParam().family))) {
        const auto tokens = each.at("tokens").get<std::vector<Token>>();
        SCOPED_TRACE(tokens.size());
        const auto found = test::logits_of(model, tokens);
        const Json& expected = each.at("logits");
        ASSERT_LE(expected.size(), found.size());
        for (std::size_t i = 0; i < expected.size(); ++i)
            for (std::size_t j = 0; j < expected[i].size(); ++j)
                ASSERT_NEAR(found[found.size() - expected.size() + i][j], expected[i][j].get<double>(), 2e-4)
                    << i << ", " << j;
        ++cases;
    }
    EXPECT_GT(cases, 0);
    keep(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Files, GgufFamilies,
    ::testing::Values(Case{"phi3", "phi3"}, Case{"phi3-longrope", "phi3"}, Case{"phi4-mini", "phi3"},
                      Case{"starcoder2", "starcoder2"}, Case{"smollm3", "smollm3", true},
                      Case{"mistral", "llama", true}, Case{"mixtral", "llama", true}, Case{"qwen2", "qwen2"},
                      Case{"qwen3", "qwen3"}, Case{"qwen2-moe", "qwen2moe"}, Case{"qwen3-moe-plain", "qwen3moe"},
                      Case{"mpt-clip", "mpt"}, Case{"gemma", "gemma"}, Case{"gemma2", "gemma2"},
                      Case{"gemma3", "gemma3"}, Case{"cohere", "command-r"}, Case{"cohere2", "cohere2"},
                      Case{"gpt-bigcode", "starcoder"}, Case{"granite", "granite", true}, Case{"stablelm", "stablelm"},
                      Case{"stablelm-parallel", "stablelm"}, Case{"olmo2", "olmo2"}, Case{"arcee", "arcee", true},
                      Case{"nemotron", "nemotron"}, Case{"hunyuan", "hunyuan-dense"}),
    [](const auto& each) {
        std::string name = each.param.family + "_as_" + each.param.architecture;
        std::replace(name.begin(), name.end(), '-', '_');
        return name;
    });

} // namespace
} // namespace ordo
