// SPDX-License-Identifier: MIT
// A tokenizer as the metadata of a GGUF file. These express less than a tokenizer.json: four models by name, and
// llama.cpp's patterns by name. A component outside these is refused by name. Normal forms are exceptions: llama.cpp
// omits them for the models that request them.
#include "core/error.h"
#include "formats/gguf/vocabulary.h"
#include "text/normalizer.h"
#include "text/pipeline.h"

#include <algorithm>

namespace ordo {
namespace {

using Type = GgufVocabulary::Type;

[[noreturn]] void refuse(std::string_view what) {
    fail(ErrorCode::model, "tokenizer: ", what, " has no place in a GGUF file; a safetensors file takes it");
}

// A component, or the components of a Sequence.
std::vector<const JsonValue*> flat(const JsonValue& root, std::string_view key, std::string_view members) {
    std::vector<const JsonValue*> all;
    if (is_null(root, key)) return all;
    const JsonValue& component = get_member(root, key, "tokenizer");
    if (type_of(component, "tokenizer") != "Sequence") return {&component};
    for (const JsonValue& part : get_array(component, members, "tokenizer")) all.push_back(&part);
    return all;
}

bool is(const JsonValue& component, std::string_view type) {
    return type_of(component, "tokenizer") == type;
}

class TokenizerReader {
public:
    explicit TokenizerReader(const Tokenizer& tokenizer)
        : tokenizer_(tokenizer), file_(read_tokenizer_file(tokenizer.to_json(), "tokenizer")),
          model_(get_object(file_.rest, "model", "tokenizer")) {}

    GgufVocabulary read() {
        read_tokens();
        const std::string& kind = get_string(model_, "type", "tokenizer");
        const auto cuts = flat(file_.rest, "pre_tokenizer", "pretokenizers");
        if (kind == "WordPiece") {
            read_bert();
        } else if (kind == "Unigram") {
            read_t5(cuts);
        } else if (kind == "BPE" && !cuts.empty() && is(*cuts.back(), "ByteLevel")) {
            read_gpt2(cuts);
        } else {
            read_llama(cuts);
        }
        read_frame();
        return std::move(v_);
    }

private:
    void read_tokens();
    void read_frame();
    void read_gpt2(const std::vector<const JsonValue*>& cuts);
    void read_llama(const std::vector<const JsonValue*>& cuts);
    void read_t5(const std::vector<const JsonValue*>& cuts);
    void read_bert();
    void score_by_merges();
    bool add_space_of_metaspace(const std::vector<const JsonValue*>& cuts) const;

