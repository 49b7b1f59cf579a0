// SPDX-License-Identifier: MIT
// A copy of a folder of tests/families, for a test to corrupt.
#pragma once

#include "model/model_file.h"
#include "tests/formats/family_run.h"
#include "tests/temp_dir.h"
#include "text/tokenizer.h"

#include <gtest/gtest.h>

namespace ordo::test {

class HuggingFace : public ::testing::Test {
protected:
    void take(const std::string& name) {
        for (const auto& entry : std::filesystem::directory_iterator(family(name)))
            std::filesystem::copy(entry.path(), folder_.path(), std::filesystem::copy_options::overwrite_existing);
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
    // Every key of the family, with every value given for it, is refused by name.
    void expect_all_refused(const std::string& family, const std::vector<std::pair<std::string, Json>>& wrong) {
        for (const auto& [key, value] : wrong) {
            SCOPED_TRACE(family + ": " + key + " = " + value.dump());
            take(family);
            with(key, value);
            expect_refused(key);
        }
    }
    // Splits model.safetensors into two files and puts every other tensor into the second.
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
        std::filesystem::remove(folder_ / "model.safetensors");
        put_index(map);
    }
    // Writes a tokenizer of 60 tokens: 4 special ones, then one for each character from A on.
    void put_tokenizer() {
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
    }
    std::vector<std::string> warnings() {
        std::vector<std::string> texts;
        LoadOptions options;
        options.on_warning = [&](std::string_view text) { texts.emplace_back(text); };
        Model::load(folder_.path(), options);
        return texts;
    }
    void put_index(const Json& map) {
        put_file(folder_ / "model.safetensors.index.json", Json{{"weight_map", map}}.dump());
    }
    Json index() { return Json::parse(file_content(folder_ / "model.safetensors.index.json")).at("weight_map"); }

    const std::string shards[2] = {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"};
    TempDir folder_;
};

} // namespace ordo::test
