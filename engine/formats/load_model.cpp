// SPDX-License-Identifier: MIT
// From a source to a model. Only this file reads weights into memory.
#include "core/blas.h"
#include "core/error.h"
#include "core/number.h"
#include "core/parallel.h"
#include "encoding/base/registry.h"
#include "encoding/base/rope_keys.h"
#include "formats/source.h"
#include "formats/special_tokens.h"
#include "io/control_group.h"
#include "kernels/kernels.h"
#include "model/memory_limit.h"
#include "model/model_file.h"
#include "model/stack.h"
#include "model/tensor_memory.h"

#include <algorithm>
#include <set>

namespace ordo {
namespace {

ModelEncodings chosen_encodings(const Source& source, ModelEncodings trained, const LoadOptions& options) {
    const auto with_keys = [&](ModelEncodings chosen) {
        if (options.rope.empty()) return chosen;
        return ModelEncodings(with_rope_keys(chosen.spec(), options.rope), source.blueprint.dims());
    };
    if (options.encoding.empty()) return with_keys(std::move(trained));
    ModelEncodings asked(options.encoding, source.blueprint.dims());
    const std::string from = trained.spec(), to = asked.spec();
    if (from == to) return with_keys(std::move(trained));
    if (!options.force_encoding)
        fail(ErrorReason::other_encoding, ErrorCode::usage, source.where, ": trained with the encoding '", from,
             "', asked to run with '", to, "'; to see what happens all the same, force it");
    return with_keys(std::move(asked));
}

// Finds each of the specs in the file. Nothing is allocated for their values yet.
std::vector<Assembly> find_tensors(const Source& source, std::span<const TensorSpec> specs,
                                   const ModelEncodings& encodings, bool as_trained) {
    std::vector<Assembly> found;
    for (const TensorSpec& spec : specs) {
        // An encoding other than the trained one may need tensors that the weights lack.
        const bool asked_for = !as_trained && of_encoding(spec.name);
        const std::string why = asked_for ? " (the encoding '" + encodings.spec() + "' needs it)" : "";
        found.push_back(source.assemble(spec, asked_for ? ErrorCode::usage : ErrorCode::model, why));
    }
    return found;
}

bool is_ignored(const Source& source, std::string_view name, bool as_trained) {
    if (source.names.rules.empty()) return !as_trained && of_encoding(name);
    return std::any_of(source.names.ignored.begin(), source.names.ignored.end(),
                       [&](std::string_view part) { return name.find(part) != name.npos; });
}

void warn(const Source& source, std::span<const Assembly> used, bool as_trained, const LoadOptions& options) {
    if (!options.on_warning) return;
    for (const std::string& warning : source.warnings) options.on_warning(source.where + ": " + warning);
    std::set<const FileTensor*> known;
    for (const Assembly& each : used)
        for (const TensorPart& part : each.parts()) known.insert(part.from);
    std::size_t extra = 0;
    std::string first;
    for (const FileTensor& tensor : source.tensors.tensors()) {
        if (known.contains(&tensor) || is_ignored(source, tensor.name, as_trained)) continue;
        if (++extra == 1) first = printable(tensor.name);
    }
    if (extra == 1) options.on_warning(source.where + ": tensor '" + first + "' is not part of the model");
    if (extra > 1)
        options.on_warning(source.where + ": tensor '" + first + "' and " + std::to_string(extra - 1) +
                           " more are not part of the model");
}

// Panels are padded to 32 rows, so that a matrix of few rows is mostly padding, and smaller as floats.
WeightType without_filling(WeightType type, const TensorSpec& spec) {
    return packed_bytes(type, spec) > packed_bytes(WeightType::f32, spec) ? WeightType::f32 : type;
}

// The form of a tensor in memory. With bands, its rows stay in the f16, bf16 or blocks in which they are stored.
struct Held {
    WeightType type;
    std::vector<TypedRows> bands;

