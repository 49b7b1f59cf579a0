// SPDX-License-Identifier: MIT
// BERT, its relatives and T5 as GGUF files. The checkpoints of tests/families, named and cut as by llama.cpp's
// converter, are compared with their transcriptions.
#include "formats/source.h"
#include "tests/formats/encoder_run.h"
#include "tests/formats/gguf_converter.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

using test::Json;
using test::Tensors;
using Names = std::vector<std::pair<std::string, std::string>>; // {the checkpoint's name, GGUF's name}; '#' is a layer

// The converter's name of a tensor; empty if the converter drops it.
std::string gguf_name(const std::string& name, const Names& names) {
    const std::size_t dot = name.rfind('.');
    const std::string base = name.substr(0, dot), kind = name.substr(dot);
    for (const auto& [theirs, ours] : names) {
        const std::size_t layer = theirs.find('#');
        if (layer == theirs.npos) {
            if (base == theirs) return ours + kind;
            continue;
        }
        const std::string before = theirs.substr(0, layer), after = theirs.substr(layer + 1);
        if (!base.starts_with(before) || !base.ends_with(after) || base.size() <= before.size() + after.size())
            continue;
        const std::string number = base.substr(before.size(), base.size() - before.size() - after.size());
        if (number.find_first_not_of("0123456789") != number.npos) continue;
        std::string found = ours;
        return found.replace(found.find('#'), 1, number) + kind;
    }
    return {};
}

Tensors renamed(const Tensors& from, const Names& names) {
    Tensors to;
    for (const auto& [name, values] : from)
        if (const std::string theirs = gguf_name(name, names); !theirs.empty()) to[theirs] = values;
    return to;
}

class File {
public:
    explicit File(std::string architecture) : architecture_(std::move(architecture)) {
        metadata.emplace_back("general.architecture", GgufValue::of(architecture_));
    }
    template <class T>
    void put(const std::string& key, T value) {
        metadata.emplace_back(architecture_ + "." + key, GgufValue::of(value));
    }
    void count(const std::string& key, const Json& value) { put(key, value.get<std::uint32_t>()); }
    Source source() const {
        bytes_ = test::gguf_of(metadata, tensors);
        return gguf_source(std::make_shared<const Gguf>(Gguf::parse(bytes_, "mem")));
    }
    Model load(std::vector<std::string>& warnings) const {
        LoadOptions options;
        options.dtype = "f32";
        options.on_warning = [&](std::string_view text) { warnings.emplace_back(text); };
        return load_model(source(), options);
    }
    std::string refusal() const {
        std::vector<std::string> warnings;
        try {
            load(warnings);
        } catch (const Error& error) {
            return error.what();
        }
        return "accepted";
    }

    GgufEntries metadata;
    Tensors tensors;

private:
    std::string architecture_;
    mutable std::vector<std::byte> bytes_; // of the last source
};

// ---- BERT -----------------------------------------------------------------------------------------

// The converter's BertModel and RobertaModel. RobertaModel removes the position rows of padding and of the positions
// before it.
File bert_file(const std::string& family) {
    const Json config = test::config_of(family);
    const std::string p = family == "roberta" ? "roberta." : "bert.", layer = p + "encoder.layer.#.";
    File file("bert");
    file.tensors = renamed(test::tensors_of(family), {{p + "embeddings.word_embeddings", "token_embd"},
                                                      {p + "embeddings.position_embeddings", "position_embd"},
                                                      {p + "embeddings.token_type_embeddings", "token_types"},
                                                      {p + "embeddings.LayerNorm", "token_embd_norm"},
                                                      {layer + "attention.self.query", "blk.#.attn_q"},
                                                      {layer + "attention.self.key", "blk.#.attn_k"},
                                                      {layer + "attention.self.value", "blk.#.attn_v"},
                                                      {layer + "attention.output.dense", "blk.#.attn_output"},
                                                      {layer + "attention.output.LayerNorm", "blk.#.attn_output_norm"},
                                                      {layer + "intermediate.dense", "blk.#.ffn_up"},
                                                      {layer + "output.dense", "blk.#.ffn_down"},
                                                      {layer + "output.LayerNorm", "blk.#.layer_output_norm"}});
    int context = config.at("max_position_embeddings");
    if (family == "roberta") {
        const int cut = config.at("pad_token_id").get<int>() + 1;
        test::Values& rows = file.tensors.at("position_embd.weight");
        rows.all.erase(rows.all.begin(), rows.all.begin() + cut * rows.shape[1]);
        rows.shape[0] -= cut;
        context -= cut;
    }
    file.count("context_length", context);
    file.count("block_count", config.at("num_hidden_layers"));
    file.count("embedding_length", config.at("hidden_size"));
    file.count("feed_forward_length", config.at("intermediate_size"));
    file.count("attention.head_count", config.at("num_attention_heads"));
    file.put("attention.layer_norm_epsilon", config.at("layer_norm_eps").get<float>());
    file.put("attention.causal", false);
    return file;
}

