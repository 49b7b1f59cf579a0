// SPDX-License-Identifier: MIT
#include "formats/hugging_face_text.h"

#include "core/error.h"
#include "formats/model_type.h"
#include "formats/pooling.h"
#include "formats/special_tokens.h"
#include "formats/tokenizer_config.h"
#include "formats/tokenizer_files.h"

#include <cmath>

namespace ordo {
namespace {

namespace fs = std::filesystem;

// The ids under a key such as eos_token_id: one, a list, or none. Ids outside the vocabulary are dropped, because
// configs contain ids of other tokenizers.
std::vector<Token> ids_of(const JsonValue& object, std::string_view key, int vocab_size) {
    std::vector<Token> ids;
    const auto add = [&](const JsonValue& value) {
        const std::uint64_t* const whole = value.unsigned_integer();
        const double* const fraction = value.fraction(); // 2.0
        const double id = whole != nullptr ? static_cast<double>(*whole) : fraction != nullptr ? *fraction : -1;
        if (id >= 0 && id < vocab_size && std::trunc(id) == id) ids.push_back(static_cast<Token>(id));
    };
    const JsonValue* value = find_member(object, key);
    if (value == nullptr) return ids;
    if (const JsonValue::Array* list = value->array())
        for (const JsonValue& each : *list) add(each);
    else
        add(*value);
    return ids;
}

std::vector<Token> ids_of(std::span<const JsonValue* const> objects, std::string_view key, int vocab_size) {
    for (const JsonValue* object : objects)
        if (std::vector<Token> ids = ids_of(*object, key, vocab_size); !ids.empty()) return ids;
    return {};
}

// The token under a key such as eos_token: its spelling, or an object with it.
Token token_named(std::span<const JsonValue* const> objects, std::string_view key, const Tokenizer& tokenizer) {
    for (const JsonValue* object : objects) {
        const JsonValue* value = find_member(*object, key);
        if (value != nullptr && value->object()) value = find_member(*value, "content");
        if (value != nullptr && value->string())
            if (const Token token = tokenizer.find(*value->string()); token >= 0) return token;
    }
    return -1;
}

// The special tokens in the files of a directory. Ids in generation_config.json and config.json come before names in
// the tokenizer's two files. Without a tokenizer, only the ids are used.
class SpecialTokensOf {
public:
    SpecialTokensOf(const fs::path& directory, const JsonValue& generation, const Tokenizer* tokenizer, int vocab_size)
        : config_(read_json_file(directory / "config.json")), generation_(generation),
          tokenizer_config_(read_json_file(directory / "tokenizer_config.json")),
          map_(read_json_file(directory / "special_tokens_map.json")), tokenizer_(tokenizer), vocab_size_(vocab_size) {}

    SpecialTokens read() const {
        SpecialTokens special;
        special.end = ids("eos_token_id");
        if (special.end.empty())
            if (const Token named = by_name("eos_token"); named >= 0) special.end = {named};
        special.padding = one("pad_token_id", "pad_token");
        special.unknown = one("unk_token_id", "unk_token");
        special.first = one("cls_token_id", "cls_token");
        special.separator = one("sep_token_id", "sep_token");
        special.mask = one("mask_token_id", "mask_token");
        special.start = start();
        special.forced = forced();
        return special;
    }

private:
    std::vector<Token> ids(std::string_view key) const {
        const JsonValue* const places[] = {&generation_, &config_};
        return ids_of(places, key, vocab_size_);
    }
    Token by_name(std::string_view key) const {
        const JsonValue* const places[] = {&tokenizer_config_, &map_};
        return tokenizer_ != nullptr ? token_named(places, key, *tokenizer_) : -1;
    }
    Token one(std::string_view id_key, std::string_view key) const {
        const std::vector<Token> found = ids(id_key);
        return found.empty() ? by_name(key) : found.front();
    }
    // The start token of a decoder with an encoder. Otherwise the token that the tokenizer puts before a text, unless
    // add_bos_token is false.
    Token start() const {
        if (const std::vector<Token> decoder = ids("decoder_start_token_id");
            !decoder.empty() && find_member(config_, "is_encoder_decoder") != nullptr)
            return decoder.front();
        const JsonValue* const add = find_member(tokenizer_config_, "add_bos_token");
        if (add != nullptr && add->boolean()) return *add->boolean() ? beginning() : -1;
        if (tokenizer_ == nullptr) return -1;
        const std::vector<Token> before = tokenizer_->frame().before();
        return before.empty() ? -1 : before.front();
    }

    // The tokenizer adds the token of that name; config.json may have the id of another tokenizer.
    Token beginning() const {
        const Token named = by_name("bos_token");
        return named >= 0 ? named : one("bos_token_id", "bos_token");
    }

    // The older of the two keys asks for the token that begins a text.
    Token forced() const {
        std::vector<Token> found = ids("forced_bos_token_id");
        if (found.empty() && flag_of(config_, "force_bos_token_to_be_generated", false)) found = ids("bos_token_id");
        return found.empty() || find_member(config_, "is_encoder_decoder") == nullptr ? -1 : found.front();
    }

