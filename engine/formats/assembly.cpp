// SPDX-License-Identifier: MIT
#include "formats/assembly.h"

#include "core/blas.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/tensor.h"
#include "io/blocks.h"
#include "io/half.h"
#include "ops/finite.h"
#include "ops/norm.h"

#include <algorithm>
#include <cmath>

namespace ordo {
namespace {

[[noreturn]] void not_finite(const TensorStore& store, const FileTensor& tensor, std::span<const float> values,
                             std::uint64_t first) {
    const auto bad = std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
    fail(ErrorCode::model, store.name_of(tensor), ": element ",
         first + static_cast<std::uint64_t>(bad - values.begin()), " is ", *bad, ", which is not finite");
}

// Reads values of a tensor of floats, or whole rows of blocks.
void read_values(const TensorStore& store, const FileTensor& tensor, std::uint64_t first, std::span<float> out) {
    const WeightType type = *tensor.type;
    if (type == WeightType::f32) return store.read(tensor, 4 * first, std::as_writable_bytes(out));
    if (quantised(type)) {
        const auto cols = static_cast<std::uint64_t>(tensor.cols());
        std::vector<std::byte> rows(out.size() / cols * row_bytes(type, tensor.cols()));
        store.read(tensor, first / cols * row_bytes(type, tensor.cols()), rows);
        return read_blocks(type, rows, out);
    }
    std::vector<std::uint16_t> halves(std::min<std::size_t>(out.size(), 32'768));
    for (std::size_t done = 0; done < out.size();) {
        const std::span in(halves.data(), std::min(out.size() - done, halves.size()));
        store.read(tensor, 2 * (first + done), std::as_writable_bytes(in));
        for (std::size_t i = 0; i < in.size(); ++i)
            out[done + i] = type == WeightType::f16 ? f16_to_float(in[i]) : bf16_to_float(in[i]);
        done += in.size();
    }
}

void check_finite(const TensorStore& store, const FileTensor& tensor, std::span<float> values, std::uint64_t first) {
    if (!all_finite(view(values.data(), 1, static_cast<int>(values.size())))) not_finite(store, tensor, values, first);
}

} // namespace

Assembly::Assembly(const TensorStore& store, const NameMap& names, const Blueprint& blueprint, const TensorSpec& spec,
                   const std::string& where, ErrorCode code, const std::string& why)
    : store_(&store), name_(spec.name), where_(where), shape_(spec.shape), rows_(spec.shape[0]),
      cols_(spec.shape.size() == 2 ? spec.shape[1] : 1) {
    find(names, blueprint, code, why);
    settle_type();
}

// ---- Finding the parts --------------------------------------------------------------------------

void Assembly::find(const NameMap& names, const Blueprint& blueprint, ErrorCode code, const std::string& why) {
    if (add(names, blueprint, {name_, 0, static_cast<int>(rows_)}, code, why)) return;
    std::vector<TensorPiece> pieces; // for files that store them separately
    if (!names.rules.empty()) pieces = pieces_of({.name = name_, .shape = shape_}, blueprint);
    std::string missing = name_;
    bool complete = !pieces.empty();
    for (const TensorPiece& piece : pieces) {
        if (complete) missing = piece.name;
        complete = complete && add(names, blueprint, piece, code, why);
    }
    if (complete) return;
    std::string theirs = missing;
    for (const NameRule& rule : names.rules)
        if (const std::string name = their_name(rule, missing); !name.empty()) {
            theirs = name;
            break;
        }
    fail(code, where_, ": tensor '", printable(theirs), "': expected ",
         missing == name_ ? shape_text(shape_) : std::string("one"), ", found none", why);
}

// Adds the parts of one of Ordo's tensors, or of a piece of it. False if no line of the table leads to an existing
// tensor.
bool Assembly::add(const NameMap& names, const Blueprint& blueprint, const TensorPiece& piece, ErrorCode code,
                   const std::string& why) {
    const auto look_up = [&](const std::string& name) { return find_tensor(*store_, names, name); };
    if (names.rules.empty()) {
        const FileTensor* own = look_up(piece.name);
        if (own != nullptr) parts_.push_back(part(*own, {}, piece, blueprint, code, why));
        return own != nullptr;
    }
    for (const NameRule& rule : names.rules) {
        const std::string name = their_name(rule, piece.name);
        if (rule.layout == Layout::projected && !name.empty() && add_projected(names, blueprint, name)) return true;
        const FileTensor* from = name.empty() ? nullptr : look_up(name);
        if (from == nullptr) continue;
        if (rule.layout != Layout::by_head) {
            parts_.push_back(part(*from, rule, piece, blueprint, code, why));
            return true;
        }
        for (const TensorPiece& own : pieces_of({.name = name_, .shape = shape_}, blueprint))
            parts_.push_back(part(*from, rule, own, blueprint, code, why));
        return true;
    }
    return false;
}

// False if the layer has no matrix of this name.
bool Assembly::add_projected(const NameMap& names, const Blueprint& blueprint, const std::string& layer) {
    if (find_tensor(*store_, names, layer + ".weight") == nullptr) return false;
    const std::int64_t d = blueprint.d_model;
    const auto one = [&](const std::string& name, std::vector<std::int64_t> shape) {
        const TensorSpec spec{.name = name, .shape = std::move(shape)};
        const NameMap plain{.rules = {}, .prefix = names.prefix, .instead = {}, .ignored = {}};
        parts_.push_back(Assembly(*store_, plain, blueprint, spec, where_).parts_.front());
    };
    one(std::string(names.table), {rows_, d});
    one(layer + ".weight", {cols_, d});
    one(layer + ".bias", {cols_});
    projected_ = blueprint.norm_eps;
    const std::string norm(names.table_norm);
    if (find_tensor(*store_, names, norm + ".weight") == nullptr) return true;
    one(norm + ".weight", {d});
    one(norm + ".bias", {d});
    return true;
}

TensorPart Assembly::part(const FileTensor& from, const NameRule& rule, const TensorPiece& piece,
                          const Blueprint& model, ErrorCode code, const std::string& why) const {
    const Blueprint& b = stack_of(name_, model);
    TensorPart part{&from,     rule.layout == Layout::transposed, rule.plus_one && name_.ends_with(".weight"), 1, 0, 0,
                    piece.rows};
    std::vector<std::int64_t> shape = shape_; // the shape that the file's tensor must have
    shape[0] = piece.rows;
    switch (rule.layout) {
    case Layout::whole:
        break;
    case Layout::transposed:
        if (shape.size() == 2) std::swap(shape[0], shape[1]);
        part.transposed = shape.size() == 2;
        break;
    case Layout::by_head: {
        const std::int64_t queries = std::int64_t{b.n_heads} / b.n_kv_heads * b.d_head;
        const bool q = piece.first == 0, k = piece.first == b.n_heads * b.d_head;
        part.groups = b.n_kv_heads;
        part.stride = queries + 2 * b.d_head;
        part.first = q ? 0 : k ? queries : queries + b.d_head;
        part.take = q ? queries : b.d_head;
        shape[0] = part.groups * part.stride;
        break;
    }
    case Layout::expert:
        shape.insert(shape.begin(), b.layer(0).experts);
        for (const LayerPlan& plan : b.pattern) shape[0] = std::max<std::int64_t>(shape[0], plan.experts);
        part.first = std::int64_t{expert_in(piece.name)} * piece.rows;
        break;
    case Layout::projected:
        break;
    }
    std::vector<std::int64_t> found = from.shape;
    while (found.size() > shape.size() && found.front() == 1 && shape.size() == 1) found.erase(found.begin());
    if (found != shape)
        fail(code, store_->name_of(from), ": expected ", shape_text(shape), ", found ", shape_text(from.shape), why);
    if (!from.type || (quantised(*from.type) && (shape.size() == 1 || part.transposed)))
        fail(ErrorCode::model, store_->name_of(from), ": expected dtype ", store_->types(from), ", found ",
             printable(from.dtype));
    return part;
}

void Assembly::settle_type() {
    type_ = *parts_.front().from->type;
    for (const TensorPart& part : parts_)
        if (*part.from->type != type_ || part.plus_one || projected_) type_ = WeightType::f32;
}

// ---- Reading ------------------------------------------------------------------------------------

bool Assembly::divisible() const {
    return !projected_ &&
           std::none_of(parts_.begin(), parts_.end(), [](const TensorPart& part) { return part.transposed; });
}

std::size_t Assembly::part_size() const {
    const auto cols = static_cast<std::size_t>(cols_);
    return std::max<std::size_t>(1, Safetensors::part / cols) * cols;
}

// Visits the runs of Ordo's values [first, first + count), for parts that are not transposed.
template <class Visit>
void Assembly::for_runs(std::uint64_t first, std::uint64_t count, const Visit& visit) const {
    const auto cols = static_cast<std::uint64_t>(cols_);
    std::uint64_t begin = 0; // of a run, in Ordo's values
    for (const TensorPart& part : parts_) {
        const std::uint64_t length = static_cast<std::uint64_t>(part.take) * cols,
                            end = begin + length * static_cast<std::uint64_t>(part.groups);
        if (end > first && begin < first + count) {
            for (std::uint64_t g = begin < first ? (first - begin) / length : 0;
                 g < static_cast<std::uint64_t>(part.groups) && begin + g * length < first + count; ++g) {
                const std::uint64_t at = begin + g * length;
                const std::uint64_t skip = first > at ? first - at : 0;
                const std::uint64_t n = std::min(length - skip, first + count - (at + skip));
                const std::uint64_t row =
                    static_cast<std::uint64_t>(part.first) + g * static_cast<std::uint64_t>(part.stride);
                visit(Run{&part, row * cols + skip, at + skip, n});
            }
        }
        begin = end;
    }
}

void Assembly::read_run(const Run& run, std::span<float> out) const {
    read_values(*store_, *run.part->from, run.from, out);
    check_finite(*store_, *run.part->from, out, run.from); // now, while the values are still in the cache
    if (run.part->plus_one)
        for (float& value : out) value += 1;
}

void Assembly::read_transposed(const TensorPart& part, std::span<float> out) const {
    const auto rows = static_cast<std::size_t>(part.take), cols = static_cast<std::size_t>(cols_);
    std::vector<float> theirs(rows * cols); // in the file's layout: [cols, rows]
    read_values(*store_, *part.from, 0, theirs);
    check_finite(*store_, *part.from, theirs, 0);
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < cols; ++c) out[r * cols + c] = theirs[c * rows + r];
}

// Row r of the table, normalised, times the matrix, plus the bias.
void Assembly::read_projected(std::span<float> out) const {
    std::vector<Tensor> values;
    for (const TensorPart& part : parts_) {
        const bool vector = part.from->shape.size() == 1;
        Tensor& to = values.emplace_back(vector ? 1 : static_cast<int>(part.take), part.from->cols());
        read_values(*store_, *part.from, 0, {to.data(), to.size()});
        check_finite(*store_, *part.from, {to.data(), to.size()}, 0);
    }
    const View table = values[0].view();
    if (values.size() > 3) layer_norm(table, values[3].view(), values[4].view(), *projected_, table);
    const View y = view(out.data(), static_cast<int>(rows_), static_cast<int>(cols_));
    for (int r = 0; r < y.rows; ++r) std::copy_n(values[2].data(), y.cols, y.row(r));
    gemm(table, Transpose::no, values[1].view(), Transpose::yes, y, 1);
}

void Assembly::read(std::size_t first, std::span<float> out) const {
    if (projected_) return read_projected(out);
    if (divisible()) {
        for_runs(first, out.size(), [&](const Run& run) { read_run(run, out.subspan(run.to - first, run.count)); });
        return;
    }
    for (const TensorPart& part : parts_) { // all of it; there are no other layouts
        const std::size_t n = static_cast<std::size_t>(part.take * cols_);
        read_transposed(part, out.first(n));
        out = out.subspan(n);
    }
}

void Assembly::read(std::span<float> out) const {
    const std::size_t size = divisible() ? part_size() : out.size();
    parallel_for_throwing(static_cast<std::ptrdiff_t>((out.size() + size - 1) / size), [&](std::ptrdiff_t i) {
        const std::size_t first = static_cast<std::size_t>(i) * size;
        read(first, out.subspan(first, std::min(size, out.size() - first)));
    });
}

std::vector<TypedRows> Assembly::bands() const {
    std::vector<TypedRows> bands;
    for (const TensorPart& part : parts_) {
        if (part.transposed || part.plus_one || projected_) return {};
        const WeightType type = *part.from->type;
        if (bands.empty() || bands.back().type != type) bands.push_back({type, 0});
        bands.back().rows += static_cast<int>(part.rows());
    }
    return bands;
}

void Assembly::read_stored(std::int64_t first, std::span<std::byte> out) const {
    const auto cols = static_cast<std::uint64_t>(cols_), start = static_cast<std::uint64_t>(first) * cols;
    const WeightType type = type_at(first);
    const std::uint64_t row = row_bytes(type, cols_);
    for_runs(start, out.size() / row * cols, [&](const Run& run) {
        const std::span<std::byte> rows = out.subspan((run.to - start) / cols * row, run.count / cols * row);
        store_->read(*run.part->from, run.from / cols * row, rows);
        if (const std::optional<std::size_t> wild = wild_block(type, rows)) {
            const auto size = static_cast<std::size_t>(block_size(type));
            const auto bytes = static_cast<std::size_t>(row_bytes(type, block_size(type)));
            std::vector<float> values(size);
            read_blocks(type, rows.subspan(*wild * bytes, bytes), values);
            not_finite(*store_, *run.part->from, values, run.from + *wild * size);
        }
    });
}

std::vector<std::byte> Assembly::read_stored() const {
    std::vector<std::byte> rows(static_cast<std::uint64_t>(rows_) * row_bytes(type_, cols_));
    read_stored(0, rows);
    return rows;
}

WeightType Assembly::type_at(std::int64_t row) const {
    std::size_t i = 0;
    while (row >= parts_[i].rows()) row -= parts_[i++].rows();
    return *parts_[i].from->type;
}

} // namespace ordo
