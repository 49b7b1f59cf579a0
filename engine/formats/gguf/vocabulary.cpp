// SPDX-License-Identifier: MIT
#include "formats/gguf/vocabulary.h"

#include "core/error.h"
#include "core/utf8.h"
#include "io/json_writer.h"
#include "text/byte_alphabet.h"
#include "text/normalizer.h"
#include "text/pipeline.h"

#include <algorithm>
#include <cmath>

namespace ordo {
namespace {

using Type = GgufVocabulary::Type;

// Builds the text of a tokenizer.json around the vocabulary.
class Writer {
public:
    Writer(const GgufVocabulary& v, std::string_view where) : v_(v), where_(where) { check(); }

    TokenizerFile gpt2();
    TokenizerFile llama();
    TokenizerFile bert();
    TokenizerFile t5();

private:
    void check() const;
    Type type(std::size_t id) const { return v_.types.empty() ? Type::normal : static_cast<Type>(v_.types[id]); }
    bool is_added(std::size_t id) const {
        return type(id) == Type::control || type(id) == Type::unknown_type || type(id) == Type::user_defined;
    }
    bool only_added(std::size_t id) const;
    void check_id(Token id, std::string_view name) const;

    std::string spelled(Token id) const { return spellings_[id]; }
    std::string added_tokens() const;
    std::string frame(Token before, Token after, bool segments) const;
    TokenizerFile file(const std::string& normalizer, const std::string& cut, const std::string& frame,
                       const std::string& decoder, const std::string& model) const;
    void require_scores() const;

