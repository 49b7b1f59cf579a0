// SPDX-License-Identifier: MIT
// Tokenizers from tokenizer.json, version 1.0 of Hugging Face's format. An unknown type is an error, since almost
// correct tokens ruin a model. An unknown key is ignored, as in that library.
#include "core/error.h"
#include "text/foreign_keys.h"
#include "text/pipeline.h"

#include <algorithm>

namespace ordo {
namespace {

void check_top(const JsonValue& root, std::string_view where) {
    if (const std::string& version = get_string(root, "version", where); version != "1.0")
        fail(ErrorCode::model, where, ": version: expected 1.0, found ", printable(version));
    for (const std::string_view key : {"truncation", "padding"})
        if (!is_null(root, key)) get_object(root, key, where);
}

AddedToken read_added_token(const JsonValue& object, const std::string& where) {
    AddedToken token;
    token.content = get_string(object, "content", where);
    if (token.content.empty() || token.content.size() > AddedTokens::max_length)
        fail(ErrorCode::model, where, ": content: expected 1 to ", AddedTokens::max_length, " bytes, found ",
             token.content.size());
    token.id = static_cast<Token>(get_int(object, "id", where, 0, TokenizerFile::max_entries - 1));
    token.special = get_bool(object, "special", where);
    token.normalized = get_bool(object, "normalized", where);
    token.single_word = get_bool(object, "single_word", where);
    token.lstrip = get_bool(object, "lstrip", where);
    token.rstrip = get_bool(object, "rstrip", where);
    return token;
}

std::vector<AddedToken> read_added_tokens(const JsonValue& root, std::string_view in) {
    std::vector<AddedToken> tokens;
    if (find_member(root, "added_tokens") == nullptr) return tokens;
    const std::string where = std::string(in) + ": added_tokens";
    for (const JsonValue& object : get_array(root, "added_tokens", in))
        tokens.push_back(read_added_token(object, where + "[" + std::to_string(tokens.size()) + "]"));
    std::vector<std::string_view> contents;
    contents.reserve(tokens.size());
    for (const AddedToken& token : tokens) contents.push_back(token.content);
    std::sort(contents.begin(), contents.end());
    if (const auto twice = std::adjacent_find(contents.begin(), contents.end()); twice != contents.end())
        fail(ErrorCode::model, where, ": \"", printable(*twice), "\" is added twice");
    return tokens;
}

// The most unused ids, far more than in any published vocabulary (gpt-4o's has 17). The file does not give the number
// of ids, so this limits the memory by its entries.
constexpr std::size_t max_unused = 1 << 16;

// Each added token must repeat an entry of the vocabulary or use an id outside it. Returns the number of ids.
int check_ids(const std::vector<AddedToken>& added, const Vocabulary& vocabulary, std::string_view where) {
    const std::size_t most = vocabulary.size() + added.size() + max_unused;
    std::vector<std::string_view> names;
    names.reserve(most);
    for (std::size_t id = 0; id < vocabulary.size(); ++id) names.push_back(vocabulary[id]);
    for (std::size_t i = 0; i < added.size(); ++i) {
        const AddedToken& token = added[i];
        const auto refuse = [&](const auto&... what) {
            fail(ErrorCode::model, where, ": added_tokens[", i, "]: \"", printable(token.content), "\": ", what...);
        };
        const auto id = static_cast<std::size_t>(token.id);
        if (const Token known = vocabulary.find(token.content); known != Vocabulary::absent && known != token.id)
            refuse("expected id ", known, ", found ", id);
        if (id >= most) refuse("expected an id from 0 to ", most - 1, ", found ", id);
        if (id >= names.size()) names.resize(id + 1);
        if (!names[id].empty() && names[id] != token.content)
            refuse("id ", id, " is that of \"", printable(names[id]), '"');
        names[id] = token.content;
    }
    if (names.empty()) fail(ErrorCode::model, where, ": model.vocab: expected tokens, found none");
    return static_cast<int>(names.size());
}

// The type of a model in a file without one, as in the first files. It is found from the model's members.
std::string unnamed_kind(const JsonValue& model, const std::string& where) {
    const JsonValue* const vocab = find_member(model, "vocab");
    if (vocab != nullptr && vocab->array()) return "Unigram";
    if (find_member(model, "merges") != nullptr) return "BPE";
    if (find_member(model, "continuing_subword_prefix") != nullptr) return "WordPiece";
    if (find_member(model, "unk_token") != nullptr) return "WordLevel";
    fail(ErrorCode::model, where, ": type: expected BPE, Unigram, WordLevel or WordPiece, found none, and neither ",
         "merges nor unk_token");
}

// Adds the type of its model to the file, so that only this function has to guess it.
void name_kind(JsonValue& root, const std::string& where) {
    const JsonValue& model = get_object(root, "model", where);
    if (find_member(model, "type") != nullptr) return;
    const std::string kind = unnamed_kind(model, where + ": model");
    for (JsonValue::Member& member : *root.object())
        if (member.key == "model") member.value.object()->push_back({"type", JsonValue(std::string(kind))});
}

// The type of a model. Checks that its vocabulary has the form for that type.
std::string kind_of(const JsonValue& model, const std::string& where) {
    std::string kind = get_string(model, "type", where);
    const bool scored = kind == "Unigram" || kind == "ScoredBPE";
    if (!scored && kind != "BPE" && kind != "WordPiece" && kind != "WordLevel")
        fail(ErrorCode::model, where, ": type: \"", printable(kind),
             "\" is not supported; BPE, Unigram, WordLevel and WordPiece are");
    if (scored) {
        get_array(model, "vocab", where);
    } else {
        get_object(model, "vocab", where);
    }
    return kind;
}

std::unique_ptr<const TokenModel> make_model(const std::string& kind, const ModelParts& parts) {
    if (kind == "Unigram") return make_unigram(parts);
    if (kind == "ScoredBPE") return make_scored_bpe(parts);
    if (kind == "WordPiece") return make_word_piece(parts);
    if (kind == "WordLevel") return make_word_level(parts);
    return make_bpe(parts);
}

std::vector<bool> special_ids(const std::vector<AddedToken>& added, std::size_t n) {
    std::vector<bool> special(n);
    for (const AddedToken& token : added)
        if (token.special && static_cast<std::size_t>(token.id) < n) special[token.id] = true;
    return special;
}

} // namespace

std::unique_ptr<Tokenizer> make_tokenizer(TokenizerFile file, std::string_view in) {
    const std::string where(in);
    check_top(file.rest, where);
    name_kind(file.rest, where);
    static const JsonValue null;
    const auto component = [&](std::string_view key) -> const JsonValue& {
        const JsonValue* found = find_member(file.rest, key);
        return found != nullptr ? *found : null;
    };
    Pipeline p;
    for (const std::string& line : foreign_keys(file.rest)) p.ignored.push_back(where + ": " + line);
    std::vector<AddedToken> added = read_added_tokens(file.rest, where);
    const std::string kind = kind_of(get_object(file.rest, "model", where), where + ": model");
    const std::size_t most = file.vocab.size() + added.size() + max_unused; // an added token may have an id among them
    p.vocabulary =
        std::make_unique<const Vocabulary>(file.vocab, file.ids, most, !file.repeats, where + ": model.vocab");
    p.n_tokens = check_ids(added, *p.vocabulary, where);
    p.normalize = make_normalizer(component("normalizer"), where + ": normalizer");
    bool bytes = false; // whether pieces are the bytes for the model
    p.cut = make_pre_tokenizer(component("pre_tokenizer"), where + ": pre_tokenizer", kind == "BPE" ? &bytes : nullptr);
    p.model =
        make_model(kind, {file, *p.vocabulary, special_ids(added, p.vocabulary->size()), bytes, where + ": model"});
    p.decode = make_decoder(component("decoder"), where + ": decoder");
    p.decodes_bytes = decodes_bytes(component("decoder"), where + ": decoder");
    p.frame = make_frame(component("post_processor"), static_cast<std::size_t>(p.n_tokens), where + ": post_processor");
    p.added = AddedTokens(std::move(added), p.normalize, where + ": added_tokens");
    p.file = std::move(file);
    p.file.vocab = {};
    p.file.ids = {};
    return make_tokenizer(std::move(p), where + ": decoder");
}

std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json, std::string_view where) {
    return make_tokenizer(read_tokenizer_file(json, where), where);
}

} // namespace ordo