class GgufBert : public ::testing::TestWithParam<const char*> {};

TEST_P(GgufBert, GivesTheStatesOfItsTranscription) {
    const std::string family = GetParam();
    std::vector<std::string> warnings;
    const Model model = bert_file(family).load(warnings);
    EXPECT_TRUE(warnings.empty()) << warnings.front();
    EXPECT_FALSE(blueprint_of(model).head); // the converter drops the head of a masked language model
    int cases = 0;
    for (const Json& given : test::read_cases(test::family(family))) {
        const auto tokens = static_cast<int>(given.at("tokens").size());
        SCOPED_TRACE(tokens);
        Session session(model, {.capacity = tokens});
        test::expect_rows(test::rows_of_pass(session, given, true, test::positions_of(family, given)),
                          given.at("hidden"), tokens);
        ++cases;
    }
    EXPECT_EQ(cases, 4);
}

INSTANTIATE_TEST_SUITE_P(Families, GgufBert, ::testing::Values("bert", "roberta"));

// The converter's EmbeddingGemma, with its dense layers and without them.
TEST(GgufEmbeddingGemma, GivesTheVectorsOfItsTranscription) {
    test::ConverterFile file({"embedding-gemma", "gemma-embedding"});
    std::vector<std::string> warnings;
    LoadOptions options;
    options.on_warning = [&](std::string_view text) { warnings.emplace_back(text); };
    const auto load = [&] {
        const std::vector<std::byte> bytes = file.bytes();
        return load_model(gguf_source(std::make_shared<const Gguf>(Gguf::parse(bytes, "mem"))), options);
    };
    test::expect_vectors(load(), "embedding-gemma");
    EXPECT_TRUE(warnings.empty()) << warnings.front();
    for (const char* name : {"dense_2.weight", "dense_3.weight"}) file.tensors().erase(name);
    EXPECT_TRUE(blueprint_of(load()).dense.empty());
    ASSERT_EQ(warnings.size(), 2U);
    EXPECT_NE(warnings[0].find("dense_2.weight"), std::string::npos) << warnings[0];
}

// DistilBERT has no segments. Its tensors have the same names in GGUF.
TEST(GgufBertTraps, SegmentsMayBeAbsent) {
    File file = bert_file("bert");
    file.tensors.erase("token_types.weight");
    std::vector<std::string> warnings;
    EXPECT_EQ(file.load(warnings).encoding(), "learned:length=48,offset=0");
}

// llama.h: LLAMA_POOLING_TYPE_MEAN is 1, _CLS 2, _LAST 3, _RANK 4.
TEST(GgufBertTraps, SaysHowStatesBecomeAVector) {
    const std::pair<std::uint32_t, Pooling> ways[] = {
        {0U, Pooling::mean}, {1U, Pooling::mean}, {2U, Pooling::first}, {3U, Pooling::last}};
    std::vector<std::string> warnings;
    for (const auto& [way, expected] : ways) {
        File file = bert_file("bert");
        file.put("pooling_type", way);
        EXPECT_EQ(embed_options(file.load(warnings)).pooling, expected) << way;
    }
    File file = bert_file("bert");
    file.put("pooling_type", 4U);
    EXPECT_THROW(embed_options(file.load(warnings)), Error);
    EXPECT_TRUE(warnings.empty());
}

