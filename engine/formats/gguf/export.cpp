// SPDX-License-Identifier: MIT
#include "formats/gguf/export.h"

#include "core/error.h"
#include "formats/gguf/keys.h"
#include "formats/gguf/target.h"
#include "model/model_file.h"

#include <algorithm>
#include <map>

namespace ordo {
namespace {

// Rows of one of Ordo's tensors, as a tensor of the GGUF.
struct Slice {
    std::string name; // in the GGUF
    TensorSpec spec;  // of the whole of Ordo's tensor
    int first = 0, rows = 0;
    int turned = 0; // rotated columns of a head, if its rows are reordered; otherwise 0
};

// Ordo's row for row i of the GGUF: pairs (2k, 2k + 1) there are (k, k + width/2) here, or the other way round.
int row_of(int i, int d_head, int width, bool to_adjacent) {
    const int in_head = i % d_head;
    if (width == 0 || in_head >= width) return i;
    const int half = width / 2;
    return i - in_head + (to_adjacent ? in_head / 2 + in_head % 2 * half : in_head % half * 2 + in_head / half);
}

std::string name_in_gguf(const NameMap& names, const std::string& ours, const std::string& where) {
    for (const NameRule& rule : names.rules)
        if (std::string theirs = their_name(rule, ours); !theirs.empty()) return theirs;
    fail(ErrorCode::usage, where, ": GGUF has no place for the tensor '", printable(ours), "'");
}

// Whether the tensor's rows are ordered by rotated pairs: queries, keys, and their norms.
bool is_turned(std::string_view name) {
    for (const char* part : {"attention.q.", "attention.k.", "attention.q_norm.", "attention.k_norm."})
        if (name.find(part) != name.npos) return true;
    return false;
}

std::vector<Slice> slices_of(const TensorSpec& spec, const Blueprint& b, const GgufTarget& target, const NameMap& names,
                             const std::string& where) {
    const bool whole = target.fused && spec.name.find("attention.qkv") != std::string::npos;
    std::vector<TensorPiece> pieces = whole ? std::vector<TensorPiece>() : pieces_of(spec, b);
    if (pieces.empty()) pieces.push_back({spec.name, 0, static_cast<int>(spec.shape[0])});
    std::vector<Slice> slices;
    for (const TensorPiece& piece : pieces)
        slices.push_back({name_in_gguf(names, piece.name, where), spec, piece.first, piece.rows,
                          target.reorders() && is_turned(piece.name) ? target.width : 0});
    return slices;
}

// The type of a written tensor: its own, unless another is requested.
WeightType type_of(const TensorSpec& spec, const Assembly& from, std::optional<WeightType> asked) {
    if (spec.shape.size() == 1) return WeightType::f32;
    if (spec.name.ends_with("feed_forward.router.weight")) return WeightType::f32; // as in llama.cpp's own files
    return asked ? type_in_file(*asked, spec) : from.type();
}

// Writes the rows of a slice in their new order. Reads all of Ordo's tensor; one tensor at a time is in memory.
void write_slice(const Slice& slice, const Assembly& from, WeightType type, const GgufTarget& target, int d_head,
                 const std::string& what, const ByteSink& sink) {
    const auto cols = static_cast<std::size_t>(slice.spec.shape.size() == 2 ? slice.spec.shape[1] : 1);
    const auto row = [&](int i) {
        return static_cast<std::size_t>(slice.first + row_of(i, d_head, slice.turned, target.to_adjacent));
    };
    if (quantised(type) && from.type() == type) {
        const std::vector<std::byte> bytes = from.read_stored();
        const auto n = static_cast<std::size_t>(row_bytes(type, static_cast<std::int64_t>(cols)));
        for (int i = 0; i < slice.rows; ++i) sink(std::span(bytes).subspan(row(i) * n, n));
        return;
    }
    std::vector<float> values(static_cast<std::size_t>(slice.spec.shape[0]) * cols);
    from.read(values);
    if (slice.turned == 0)
        return encode_values(
            type, std::span(values).subspan(row(0) * cols, static_cast<std::size_t>(slice.rows) * cols), what, sink);
    std::vector<float> ordered;
    ordered.reserve(static_cast<std::size_t>(slice.rows) * cols);
    for (int i = 0; i < slice.rows; ++i) {
        const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row(i) * cols);
        ordered.insert(ordered.end(), begin, begin + static_cast<std::ptrdiff_t>(cols));
    }
    encode_values(type, ordered, what, sink);
}

// One tensor of the GGUF: a slice of one of Ordo's tensors, or the slices of all experts, one after another.
GgufStored stored(const Source& source, const std::vector<Slice>& slices, std::optional<WeightType> asked,
                  const GgufTarget& target) {
    std::vector<Assembly> from;
    for (const Slice& slice : slices) from.push_back(source.assemble(slice.spec));
    WeightType type = type_of(slices[0].spec, from[0], asked);
    for (std::size_t i = 1; i < from.size(); ++i)
        if (type_of(slices[i].spec, from[i], asked) != type) type = WeightType::f32;
    std::vector<std::int64_t> shape = slices[0].spec.shape;
    shape[0] = slices[0].rows;
    if (expert_in(slices[0].spec.name) >= 0) shape.insert(shape.begin(), static_cast<std::int64_t>(slices.size()));
    return {slices[0].name, std::move(shape), type,
            [slices, from, type, target, d_head = source.blueprint.d_head, where = source.where](const ByteSink& sink) {
                for (std::size_t i = 0; i < slices.size(); ++i)
                    write_slice(slices[i], from[i], type, target, d_head,
                                where + ": tensor '" + printable(slices[i].spec.name) + "'", sink);
            }};
}

GgufStored stored(const std::string& name, const std::vector<float>& values) {
    return {name, {static_cast<std::int64_t>(values.size())}, WeightType::f32, [values](const ByteSink& sink) {
                sink(std::as_bytes(std::span(values)));
            }};
}

// enum llama_ftype, which tools display: the type of most weights.
std::optional<std::uint32_t> file_type(WeightType type) {
    switch (type) {
    case WeightType::f32:
        return 0;
    case WeightType::f16:
        return 1;
    case WeightType::q4_0:
        return 2;
    case WeightType::q8_0:
        return 7;
    case WeightType::bf16:
        return 32;
    default:
        return {};
    }
}

void describe(const Source& source, const GgufExport& out, GgufEntries& metadata) {
    if (const auto name = source.metadata.find("general.name"); name != source.metadata.end())
        metadata.emplace_back("general.name", GgufValue::of(name->second));
    // Takes the type of a layer's last matrix, which all architectures have.
    for (const GgufStored& tensor : out.tensors)
        if (tensor.name == "blk.0.ffn_down.weight" || tensor.name == "blk.0.ffn_down_exps.weight")
            if (const auto type = file_type(tensor.type))
                metadata.emplace_back("general.file_type", GgufValue::of(*type));
    constexpr std::uint32_t version = 2;
    if (std::any_of(out.tensors.begin(), out.tensors.end(), [](const auto& t) { return quantised(t.type); }))
        metadata.emplace_back("general.quantization_version", GgufValue::of(version));
}

} // namespace

