// SPDX-License-Identifier: MIT
// Real-world checkpoints whose configuration lacks a key or a tensor, uses an old form, or has an unusual meaning. They
// are modified fixtures of tests/families. The expected values come from the published implementation or from the
// transcriptions of tests/families.
#include "model/embed_text.h"
#include "tests/formats/hugging_face_folder.h"

namespace ordo {
namespace {

namespace fs = std::filesystem;
using test::HuggingFace;
using test::Json;

Model load(const std::string& name) {
    LoadOptions options;
    options.dtype = "f32";
    return Model::load(fs::path("tests/checkpoints") / name, options);
}

class Checkpoints : public HuggingFace {
protected:
    // The same tensors under other names.
    void rename(const std::function<std::string(const std::string&)>& name, const std::string& in = ".") {
        const Safetensors file = Safetensors::open(folder_ / in / "model.safetensors");
        std::vector<RawTensor> tensors;
        for (const TensorInfo& info : file.tensors())
            if (const std::string to = name(info.name); !to.empty())
                tensors.push_back({to, info.dtype, info.shape, info.bytes, [&](const ByteSink& sink) {
                                       std::vector<std::byte> bytes(info.bytes);
                                       file.read_raw(info, bytes);
                                       sink(bytes);
                                   }});
        write_raw_safetensors(folder_ / "other.safetensors", tensors, {});
        fs::rename(folder_ / "other.safetensors", folder_ / in / "model.safetensors");
    }
    void expect_logits_of(const std::string& family) {
        LoadOptions options;
        options.dtype = "f32";
        options.on_warning = [](std::string_view text) { ADD_FAILURE() << text; };
        const Model model = Model::load(folder_.path(), options);
        for (const Json& each : test::read_cases(test::family(family))) {
            const test::Logits found = test::logits_of(model, each.at("tokens").get<std::vector<Token>>());
            const Json& expected = each.at("logits");
            test::Gate gate;
            for (std::size_t i = 0; i < expected.size(); ++i)
                gate.add(found[found.size() - expected.size() + i], expected[i]);
            gate.expect_met();
        }
    }
};

TEST_F(Checkpoints, IsCausalFalseLetsEachTokenSeeAll) {
    const Model model = load("is_causal_false");
    const test::Logits logits = test::logits_of(model, {3, 7, 11, 2});
    const float expected[] = {-0.8330f, 0.7100f, -0.9624f};
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(logits[0][i], expected[i], 6e-5);
}

TEST_F(Checkpoints, IsCausalIsRefusedWhereItIsNotFollowed) {
    for (const char* family : {"bloom", "gpt2", "falcon", "t5"}) {
        take(family);
        with("is_causal", false);
        expect_refused("'is_causal': expected true, found false");
    }
    take("mistral"); // a window of 12
    with("is_causal", false);
    expect_refused("'is_causal': expected true beside a window of 12 tokens, found false");
    with("max_position_embeddings", 12);
    Model::load(folder_.path());
}

TEST_F(Checkpoints, ADecoderWithoutAHeadGivesStatesAlone) {
    const Model model = load("e5_mistral_bare");
    const std::vector<Token> tokens = {3, 7, 11};
    Session session(model, {.capacity = 3});
    int rows = 0;
    session.feed_states(tokens, {}, [&](int, ConstView states) { rows += states.rows; });
    EXPECT_EQ(rows, 3);
    Session other(model, {.capacity = 3});
    try {
        other.feed(tokens);
        FAIL() << "gave logits";
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::usage);
        EXPECT_NE(std::string(error.what()).find("a model without a language head"), std::string::npos) << error.what();
    }
}

// A file of a base class, such as PhiModel: the names have no prefix, and there is no head.
TEST_F(Checkpoints, BaseClassesHaveNoHead) {
    for (const char* family : {"phi", "gptj", "qwen3"}) {
        SCOPED_TRACE(family);
        take(family);
        with("tie_word_embeddings", false);
        rename([](const std::string& name) {
            const std::string bare = name.substr(name.starts_with("model.")         ? 6
                                                 : name.starts_with("transformer.") ? 12
                                                                                    : 0);
            return name.starts_with("lm_head") ? std::string() : bare;
        });
        const Model model = Model::load(folder_.path());
        EXPECT_THROW(Session(model).feed(std::vector<Token>{1}), Error);
        EXPECT_EQ(to_json(blueprint_of(model)).find("head_bias"), std::string::npos);
    }
}

TEST_F(Checkpoints, ClassifiersHaveNoLanguageHead) {
    take("llama");
    with("architectures", {"LlamaForSequenceClassification"});
    const Model classifier = Model::load(folder_.path());
    EXPECT_THROW(Session(classifier).feed(1), Error);
    take("bert");
    with("architectures", {"BertForTokenClassification"});
    rename([](const std::string& name) { return name.starts_with("cls.") ? std::string() : name; });
    const Model model = Model::load(folder_.path());
    EXPECT_THROW(Session(model).feed(std::vector<Token>{1}), Error);
}

TEST_F(Checkpoints, Llama1HasTheContextOfItsClass) {
    EXPECT_EQ(load("llama1_max_sequence_length").context(), 2048);
}

TEST_F(Checkpoints, LayersWithoutRopeSlideInSmolLM3) {
    const test::Logits logits = test::logits_of(load("smollm3_window"), {3, 7, 11, 2});
    const float expected[] = {0.5320f, 3.0264f, 6.3512f};
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(logits[3][i], expected[i], 6e-5);
}

// The layout of sentence-transformers: modules.json lists the modules after the model, and 1_Pooling says how states
// become one vector.
TEST_F(Checkpoints, EmbedPoolsAsTheModelSays) {
    take("bert");
    put_tokenizer();
    const auto options = [&] { return embed_options(Model::load(folder_.path())); };
    EXPECT_EQ(options().pooling, Pooling::mean);
    EXPECT_TRUE(options().normalised);
    fs::create_directory(folder_ / "1_Pooling");
    const auto pool = [&](const std::string& mode) {
        Json modes = {
            {"word_embedding_dimension", 32}, {"pooling_mode_cls_token", false}, {"pooling_mode_mean_tokens", false}};
        modes["pooling_mode_" + mode] = true;
        test::put_file(folder_ / "1_Pooling" / "config.json", modes.dump());
    };
    pool("cls_token");
    EXPECT_EQ(options().pooling, Pooling::first);
    pool("lasttoken");
    EXPECT_EQ(options().pooling, Pooling::last);
    Json modules =
        Json::parse(R"([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}])");
    const auto put_modules = [&] { test::put_file(folder_ / "modules.json", modules.dump()); };
    put_modules();
    EXPECT_FALSE(options().normalised);
    modules.push_back(
        {{"idx", 2}, {"name", "2"}, {"path", "2_Normalize"}, {"type", "sentence_transformers.models.Normalize"}});
    put_modules();
    EXPECT_TRUE(options().normalised);
    EXPECT_TRUE(warnings().empty());
    modules.push_back({{"idx", 3}, {"name", "3"}, {"path", "3_CNN"}, {"type", "sentence_transformers.models.CNN"}});
    put_modules();
    ASSERT_EQ(warnings().size(), 1U);
    EXPECT_NE(warnings()[0].find("found sentence_transformers.models.CNN"), std::string::npos) << warnings()[0];
    pool("max_tokens");
    try {
        options();
        FAIL() << "pooled";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("pooling: expected mean, first or last, found 'max'"),
                  std::string::npos);
    }
    EXPECT_EQ(embed_options(Model::load(folder_.path()), Pooling::first).pooling, Pooling::first);
    modules[1]["path"] = "../1_Pooling";
    put_modules();
    expect_refused("modules.json: 'path': expected the name of a folder");
}