    const GgufVocabulary& v_;
    std::string where_;
    std::vector<std::string> spellings_; // in the form of a tokenizer.json
};

void Writer::check() const {
    const std::size_t n = v_.tokens.size();
    if (n == 0) fail(ErrorCode::model, where_, ": tokenizer.ggml.tokens: expected tokens, found none");
    if (!v_.types.empty() && v_.types.size() != n)
        fail(ErrorCode::model, where_, ": tokenizer.ggml.token_type: expected ", n, " types, found ", v_.types.size());
    for (std::size_t id = 0; id < n; ++id)
        if (!utf8_valid(v_.tokens[id]) || v_.tokens[id].empty())
            fail(ErrorCode::model, where_, ": tokenizer.ggml.tokens[", id, "]: expected UTF-8, found \"",
                 printable(v_.tokens[id]), '"');
    for (const std::int32_t type : v_.types)
        if (type < 0 || type > Type::byte)
            fail(ErrorCode::model, where_, ": tokenizer.ggml.token_type: expected 1 to 6, found ", type);
    check_id(v_.bos, "bos");
    check_id(v_.eos, "eos");
    check_id(v_.unknown, "unknown");
    check_id(v_.separator, "seperator"); // this is the spelling in the files
}

void Writer::check_id(Token id, std::string_view name) const {
    if (id != -1 && (id < 0 || static_cast<std::size_t>(id) >= v_.tokens.size()))
        fail(ErrorCode::model, where_, ": tokenizer.ggml.", name, "_token_id: expected 0 to ", v_.tokens.size() - 1,
             ", found ", id);
}

void Writer::require_scores() const {
    if (v_.scores.size() != v_.tokens.size())
        fail(ErrorCode::model, where_, ": tokenizer.ggml.scores: expected ", v_.tokens.size(), " scores, found ",
             v_.scores.size());
    for (const float score : v_.scores)
        if (!std::isfinite(score)) fail(ErrorCode::model, where_, ": tokenizer.ggml.scores: expected finite ones");
}

// Whether a token was added to a byte-level vocabulary and its text is the spelling of other bytes, such as
// DeepSeek-Coder's "\u00f5". No bytes of a text become it, unless a merge makes it.
bool Writer::only_added(std::size_t id) const {
    if (v_.model != "gpt2" || !is_added(id)) return false;
    const std::string& spelling = spellings_[id];
    const auto bytes = unspell_bytes(spelling);
    if (!bytes || *bytes == spelling) return false;
    return std::none_of(v_.merges.begin(), v_.merges.end(), [&](std::string_view merge) {
        const std::size_t space = merge.find(' ', 1);
        return merge.size() == spelling.size() + 1 && space != merge.npos &&
               spelling.starts_with(merge.substr(0, space)) && spelling.ends_with(merge.substr(space + 1));
    });
}

std::string Writer::added_tokens() const {
    std::string out;
    for (std::size_t id = 0; id < spellings_.size(); ++id) {
        if (!is_added(id)) continue;
        const bool special = type(id) != Type::user_defined;
        const bool normalized = v_.escaped_symbols && !special && spellings_[id].find(space_mark) != std::string::npos;
        out += (out.empty() ? "" : ",") + ("{\"id\":" + std::to_string(id)) +
               ",\"content\":" + json_quoted(spellings_[id]) +
               ",\"single_word\":false,\"lstrip\":false,\"rstrip\":false," +
               "\"normalized\":" + (normalized ? "true" : "false") + ",\"special\":" + (special ? "true}" : "false}");
    }
    return "[" + out + "]";
}

// before A after, and before A after B after; null without tokens.
std::string Writer::frame(Token before, Token after, bool segments) const {
    if (before < 0 && after < 0) return "null";
    const auto special = [&](Token id, int segment) {
        return id < 0 ? std::string()
                      : "{\"SpecialToken\":{\"id\":" + json_quoted(spelled(id)) +
                            ",\"type_id\":" + std::to_string(segment) + "}}";
    };
    const auto text = [](char name, int segment) {
        return std::string("{\"Sequence\":{\"id\":\"") + name + "\",\"type_id\":" + std::to_string(segment) + "}}";
    };
    const auto join = [](std::initializer_list<std::string> parts) {
        std::string all;
        for (const std::string& part : parts)
            if (!part.empty()) all += (all.empty() ? "" : ",") + part;
        return "[" + all + "]";
    };
    std::string tokens;
    for (const Token id : {before, after == before ? -1 : after})
        if (id >= 0)
            tokens += (tokens.empty() ? "" : ",") + json_quoted(spelled(id)) + ":{\"id\":" + json_quoted(spelled(id)) +
                      ",\"ids\":[" + std::to_string(id) + "],\"tokens\":[" + json_quoted(spelled(id)) + "]}";
    const int second = segments ? 1 : 0;
    return R"({"type":"TemplateProcessing","single":)" + join({special(before, 0), text('A', 0), special(after, 0)}) +
           ",\"pair\":" +
           join({special(before, 0), text('A', 0), special(after, 0), text('B', second), special(after, second)}) +
           ",\"special_tokens\":{" + tokens + "}}";
}

TokenizerFile Writer::file(const std::string& normalizer, const std::string& cut, const std::string& frame,
                           const std::string& decoder, const std::string& model) const {
    TokenizerFile file;
    const std::string text = R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":)" + added_tokens() +
                             ",\"normalizer\":" + normalizer + ",\"pre_tokenizer\":" + cut +
                             ",\"post_processor\":" + frame + ",\"decoder\":" + decoder + ",\"model\":" + model + "}";
    file.rest = parse_json(text, where_, json_tokenizer_limits);
    for (std::size_t id = 0; id < spellings_.size(); ++id) {
        if (only_added(id)) continue;
        file.vocab.add(spellings_[id]);
        file.ids.push_back(static_cast<int>(id));
    }
    return file;
}

// ---- The four models --------------------------------------------------------------------------

TokenizerFile Writer::gpt2() {
    spellings_ = v_.tokens;
    const GgufCut* cut = find_gguf_cut(v_.pre.empty() ? "default" : v_.pre);
    if (cut == nullptr)
        fail(ErrorCode::model, where_, ": tokenizer.ggml.pre: \"", printable(v_.pre), "\" is not supported; ",
             gguf_cut_names(), " are");
    std::string steps;
    for (const std::string_view pattern : cut->patterns)
        steps += R"({"type":"Split","pattern":{"Regex":)" + json_quoted(pattern) +
                 R"(},"behavior":"Isolated","invert":false},)";
    const std::string prefix = v_.add_space_prefix.value_or(false) ? "true" : "false";
    steps += R"({"type":"ByteLevel","add_prefix_space":)" + prefix + R"(,"trim_offsets":true,"use_regex":false})";
    TokenizerFile made =
        file("null", R"({"type":"Sequence","pretokenizers":[)" + steps + "]}",
             frame(v_.add_bos.value_or(cut->add_bos) ? v_.bos : -1, v_.add_eos.value_or(false) ? v_.eos : -1, false),
             R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})",
             std::string(R"({"type":"BPE","ignore_merges":)") + (cut->ignore_merges ? "true" : "false") +
                 R"(,"vocab":{},"merges":[]})");
    for (std::size_t i = 0; i < v_.merges.size(); ++i) {
        const std::string_view merge = v_.merges[i];
        const std::size_t space = merge.find(' ', 1); // in some files a token begins with a space
        if (space == merge.npos || space + 1 == merge.size())
            fail(ErrorCode::model, where_, ": tokenizer.ggml.merges[", i, "]: expected two tokens, found \"",
                 printable(merge), '"');
        made.merges.add(merge.substr(0, space));
        made.merges.add(merge.substr(space + 1));
    }
    return made;
}

