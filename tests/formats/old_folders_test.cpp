// SPDX-License-Identifier: MIT
// Directories of 2018 to 2021: vocabularies in text files, a config.json without model_type, doubles, a level before
// the names of the tensors, and the first layout of sentence-transformers.
#include "formats/source.h"
#include "tests/formats/hugging_face_folder.h"

#include <cstring>

namespace ordo {
namespace {

namespace fs = std::filesystem;
using test::Json;
using test::put_file;

class OldFolders : public test::HuggingFace {
protected:
    // Puts the files of a vocabulary next to the model, and a configuration.
    void put_vocabulary(const std::string& name, const Json& config) {
        for (const auto& entry : fs::directory_iterator("tests/text/vocabularies/" + name))
            if (entry.path().filename() != "expected.json")
                fs::copy_file(entry.path(), folder_ / entry.path().filename().string(),
                              fs::copy_options::overwrite_existing);
        put_file(folder_ / "tokenizer_config.json", config.dump());
    }
    // Rewrites model.safetensors; change(tensor, values) may alter either.
    using Change = std::function<void(RawTensor&, std::vector<std::byte>&)>;
    void rewrite(const Change& change) {
        const fs::path path = folder_ / "model.safetensors", other = folder_ / "other.safetensors";
        {
            const Safetensors file = Safetensors::open(path);
            std::vector<RawTensor> tensors;
            for (const TensorInfo& info : file.tensors()) {
                auto bytes = std::make_shared<std::vector<std::byte>>(info.bytes);
                file.read_raw(info, *bytes);
                RawTensor tensor{info.name, info.dtype, info.shape, info.bytes, {}};
                change(tensor, *bytes);
                tensor.bytes = bytes->size();
                tensor.content = [bytes](const ByteSink& sink) { sink(*bytes); };
                tensors.push_back(std::move(tensor));
            }
            write_raw_safetensors(other, std::move(tensors), {});
        }
        fs::rename(other, path);
    }
    void put_before(const std::string& level) {
        rewrite([&](RawTensor& tensor, std::vector<std::byte>&) { tensor.name = level + tensor.name; });
    }
    void remove_keys(std::initializer_list<const char*> keys) {
        Json changed = config();
        for (const char* key : keys) changed.erase(key);
        put_config(changed);
    }
    test::Logits logits() { return test::logits_of(Model::load(folder_.path()), {1, 5, 9, 2, 33, 60}); }
    std::string type() { return hugging_face_source(folder_.path()).metadata.at("source"); }
};

// ---- Vocabularies -------------------------------------------------------------------------------

TEST_F(OldFolders, VocabulariesInTextFilesGiveTheReferencesIds) {
    for (const char* name : {"bert", "roberta"}) {
        take(name);
        int cases = 0;
        for (const Json& each :
             Json::parse(test::file_content(std::string("tests/text/vocabularies/") + name + "/expected.json"))) {
            put_vocabulary(name, each.at("config"));
            const TextSide text = hugging_face_source(folder_.path()).text();
            for (const Json& one : each.at("cases")) {
                EXPECT_EQ(encode_framed(*text.tokenizer, one[0].get<std::string>(), true),
                          one[1].get<std::vector<Token>>())
                    << name << each.at("config") << one;
                ++cases;
            }
            EXPECT_EQ(encode_framed(*text.tokenizer, "hello", "a", true), each.at("pair").get<std::vector<Token>>());
            const auto alone = open_tokenizer(folder_.path());
            EXPECT_EQ(encode_framed(*alone, "hello", true), encode_framed(*text.tokenizer, "hello", true));
        }
        EXPECT_EQ(cases, std::string_view(name) == "bert" ? 30 : 10);
        fs::remove_all(folder_ / "vocab.txt");
    }
}

TEST_F(OldFolders, AVocabularyIsReadForItsClassOnly) {
    take("bert");
    put_vocabulary("bert", {{"tokenizer_class", "BertTokenizerFast"}, {"cls_token", {{"content", "hello"}}}});
    std::unique_ptr<const Tokenizer> tokenizer = open_tokenizer(folder_.path());
    EXPECT_EQ(encode_framed(*tokenizer, "world", true), (std::vector<Token>{5, 6, 3})); // [CLS] has another spelling
    put_file(folder_ / "added_tokens.json", R"({"<new>": 30})");
    put_file(folder_ / "special_tokens_map.json", R"({"additional_special_tokens": ["[unused1]"]})");
    tokenizer = open_tokenizer(folder_.path());
    EXPECT_EQ(encode_framed(*tokenizer, "<new>[unused1]", true), (std::vector<Token>{5, 30, 24, 3}));
    EXPECT_TRUE(tokenizer->is_special(24));
    EXPECT_FALSE(tokenizer->is_special(30));
    for (const char* other : {"BertJapaneseTokenizer", "CTRLTokenizer"}) {
        put_vocabulary("bert", {{"tokenizer_class", other}});
        ASSERT_EQ(warnings().size(), 1U);
        EXPECT_NE(warnings().front().find("no tokenizer.json but vocab.txt"), std::string::npos);
    }
    take("gpt2"); // Chinese GPT-2s have BERT's tokenizer, which config.json names
    put_file(folder_ / "tokenizer_config.json", "{}");
    with("tokenizer_class", "BertTokenizer");
    EXPECT_EQ(encode_framed(*hugging_face_source(folder_.path()).text().tokenizer, "hello", true),
              (std::vector<Token>{2, 5, 3}));
    put_vocabulary("bert", {{"sep_token", "nowhere"}});
    expect_refused("vocab.txt: 'sep_token': expected a token of the vocabulary, found \"nowhere\"");
}

TEST_F(OldFolders, TheBeginningIsTheTokenThatTheTokenizerNames) {
    take("llama");
    put_tokenizer();
    with("bos_token_id", 3);
    put_file(folder_ / "tokenizer_config.json", R"({"add_bos_token": true, "bos_token": "<s>"})");
    EXPECT_EQ(Model::load(folder_.path()).start_of_text(), 1);
    put_file(folder_ / "tokenizer_config.json", R"({"add_bos_token": true})");
    EXPECT_EQ(Model::load(folder_.path()).start_of_text(), 3);
}

TEST_F(OldFolders, AChatTemplateMayHaveAJsonFileOfItsOwn) {
    take("llama");
    put_tokenizer();
    put_file(folder_ / "chat_template.json", R"({"chat_template": "of the processor"})");
    put_file(folder_ / "tokenizer_config.json", "{}");
    EXPECT_EQ(hugging_face_source(folder_.path()).metadata.at("chat_template"), "of the processor");
    put_file(folder_ / "tokenizer_config.json", R"({"chat_template": "of the tokenizer"})");
    EXPECT_EQ(hugging_face_source(folder_.path()).metadata.at("chat_template"), "of the tokenizer");
}

// ---- Configurations -----------------------------------------------------------------------------

TEST_F(OldFolders, TheClassSaysTheFamily) {
    const std::pair<const char*, const char*> classes[] = {{"bert", "BertForMaskedLM"},
                                                           {"gpt2", "GPT2LMHeadModel"},
                                                           {"gpt-neo", "GPTNeoForCausalLM"},
                                                           {"gpt-neox", "GPTNeoXForCausalLM"},
                                                           {"t5", "T5WithLMHeadModel"},
                                                           {"marian", "MarianMTModel"},
                                                           {"roberta", "XLMRobertaModel"},
                                                           {"gpt-bigcode", "GPTBigCodeModel"},
                                                           {"m2m-100", "M2M100ForConditionalGeneration"}};
    for (const auto& [family, name] : classes) {
        take(family);
        const std::string expected = std::string(name) == "XLMRobertaModel" ? "model_type xlm-roberta" : type();
        with("architectures", Json::array({name}));
        remove_keys({"model_type"});
        EXPECT_NE(type().find(expected.substr(expected.rfind("model_type"))), std::string::npos) << type();
    }
    with("architectures", Json::array({"FunnelForMaskedLM"}));
    expect_refused("config.json: 'model_type' is missing, and 'architectures' names FunnelForMaskedLM, a class of no "
                   "family");
}

TEST_F(OldFolders, TheNamesOfTheTensorsSayTheFamily) {
    for (const char* family : {"bert", "roberta", "distilbert", "gpt2", "gpt2-bare", "t5"}) {
        SCOPED_TRACE(family);
        take(family);
        const std::string expected = type();
        remove_keys({"model_type", "architectures"});
        EXPECT_EQ(type(), expected);
        put_before("module.");
        EXPECT_EQ(type(), expected);
    }
    take("mistral"); // Llama's names, which many families have
    remove_keys({"model_type", "architectures"});
    expect_refused("'model_type' is missing, and neither 'architectures' nor the names of the tensors");
}

TEST_F(OldFolders, ALevelBeforeTheNamesIsRemoved) {
    for (const char* family : {"bert", "gpt2", "gpt2-bare", "llama", "opt", "bloom", "t5", "bart"}) {
        for (const char* level : {"module.", "model.", "module.model."}) {
            SCOPED_TRACE(std::string(family) + ": " + level);
            take(family);
            const auto expected = hugging_face_source(folder_.path()).specs().size();
            std::vector<std::string> before = warnings();
            put_before(level);
            EXPECT_EQ(hugging_face_source(folder_.path()).specs().size(), expected);
            EXPECT_EQ(warnings(), before);
        }
    }
    take("llama");
    const test::Logits expected = logits();
    put_before("module.");
    EXPECT_EQ(test::difference(logits(), expected), 0);
}

TEST_F(OldFolders, DoublesBecomeFloats) {
    for (const char* family : {"llama", "gpt2"}) { // gpt2's matrices are transposed
        take(family);
        const test::Logits expected = logits();
        rewrite([](RawTensor& tensor, std::vector<std::byte>& bytes) {
            if (tensor.dtype != "F32") return;
            std::vector<std::byte> doubles(2 * bytes.size());
            for (std::size_t i = 0; i < bytes.size() / 4; ++i) {
                float single = 0;
                std::memcpy(&single, &bytes[4 * i], 4);
                const double value = single;
                std::memcpy(&doubles[8 * i], &value, 8);
            }
            tensor.dtype = "F64";
            bytes = std::move(doubles);
        });
        EXPECT_EQ(test::difference(logits(), expected), 0) << family;
    }
}

// ---- Code of the directory's own ----------------------------------------------------------------

TEST_F(OldFolders, CodeOfTheDirectorysOwnIsAWarning) {
    take("llama");
    with("auto_map", {{"AutoModelForCausalLM", "modeling_own.OwnForCausalLM"}});
    ASSERT_EQ(warnings().size(), 1U);
    EXPECT_NE(warnings().front().find("'auto_map': this directory names its own code, which Ordo does not run"),
              std::string::npos);
    EXPECT_FALSE(hugging_face_source(folder_.path()).blueprint.bidirectional());
}

// The class in the directories of gte-Qwen2 and stella: forward(..., is_causal: Optional[bool] = False).
TEST_F(OldFolders, TheOwnClassOfGteQwen2IsBidirectional) {
    take("qwen2");
    with("auto_map", {{"AutoModel", "Alibaba-NLP/gte-Qwen2-1.5B-instruct--modeling_qwen.Qwen2Model"}});
    EXPECT_TRUE(hugging_face_source(folder_.path()).blueprint.bidirectional());
    ASSERT_EQ(warnings().size(), 2U);
    EXPECT_NE(warnings().front().find("modeling_qwen.Qwen2Model"), std::string::npos);
    with("is_causal", true);
    EXPECT_FALSE(hugging_face_source(folder_.path()).blueprint.bidirectional());
}

// ---- sentence-transformers ------------------------------------------------------------------------

// The first layout: the model in the folder of the first module.
TEST_F(OldFolders, SentenceTransformersFirstLayoutIsRead) {
    for (const char* inner : {"0_BERT", "0_Transformer"}) {
        take("bert");
        put_vocabulary("bert", Json::object());
        const fs::path to = folder_ / inner;
        fs::create_directory(to);
        for (const char* file : {"config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json"})
            fs::rename(folder_ / file, to / file);
        put_file(to / "sentence_bert_config.json", R"({"max_seq_length": 6, "do_lower_case": false})");
        fs::create_directories(folder_ / "1_Pooling");
        put_file(folder_ / "1_Pooling" / "config.json", R"({"pooling_mode_cls_token": true})");
        put_file(
            folder_ / "modules.json",
            Json::array(
                {{{"idx", 0}, {"name", "0"}, {"path", inner}, {"type", "sentence_transformers.models.BERT"}},
                 {{"idx", 1}, {"name", "1"}, {"path", "1_Pooling"}, {"type", "sentence_transformers.models.Pooling"}}})
                .dump());
        EXPECT_EQ(warnings(), std::vector<std::string>());
        const Model model = Model::load(folder_.path());
        EXPECT_EQ(model.metadata("pooling"), "first");
        EXPECT_EQ(model.metadata("max_tokens"), "6");
        EXPECT_EQ(model.encode("hello"), std::vector<Token>{5});
        EXPECT_EQ(encode_framed(*open_tokenizer(folder_.path()), "hello", true), (std::vector<Token>{2, 5, 3}));
        fs::remove_all(to);
    }
}

// ---- Git LFS --------------------------------------------------------------------------------------

TEST_F(OldFolders, APointerOfGitLfsIsNamed) {
    constexpr const char* pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 17\n";
    const auto refused = [&](const char* family, const char* file) {
        SCOPED_TRACE(file);
        take(family);
        put_file(folder_ / file, pointer);
        expect_refused(std::string(file) + ": expected ");
        expect_refused("found a Git LFS pointer; fetch the file itself");
        fs::remove(folder_ / file);
    };
    for (const char* file : {"model.safetensors", "vocab.txt"}) refused("bert", file);
    for (const char* file : {"merges.txt", "vocab.json", "added_tokens.json"}) {
        put_vocabulary("roberta", Json::object());
        refused("roberta", file);
    }
    fs::remove(folder_ / "model.safetensors");
    refused("gpt-neo-bin", "pytorch_model.bin");
}

} // namespace
} // namespace ordo