// The modules Dense are part of the model: without one of them, or with another shape, every vector would be wrong.
TEST_F(Checkpoints, DenseModulesThatDoNotFitAreRefused) {
    const auto again = [&] {
        fs::copy(test::family("labse"), folder_.path(),
                 fs::copy_options::recursive | fs::copy_options::overwrite_existing);
        Model::load(folder_.path());
    };
    const auto refused = [&](const std::string& key, const Json& value, const std::string& phrase) {
        again();
        const fs::path file = folder_ / "2_Dense" / "config.json";
        Json config = Json::parse(test::file_content(file));
        config[key] = value;
        test::put_file(file, config.dump());
        expect_refused("2_Dense" + phrase);
    };
    refused("in_features", 24, "/config.json: 'in_features': expected 32, the width of the vector before it");
    refused("in_features", nullptr, "/config.json: 'in_features'");
    refused("out_features", 23, ": tensor 'linear.weight': expected [23, 32], found [24, 32]");
    refused("out_features", 0, "/config.json: 'out_features'");
    refused("activation_function", "my.Own", "/config.json: 'activation_function': expected one of torch.nn.modules");
    refused("use_residual", true, "/config.json: 'use_residual'");
    refused("module_input_name", "token_embeddings", "/config.json: 'module_input_name'");
    again();
    rename([](const std::string& name) { return name == "linear.bias" ? "linear.other" : name; }, "2_Dense");
    expect_refused("2_Dense: tensor 'linear.bias': expected [24], found none");
    again();
    fs::remove(folder_ / "2_Dense" / "model.safetensors");
    expect_refused("2_Dense: expected model.safetensors");
    again();
    fs::remove_all(folder_ / "2_Dense");
    expect_refused("2_Dense/config.json: expected the file of a module that modules.json names");
    again();
    Json modules = Json::parse(test::file_content(folder_ / "modules.json"));
    modules[2]["path"] = "..";
    test::put_file(folder_ / "modules.json", modules.dump());
    expect_refused("modules.json: 'path': expected the name of a folder");
}

