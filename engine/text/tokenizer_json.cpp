// SPDX-License-Identifier: MIT
// Tokenizers as tokenizer.json, version 1.0 of Hugging Face's format. What is read is GPT-2's kind: a
// model BPE over GPT-2's byte alphabet, cut by ByteLevel. That library keeps components it does not
// know out of the result; here each is an error, since tokens that are nearly right ruin a model.
#include "core/error.h"
#include "io/json_writer.h"
#include "text/bpe_tokenizer.h"
#include "text/byte_alphabet.h"
#include "text/tokenizer_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

namespace ordo {
namespace {

// ---- Reading ----------------------------------------------------------------------------------

bool is_null(const JsonValue& object, std::string_view key) {
    const JsonValue* value = find_member(object, key);
    return value == nullptr || value->is_null();
}

bool is_text(const JsonValue& value, std::string_view text) {
    return value.string() && *value.string() == text;
}

// What a component calls itself, for messages.
std::string name_of(const JsonValue& component) {
    const JsonValue* type = find_member(component, "type");
    return describe(type != nullptr ? *type : component);
}

void require_absent(const JsonValue& object, std::string_view key, std::string_view where) {
    if (!is_null(object, key))
        fail(ErrorCode::model, where, ": ", key, ": expected null, found ", name_of(get_member(object, key, where)),
             ", which is not supported");
}

// A component that must be ByteLevel.
const JsonValue& byte_level(const JsonValue& root, std::string_view key, std::string_view where) {
    const JsonValue& component = get_member(root, key, where);
    const JsonValue* type = find_member(component, "type");
    if (type == nullptr || !is_text(*type, "ByteLevel"))
        fail(ErrorCode::model, where, ": ", key, ": expected ByteLevel, found ", name_of(component),
             ", which is not supported");
    check_keys(component, std::string(where) + ": " + std::string(key),
               {"type", "add_prefix_space", "trim_offsets", "use_regex"});
    return component;
}

// A flag that has only one supported value.
void require_flag(const JsonValue& object, std::string_view key, std::string_view where, bool expected) {
    if (get_bool(object, key, where) != expected)
        fail(ErrorCode::model, where, ": ", key, ": expected ", expected ? "true" : "false", ", found ",
             expected ? "false" : "true", ", which is not supported");
}

void check_pipeline(const JsonValue& root, std::string_view where) {
    check_keys(root, where,
               {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                "decoder", "model"});
    if (const std::string& version = get_string(root, "version", where); version != "1.0")
        fail(ErrorCode::model, where, ": version: expected 1.0, found ", printable(version));
    for (const std::string_view key : {"truncation", "padding", "normalizer"}) require_absent(root, key, where);
    const std::string in_pre_tokenizer = std::string(where) + ": pre_tokenizer";
    const JsonValue& pre_tokenizer = byte_level(root, "pre_tokenizer", where);
    require_flag(pre_tokenizer, "add_prefix_space", in_pre_tokenizer, false);
    if (find_member(pre_tokenizer, "use_regex") != nullptr)
        require_flag(pre_tokenizer, "use_regex", in_pre_tokenizer, true);
    byte_level(root, "decoder", where);
    if (!is_null(root, "post_processor")) byte_level(root, "post_processor", where); // it trims offsets, no more
}

void check_model(const JsonValue& model, std::string_view where) {
    check_keys(model, where,
               {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                "byte_fallback", "ignore_merges", "vocab", "merges"});
    if (const JsonValue* type = find_member(model, "type");
        type != nullptr && !is_text(*type, "BPE")) // GPT-2's own file has none
        fail(ErrorCode::model, where, ": type: expected BPE, found ", describe(*type), ", which is not supported");
    require_absent(model, "dropout", where);
    for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"})
        if (!is_null(model, key) && !get_string(model, key, where).empty()) require_absent(model, key, where);
    for (const std::string_view key : {"byte_fallback", "ignore_merges"})
        if (find_member(model, key) != nullptr) require_flag(model, key, where, false);
    // unk_token and fuse_unk say what becomes of a byte without a token, and there is none.
}

// Ids to the vocabulary's own spelling of them.
std::vector<std::string_view> read_vocab(const TokenizerFile& file, const std::string& where) {
    std::vector<std::string_view> spelled(file.vocab.size());
    for (std::size_t i = 0; i < file.vocab.size(); ++i) {
        const std::string_view key = file.vocab[i];
        const auto id = static_cast<std::size_t>(file.ids[i]);
        if (id >= spelled.size())
            fail(ErrorCode::model, where, ": '", printable(key), "': expected an integer from 0 to ",
                 spelled.size() - 1, ", found ", id);
        if (key.empty()) fail(ErrorCode::model, where, ": expected tokens of at least a byte, found an empty one");
        if (!spelled[id].empty())
            fail(ErrorCode::model, where, ": id ", id, ": expected one token, found \"", printable(spelled[id]),
                 "\" and \"", printable(key), '"');
        spelled[id] = key;
    }
    return spelled;
}

// Spellings to ids, of which three are looked up for each merge: a table at most half full, in which a
// spelling stands at the first free place from that which its hash names. The hash has keys of the process, since a
// file that knew it could choose spellings that collide. It folds products of 128 bits, as wyhash does.
class Ids {
public:
    Ids(const std::vector<std::string_view>& spelled, const std::string& where)
        : spelled_(spelled), places_(std::bit_ceil(2 * spelled.size() + 1), absent) {
        std::random_device device;
        for (std::uint64_t& key : keys_) key = std::uint64_t{device()} << 32 | device();
        for (std::size_t id = 0; id < spelled.size(); ++id) {
            Token& place = places_[place_of(spelled[id])];
            if (place != absent) fail(ErrorCode::model, where, ": key '", printable(spelled[id]), "' appears twice");
            place = static_cast<Token>(id);
        }
    }
    // absent if there is none.
    Token find(std::string_view spelled) const { return places_[place_of(spelled)]; }

