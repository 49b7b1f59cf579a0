// SPDX-License-Identifier: MIT
#include "formats/source.h"
#include "core/error.h"
#include "formats/gguf/export.h"
#include "formats/hugging_face_text.h"
#include "formats/llama2c.h"
#include "io/file_kind.h"
#include "io/json.h"
#include "model/model_file.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace ordo {
namespace {

std::string start_of(const std::filesystem::path& path) {
    const File file(path);
    std::string start(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), file_kind_bytes)), '\0');
    file.read(0, std::as_writable_bytes(std::span(start)));
    return start;
}

// Whether it is a GGUF, by its first bytes. Otherwise by its name, so that a wrong file is refused as a GGUF.
bool is_gguf(const std::filesystem::path& path) {
    const std::string start = start_of(path);
    return start.starts_with("GGUF") || (names_gguf(path) && !like_safetensors(start));
}

// Explains a missing file that looks like a model's name on a server, "gpt2" or "openai-community/gpt2", or its
// address.
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

std::unique_ptr<const Tokenizer> tokenizer_of_json(const std::filesystem::path& path) {
    return tokenizer_from_json(read_file(path, json_tokenizer_limits.bytes), printable_path(path));
}

// Whether a file is a tokenizer.json, whatever its name. GGUF is checked before.
bool is_json(std::string_view start) {
    return !like_safetensors(start) && text_kind(start, false) == "JSON";
}

// A model that uses a tokenizer from elsewhere.
struct Taker {
    std::string where;
    int rows = 0; // of the embedding
    bool decoder = false, llama2c = false;
    std::function<TextSide()> own; // the text side in its files; may be empty
};

// The text side at a path, with the special tokens of the files there.
TextSide text_at(const std::filesystem::path& path, const Taker& model) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
        return hugging_face_text(path, model.rows, hugging_face_tokenizer(path));
    expect_there(path);
    if (is_gguf(path)) return read_gguf_text(Gguf::open(path));
    const std::string start = start_of(path);
    if (is_json(start) && path.filename() == "tokenizer.json")
        return hugging_face_text(directory_of(path), model.rows, tokenizer_of_json(path));
    if (is_json(start)) {
        TextSide text;
        text.tokenizer = tokenizer_of_json(path);
        if (const std::vector<Token> before = text.tokenizer->frame().before(); !before.empty())
            text.special.start = before.front();
        return text;
    }
    if (model.llama2c && !like_safetensors(start) && !is_llama2c(path)) return llama2c_text(path, model.rows);
    const Source other = open_source(path);
    return other.text ? other.text() : TextSide();
}

// Fills in the model's own special tokens, where the tokenizer's files have none with a row in the embedding. A decoder
// begins with the model's start token.
void complete(TextSide& text, const Taker& model) {
    const TextSide own = model.own ? model.own() : TextSide();
    SpecialTokens& special = text.special;
    std::erase_if(special.end, [&](Token id) { return id >= model.rows; });
    if (special.end.empty()) special.end = own.special.end;
    if (model.decoder && own.special.start >= 0) special.start = own.special.start;
    if (special.forced < 0) special.forced = own.special.forced;
    for (Token SpecialTokens::*const token : {&SpecialTokens::start, &SpecialTokens::padding, &SpecialTokens::unknown,
                                              &SpecialTokens::first, &SpecialTokens::separator, &SpecialTokens::mask})
        if (special.*token < 0 || special.*token >= model.rows) special.*token = own.special.*token;
    text.sampling = own.sampling;
    text.padded_vocabulary = true;
}

TextSide text_from_elsewhere(const std::filesystem::path& path, const Taker& model) {
    TextSide text = text_at(path, model);
    const std::string where = printable_path(path);
    if (!text.tokenizer) fail(ErrorCode::model, where, ": has no tokenizer");
    if (const int found = text.tokenizer->vocab_size(); found > model.rows)
        fail(ErrorCode::model, where, ": tokenizer: expected at most ", model.rows, " tokens, as ", model.where,
             " has rows for, found ", found);
    complete(text, model);
    return text;
}

} // namespace

bool names_gguf(const std::filesystem::path& path) {
    const std::string ending = path.extension();
    constexpr std::string_view wanted = ".gguf";
    return std::equal(ending.begin(), ending.end(), wanted.begin(), wanted.end(),
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

Source open_source(const std::filesystem::path& path, const std::filesystem::path& tokenizer) {
    std::error_code error;
    const bool alone = std::filesystem::is_regular_file(path, error) && !is_gguf(path) && is_llama2c(path);
    Source source = alone ? llama2c_source(path) : open_source(path);
    source.text = [tokenizer,
                   model = Taker{source.where, source.blueprint.vocab_size, !source.blueprint.encoder.empty(), alone,
                                 source.text_without_tokenizer ? std::move(source.text_without_tokenizer)
                                                               : std::move(source.text)}] {
        return text_from_elsewhere(tokenizer, model);
    };
    source.text_without_tokenizer = nullptr;
    source.gguf_vocabulary = nullptr;
    source.metadata.erase(std::string(key_tokenizer));
    source.metadata.erase(std::string(key_special_tokens));
    std::erase_if(source.warnings, [](std::string_view text) { return text.find(no_text_warning) != text.npos; });
    return source;
}

std::unique_ptr<const Tokenizer> open_tokenizer(const std::filesystem::path& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return hugging_face_tokenizer(path);
    expect_there(path);
    if (is_gguf(path)) return gguf_tokenizer(Gguf::open(path));
    if (is_json(start_of(path))) return tokenizer_of_json(path);
    const Source source = open_source(path);
    TextSide text = source.text ? source.text() : nullptr;
    if (!text.tokenizer) fail(ErrorCode::model, source.where, ": has no tokenizer");
    return std::move(text.tokenizer);
}

std::vector<TensorSpec> Source::specs() const {
    return model_tensors(blueprint, trained_encodings());
}

ModelEncodings Source::trained_encodings() const {
    try {
        return ModelEncodings(encoding, blueprint.dims());
    } catch (const Error& error) {
        fail(ErrorCode::model, where, names.rules.empty() ? ": metadata 'encoding': " : ": encoding: ", error.what());
    }
}

} // namespace ordo
