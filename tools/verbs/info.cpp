// SPDX-License-Identifier: MIT
// ordo info: what is in a model file. A file that it shows has been loaded in full.
#include "core/error.h"
#include "model/model.h"
#include "model/stored_tensor.h"
#include "tools/cli/machine.h"
#include "tools/cli/output.h"
#include "tools/cli/sha256.h"
#include "tools/cli/weights.h"

namespace ordo::tools {

namespace {

constexpr Option options[] = {
    {.name = "format",
     .kind = Kind::choice,
     .value = "FORMAT",
     .fallback = "text",
     .help = "text|json: for people or programs"},
};
constexpr OptionGroup groups[] = {{"Result", options}, model_group, common_group};

std::string hash_of(const std::filesystem::path& path) {
    return sha256(read_file(path, std::numeric_limits<std::size_t>::max() / 2));
}

// Metadata that has a line of its own.
bool has_own_line(std::string_view key) {
    return key == "blueprint" || key == "encoding" || key == "tokenizer";
}

// A tensor as people think of it: blocks are weights, not bytes.
struct Shown {
    const TensorInfo* info;
    std::span<const std::int64_t> shape;
    std::string_view dtype;
};

std::vector<Shown> tensors_of(const Safetensors& file, const Model& model) {
    std::map<std::string_view, const TensorSpec*> known;
    for (const TensorSpec& spec : impl_of(model).tensors.specs()) known[spec.name] = &spec;
    std::vector<Shown> tensors;
    for (const TensorInfo& info : file.tensors()) {
        tensors.push_back({&info, info.shape, info.dtype});
        const auto found = known.find(info.name);
        const auto type = found == known.end() ? std::nullopt : stored_type(info, *found->second);
        if (type && quantised(*type)) tensors.back() = {&info, found->second->shape, name_of(*type)};
    }
    return tensors;
}

std::uint64_t parameters_of(std::span<const Shown> tensors) {
    std::uint64_t count = 0;
    for (const Shown& tensor : tensors) {
        std::uint64_t elements = 1;
        for (const std::int64_t size : tensor.shape) elements *= static_cast<std::uint64_t>(size);
        count += elements;
    }
    return count;
}

// A file may have more tensors and more metadata than should be held as text at once.
void pass_on(JsonWriter& out) {
    if (out.size() > (1 << 16)) write_out(out.take());
}

void write_tensors(JsonWriter& out, std::span<const Shown> tensors) {
    out.key("tensors");
    out.begin_array();
    for (const Shown& tensor : tensors) {
        out.begin_object();
        out.member("name", tensor.info->name);
        out.member("shape", tensor.shape);
        out.member("dtype", tensor.dtype);
        out.member("bytes", tensor.info->bytes);
        out.end_object();
        pass_on(out);
    }
    out.end_array();
}

void write_as_json(const std::filesystem::path& path, const Safetensors& file, const Model& model) {
    const auto& impl = impl_of(model);
    const std::vector<Shown> tensors = tensors_of(file, model);
    JsonWriter out(1);
    out.begin_object();
    out.member("file", escaped_bytes(path.filename().string()));
    out.member("bytes", file.size());
    out.member("sha256", hash_of(path));
    out.member("blueprint", parse_json(to_json(impl.blueprint, true), file.where()));
    out.member("encoding", model.encoding());
    out.member("max_position", model.max_position());
    out.key("tokenizer");
    out.begin_object();
    out.member("vocab_size", impl.tokenizer ? impl.tokenizer->vocab_size() : 0);
    out.member("end_of_text", model.end_of_text());
    out.end_object();
    out.member("parameters", parameters_of(tensors));
    write_tensors(out, tensors);
    out.key("record");
    out.begin_object();
    for (const auto& [key, value] : file.metadata()) {
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

void write_as_text(const std::filesystem::path& path, const Safetensors& file, const Model& model) {
    const auto& impl = impl_of(model);
    std::string out = "file: " + printable_path(path) + ", " + grouped(file.size()) + " bytes\n";
    out += "sha256: " + hash_of(path) + "\n";
    out += "encoding: " + model.encoding() + "\n";
    out += "positions: " +
           (model.max_position() < std::numeric_limits<int>::max()
                ? grouped(static_cast<std::uint64_t>(model.max_position()))
                : std::string("unlimited")) +
           "\n";
    out += "tokenizer: " +
           (impl.tokenizer ? grouped(static_cast<std::uint64_t>(impl.tokenizer->vocab_size())) +
                                 " entries, end of text: " + std::to_string(model.end_of_text())
                           : std::string("none")) +
           "\n";
    out += "blueprint:\n" + blueprint_lines(impl.blueprint);
    out += "record:\n";
    for (const auto& [key, value] : file.metadata())
        if (!has_own_line(key)) out += "  " + printable(key) + ": " + printable(value, 500) + "\n";
    const std::vector<Shown> tensors = tensors_of(file, model);
    out += "tensors: " + std::to_string(tensors.size()) + ", " + grouped(parameters_of(tensors)) + " parameters\n";
    write_out(out);
    const auto fill = [&](std::int64_t row, std::vector<Cell>& cells) {
        const Shown& tensor = tensors[static_cast<std::size_t>(row)];
        cells[0] = printable(tensor.info->name);
        cells[1] = shape_text(tensor.shape);
        cells[2] = std::string(tensor.dtype);
    };
    write_rows({{"name", "shape", "dtype"}, static_cast<std::int64_t>(tensors.size()), fill}, Format::text);
}

int run(const Arguments& arguments) {
    const std::filesystem::path path = model_path(arguments);
    const Model model = open_model(arguments);
    const Safetensors file = Safetensors::open(path);
    if (arguments.text("format") == "json")
        write_as_json(path, file, model);
    else
        write_as_text(path, file, model);
    return 0;
}

} // namespace

extern const Verb info_verb;
const Verb info_verb{
    .name = "info",
    .operand = "MODEL",
    .summary = "what is in a model file",
    .details = "Blueprint, encoding, tokenizer, training record, tensors and the file's SHA-256. The file is loaded in "
               "full: one that is malformed ends with exit code 3.",
    .groups = groups,
    .run = run};

} // namespace ordo::tools
