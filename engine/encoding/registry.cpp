// SPDX-License-Identifier: MIT
#include "encoding/registry.h"

#include "core/error.h"
#include "encoding/table.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ordo {

#define ENCODING(x) extern const EncodingInfo x##_encoding;
#include "encoding/list.def"
#undef ENCODING

namespace {

// An explicit list: self-registration by static constructors would not survive a static archive.
constexpr auto encodings = std::to_array<const EncodingInfo*>({
#define ENCODING(x) &x##_encoding,
#include "encoding/list.def"
#undef ENCODING
});

// Sizes past which something is wrong with the caller; they bound what an encoding allocates.
void check_dims(const Dims& dims) {
    const int most = 1 << 20;
    const auto check = [most](std::string_view name, int value, int least) {
        if (value < least || value > most)
            fail(ErrorCode::usage, "encoding: ", name, ": expected ", least, " to ", most, ", found ", value);
    };
    check("d_model", dims.d_model, 1);
    check("n_heads", dims.n_heads, 1);
    check("d_head", dims.d_head, 1);
}

std::string_view name_of(std::string_view spec) {
    return spec.substr(0, spec.find(':'));
}

// Two rotations in a row are one rotation only if they commute, which no encoding here promises; and
// two encodings of one name would store their tensors under one name.
void check_together(const Encoding& first, const Encoding& second) {
    const std::string a = first.spec();
    const std::string b = second.spec();
    if (first.moments() & second.moments() & moment_rotate)
        fail(ErrorCode::usage, "encoding spec: '", name_of(a), "' and '", name_of(b),
             "' both rotate queries and keys: expected one of them");
    if (name_of(a) == name_of(b) && !first.tensors().empty())
        fail(ErrorCode::usage, "encoding spec: '", name_of(a), "' stores tensors: expected once, found twice");
}

} // namespace

std::span<const EncodingInfo* const> registered_encodings() {
    return encodings;
}

const EncodingInfo& find_encoding(std::string_view name) {
    std::vector<std::string_view> names;
    for (const EncodingInfo* info : encodings) {
        if (info->name == name) return *info;
        names.push_back(info->name);
    }
    fail(ErrorCode::usage, "unknown encoding '", printable(name), "': expected ", one_of(name, names));
}

std::vector<std::unique_ptr<Encoding>> make_encodings(std::string_view spec, const Dims& dims) {
    std::vector<std::unique_ptr<Encoding>> made;
    if (spec.empty()) return made;
    for (const SpecItem& item : parse_spec(spec)) {
        const EncodingInfo& info = find_encoding(item.name);
        if (info.moments != 0) check_dims(dims);
        std::unique_ptr<Encoding> encoding = info.make(item, dims);
        item.finish();
        if (encoding->moments() == 0) continue; // "none": nothing would ever call it
        for (const auto& earlier : made) check_together(*earlier, *encoding);
        made.push_back(std::move(encoding));
    }
    return made;
}

// ---- Tables -----------------------------------------------------------------------------------

std::string checked_part(const Encoding& encoding, const TableRequest& request) {
    const std::string spec = encoding.spec();
    const std::string_view name = name_of(spec);
    if (request.length < 1 || request.length > max_table_cells)
        fail(ErrorCode::usage, name, ": table: length: expected 1 to ", max_table_cells, ", found ", request.length);
    if (request.start < 0) fail(ErrorCode::usage, name, ": table: start: expected 0 or more, found ", request.start);
    if (request.start > encoding.max_position() - request.length)
        fail(ErrorCode::limit, name, ": table: expected positions below ", encoding.max_position(), ", found ",
             std::int64_t{request.start} + request.length - 1);
    const std::vector<std::string> parts = encoding.table_parts();
    if (parts.empty()) fail(ErrorCode::usage, name, ": there is no table to show");
    if (request.part.empty()) return parts.front();
    if (std::find(parts.begin(), parts.end(), request.part) == parts.end()) {
        const std::vector<std::string_view> words(parts.begin(), parts.end());
        fail(ErrorCode::usage, name, ": table: part: expected ", one_of(request.part, words), ", found '",
             printable(request.part), "'");
    }
    return request.part;
}

namespace {

void check_size(std::int64_t rows, std::int64_t cols, int most) {
    if (cols > 0 && rows > most / cols)
        fail(ErrorCode::limit, "table: expected at most ", most, " numbers, found ", rows, " x ", cols);
}

} // namespace

TableRows make_table(std::vector<std::string> header, std::int64_t rows, FillRow fill) {
    check_size(rows, static_cast<std::int64_t>(header.size()), max_table_cells);
    return {std::move(header), rows, std::move(fill)};
}

TableRows make_matrix(std::string_view word, int first, int cols, std::int64_t rows, FillRow fill) {
    check_size(rows, cols, max_table_cells); // before a header as wide is made
    std::vector<std::string> header;
    for (int i = 0; i < cols; ++i) header.push_back(std::string(word) + std::to_string(first + i));
    return make_table(std::move(header), rows, std::move(fill));
}

