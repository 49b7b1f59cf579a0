// SPDX-License-Identifier: MIT
// Directories of Hugging Face's: shards, hyperparameters that are wrong or not ours (families S34 and C of malformed
// inputs), the text side, and what a converted file is.
#include "model/model_file.h"
#include "tests/formats/family_run.h"
#include "tests/temp_dir.h"
#include "text/tokenizer.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

namespace fs = std::filesystem;
using test::file_content;
using test::Json;
using test::put_file;

class HuggingFace : public ::testing::Test {
protected:
    void take(const std::string& name) {
        for (const auto& entry : fs::directory_iterator(test::family(name)))
            fs::copy(entry.path(), folder_.path(), fs::copy_options::overwrite_existing);
    }
    Json config() { return Json::parse(file_content(folder_ / "config.json")); }
    void put_config(const Json& config) { put_file(folder_ / "config.json", config.dump()); }
    void with(const std::string& key, const Json& value) {
        Json changed = config();
        changed[key] = value;
        put_config(changed);
    }
    void expect_refused(const std::string& phrase, ErrorCode code = ErrorCode::model) {
        try {
            Model::load(folder_.path());
            ADD_FAILURE() << "loads; expected '" << phrase << "'";
        } catch (const Error& error) {
            const std::string what = error.what();
            EXPECT_EQ(error.code, code) << what;
            EXPECT_NE(what.find(phrase), std::string::npos) << what;
            EXPECT_EQ(what.find('\n'), std::string::npos) << what;
        }
    }
    // Each key of the family with each value is refused, by name.
    void expect_all_refused(const std::string& family, const std::vector<std::pair<std::string, Json>>& wrong) {
        for (const auto& [key, value] : wrong) {
            SCOPED_TRACE(family + ": " + key + " = " + value.dump());
            take(family);
            with(key, value);
            expect_refused(key);
        }
    }
    // The tensors of model.safetensors in two files, every other in the second.
    void cut_in_two() {
        const Safetensors whole = Safetensors::open(folder_ / "model.safetensors");
        std::vector<RawTensor> halves[2];
        Json map;
        for (std::size_t i = 0; i < whole.tensors().size(); ++i) {
            const TensorInfo& info = whole.tensors()[i];
            halves[i % 2].push_back({info.name, info.dtype, info.shape, info.bytes, [&](const ByteSink& sink) {
                                         std::vector<std::byte> bytes(info.bytes);
                                         whole.read_raw(info, bytes);
                                         sink(bytes);
                                     }});
            map[info.name] = shards[i % 2];
        }
        for (const int i : {0, 1}) write_raw_safetensors(folder_ / shards[i], halves[i], {});
        fs::remove(folder_ / "model.safetensors");
        put_index(map);
    }
    void put_index(const Json& map) {
        put_file(folder_ / "model.safetensors.index.json", Json{{"weight_map", map}}.dump());
    }
    Json index() { return Json::parse(file_content(folder_ / "model.safetensors.index.json")).at("weight_map"); }