// A Normalize before a Dense is part of the way there. Each activation is that of its class in torch.nn, in double
// precision here.
TEST_F(Checkpoints, DenseModulesComeInTheOrderOfTheFile) {
    fs::copy(test::family("labse"), folder_.path(), fs::copy_options::recursive);
    Json modules = Json::parse(test::file_content(folder_ / "modules.json"));
    const auto vector = [&] {
        const Model model = Model::load(folder_.path());
        return embed(model, EmbedText{{5, 9, 33}, {}}, embed_options(model));
    };
    const fs::path file = folder_ / "2_Dense" / "config.json";
    Json config = Json::parse(test::file_content(file));
    const auto activation = [&](const std::string& name) {
        config["activation_function"] = "torch.nn.modules." + name;
        test::put_file(file, config.dump());
        return vector();
    };
    std::swap(modules[2], modules[3]);
    test::put_file(folder_ / "modules.json", modules.dump());
    const std::vector<float> plain = activation("linear.Identity");
    const Json pooled = [&] {
        modules.erase(3);
        test::put_file(folder_ / "modules.json", modules.dump());
        const std::vector<float> unit = vector();
        modules.push_back({{"path", "2_Dense"}, {"type", "sentence_transformers.models.Dense"}});
        test::put_file(folder_ / "modules.json", modules.dump());
        return unit;
    }();
    const Safetensors weights = Safetensors::open(folder_ / "2_Dense" / "model.safetensors");
    std::vector<float> matrix(24 * 32), bias(24);
    weights.read(*weights.find("linear.weight"), matrix);
    weights.read(*weights.find("linear.bias"), bias);
    std::vector<double> expected;
    for (std::size_t i = 0; i < 24; ++i) {
        expected.push_back(static_cast<double>(bias[i]));
        for (std::size_t j = 0; j < 32; ++j)
            expected[i] += static_cast<double>(matrix[i * 32 + j]) * pooled[j].get<double>();
        EXPECT_NEAR(plain[i], expected[i], 1e-5);
    }
    const std::pair<const char*, double (*)(double)> kinds[] = {
        {"activation.Tanh", [](double x) { return std::tanh(x); }},
        {"activation.ReLU", [](double x) { return x > 0 ? x : 0; }},
        {"activation.GELU", [](double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0)); }},
        {"activation.SiLU", [](double x) { return x / (1 + std::exp(-x)); }},
        {"activation.Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }}};
    for (const auto& [name, function] : kinds) {
        const std::vector<float> found = activation(name);
        for (std::size_t i = 0; i < 24; ++i) EXPECT_NEAR(found[i], function(expected[i]), 1e-5) << name;
    }
}

