// SPDX-License-Identifier: MIT
// Reads a GGUF file from its first byte to its data. Each length in the file is compared with the remaining bytes
// before anything is allocated for it.
#include "core/error.h"
#include "formats/gguf/file.h"
#include "io/checked.h"
#include "io/file_kind.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

namespace ordo {
namespace {

constexpr std::uint64_t least_entry = 8 + 1 + 4 + 1;          // bytes: a key of one, a type, a value
constexpr std::uint64_t least_tensor = 8 + 1 + 4 + 8 + 4 + 8; // a name of one byte, one size
constexpr std::string_view alignment_key = "general.alignment";

bool has_control(std::string_view name) {
    return std::any_of(name.begin(), name.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f;
    });
}

} // namespace

class GgufParser {
public:
    // data_bytes: the bytes after those of the file object.
    GgufParser(Gguf& file, const GgufLimits& limits, std::uint64_t data_bytes)
        : file_(file), limits_(limits), readable_(file.size()), whole_(file.size() + data_bytes) {}
    void parse();

private:
    template <class... Parts>
    [[noreturn]] void refuse(const Parts&... parts) const {
        fail(ErrorCode::model, file_.where(), ": ", parts...);
    }
    std::uint64_t left() const { return readable_ - at_; }
    void need(std::uint64_t n, std::string_view what) const;
    void take(std::span<std::byte> out, std::string_view what);
    template <class T>
    T number(std::string_view what) {
        T value;
        take(std::as_writable_bytes(std::span(&value, 1)), what);
        return value;
    }
    std::string string(std::string_view what, std::uint64_t most);
    void check_start();
    std::uint64_t count(const char* what, std::size_t most, std::uint64_t least_bytes);
    GgufKind kind(const std::string& what);
    void entry();
    GgufValue value(GgufKind of, const std::string& what);
    GgufValue array(const std::string& what);
    GgufValue strings(std::uint64_t n, const std::string& what);
    void check_truths(const std::string& bytes, const std::string& what) const;
    void read_alignment();
    void tensor();
    void read_sizes(GgufTensor& tensor, const std::string& what);
    void read_type(GgufTensor& tensor, const std::string& what);
    void index_names();
    void place_data();

    Gguf& file_;
    const GgufLimits& limits_;
    std::uint64_t readable_;        // bytes
    std::uint64_t whole_;           // with data_bytes
    std::uint64_t at_ = 0;          // the next byte of the file
    std::vector<std::byte> buffer_; // bytes of the file
    std::uint64_t buffer_at_ = 0;   // their offset in the file
};

void GgufParser::need(std::uint64_t n, std::string_view what) const {
    if (n > left()) refuse(what, ": expected ", n, " more bytes, found ", left(), ", the end of the file");
}

void GgufParser::take(std::span<std::byte> out, std::string_view what) {
    constexpr std::uint64_t piece = 1 << 16;
    need(out.size(), what);
    while (!out.empty()) {
        const std::uint64_t held = buffer_at_ + buffer_.size();
        if (at_ < buffer_at_ || at_ >= held) {
            buffer_.resize(std::min(piece, left()));
            buffer_at_ = at_;
            file_.read_at(at_, buffer_);
            continue;
        }
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), held - at_));
        std::memcpy(out.data(), buffer_.data() + (at_ - buffer_at_), n);
        out = out.subspan(n);
        at_ += n;
    }
}

std::string GgufParser::string(std::string_view what, std::uint64_t most) {
    const auto length = number<std::uint64_t>(what);
    if (length > left() || length > most)
        refuse(what, ": string of ", length, " bytes, ", length > left() ? "the file has " : "allowed are ",
               length > left() ? left() : most);
    std::string text(static_cast<std::size_t>(length), '\0');
    take(std::as_writable_bytes(std::span(text)), what);
    return text;
}

// ---- The start --------------------------------------------------------------------------------

void GgufParser::check_start() {
    char start[file_kind_bytes] = {};
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(readable_, sizeof start));
    if (n == 0) refuse("the file is empty");
    file_.read_at(0, std::as_writable_bytes(std::span(start, n)));
    const std::string_view text(start, n);
    if (!text.starts_with("GGUF")) {
        if (const FileKind* kind = binary_kind(text)) refuse("expected a GGUF file, found ", kind->text());
        if (like_safetensors(text)) refuse("expected a GGUF file, found what looks like a safetensors file");
        if (const std::string_view kind = text_kind(text, n == readable_); !kind.empty())
            refuse("expected a GGUF file, found ", kind);
        refuse("expected 'GGUF' at byte 0, found '", printable(text.substr(0, 4)), "'");
    }
    at_ = 4;
    const auto found = number<std::uint32_t>("version");
    if (found == gguf_version || found == 2) return; // version 3 only added the other byte order
    if (found == std::uint32_t{gguf_version} << 24) refuse("a big-endian GGUF file, which is not supported");
    refuse("GGUF version ", found, ", expected 2 or ", gguf_version, found == 1 ? "; convert the model again" : "");
}

