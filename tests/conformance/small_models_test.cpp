// SPDX-License-Identifier: MIT
// Four small models that others trained and published with their code, read from the files as they are. The numbers are
// those that their authors published, or come from their code or another engine. tests/README.md names the files.
#include "formats/architecture.h"
#include "formats/pytorch_store.h"
#include "formats/sentence_piece/protobuf.h"
#include "formats/source.h"
#include "tests/formats/family_run.h"
#include "tests/temp_dir.h"
#include "text/normalizer.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <iostream>

namespace ordo {
namespace {

namespace fs = std::filesystem;

// A GPT-2 of another size.
Blueprint gpt2(int vocab, int context, int layers, int width, int heads) {
    Blueprint b = find_hugging_face("gpt2", "test").make();
    b.vocab_size = vocab;
    b.context = context;
    b.n_layers = layers;
    b.d_model = width;
    b.n_heads = b.n_kv_heads = heads;
    b.d_head = width / heads;
    b.d_ff = 4 * width;
    return b;
}

// minGPT's and nanoGPT's names, which are GPT-2's with matrices of [outputs, inputs].
NameMap linear_gpt2() {
    NameMap names = find_hugging_face("gpt2", "test").hugging_face.names({});
    for (NameRule& rule : names.rules) rule.layout = Layout::whole;
    return names;
}

class SmallModels : public ::testing::Test {
protected:
    void SetUp() override {
        const char* set = std::getenv("ORDO_CONFORMANCE");
        folder_ = fs::path(set != nullptr ? set : "../shared/conformance") / "small-models";
    }
    // False, with a message, if a file is missing.
    bool has(const std::string& file) const {
        if (fs::exists(folder_ / file)) return true;
        std::cerr << "SKIPPED: no " << folder_ / file << "; set ORDO_CONFORMANCE\n";
        return false;
    }
    static Model load(Blueprint blueprint, NameMap names, TensorStore tensors) {
        Source source;
        source.where = "model";
        source.blueprint = std::move(blueprint);
        source.encoding = "learned";
        source.names = std::move(names);
        source.tensors = std::move(tensors);
        return load_model(source, {});
    }
    TensorStore pytorch(const std::string& file) const {
        TensorStore tensors;
        add_pytorch(tensors, std::make_shared<const PytorchFile>(PytorchFile::open(folder_ / file)));
        return tensors;
    }
    static void add(TensorStore& store, std::string name, std::vector<std::int64_t> shape, std::string_view bytes) {
        auto held = std::make_shared<const std::string>(bytes);
        const std::size_t file = store.add_file(
            "memory", bytes.size(),
            [held](std::uint64_t at, std::span<std::byte> out) { std::memcpy(out.data(), &(*held)[at], out.size()); },
            "F32");
        store.add({std::move(name), "F32", WeightType::f32, std::move(shape), bytes.size(), 0, file});
    }
    fs::path folder_;
};

// GPT by hand: two layers of 16, no biases, 32 words. Published: best_val_loss 1.5052, over windows drawn at random
// from val.bin. Over its 42 windows in a row, the formula in double precision (PyTorch) gives 1.50608.
TEST_F(SmallModels, GptByHandHasThePublishedLoss) {
    if (!has("gpt-by-hand/ckpt.pt")) GTEST_SKIP();
    Blueprint blueprint = gpt2(32, 8, 2, 16, 2);
    blueprint.norm_bias = blueprint.ffn_bias = false;
    blueprint.attention_bias(false);
    blueprint.activation = Activation::gelu;
    NameMap names = linear_gpt2();
    for (NameRule& rule : names.rules) {
        if (rule.ours == "layers.#.attention_norm")
            rule = {"layers.#.attention_norm.weight", "transformer.h.#.ln_1.gamma"};
        if (rule.ours == "layers.#.feed_forward_norm")
            rule = {"layers.#.feed_forward_norm.weight", "transformer.h.#.ln_2.gamma"};
        if (rule.ours == "final_norm") rule = {"final_norm.weight", "transformer.ln_f.gamma"};
    }
    const Model model = load(blueprint, names, pytorch("gpt-by-hand/ckpt.pt"));
    const std::string text = test::file_content(folder_ / "gpt-by-hand/val.bin"); // two bytes for each word
    const auto word = [&](std::size_t i) {
        return static_cast<Token>(static_cast<unsigned char>(text[2 * i]) | static_cast<unsigned char>(text[2 * i + 1])
                                                                                << 8);
    };
    double loss = 0;
    int windows = 0;
    for (std::size_t at = 0; at + 8 < text.size() / 2; at += 8, ++windows) {
        std::vector<Token> tokens;
        for (std::size_t i = 0; i < 8; ++i) tokens.push_back(word(at + i));
        const test::Logits logits = test::logits_of(model, tokens);
        for (std::size_t i = 0; i < 8; ++i) {
            double sum = 0;
            for (const float x : logits[i]) sum += std::exp(static_cast<double>(x));
            loss += std::log(sum) - logits[i][word(at + i + 1)];
        }
        if (windows == 0) {
            EXPECT_NEAR(logits[7][1], -1.1365823684463037, 1e-5);
        }
    }
    EXPECT_EQ(windows, 42);
    EXPECT_NEAR(loss / (8 * windows), 1.5060847, 2e-6);
    EXPECT_NEAR(loss / (8 * windows), 1.5052, 0.002);
}

// minigpt: four layers of 128, 54 characters, separate q, k and v. The text and the logits are those of the
// repository's own model.py (PyTorch 1.13).
TEST_F(SmallModels, MinigptWritesItsOwnText) {
    if (!has("minigpt/minigpt.pt")) GTEST_SKIP();
    Blueprint blueprint = gpt2(54, 128, 4, 128, 4);
    blueprint.q_bias = blueprint.k_bias = blueprint.v_bias = false;
    blueprint.activation = Activation::gelu;
    const NameMap names{.rules = {{"embedding", "token_emb"},
                                  {"encoding.learned", "pos_emb"},
                                  {"layers.#.attention_norm", "blocks.#.ln1"},
                                  {"layers.#.attention.q", "blocks.#.attn.query"},
                                  {"layers.#.attention.k", "blocks.#.attn.key"},
                                  {"layers.#.attention.v", "blocks.#.attn.value"},
                                  {"layers.#.attention.out", "blocks.#.attn.proj"},
                                  {"layers.#.feed_forward_norm", "blocks.#.ln2"},
                                  {"layers.#.feed_forward.in", "blocks.#.ffwd.net.0"},
                                  {"layers.#.feed_forward.out", "blocks.#.ffwd.net.2"},
                                  {"final_norm", "ln_f"}},
                        .prefix = {},
                        .ignored = {}};
    const Model model = load(blueprint, names, pytorch("minigpt/minigpt.pt"));
    const std::string characters = "\n ,-.:?ABCDEFGIKLMNOPQRSTUVWabcdefghijklmnopqrstuvwxyz";
    std::vector<Token> tokens;
    for (const char c : std::string("MiniGPT ")) tokens.push_back(static_cast<Token>(characters.find(c)));
    const float expected[] = {-1.806960105895996f, -0.16359856724739075f, -2.0949225425720215f, -6.0842437744140625f};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(test::logits_of(model, tokens).back()[i], expected[i], 2e-5);
    std::string text;
    for (int i = 0; i < 80; ++i) {
        const std::vector<float> last = test::logits_of(model, tokens).back();
        tokens.push_back(static_cast<Token>(std::max_element(last.begin(), last.end()) - last.begin()));
        text += characters[static_cast<std::size_t>(tokens.back())];
    }
    EXPECT_EQ(text, "doenerated text quality should be judged by coherence, consistency, and relevanc");
}

// gpt-nano-sort: minGPT's example, three layers of 48, which sorts six letters. The repository publishes the logits of
// three sequences.
TEST_F(SmallModels, GptNanoSortHasThePublishedLogits) {
    if (!has("gpt-nano-sort/gpt-nano-sort-model.json")) GTEST_SKIP();
    const auto json = [&](const char* file) {
        return parse_json(test::file_content(folder_ / "gpt-nano-sort" / file), file);
    };
    const auto floats = [](const JsonValue& tensor) {
        return from_base64(get_string(tensor, "data", "tensor"), "tensor");
    };
    TensorStore tensors;
    const JsonValue file = json("gpt-nano-sort-model.json"), published = json("gpt-nano-sort-t0-partials.json");
    for (const auto& [name, tensor] : *file.object()) {
        if (find_member(tensor, "data") == nullptr) continue;
        std::vector<std::int64_t> shape;
        for (const JsonValue& size : get_array(tensor, "shape", name))
            shape.push_back(static_cast<std::int64_t>(*size.unsigned_integer()));
        add(tensors, name, shape, floats(tensor));
    }
    Blueprint blueprint = gpt2(3, 11, 3, 48, 3);
    blueprint.tied_head = false;
    const Model model = load(blueprint, linear_gpt2(), std::move(tensors));
    const std::string ids = floats(get_object(published, "idx", "t0")),
                      logits = floats(get_object(published, "lm_head", "t0"));
    const auto number = [](const std::string& bytes, std::size_t i) {
        float value = 0;
        std::memcpy(&value, &bytes[4 * i], 4);
        return value;
    };
    for (std::size_t row = 0; row < 3; ++row) {
        std::vector<Token> tokens;
        for (std::size_t i = 0; i < 11; ++i) tokens.push_back(static_cast<Token>(number(ids, 11 * row + i)));
        const test::Logits found = test::logits_of(model, tokens);
        for (std::size_t i = 0; i < 11; ++i)
            for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(found[i][j], number(logits, (11 * row + i) * 3 + j), 1e-5);
    }
}

// CAPP-GPT: a GPT-2 of four layers of 64 that proposes manufacturing steps, as an ONNX file. The logits are ONNX
// Runtime's (npm onnxruntime-node 1.30) for the ids x % 50, with x = 7 and then 31 x + 11 modulo 1009.
TEST_F(SmallModels, CappGptAgreesWithOnnxRuntime) {
    if (!has("capp-gpt/model.onnx")) GTEST_SKIP();
    const std::string file = test::file_content(folder_ / "capp-gpt/model.onnx");
    TensorStore tensors;
    const auto each = [](std::string_view message, std::uint32_t id, const auto& visit) {
        ProtobufReader reader(message, "onnx");
        while (const auto field = reader.next())
            if (field->id == id) visit(*field);
    };
    each(file, 7, [&](const ProtobufField& graph) {            // ModelProto.graph
        each(graph.text, 5, [&](const ProtobufField& tensor) { // GraphProto.initializer
            std::string name, values;
            std::vector<std::int64_t> shape;
            each(tensor.text, 1, [&](const ProtobufField& f) { shape.push_back(static_cast<std::int64_t>(f.value)); });
            each(tensor.text, 8, [&](const ProtobufField& f) { name = f.text; });
            each(tensor.text, 9, [&](const ProtobufField& f) { values = f.text; });
            if (name.starts_with("transformer.")) add(tensors, name, shape, values);
        });
    });
    const Model model =
        load(gpt2(53, 512, 4, 64, 4), find_hugging_face("gpt2", "test").hugging_face.names({}), std::move(tensors));
    std::vector<Token> tokens;
    for (int i = 0, x = 7; i < 44; ++i, x = (31 * x + 11) % 1009) tokens.push_back(x % 50);
    constexpr Token likeliest[] = {37, 37, 29, 29, 44, 38, 37, 33, 38, 29, 42, 50, 37, 40, 50,
                                   44, 42, 42, 29, 33, 29, 44, 42, 42, 42, 33, 42, 42, 29, 37,
                                   44, 44, 44, 29, 37, 44, 42, 29, 42, 42, 33, 42, 37, 37};
    const test::Logits logits = test::logits_of(model, tokens);
    for (std::size_t i = 0; i < 44; ++i)
        EXPECT_EQ(std::max_element(logits[i].begin(), logits[i].end()) - logits[i].begin(), likeliest[i]) << i;
    const float first[] = {-0.7351739406585693f, -0.7132819890975952f, -0.8718410730361938f, -0.7420037984848022f},
                last[] = {-1.3317409753799438f, -1.3782563209533691f, -1.1922996044158936f, -1.5623819828033447f};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(logits[0][i], first[i], 1e-5);
        EXPECT_NEAR(logits[43][i], last[i], 1e-5);
    }
}

} // namespace
} // namespace ordo