    const Tokenizer& tokenizer_;
    TokenizerFile file_;
    const JsonValue& model_;
    GgufVocabulary v_;
};

void TokenizerReader::read_tokens() {
    v_.tokens.resize(tokenizer_.vocab_size());
    v_.types.assign(v_.tokens.size(), Type::normal);
    for (std::size_t i = 0; i < file_.vocab.size(); ++i) {
        const auto id = static_cast<std::size_t>(file_.ids[i]);
        v_.tokens[id] = file_.vocab[i];
        if (byte_of_spelling(file_.vocab[i]) >= 0) v_.types[id] = Type::byte;
    }
    const JsonValue* const added = find_member(file_.rest, "added_tokens");
    static const JsonValue none = JsonValue::empty_array();
    for (const JsonValue& token : *(added != nullptr ? *added : none).array()) {
        const auto id = static_cast<std::size_t>(get_int(token, "id", "tokenizer", 0, tokenizer_.vocab_size() - 1));
        v_.tokens[id] = get_string(token, "content", "tokenizer");
        v_.types[id] = get_bool(token, "special", "tokenizer") ? Type::control : Type::user_defined;
    }
    for (std::size_t id = 0; id < v_.tokens.size(); ++id) {
        if (!v_.tokens[id].empty()) continue;
        v_.tokens[id] = "[PAD" + std::to_string(id) + "]"; // as converters pad
        v_.types[id] = Type::unused;
    }
}

void TokenizerReader::read_frame() {
    const std::vector<Token> before = tokenizer_.frame().before(), after = tokenizer_.frame().after();
    if (before.size() > 1 || after.size() > 1) refuse("a frame of more than one token on a side");
    v_.add_bos = !before.empty();
    v_.add_eos = !after.empty();
    if (!before.empty()) v_.bos = before.front();
    if (!after.empty()) v_.eos = v_.separator = after.front();
    if (v_.unknown >= 0 && v_.model != "bert") v_.types[v_.unknown] = Type::unknown_type;
}

// ---- Byte-level BPE ---------------------------------------------------------------------------

void TokenizerReader::read_gpt2(const std::vector<const JsonValue*>& cuts) {
    v_.model = "gpt2";
    for (const JsonValue* normalizer : flat(file_.rest, "normalizer", "normalizers"))
        if (!is(*normalizer, "NFC")) refuse("the normalizer " + type_of(*normalizer, "tokenizer"));
    std::vector<std::string> patterns;
    for (const JsonValue* cut : cuts) {
        const std::string& type = type_of(*cut, "tokenizer");
        const bool regex = type == "Split" && find_member(get_member(*cut, "pattern", "tokenizer"), "Regex") != nullptr;
        if (type == "ByteLevel") {
            v_.add_space_prefix = get_bool(*cut, "add_prefix_space", "tokenizer");
            if (get_bool_or(*cut, "use_regex", "tokenizer", true))
                patterns.emplace_back(find_gguf_cut("gpt-2")->patterns.front());
        } else if (type == "Digits" && get_bool(*cut, "individual_digits", "tokenizer")) {
            patterns.emplace_back(R"(\p{N})");
        } else if (regex && get_string(*cut, "behavior", "tokenizer") == "Isolated") {
            patterns.push_back(get_string(get_member(*cut, "pattern", "tokenizer"), "Regex", "tokenizer"));
        } else {
            refuse("the pre-tokenizer " + type);
        }
    }
    const bool ignores = get_bool_or(model_, "ignore_merges", "tokenizer", false);
    const GgufCut* cut = find_gguf_cut(patterns, ignores);
    if (cut == nullptr)
        refuse("the pre-tokenizer's pattern '" + printable(patterns.empty() ? "" : patterns.front()) + "'");
    v_.pre = cut->name;
    for (std::size_t i = 0; i < file_.merges.size(); i += 2)
        v_.merges.push_back(std::string(file_.merges[i]).append(" ").append(file_.merges[i + 1]));
}

// ---- SentencePiece ----------------------------------------------------------------------------

// The earliest merge gets the best score. A token that no merge produces is never used.
void TokenizerReader::score_by_merges() {
    v_.scores.assign(v_.tokens.size(), -1e9F);
    for (std::size_t i = file_.merges.size(); i > 0; i -= 2) {
        const Token product = tokenizer_.find(std::string(file_.merges[i - 2]).append(file_.merges[i - 1]));
        const std::size_t rank = i / 2; // from 1
        v_.scores[product] = -static_cast<float>(rank);
    }
}

bool TokenizerReader::add_space_of_metaspace(const std::vector<const JsonValue*>& cuts) const {
    for (const JsonValue* cut : cuts) {
        if (is(*cut, "WhitespaceSplit")) continue;
        if (!is(*cut, "Metaspace")) refuse("the pre-tokenizer " + type_of(*cut, "tokenizer"));
        const JsonValue* scheme = find_member(*cut, "prepend_scheme");
        return get_bool_or(*cut, "add_prefix_space", "tokenizer", true) &&
               (scheme == nullptr || *scheme->string() != "never");
    }
    return false;
}

void TokenizerReader::read_llama(const std::vector<const JsonValue*>& cuts) {
    v_.model = "llama";
    v_.pre = "default";
    v_.add_space_prefix = add_space_of_metaspace(cuts);
    for (const JsonValue* normalizer : flat(file_.rest, "normalizer", "normalizers")) {
        if (is(*normalizer, "Prepend")) {
            v_.add_space_prefix = true;
        } else if (!is(*normalizer, "Replace")) {
            refuse("the normalizer " + type_of(*normalizer, "tokenizer"));
        }
    }
    if (file_.scores.empty()) {
        if (!get_bool_or(model_, "byte_fallback", "tokenizer", false)) refuse("a BPE on characters without bytes");
        if (!is_null(model_, "unk_token")) v_.unknown = tokenizer_.find(get_string(model_, "unk_token", "tokenizer"));
        score_by_merges();
        return;
    }
    v_.scores.assign(file_.scores.begin(), file_.scores.end());
    v_.scores.resize(v_.tokens.size());
    if (!is_null(model_, "unk_id"))
        v_.unknown = static_cast<Token>(get_int(model_, "unk_id", "tokenizer", 0, tokenizer_.vocab_size() - 1));
}

void TokenizerReader::read_t5(const std::vector<const JsonValue*>& cuts) {
    if (get_bool_or(model_, "byte_fallback", "tokenizer", false))
        refuse("a Unigram whose unknown characters are bytes");
    v_.model = "t5";
    v_.pre = "default";
    v_.add_space_prefix = add_space_of_metaspace(cuts);
    v_.remove_extra_whitespaces = true;
    for (const JsonValue* normalizer : flat(file_.rest, "normalizer", "normalizers")) {
        if (is(*normalizer, "Precompiled")) {
            v_.charsmap = from_base64(get_string(*normalizer, "precompiled_charsmap", "tokenizer"), "tokenizer");
        } else if (!is(*normalizer, "Replace") && !is(*normalizer, "Strip")) {
            refuse("the normalizer " + type_of(*normalizer, "tokenizer"));
        }
    }
    v_.scores.assign(file_.scores.begin(), file_.scores.end());
    v_.scores.resize(v_.tokens.size());
    v_.unknown = static_cast<Token>(get_int(model_, "unk_id", "tokenizer", 0, tokenizer_.vocab_size() - 1));
}

// ---- BERT -------------------------------------------------------------------------------------

void TokenizerReader::read_bert() {
    v_.model = "bert";
    v_.pre = "default";
    if (get_string(model_, "continuing_subword_prefix", "tokenizer") != "##") refuse("a prefix other than ##");
    for (std::size_t id = 0; id < v_.tokens.size(); ++id) {
        std::string& token = v_.tokens[id];
        if (v_.types[id] != Type::normal) continue;
        token = token.starts_with("##") && token.size() > 2 ? token.substr(2) : std::string(space_mark) + token;
    }
    v_.unknown = tokenizer_.find(get_string(model_, "unk_token", "tokenizer"));
}

} // namespace

GgufVocabulary gguf_vocabulary(const Tokenizer& tokenizer) {
    return TokenizerReader(tokenizer).read();
}

} // namespace ordo
