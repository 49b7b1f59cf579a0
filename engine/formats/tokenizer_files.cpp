// SPDX-License-Identifier: MIT
#include "formats/tokenizer_files.h"

#include "core/error.h"
#include "core/utf8.h"
#include "formats/sentence_piece/model.h"
#include "formats/tokenizer_config.h"
#include "io/file.h"
#include "io/json_writer.h"
#include "text/token_model.h"

#include <algorithm>
#include <map>
#include <set>

namespace ordo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view spellings_name = "vocab.json", source_name = "source.spm";

} // namespace

// ---- Marian's ---------------------------------------------------------------------------------------
// The ids are those of vocab.json, for texts of both languages. source.spm splits a text of the first language.
// target.spm would split one of the second, which Ordo never needs.

bool has_marian_files(const fs::path& directory, std::string_view model_type) {
    return model_type == "marian" && is_there(directory / spellings_name) && is_there(directory / source_name);
}

namespace {

// Reads a model, and checks that it splits text as Ordo does.
SentencePieceModel read_model(const fs::path& path, SentencePieceModel::Kind kind) {
    const std::string where = printable_path(path);
    SentencePieceModel model =
        read_sentence_piece(read_text_file(path, json_tokenizer_limits.bytes, "a SentencePiece model"), where);
    if (model.kind != kind)
        fail(ErrorCode::model, where, ": trainer_spec.model_type: expected ", static_cast<int>(kind),
             kind == SentencePieceModel::unigram ? ", Unigram" : ", BPE", ", found ", model.kind);
    if (!model.escape_whitespaces || model.whitespace_as_suffix)
        fail(ErrorCode::model, where, ": expected spaces as U+2581 in front of words, found escape_whitespaces ",
             model.escape_whitespaces ? 1 : 0, ", treat_whitespace_as_suffix ", model.whitespace_as_suffix ? 1 : 0);
    return model;
}

SentencePieceModel read_source(const fs::path& path) {
    SentencePieceModel model = read_model(path, SentencePieceModel::unigram);
    if (model.byte_fallback) // vocab.json has no ids for it, and it is unsupported
        fail(ErrorCode::model, printable_path(path),
             ": trainer_spec.byte_fallback: expected 0, unknown characters as <unk>, found 1");
    return model;
}

// Spellings by their ids, which are 0 to n - 1.
std::vector<std::string> read_spellings(const fs::path& path) {
    const std::string where = printable_path(path);
    const JsonValue ids = parse_json(read_text_file(path, json_tokenizer_limits.bytes), where, json_tokenizer_limits);
    if (!ids.object()) fail(ErrorCode::model, where, ": expected a JSON object, found ", describe(ids));
    std::vector<std::string> spellings(ids.object()->size());
    for (const auto& [spelling, id] : *ids.object()) {
        const std::uint64_t* const n = id.unsigned_integer();
        if (n == nullptr || *n >= spellings.size() || !spellings[*n].empty())
            fail(ErrorCode::model, where, ": '", printable(spelling), "': expected an id of its own from 0 to ",
                 spellings.size() - 1, ", found ", describe(id));
        spellings[*n] = spelling;
    }
    return spellings;
}

// Whether it is a target language, which is put before a text: ">>fra<<".
bool names_language(std::string_view spelling) {
    return spelling.starts_with(">>") && spelling.ends_with("<<") && spelling.size() > 4;
}

} // namespace

std::unique_ptr<Tokenizer> tokenizer_from_marian_files(const fs::path& directory) {
    SentencePieceModel source = read_source(directory / source_name);
    GgufVocabulary v;
    v.model = "t5";
    v.tokens = read_spellings(directory / spellings_name);
    v.scores.assign(v.tokens.size(), static_cast<float>(never_taken));
    v.types.assign(v.tokens.size(), GgufVocabulary::normal);
    std::map<std::string_view, std::size_t> ids;
    for (std::size_t id = 0; id < v.tokens.size(); ++id) {
        ids.emplace(v.tokens[id], id);
        if (names_language(v.tokens[id])) v.types[id] = GgufVocabulary::user_defined;
    }
    for (const SentencePieceModel::Piece& piece : source.pieces) {
        const auto found = ids.find(piece.text);
        if (found == ids.end() || piece.type == GgufVocabulary::unused) continue;
        v.scores[found->second] = piece.score;
        if (piece.type != GgufVocabulary::byte) v.types[found->second] = piece.type;
    }
    const auto special = [&](const char* spelling, GgufVocabulary::Type type) {
        const auto found = ids.find(spelling);
        if (found == ids.end())
            fail(ErrorCode::model, printable_path(directory / spellings_name), ": '", spelling,
                 "': expected an id, found none");
        v.types[found->second] = type;
        return static_cast<Token>(found->second);
    };
    v.unknown = special("<unk>", GgufVocabulary::unknown_type);
    v.eos = special("</s>", GgufVocabulary::control);
    special("<pad>", GgufVocabulary::control);
    v.charsmap = std::move(source.charsmap);
    v.add_space_prefix = source.add_dummy_prefix;
    v.remove_extra_whitespaces = source.remove_extra_whitespaces;
    return tokenizer_from_gguf(v, printable_path(directory) + ": vocab.json and source.spm");
}