TEST_F(Checkpoints, WholeNumbersMayBeWrittenAsFractions) {
    take("llama3");
    Json changed = config();
    for (Json* object : {&changed, &changed["rope_scaling"]})
        for (auto& [key, value] : object->items())
            if (value.is_number_integer()) value = value.get<double>();
    put_config(changed);
    ASSERT_NE(test::file_content(folder_ / "config.json").find("\"original_max_position_embeddings\":64.0"),
              std::string::npos);
    expect_logits_of("llama3");
    with("hidden_size", 2.5);
    expect_refused("'hidden_size': expected an integer");
}

TEST_F(Checkpoints, AMultimodalGemma3IsReadAsText) {
    for (const std::string prefix : {"language_model.model.", "model.language_model."}) {
        take("gemma3");
        Json text = config();
        for (const char* key : {"architectures", "hidden_activation"}) text.erase(key); // the class has a default
        put_config({{"architectures", {"Gemma3ForConditionalGeneration"}},
                    {"model_type", "gemma3"},
                    {"text_config", text},
                    {"vision_config", {{"model_type", "siglip_vision_model"}, {"hidden_size", 1152}}}});
        rename([&](const std::string& name) { return prefix + name.substr(std::string("model.").size()); });
        expect_logits_of("gemma3");
    }
    Json wrong = config();
    wrong["text_config"]["model_type"] = "gemma2";
    put_config(wrong);
    expect_refused("'text_config': 'model_type': expected gemma3_text, found");
}

// google/gemma-3-4b-it sets six keys of its text model. The class supplies the rest.
TEST_F(Checkpoints, AGemma3LeavesItsSizesToTheClass) {
    take("gemma3");
    put_config({{"model_type", "gemma3"},
                {"text_config",
                 {{"hidden_size", 2560},
                  {"intermediate_size", 10240},
                  {"model_type", "gemma3_text"},
                  {"num_hidden_layers", 34},
                  {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}},
                  {"sliding_window", 1024}}}});
    const Source source = hugging_face_source(folder_.path());
    const Blueprint& b = source.blueprint;
    EXPECT_EQ((std::vector{b.vocab_size, b.context, b.n_heads, b.n_kv_heads, b.d_head, b.d_model}),
              (std::vector{262208, 131072, 8, 4, 256, 2560}));
    EXPECT_EQ(b.layer(4).window, 1024);
    EXPECT_EQ(b.layer(5).window, 0);
}

// Falcon's first files have no key for the layer layout of the larger models. The model type implies it.
TEST_F(Checkpoints, FalconsOldNamesAreFalcon) {
    for (const auto& [family, type] : {std::pair{"falcon", "RefinedWebModel"}, {"falcon-new", "RefinedWeb"}}) {
        take(family);
        Json changed = config();
        for (const auto& [now, old] : {std::pair{"num_attention_heads", "n_head"},
                                       {"num_hidden_layers", "n_layer"},
                                       {"num_kv_heads", "n_head_kv"}})
            if (changed.contains(now)) {
                changed[old] = changed[now];
                changed.erase(now);
            }
        for (const char* key : {"new_decoder_architecture", "multi_query"}) changed.erase(key);
        changed["model_type"] = type;
        put_config(changed);
        expect_logits_of(family);
    }
}

// transformers 5 sets tied embeddings for every T5. Another key says whether the head is really the embedding.
TEST_F(Checkpoints, T5sHeadIsWhatTheFileHas) {
    take("t5-gated");
    with("tie_word_embeddings", true);
    with("scale_decoder_outputs", false);
    const Blueprint b = hugging_face_source(folder_.path()).blueprint;
    EXPECT_FALSE(b.tied_head);
    EXPECT_EQ(b.head_scale, 1);
}

} // namespace
} // namespace ordo