    std::uint64_t bytes(const TensorSpec& spec) const {
        return bands.empty() ? packed_bytes(type, spec) : Matrix::bytes(bands, static_cast<int>(spec.shape.back()));
    }
};

Held in_memory(const Assembly& tensor, const TensorSpec& spec, const LoadOptions& options) {
    std::vector<TypedRows> bands = tensor.bands();
    const bool blocks =
        !bands.empty() && std::all_of(bands.begin(), bands.end(), [](TypedRows b) { return quantised(b.type); });
    const auto held_as = [&](WeightType wanted) {
        const WeightType type = without_filling(type_within(wanted, spec), spec);
        const bool same = type != WeightType::f32 && bands.size() == 1 && bands.front().type == type;
        return Held{type, same ? bands : std::vector<TypedRows>()};
    };
    if (!options.dtype.empty()) return held_as(writable_type(options.dtype));
    // In its stored type, the embedding included.
    if (blocks && quantised(type_within(bands.front().type, spec))) {
        Held held{bands.front().type, std::move(bands)};
        if (held.bytes(spec) <= Held{WeightType::f32, {}}.bytes(spec)) return held;
        return {WeightType::f32, {}};
    }
    return held_as(tensor.type());
}

// The bytes of all weights in memory, and of the floats from which the largest of them is converted.
struct MemoryNeed {
    std::uint64_t weights = 0, passing = 0;
};

MemoryNeed memory_need(std::span<const TensorSpec> specs, std::span<const Assembly> found, const LoadOptions& options) {
    MemoryNeed need;
    for (std::size_t i = 0; i < specs.size(); ++i) {
        const Held held = in_memory(found[i], specs[i], options);
        need.weights += held.bytes(specs[i]);
        const bool in_rows = !held.bands.empty() || (held.type == WeightType::f32 && found[i].divisible());
        if (!in_rows && packs(held.type, specs[i]))
            need.passing = std::max(need.passing, TensorMemory::bytes(specs.subspan(i, 1)));
    }
    return need;
}

// The widest type in which the weights fit, for the end of an error: converted from this file, or from a file in that
// type.
std::string type_that_fits(std::span<const TensorSpec> specs, std::span<const Assembly> found, LoadOptions options,
                           std::uint64_t limit, bool passing) {
    std::string file;
    for (const WeightType type : {WeightType::f16, WeightType::q8_0, WeightType::q4_0}) {
        options.dtype = name_of(type);
        const MemoryNeed need = memory_need(specs, found, options);
        const std::uint64_t bytes = need.weights + (passing ? need.passing : 0);
        if (bytes <= limit) return "; dtype " + options.dtype + " takes " + bytes_text(bytes);
        if (file.empty() && (need.weights <= limit || type == WeightType::q4_0))
            file = (need.weights <= limit ? "; a file in " : "; a smaller model is needed: even a file in ") +
                   options.dtype + " takes " + bytes_text(need.weights);
    }
    return file;
}

// The caller's limit applies to the weights alone.
void check_memory(const std::string& where, std::span<const TensorSpec> specs, std::span<const Assembly> found,
                  const LoadOptions& options) {
    const bool ours = options.max_memory == 0;
    const std::uint64_t limit = ours ? default_memory_limit() : options.max_memory;
    const MemoryNeed need = memory_need(specs, found, options);
    const std::uint64_t bytes = need.weights + (ours ? need.passing : 0);
    if (bytes <= limit) return;
    const std::string of_all = ours ? " of the " + bytes_text(usable_memory()) + " there are" : "";
    fail(ErrorCode::limit, where, ": the weights take ", bytes_text(bytes), ", more than the ", bytes_text(limit),
         " that may be used", of_all, type_that_fits(specs, found, options, limit, ours));
}

// Tensors of a PyTorch file may share elements, so that a small file describes a large model.
void check_sharing(const Source& source, std::span<const Assembly> found) {
    std::set<const FileTensor*> used;
    for (const Assembly& each : found)
        for (const TensorPart& part : each.parts()) used.insert(part.from);
    std::uint64_t held = 0, read = 0;
    for (const FileTensor* tensor : used) {
        held += tensor->span == 0 ? tensor->bytes : 2 * tensor->bytes; // gathered before they are converted
        read += tensor->span;
    }
    const auto expect = [&](std::string_view what, std::uint64_t bytes, std::uint64_t times) {
        const std::uint64_t most = times * source.tensors.size();
        if (bytes > most)
            fail(ErrorCode::model, source.where, ": tensors that share elements: expected at most ", bytes_text(most),
                 what, ", ", times, " times the files, found ", bytes_text(bytes));
    };
    expect("", held, 2);
    expect(" to gather them from", read, 8);
}

// The file's context alone must not make tables larger than its weights; later positions still work. An item of a sum
// has at most a row of the model's width, or of a head's, for each position.
int positions_to_prepare(const Blueprint& blueprint, const ModelEncodings& encodings, std::uint64_t bytes) {
    const auto row = static_cast<std::uint64_t>(std::max(blueprint.d_model, blueprint.d_head)) * sizeof(float);
    const std::uint64_t affordable = bytes / (row * std::max<std::uint64_t>(encodings.items().size(), 1));
    return static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(blueprint.context), affordable));
}

