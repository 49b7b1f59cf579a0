// SPDX-License-Identifier: MIT
// Models through GGUF: a written model computes the same when read again, contents that GGUF cannot express are refused
// by name, and damage above the container is (G21, G22, G28, G29). tests/llama_cpp tests that llama.cpp reads the same.
#include "formats/gguf/export.h"
#include "tests/json.h"
#include "tests/temp_dir.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace ordo {
namespace {

namespace fs = std::filesystem;
using test::Json;

Source fixture(const std::string& name) {
    return open_source(fs::path("tests/families") / name);
}

std::shared_ptr<const Gguf> parsed(const std::vector<std::byte>& bytes) {
    return std::make_shared<const Gguf>(Gguf::parse(bytes, "mem"));
}

// The largest error of a logit in the first case.
double worst_error(const Model& model, const std::string& name) {
    const Json expected = Json::parse(test::file_content(fs::path("tests/families") / name / "expected.json"));
    const Json& first = expected.at("cases").at(0);
    const auto tokens = first.at("tokens").get<std::vector<Token>>();
    std::vector<float> found;
    // The capacity selects one of longrope's lists.
    Session session(model, {.capacity = static_cast<int>(tokens.size())});
    session.feed_all(tokens, TokenRows{}, [&](int, View logits) {
        for (int i = 0; i < logits.rows; ++i) found.insert(found.end(), logits.row(i), logits.row(i) + logits.cols);
    });
    std::vector<double> all;
    for (const Json& row : first.at("logits"))
        for (const Json& value : row) all.push_back(value.get<double>());
    EXPECT_EQ(found.size(), all.size());
    double worst = 0;
    for (std::size_t i = 0; i < std::min(all.size(), found.size()); ++i)
        worst = std::max(worst, std::abs(found[i] - all[i]));
    return worst;
}

std::string refusal(const std::function<void()>& act, ErrorCode code) {
    try {
        act();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, code) << error.what();
        EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
        return error.what();
    }
    return "accepted";
}

struct Written {
    std::string family, architecture;
    friend std::ostream& operator<<(std::ostream& out, const Written& each) { return out << each.family; }
};
class GgufRoundTrip : public ::testing::TestWithParam<Written> {};

TEST_P(GgufRoundTrip, KeepsTheLogitsOfTheFixture) {
    const Source source = fixture(GetParam().family);
    const GgufExport file = gguf_export(source, {});
    EXPECT_EQ(file.architecture, GetParam().architecture);
    const std::vector<std::byte> bytes = gguf_bytes(file.metadata, file.tensors, "mem");
    const Source again = gguf_source(parsed(bytes));
    std::vector<std::string> warnings;
    LoadOptions options;
    options.dtype = "f32"; // bf16 rounds activations too, if the machine multiplies pairs of bf16
    options.on_warning = [&](std::string_view text) { warnings.emplace_back(text); };
    EXPECT_LE(worst_error(load_model(again, options), GetParam().family), 2e-4);
    EXPECT_TRUE(warnings.empty()) << warnings.front();
    // Writing the read file again gives the same bytes, except for the order of the tokenizer's keys.
    const GgufExport twice = gguf_export(again, {});
    EXPECT_EQ(gguf_bytes(twice.metadata, twice.tensors, "mem").size(), bytes.size());
}

INSTANTIATE_TEST_SUITE_P(
    Families, GgufRoundTrip,
    ::testing::Values(Written{"gpt2", "gpt2"}, Written{"gpt2-bare", "gpt2"}, Written{"llama", "llama"},
                      Written{"llama1", "llama"}, Written{"smollm", "llama"}, Written{"llama3", "llama"},
                      Written{"llama-linear", "llama"}, Written{"qwen2-yarn", "llama"}, Written{"gpt-neox", "gptneox"},
                      Written{"phi", "phi2"}, Written{"falcon", "falcon"}, Written{"qwen2", "llama"},
                      Written{"qwen3", "qwen3"}, Written{"hunyuan", "hunyuan-dense"}, Written{"bloom", "bloom"},
                      Written{"bloom-prefixed", "bloom"}, Written{"mpt", "mpt"}, Written{"mixtral", "llama"},
                      Written{"qwen2-moe", "qwen2moe"}, Written{"qwen3-moe-plain", "qwen3moe"},
                      // Their windows are wider than their contexts.
                      Written{"phi3-longrope", "llama"}, Written{"phi4-mini", "llama"}),
    [](const auto& each) {
        std::string name = each.param.family;
        std::replace(name.begin(), name.end(), '-', '_');
        return name;
    });

