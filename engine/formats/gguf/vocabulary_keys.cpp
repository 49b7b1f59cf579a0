// SPDX-License-Identifier: MIT
// Converts between tokenizer.ggml.* of a GGUF's metadata and a tokenizer (formats/gguf/vocabulary.h).
#include "formats/gguf/vocabulary.h"

#include "core/error.h"
#include "formats/gguf/export.h"

namespace ordo {
namespace {

const std::string prefix = "tokenizer.ggml.";

// ---- Reading --------------------------------------------------------------------------------------

// llama.cpp's ids for files without them.
struct Defaults {
    Token bos = -1, eos = -1, unknown = -1, separator = -1, padding = -1, mask = -1;
};

Defaults defaults_of(std::string_view model) {
    if (model == "llama") return {.bos = 1, .eos = 2, .unknown = 0};
    if (model == "bert") return {.bos = 101, .unknown = 100, .separator = 102, .padding = 0, .mask = 103};
    if (model == "t5") return {.eos = 1, .unknown = 2, .padding = 0};
    return {};
}

class KeyReader {
public:
    KeyReader(const Gguf& file, int vocab_size) : file_(file), vocab_size_(vocab_size) {}

    GgufVocabulary vocabulary() const {
        GgufVocabulary v = named();
        v.pre = file_.text(prefix + "pre").value_or("");
        v.tokens = texts("tokens");
        check_size("tokens", v.tokens.size(), static_cast<std::size_t>(vocab_size_));
        if (const GgufValue* scores = file_.numbers(prefix + "scores"); scores)
            for (std::size_t i = 0; i < scores->size(); ++i) v.scores.push_back(static_cast<float>(scores->number(i)));
        if (const GgufValue* types = file_.integers(prefix + "token_type"); types)
            for (std::size_t i = 0; i < types->size(); ++i)
                v.types.push_back(static_cast<std::int32_t>(types->integer(i)));
        if (!v.scores.empty()) check_size("scores", v.scores.size(), v.tokens.size());
        if (!v.types.empty()) check_size("token_type", v.types.size(), v.tokens.size());
        v.merges = texts("merges");
        v.charsmap = charsmap();
        v.add_space_prefix = file_.truth(prefix + "add_space_prefix");
        v.remove_extra_whitespaces = file_.truth(prefix + "remove_extra_whitespaces");
        return v;
    }

    Token decoder_start() const {
        const std::string decoder = std::string(file_.text("general.architecture").value_or(""));
        return static_cast<Token>(file_.integer(decoder + ".decoder_start_token_id", 0, vocab_size_ - 1).value_or(-1));
    }
    // The special tokens. The tokenizer's own frame overrides the start token, except for a decoder with an encoder.
    SpecialTokens special() const {
        const GgufVocabulary v = named();
        SpecialTokens special;
        special.start = decoder_start();
        if (special.start < 0 && v.add_bos.value_or(false)) special.start = v.bos;
        for (const Token id : {v.eos, id("eot_token_id"), id("eom_token_id")})
            if (id >= 0 && !special.ends_text(id)) special.end.push_back(id);
        special.padding = id("padding_token_id", defaults_of(v.model).padding);
        special.unknown = v.unknown;
        special.mask = id("mask_token_id", defaults_of(v.model).mask);
        if (v.model == "bert") {
            special.first = v.bos;
            special.separator = v.separator >= 0 ? v.separator : v.eos;
        }
        return special;
    }

private:
    // The values with keys of their own.
    GgufVocabulary named() const {
        GgufVocabulary v;
        v.model = file_.text(prefix + "model").value_or("");
        const bool cls = v.model == "bert" && file_.metadata().contains(prefix + "cls_token_id");
        const Defaults usual = defaults_of(v.model);
        v.bos = id(cls ? "cls_token_id" : "bos_token_id", usual.bos); // a converter writes only cls_token_id for BERT
        v.eos = id("eos_token_id", usual.eos);
        v.unknown = id("unknown_token_id", usual.unknown);
        v.separator = id(file_.metadata().contains(prefix + "seperator_token_id") ? "seperator_token_id" // as in files
                                                                                  : "separator_token_id",
                         usual.separator);
        v.add_bos = file_.truth(prefix + "add_bos_token");
        v.add_eos = file_.truth(prefix + "add_eos_token");
        return v;
    }
    Token id(const std::string& key, Token usual = -1) const {
        if (usual >= vocab_size_) usual = -1;
        return static_cast<Token>(file_.integer(prefix + key, 0, vocab_size_ - 1).value_or(usual));
    }
    void check_size(const std::string& key, std::size_t found, std::size_t expected) const {
        if (found != expected)
            fail(ErrorCode::model, file_.where(), ": metadata '", prefix, key, "': expected ", expected,
                 " elements, one for each token, found ", found);
    }
    std::vector<std::string> texts(const std::string& key) const {
        std::vector<std::string> out;
        const GgufValue* values = file_.strings(prefix + key);
        for (std::size_t i = 0; values != nullptr && i < values->size(); ++i) out.emplace_back(values->text(i));
        return out;
    }
    std::string charsmap() const {
        const GgufValue* bytes = file_.integers(prefix + "precompiled_charsmap");
        return bytes != nullptr && kind_bytes(bytes->kind()) == 1 ? bytes->bytes() : std::string();
    }

