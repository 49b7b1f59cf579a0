// SPDX-License-Identifier: MIT
// ordo info: the contents of a model file, which it loads in full.
#include "core/error.h"
#include "core/number.h"
#include "encoding/base/registry.h"
#include "formats/architecture.h"
#include "formats/source.h"
#include "io/base_name.h"
#include "model/stack.h"
#include "tools/cli/machine.h"
#include "tools/opening/weights.h"
#include "tools/terminal/output.h"
#include "tools/terminal/wide_table.h"
#include "tools/train/sha256.h"

#include <algorithm>

namespace ordo::tools {

namespace info_file {

constexpr Option options[] = {
    {Kind::choice, "format", "FORMAT=text", "text|json: for people or for programs."},
    {"families", "Without a model: list the types of models that load."},
};
constexpr OptionGroup groups[] = {{"Result", options}, model_group, common_group};

// Empty for a directory.
std::string hash_of(const std::filesystem::path& path) {
    if (std::filesystem::is_directory(path)) return {};
    return sha256(read_file(path, std::numeric_limits<std::size_t>::max() / 2));
}

// Metadata with a line of its own.
bool has_own_line(std::string_view key) {
    return key == "blueprint" || key == "encoding" || key == "tokenizer" || key == "weight_types";
}

std::uint64_t parameters_of(const Source& source) {
    std::uint64_t count = 0;
    for (const FileTensor& tensor : source.tensors.tensors()) {
        std::uint64_t elements = 1;
        for (const std::int64_t size : tensor.shape) elements *= static_cast<std::uint64_t>(size);
        count += elements;
    }
    return count;
}

// Writes the text so far. A file may have too many tensors and too much metadata to hold as text at once.
void pass_on(JsonWriter& out) {
    if (out.size() > (1 << 16)) write_out(out.take());
}

void write_tensors(JsonWriter& out, const Source& source) {
    out.key("tensors");
    out.begin_array();
    for (const FileTensor& tensor : source.tensors.tensors()) {
        out.begin_object();
        out.member("name", tensor.name);
        out.member("shape", tensor.shape);
        out.member("dtype", tensor.dtype);
        out.member("bytes", tensor.bytes);
        out.end_object();
        pass_on(out);
    }
    out.end_array();
}

void write_as_json(const std::filesystem::path& path, const Source& source, const Model& model) {
    const auto& impl = impl_of(model);
    JsonWriter out(1);
    out.begin_object();
    out.member("file", escaped_bytes(base_name(path)));
    out.member("bytes", source.tensors.size());
    out.member("format", source.format);
    out.member("sha256", hash_of(path));
    out.member("blueprint", parse_json(to_json(impl.blueprint, true), source.where));
    out.member("encoding", model.encoding());
    out.member("max_position", model.max_position());
    out.key("tokenizer");
    out.begin_object();
    out.member("vocab_size", impl.tokenizer ? impl.tokenizer->vocab_size() : 0);
    out.member("end_of_text", model.end_of_text());
    out.end_object();
    out.member("parameters", parameters_of(source));
    write_tensors(out, source);
    out.key("record");
    out.begin_object();
    for (const auto& [key, value] : source.metadata) {
        if (!has_own_line(key)) out.member(key, value);
        pass_on(out);
    }
    out.end_object();
    out.end_object();
    write_out(out.take() + "\n");
}

std::string blueprint_lines(const Blueprint& blueprint) {
    std::string out;
    const JsonValue fields = parse_json(to_json(blueprint, true), "blueprint");
    for (const auto& [key, value] : *fields.object())
        out += "  " + key + ": " + (value.string() ? printable(*value.string()) : describe(value)) + "\n";
    return out;
}

void write_as_text(const std::filesystem::path& path, const Source& source, const Model& model) {
    const auto& impl = impl_of(model);
    std::string out = "size: " + grouped(parameters_of(source)) + " parameters, context of " +
                      grouped(static_cast<std::uint64_t>(model.context())) + " tokens\n";
    out += "file: " + printable_path(path) + ", " + bytes_text(source.tensors.size()) + "\n";
    out += "format: " + source.format + "\n";
    if (const std::string hash = hash_of(path); !hash.empty()) out += "sha256: " + hash + "\n";
    out += "encoding: " + model.encoding() + "\n";
    out += "positions: " +
           (model.max_position() < std::numeric_limits<int>::max()
                ? grouped(static_cast<std::uint64_t>(model.max_position()))
                : std::string("unlimited")) +
           "\n";
    out += "tokenizer: " +
           (impl.tokenizer
                ? grouped(static_cast<std::uint64_t>(impl.tokenizer->vocab_size())) + " entries, end of text: " +
                      (model.end_of_text() < 0 ? "none" : std::to_string(model.end_of_text()))
                : std::string("none")) +
           "\n";
    out += "blueprint:\n" + blueprint_lines(impl.blueprint);
    out += "record:\n";
    for (const auto& [key, value] : source.metadata)
        if (!has_own_line(key)) out += "  " + printable(key) + ": " + printable(value, 500) + "\n";
    const std::span<const FileTensor> tensors = source.tensors.tensors();
    out += "tensors: " + std::to_string(tensors.size()) + ", " + grouped(parameters_of(source)) + " parameters\n";
    write_out(out);
    const auto fill = [&](std::int64_t row, std::vector<Cell>& cells) {
        const FileTensor& tensor = tensors[row];
        cells[0] = printable(tensor.name);
        cells[1] = shape_text(tensor.shape);
        cells[2] = tensor.dtype;
    };
    write_rows({{"name", "shape", "dtype"}, static_cast<std::int64_t>(tensors.size()), fill}, Format::text);
}

// The names by which config.json and GGUF files call the architectures.
int list_families(const Arguments& arguments) {
    if (names_model(arguments)) fail(ErrorCode::usage, "info: expected a model or --families, found both");
    std::vector<std::string_view> config, gguf;
    for (const Architecture& each : architectures()) {
        const auto& types = each.hugging_face.model_types;
        config.insert(config.end(), types.begin(), types.end());
        gguf.insert(gguf.end(), each.gguf.architectures.begin(), each.gguf.architectures.end());
    }
    std::string text;
    JsonWriter json(1);
    json.begin_object();
    for (const auto& [where, names] : {std::pair("model_type", &config), {"general.architecture", &gguf}}) {
        std::sort(names->begin(), names->end());
        json.member(where, *names);
        text += (text.empty() ? "" : "\n") + std::string(where) + ":";
        for (const std::string_view name : *names) text += " " + std::string(name);
        text += "\n";
    }
    json.end_object();
    write_out(arguments.text("format") == "json" ? json.take() + "\n" : for_stdout(text));
    return 0;
}

int run(const Arguments& arguments) {
    if (arguments.has("families")) return list_families(arguments);
    const std::filesystem::path path = model_path(arguments);
    const Model model = open_model(arguments);
    const Source source = open_source(path);
    if (arguments.text("format") == "json")
        write_as_json(path, source, model);
    else
        write_as_text(path, source, model);
    return 0;
}

} // namespace info_file

extern const Verb info_verb;
const Verb info_verb{
    .name = "info",
    .operand = "MODEL",
    .summary = "Show the contents of a model file",
    .details =
        "The output has the sizes of the model (its blueprint), the encoding, the tokenizer, the training record, the "
        "tensors, and the SHA-256 of the file. The file is loaded in full; a malformed file gives exit code 3.",
    .groups = info_file::groups,
    .run = info_file::run};

} // namespace ordo::tools
