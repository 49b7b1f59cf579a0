// SPDX-License-Identifier: MIT
// A GGUF file as a source: its architecture's keys, tensors under llama.cpp's names, and the tokenizer's arrays.
#include "formats/source.h"
#include "core/error.h"
#include "core/utf8.h"
#include "formats/gguf/export.h"
#include "formats/gguf/file.h"
#include "formats/gguf/keys.h"
#include "formats/pooling.h"

#include <array>
#include <cstdio>

namespace ordo {
namespace {

// Limits of a list among the hyperparameters, and of all lists: a number of one byte takes 16 in memory.
constexpr std::size_t most_numbers = 65'536, most_numbers_in_all = 4 * most_numbers;

JsonValue number_of(const GgufValue& value, std::size_t i) {
    if (value.kind() == GgufKind::boolean) return JsonValue(value.integer(i) != 0);
    if (!value.is_integer()) return JsonValue(value.number(i));
    const std::int64_t n = value.integer(i);
    return n < 0 ? JsonValue(n) : JsonValue(static_cast<std::uint64_t>(n));
}

JsonValue json_of(const GgufValue& value) {
    if (!value.is_array())
        return value.kind() == GgufKind::string ? JsonValue(std::string(value.text())) : number_of(value, 0);
    JsonValue list = JsonValue::empty_array();
    for (std::size_t i = 0; i < value.size(); ++i) list.array()->push_back(number_of(value, i));
    return list;
}

// The hyperparameters as members of an object: single values and short lists of numbers.
JsonValue hyperparameters(const Gguf& file, const std::string& prefix) {
    JsonValue object = JsonValue::empty_object();
    std::size_t left = most_numbers_in_all;
    for (const auto& [key, value] : file.metadata()) {
        if (!key.starts_with(prefix)) continue;
        if (value.is_array() && (value.kind() == GgufKind::string || value.size() > most_numbers)) continue;
        if (value.is_array() && value.size() > left)
            fail(ErrorCode::model, file.where(), ": metadata '", printable(key), "': expected at most ",
                 most_numbers_in_all, " numbers in all lists of \"", prefix, "\", found more");
        left -= value.is_array() ? value.size() : 0;
        object.object()->push_back({key, json_of(value)});
    }
    return object;
}

void add_tensors(TensorStore& store, const std::shared_ptr<const Gguf>& file) {
    const std::size_t index = store.add_file(
        file->where(), file->size(),
        [file](std::uint64_t offset, std::span<std::byte> out) { file->read_at(offset, out); },
        "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL or IQ4_XS (llama-quantize "
        "writes them)");
    for (const GgufTensor& tensor : file->tensors())
        store.add({.name = tensor.name,
                   .dtype = std::string(tensor.type_name),
                   .type = tensor.type,
                   .shape = tensor.shape,
                   .bytes = tensor.bytes,
                   .offset = tensor.offset,
                   .file = index});
}

// Descriptive metadata, for `info`.
void read_notes(const Gguf& file, const std::string& architecture, Metadata& metadata) {
    metadata["source"] = "GGUF, general.architecture " + architecture;
    constexpr std::size_t most = 4096;
    for (const char* key : {"general.name", "general.author", "general.license", "general.description"})
        if (const auto text = file.text(key); text && text->size() <= most && utf8_valid(*text)) metadata[key] = *text;
    const auto chat = file.text("tokenizer.chat_template");
    if (!chat || !utf8_valid(*chat)) return;
    metadata["chat_template"] = *chat;
    const auto find = [&](const char* key) {
        const auto found = file.metadata().find(key);
        return found != file.metadata().end() ? &found->second : nullptr;
    };
    const GgufValue* const tokens = find("tokenizer.ggml.tokens");
    if (tokens == nullptr || !tokens->is_array() || tokens->kind() != GgufKind::string) return;
    for (const auto& [name, key] : {std::pair("bos_token", "tokenizer.ggml.bos_token_id"),
                                    {"eos_token", "tokenizer.ggml.eos_token_id"},
                                    {"pad_token", "tokenizer.ggml.padding_token_id"},
                                    {"unk_token", "tokenizer.ggml.unknown_token_id"}}) {
        const GgufValue* const id = find(key);
        if (id == nullptr || id->is_array() || !id->is_integer() || id->integer() < 0) continue;
        if (const auto place = static_cast<std::size_t>(id->integer()); place < tokens->size())
            if (utf8_valid(tokens->text(place))) metadata[name] = tokens->text(place);
    }
}

// All metadata under tokenizer.*, chat templates included.
GgufEntries vocabulary_of(const Gguf& file) {
    GgufEntries entries;
    for (const auto& [key, value] : file.metadata())
        if (key.starts_with("tokenizer.")) entries.emplace_back(key, value);
    return entries;
}

// ---- Models in several files ----------------------------------------------------------------------
// As llama-gguf-split writes them: NAME-00001-of-00003.gguf has the metadata, and each file has some of the tensors.

constexpr int most_parts = 65'535;

int parts_of(const Gguf& file) {
    return static_cast<int>(std::max<std::int64_t>(1, file.integer("split.count", 0, most_parts).value_or(1)));
}

// "-00001-of-00003.gguf"
std::string ending_of_part(int i, int count) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "-%05d-of-%05d.gguf", i + 1, count);
    return text.data();
}