// ---- SentencePiece's file alone --------------------------------------------------------------------

namespace {

enum class PiecesFor { nobody, llama, t5 };

PiecesFor pieces_for(const JsonValue& tokenizer_config, std::string_view model_type) {
    const std::string* const named = text_of(tokenizer_config, "tokenizer_class");
    std::string_view name = named == nullptr ? model_type : *named;
    if (name.ends_with("Fast")) name.remove_suffix(4);
    for (const std::string_view each :
         {"LlamaTokenizer", "GemmaTokenizer", "llama", "mistral", "mixtral", "gemma", "gemma2", "gemma3_text", "phi3"})
        if (name == each) return PiecesFor::llama;
    for (const std::string_view each : {"T5Tokenizer", "MT5Tokenizer", "t5", "mt5"})
        if (name == each) return PiecesFor::t5;
    return PiecesFor::nobody;
}

fs::path sentence_piece_file(const fs::path& directory) {
    for (const char* name : {"tokenizer.model", "spiece.model"})
        if (is_there(directory / name)) return directory / name;
    return {};
}

// Adds tokens to the pieces.
class MoreTokens {
public:
    MoreTokens(GgufVocabulary& to, std::string where) : to_(to), where_(std::move(where)) {}

    bool empty() const { return later_.empty(); }

    void add(std::uint64_t id, const std::string& content, bool special) {
        const auto type = special ? GgufVocabulary::control : GgufVocabulary::user_defined;
        if (id < to_.tokens.size()) {
            if (to_.tokens[id] != content)
                fail(ErrorCode::model, where_, ": added token ", id, ": expected '", printable(to_.tokens[id]),
                     "', as the pieces have it, found '", printable(content), "'");
            if (to_.types[id] != GgufVocabulary::unknown_type && (special || to_.types[id] != GgufVocabulary::control))
                to_.types[id] = type;
            return;
        }
        auto& [listed, kind] = later_.try_emplace(id, content, type).first->second;
        if (listed != content)
            fail(ErrorCode::model, where_, ": added token ", id, ": expected '", printable(listed),
                 "', as it is listed before, found '", printable(content), "'");
        if (special) kind = type;
    }
    // Checks that ids have no gaps.
    void put() {
        for (const auto& [id, token] : later_) {
            if (id != to_.tokens.size())
                fail(ErrorCode::model, where_, ": added token '", printable(token.first), "': expected the id ",
                     to_.tokens.size(), ", found ", id);
            to_.tokens.push_back(token.first);
            to_.types.push_back(token.second);
            to_.scores.push_back(0);
        }
    }

private:
    GgufVocabulary& to_;
    std::string where_;
    std::map<std::uint64_t, std::pair<std::string, GgufVocabulary::Type>> later_;
};

// The special tokens of a configuration: added_tokens.json does not mark its own.
std::set<std::string> special_names(const fs::path& directory, const JsonValue& tokenizer_config) {
    std::set<std::string> names;
    const fs::path path = directory / "special_tokens_map.json";
    const JsonValue map = is_there(path) ? parse_json(read_text_file(path, json_tokenizer_limits.bytes),
                                                      printable_path(path), json_tokenizer_limits)
                                         : JsonValue();
    for (const JsonValue* object : std::initializer_list<const JsonValue*>{&tokenizer_config, &map}) {
        for (const char* key :
             {"bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"})
            if (const std::string* name = text_of(*object, key)) names.insert(*name);
        const JsonValue* const more = find_member(*object, "additional_special_tokens");
        if (more == nullptr || !more->array()) continue;
        for (const JsonValue& each : *more->array()) {
            const JsonValue* const content = each.object() ? find_member(each, "content") : &each;
            if (content != nullptr && content->string()) names.insert(*content->string());
        }
    }
    return names;
}

// added_tokens.json: {"<pad>": 32000}, and added_tokens_decoder: {"32000": {"content": "<pad>", "special": true}}.
void add_listed(const fs::path& directory, const JsonValue& tokenizer_config, MoreTokens& to) {
    const fs::path path = directory / "added_tokens.json";
    if (is_there(path)) {
        const std::string where = printable_path(path);
        const JsonValue list =
            parse_json(read_text_file(path, json_tokenizer_limits.bytes), where, json_tokenizer_limits);
        if (!list.object()) fail(ErrorCode::model, where, ": expected a JSON object, found ", describe(list));
        const std::set<std::string> special = special_names(directory, tokenizer_config);
        for (const auto& [content, id] : *list.object()) {
            if (!id.unsigned_integer() || content.empty())
                fail(ErrorCode::model, where, ": '", printable(content), "': expected an id, found ", describe(id));
            to.add(*id.unsigned_integer(), content, special.contains(content));
        }
    }
    const JsonValue* const decoder = find_member(tokenizer_config, "added_tokens_decoder");
    if (decoder == nullptr || !decoder->object()) return;
    for (const AddedTokenEntry& each :
         added_token_entries(*decoder, printable_path(directory / "tokenizer_config.json")))
        to.add(each.id, each.content, flag_of(each.token, "special", true));
}

// Adds <extra_id_99> to <extra_id_0> after the pieces, extra_ids of them. Without that key, the number is T5's default
// if no tokens are listed, and 0 for mT5, whose pieces include them.
void add_extra_ids(const JsonValue& tokenizer_config, std::string_view model_type, const std::string& where,
                   GgufVocabulary& v, MoreTokens& to) {
    constexpr std::uint64_t most = 1 << 16;
    const JsonValue* const said = find_member(tokenizer_config, "extra_ids");
    std::uint64_t count = model_type == "mt5" || !to.empty() ? 0 : 100;
    if (said != nullptr) {
        if (!said->unsigned_integer() || *said->unsigned_integer() > most)
            fail(ErrorCode::model, where, ": tokenizer_config.json: 'extra_ids': expected 0 to ", most, ", found ",
                 describe(*said));
        if (to.empty()) count = *said->unsigned_integer(); // otherwise they are among the listed tokens
    }
    const std::size_t first = v.tokens.size();
    for (std::uint64_t i = 0; i < count; ++i)
        to.add(first + i, "<extra_id_" + std::to_string(count - 1 - i) + ">", true);
}

// The id of the token that the configuration names, or else of the file's.
Token special_piece(const GgufVocabulary& v, const std::string* named, std::int32_t id) {
    if (named != nullptr)
        if (const auto found = std::find(v.tokens.begin(), v.tokens.end(), *named); found != v.tokens.end())
            return static_cast<Token>(found - v.tokens.begin());
    return id >= 0 && static_cast<std::size_t>(id) < v.tokens.size() ? id : -1;
}

GgufVocabulary vocabulary_of(SentencePieceModel model) {
    const bool unigram = model.kind == SentencePieceModel::unigram;
    GgufVocabulary v;
    v.model = unigram ? "t5" : "llama";
    for (SentencePieceModel::Piece& piece : model.pieces) {
        const bool idle = piece.type == GgufVocabulary::byte || piece.type == GgufVocabulary::unused;
        v.scores.push_back(unigram && idle ? static_cast<float>(never_taken) : piece.score);
        v.tokens.push_back(std::move(piece.text));
        v.types.push_back(piece.type);
    }
    v.unknown = special_piece(v, nullptr, model.unknown);
    v.charsmap = std::move(model.charsmap);
    v.byte_fallback = model.byte_fallback;
    v.escaped_symbols = !unigram && !model.add_dummy_prefix; // otherwise each would get a prefix
    v.add_space_prefix = model.add_dummy_prefix;
    v.remove_extra_whitespaces = model.remove_extra_whitespaces;
    return v;
}

} // namespace