// The decoder of SentencePiece with byte fallback.
std::string decoder_of_bytes(bool prefix) {
    return R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":)" + json_quoted(space_mark) +
           R"(},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"})" +
           (prefix ? R"(,{"type":"Strip","content":" ","start":1,"stop":0}]})" : "]}");
}

TokenizerFile Writer::llama() {
    require_scores();
    for (std::size_t id = 0; id < v_.tokens.size(); ++id)
        if (type(id) == Type::byte && byte_of_spelling(v_.tokens[id]) < 0)
            fail(ErrorCode::model, where_, ": tokenizer.ggml.tokens[", id, "]: expected <0x00> to <0xFF>, found \"",
                 printable(v_.tokens[id]), "\", of token_type 6, a byte");
    spellings_ = v_.tokens;
    const bool prefix = v_.add_space_prefix.value_or(true);
    const std::string space = json_quoted(space_mark);
    const std::string replace = R"({"type":"Replace","pattern":{"String":" "},"content":)" + space + "}";
    const std::string normalizer =
        prefix ? R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":)" + space + "}," + replace + "]}"
               : replace;
    const std::string unknown = v_.unknown < 0 ? "null" : std::to_string(v_.unknown);
    TokenizerFile made =
        file(normalizer, "null",
             frame(v_.add_bos.value_or(true) ? v_.bos : -1, v_.add_eos.value_or(false) ? v_.eos : -1, false),
             decoder_of_bytes(prefix), R"({"type":"ScoredBPE","unk_id":)" + unknown + R"(,"vocab":[]})");
    made.scores.assign(v_.scores.begin(), v_.scores.end());
    return made;
}

// [UNK], and Chinese BERT's <S>: names instead of words.
bool is_bracketed(std::string_view token) {
    return token.size() > 2 &&
           ((token.starts_with('[') && token.ends_with(']')) || (token.starts_with('<') && token.ends_with('>')));
}

// In the files, a token that begins a word has a U+2581 before it, and a token inside a word is unchanged. llama.cpp
// converts every text to lower case, so that words with capitals would never match.
TokenizerFile Writer::bert() {
    bool capitals = false;
    for (std::size_t id = 0; id < v_.tokens.size(); ++id) {
        const std::string& token = v_.tokens[id];
        const bool begins = token.starts_with(space_mark) && token.size() > space_mark.size();
        const std::string word = begins ? token.substr(space_mark.size()) : token;
        const bool plain = type(id) == Type::normal && !is_bracketed(word);
        spellings_.push_back(begins || !plain ? word : "##" + word);
        capitals =
            capitals || (plain && std::any_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; }));
    }
    if (v_.unknown < 0) fail(ErrorCode::model, where_, ": tokenizer.ggml.unknown_token_id: expected an id, found none");
    const std::string lower = capitals ? "false" : "true";
    const Token end = v_.separator >= 0 ? v_.separator : v_.eos;
    return file(R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,)"
                R"("lowercase":)" +
                    lower + "}",
                R"({"type":"BertPreTokenizer"})",
                frame(v_.add_bos.value_or(true) ? v_.bos : -1, v_.add_eos.value_or(true) ? end : -1, true),
                R"({"type":"WordPiece","prefix":"##","cleanup":true})",
                R"({"type":"WordPiece","unk_token":)" + json_quoted(spelled(v_.unknown)) +
                    R"(,"continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{}})");
}

