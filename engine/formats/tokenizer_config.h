// SPDX-License-Identifier: MIT
// What tokenizer_config.json and its like say, and whether such a file is there.
#pragma once

#include "io/json.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ordo {

bool is_there(const std::filesystem::path& path);

// The text of a member, {"key": "text"} or {"key": {"content": "text"}}. Null: it has none.
const std::string* text_of(const JsonValue& object, std::string_view key);
bool flag_of(const JsonValue& object, std::string_view key, bool otherwise);

// added_tokens_decoder: {"50256": {"content": ..., "special": true}}
struct AddedTokenEntry {
    std::uint64_t id;
    const std::string& content;
    const JsonValue& token;
};
// Throws Error(model), in which `where` names the file.
std::vector<AddedTokenEntry> added_token_entries(const JsonValue& decoder, const std::string& where);

} // namespace ordo