    static constexpr Token absent = -1;

private:
    // Where it stands, or would.
    std::size_t place_of(std::string_view spelled) const {
        const std::size_t mask = places_.size() - 1;
        std::size_t i = hash(spelled) & mask;
        while (places_[i] != absent && spelled_[static_cast<std::size_t>(places_[i])] != spelled) i = (i + 1) & mask;
        return i;
    }

    std::uint64_t hash(std::string_view spelled) const {
        const auto mix = [](std::uint64_t a, std::uint64_t b) {
            __extension__ using Wide = unsigned __int128;
            const Wide product = Wide{a} * b;
            return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
        };
        std::uint64_t h = keys_[0] ^ spelled.size();
        for (; !spelled.empty(); spelled.remove_prefix(std::min<std::size_t>(8, spelled.size()))) {
            std::uint64_t word = 0;
            std::memcpy(&word, spelled.data(), std::min<std::size_t>(8, spelled.size()));
            h = mix(word ^ keys_[1], h ^ keys_[2]);
        }
        return h;
    }

    const std::vector<std::string_view>& spelled_;
    std::vector<Token> places_;
    std::uint64_t keys_[3];
};

std::vector<Merge> read_merges(const PackedStrings& pairs, const Ids& ids, const std::string& where) {
    std::vector<Merge> merges;
    merges.reserve(pairs.size() / 2);
    const auto find = [&](std::string_view spelled) {
        const Token id = ids.find(spelled);
        if (id == Ids::absent)
            fail(ErrorCode::model, where, "[", merges.size(), "]: \"", printable(spelled),
                 "\" is not in the vocabulary");
        return id;
    };
    std::string product;
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
        const std::string_view left = pairs[i], right = pairs[i + 1];
        product.assign(left).append(right);
        const Token left_id = find(left), right_id = find(right);
        merges.push_back({left_id, right_id, find(product)});
    }
    return merges;
}

void check_repeats(const MergeTable& table, const std::string& where) {
    for (std::size_t i = 0; i < table.merges().size(); ++i) {
        const Merge& merge = table.merges()[i];
        if (const std::uint32_t first = table.rank(merge.left, merge.right); first != i)
            fail(ErrorCode::model, where, "[", i, "]: repeats merge ", first);
    }
}

AddedToken read_added_token(const JsonValue& object, const std::string& where) {
    check_keys(object, where, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    for (const std::string_view key : {"single_word", "lstrip", "rstrip"}) require_flag(object, key, where, false);
    AddedToken token;
    token.content = get_string(object, "content", where);
    if (token.content.empty() || token.content.size() > AddedTokens::max_length)
        fail(ErrorCode::model, where, ": content: expected 1 to ", AddedTokens::max_length, " bytes, found ",
             token.content.size());
    token.id = static_cast<Token>(get_int(object, "id", where, 0, TokenizerFile::max_entries - 1));
    token.special = get_bool(object, "special", where);
    token.normalized = get_bool(object, "normalized", where);
    return token;
}

// An added token either repeats an entry of the vocabulary or takes the next free id. One that stands in
// the byte alphabet for other bytes than its own would make those bytes decode to something else.
std::vector<AddedToken> read_added_tokens(const JsonValue::Array& list, const Ids& ids, std::size_t vocab_size,
                                          const std::string& where) {
    std::vector<AddedToken> tokens;
    std::size_t next_id = vocab_size;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string here = where + "[" + std::to_string(i) + "]";
        AddedToken token = read_added_token(list[i], here);
        const Token known = ids.find(token.content);
        const auto expected = known != Ids::absent ? static_cast<std::size_t>(known) : next_id++;
        if (static_cast<std::size_t>(token.id) != expected)
            fail(ErrorCode::model, here, ": \"", printable(token.content), "\": expected id ", expected, ", found ",
                 token.id);
        const auto bytes = unspell_bytes(token.content);
        if (known != Ids::absent && bytes && *bytes != token.content)
            fail(ErrorCode::model, here, ": \"", printable(token.content),
                 "\" is the vocabulary's spelling of other bytes");
        tokens.push_back(std::move(token));
    }
    std::vector<std::string_view> contents;
    contents.reserve(tokens.size());
    for (const AddedToken& token : tokens) contents.push_back(token.content);
    std::sort(contents.begin(), contents.end());
    if (const auto twice = std::adjacent_find(contents.begin(), contents.end()); twice != contents.end())
        fail(ErrorCode::model, where, ": \"", printable(*twice), "\" is added twice");
    return tokens;
}

// The bytes of each id of the vocabulary, the 256 single ones among them.
std::vector<std::string> read_bytes(const std::vector<std::string_view>& spelled, const AddedTokens& added,
                                    const std::string& where) {
    std::vector<std::string> tokens;
    tokens.reserve(spelled.size());
    std::array<bool, 256> present{};
    for (const std::string_view key : spelled) {
        auto bytes = unspell_bytes(key);
        if (!bytes && added.find(key) == nullptr)
            fail(ErrorCode::model, where, ": \"", printable(key), "\" is not in GPT-2's byte alphabet");
        if (bytes && bytes->size() == 1) present[static_cast<unsigned char>(bytes->front())] = true;
        tokens.push_back(bytes ? std::move(*bytes) : std::string(key));
    }
    if (const auto at = std::find(present.begin(), present.end(), false); at != present.end()) {
        const auto byte = at - present.begin();
        fail(ErrorCode::model, where, ": expected a token for each byte, found none for byte ", byte, ", spelled ",
             spell_bytes(std::string(1, static_cast<char>(byte))));
    }
    return tokens;
}

// ---- Writing ----------------------------------------------------------------------------------

void write_added_tokens(std::vector<AddedToken> tokens, std::string& out) {
    std::sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    const char* separator = "\n    ";
    for (const AddedToken& token : tokens) {
        out += separator;
        out += "{\"id\": " + std::to_string(token.id) + ", \"content\": " + json_quoted(token.content) +
               ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": " +
               (token.normalized ? "true" : "false") + ", \"special\": " + (token.special ? "true" : "false") + "}";
        separator = ",\n    ";
    }
}

} // namespace

