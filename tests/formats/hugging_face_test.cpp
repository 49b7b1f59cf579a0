// SPDX-License-Identifier: MIT
// Directories in Hugging Face's layout: shards, wrong or unsupported hyperparameters (families S34 and C of malformed
// inputs), and the contents of a converted file.
#include "tests/formats/hugging_face_folder.h"

#include <tuple>

namespace ordo {
namespace {

namespace fs = std::filesystem;
using test::file_content;
using test::Json;
using test::put_file;
using HuggingFace = test::HuggingFace;

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
    expect_refused("expected model.safetensors, model.safetensors.index.json, pytorch_model.bin or "
                   "pytorch_model.bin.index.json, found none");
    put_file(folder_ / "consolidated.00.pth", "PK");
    expect_refused("found none but Llama's original consolidated.00.pth");
    put_file(folder_ / "pytorch_model.bin", "PK");
    expect_refused("pytorch_model.bin: zip archive: expected its directory");
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
    expect_refused("'model_type': found 'mamba', which is not supported; ordo info --families");
    // A slip of the pen is near; another family is not.
    for (const auto& [type, near] : {std::pair{"lama", "llama"},
                                     {"gpt-neox", "gpt_neox"},
                                     {"olmo", "olmo2"},
                                     {"codegen", ""},
                                     {"deberta", ""},
                                     {"longformer", ""},
                                     {"mamba2", ""},
                                     {"gpt", ""}}) {
        put_file(folder_ / "config.json", "{\"model_type\": \"" + std::string(type) + "\"}");
        expect_refused(std::string("found '") + type + "', which is not supported; " +
                       (*near ? std::string("did you mean ") + near + "?; " : "") + "ordo info --families");
    }
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
    // Refuses the number before it allocates anything for each layer.
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

TEST_F(HuggingFace, TwoVocabulariesOfMarianAreRefused) {
    take("marian");
    with("share_encoder_decoder_embeddings", false);
    expect_refused("config.json: 'share_encoder_decoder_embeddings': expected true, one vocabulary for both languages, "
                   "found false");
    take("marian");
    with("decoder_vocab_size", 65);
    expect_refused("config.json: 'decoder_vocab_size': expected 64, found 65");
}

// C10
TEST_F(HuggingFace, AlibiDecidesWhereAThetaIsNamedToo) {
    for (const char* family : {"falcon-alibi", "bloom"}) {
        take(family);
        with("rope_theta", 10000.0);
        EXPECT_TRUE(Model::load(folder_.path()).encoding().starts_with("alibi")) << family;
    }
}

// C3 to C5, C9, and the parameters of single families: windows, experts, segments.
TEST_F(HuggingFace, ParametersOfPositionsOutOfRangeAreRefused) {
    expect_all_refused(
        "llama", {{"max_position_embeddings", 0}, {"max_position_embeddings", 10'000'000'000}, {"rope_theta", 1e39}});
    expect_all_refused("gpt-neox", {{"rotary_pct", 1.7}, {"rotary_pct", -0.5}});
    expect_all_refused("gptj", {{"rotary_dim", 5}, {"rotary_dim", 4096}});
    expect_all_refused("smollm3", {{"no_rope_layer_interval", 0}});
    expect_all_refused("t5", {{"relative_attention_num_buckets", 0}, {"relative_attention_max_distance", 0}});
    expect_all_refused("bert", {{"type_vocab_size", 0}});
    expect_all_refused("mistral", {{"sliding_window", 0}});
    expect_all_refused("gemma3", {{"sliding_window", -1}});
    expect_all_refused("mixtral", {{"num_experts_per_tok", 0}, {"num_local_experts", 0}});
    take("t5");
    with("relative_attention_num_buckets", 7);
    expect_refused("'relative_attention_num_buckets': expected a multiple of 4, found 7");
    take("t5");
    with("relative_attention_max_distance", 4); // that leaves no bucket for larger distances
    expect_refused(
        "'relative_attention_max_distance': expected a distance of more than half of the buckets, 16, found 4");
    take("bert");
    with("type_vocab_size", 5);
    expect_refused("token_type_embeddings.weight': expected [5, 32], found [2, 32]");
    take("llama");
    std::string text = config().dump();
    text.insert(text.size() - 1, R"(, "rope_theta": 1e400)");
    put_file(folder_ / "config.json", text);
    expect_refused("config.json: invalid JSON");
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
    expect_all_refused("opt", {{"word_embed_proj_dim", 64}});
    expect_all_refused("smollm3", {{"layer_types", Json::array({"full_attention", "linear", "full_attention"})}});
    expect_all_refused("gemma2", {{"use_bidirectional_attention", true}});
    expect_all_refused("hunyuan", {{"use_cla", true}, {"use_qk_norm", false}, {"mlp_bias", true}});
    expect_all_refused("mpt", {{"norm_type", "rmsnorm"}, {"final_logit_softcapping", 30}});
    const std::pair<const char*, const char*> parts[] = {{"attn_config", R"({"sliding_window_size": 8})"},
                                                         {"attn_config", R"({"attn_logit_softcapping": 50})"},
                                                         {"attn_config", R"({"rope": true})"},
                                                         {"attn_config", R"({"qk_gn": true})"},
                                                         {"attn_config", R"({"clip_qkv": -1})"},
                                                         {"ffn_config", R"({"ffn_type": "mptglu"})"},
                                                         {"ffn_config", R"({"ffn_act_fn": {"name": "silu"}})"}};
    for (const auto& [key, value] : parts) {
        take("mpt");
        with(key, Json::parse(value));
        expect_refused(Json::parse(value).begin().key());
    }
    take("mpt");
    with("attn_config", Json::parse(R"({"sliding_window_size": -1, "attn_logit_softcapping": null, "rope": false})"));
    with("ffn_config", Json::parse(R"({"ffn_type": "mptmlp", "ffn_act_fn": {"name": "gelu", "approximate": "none"}})"));
    Model::load(folder_.path());
    take("gpt2");
    with("n_positions", 40); // the table must have exactly this many rows
    expect_refused("transformer.wpe.weight': expected [40, ");
}

// Errors use the file's own keys.
TEST_F(HuggingFace, RefusalsNameTheKeysOfTheFile) {
    const std::tuple<const char*, const char*, Json, const char*> cases[] = {
        {"llama", "head_dim", 7, "'head_dim': expected an even number of columns of a head that turn"},
        {"llama", "rms_norm_eps", 0, "'rms_norm_eps': expected more than 0, found 0"},
        {"llama", "num_key_value_heads", 3,
         "'num_key_value_heads': expected a divisor of num_attention_heads, found 3"},
        {"cohere", "rope_theta", nullptr, "'rope_theta': expected a number, found none"},
        {"distilbert", "n_heads", 3, "'n_heads': expected a divisor of dim, found 3"},
        {"gpt-neox", "rotary_pct", 0, "'rotary_pct': expected an even number of columns"},
        {"gptj", "rotary_dim", 3, "'rotary_dim': expected an even number"},
        {"llama",
         "rope_scaling",
         {{"type", "yarn"}, {"factor", 2}, {"beta_fast", 1}, {"beta_slow", 32}},
         "'rope_scaling': 'beta_slow': expected beta_slow no more than beta_fast, found 32"},
        {"llama",
         "rope_scaling",
         {{"rope_type", "llama3"}, {"factor", 8}, {"low_freq_factor", 4}, {"high_freq_factor", 1}},
         "'rope_scaling': 'low_freq_factor': expected low_freq_factor less than high_freq_factor"},
        {"phi3",
         "rope_scaling",
         {{"type", "longrope"}, {"short_factor", {1, 2}}, {"long_factor", {1, 2}}},
         "'rope_scaling': 'short_factor': expected a list of 8 numbers"},
        {"falcon", "multi_query", false, "'multi_query': expected true, as the tensors have it, found false"},
        {"falcon-alibi", "multi_query", true, "'multi_query': expected false, as the tensors have it, found true"},
        {"falcon-new", "num_kv_heads", 3, "'num_kv_heads': expected a divisor"},
        {"llama",
         "quantization_config",
         {{"quant_method", "gptq"}, {"bits", 4}},
         "'quant_method': expected none, and weights in F32, F16 or BF16"}};
    for (const auto& [family, key, value, phrase] : cases) {
        SCOPED_TRACE(std::string(family) + ": " + key);
        take(family);
        with(key, value);
        expect_refused(phrase);
    }
}

// A wider feed-forward part, which the file's own shapes confirm.
TEST_F(HuggingFace, FalconsFactorOfTheFeedForwardPartIsRead) {
    take("falcon-new");
    with("ff_factor", 4);
    Model::load(folder_.path());
    with("ff_factor", 2);
    expect_refused("transformer.h.0.mlp.dense_h_to_4h.weight': expected [64, 32]");
}

// ---- Ordo's own files ---------------------------------------------------------------------------

TEST(WeightTypes, AreNamedInTheMetadata) {
    const std::map<std::string, WeightType, std::less<>> types = {
        {"a", WeightType::q4_K}, {"b", WeightType::q4_0}, {"c", WeightType::f16}};
    const std::string json = weight_types_json(types);
    EXPECT_EQ(json, R"({"a":"q4_K","b":"q4_0"})");
    const auto read = weight_types_from_json(json, "file");
    EXPECT_EQ(read.at("a"), WeightType::q4_K);
    EXPECT_EQ(read.size(), 2U);
    EXPECT_EQ(weight_types_json({{"c", WeightType::f16}}), "");
    for (const char* wrong : {"[]", R"({"a": 1})", R"({"a": "q8_K"})", "x"})
        EXPECT_THROW(weight_types_from_json(wrong, "file"), Error) << wrong;
}

} // namespace
} // namespace ordo