// A part of a tensor for one thread to read: values, or rows of a matrix that is packed while reading.
struct Share {
    const Assembly* tensor;
    std::size_t first; // index of a value, or of a row
    std::span<float> values;
    const Matrix* matrix = nullptr;
    std::size_t bytes = 0; // of the rows

    void read() const {
        if (matrix == nullptr) return tensor->read(first, values);
        const std::size_t n = (bytes + sizeof(float) - 1) / sizeof(float);
        const auto memory = std::make_unique_for_overwrite<float[]>(n); // without zeroing
        const std::span floats(memory.get(), n);
        const std::span rows = std::as_writable_bytes(floats).first(bytes);
        if (matrix->type() == WeightType::f32) // for any type in the file
            tensor->read(first * static_cast<std::size_t>(matrix->cols()), floats);
        else
            tensor->read_stored(static_cast<std::int64_t>(first), rows);
        matrix->pack_blocks(static_cast<int>(first), rows);
    }
};

void share_values(const Assembly& tensor, std::span<float> values, std::vector<Share>& shares) {
    const std::size_t size = tensor.part_size();
    for (std::size_t first = 0; first < values.size(); first += size)
        shares.push_back({&tensor, first, values.subspan(first, std::min(size, values.size() - first))});
}

// Whole panels, few enough that the read rows stay in the nearest cache until they are packed.
void share_rows(const Assembly& tensor, const Matrix& matrix, std::vector<Share>& shares) {
    constexpr std::size_t near_bytes = std::size_t{128} << 10;
    for (const Matrix::Band& band : matrix.bands()) {
        const std::size_t row = row_bytes(band.type, matrix.cols()), all = static_cast<std::size_t>(band.rows);
        const std::size_t step = std::max<std::size_t>(1, near_bytes / (row * panel_outputs)) * panel_outputs;
        for (std::size_t first = 0; first < all; first += step)
            shares.push_back({&tensor,
                              static_cast<std::size_t>(band.first) + first,
                              {},
                              &matrix,
                              std::min(step, all - first) * row});
    }
}

// Reads the weights. beside() runs while unconverted weights are read: it reads the tokenizer, which needs the
// processor while the weights need memory. If both fail, the error is that of beside(). beside() stays on the calling
// thread, whose heap has free space from reading the header; another thread's heap would grow.
TensorMemory read_weights(const Source& source, const std::vector<TensorSpec>& specs, std::span<const Assembly> found,
                          std::span<const Held> held, const std::function<void()>& beside) {
    std::vector<WeightType> types;
    for (const Held& each : held) types.push_back(each.type);
    TensorMemory tensors(specs, types);
    std::vector<Share> shares;
    std::vector<std::size_t> others; // converted tensors, each by all threads
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (!held[i].bands.empty())
            share_rows(found[i], tensors.start_blocks(i, held[i].bands), shares);
        else if (types[i] == WeightType::f32 && packs(types[i], specs[i]) && found[i].divisible())
            share_rows(found[i], tensors.start_blocks(i, {{types[i], static_cast<int>(specs[i].shape[0])}}), shares);
        else if (types[i] != WeightType::f32 || quantised(found[i].type()) || !found[i].divisible())
            others.push_back(i);
        else
            share_values(found[i], tensors.values(i), shares);
    }
    parallel_for_beside(beside, static_cast<std::ptrdiff_t>(shares.size()),
                        [&](std::ptrdiff_t i) { shares[i].read(); });
    for (const std::size_t i : others) {
        found[i].read(tensors.values(i));
        tensors.pack(i, source.where);
    }
    return tensors;
}

