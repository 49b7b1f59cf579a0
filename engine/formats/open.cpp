// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "formats/gguf/export.h"
#include "formats/llama2c.h"
#include "formats/source.h"
#include "io/file_kind.h"
#include "io/json.h"
#include "model/model_file.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

namespace ordo {
namespace {

std::string start_of(const std::filesystem::path& path) {
    const File file(path);
    std::string start(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), file_kind_bytes)), '\0');
    file.read(0, std::as_writable_bytes(std::span(start)));
    return start;
}

// By its first bytes, or, so that anything else is refused as what it was meant to be, by its name.
bool is_gguf(const std::filesystem::path& path) {
    const std::string start = start_of(path);
    return start.starts_with("GGUF") || (names_gguf(path) && !like_safetensors(start));
}

// Names the mistake where no file is: a model's name on a server, "gpt2" or "openai-community/gpt2", or its address.
void expect_there(const std::filesystem::path& path) {
    std::error_code error;
    if (std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::not_found) return;
    constexpr std::string_view what_to_do = "; Ordo loads local files: download the directory first";
    const std::string name = path.string();
    if (name.find("://") != name.npos)
        fail(ErrorCode::io, printable_path(path), ": expected a file or a directory, found an address", what_to_do);
    const std::string ending = path.extension();
    const bool of_a_file = ending == ".safetensors" || ending == ".bin" || ending == ".pth" || names_gguf(path);
    const bool like_a_name = name.find(' ') == name.npos && !name.starts_with('.') && !name.starts_with('/') &&
                             !name.starts_with('~') && std::count(name.begin(), name.end(), '/') <= 1 && !of_a_file;
    fail(ErrorCode::io, printable_path(path), ": ", std::strerror(ENOENT), like_a_name ? what_to_do : "");
}

} // namespace

bool names_gguf(const std::filesystem::path& path) {
    const std::string ending = path.extension();
    return std::ranges::equal(ending, std::string_view(".gguf"),
                              [](unsigned char theirs, char ours) { return std::tolower(theirs) == ours; });
}

Source open_source(const std::filesystem::path& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return hugging_face_source(path);
    expect_there(path);
    if (is_gguf(path)) return gguf_source(path);
    if (is_llama2c(path)) return llama2c_source_and_tokenizer(path);
    auto file = std::make_shared<const Safetensors>(Safetensors::open(path));
    if (!file->metadata().contains(key_format) && std::filesystem::exists(directory_of(path) / "config.json", error))
        fail(ErrorCode::model, file->where(),
             ": expected an Ordo safetensors file, found one of a model in a directory; give ",
             printable_path(directory_of(path)));
    return ordo_source(file);
}

std::unique_ptr<const Tokenizer> open_tokenizer(const std::filesystem::path& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return hugging_face_tokenizer(path);
    expect_there(path);
    if (is_gguf(path)) return gguf_tokenizer(Gguf::open(path));
    if (const std::string start = start_of(path); !like_safetensors(start) && text_kind(start, false) == "JSON")
        return tokenizer_from_json(read_file(path, json_tokenizer_limits.bytes), printable_path(path));
    const Source source = open_source(path);
    TextSide text = source.text ? source.text() : nullptr;
    if (!text.tokenizer) fail(ErrorCode::model, source.where, ": has no tokenizer");
    return std::move(text.tokenizer);
}

} // namespace ordo
