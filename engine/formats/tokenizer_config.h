// SPDX-License-Identifier: MIT
// The JSON files of a directory: their existence, their content, and the parts of tokenizer_config.json.
#pragma once

#include "io/json.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ordo {

inline constexpr std::size_t most_config = std::size_t{4} << 20; // bytes

bool is_there(const std::filesystem::path& path);
// The text of a file. Throws Error, also for a file whose first bytes show another kind than the expected one, such as
// a Git LFS pointer.
std::string read_text_file(const std::filesystem::path& path, std::size_t most, const char* expected = "JSON");
// The JSON object in a file; null if the file is missing. Throws Error.
JsonValue read_json_file(const std::filesystem::path& path, std::size_t most = most_config);

// The text of a member, {"key": "text"} or {"key": {"content": "text"}}; null if there is none.
const std::string* text_of(const JsonValue& object, std::string_view key);
bool flag_of(const JsonValue& object, std::string_view key, bool otherwise);

// added_tokens_decoder: {"50256": {"content": ..., "special": true}}
struct AddedTokenEntry {
    std::uint64_t id;
    const std::string& content;
    const JsonValue& token;
};
// Throws Error(model); `where` names the file.
std::vector<AddedTokenEntry> added_token_entries(const JsonValue& decoder, const std::string& where);

} // namespace ordo