// The converter writes BERT's first token as cls_token_id, and no begin token.
TEST(GgufBertTraps, ATextBeginsWithCls) {
    File file = bert_file("bert");
    std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    std::vector<std::int32_t> types(5, 3);
    while (tokens.size() < 64) {
        tokens.push_back("\u2581" + std::to_string(tokens.size()));
        types.push_back(1);
    }
    file.metadata.emplace_back("tokenizer.ggml.model", GgufValue::of("bert"));
    file.metadata.emplace_back("tokenizer.ggml.tokens", GgufValue::of(std::span<const std::string>(tokens)));
    file.metadata.emplace_back("tokenizer.ggml.token_type", GgufValue::of(std::span<const std::int32_t>(types)));
    file.metadata.emplace_back("tokenizer.ggml.cls_token_id", GgufValue::of(std::uint32_t{2}));
    file.metadata.emplace_back("tokenizer.ggml.seperator_token_id", GgufValue::of(std::uint32_t{3}));
    file.metadata.emplace_back("tokenizer.ggml.unknown_token_id", GgufValue::of(std::uint32_t{1}));
    const TextSide side = file.source().text();
    EXPECT_EQ(side.special.first, 2);
    EXPECT_EQ(encode_framed(*side.tokenizer, "7", false), (std::vector<Token>{2, 7, 3}));
}

TEST(GgufBertTraps, RefusesACausalOne) {
    File file = bert_file("bert");
    file.metadata.pop_back();
    file.put("attention.causal", true);
    EXPECT_EQ(file.refusal(), "mem: 'bert.attention.causal': expected false, found true");
}

// ---- T5 -------------------------------------------------------------------------------------------

Names t5_names() {
    Names names = {{"shared", "token_embd"}, {"lm_head", "output"}};
    for (const auto& [stack, short_name] : {std::pair{"encoder", "enc."}, {"decoder", "dec."}}) {
        const std::string layer = std::string(stack) + ".block.#.layer.", to = std::string(short_name) + "blk.#.";
        const bool decoder = stack == std::string("decoder");
        const std::string last = decoder ? "2." : "1.";
        for (const char* part : {"q", "k", "v", "o"}) {
            names.emplace_back(layer + "0.SelfAttention." + part, to + "attn_" + part);
            if (decoder) names.emplace_back(layer + "1.EncDecAttention." + part, to + "cross_attn_" + part);
        }
        names.emplace_back(layer + "0.SelfAttention.relative_attention_bias", to + "attn_rel_b");
        names.emplace_back(layer + "0.layer_norm", to + "attn_norm");
        if (decoder) {
            names.emplace_back(layer + "1.EncDecAttention.relative_attention_bias", to + "cross_attn_rel_b");
            names.emplace_back(layer + "1.layer_norm", to + "cross_attn_norm");
        }
        names.emplace_back(layer + last + "layer_norm", to + "ffn_norm");
        names.emplace_back(layer + last + "DenseReluDense.wi", to + "ffn_up");
        names.emplace_back(layer + last + "DenseReluDense.wi_0", to + "ffn_gate");
        names.emplace_back(layer + last + "DenseReluDense.wi_1", to + "ffn_up");
        names.emplace_back(layer + last + "DenseReluDense.wo", to + "ffn_down");
        names.emplace_back(std::string(stack) + ".final_layer_norm", std::string(short_name) + "output_norm");
    }
    return names;
}

// The converter's T5Model.
File t5_file(const std::string& family) {
    const Json config = test::config_of(family);
    File file("t5");
    file.tensors = renamed(test::tensors_of(family), t5_names());
    file.count("context_length", config.at("n_positions"));
    file.count("embedding_length", config.at("d_model"));
    file.count("feed_forward_length", config.at("d_ff"));
    file.count("block_count", config.at("num_layers"));
    if (config.contains("num_decoder_layers")) file.count("decoder_block_count", config.at("num_decoder_layers"));
    file.count("attention.head_count", config.at("num_heads"));
    file.count("attention.key_length", config.at("d_kv"));
    file.count("attention.value_length", config.at("d_kv"));
    for (const char* key : {"attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon"})
        file.put(key, config.at("layer_norm_epsilon").get<float>());
    file.count("attention.relative_buckets_count", config.at("relative_attention_num_buckets"));
    file.count("decoder_start_token_id", config.at("decoder_start_token_id"));
    return file;
}

