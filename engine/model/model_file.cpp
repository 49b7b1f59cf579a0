// SPDX-License-Identifier: MIT
#include "model/model_file.h"

#include "core/blas.h"
#include "core/error.h"
#include "core/parallel.h"
#include "model/stored_tensor.h"

#include <algorithm>
#include <functional>
#include <set>

namespace ordo {
namespace {

constexpr std::string_view key_format = "ordo.format", key_blueprint = "blueprint", key_encoding = "encoding",
                           key_tokenizer = "tokenizer";

const std::string& required(const Safetensors& file, std::string_view key) {
    const auto found = file.metadata().find(key);
    if (found == file.metadata().end())
        fail(ErrorCode::model, file.where(), ": metadata '", key, "': expected one, found none",
             key == key_format ? " (not a model written by Ordo?)" : "");
    return found->second;
}

// What the weights were trained with. A spec that cannot be understood is the file's fault.
EncodingStack trained_encodings(const Safetensors& file, const Dims& dims) {
    const std::string& spec = required(file, key_encoding);
    try {
        return EncodingStack(spec, dims);
    } catch (const Error& error) {
        fail(ErrorCode::model, file.where(), ": metadata '", key_encoding, "': ", error.what());
    }
}

EncodingStack chosen_encodings(const Safetensors& file, const Dims& dims, EncodingStack trained,
                               const LoadOptions& options) {
    if (options.encoding.empty()) return trained;
    EncodingStack asked(options.encoding, dims);
    const std::string from = trained.spec(), to = asked.spec();
    if (from == to) return trained;
    if (!options.force_encoding)
        fail(ErrorCode::usage, file.where(), ": trained with the encoding '", from, "', asked to run with '", to,
             "'; to see what happens all the same, force it");
    return asked;
}

// The tensor of the file for each of the specs. Nothing has been allocated for them yet.
std::vector<const TensorInfo*> find_tensors(const Safetensors& file, std::span<const TensorSpec> specs,
                                            const EncodingStack& encodings, bool as_trained) {
    std::vector<const TensorInfo*> found;
    for (const TensorSpec& spec : specs) {
        // An encoding that the weights were not trained with may want tensors that they do not have.
        const bool asked_for = !as_trained && of_encoding(spec.name);
        const std::string why = asked_for ? " (the encoding '" + encodings.spec() + "' needs it)" : "";
        found.push_back(&find_tensor(file, spec, asked_for ? ErrorCode::usage : ErrorCode::model, why));
    }
    return found;
}

void warn_of_extra(const Safetensors& file, std::span<const TensorSpec> specs, bool as_trained,
                   const LoadOptions& options) {
    if (!options.on_warning) return;
    std::set<std::string_view> known;
    for (const TensorSpec& spec : specs) known.insert(spec.name);
    std::size_t extra = 0;
    std::string first;
    for (const TensorInfo& tensor : file.tensors()) {
        if (known.contains(tensor.name) || (!as_trained && of_encoding(tensor.name))) continue;
        if (++extra == 1) first = printable(tensor.name);
    }
    if (extra == 1) options.on_warning(file.where() + ": tensor '" + first + "' is not part of the model");
    if (extra > 1)
        options.on_warning(file.where() + ": tensor '" + first + "' and " + std::to_string(extra - 1) +
                           " more are not part of the model");
}

// Panels are filled up to 32 rows, so that of a few rows most is filling: such a matrix is smaller as floats.
WeightType without_filling(WeightType type, const TensorSpec& spec) {
    if (type == WeightType::f32) return type;
    const auto rows = static_cast<int>(spec.shape[0]), cols = static_cast<int>(spec.shape[1]);
    return Matrix::bytes(type, rows, cols) > Matrix::bytes(WeightType::f32, rows, cols) ? WeightType::f32 : type;
}

WeightType type_in_memory(const TensorInfo& info, const TensorSpec& spec, const LoadOptions& options) {
    if (!options.dtype.empty()) return without_filling(type_within(writable_type(options.dtype), spec), spec);
    const WeightType stored = *stored_type(info, spec), own = type_within(stored, spec);
    // As it is stored, with no second thoughts about the embedding.
    return without_filling(quantised(own) ? stored : own, spec);
}

std::uint64_t bytes_as(WeightType type, const TensorSpec& spec) {
    const auto rows = spec.shape.size() == 2 ? static_cast<int>(spec.shape[0]) : 1;
    return Matrix::bytes(type, rows, static_cast<int>(spec.shape.back()));
}

std::uint64_t bytes_in_memory(std::span<const TensorSpec> specs, std::span<const TensorInfo* const> found,
                              const LoadOptions& options) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < specs.size(); ++i)
        bytes += bytes_as(type_in_memory(*found[i], specs[i], options), specs[i]);
    return bytes;
}