// Models for which GGUF has no architecture or no key.
TEST(GgufExport, RefusesByNameWhatTheFormatCannotSay) {
    const std::pair<const char*, const char*> cases[] = {
        {"xglm", "'sinusoidal'"},
        {"opt", "gpt2: expected activation gelu_tanh"},
        {"mistral", "a window of 12"},
        {"mistral", "; a .safetensors file has place for it"},
        {"qwen3-moe", "layers that differ from each other; a .safetensors file"},
        {"gemma3", "layers that differ from each other; a .safetensors file"},
        {"opt-post-norm", "has an embedding of 16 columns"},
        {"smollm3", "pattern("},
        {"llama-dynamic", "'scaling=dynamic'"},
        {"llama-yarn", "beta-fast=32"}};
    for (const auto& [family, phrase] : cases) {
        const Source source = fixture(family);
        const std::string text = refusal([&] { gguf_export(source, {}); }, ErrorCode::usage);
        EXPECT_NE(text.find(phrase), std::string::npos) << text;
    }
}

// ---- Types --------------------------------------------------------------------------------------

// Some rows of Llama's fixture are too narrow for blocks of 32. They become f16.
TEST(GgufExport, WritesTheTypeThatIsAskedFor) {
    const Source source = fixture("llama");
    for (const WeightType type : writable_types) {
        const GgufExport file = gguf_export(source, type);
        const std::vector<std::byte> bytes = gguf_bytes(file.metadata, file.tensors, "mem");
        const auto again = parsed(bytes);
        for (const GgufTensor& tensor : again->tensors()) {
            const bool vector = tensor.shape.size() == 1, narrow = tensor.shape.back() % 32 != 0;
            const bool coarse =
                type == WeightType::q4_0 && (tensor.name == "token_embd.weight" || tensor.name == "output.weight");
            const WeightType expected = vector                      ? WeightType::f32
                                        : quantised(type) && narrow ? WeightType::f16
                                        : coarse                    ? WeightType::q8_0
                                                                    : type;
            EXPECT_EQ(tensor.type, expected) << tensor.name;
        }
        const double most = quantised(type) ? 5 : 2e-4; // the fixture's weights are exact in f16
        LoadOptions as_floats;
        as_floats.dtype = "f32";
        EXPECT_LE(worst_error(load_model(gguf_source(again), as_floats), "llama"), most);
    }
}

TEST(GgufExport, MovesRowsOfBlocksAsTheyAre) {
    const Source source = fixture("qwen3");
    const GgufExport first = gguf_export(source, WeightType::q8_0);
    const std::vector<std::byte> bytes = gguf_bytes(first.metadata, first.tensors, "mem");
    const Source again = gguf_source(parsed(bytes));
    const GgufExport second = gguf_export(again, {});
    const std::vector<std::byte> twice = gguf_bytes(second.metadata, second.tensors, "mem");
    const auto a = parsed(bytes), b = parsed(twice);
    for (const GgufTensor& tensor : a->tensors()) {
        const GgufTensor* other = b->find(tensor.name);
        ASSERT_NE(other, nullptr);
        std::vector<std::byte> mine(tensor.bytes), theirs(other->bytes);
        a->read(tensor, 0, mine);
        b->read(*other, 0, theirs);
        EXPECT_EQ(mine, theirs) << tensor.name;
    }
}

// ---- Text ---------------------------------------------------------------------------------------

TEST(GgufSource, KeepsTheTokenizerAndTheText) {
    for (const std::string name : {"rope", "alibi"}) {
        SCOPED_TRACE(name);
        const Source source = open_source("weights/" + name + ".safetensors");
        const GgufExport file = gguf_export(source, {});
        EXPECT_EQ(file.architecture, name == "rope" ? "llama" : "refact");
        const std::vector<std::byte> bytes = gguf_bytes(file.metadata, file.tensors, "mem");
        LoadOptions as_floats;
        as_floats.dtype = "f32";
        const Model before = load_model(source, as_floats), after = load_model(gguf_source(parsed(bytes)), as_floats);
        EXPECT_EQ(after.encoding(), before.encoding());
        for (const char* text :
             {"Once upon a time", "  two  spaces\n\n", "na\xc3\xafve \xf0\x9f\x98\x80 <|endoftext|>", ""})
            for (const bool special : {false, true})
                EXPECT_EQ(after.encode(text, {special}), before.encode(text, {special}));
        GenerateOptions options;
        options.max_tokens = 40;
        options.sampling.temperature = 0;
        EXPECT_EQ(generate(after, "One day", options).text, generate(before, "One day", options).text);
    }
}