bool has_sentence_piece_file(const fs::path& directory, const JsonValue& tokenizer_config,
                             std::string_view model_type) {
    return pieces_for(tokenizer_config, model_type) != PiecesFor::nobody && !sentence_piece_file(directory).empty();
}

std::unique_ptr<Tokenizer> tokenizer_from_sentence_piece_file(const fs::path& directory,
                                                              const JsonValue& tokenizer_config,
                                                              std::string_view model_type) {
    const bool t5 = pieces_for(tokenizer_config, model_type) == PiecesFor::t5;
    const fs::path path = sentence_piece_file(directory);
    const std::string where = printable_path(path);
    SentencePieceModel model = read_model(path, t5 ? SentencePieceModel::unigram : SentencePieceModel::bpe);
    if (!t5 && (!model.charsmap.empty() || model.remove_extra_whitespaces))
        fail(ErrorCode::model, where, ": normalizer_spec: expected a text that is left as it is, as Llama's, found ",
             model.charsmap.empty() ? "remove_extra_whitespaces 1" : "a precompiled_charsmap");
    if (model.unknown < 0 || static_cast<std::size_t>(model.unknown) >= model.pieces.size())
        fail(ErrorCode::model, where, ": trainer_spec.unk_id: expected the id of one of ", model.pieces.size(),
             " pieces, found ", model.unknown);
    const std::int32_t start = model.start, end = model.end;
    GgufVocabulary v = vocabulary_of(std::move(model));
    MoreTokens more(v, where);
    add_listed(directory, tokenizer_config, more);
    if (t5) add_extra_ids(tokenizer_config, model_type, where, v, more);
    more.put();
    v.bos = special_piece(v, text_of(tokenizer_config, "bos_token"), start);
    v.eos = special_piece(v, text_of(tokenizer_config, "eos_token"), end);
    v.add_bos = flag_of(tokenizer_config, "add_bos_token", !t5);
    v.add_eos = flag_of(tokenizer_config, "add_eos_token", t5);
    return tokenizer_from_gguf(v, where);
}

std::string unread_tokenizer_files(const fs::path& directory) {
    std::string found;
    for (const char* name : {"vocab.json", "merges.txt", "vocab.txt", "tokenizer.model", "spiece.model",
                             "sentencepiece.bpe.model", "source.spm", "target.spm", "tekken.json"})
        if (is_there(directory / name)) found.append(found.empty() ? "" : ", ").append(name);
    return found;
}

} // namespace ordo