class GgufT5 : public ::testing::TestWithParam<const char*> {};

TEST_P(GgufT5, GivesTheLogitsOfItsTranscription) {
    const std::string family = GetParam();
    std::vector<std::string> warnings;
    const Model model = t5_file(family).load(warnings);
    EXPECT_TRUE(warnings.empty()) << warnings.front();
    EXPECT_TRUE(model.has_encoder());
    test::expect_encoder_cases(model, family);
}

// t5: the head is the embedding, with ReLU and an unused table. t5-flan: gated, with a separate head and fewer decoder
// layers.
INSTANTIATE_TEST_SUITE_P(Families, GgufT5, ::testing::Values("t5", "t5-flan"),
                         [](const auto& each) { return each.param == std::string("t5") ? "t5" : "t5_flan"; });

// Some checkpoints store a copy of the embedding as their head, and the converter keeps the copy.
TEST(GgufT5Traps, ACopyOfTheEmbeddingIsNoHeadOfItsOwn) {
    File file = t5_file("t5");
    file.tensors["output.weight"] = file.tensors.at("token_embd.weight");
    std::vector<std::string> warnings;
    test::expect_encoder_cases(file.load(warnings), "t5");
}

TEST(GgufT5Traps, RefusesATableOfEachLayer) { // UMT5, which the converter writes under T5's name
    File file = t5_file("t5");
    file.tensors["enc.blk.1.attn_rel_b.weight"] = file.tensors.at("enc.blk.0.attn_rel_b.weight");
    EXPECT_EQ(file.refusal(),
              "mem: tensor 'enc.blk.1.attn_rel_b.weight': expected one table of distances for all layers "
              "of a stack, as T5 has it, found one for this layer");
}

TEST(GgufT5Traps, BucketsComeInHalvesOfHalves) {
    File file = t5_file("t5");
    std::erase_if(file.metadata, [](const auto& entry) { return entry.first.ends_with("buckets_count"); });
    file.put("attention.relative_buckets_count", std::uint32_t{30});
    EXPECT_EQ(file.refusal(), "mem: 't5.attention.relative_buckets_count': expected a multiple of 4, found 30");
}

// Every T5 begins this way, not with the begin token of the tokenizer.
TEST(GgufT5Traps, TheDecoderBeginsWithItsOwnStartToken) {
    File file = t5_file("t5");
    std::erase_if(file.metadata, [](const auto& entry) { return entry.first.ends_with("start_token_id"); });
    file.put("decoder_start_token_id", std::uint32_t{5});
    std::vector<std::string> tokens = {"<pad>", "</s>", "<unk>"};
    std::vector<std::int32_t> types = {3, 3, 2};
    while (tokens.size() < 64) {
        tokens.push_back("\u2581" + std::to_string(tokens.size()));
        types.push_back(1);
    }
    const std::vector<float> scores(64, -1);
    file.metadata.emplace_back("tokenizer.ggml.model", GgufValue::of("t5"));
    file.metadata.emplace_back("tokenizer.ggml.tokens", GgufValue::of(std::span<const std::string>(tokens)));
    file.metadata.emplace_back("tokenizer.ggml.scores", GgufValue::of(std::span<const float>(scores)));
    file.metadata.emplace_back("tokenizer.ggml.token_type", GgufValue::of(std::span<const std::int32_t>(types)));
    file.metadata.emplace_back("tokenizer.ggml.eos_token_id", GgufValue::of(std::uint32_t{1}));
    file.metadata.emplace_back("tokenizer.ggml.unknown_token_id", GgufValue::of(std::uint32_t{2}));
    const SpecialTokens special = file.source().text().special;
    EXPECT_EQ(special.start, 5);
    EXPECT_EQ(special.end, (std::vector<Token>{1}));
}

} // namespace
} // namespace ordo