    JsonValue config_;
    const JsonValue& generation_;
    JsonValue tokenizer_config_, map_;
    const Tokenizer* tokenizer_;
    int vocab_size_;
};

enum class TokenizerFiles { none, json, marian, vocabulary, sentence_piece };

// The kind of files for a directory's tokenizer.
TokenizerFiles files_of(const fs::path& directory, const JsonValue& config, std::string_view model_type) {
    if (is_there(directory / "tokenizer.json")) return TokenizerFiles::json;
    if (has_marian_files(directory, model_type)) return TokenizerFiles::marian;
    if (vocabulary_form(directory, config, model_type) != VocabularyForm::none) return TokenizerFiles::vocabulary;
    if (has_sentence_piece_file(directory, config, model_type)) return TokenizerFiles::sentence_piece;
    return TokenizerFiles::none;
}

std::unique_ptr<const Tokenizer> read_tokenizer(const fs::path& directory, std::string_view model_type) {
    const JsonValue config = read_json_file(directory / "tokenizer_config.json");
    const fs::path path = directory / "tokenizer.json";
    switch (files_of(directory, config, model_type)) {
    case TokenizerFiles::json:
        return tokenizer_from_json(read_text_file(path, json_tokenizer_limits.bytes), printable_path(path));
    case TokenizerFiles::marian:
        return tokenizer_from_marian_files(directory);
    case TokenizerFiles::vocabulary:
        return tokenizer_from_vocabulary(vocabulary_form(directory, config, model_type), directory, config);
    case TokenizerFiles::sentence_piece:
        return tokenizer_from_sentence_piece_file(directory, config, model_type);
    case TokenizerFiles::none:
        break;
    }
    const std::string unread = unread_tokenizer_files(directory);
    fail(ErrorCode::model, printable_path(directory), ": expected a tokenizer, found none",
         unread.empty() ? "" : " but " + unread + ", not read for this model");
}

// A broken generation_config.json does not make the model unusable. null: no recommendation.
JsonValue read_generation(const fs::path& directory, std::vector<std::string>* warnings = nullptr) {
    try {
        return read_json_file(directory / "generation_config.json");
    } catch (const Error& error) {
        if (warnings) warnings->push_back(std::string(generation_warning) + "not read: " + error.what());
        return {};
    }
}

void add_generation_warnings(Source& source, const fs::path& directory) {
    const JsonValue generation = read_generation(directory, &source.warnings);
    for (const std::string& warning : recommended_sampling(generation).warnings)
        source.warnings.push_back(std::string(generation_warning) + warning);
    if (const std::string idle = not_applied(generation); !idle.empty())
        source.warnings.push_back(std::string(generation_warning) + "not applied: " + idle);
}

TextSide read_text(const fs::path& directory, int vocab_size, std::string_view model_type) {
    return hugging_face_text(directory, vocab_size, read_tokenizer(directory, model_type));
}

// A model without text still accepts tokens. If a SentencePiece file contradicts its class, the model therefore loads
// without text, with a warning.
void add_sentence_piece_text(Source& source, const fs::path& directory, const JsonValue& config,
                             const std::string& model_type) {
    const auto read = [directory, model_type, vocab = source.blueprint.vocab_size] {
        return read_text(directory, vocab, model_type);
    };
    TextSide first;
    try {
        first = read();
        if (const int found = first.tokenizer->vocab_size(); found > source.blueprint.vocab_size)
            fail(ErrorCode::model, printable_path(directory), ": tokenizer: expected at most ",
                 source.blueprint.vocab_size, " tokens, as the model has rows for, found ", found);
    } catch (const Error& error) {
        source.warnings.push_back(std::string(error.what()) + "; " + std::string(no_text_warning));
        return;
    }
    source.text = [once = std::make_shared<TextSide>(std::move(first)), read] {
        return once->tokenizer ? std::move(*once) : read();
    };
    const JsonValue* const legacy = find_member(config, "legacy");
    if (legacy != nullptr && legacy->boolean() && !*legacy->boolean())
        source.warnings.push_back("tokenizer_config.json: 'legacy': expected true, found false: text behind an added "
                                  "token begins with a space all the same");
}

} // namespace

TextSide hugging_face_text(const fs::path& given, int vocab_size, std::unique_ptr<const Tokenizer> tokenizer) {
    const fs::path directory = transformer_folder(given);
    TextSide text;
    text.padded_vocabulary = true;
    text.tokenizer = std::move(tokenizer);
    const JsonValue generation = read_generation(directory);
    text.special = SpecialTokensOf(directory, generation, text.tokenizer.get(), vocab_size).read();
    text.sampling = recommended_sampling(generation).sampling;
    return text;
}

std::unique_ptr<const Tokenizer> hugging_face_tokenizer(const fs::path& directory) {
    const fs::path inner = transformer_folder(directory);
    return read_tokenizer(inner, model_type_of(read_json_file(inner / "config.json")));
}

void add_hugging_face_text(Source& source, const fs::path& directory, const std::string& model_type) {
    const JsonValue config = read_json_file(directory / "tokenizer_config.json");
    const TokenizerFiles files = files_of(directory, config, model_type);
    source.text_without_tokenizer = [directory, vocab = source.blueprint.vocab_size] {
        return hugging_face_text(directory, vocab, nullptr);
    };
    add_generation_warnings(source, directory);
    if (files == TokenizerFiles::none) {
        if (const std::string unread = unread_tokenizer_files(directory); !unread.empty())
            source.warnings.push_back("no tokenizer.json but " + unread +
                                      ", not read for this model: " + std::string(no_text_warning) +
                                      " (transformers' fast tokenizers save a tokenizer.json)");
        return;
    }
    if (files == TokenizerFiles::sentence_piece) return add_sentence_piece_text(source, directory, config, model_type);
    source.text = [directory, model_type, vocab = source.blueprint.vocab_size] {
        return read_text(directory, vocab, model_type);
    };
}

} // namespace ordo
