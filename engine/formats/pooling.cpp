// SPDX-License-Identifier: MIT
#include "formats/pooling.h"

#include "core/error.h"
#include "core/utf8.h"
#include "formats/tokenizer_config.h"
#include "io/json.h"
#include "model/model_file.h"

#include <algorithm>
#include <array>

namespace ordo {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_bytes = std::size_t{1} << 20;

JsonValue read_json(const fs::path& path) {
    return parse_json(read_text_file(path, most_bytes), printable_path(path), json_config_limits);
}

// Several poolings are joined there, "first+mean", which is unsupported.
std::string pooling_of(const fs::path& path) {
    const JsonValue config = read_json(path);
    if (const JsonValue* named = find_member(config, "pooling_mode"); named != nullptr && named->string()) {
        const std::string& mode = *named->string();
        return mode == "cls" ? "first" : mode == "lasttoken" ? "last" : printable(mode);
    }
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> modes = {
        {{"pooling_mode_cls_token", "first"},
         {"pooling_mode_mean_tokens", "mean"},
         {"pooling_mode_max_tokens", "max"},
         {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len"},
         {"pooling_mode_weightedmean_tokens", "weightedmean"},
         {"pooling_mode_lasttoken", "last"}}};
    std::string all;
    for (const auto& [key, name] : modes) {
        const JsonValue* const value = find_member(config, key);
        if (value != nullptr && value->boolean() && *value->boolean())
            all += (all.empty() ? "" : "+") + std::string(name);
    }
    return all.empty() ? "none" : all;
}

std::string string_of(const JsonValue& object, std::string_view key) {
    const JsonValue* const value = find_member(object, key);
    return value != nullptr && value->string() ? *value->string() : std::string();
}

// Whether a folder is outside the directory itself.
bool leads_outside(const std::string& name) {
    return name.empty() || name.find_first_of("/\\") != name.npos || name == "." || name == "..";
}

void read_modules(const fs::path& directory, Source& source) {
    const fs::path path = directory / "modules.json";
    const JsonValue modules = read_json(path);
    if (!modules.array()) fail(ErrorCode::model, printable_path(path), ": expected a list, found ", describe(modules));
    bool normalises = false;
    for (const JsonValue& module : *modules.array()) {
        const std::string type = string_of(module, "type"), folder = string_of(module, "path");
        const std::string kind = type.substr(type.rfind('.') + 1);
        if (kind == "Pooling" && leads_outside(folder))
            fail(ErrorCode::model, printable_path(path),
                 ": 'path': expected the name of a folder in this directory, found '", printable(folder), "'");
        if (kind == "Pooling" && is_there(directory / folder / "config.json"))
            source.metadata[std::string(key_pooling)] = pooling_of(directory / folder / "config.json");
        normalises = normalises || kind == "Normalize";
        if (kind != "Transformer" && kind != "Pooling" && kind != "Normalize")
            source.warnings.push_back("modules.json: expected Transformer, Pooling and Normalize, found " +
                                      printable(type) + ", which ordo embed leaves out");
    }
    source.metadata[std::string(key_normalised)] = normalises ? "true" : "false";
}

} // namespace

void read_pooling(const fs::path& directory, Source& source) {
    if (is_there(directory / "modules.json")) return read_modules(directory, source);
    const fs::path usual = directory / "1_Pooling" / "config.json";
    if (is_there(usual)) source.metadata[std::string(key_pooling)] = pooling_of(usual);
}

void read_gguf_pooling(const Gguf& file, const std::string& architecture, Metadata& metadata) {
    // 0 is none, a vector for each token, for which there is no entry.
    constexpr std::array<std::string_view, 5> names = {"", "mean", "first", "last", "rank"};
    const auto type = file.integer(architecture + ".pooling_type", -1, 1 << 20).value_or(0);
    const auto i = static_cast<std::size_t>(type);
    if (type > 0) metadata[std::string(key_pooling)] = i < names.size() ? std::string(names[i]) : std::to_string(type);
}

} // namespace ordo
