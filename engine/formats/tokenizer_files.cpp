// SPDX-License-Identifier: MIT
#include "formats/tokenizer_files.h"

#include "core/error.h"
#include "core/utf8.h"
#include "io/file.h"
#include "io/json_writer.h"

#include <algorithm>
#include <map>

namespace ordo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view vocab_name = "vocab.json", merges_name = "merges.txt";

bool is_there(const fs::path& path) {
    std::error_code error;
    return fs::exists(path, error);
}

const std::string* text_of(const JsonValue& object, std::string_view key) {
    const JsonValue* value = find_member(object, key);
    if (value != nullptr && value->object()) value = find_member(*value, "content");
    return value == nullptr ? nullptr : value->string();
}

// Added tokens by id, as the members of a tokenizer.json.
class AddedTokenList {
public:
    AddedTokenList(const JsonValue& vocab, std::string where) : vocab_(vocab), where_(std::move(where)) {}

    void add(std::uint64_t id, std::string_view content, const JsonValue* flags) {
        std::string text = "{\"id\":" + std::to_string(id) + ",\"content\":" + json_quoted(content);
        for (const char* key : {"single_word", "lstrip", "rstrip", "normalized", "special"}) {
            const JsonValue* const flag = flags == nullptr ? nullptr : find_member(*flags, key);
            const bool usual = std::string_view(key) == "special";
            const bool set = flag != nullptr && flag->boolean() ? *flag->boolean() : usual;
            text += std::string(",\"") + key + "\":" + (set ? "true" : "false");
        }
        tokens_.emplace(id, text + "}");
    }
    // A token that is known by its name.
    void add(const std::string* content) {
        if (content == nullptr) return;
        const JsonValue* const id = find_member(vocab_, *content);
        if (id != nullptr && id->unsigned_integer()) add(*id->unsigned_integer(), *content, nullptr);
    }
    // added_tokens_decoder: {"50256": {"content": ..., "special": true}}
    void add_all(const JsonValue& decoder) {
        for (const auto& [key, token] : *decoder.object()) {
            const bool digits = !key.empty() && key.size() < 8 && key.find_first_not_of("0123456789") == key.npos;
            const std::string* const content = token.object() ? text_of(token, "content") : nullptr;
            if (!digits || content == nullptr)
                fail(ErrorCode::model, where_, ": 'added_tokens_decoder': '", printable(key),
                     "': expected an id and a token with its content, found ", describe(token));
            add(std::stoul(key), *content, &token);
        }
    }
    std::string json() const {
        std::string all;
        for (const auto& [id, token] : tokens_) all += (all.empty() ? "" : ",") + token;
        return "[" + all + "]";
    }

private:
    const JsonValue& vocab_;
    std::string where_;
    std::map<std::uint64_t, std::string> tokens_;
};

std::string added_tokens(const JsonValue& vocab, const JsonValue& config, const JsonValue& map, const fs::path& in) {
    AddedTokenList list(vocab, printable_path(in / "tokenizer_config.json"));
    if (const JsonValue* decoder = find_member(config, "added_tokens_decoder"); decoder != nullptr && decoder->object())
        list.add_all(*decoder);
    for (const char* key : {"bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"})
        for (const JsonValue* object : {&config, &map}) list.add(text_of(*object, key));
    const std::string usual = "<|endoftext|>"; // of the class, whatever files say
    list.add(&usual);
    return list.json();
}

// Lines of two tokens each behind one of the version.
std::string merges(const fs::path& path) {
    const std::string text = read_file(path, json_tokenizer_limits.bytes);
    if (!utf8_valid(text)) fail(ErrorCode::model, printable_path(path), ": expected UTF-8");
    std::string all;
    for (std::string_view rest = text; !rest.empty();) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty() || line.starts_with("#version")) continue;
        all += (all.empty() ? "" : ",") + json_quoted(line);
    }
    return "[" + all + "]";
}

} // namespace

bool has_gpt2_files(const fs::path& directory, const JsonValue& tokenizer_config, std::string_view model_type) {
    if (!is_there(directory / vocab_name) || !is_there(directory / merges_name)) return false;
    const std::string* name = text_of(tokenizer_config, "tokenizer_class");
    if (name == nullptr) return model_type == "gpt2" || model_type == "opt";
    return *name == "GPT2Tokenizer" || *name == "GPT2TokenizerFast";
}

std::unique_ptr<Tokenizer> tokenizer_from_gpt2_files(const fs::path& directory, const JsonValue& tokenizer_config,
                                                     const JsonValue& special_tokens_map) {
    const fs::path vocab_path = directory / vocab_name;
    const std::string vocab = read_file(vocab_path, json_tokenizer_limits.bytes);
    const JsonValue ids = parse_json(vocab, printable_path(vocab_path), json_tokenizer_limits);
    if (!ids.object())
        fail(ErrorCode::model, printable_path(vocab_path), ": expected a JSON object, found ", describe(ids));
    const JsonValue* const space = find_member(tokenizer_config, "add_prefix_space");
    const bool prefix = space != nullptr && space->boolean() && *space->boolean();
    const std::string json =
        R"({"version":"1.0","truncation":null,"padding":null,"normalizer":null,"post_processor":null,)"
        R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":)" +
        std::string(prefix ? "true" : "false") +
        R"(,"trim_offsets":true,"use_regex":true},)"
        R"("decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},"added_tokens":)" +
        added_tokens(ids, tokenizer_config, special_tokens_map, directory) + R"(,"model":{"type":"BPE","vocab":)" +
        vocab + R"(,"merges":)" + merges(directory / merges_name) + "}}";
    return tokenizer_from_json(json, printable_path(directory) + ": vocab.json and merges.txt");
}

std::string unread_tokenizer_files(const fs::path& directory) {
    std::string found;
    for (const char* name : {"vocab.json", "merges.txt", "vocab.txt", "tokenizer.model", "spiece.model",
                             "sentencepiece.bpe.model", "source.spm", "target.spm", "tekken.json"})
        if (is_there(directory / name)) found.append(found.empty() ? "" : ", ").append(name);
    return found;
}

} // namespace ordo