// The file's word alone must not make tables larger than its weights: positions beyond still work. An item of a sum
// has at most a row of the model's width, or of a head's, for each position.
int positions_to_prepare(const Blueprint& blueprint, const EncodingStack& encodings, std::uint64_t bytes) {
    const auto row = static_cast<std::uint64_t>(std::max(blueprint.d_model, blueprint.d_head)) * sizeof(float);
    const std::uint64_t affordable = bytes / (row * std::max<std::uint64_t>(encodings.items().size(), 1));
    return static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(blueprint.context), affordable));
}

// A part of a tensor's values, for one thread to read.
struct Part {
    const TensorInfo* tensor;
    std::size_t first;
    std::span<float> values;
};

// The weights, and beside() while those are read that stay floats: it reads the tokenizer, which waits for the processor
// where weights wait for memory. If both fail, the error is beside()'s. That stays on the calling thread, whose heap has room from
// reading the header; another thread's would grow beside it.
TensorBlock read_weights(const Safetensors& file, const std::vector<TensorSpec>& specs,
                         std::span<const TensorInfo* const> found, const LoadOptions& options,
                         const std::function<void()>& beside) {
    std::vector<WeightType> types;
    for (std::size_t i = 0; i < found.size(); ++i) types.push_back(type_in_memory(*found[i], specs[i], options));
    TensorBlock tensors(specs, types);
    std::vector<Part> parts;
    std::vector<std::size_t> others; // tensors that are packed or unpacked, each by all threads
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (types[i] != WeightType::f32 || quantised(*stored_type(*found[i], specs[i]))) {
            others.push_back(i);
            continue;
        }
        const std::span<float> values = tensors.values(i);
        for (std::size_t first = 0; first < values.size(); first += Safetensors::part)
            parts.push_back(
                {found[i], first, values.subspan(first, std::min(Safetensors::part, values.size() - first))});
    }
    parallel_for_beside(beside, static_cast<std::ptrdiff_t>(parts.size()), [&](std::ptrdiff_t i) {
        const Part& part = parts[static_cast<std::size_t>(i)];
        read_tensor_part(file, *part.tensor, part.first, part.values);
    });
    for (const std::size_t i : others) {
        if (quantised(types[i]) && stored_type(*found[i], specs[i]) == types[i]) {
            tensors.pack_blocks(i, read_stored_blocks(file, *found[i], specs[i]));
        } else {
            read_tensor(file, *found[i], specs[i], tensors.values(i));
            tensors.pack(i, file.where());
        }
    }
    return tensors;
}

