// SPDX-License-Identifier: MIT
#include "formats/tokenizer_config.h"

#include "core/error.h"
#include "core/utf8.h"
#include "io/file.h"
#include "io/file_kind.h"

#include <system_error>

namespace ordo {

bool is_there(const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::exists(path, error);
}

std::string read_text_file(const std::filesystem::path& path, std::size_t most, const char* expected) {
    std::string text = read_file(path, most);
    if (const FileKind* kind = binary_kind(std::string_view(text).substr(0, file_kind_bytes)))
        fail(ErrorCode::model, printable_path(path), ": expected ", expected, ", found ", kind->text());
    return text;
}

JsonValue read_json_file(const std::filesystem::path& path, std::size_t most) {
    if (!is_there(path)) return {};
    const std::string text = read_text_file(path, most);
    JsonValue value = parse_json(text, printable_path(path), json_config_limits);
    if (!value.object())
        fail(ErrorCode::model, printable_path(path), ": expected a JSON object, found ", describe(value));
    return value;
}

const std::string* text_of(const JsonValue& object, std::string_view key) {
    const JsonValue* value = find_member(object, key);
    if (value != nullptr && value->object()) value = find_member(*value, "content");
    return value == nullptr ? nullptr : value->string();
}

bool flag_of(const JsonValue& object, std::string_view key, bool otherwise) {
    const JsonValue* const flag = find_member(object, key);
    return flag != nullptr && flag->boolean() ? *flag->boolean() : otherwise;
}

std::vector<AddedTokenEntry> added_token_entries(const JsonValue& decoder, const std::string& where) {
    std::vector<AddedTokenEntry> entries;
    for (const auto& [key, token] : *decoder.object()) {
        const bool digits = !key.empty() && key.size() < 8 && key.find_first_not_of("0123456789") == key.npos;
        const std::string* const content = token.object() ? text_of(token, "content") : nullptr;
        if (!digits || content == nullptr)
            fail(ErrorCode::model, where, ": 'added_tokens_decoder': '", printable(key),
                 "': expected an id and a token with its content, found ", describe(token));
        entries.push_back({std::stoul(key), *content, token});
    }
    return entries;
}

} // namespace ordo