namespace {

TableRows embed_table(const Encoding& encoding, const TableRequest& request) {
    const int width = request.width, start = request.start;
    if (width < 1) fail(ErrorCode::usage, "table: width: expected 1 or more, found ", width);
    return make_matrix("dim", 0, width, request.length, [=, &encoding](std::int64_t i, std::span<double> out) {
        std::vector<float> row(out.size());
        const int position = start + static_cast<int>(i);
        encoding.embed({row.data(), 1, width, width}, {Positions(&position, 1), {}});
        std::copy(row.begin(), row.end(), out.begin());
    });
}

// Causal: a key after its query is masked.
TableRows bias_table(const Encoding& encoding, const TableRequest& request) {
    const int length = request.length, head = request.head;
    TableRows table = make_matrix("key", request.start, length, length, {});
    std::vector<int> keys(static_cast<std::size_t>(length));
    for (int i = 0; i < length; ++i) keys[static_cast<std::size_t>(i)] = request.start + i;
    table.fill = [=, &encoding, keys = std::move(keys)](std::int64_t i, std::span<double> out) {
        std::vector<float> row(out.size());
        encoding.bias({row.data(), 1, length, length}, 0, head, Positions(keys).subspan(static_cast<std::size_t>(i), 1),
                      keys);
        std::fill(row.begin() + static_cast<std::ptrdiff_t>(i) + 1, row.end(), -INFINITY);
        std::copy(row.begin(), row.end(), out.begin());
    };
    return table;
}

} // namespace

TableRows Encoding::table_rows(const TableRequest& request) const {
    checked_part(*this, request);
    if (moments() & moment_embed) return embed_table(*this, request);
    if (moments() & moment_bias) return bias_table(*this, request);
    fail(ErrorCode::usage, printable(name_of(spec())), ": there is no table to show");
}

Table Encoding::table(const TableRequest& request) const {
    TableRows rows = table_rows(request);
    check_size(rows.count, static_cast<std::int64_t>(rows.header.size()), max_held_table_cells);
    Table table{std::move(rows.header), {}};
    for (std::int64_t i = 0; i < rows.count; ++i) rows.fill(i, table.rows.emplace_back(table.header.size()));
    return table;
}

// ---- EncodingStack ----------------------------------------------------------------------------

EncodingStack::EncodingStack(std::vector<std::unique_ptr<Encoding>> items) : items_(std::move(items)) {}

std::string EncodingStack::spec() const {
    std::string text;
    for (const auto& item : items_) {
        if (!text.empty()) text += '+';
        text += item->spec();
    }
    return text.empty() ? "none" : text;
}

unsigned EncodingStack::moments() const {
    unsigned all = 0;
    for (const auto& item : items_) all |= item->moments();
    return all;
}

bool EncodingStack::shift_invariant() const {
    return std::all_of(items_.begin(), items_.end(), [](const auto& item) { return item->shift_invariant(); });
}

int EncodingStack::max_position() const {
    int least = std::numeric_limits<int>::max();
    for (const auto& item : items_) least = std::min(least, item->max_position());
    return least;
}

int EncodingStack::max_segment() const {
    int least = std::numeric_limits<int>::max();
    for (const auto& item : items_) least = std::min(least, item->max_segment());
    return least;
}

std::vector<TensorSpec> EncodingStack::tensors() const {
    std::vector<TensorSpec> all;
    for (const auto& item : items_) {
        const std::string spec = item->spec();
        for (TensorSpec& tensor : item->tensors()) {
            tensor.name = "encoding." + std::string(name_of(spec)) + "." + tensor.name;
            all.push_back(std::move(tensor));
        }
    }
    return all;
}

void EncodingStack::bind(std::span<const View> tensors) {
    for (const auto& item : items_) {
        const std::size_t count = item->tensors().size();
        if (count > tensors.size())
            fail(ErrorCode::model, item->spec(), ": expected ", count, " tensors, found ", tensors.size());
        item->bind(tensors.first(count));
        tensors = tensors.subspan(count);
    }
    if (!tensors.empty()) fail(ErrorCode::model, "encoding ", spec(), ": ", tensors.size(), " tensors too many");
}

void EncodingStack::prepare(int n_positions) {
    for (const auto& item : items_) item->prepare(n_positions);
}

void EncodingStack::embed(View x, const TokenRows& rows) const {
    for (const auto& item : items_) item->embed(x, rows);
}

void EncodingStack::rotate(View x, int n_heads, Positions positions, Role role, int layer) const {
    for (const auto& item : items_) item->rotate(x, n_heads, positions, role, layer);
}

void EncodingStack::rotate_backward(View dx, int n_heads, Positions positions, Role role, int layer) const {
    for (auto item = items_.rbegin(); item != items_.rend(); ++item)
        (*item)->rotate_backward(dx, n_heads, positions, role, layer);
}

void EncodingStack::bias(View scores, int layer, int head, Positions queries, Positions keys) const {
    for (const auto& item : items_) item->bias(scores, layer, head, queries, keys);
}

} // namespace ordo