std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json, std::string_view where) {
    const TokenizerFile file = read_tokenizer_file(json, where);
    const std::string in_model = std::string(where) + ": model";
    check_pipeline(file.rest, where);
    const JsonValue& model = get_object(file.rest, "model", where);
    check_model(model, in_model);
    get_object(model, "vocab", in_model);
    get_array(model, "merges", in_model);
    const std::vector<std::string_view> spelled = read_vocab(file, in_model + ".vocab");
    const Ids ids(spelled, in_model + ".vocab");
    BpeParts parts;
    if (find_member(file.rest, "added_tokens") != nullptr)
        parts.added = read_added_tokens(get_array(file.rest, "added_tokens", where), ids, spelled.size(),
                                        std::string(where) + ": added_tokens");
    parts.tokens = read_bytes(spelled, AddedTokens(parts.added), in_model + ".vocab");
    parts.merges = read_merges(file.merges, ids, in_model + ".merges");
    auto tokenizer = std::make_unique<BpeTokenizer>(std::move(parts));
    check_repeats(tokenizer->merges(), in_model + ".merges");
    return tokenizer;
}

std::string BpeTokenizer::to_json() const {
    const auto spelling = [&](Token id) {
        const std::string& bytes = tokens_[static_cast<std::size_t>(id)];
        const AddedToken* added = added_.find(bytes);
        return added != nullptr && added->id == id ? bytes : spell_bytes(bytes);
    };
    std::string out =
        "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n  \"added_tokens\": [";
    write_added_tokens(added_.all(), out);
    out += "\n  ],\n  \"normalizer\": null,\n"
           "  \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, "
           "\"use_regex\": true},\n  \"post_processor\": null,\n"
           "  \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, "
           "\"use_regex\": true},\n"
           "  \"model\": {\n    \"type\": \"BPE\",\n    \"dropout\": null,\n    \"unk_token\": null,\n"
           "    \"continuing_subword_prefix\": null,\n    \"end_of_word_suffix\": null,\n    \"fuse_unk\": false,\n"
           "    \"byte_fallback\": false,\n    \"ignore_merges\": false,\n    \"vocab\": {";
    for (std::size_t id = 0; id < model_size_; ++id)
        out += (id == 0 ? "\n      " : ",\n      ") + json_quoted(spelling(static_cast<Token>(id))) + ": " +
               std::to_string(id);
    out += "\n    },\n    \"merges\": [";
    const char* separator = "\n      ";
    for (const Merge& merge : merges_.merges()) { // "a b": older readers do not know ["a", "b"]
        out += separator + json_quoted(spelling(merge.left) + " " + spelling(merge.right));
        separator = ",\n      ";
    }
    out += "\n    ]\n  }\n}\n";
    return out;
}

} // namespace ordo