    const std::string shards[2] = {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"};
    test::TempDir folder_;
};

// ---- S34: shards --------------------------------------------------------------------------------

TEST_F(HuggingFace, ShardsAreOneModel) {
    take("llama");
    const std::vector<Token> tokens = {1, 5, 9, 2, 33, 60};
    const test::Logits whole = test::logits_of(Model::load(folder_.path()), tokens);
    cut_in_two();
    EXPECT_EQ(test::difference(test::logits_of(Model::load(folder_.path()), tokens), whole), 0);
}

TEST_F(HuggingFace, ShardsThatLeadElsewhereAreRefused) {
    take("llama");
    cut_in_two();
    const Json map = index();
    const std::string first = map.begin().key(), second = (++map.begin()).key();
    for (const std::string& name : {std::string("../") + shards[0], (folder_ / shards[0]).string(), std::string(".."),
                                    std::string(), std::string("a\\b.safetensors")}) {
        Json wrong = map;
        wrong[first] = name;
        put_index(wrong);
        expect_refused("expected the name of a file in this directory");
    }
    Json wrong = map;
    wrong[first] = "absent.safetensors";
    put_index(wrong);
    expect_refused("absent.safetensors", ErrorCode::io);
    fs::create_symlink("loop.safetensors", folder_ / "loop.safetensors");
    wrong[first] = "loop.safetensors";
    put_index(wrong);
    expect_refused("loop.safetensors", ErrorCode::io);
    wrong = map;
    std::swap(wrong[first], wrong[second]);
    put_index(wrong);
    expect_refused("found it in");
    wrong = map;
    wrong["nowhere"] = shards[0];
    put_index(wrong);
    expect_refused("'nowhere'");
    wrong[first] = 7;
    put_index(wrong);
    expect_refused(first);
    put_file(folder_ / "model.safetensors.index.json", "{}");
    expect_refused("weight_map");
}

TEST_F(HuggingFace, ATensorInTwoShardsIsRefused) {
    take("llama");
    cut_in_two();
    fs::copy(folder_ / shards[0], folder_ / "copy.safetensors");
    Json map = index();
    map.begin().value() = "copy.safetensors";
    put_index(map);
    expect_refused("expected in one file, found in");
}

TEST_F(HuggingFace, WhatIsNotThereIsSaid) {
    expect_refused("without config.json");
    take("llama");
    fs::remove(folder_ / "model.safetensors");
    expect_refused("expected model.safetensors or model.safetensors.index.json, found none");
    put_file(folder_ / "pytorch_model.bin", "PK");
    expect_refused("PyTorch's pickles, which are never loaded");
}

// ---- C: hyperparameters ---------------------------------------------------------------------------

TEST_F(HuggingFace, ConfigsThatAreNoJsonAreRefused) {
    take("llama");
    for (const char* text : {"", "[]", "{\"a\": NaN}", "{\"a\": 1,}", "// c\n{}", "\xff\xfe{\0}\0", "7"}) {
        put_file(folder_ / "config.json", text);
        expect_refused("config.json");
    }
    put_file(folder_ / "config.json", "{}");
    expect_refused("'model_type' is missing");
    put_file(folder_ / "config.json", "{\"model_type\": \"mamba\"}");
    expect_refused("found 'mamba'");
}

TEST_F(HuggingFace, SizesOutOfRangeAreRefused) {
    expect_all_refused("llama", {{"num_attention_heads", 0},
                                 {"num_attention_heads", 3},
                                 {"num_attention_heads", "4"},
                                 {"num_key_value_heads", 0},
                                 {"num_key_value_heads", -1},
                                 {"num_hidden_layers", -1},
                                 {"num_hidden_layers", 0},
                                 {"hidden_size", 2.5},
                                 {"rms_norm_eps", -1},
                                 {"rope_theta", 0},
                                 {"rope_theta", -1},
                                 {"hidden_act", "mish"},
                                 {"quantization_config", {{"bits", 4}}}});
    // Before anything is made of each layer.
    for (const char* family : {"llama", "gemma2", "gemma3", "cohere2", "smollm3", "qwen2", "bert", "phi3"})
        expect_all_refused(family, {{"num_hidden_layers", 1025}, {"num_hidden_layers", 1'000'000'000}});
    for (const char* family : {"t5", "t5-gated"}) expect_all_refused(family, {{"num_layers", 1'000'000'000}});
    take("llama");
    with("rms_norm_eps", 0);
    expect_refused("norm_eps");
    take("llama");
    with("vocab_size", 65);
    expect_refused("model.embed_tokens.weight': expected [65, ");
}

TEST_F(HuggingFace, RopeScalingThatMakesNoSenseIsRefused) {
    const auto scaling = [](const std::string& text) { return Json::parse(text); };
    for (const char* wrong :
         {R"({"type": "ntk-by-parts", "factor": 2})", R"({"type": "linear"})", R"({"type": "linear", "factor": 0})",
          R"({"type": "linear", "factor": "2"})",
          R"({"rope_type": "yarn", "factor": 2, "beta_fast": 1, "beta_slow": 32})",
          R"({"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 0})",
          R"({"rope_type": "longrope", "factor": 2, "short_factor": [1, 2], "long_factor": [1, 2]})",
          R"({"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 1})", R"([1])",
          R"("yarn")"}) {
        SCOPED_TRACE(wrong);
        take("llama");
        with("rope_scaling", scaling(wrong));
        expect_refused(folder_.path().string());
    }
}

TEST_F(HuggingFace, OfBothFormsOfRopesKeysTheNewWinsWithAWarning) {
    take("llama");
    with("rope_parameters", {{"rope_type", "default"}, {"rope_theta", 777}});
    with("rope_theta", 999);
    std::vector<std::string> warnings;
    LoadOptions options;
    options.on_warning = [&](std::string_view text) { warnings.emplace_back(text); };
    EXPECT_NE(Model::load(folder_.path(), options).encoding().find("theta=777"), std::string::npos);
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings.front().find("rope_parameters differ"), std::string::npos);
    with("rope_theta", 777);
    warnings.clear();
    Model::load(folder_.path(), options);
    EXPECT_TRUE(warnings.empty());
}

TEST_F(HuggingFace, WhatAFamilyCannotDoHereIsRefusedByName) {
    expect_all_refused("gpt2", {{"add_cross_attention", true}, {"scale_attn_by_inverse_layer_idx", true}});
    expect_all_refused("bloom", {{"apply_residual_connection_post_layernorm", true}});
    expect_all_refused("smollm3", {{"no_rope_layers", {1, 1}}, {"no_rope_layers", {1, 1, 1, 2}}});
    expect_all_refused("qwen2", {{"rope_scaling", {{"type", "mrope"}, {"mrope_section", {1}}}}});
    expect_all_refused("phi", {{"qk_layernorm", true}, {"partial_rotary_factor", 1.7}});
    expect_all_refused("gemma2", {{"layer_types", {"full_attention"}}, {"layer_types", {"full_attention", "linear"}}});
    expect_all_refused("mpt", {{"no_bias", false}, {"logit_scale", 0.5}});
    expect_all_refused("opt", {{"word_embed_proj_dim", 16}});
    take("gpt2");
    with("n_positions", 40); // fewer than the table has, or more, is somebody's error
    expect_refused("transformer.wpe.weight': expected [40, ");
}

// ---- The text side ------------------------------------------------------------------------------

TEST_F(HuggingFace, SpecialTokensComeFromTheFiles) {
    take("llama");
    // 64 tokens of one byte each stand for a vocabulary.
    Json tokenizer = Json::parse(make_byte_tokenizer()->to_json());
    Json vocab, added = Json::array();
    int id = 0;
    for (const char* name : {"<unk>", "<s>", "</s>", "<pad>"})
        added.push_back({{"id", id++},
                         {"content", name},
                         {"single_word", false},
                         {"lstrip", false},
                         {"rstrip", false},
                         {"normalized", false},
                         {"special", true}});
    for (char c = 'A'; id < 60; ++c) vocab[std::string(1, c)] = id++;
    tokenizer["model"] = {{"type", "WordPiece"},
                          {"unk_token", "<unk>"},
                          {"continuing_subword_prefix", ""},
                          {"max_input_chars_per_word", 100},
                          {"vocab", vocab}};
    tokenizer["model"]["vocab"]["<unk>"] = 0;
    tokenizer["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
    tokenizer["decoder"] = nullptr;
    tokenizer["post_processor"] = nullptr;
    tokenizer["added_tokens"] = added;
    put_file(folder_ / "tokenizer.json", tokenizer.dump());
    Model model = Model::load(folder_.path());
    EXPECT_EQ(model.start_of_text(), -1); // neither the tokenizer nor add_bos_token asks for one
    EXPECT_EQ(model.end_of_text(), 2);    // config.json
    EXPECT_EQ(model.encode("AB"), (std::vector<Token>{4, 5}));

    put_file(folder_ / "tokenizer_config.json", R"({"add_bos_token": true, "pad_token": {"content": "<pad>"}})");
    put_file(folder_ / "generation_config.json",
             R"({"eos_token_id": [3, 2, 900], "bos_token_id": 1, "temperature": 0.6, "top_k": 20})");
    model = Model::load(folder_.path());
    EXPECT_EQ(model.start_of_text(), 1);
    EXPECT_EQ(impl_of(model).special.end, (std::vector<Token>{3, 2})); // 900 is no token of this model
    EXPECT_EQ(impl_of(model).special.padding, 3);
    EXPECT_FLOAT_EQ(model.sampling().temperature, 0.6f);
    EXPECT_EQ(model.sampling().top_k, 20);
    EXPECT_FLOAT_EQ(model.sampling().min_p, 0);
    EXPECT_EQ(model.decode(std::vector<Token>{4, 63}), "A"); // 63 fills up the vocabulary
}

// ---- Our own files ------------------------------------------------------------------------------

TEST(WeightTypes, AreNamedInTheMetadata) {
    const std::map<std::string, WeightType, std::less<>> types = {
        {"a", WeightType::q4_K}, {"b", WeightType::q4_0}, {"c", WeightType::f16}};
    const std::string json = weight_types_json(types);
    EXPECT_EQ(json, R"({"a":"q4_K","b":"q4_0"})");
    const auto read = weight_types_from_json(json, "file");
    EXPECT_EQ(read.at("a"), WeightType::q4_K);
    EXPECT_EQ(read.size(), 2U);
    EXPECT_EQ(weight_types_json({{"c", WeightType::f16}}), "");
    for (const char* wrong : {"[]", R"({"a": 1})", R"({"a": "q3_K"})", "x"})
        EXPECT_THROW(weight_types_from_json(wrong, "file"), Error) << wrong;
}

} // namespace
} // namespace ordo
