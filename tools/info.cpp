// SPDX-License-Identifier: MIT
// ordo info: what is in a model file. A file that it shows has been loaded in full.
#include "core/error.h"
#include "model/model.h"
#include "model/stored_tensor.h"
#include "tools/machine.h"
#include "tools/output.h"
#include "tools/sha256.h"
#include "tools/weights.h"

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
    std::vector<std::int64_t> shape;
    std::string dtype;
};

std::vector<Shown> tensors_of(const Safetensors& file, const Model& model) {
    std::map<std::string_view, const TensorSpec*> known;
    for (const TensorSpec& spec : model.impl().tensors.specs()) known[spec.name] = &spec;
    std::vector<Shown> tensors;
    for (const TensorInfo& info : file.tensors()) {
        tensors.push_back({&info, info.shape, info.dtype});
        const auto found = known.find(info.name);
        const auto type = found == known.end() ? std::nullopt : stored_type(info, *found->second);
        if (type && quantised(*type)) tensors.back() = {&info, found->second->shape, std::string(name_of(*type))};
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

OrderedJson as_json(const std::filesystem::path& path, const Safetensors& file, const Model& model) {
    const std::vector<Shown> shown = tensors_of(file, model);
    OrderedJson tensors = OrderedJson::array();
    for (const Shown& tensor : shown)
        tensors.push_back({{"name", tensor.info->name},
                           {"shape", tensor.shape},
                           {"dtype", tensor.dtype},
                           {"bytes", tensor.info->bytes}});
    OrderedJson record = OrderedJson::object();
    for (const auto& [key, value] : file.metadata())
        if (!has_own_line(key)) record[key] = value;
    const auto& impl = model.impl();
    return {{"file", escaped_bytes(path.filename().string())},
            {"bytes", file.size()},
            {"sha256", hash_of(path)},
            {"blueprint", OrderedJson::parse(to_json(impl.blueprint, true))},
            {"encoding", model.encoding()},
            {"max_position", model.max_position()},
            {"tokenizer",
             {{"vocab_size", impl.tokenizer ? impl.tokenizer->vocab_size() : 0}, {"end_of_text", model.end_of_text()}}},
            {"parameters", parameters_of(shown)},
            {"tensors", tensors},
            {"record", record}};
}

std::string blueprint_lines(const Blueprint& blueprint) {
    std::string out;
    const OrderedJson fields = OrderedJson::parse(to_json(blueprint, true));
    for (const auto& [key, value] : fields.items())
        out += "  " + key + ": " + (value.is_string() ? printable(value.get<std::string>()) : value.dump()) + "\n";
    return out;
}

std::string as_text(const std::filesystem::path& path, const Safetensors& file, const Model& model) {
    const auto& impl = model.impl();
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
    Figures figures{{"name", "shape", "dtype"}, {}};
    for (const Shown& tensor : tensors)
        figures.rows.push_back({printable(tensor.info->name), shape_text(tensor.shape), tensor.dtype});
    return out + render(figures, Format::text);
}

int run(const Arguments& arguments) {
    const std::filesystem::path path = model_path(arguments);
    const Model model = open_model(arguments);
    const Safetensors file = Safetensors::open(path);
    if (arguments.text("format") == "json")
        write_out(json_text(as_json(path, file, model), 1));
    else
        write_out(as_text(path, file, model));
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