std::uint64_t GgufParser::count(const char* what, std::size_t most, std::uint64_t least_bytes) {
    const auto n = number<std::uint64_t>(what);
    if (n > most) refuse(what, ": expected at most ", most, ", found ", n);
    if (n > left() / least_bytes)
        refuse(what, ": found ", n, ", which the ", left(), " bytes of the file that are left cannot hold");
    return n;
}

// ---- Metadata ---------------------------------------------------------------------------------

GgufKind GgufParser::kind(const std::string& what) {
    const auto found = number<std::uint32_t>(what);
    if (found > static_cast<std::uint32_t>(GgufKind::f64))
        refuse(what, ": expected a type from 0 to 12, found ", found);
    return static_cast<GgufKind>(found);
}

void GgufParser::entry() {
    const std::string number_text = "metadata " + std::to_string(file_.metadata_.size());
    std::string key = string(number_text + ": key", limits_.key_bytes);
    if (key.empty()) refuse(number_text, ": the key is empty");
    const std::string what = "metadata '" + printable(key) + "'";
    const GgufKind of = kind(what);
    GgufValue found = of == GgufKind::array ? array(what) : value(of, what);
    if (!file_.metadata_.emplace(std::move(key), std::move(found)).second) refuse(what, " appears twice");
}

GgufValue GgufParser::value(GgufKind of, const std::string& what) {
    if (of == GgufKind::string) {
        std::string text = string(what, limits_.string_bytes);
        const std::uint64_t end = text.size();
        return {of, false, std::move(text), {end}};
    }
    std::string bytes(kind_bytes(of), '\0');
    take(std::as_writable_bytes(std::span(bytes)), what);
    if (of == GgufKind::boolean) check_truths(bytes, what);
    return {of, false, std::move(bytes)};
}

GgufValue GgufParser::array(const std::string& what) {
    const GgufKind of = kind(what);
    if (of == GgufKind::array) refuse(what, ": an array of arrays, which is not supported");
    const auto n = number<std::uint64_t>(what);
    if (n > limits_.array) refuse(what, ": array of ", n, " elements, allowed are ", limits_.array);
    const std::uint64_t least = of == GgufKind::string ? 8 : kind_bytes(of);
    need(n * least, what); // n is at most its limit here
    if (of == GgufKind::string) return strings(n, what);
    std::string bytes(static_cast<std::size_t>(n * least), '\0');
    take(std::as_writable_bytes(std::span(bytes)), what);
    if (of == GgufKind::boolean) check_truths(bytes, what);
    return {of, true, std::move(bytes)};
}

GgufValue GgufParser::strings(std::uint64_t n, const std::string& what) {
    std::string bytes;
    std::vector<std::uint64_t> ends;
    ends.reserve(n);
    for (std::uint64_t i = 0; i < n; ++i) {
        const auto length = number<std::uint64_t>(what);
        if (length > left() || length > limits_.string_bytes)
            refuse(what, ": element ", i, ": string of ", length, " bytes, ",
                   length > left() ? "the file has " : "allowed are ", length > left() ? left() : limits_.string_bytes);
        const std::size_t begin = bytes.size();
        bytes.resize(begin + static_cast<std::size_t>(length));
        take(std::as_writable_bytes(std::span(bytes).subspan(begin)), what);
        ends.push_back(bytes.size());
    }
    return {GgufKind::string, true, std::move(bytes), std::move(ends)};
}

void GgufParser::check_truths(const std::string& bytes, const std::string& what) const {
    const auto bad = std::find_if(bytes.begin(), bytes.end(), [](char c) { return c != '\0' && c != '\1'; });
    if (bad != bytes.end())
        refuse(what, ": expected a bool, 0 or 1, found ", static_cast<int>(static_cast<unsigned char>(*bad)));
}

// The documentation requires a multiple of 8, ggml's code a power of two. Any file that ggml reads is accepted.
void GgufParser::read_alignment() {
    const GgufValue* found = file_.find_value(alignment_key);
    if (!found) return;
    if (found->is_array() || found->kind() != GgufKind::u32) file_.unexpected(alignment_key, "a u32", *found);
    const auto bytes = static_cast<std::uint64_t>(found->integer());
    if (!std::has_single_bit(bytes) || bytes > limits_.alignment)
        file_.unexpected(alignment_key, "a power of two up to " + std::to_string(limits_.alignment), *found);
    file_.alignment_ = bytes;
}

// ---- Tensors ----------------------------------------------------------------------------------