    const Gguf& file_;
    int vocab_size_;
};

int count_tokens(const Gguf& file) {
    const GgufValue* const tokens = file.strings(prefix + "tokens");
    if (tokens == nullptr) fail(ErrorCode::model, file.where(), ": has no tokenizer");
    return static_cast<int>(tokens->size());
}

// ---- Writing --------------------------------------------------------------------------------------

void put_id(GgufEntries& entries, const char* key, Token id) {
    if (id >= 0) entries.emplace_back(prefix + key, GgufValue::of(static_cast<std::uint32_t>(id)));
}

void put_truth(GgufEntries& entries, const char* key, std::optional<bool> value) {
    if (value) entries.emplace_back(prefix + key, GgufValue::of(*value));
}

// Pads the vocabulary to the rows of the embedding.
void fill_up(GgufVocabulary& v, std::size_t size) {
    if (v.types.empty()) v.types.assign(v.tokens.size(), GgufVocabulary::normal);
    while (v.tokens.size() < size) {
        v.tokens.push_back("[PAD" + std::to_string(v.tokens.size()) + "]");
        v.types.push_back(GgufVocabulary::unused);
        if (!v.scores.empty()) v.scores.push_back(0);
    }
}

GgufEntries entries_of(const GgufVocabulary& v) {
    GgufEntries entries = {{prefix + "model", GgufValue::of(v.model)}};
    if (!v.pre.empty()) entries.emplace_back(prefix + "pre", GgufValue::of(v.pre));
    entries.emplace_back(prefix + "tokens", GgufValue::of(v.tokens));
    if (!v.scores.empty()) entries.emplace_back(prefix + "scores", GgufValue::of(v.scores));
    entries.emplace_back(prefix + "token_type", GgufValue::of(v.types));
    if (!v.merges.empty()) entries.emplace_back(prefix + "merges", GgufValue::of(v.merges));
    if (!v.charsmap.empty()) entries.emplace_back(prefix + "precompiled_charsmap", GgufValue::of_bytes(v.charsmap));
    return entries;
}

} // namespace

std::unique_ptr<Tokenizer> gguf_tokenizer(const Gguf& file) {
    return tokenizer_from_gguf(KeyReader(file, count_tokens(file)).vocabulary(), file.where());
}

TextSide gguf_text_without_tokenizer(const Gguf& file, int vocab_size) {
    TextSide text;
    text.special = KeyReader(file, vocab_size).special();
    return text;
}

TextSide read_gguf_text(const Gguf& file, int vocab_size) {
    const KeyReader reader(file, vocab_size);
    TextSide text;
    text.tokenizer = tokenizer_from_gguf(reader.vocabulary(), file.where());
    text.special = reader.special();
    if (reader.decoder_start() < 0) {
        const std::vector<Token> before = text.tokenizer->frame().before();
        text.special.start = before.empty() ? -1 : before.front();
    }
    return text;
}

TextSide read_gguf_text(const Gguf& file) {
    return read_gguf_text(file, count_tokens(file));
}

GgufEntries gguf_entries(const TextSide& side, int vocab_size, const std::string& where) {
    if (!side.tokenizer) return {{prefix + "model", GgufValue::of("no_vocab")}};
    GgufVocabulary v;
    try {
        v = gguf_vocabulary(*side.tokenizer);
    } catch (const Error& error) {
        fail(ErrorCode::usage, where, ": ", error.what());
    }
    fill_up(v, static_cast<std::size_t>(vocab_size));
    GgufEntries entries = entries_of(v);
    const SpecialTokens& special = side.special;
    const Token start = special.start >= 0 ? special.start : v.bos;
    put_id(entries, "bos_token_id", start);
    put_id(entries, "eos_token_id", special.end.empty() ? v.eos : special.end.front());
    put_id(entries, "unknown_token_id", special.unknown >= 0 ? special.unknown : v.unknown);
    put_id(entries, "padding_token_id", special.padding);
    put_truth(entries, "add_bos_token", special.start >= 0 || v.add_bos.value_or(false));
    put_truth(entries, "add_eos_token", v.add_eos);
    put_truth(entries, "add_space_prefix", v.add_space_prefix);
    put_truth(entries, "remove_extra_whitespaces", v.remove_extra_whitespaces);
    return entries;
}

} // namespace ordo