Model build(const Source& source, ModelEncodings encodings, bool as_trained, const LoadOptions& options) {
    const Blueprint& blueprint = source.blueprint;
    const std::vector<TensorSpec> specs = model_tensors(blueprint, encodings);
    const std::vector<Assembly> found = find_tensors(source, specs, encodings, as_trained);
    check_sharing(source, found);
    const std::uint64_t bytes = TensorMemory::bytes(specs);
    std::vector<Held> held;
    for (std::size_t i = 0; i < specs.size(); ++i) held.push_back(in_memory(found[i], specs[i], options));
    check_memory(source.where, specs, found, options);

    TextSide text;
    TensorMemory tensors = read_weights(source, specs, found, held, [&] {
        if (source.text) text = source.text();
    });
    const int positions = positions_to_prepare(blueprint, encodings, bytes);
    Metadata metadata = source.metadata; // with the entries of Ordo's own files, so that a trainer can write them
    metadata.try_emplace(std::string(key_encoding), source.encoding);
    if (text.tokenizer) metadata.try_emplace(std::string(key_special_tokens), to_json(text.special));
    if (text.sampling) metadata.try_emplace(std::string(key_sampling), to_json(*text.sampling));
    Model model = make_model(source.where, blueprint, std::move(encodings), std::move(tensors), std::move(text),
                             std::move(metadata), options.context > 0 ? options.context : positions);
    warn(source, found, as_trained, options); // after all checks of the file
    return model;
}

// Reports memory that the system refuses as a limit.
template <class Make>
Model within_memory(const std::string& where, const Make& make) {
    try {
        return make();
    } catch (const std::bad_alloc&) {
        fail(ErrorCode::limit, where, ": not enough memory for the model");
    }
}

} // namespace

Model load_model(const Source& source, const LoadOptions& options) {
    check_blas();
    ModelEncodings trained = source.trained_encodings();
    const std::string trained_spec = trained.spec();
    ModelEncodings encodings = chosen_encodings(source, std::move(trained), options);
    const std::string spec = encodings.spec();
    Model model = build(source, std::move(encodings), spec == trained_spec, options);
    if (spec != trained_spec && options.on_warning)
        options.on_warning(source.where + ": trained with the encoding '" + trained_spec + "', running with '" + spec +
                           "'");
    return model;
}

void check_opens(const std::filesystem::path& path) {
    const Source source = open_source(path);
    const ModelEncodings encodings = source.trained_encodings();
    find_tensors(source, model_tensors(source.blueprint, encodings), encodings, true);
    if (source.text) check_vocabulary(source.text(), source.blueprint, source.where);
}

Model load_model(const Safetensors& file, const LoadOptions& options) {
    return load_model(ordo_source(std::shared_ptr<const Safetensors>(std::shared_ptr<void>(), &file)), options);
}

Model Model::load(const std::filesystem::path& path, const LoadOptions& options) {
    return within_memory(printable_path(path), [&] { return load_model(open_source(path), options); });
}

Model Model::load(const std::filesystem::path& path, OwnEncoding encoding, const LoadOptions& options) {
    return within_memory(printable_path(path), [&] {
        check_blas();
        const Source source = open_source(path);
        std::vector<OwnEncoding> items;
        items.push_back(std::move(encoding));
        return build(source, ModelEncodings(std::move(items), source.blueprint.dims()), false, options);
    });
}

} // namespace ordo
