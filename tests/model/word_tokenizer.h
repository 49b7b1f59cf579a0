// SPDX-License-Identifier: MIT
// A tokenizer like BERT's with as many words as the fixtures of tests/families have ids.
#pragma once

#include <string>

namespace ordo::test {

inline constexpr int word_vocabulary = 64;

// [PAD], [UNK], [CLS], [SEP], [MASK], the, cat, sat, and then w8 to w63.
inline std::string word_tokenizer() {
    const char* const first[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat"};
    std::string vocab, added;
    for (int i = 0; i < word_vocabulary; ++i) {
        const std::string word = i < 8 ? first[i] : "w" + std::to_string(i);
        vocab += (i == 0 ? "\"" : ",\"") + word + "\":" + std::to_string(i);
        if (i < 5)
            added +=
                (i == 0 ? "" : ",") + std::string("{\"id\":") + std::to_string(i) + ",\"content\":\"" + word +
                "\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":true}";
    }
    const auto piece = [](const char* kind, const char* id, int type) {
        return "{\"" + std::string(kind) + "\":{\"id\":\"" + id + "\",\"type_id\":" + std::to_string(type) + "}}";
    };
    const auto special = [](const std::string& token, int id) {
        return '"' + token + "\":{\"id\":\"" + token + "\",\"ids\":[" + std::to_string(id) + "],\"tokens\":[\"" +
               token + "\"]}";
    };
    const std::string cls = piece("SpecialToken", "[CLS]", 0), sep = piece("SpecialToken", "[SEP]", 0);
    return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)" + added +
           R"(],"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,)"
           R"("strip_accents":null,"lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},)"
           R"("post_processor":{"type":"TemplateProcessing","single":[)" +
           cls + "," + piece("Sequence", "A", 0) + "," + sep + "],\"pair\":[" + cls + "," + piece("Sequence", "A", 0) +
           "," + sep + "," + piece("Sequence", "B", 1) + "," + piece("SpecialToken", "[SEP]", 1) +
           "],\"special_tokens\":{" + special("[CLS]", 2) + "," + special("[SEP]", 3) +
           R"(}},"decoder":{"type":"WordPiece","prefix":"##","cleanup":true},)"
           R"("model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",)"
           R"("max_input_chars_per_word":100,"vocab":{)" +
           vocab + "}}}";
}

} // namespace ordo::test