Model build(const Safetensors& file, const Blueprint& blueprint, EncodingStack encodings, bool as_trained,
            const LoadOptions& options) {
    const std::vector<TensorSpec> specs = model_tensors(blueprint, encodings);
    const std::vector<const TensorInfo*> found = find_tensors(file, specs, encodings, as_trained);
    const std::uint64_t bytes = TensorBlock::bytes(specs);
    const std::uint64_t held = bytes_in_memory(specs, found, options);
    const std::uint64_t limit = options.max_memory != 0 ? options.max_memory : default_memory_limit();
    if (held > limit)
        fail(ErrorCode::limit, file.where(), ": the weights take ", held, " bytes, more than the ", limit,
             " that they may");

    std::unique_ptr<const Tokenizer> tokenizer;
    TensorBlock tensors = read_weights(file, specs, found, options, [&] {
        const auto json = file.metadata().find(key_tokenizer);
        if (json != file.metadata().end()) tokenizer = tokenizer_from_json(json->second, file.where() + ": tokenizer");
    });
    const int positions = positions_to_prepare(blueprint, encodings, bytes);
    Model model = make_model(file.where(), blueprint, std::move(encodings), std::move(tensors), std::move(tokenizer),
                             file.metadata(), options.context > 0 ? options.context : positions);
    warn_of_extra(file, specs, as_trained, options); // not of a file that is then refused
    return model;
}

// Memory that the system refuses is a limit like any other.
template <class Make>
Model within_memory(const std::string& where, const Make& make) {
    try {
        return make();
    } catch (const std::bad_alloc&) {
        fail(ErrorCode::limit, where, ": not enough memory for the model");
    }
}

} // namespace

Blueprint read_blueprint(const Safetensors& file) {
    const std::string& format = required(file, key_format);
    if (format != model_format)
        fail(ErrorCode::model, file.where(), ": metadata '", key_format, "': expected ", model_format, ", found '",
             printable(format), "'");
    return blueprint_from_json(required(file, key_blueprint), file.where());
}

Model load_model(const Safetensors& file, const LoadOptions& options) {
    check_blas();
    const Blueprint blueprint = read_blueprint(file);
    EncodingStack trained = trained_encodings(file, blueprint.dims());
    const std::string trained_spec = trained.spec();
    EncodingStack encodings = chosen_encodings(file, blueprint.dims(), std::move(trained), options);
    const std::string spec = encodings.spec();
    Model model = build(file, blueprint, std::move(encodings), spec == trained_spec, options);
    if (spec != trained_spec && options.on_warning)
        options.on_warning(file.where() + ": trained with the encoding '" + trained_spec + "', running with '" + spec +
                           "'");
    return model;
}

Model Model::load(const std::filesystem::path& path, const LoadOptions& options) {
    return within_memory(printable_path(path), [&] { return load_model(Safetensors::open(path), options); });
}

Model Model::load(const std::filesystem::path& path, std::unique_ptr<Encoding> encoding, const LoadOptions& options) {
    return within_memory(printable_path(path), [&] {
        check_blas();
        const Safetensors file = Safetensors::open(path);
        const Blueprint blueprint = read_blueprint(file);
        std::vector<std::unique_ptr<Encoding>> items;
        if (encoding) items.push_back(std::move(encoding));
        return build(file, blueprint, EncodingStack(std::move(items), blueprint.n_layers), false, options);
    });
}

void write_model(const std::filesystem::path& path, const ModelFile& model) {
    Metadata metadata = model.metadata;
    metadata[std::string(key_format)] = model_format;
    metadata[std::string(key_blueprint)] = to_json(model.blueprint);
    metadata[std::string(key_encoding)] = model.encoding;
    if (!model.tokenizer.empty()) metadata[std::string(key_tokenizer)] = model.tokenizer;
    std::vector<StoredTensor> tensors;
    for (std::size_t i = 0; i < model.specs.size(); ++i) {
        const View v = model.values.at(i);
        if (v.stride != v.cols)
            fail(ErrorCode::failure, "tensor '", printable(model.specs[i].name), "': expected rows side by side");
        tensors.push_back({model.specs[i].name,
                           model.specs[i].shape,
                           type_in_file(model.type, model.specs[i]),
                           {v.data, static_cast<std::size_t>(v.rows) * static_cast<std::size_t>(v.cols)}});
    }
    write_safetensors(path, std::move(tensors), metadata);
}

} // namespace ordo