// Checks that the file's metadata says that it is part i.
void check_part(const Gguf& file, int i, int count) {
    for (const auto& [key, expected] : {std::pair{"split.no", i}, {"split.count", count}})
        if (const auto found = file.integer(key, 0, most_parts); found.value_or(-1) != expected)
            fail(ErrorCode::model, file.where(), ": '", key, "': expected ", expected, ", found ",
                 found ? std::to_string(*found) : "none");
}

std::vector<std::shared_ptr<const Gguf>> other_parts(const std::filesystem::path& path, const Gguf& first) {
    const int count = parts_of(first);
    std::vector<std::shared_ptr<const Gguf>> parts;
    if (count == 1) return parts;
    const auto number = static_cast<int>(first.integer("split.no", 0, most_parts).value_or(0));
    const std::string own = ending_of_part(number, count), name = path.string();
    if (!name.ends_with(own))
        fail(ErrorCode::model, first.where(), ": 'split.count': found ", count, ": expected a name that ends in ", own,
             ", as llama-gguf-split gives it, and the other parts beside it, or one file (llama-gguf-split --merge)");
    const std::string stem = name.substr(0, name.size() - own.size());
    if (number != 0)
        fail(ErrorCode::model, first.where(), ": 'split.no': expected 0, found ", number, ": give the first part, ",
             printable(stem), ending_of_part(0, count));
    for (int i = 1; i < count; ++i) {
        parts.push_back(std::make_shared<const Gguf>(Gguf::open(stem + ending_of_part(i, count))));
        check_part(*parts.back(), i, count);
    }
    return parts;
}

} // namespace

Source gguf_source(const std::filesystem::path& path) {
    const auto first = std::make_shared<const Gguf>(Gguf::open(path));
    return gguf_source(first, other_parts(path, *first));
}

Source gguf_source(const std::shared_ptr<const Gguf>& file, std::span<const std::shared_ptr<const Gguf>> parts) {
    const std::string& where = file->where();
    if (const int expected = static_cast<int>(parts.size()) + 1; parts_of(*file) != expected)
        fail(ErrorCode::model, where, ": 'split.count': expected ", expected, ", found ", parts_of(*file),
             ": part of a model that is split");
    const auto name = file->text("general.architecture");
    if (!name) fail(ErrorCode::model, where, ": metadata 'general.architecture': expected one, found none");
    const Architecture& architecture = find_gguf(*name, where);

    Source source;
    source.where = where;
    source.format = "GGUF";
    add_tensors(source.tensors, file);
    for (const auto& part : parts) add_tensors(source.tensors, part);
    const auto tensors = static_cast<std::int64_t>(source.tensors.tensors().size());
    if (const auto all = file->integer("split.tensors.count", 0, 1 << 30);
        !parts.empty() && all.value_or(tensors) != tensors)
        fail(ErrorCode::model, where, ": 'split.tensors.count': expected ", tensors, " as in all parts, found ", *all);
    const std::string prefix = std::string(*name) + ".";
    const JsonValue object = hyperparameters(*file, prefix);
    ModelPlan plan = architecture.gguf.plan(Config(object, where, prefix), source.tensors);
    check(plan.blueprint, where);
    source.names = gguf_names(plan.blueprint, architecture.gguf.names);
    source.blueprint = std::move(plan.blueprint);
    source.encoding = std::move(plan.encoding);
    source.warnings = std::move(plan.warnings);
    const auto model = file->text("tokenizer.ggml.model");
    if (model && *model != "no_vocab" && *model != "none")
        source.text = [file, vocab = source.blueprint.vocab_size] { return read_gguf_text(*file, vocab); };
    source.text_without_tokenizer = [file, vocab = source.blueprint.vocab_size] {
        return gguf_text_without_tokenizer(*file, vocab);
    };
    source.gguf_vocabulary = [file] { return vocabulary_of(*file); };
    read_notes(*file, std::string(*name), source.metadata);
    read_gguf_pooling(*file, std::string(*name), source.metadata);
    return source;
}

} // namespace ordo