GgufExport gguf_export(const Source& source, std::optional<WeightType> type) {
    const std::string spec = source.trained_encodings().spec();
    const GgufTarget target = gguf_target(source.blueprint, spec, source.where);
    NameMap names = gguf_names(source.blueprint, {});
    const std::vector<NameRule>& own = find_gguf(target.architecture, source.where).gguf.names;
    names.rules.insert(names.rules.end(), own.begin(), own.end()); // for tensors without a line in the others
    GgufExport out{target.architecture, target.metadata, {}};
    for (const auto& [name, values] : target.factors) out.tensors.push_back(stored(name, values));
    std::vector<std::vector<Slice>> all; // by the GGUF tensor that they form
    std::map<std::string, std::size_t> places;
    for (const TensorSpec& tensor : source.specs())
        for (Slice& slice : slices_of(tensor, source.blueprint, target, names, source.where)) {
            const auto [place, added] = places.emplace(slice.name, all.size());
            if (added) all.emplace_back();
            all[place->second].push_back(std::move(slice));
        }
    for (const std::vector<Slice>& slices : all) out.tensors.push_back(stored(source, slices, type, target));
    describe(source, out, out.metadata);
    const GgufEntries vocabulary = source.gguf_vocabulary ? source.gguf_vocabulary()
                                                          : gguf_entries(source.text ? source.text() : TextSide(),
                                                                         source.blueprint.vocab_size, source.where);
    out.metadata.insert(out.metadata.end(), vocabulary.begin(), vocabulary.end());
    return out;
}

} // namespace ordo
