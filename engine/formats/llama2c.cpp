// SPDX-License-Identifier: MIT
#include "formats/llama2c.h"

#include "core/error.h"
#include "formats/gguf/vocabulary.h"
#include "io/checked.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <system_error>

namespace ordo {
namespace {

constexpr std::int32_t magic_of_versions = 0x616b3432; // "ak42", before the header of later layouts
constexpr std::size_t most_vocabulary = std::size_t{64} << 20;

std::uint64_t size_of(int n) {
    return static_cast<std::uint64_t>(n);
}

std::int32_t int_at(std::span<const std::byte> bytes, std::size_t at) {
    std::int32_t value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

// run.c's names.
NameMap names() {
    return {.rules = {{"embedding", "token_embedding_table"},
                      {"layers.#.attention_norm", "layers.#.rms_att_weight"},
                      {"layers.#.attention.q", "layers.#.wq"},
                      {"layers.#.attention.k", "layers.#.wk"},
                      {"layers.#.attention.v", "layers.#.wv"},
                      {"layers.#.attention.out", "layers.#.wo"},
                      {"layers.#.feed_forward_norm", "layers.#.rms_ffn_weight"},
                      {"layers.#.feed_forward.gate", "layers.#.w1"},
                      {"layers.#.feed_forward.out", "layers.#.w2"},
                      {"layers.#.feed_forward.up", "layers.#.w3"},
                      {"final_norm", "rms_final_weight"},
                      {"head", "wcls"}},
            .prefix = {},
            .ignored = {}};
}

// Consecutive tensors in a file, one for each layer or a single one. Numbers without a name are skipped.
struct Run {
    const char* name;
    std::vector<std::int64_t> shape;
    bool of_layers = true;

    Checked numbers() const { // of one tensor
        Checked n(1);
        for (const std::int64_t size : shape) n = n * Checked(static_cast<std::uint64_t>(size));
        return n;
    }
    bool in_groups(int group) const { return group > 0 && shape.size() == 2; }
    Checked bytes(int group) const { // of one tensor
        const Checked n = numbers();
        if (!in_groups(group)) return Checked(sizeof(float)) * n;
        return n + Checked(sizeof(float)) * Checked(n.value() / static_cast<std::uint64_t>(group));
    }
};

std::vector<Run> runs_of(const Llama2cHeader& header) {
    const Blueprint& b = header.blueprint;
    const std::int64_t d = b.d_model, kv = std::int64_t{b.n_kv_heads} * b.d_head, hidden = b.d_ff;
    const Run embedding{"token_embedding_table", {b.vocab_size, d}, false}, attention_norm{"rms_att_weight", {d}},
        ffn_norm{"rms_ffn_weight", {d}}, final_norm{"rms_final_weight", {d}, false};
    std::vector<Run> runs;
    if (header.version == 0)
        runs = {embedding, attention_norm};
    else
        runs = {attention_norm, ffn_norm, final_norm, embedding};
    runs.insert(runs.end(), {{"wq", {d, d}}, {"wk", {kv, d}}, {"wv", {kv, d}}, {"wo", {d, d}}});
    if (header.version == 0) runs.push_back(ffn_norm);
    runs.insert(runs.end(), {{"w1", {hidden, d}}, {"w2", {d, hidden}}, {"w3", {hidden, d}}});
    if (header.version == 0) runs.insert(runs.end(), {final_norm, {"", {b.context, b.d_head / 2, 2}, false}});
    if (!b.tied_head) runs.push_back({"wcls", {b.vocab_size, d}, false});
    return runs;
}

// Reads numbers from `first` on as floats. They are bytes at one place of a file, and the scales of their groups, a
// float each, are at another.
void read_groups(const File& file, std::uint64_t levels_at, std::uint64_t scales_at, std::uint64_t group,
                 std::uint64_t first, std::span<std::byte> out) {
    const std::uint64_t n = out.size() / sizeof(float), first_group = first / group;
    if (n == 0) return;
    std::vector<signed char> levels(static_cast<std::size_t>(n));
    std::vector<float> scales(static_cast<std::size_t>((first + n - 1) / group - first_group + 1));
    file.read(levels_at + first, std::as_writable_bytes(std::span(levels)));
    file.read(scales_at + first_group * sizeof(float), std::as_writable_bytes(std::span(scales)));
    for (std::size_t i = 0; i < levels.size(); ++i) {
        const float scale = scales[(first + i) / group - first_group];
        const float value = static_cast<float>(levels[i]) * scale;
        std::memcpy(out.data() + sizeof(float) * i, &value, sizeof value);
    }
}

void add_tensors(TensorStore& store, const std::shared_ptr<const File>& file, const Llama2cHeader& header) {
    const std::size_t floats = store.add_file(
        file->where(), file->size(),
        [file](std::uint64_t offset, std::span<std::byte> out) { file->read(offset, out); }, "F32");
    std::uint64_t at = header.header_bytes();
    const auto add = [&](const std::string& name, const Run& run) {
        const std::uint64_t n = run.numbers().value();
        FileTensor tensor{.name = name + ".weight",
                          .dtype = "F32",
                          .type = WeightType::f32,
                          .shape = run.shape,
                          .bytes = n * sizeof(float),
                          .offset = at,
                          .file = floats};
        if (run.in_groups(header.group)) { // read as a file of floats
            const auto group = static_cast<std::uint64_t>(header.group);
            tensor.dtype = "I8";
            tensor.offset = 0;
            tensor.file = store.add_file(
                file->where(), 0,
                [file, at, n, group](std::uint64_t offset, std::span<std::byte> out) {
                    read_groups(*file, at, at + n, group, offset / sizeof(float), out);
                },
                "I8");
        }
        store.add(std::move(tensor));
    };
    for (const Run& run : runs_of(header))
        for (int i = 0; i < (run.of_layers ? header.blueprint.n_layers : 1); ++i) {
            if (*run.name != '\0')
                add(run.of_layers ? "layers." + std::to_string(i) + "." + run.name : std::string(run.name), run);
            at += run.bytes(header.group).value();
        }
}

// The size of a file with this header, whose numbers are in range. Invalid if it overflows.
Checked file_bytes(const Llama2cHeader& header, const std::string& where) {
    Checked bytes(header.header_bytes());
    for (const Run& run : runs_of(header)) {
        const Checked n = run.numbers();
        if (!n.valid()) return n;
        if (run.in_groups(header.group) && n.value() % static_cast<std::uint64_t>(header.group) != 0)
            fail(ErrorCode::model, where, ": header field 'group_size': expected one that divides the ", n.value(),
                 " numbers of '", run.name, "', found ", header.group);
        bytes = bytes + run.bytes(header.group) * Checked(size_of(run.of_layers ? header.blueprint.n_layers : 1));
    }
    return bytes;
}

// run.c begins with token 1, which also separates texts.
TextSide without_tokenizer(int vocab_size) {
    TextSide text;
    if (vocab_size < 3) return text;
    text.special.start = 1;
    text.special.end = {1, 2};
    text.special.unknown = 0;
    return text;
}

template <class T>
T number_at(std::string_view bytes, std::size_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

// Reads the version of a file, and returns the place of its sizes.
std::size_t read_version(std::span<const std::byte> start, const std::string& where, Llama2cHeader& header) {
    const auto check_size = [&](std::size_t expected) {
        if (start.size() < expected)
            fail(ErrorCode::model, where, ": expected the ", expected, " bytes of a header of llama2.c's, found ",
                 start.size());
    };
    check_size(llama2c_header_bytes);
    if (int_at(start, 0) != magic_of_versions) return 0;
    header.version = int_at(start, 4);
    if (header.version != 1 && header.version != 2)
        fail(ErrorCode::model, where,
             ": version of llama2.c's layout: expected 1 or 2, or the layout without one (export.py "
             "--version 0), found ",
             header.version);
    check_size(llama2c_version_header_bytes);
    return 8;
}

} // namespace

Llama2cHeader llama2c_header(std::span<const std::byte> start, const std::string& where) {
    Llama2cHeader header;
    const std::size_t at = read_version(start, where, header);
    static constexpr struct {
        const char* name;
        std::int32_t least, most;
    } allowed[] = {{"dim", 2, 65536},      {"hidden_dim", 1, 1 << 20}, {"n_layers", 1, 1024},
                   {"n_heads", 1, 1024},   {"n_kv_heads", 1, 1024},    {"vocab_size", -(1 << 22), 1 << 22},
                   {"seq_len", 1, 1 << 22}};
    std::int32_t field[std::size(allowed)] = {};
    const auto check_field = [&](const char* name, std::int32_t found, std::int32_t least, std::int32_t most) {
        if (found < least || found > most || found == 0)
            fail(ErrorCode::model, where, ": header field '", name, "': expected ", least, " to ", most, ", found ",
                 found);
    };
    for (std::size_t i = 0; i < std::size(field); ++i) {
        field[i] = int_at(start, at + 4 * i);
        check_field(allowed[i].name, field[i], header.version == 0 ? allowed[i].least : std::max(allowed[i].least, 1),
                    allowed[i].most);
    }
    Blueprint& b = header.blueprint;
    b.architecture = "llama";
    b.d_model = field[0];
    b.d_ff = field[1];
    b.n_layers = field[2];
    b.n_heads = field[3];
    b.n_kv_heads = field[4];
    b.vocab_size = std::abs(field[5]);
    b.context = field[6];
    b.tied_head = header.version == 0 ? field[5] > 0 : start[at + sizeof field] != std::byte{0};
    if (header.version == 2) {
        header.group = int_at(start, at + sizeof field + 1);
        check_field("group_size", header.group, 1, 1 << 20);
    }
    if (b.d_model % b.n_heads != 0 || b.d_model / b.n_heads % 2 != 0)
        fail(ErrorCode::model, where, ": header fields 'dim' and 'n_heads': expected heads of an even size, found ",
             b.d_model, " for ", b.n_heads, " heads");
    b.d_head = b.d_model / b.n_heads;
    check(b, where);
    const Checked bytes = file_bytes(header, where);
    if (!bytes.valid()) fail(ErrorCode::model, where, ": the size that the header speaks of exceeds 64 bits");
    header.bytes = bytes.value();
    return header;
}

std::size_t Llama2cHeader::header_bytes() const {
    return version == 0 ? llama2c_header_bytes : llama2c_version_header_bytes;
}

bool is_llama2c(const std::filesystem::path& path) {
    const File file(path);
    std::byte start[llama2c_header_bytes];
    if (file.size() < sizeof start) return false;
    file.read(0, start);
    if (int_at(start, 0) == magic_of_versions) return true;
    try {
        llama2c_header(start, file.where());
        return true;
    } catch (const Error&) {
        return false;
    }
}

Llama2cVocabulary llama2c_vocabulary(std::string_view bytes, int vocab_size, const std::string& where) {
    constexpr std::size_t head = sizeof(float) + sizeof(std::int32_t);
    Llama2cVocabulary out;
    std::size_t at = sizeof(std::int32_t);
    if (bytes.size() < at)
        fail(ErrorCode::model, where, ": expected a vocabulary of llama2.c's, found ", bytes.size(), " bytes");
    for (int id = 0; id < vocab_size; ++id) {
        if (bytes.size() - at < head) fail(ErrorCode::model, where, ": expected ", vocab_size, " tokens, found ", id);
        const auto score = number_at<float>(bytes, at);
        const auto length = number_at<std::int32_t>(bytes, at + sizeof score);
        at += head;
        if (length < 0 || static_cast<std::size_t>(length) > bytes.size() - at)
            fail(ErrorCode::model, where, ": token ", id, ": expected up to ", bytes.size() - at, " bytes, found ",
                 length);
        if (!std::isfinite(score))
            fail(ErrorCode::model, where, ": token ", id, ": expected a finite score, found ", score);
        out.tokens.emplace_back(bytes.substr(at, length));
        out.scores.push_back(score);
        at += static_cast<std::size_t>(length);
    }
    if (at != bytes.size())
        fail(ErrorCode::model, where, ": expected ", vocab_size, " tokens, found ", bytes.size() - at, " bytes more");
    return out;
}

Llama2cVocabulary llama2c_vocabulary(const std::filesystem::path& path, int vocab_size) {
    return llama2c_vocabulary(read_file(path, most_vocabulary), vocab_size, printable_path(path));
}

TextSide llama2c_text(const std::filesystem::path& tokenizer, int vocab_size) {
    Llama2cVocabulary vocabulary = llama2c_vocabulary(tokenizer, vocab_size);
    TextSide text = without_tokenizer(vocab_size);
    text.tokenizer =
        tokenizer_from_llama2c(std::move(vocabulary.tokens), std::move(vocabulary.scores), printable_path(tokenizer));
    return text;
}

Source llama2c_source(const std::filesystem::path& path, const std::filesystem::path& tokenizer) {
    const auto file = std::make_shared<const File>(path);
    std::byte start[llama2c_version_header_bytes];
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(file->size(), sizeof start));
    file->read(0, std::span(start).first(n));
    const Llama2cHeader header = llama2c_header(std::span(start).first(n), file->where());
    if (header.bytes != file->size())
        fail(ErrorCode::model, file->where(), ": expected ", header.bytes,
             " bytes, as its header of llama2.c's calls for, found ", file->size());
    Source source;
    source.where = file->where();
    source.format = "llama2.c";
    source.blueprint = header.blueprint;
    source.encoding = "rope:theta=10000,pairing=adjacent";
    source.metadata["source"] = "llama2.c";
    source.names = names();
    add_tensors(source.tensors, file, header);
    const int vocab = source.blueprint.vocab_size;
    source.text_without_tokenizer = [vocab] { return without_tokenizer(vocab); };
    if (!tokenizer.empty()) source.text = [tokenizer, vocab] { return llama2c_text(tokenizer, vocab); };
    return source;
}

Source llama2c_source_and_tokenizer(const std::filesystem::path& path) {
    const Source alone = llama2c_source(path);
    const std::string own = "tok" + std::to_string(alone.blueprint.vocab_size) + ".bin";
    for (const std::string& name : {own, std::string("tokenizer.bin")})
        if (std::error_code error; std::filesystem::exists(directory_of(path) / name, error))
            return llama2c_source(path, directory_of(path) / name);
    fail(ErrorCode::model, alone.where, ": expected the tokenizer of a file of llama2.c's beside it, ", own,
         " or tokenizer.bin, found neither; ordo generate and ordo convert take one from elsewhere with --tokenizer "
         "PATH");
}

} // namespace ordo