// The message that refuses a model with a tokenizer after a change of its metadata.
std::string refused_text(const std::string& key, const GgufValue& value) {
    const Source source = open_source("weights/rope.safetensors");
    GgufExport file = gguf_export(source, {});
    std::erase_if(file.metadata, [&](const auto& entry) { return entry.first == key; });
    file.metadata.emplace_back(key, value);
    const std::vector<std::byte> bytes = gguf_bytes(file.metadata, file.tensors, "mem");
    return refusal([&] { load_model(gguf_source(parsed(bytes)), {}); }, ErrorCode::model);
}

TEST(GgufSource, G23RefusesArraysThatDoNotFitTheEmbedding) {
    const std::vector<std::string> tokens(4095, "a");
    EXPECT_NE(refused_text("tokenizer.ggml.tokens", GgufValue::of(tokens)).find("expected 4096 elements"),
              std::string::npos);
    const std::vector<std::int32_t> types(12, 1);
    EXPECT_NE(refused_text("tokenizer.ggml.token_type", GgufValue::of(types)).find("found 12"), std::string::npos);
    const std::vector<float> scores(5000, 1);
    EXPECT_NE(refused_text("tokenizer.ggml.scores", GgufValue::of(scores)).find("found 5000"), std::string::npos);
    EXPECT_NE(refused_text("tokenizer.ggml.tokens", GgufValue::of(types)).find("an array of strings"),
              std::string::npos);
}

TEST(GgufSource, G25RefusesIdsBeyondTheVocabulary) {
    for (const char* key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"}) {
        EXPECT_NE(refused_text(key, GgufValue::of(std::uint32_t{4096})).find("from 0 to 4095, found u32 4096"),
                  std::string::npos);
        EXPECT_NE(refused_text(key, GgufValue::of(-1)).find("found i32 -1"), std::string::npos);
    }
}

TEST(GgufSource, RefusesTokenizersByName) {
    EXPECT_NE(refused_text("tokenizer.ggml.model", GgufValue::of("rwkv")).find("rwkv"), std::string::npos);
    EXPECT_NE(refused_text("tokenizer.ggml.pre", GgufValue::of("klingon")).find("klingon"), std::string::npos);
}

// G30: the template is never run.
TEST(GgufSource, G30IgnoresALongChatTemplate) {
    const std::string longest(std::size_t{10} << 20, '{');
    EXPECT_EQ(refused_text("tokenizer.chat_template", GgufValue::of(longest)), "accepted");
}

// ---- Damage -------------------------------------------------------------------------------------

// The message that refuses llama's fixture with changed metadata. An entry without a key is not added.
std::string refused_with(const std::vector<std::pair<std::string, GgufValue>>& changed) {
    const Source source = fixture("llama");
    GgufExport file = gguf_export(source, {});
    for (const auto& change : changed) {
        std::erase_if(file.metadata, [&](const auto& entry) { return entry.first == change.first; });
        file.metadata.push_back(change);
    }
    const std::vector<std::byte> bytes = gguf_bytes(file.metadata, file.tensors, "mem");
    return refusal([&] { load_model(gguf_source(parsed(bytes)), {}); }, ErrorCode::model);
}

std::string refused_with(const std::string& key, const GgufValue& value) {
    return refused_with({{key, value}});
}

void expect_refused_with(const std::string& key, const GgufValue& value, const std::string& phrase) {
    const std::string text = refused_with(key, value);
    EXPECT_NE(text.find(phrase), std::string::npos) << text;
}

constexpr std::uint32_t none = 0, one = 1, two = 2;

TEST(GgufSource, G21RefusesAPartOfAModel) {
    EXPECT_EQ(refused_with("split.count", GgufValue::of(one)), "accepted");
    expect_refused_with("split.count", GgufValue::of(two), "'split.count': expected 1, found 2");
}