void GgufParser::read_sizes(GgufTensor& tensor, const std::string& what) {
    const auto rank = number<std::uint32_t>(what);
    if (rank < 1 || rank > limits_.rank) refuse(what, ": expected 1 to ", limits_.rank, " dimensions, found ", rank);
    Checked elements(1);
    for (std::uint32_t i = 0; i < rank; ++i) {
        const auto size = number<std::int64_t>(what);
        if (size < 1) refuse(what, ": dimension ", i, ": expected 1 or more, found ", size);
        tensor.shape.insert(tensor.shape.begin(), size);
        elements = elements * Checked(static_cast<std::uint64_t>(size));
    }
    if (!elements.valid()) refuse(what, ": the number of its elements exceeds 64 bits");
    tensor.elements = elements.value();
}

void GgufParser::read_type(GgufTensor& tensor, const std::string& what) {
    const auto found = number<std::uint32_t>(what);
    const GgmlType* type = ggml_type(found);
    if (!type)
        refuse(what, ": type ", static_cast<std::int32_t>(found),
               " of ggml's, which is unknown; F32, F16, BF16, Q4_0, Q5_0, Q8_0, Q4_K, Q5_K and Q6_K are supported");
    const auto row = static_cast<std::uint64_t>(tensor.shape.back());
    if (row % type->block != 0)
        refuse(what, ": rows of ", row, " weights, which blocks of ", type->block, " of type ", type->name,
               " do not divide");
    const Checked bytes = Checked(tensor.elements / type->block) * Checked(type->block_bytes);
    if (!bytes.valid()) refuse(what, ": its size exceeds 64 bits");
    tensor.bytes = bytes.value();
    tensor.type = type->type;
    tensor.type_name = type->name;
}

void GgufParser::tensor() {
    GgufTensor tensor;
    const std::string number_text = "tensor " + std::to_string(file_.tensors_.size());
    tensor.name = string(number_text + ": name", limits_.name_bytes);
    if (tensor.name.empty()) refuse(number_text, ": the name is empty");
    if (has_control(tensor.name)) refuse("tensor name with a control character: '", printable(tensor.name), "'");
    const std::string what = "tensor '" + printable(tensor.name) + "'";
    read_sizes(tensor, what);
    read_type(tensor, what);
    tensor.offset = number<std::uint64_t>(what);
    file_.tensors_.push_back(std::move(tensor));
}

// Sorting finds duplicates; no choice of names can slow it down.
void GgufParser::index_names() {
    const std::vector<GgufTensor>& tensors = file_.tensors_;
    std::vector<std::size_t>& order = file_.by_name_;
    order.resize(tensors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return tensors[a].name < tensors[b].name; });
    const auto twice = std::adjacent_find(
        order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return tensors[a].name == tensors[b].name; });
    if (twice != order.end()) refuse("tensor '", printable(tensors[*twice].name), "' appears twice");
}

// Offsets are relative to the start of the data. Each must follow from the tensors before it, without overlap or gap.
// After the last tensor there may be the padding that one more would need.
void GgufParser::place_data() {
    const auto aligned = [this](Checked n) {
        if (!(n + Checked(file_.alignment_)).valid()) return n + Checked(file_.alignment_);
        const std::uint64_t over = n.value() % file_.alignment_;
        return over == 0 ? n : n + Checked(file_.alignment_ - over);
    };
    const Checked data = aligned(Checked(at_));
    Checked end = Checked(at_), next(0);
    for (GgufTensor& tensor : file_.tensors_) {
        const std::string what = "tensor '" + printable(tensor.name) + "'";
        if (!(Checked(tensor.offset) == next))
            refuse(what, ": expected its data at offset ", next.valid() ? std::to_string(next.value()) : "2^64",
                   ", where those before end, found ", tensor.offset);
        const Checked begin = data + next;
        end = begin + Checked(tensor.bytes);
        if (!(end <= Checked(whole_)))
            refuse(what, ": its ", tensor.bytes, " bytes of data end past the end of the file of ", whole_);
        tensor.offset = begin.value();
        next = aligned(next + Checked(tensor.bytes));
    }
    if (!(Checked(whole_) <= aligned(end)))
        refuse("the data of the tensors ends at ", end.value(), ", but the file holds ", whole_, " bytes");
}

void GgufParser::parse() {
    check_start();
    // Both counts are before the entries, so the first can only be compared with the whole file.
    const std::uint64_t tensors = count("tensor count", limits_.tensors, least_tensor);
    const std::uint64_t entries = count("metadata count", limits_.metadata, least_entry);
    for (std::uint64_t i = 0; i < entries; ++i) entry();
    read_alignment();
    for (std::uint64_t i = 0; i < tensors; ++i) tensor();
    index_names();
    place_data();
}

Gguf::Gguf(FileBytes source, const GgufLimits& limits, std::uint64_t data_bytes) : source_(std::move(source)) {
    GgufParser(*this, limits, data_bytes).parse();
}

void Gguf::check_header(std::span<const std::byte> bytes, std::uint64_t data_bytes, std::string_view where) {
    const Gguf head(FileBytes(bytes, where), {}, data_bytes);
}

} // namespace ordo