TokenizerFile Writer::t5() {
    require_scores();
    spellings_ = v_.tokens;
    if (v_.unknown < 0) fail(ErrorCode::model, where_, ": tokenizer.ggml.unknown_token_id: expected an id, found none");
    const std::string trim = R"({"type":"Replace","pattern":{"Regex":"\\A +| +\\z"},"content":""})"
                             R"(,{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "})";
    const std::string steps = v_.remove_extra_whitespaces.value_or(false) ? trim : "";
    const std::string map =
        v_.charsmap.empty()
            ? ""
            : R"({"type":"Precompiled","match":"longest","precompiled_charsmap":")" + to_base64(v_.charsmap) + "\"}";
    const std::string space = json_quoted(space_mark);
    const std::string metaspace = R"({"type":"Metaspace","replacement":)" + space + R"(,"prepend_scheme":)" +
                                  (v_.add_space_prefix.value_or(true) ? R"("always")" : R"("never")") +
                                  R"(,"split":true})";
    TokenizerFile made =
        file(R"({"type":"Sequence","normalizers":[)" + map + (map.empty() || steps.empty() ? "" : ",") + steps + "]}",
             metaspace, frame(v_.add_bos.value_or(false) ? v_.bos : -1, v_.add_eos.value_or(true) ? v_.eos : -1, false),
             v_.byte_fallback ? decoder_of_bytes(v_.add_space_prefix.value_or(true)) : metaspace,
             R"({"type":"Unigram","unk_id":)" + std::to_string(v_.unknown) + R"(,"byte_fallback":)" +
                 (v_.byte_fallback ? "true" : "false") + R"(,"vocab":[]})");
    made.scores.assign(v_.scores.begin(), v_.scores.end());
    return made;
}

} // namespace

std::unique_ptr<Tokenizer> tokenizer_from_gguf(const GgufVocabulary& v, std::string_view where) {
    Writer writer(v, where);
    if (v.model == "gpt2") return make_tokenizer(writer.gpt2(), where);
    if (v.model == "llama") return make_tokenizer(writer.llama(), where);
    if (v.model == "bert") return make_tokenizer(writer.bert(), where);
    if (v.model == "t5") return make_tokenizer(writer.t5(), where);
    fail(ErrorCode::model, where, ": tokenizer.ggml.model: \"", printable(v.model),
         "\" is not supported; gpt2, llama, bert and t5 are");
}

std::unique_ptr<Tokenizer> tokenizer_from_llama2c(std::vector<std::string> pieces, std::vector<float> scores,
                                                  std::string_view where) {
    if (pieces.size() < 3) fail(ErrorCode::model, where, ": expected at least 3 tokens, found ", pieces.size());
    GgufVocabulary v;
    v.model = "llama";
    for (std::size_t id = 0; id < pieces.size(); ++id) {
        std::string token;
        for (const char c : pieces[id]) c == ' ' ? token += space_mark : token += c;
        v.tokens.push_back(std::move(token));
        v.types.push_back(byte_of_spelling(pieces[id]) >= 0 ? Type::byte : Type::normal);
    }
    v.tokens[0] = "<unk>";
    v.tokens[1] = "<s>"; // the file has line feeds around them
    v.tokens[2] = "</s>";
    v.types[0] = Type::unknown_type;
    v.types[1] = v.types[2] = Type::control;
    v.scores = std::move(scores);
    v.unknown = 0;
    v.bos = 1;
    v.eos = 2;
    return tokenizer_from_gguf(v, where);
}

} // namespace ordo
