// SPDX-License-Identifier: MIT
#include "formats/llama2c.h"

#include "core/error.h"
#include "formats/gguf/vocabulary.h"
#include "io/checked.h"

#include <cmath>
#include <cstring>

namespace ordo {
namespace {

constexpr std::uint32_t magic_of_versions = 0x616b3432; // "ak42", before the header of later layouts
constexpr std::size_t most_vocabulary = std::size_t{64} << 20;

std::uint64_t size_of(int n) {
    return static_cast<std::uint64_t>(n);
}

// What run.c calls them.
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

// A run of matrices of all layers, one after the other, as a tensor each.
class Layout {
public:
    Layout(TensorStore& store, std::size_t file) : store_(store), file_(file) {}

    void add(const std::string& name, std::vector<std::int64_t> shape) {
        std::uint64_t bytes = sizeof(float);
        for (const std::int64_t n : shape) bytes *= static_cast<std::uint64_t>(n); // the header's check covers them
        store_.add({.name = name,
                    .dtype = "F32",
                    .type = WeightType::f32,
                    .shape = std::move(shape),
                    .bytes = bytes,
                    .offset = at_,
                    .file = file_});
        at_ += bytes;
    }
    void add_layers(int n_layers, const std::string& name, const std::vector<std::int64_t>& shape) {
        for (int i = 0; i < n_layers; ++i) add("layers." + std::to_string(i) + "." + name + ".weight", shape);
    }
    void skip(std::uint64_t floats) { at_ += floats * sizeof(float); }

private:
    TensorStore& store_;
    std::size_t file_;
    std::uint64_t at_ = llama2c_header_bytes;
};

void add_tensors(TensorStore& store, const std::shared_ptr<const File>& file, const Blueprint& b) {
    const std::size_t index = store.add_file(
        file->where(), file->size(),
        [file](std::uint64_t offset, std::span<std::byte> out) { file->read(offset, out); }, "F32");
    Layout layout(store, index);
    const int d = b.d_model, kv = b.n_kv_heads * b.d_head;
    layout.add("token_embedding_table.weight", {b.vocab_size, d});
    layout.add_layers(b.n_layers, "rms_att_weight", {d});
    layout.add_layers(b.n_layers, "wq", {d, d});
    layout.add_layers(b.n_layers, "wk", {kv, d});
    layout.add_layers(b.n_layers, "wv", {kv, d});
    layout.add_layers(b.n_layers, "wo", {d, d});
    layout.add_layers(b.n_layers, "rms_ffn_weight", {d});
    layout.add_layers(b.n_layers, "w1", {b.d_ff, d});
    layout.add_layers(b.n_layers, "w2", {d, b.d_ff});
    layout.add_layers(b.n_layers, "w3", {b.d_ff, d});
    layout.add("rms_final_weight.weight", {d});
    layout.skip(size_of(b.context) * size_of(b.d_head / 2) * 2);
    if (!b.tied_head) layout.add("wcls.weight", {b.vocab_size, d});
}

// Of a header whose numbers are in range; none that wraps around is valid.
Checked file_bytes(const Blueprint& b) {
    const auto n = [](int size) { return Checked(size_of(size)); };
    const Checked d = n(b.d_model), kv = n(b.n_kv_heads * b.d_head), matrix = n(b.vocab_size) * d;
    const Checked layer = d + d + d * d + kv * d + kv * d + d * d + Checked(3) * n(b.d_ff) * d;
    const Checked floats = matrix + n(b.n_layers) * layer + d + n(b.context) * n(b.d_head / 2) * Checked(2) +
                           (b.tied_head ? Checked(0) : matrix);
    return Checked(llama2c_header_bytes) + Checked(sizeof(float)) * floats;
}

// run.c begins with token 1, which also stands between texts.
TextSide read_text(const std::filesystem::path& path, int vocab_size) {
    Llama2cVocabulary vocabulary = llama2c_vocabulary(path, vocab_size);
    TextSide text;
    text.tokenizer =
        tokenizer_from_llama2c(std::move(vocabulary.tokens), std::move(vocabulary.scores), printable_path(path));
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

} // namespace

Llama2cHeader llama2c_header(std::span<const std::byte> start, const std::string& where) {
    std::int32_t field[7] = {};
    if (start.size() < sizeof field)
        fail(ErrorCode::model, where, ": expected the ", sizeof field, " bytes of a header of llama2.c's, found ",
             start.size());
    std::memcpy(field, start.data(), sizeof field);
    if (static_cast<std::uint32_t>(field[0]) == magic_of_versions)
        fail(ErrorCode::model, where, ": version ", field[1],
             " of llama2.c's layout, which is not supported; its legacy layout (export.py --version 0) works");
    static constexpr struct {
        const char* name;
        std::int32_t least, most;
    } allowed[] = {{"dim", 2, 65536},      {"hidden_dim", 1, 1 << 20}, {"n_layers", 1, 1024},
                   {"n_heads", 1, 1024},   {"n_kv_heads", 1, 1024},    {"vocab_size", -(1 << 22), 1 << 22},
                   {"seq_len", 1, 1 << 22}};
    for (std::size_t i = 0; i < std::size(field); ++i)
        if (field[i] < allowed[i].least || field[i] > allowed[i].most || field[i] == 0)
            fail(ErrorCode::model, where, ": header field '", allowed[i].name, "': expected ", allowed[i].least, " to ",
                 allowed[i].most, ", found ", field[i]);
    Llama2cHeader header;
    Blueprint& b = header.blueprint;
    b.architecture = "llama";
    b.d_model = field[0];
    b.d_ff = field[1];
    b.n_layers = field[2];
    b.n_heads = field[3];
    b.n_kv_heads = field[4];
    b.vocab_size = std::abs(field[5]);
    b.tied_head = field[5] > 0;
    b.context = field[6];
    if (b.d_model % b.n_heads != 0 || b.d_model / b.n_heads % 2 != 0)
        fail(ErrorCode::model, where, ": header fields 'dim' and 'n_heads': expected heads of an even size, found ",
             b.d_model, " for ", b.n_heads, " heads");
    b.d_head = b.d_model / b.n_heads;
    check(b, where);
    const Checked bytes = file_bytes(b);
    if (!bytes.valid()) fail(ErrorCode::model, where, ": the size that the header speaks of exceeds 64 bits");
    header.bytes = bytes.value();
    return header;
}

bool is_llama2c(const std::filesystem::path& path) {
    const File file(path);
    std::byte start[llama2c_header_bytes];
    if (file.size() < sizeof start) return false;
    file.read(0, start);
    std::uint32_t magic = 0;
    std::memcpy(&magic, start, sizeof magic);
    if (magic == magic_of_versions) return true;
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
        out.tokens.emplace_back(bytes.substr(at, static_cast<std::size_t>(length)));
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

Source llama2c_source(const std::filesystem::path& path, const std::filesystem::path& tokenizer) {
    const auto file = std::make_shared<const File>(path);
    std::byte start[llama2c_header_bytes];
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
    add_tensors(source.tensors, file, source.blueprint);
    if (!tokenizer.empty())
        source.text = [tokenizer, vocab = source.blueprint.vocab_size] { return read_text(tokenizer, vocab); };
    return source;
}

Source llama2c_source_and_tokenizer(const std::filesystem::path& path) {
    const Source alone = llama2c_source(path);
    const std::string own = "tok" + std::to_string(alone.blueprint.vocab_size) + ".bin";
    for (const std::string& name : {own, std::string("tokenizer.bin")})
        if (std::error_code error; std::filesystem::exists(directory_of(path) / name, error))
            return llama2c_source(path, directory_of(path) / name);
    fail(ErrorCode::model, alone.where, ": expected the tokenizer of a file of llama2.c's beside it, ", own,
         " or tokenizer.bin, found neither; one from elsewhere works with ordo convert IN OUT --tokenizer FILE");
}

} // namespace ordo
