// SPDX-License-Identifier: MIT
// ordo convert: the same model with its weights in another type, tensor by tensor.
#include "core/error.h"
#include "core/number.h"
#include "formats/gguf/export.h"
#include "formats/source.h"
#include "formats/special_tokens.h"
#include "formats/tokenizer_config.h"
#include "io/atomic_file.h"
#include "io/base_name.h"
#include "model/model_file.h"
#include "model/tensor_memory.h"
#include "tools/cli/inputs.h"
#include "tools/cli/machine.h"
#include "tools/opening/weights.h"
#include "tools/terminal/output.h"
#include "tools/terminal/signals.h"
#include "tools/verbs/convert_accuracy.h"

#include <set>
#include <system_error>

namespace ordo::tools {

namespace fs = std::filesystem;

namespace convert_file {

constexpr Option options[] = {
    {Kind::choice, "dtype", "TYPE",
     "f32|f16|bf16|q8_0|q4_0: the type of the weights in OUT. Default: as stored; an Ordo file is then copied."},
    {"no-accuracy", "Do not measure the loss of accuracy, and do not record it."},
    {Kind::path, "f,file", "FILE", "Measure on this text; - is stdin. Default: the shipped heldout.txt."},
    {Kind::integer, "max-tokens", "N=0", 0, 1e15, "Measure on at most N tokens; 0: on all."},
    {Kind::path, "tokenizer", "PATH",
     "Take the tokenizer from a tokenizer.json, a directory, a GGUF or Ordo file, or llama2.c's tokenizer.bin. "
     "Default: that of IN."},
    {Kind::path, "generation-config", "FILE",
     "Record in OUT the sampling of this generation_config.json, which needs do_sample and a setting. ordo generate "
     "then uses it by default."},
};
constexpr OptionGroup groups[] = {{"Convert", options}, common_group};

// ---- The options ------------------------------------------------------------------------------

void refuse_other_formats(const fs::path& out) {
    std::error_code error;
    const bool directory = out.filename().empty() || fs::is_directory(out, error);
    if (directory)
        fail(ErrorCode::usage, "convert: ", printable_path(out),
             ": expected the name of a file, .safetensors or .gguf, found a directory");
}

// Finds errors that would otherwise appear only after all the work.
void check_paths(const Arguments& arguments, const fs::path& in, const fs::path& out) {
    refuse_other_formats(out);
    const NamedFile written[] = {{"convert: OUT", out}};
    const NamedFile read[] = {{"IN", in},
                              {"the text", text_path(arguments)},
                              {"--tokenizer", arguments.text("tokenizer")},
                              {"--generation-config", arguments.text("generation-config")}};
    check_written(written, read);
    const fs::path target = follow_links(out), directory = directory_of(target);
    std::error_code error;
    if (!fs::is_directory(directory, error))
        fail(ErrorCode::io, printable_path(out), ": ", printable_path(directory), " is not a directory");
    check_writable(out);
}

// ---- Tensors ----------------------------------------------------------------------------------

// A tensor to write: of the model, or an extra one, copied unchanged.
struct Part {
    TensorSpec spec;
    const FileTensor* extra = nullptr;
    std::optional<Assembly> assembly = {};
    WeightType from = WeightType::f32, to = WeightType::f32; // without extra
};

Part part_of(const Source& source, TensorSpec spec, std::optional<WeightType> type) {
    Part part{std::move(spec)};
    part.assembly = source.assemble(part.spec);
    part.from = part.assembly->type();
    part.to = type ? type_in_file(*type, part.spec) : part.from;
    return part;
}

// Our own files may hold tensors outside the trunk: those of encodings, including encodings that this program does not
// know, and any others.
void add_own(const Source& source, std::optional<WeightType> type, std::vector<Part>& parts) {
    std::set<std::string, std::less<>> trunk;
    for (const Part& part : parts) trunk.insert(part.spec.name);
    for (const FileTensor& tensor : source.tensors.tensors()) {
        if (trunk.contains(tensor.name)) continue;
        if (of_encoding(tensor.name) && tensor.type && !tensor.shape.empty() && tensor.shape.size() <= 2)
            parts.push_back(part_of(source, {tensor.name, tensor.shape}, type));
        else
            parts.push_back({{tensor.name, tensor.shape}, &tensor});
    }
}

// Every tensor of the model. Throws Error(model) if one is missing or has another shape.
std::vector<Part> parts_of(const Source& source, std::optional<WeightType> type) {
    const bool own = source.names.rules.empty();
    std::vector<Part> parts;
    for (TensorSpec& spec : own ? tensor_list(source.blueprint) : source.specs())
        parts.push_back(part_of(source, std::move(spec), type));
    if (own) add_own(source, type, parts);
    return parts;
}

// The tensor in its new type. Quantised weights of the same type keep their bytes.
RawTensor converted(const Source& source, const Part& part, const std::string& where) {
    if (part.extra != nullptr)
        return {part.extra->name, part.extra->dtype, part.extra->shape, part.extra->bytes,
                [&source, extra = part.extra](const ByteSink& sink) {
                    std::vector<std::byte> bytes(extra->bytes);
                    source.tensors.read(*extra, 0, bytes);
                    sink(bytes);
                }};
    RawTensor tensor = raw_tensor(part.spec.name, part.spec.shape, part.to, where);
    tensor.content = [&source, &part](const ByteSink& sink) {
        if (part.from == part.to && quantised(part.to)) return sink(part.assembly->read_stored());
        std::size_t elements = 1;
        for (const std::int64_t size : part.spec.shape) elements *= static_cast<std::size_t>(size);
        std::vector<float> values(elements); // for q4_0 up to eight times the size in the file
        part.assembly->read(values);
        encode_values(part.to, values, source.where + ": tensor '" + printable(part.spec.name) + "'", sink);
    };
    return tensor;
}

// Wraps each tensor's content: it first checks for a signal and shows the tensor's name.
template <class Tensor>
void announce(std::vector<Tensor>& tensors, Progress& progress) {
    std::size_t done = 0;
    for (Tensor& tensor : tensors)
        tensor.content = [&progress, name = printable(tensor.name), count = ++done, of = tensors.size(),
                          write = std::move(tensor.content)](const ByteSink& sink) {
            stop_if_asked();
            progress.show("tensor " + std::to_string(count) + " of " + std::to_string(of) + ": " + name);
            write(sink);
        };
}

// "F16", or "q8_0 and F32": the types of the file's matrices.
std::string types_of(std::span<const Part> parts) {
    std::set<std::string_view> names;
    for (const Part& part : parts)
        if (part.extra == nullptr && part.spec.shape.size() == 2) names.insert(name_of(part.from));
    std::string text;
    for (const std::string_view name : names) text += (text.empty() ? "" : " and ") + std::string(name);
    return text;
}

// ---- The verb ---------------------------------------------------------------------------------

void copy(const Source& source, const fs::path& in, const fs::path& out) {
    const File from(in);
    AtomicFile target(out);
    std::vector<std::byte> bytes;
    for (std::uint64_t at = 0; at < source.tensors.size(); at += bytes.size()) {
        bytes.resize(std::min<std::uint64_t>(source.tensors.size() - at, 1 << 20));
        from.read(at, bytes);
        target.write(bytes);
    }
    target.commit(check_opens);
}

// Whether OUT has other weights than IN, or other tokens for them.
bool changes_weights(const Arguments& arguments, const Source& source) {
    return arguments.has("dtype") || arguments.has("tokenizer") || !source.names.rules.empty();
}

Sampling recommended_in(const fs::path& path, bool quiet) {
    const std::string where = printable_path(path);
    const JsonValue config = parse_json(read_text_file(path, most_config), where);
    auto [sampling, warnings] = recommended_sampling(config);
    if (!sampling) {
        std::string found;
        if (config.object())
            for (const JsonValue::Member& member : *config.object()) found += (found.empty() ? "" : ", ") + member.key;
        fail(ErrorCode::model, where, ": expected an object with do_sample and a setting, such as temperature, found ",
             config.object() ? printable(found, 160) : describe(config));
    }
    if (const std::string idle = not_applied(config); !idle.empty()) warnings.push_back("not applied: " + idle);
    for (const std::string& warning : warnings)
        if (!quiet) write_message("warning: " + where + ": " + warning);
    return *sampling;
}

// The metadata of the new file: that of the old one, in our terms.
Metadata metadata_of(const Arguments& arguments, const Source& source, std::span<const Part> parts) {
    Metadata metadata = source.metadata;
    const bool own = source.names.rules.empty();
    if (!own) {
        metadata[std::string(key_format)] = model_format;
        metadata[std::string(key_blueprint)] = to_json(source.blueprint);
        metadata[std::string(key_encoding)] = source.trained_encodings().spec();
    }
    if (source.text && !metadata.contains(key_tokenizer)) {
        const TextSide text = source.text();
        metadata[std::string(key_tokenizer)] = text.tokenizer->to_json();
        metadata[std::string(key_special_tokens)] = to_json(text.special);
        if (text.sampling) metadata[std::string(key_sampling)] = to_json(*text.sampling);
    }
    if (arguments.has("generation-config") && !metadata.contains(key_tokenizer))
        fail(ErrorCode::usage, "convert: option --generation-config: expected a tokenizer in OUT, found none in ",
             source.where, "; --tokenizer adds one");
    if (arguments.has("generation-config"))
        metadata[std::string(key_sampling)] =
            to_json(recommended_in(arguments.text("generation-config"), arguments.has("quiet")));
    std::map<std::string, WeightType, std::less<>> types;
    for (const Part& part : parts)
        if (part.extra == nullptr) types[part.spec.name] = part.to;
    metadata.erase(std::string(key_weight_types));
    if (std::string json = weight_types_json(types); !json.empty())
        metadata[std::string(key_weight_types)] = std::move(json);
    // The old weights' accuracy does not apply to the new ones.
    if (changes_weights(arguments, source))
        std::erase_if(metadata, [](const auto& entry) { return entry.first.starts_with("accuracy."); });
    return metadata;
}

std::optional<Measured> convert(const Arguments& arguments, const Source& source, const fs::path& out) {
    std::optional<WeightType> type;
    if (arguments.has("dtype")) type = writable_type(arguments.text("dtype"));
    const std::vector<Part> parts = parts_of(source, type);
    const std::string where = printable_path(out);
    Metadata metadata = metadata_of(arguments, source, parts);
    Progress progress(arguments.has("quiet"));
    std::vector<RawTensor> tensors;
    for (const Part& part : parts) tensors.push_back(converted(source, part, where));
    announce(tensors, progress);
    if (!type || arguments.has("no-accuracy")) {
        write_raw_safetensors(out, std::move(tensors), metadata, check_opens);
        return std::nullopt;
    }
    std::uint64_t size = 0;
    for (const RawTensor& tensor : tensors) size += tensor.bytes;
    check_memory(source, size);
    const std::vector<std::byte> bytes = safetensors_bytes(std::move(tensors), metadata, where);
    const auto result = std::make_shared<const Safetensors>(Safetensors::parse(bytes, where));
    const std::optional<Measured> measured = try_to_measure(arguments, source, ordo_source(result), progress);
    const std::string name = base_name(arguments.operand(0));
    if (measured) record(*measured, escaped_bytes(name) + " (" + types_of(parts) + ") as f32", metadata);
    std::vector<RawTensor> done;
    for (const TensorInfo& info : result->tensors())
        done.push_back({info.name, info.dtype, info.shape, info.bytes, [result, &info](const ByteSink& sink) {
                            std::vector<std::byte> content(info.bytes);
                            result->read_raw(info, content);
                            sink(content);
                        }});
    write_raw_safetensors(out, std::move(done), metadata, check_opens);
    return measured;
}

std::optional<Measured> convert_to_gguf(const Arguments& arguments, const Source& source, const fs::path& out) {
    std::optional<WeightType> type;
    if (arguments.has("dtype")) type = writable_type(arguments.text("dtype"));
    Progress progress(arguments.has("quiet"));
    GgufExport file = gguf_export(source, type);
    announce(file.tensors, progress);
    if (!type || arguments.has("no-accuracy")) {
        write_gguf(out, file.metadata, file.tensors, check_opens);
        return std::nullopt;
    }
    check_memory(source, packed_bytes(source.specs(), *type));
    const std::string where = printable_path(out);
    const std::vector<std::byte> bytes = gguf_bytes(file.metadata, file.tensors, where);
    const auto result = std::make_shared<const Gguf>(Gguf::parse(bytes, where));
    const std::optional<Measured> measured = try_to_measure(arguments, source, gguf_source(result), progress);
    AtomicFile target(out);
    target.write(bytes);
    target.commit(check_opens);
    return measured;
}

int convert_and_tell(const Arguments& arguments) {
    const fs::path in = arguments.operand(0), out = arguments.operand(1);
    for (const char* option : {"file", "max-tokens", "no-accuracy"})
        if (arguments.has(option) && !arguments.has("dtype"))
            fail(ErrorCode::usage, "convert: option --", option, ": expected --dtype with it");
    if (names_gguf(out) && arguments.has("generation-config"))
        fail(ErrorCode::usage, "convert: option --generation-config: expected an Ordo file as OUT, found ",
             printable_path(out));
    check_paths(arguments, in, out);
    const Source source = arguments.has("tokenizer") ? open_source(in, arguments.text("tokenizer")) : open_source(in);
    check_loads(source);
    check_writable(out); // must not be one of the files that have been read
    stop_if_asked();
    std::optional<Measured> measured;
    if (names_gguf(out)) {
        measured = convert_to_gguf(arguments, source, out);
    } else if (changes_weights(arguments, source) || arguments.has("generation-config")) {
        measured = convert(arguments, source, out);
    } else {
        copy(source, in, out);
    }
    if (arguments.has("quiet")) return 0;
    write_message(printable_path(in) + ": " + grouped(source.tensors.size()) + " bytes; " + printable_path(out) + ": " +
                  grouped(fs::file_size(out)) + " bytes");
    if (measured)
        write_message("accuracy: KL " + joined(measured->accuracy.kl) + " nats per token, top-1 " +
                      fixed_text(100 * measured->accuracy.top1, 2) + " %, against the same weights in f32, over " +
                      grouped(static_cast<std::uint64_t>(measured->accuracy.tokens)) + " tokens of " +
                      printable(measured->text));
    return 0;
}

int run(const Arguments& arguments) {
    stop_softly();
    try {
        return convert_and_tell(arguments);
    } catch (const Stopped&) {
        return stop_code();
    }
}

} // namespace convert_file

extern const Verb convert_verb;
const Verb convert_verb{
    .name = "convert",
    .operand = "IN OUT",
    .operand_needed = true,
    .summary = "Write a model as safetensors or GGUF, in any type",
    .details =
        "IN is any model that ordo generate -m takes. OUT is an Ordo safetensors file with all records of IN or, if "
        "its name ends in .gguf, a file for llama.cpp, if llama.cpp has such a model with such an encoding. q8_0 and "
        "q4_0 share a scale among 32 weights, as in GGUF. Vectors and the tensors of an encoding are then f32, and "
        "rows that 32 does not divide f16. With q4_0, the embedding and the head are q8_0. With --dtype, the "
        "predictions are compared with those of IN in f32: the mean divergence in nats per token, and the share of "
        "equal likeliest tokens. Both are printed and, except in a GGUF, recorded in OUT for ordo info.",
    .groups = convert_file::groups,
    .run = convert_file::run};

} // namespace ordo::tools