// A number takes one byte in the file and 16 in memory: 200 such lists in a file of 13 MB took 231.
TEST(GgufSource, RefusesListsThatTakeTooMuchTogether) {
    std::vector<std::pair<std::string, GgufValue>> lists;
    for (const char* key : {"llama.a", "llama.b", "llama.c", "llama.d"})
        lists.emplace_back(key, GgufValue::of_bytes(std::string(65'536, '\1')));
    EXPECT_EQ(refused_with(lists), "accepted");
    lists.emplace_back("llama.e", GgufValue::of_bytes("\1"));
    EXPECT_NE(
        refused_with(lists).find("metadata 'llama.e': expected at most 262144 numbers in all lists of \"llama.\""),
        std::string::npos);
}

TEST(GgufSource, G22RefusesArchitecturesAndKeys) {
    expect_refused_with("general.architecture", GgufValue::of("lama"), "not supported; did you mean llama?");
    expect_refused_with("general.architecture", GgufValue::of("gptj"),
                        "'gptj' is not read from a GGUF file; the same model works as a directory of Hugging Face's");
    expect_refused_with("general.architecture", GgufValue::of(one), "expected a string, found u32 1");
    expect_refused_with("llama.block_count", GgufValue::of("2"), "llama.block_count");
    expect_refused_with("llama.block_count", GgufValue::of(none), "llama.block_count");
    expect_refused_with("llama.block_count", GgufValue::of(std::uint32_t{1'000'000'000}),
                        "'llama.block_count': expected an integer from 1 to 1024"); // refused at once
    expect_refused_with("llama.block_count", GgufValue::of(std::uint32_t{99}),
                        "blk.2.attn_norm.weight': expected [32], found none");
    expect_refused_with("llama.attention.head_count", GgufValue::of(none), "llama.attention.head_count");
    expect_refused_with("llama.attention.head_count", GgufValue::of(-1), "llama.attention.head_count");
    expect_refused_with("llama.attention.head_count_kv", GgufValue::of(none), "llama.attention.head_count_kv");
    expect_refused_with("llama.embedding_length", GgufValue::of(0.5f), "llama.embedding_length");
    expect_refused_with("llama.context_length", GgufValue::of(std::uint32_t{0xffffffff}), "llama.context_length");
    expect_refused_with("llama.attention.layer_norm_rms_epsilon", GgufValue::of(-1.0f), "layer_norm_rms_epsilon");
    expect_refused_with("llama.attention.layer_norm_rms_epsilon", GgufValue::of(0.0f), "layer_norm_rms_epsilon");
    expect_refused_with("llama.attention.layer_norm_rms_epsilon",
                        GgufValue::of(std::numeric_limits<float>::quiet_NaN()), "from 0 to 1, found nan");
    expect_refused_with("llama.attention.head_count_kv", GgufValue::of(std::uint32_t{3}),
                        "'llama.attention.head_count_kv': expected a divisor of attention.head_count");
    expect_refused_with("llama.attention.value_length", GgufValue::of(std::uint32_t{6}), "that of keys");
    expect_refused_with("llama.logit_scale", GgufValue::of(2.0f), "llama.logit_scale");
    expect_refused_with("llama.expert_weights_scale", GgufValue::of(2.5f), "'llama.expert_weights_scale': expected 1");
    expect_refused_with("llama.expert_gating_func", GgufValue::of(two),
                        "'llama.expert_gating_func': expected 1, found 2"); // sigmoid in place of softmax
    EXPECT_EQ(refused_with("llama.expert_gating_func", GgufValue::of(one)), "accepted");
    expect_refused_with("llama.attention.clamp_kqv", GgufValue::of(-1.0f), "llama.attention.clamp_kqv");
    // The default of beta_slow is 1.
    const std::string scaling = "llama.rope.scaling.", fast = scaling + "yarn_beta_fast";
    const auto with_fast = [&](float beta) {
        return refused_with({{scaling + "type", GgufValue::of("yarn")},
                             {scaling + "factor", GgufValue::of(2.0f)},
                             {fast, GgufValue::of(beta)}});
    };
    EXPECT_EQ(with_fast(2), "accepted");
    EXPECT_NE(with_fast(0.5f).find("'" + fast + "': expected yarn_beta_slow no more than"), std::string::npos)
        << with_fast(0.5f);
}

// Replaces a type by one of the same size that weights cannot have: ggml's number is 0 for F32 and 26 for I32. The
// error names all possible types as GGUF does.
TEST(GgufSource, RefusesTypesByNameWithThoseThatWork) {
    const Source source = fixture("llama");
    const GgufExport file = gguf_export(source, WeightType::f32);
    std::vector<std::byte> bytes = gguf_bytes(file.metadata, file.tensors, "mem");
    const std::string name = "blk.0.ffn_up.weight";
    const auto at = std::search(bytes.begin(), bytes.end(), std::as_bytes(std::span(name)).begin(),
                                std::as_bytes(std::span(name)).end());
    ASSERT_NE(at, bytes.end());
    const auto type = at + static_cast<std::ptrdiff_t>(name.size() + 4 + 2 * 8); // after the two sizes
    ASSERT_EQ(*type, std::byte{0});
    *type = std::byte{26};
    const std::string text = refusal([&] { load_model(gguf_source(parsed(bytes)), {}); }, ErrorCode::model);
    EXPECT_NE(text.find("F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL or IQ4_XS "
                        "(llama-quantize writes them), found I32"),
              std::string::npos)
        << text;
}

// Notes are for people. A note that is not UTF-8 could not be stored.
TEST(GgufSource, NotesThatAreNoUtf8AreLeftOut) {
    const Source source = fixture("llama");
    for (const bool good : {true, false}) {
        GgufExport file = gguf_export(source, {});
        for (const char* key : {"general.author", "tokenizer.chat_template"})
            file.metadata.emplace_back(key, GgufValue::of(good ? "Andr\u00e9 [INST]" : "Andr\xe9 [INST]"));
        const std::vector<std::byte> bytes = gguf_bytes(file.metadata, file.tensors, "mem");
        const Source read = gguf_source(parsed(bytes));
        EXPECT_EQ(read.metadata.contains("general.author"), good);
        EXPECT_EQ(read.metadata.contains("chat_template"), good);
    }
}

// At 0 there is neither a mix nor a gain. A negative value equals a missing key.
TEST(GgufSource, YarnsMixIsRead) {
    const auto spec = [](float mixed) {
        const Source source = fixture("llama");
        GgufExport file = gguf_export(source, {});
        const std::string scaling = "llama.rope.scaling.";
        file.metadata.emplace_back(scaling + "type", GgufValue::of("yarn"));
        file.metadata.emplace_back(scaling + "factor", GgufValue::of(4.0f));
        file.metadata.emplace_back(scaling + "yarn_ext_factor", GgufValue::of(mixed));
        return gguf_source(parsed(gguf_bytes(file.metadata, file.tensors, "mem"))).trained_encodings().spec();
    };
    EXPECT_NE(spec(0).find("attention=1,extrapolation=0"), std::string::npos) << spec(0);
    EXPECT_NE(spec(0.5f).find("attention=1.138629436111989,extrapolation=0.5"), std::string::npos) << spec(0.5f);
    EXPECT_EQ(spec(1).find("extrapolation"), std::string::npos) << spec(1);
    EXPECT_EQ(spec(-1), spec(1));
}

TEST(GgufSource, G29RefusesScalingsOfRope) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    expect_refused_with("llama.rope.scaling.type", GgufValue::of("spiral"), "none, linear, yarn or longrope");
    expect_refused_with("llama.rope.scaling.type", GgufValue::of("longrope"), "rope_factors_short");
    expect_refused_with("llama.rope.freq_base", GgufValue::of(0.0f), "llama.rope.freq_base");
    expect_refused_with("llama.rope.freq_base", GgufValue::of(nan), "llama.rope.freq_base");
    expect_refused_with("llama.rope.dimension_count", GgufValue::of(std::uint32_t{3}), "llama.rope.dimension_count");
    expect_refused_with("llama.rope.dimension_count", GgufValue::of(std::uint32_t{4096}), "rope.dimension_count");
    const Source source = fixture("llama");
    for (const float factor : {-1.0f, 1e-4f, nan}) {
        GgufExport file = gguf_export(source, {});
        file.metadata.emplace_back("llama.rope.scaling.type", GgufValue::of("linear"));
        file.metadata.emplace_back("llama.rope.scaling.factor", GgufValue::of(factor));
        const std::vector<std::byte> bytes = gguf_bytes(file.metadata, file.tensors, "mem");
        const std::string text = refusal([&] { gguf_source(parsed(bytes)); }, ErrorCode::model);
        EXPECT_NE(text.find("llama.rope.scaling.factor"), std::string::npos) << text;
    }
}

// A block begins with its scale in f16.
TEST(GgufSource, G28RefusesScalesThatAreNotFinite) {
    const Source source = fixture("qwen3");
    const GgufExport file = gguf_export(source, WeightType::q8_0);
    const std::vector<std::byte> good = gguf_bytes(file.metadata, file.tensors, "mem");
    const auto tensors = parsed(good);
    int tried = 0;
    for (const GgufTensor& tensor : tensors->tensors())
        for (const std::uint16_t scale : {std::uint16_t{0x7c00}, std::uint16_t{0x7e00}}) {
            if (tensor.type != WeightType::q8_0) continue;
            std::vector<std::byte> bytes = good;
            std::memcpy(bytes.data() + tensor.offset, &scale, sizeof scale);
            const std::string text = refusal([&] { load_model(gguf_source(parsed(bytes)), {}); }, ErrorCode::model);
            EXPECT_NE(text.find("not finite"), std::string::npos) << tensor.name << ": " << text;
            ++tried;
        }
    EXPECT_GT(tried, 4);
}

} // namespace
} // namespace ordo
