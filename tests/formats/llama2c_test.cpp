// SPDX-License-Identifier: MIT
// The files of llama2.c: a tiny one, laid out here by hand, and malformed files that its readers do not check for.
#include "formats/llama2c.h"

#include "tests/formats/gguf_bytes.h"
#include "tests/temp_dir.h"
#include "tests/tools/child.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

namespace fs = std::filesystem;
using test::le;
using test::put_file;

constexpr int dim = 4, hidden = 6, layers = 2, heads = 2, kv_heads = 1, vocab = 5, context = 3;
constexpr int kv = dim / heads * kv_heads;
constexpr int layer_floats = dim + dim * dim + 2 * kv * dim + dim * dim + dim + 3 * hidden * dim;
constexpr int floats = vocab * dim + layers * layer_floats + dim + context * (dim / heads / 2) * 2;

std::string header(std::vector<std::int32_t> fields = {dim, hidden, layers, heads, kv_heads, vocab, context}) {
    std::string bytes;
    for (const std::int32_t field : fields) bytes += le(field);
    return bytes;
}

// The numbers 0, 1, 2, ... after the header.
std::string counting(int n = floats) {
    std::string bytes = header();
    for (int i = 0; i < n; ++i) bytes += test::le_float(static_cast<float>(i));
    return bytes;
}

// The header that version1_export and version2_export of llama2.c's export.py write.
std::string version_header(int version, std::vector<std::int32_t> sizes, int shared, int group) {
    std::string bytes = le<std::int32_t>(0x616b3432) + le<std::int32_t>(version) + header(std::move(sizes));
    bytes += static_cast<char>(shared);
    if (version == 2) bytes += le<std::int32_t>(group);
    return bytes + std::string(256 - bytes.size(), '\0');
}

// Norms of 1, 2, 3 ..., then for each matrix the levels -127, -126, ..., which wrap around. Each four levels have a
// scale: 0.5, 0.25, 1, 0.5, ...
std::string version_2() {
    std::string bytes = version_header(2, {dim, hidden, layers, heads, kv_heads, vocab, context}, 0, 4);
    for (int i = 0; i < (2 * layers + 1) * dim; ++i) bytes += test::le_float(static_cast<float>(i + 1));
    const auto matrix = [&](int n) {
        for (int i = 0; i < n; ++i) bytes += static_cast<char>(i % 255 - 127);
        for (int g = 0; g < n / 4; ++g) bytes += test::le_float(g % 3 == 0 ? 0.5f : g % 3 == 1 ? 0.25f : 1.0f);
    };
    matrix(vocab * dim);
    for (const int n : {dim * dim, kv * dim, kv * dim, dim * dim, hidden * dim, dim * hidden, hidden * dim})
        for (int i = 0; i < layers; ++i) matrix(n);
    matrix(vocab * dim);
    return bytes;
}

std::string message(const std::function<void()>& act, ErrorCode code = ErrorCode::model) {
    try {
        act();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, code);
        return error.what();
    }
    return "accepted";
}

std::map<std::string, std::vector<float>> values_of(const Source& source) {
    std::map<std::string, std::vector<float>> found;
    for (const TensorSpec& spec : source.specs()) {
        std::size_t size = 1;
        for (const std::int64_t n : spec.shape) size *= static_cast<std::size_t>(n);
        source.assemble(spec).read(found[spec.name] = std::vector<float>(size));
    }
    return found;
}

TEST(Llama2c, FindsEachTensorInItsPlace) {
    const test::TempDir dir;
    put_file(dir / "a.bin", counting());
    EXPECT_TRUE(is_llama2c(dir / "a.bin"));
    const Source source = llama2c_source(dir / "a.bin");
    EXPECT_EQ(source.blueprint.d_head, 2);
    EXPECT_TRUE(source.blueprint.tied_head);
    EXPECT_EQ(source.encoding, "rope:theta=10000,pairing=adjacent");
    const auto found = values_of(source);
    // The offset of each array, counted from the layout in run.c: an array holds all layers, one after the other.
    const int att = vocab * dim, wq = att + layers * dim, wk = wq + layers * dim * dim, wv = wk + layers * kv * dim,
              wo = wv + layers * kv * dim, ffn = wo + layers * dim * dim, w1 = ffn + layers * dim,
              w2 = w1 + layers * hidden * dim, w3 = w2 + layers * hidden * dim, last = w3 + layers * hidden * dim;
    const auto expect = [&](const std::string& name, std::size_t at, int value) {
        EXPECT_EQ(found.at(name).at(at), static_cast<float>(value)) << name;
    };
    expect("embedding.weight", 3, 3);
    for (int i = 0; i < layers; ++i) {
        const std::string layer = "layers." + std::to_string(i) + ".";
        expect(layer + "attention_norm.weight", 0, att + i * dim);
        expect(layer + "attention.qkv.weight", 0, wq + i * dim * dim);
        expect(layer + "attention.qkv.weight", dim * dim, wk + i * kv * dim);
        expect(layer + "attention.qkv.weight", dim * dim + kv * dim, wv + i * kv * dim);
        expect(layer + "attention.out.weight", 0, wo + i * dim * dim);
        expect(layer + "feed_forward_norm.weight", 1, ffn + i * dim + 1);
        expect(layer + "feed_forward.in.weight", 0, w1 + i * hidden * dim);
        expect(layer + "feed_forward.in.weight", hidden * dim, w3 + i * hidden * dim);
        expect(layer + "feed_forward.out.weight", 0, w2 + i * hidden * dim);
    }
    expect("final_norm.weight", 0, last);
}

// A vocabulary in the form that llama2.c's run.c reads: the longest token, then score, length and bytes of each.
std::string vocabulary(const std::vector<std::string>& tokens) {
    std::string bytes = le<std::int32_t>(8);
    for (const std::string& token : tokens)
        bytes += test::le_float(-1) + le(static_cast<std::int32_t>(token.size())) + token;
    return bytes;
}

TEST(Llama2c, OpensWithTheTokenizerBesideIt) {
    const test::TempDir dir;
    const fs::path model = dir / "a.bin";
    put_file(model, counting());
    const std::string found_neither =
        model.string() + ": expected the tokenizer of a file of llama2.c's beside it, tok5.bin or tokenizer.bin, found "
                         "neither; ordo generate and ordo convert take one from elsewhere with --tokenizer PATH";
    EXPECT_EQ(message([&] { open_source(model); }), found_neither);
    test::expect_error(test::run_program({"generate", "-m", model.string(), "-p", "a"}), 3, found_neither);
    // Of two vocabularies, the reader takes the one named after its size.
    put_file(dir / "tokenizer.bin", vocabulary({"<unk>", "\n<s>\n", "\n</s>\n", "a", "b"}));
    EXPECT_EQ(open_source(model).text().tokenizer->find("b"), 4);
    put_file(dir / "tok5.bin", vocabulary({"<unk>", "\n<s>\n", "\n</s>\n", "c", "d"}));
    EXPECT_EQ(open_source(model).text().tokenizer->find("d"), 4);
    test::expect_success(test::run_program({"generate", "-m", model.string(), "-p", "c", "-n", "1"}));
    // The vocabulary of another model.
    put_file(dir / "tok5.bin", vocabulary({"<unk>", "\n<s>\n", "\n</s>\n", "c"}));
    test::expect_error(test::run_program({"generate", "-m", model.string(), "-p", "c"}), 3,
                       (dir / "tok5.bin").string() + ": expected 5 tokens, found 4");
}

TEST(Llama2c, RefusesEveryOtherSize) {
    const test::TempDir dir;
    const std::string whole = counting();
    for (std::size_t n = 0; n <= whole.size() + 4; n += n + 40 < whole.size() ? 29 : 1) {
        if (n == whole.size()) continue;
        put_file(dir / "a.bin", n < whole.size() ? whole.substr(0, n) : whole + std::string(n - whole.size(), '\0'));
        EXPECT_EQ(is_llama2c(dir / "a.bin"), n >= llama2c_header_bytes) << n;
        EXPECT_NE(message([&] { llama2c_source(dir / "a.bin"); }), "accepted") << n;
    }
}

// The error names the format as llama2.c's, not as safetensors.
TEST(Llama2c, CallsAFileOfAnotherLengthByItsName) {
    const test::TempDir dir;
    const std::string whole = counting(), path = (dir / "a.bin").string();
    for (const std::string& bytes : {whole.substr(0, whole.size() - 4), whole + "tail"}) {
        put_file(path, bytes);
        EXPECT_EQ(message([&] { open_source(path); }), path + ": expected " + std::to_string(whole.size()) +
                                                           " bytes, as its header of llama2.c's calls for, found " +
                                                           std::to_string(bytes.size()));
    }
    put_file(path, header({0x616b3432, 3, 4, 6, 2, 2, 1}));
    EXPECT_EQ(message([&] { open_source(path); }),
              path +
                  ": version of llama2.c's layout: expected 1 or 2, or the layout without one (export.py --version 0), "
                  "found 3");
    const std::string versioned = version_2();
    put_file(path, versioned + "tail");
    EXPECT_EQ(message([&] { open_source(path); }), path + ": expected " + std::to_string(versioned.size()) +
                                                       " bytes, as its header of llama2.c's calls for, found " +
                                                       std::to_string(versioned.size() + 4));
}

TEST(Llama2c, ReadsAHeadOfItsOwnBehindTheRest) {
    const test::TempDir dir;
    std::string bytes = counting(floats + vocab * dim);
    bytes.replace(20, 4, le<std::int32_t>(-vocab));
    put_file(dir / "a.bin", bytes);
    const Source source = llama2c_source(dir / "a.bin");
    EXPECT_FALSE(source.blueprint.tied_head);
    std::vector<float> head(vocab * dim);
    source.assemble({.name = "head.weight", .shape = {vocab, dim}}).read(head);
    EXPECT_EQ(head[0], static_cast<float>(floats));
}

TEST(Llama2c, ReadsVersion1AsTheSameNumbersInAnotherOrder) {
    const test::TempDir dir;
    std::string bytes = version_header(1, {dim, hidden, layers, heads, kv_heads, vocab, context}, 1, 0);
    const int matrices = vocab * dim + layers * (layer_floats - 2 * dim), norms = (2 * layers + 1) * dim;
    for (int i = 0; i < norms + matrices; ++i) bytes += test::le_float(static_cast<float>(i));
    put_file(dir / "a.bin", bytes);
    const auto found = values_of(llama2c_source(dir / "a.bin"));
    // version1_export writes the norms of attention, of the feed-forward part, the last norm, the embedding, then wq of
    // all layers.
    EXPECT_EQ(found.at("layers.1.attention_norm.weight")[0], dim);
    EXPECT_EQ(found.at("layers.0.feed_forward_norm.weight")[1], layers * dim + 1);
    EXPECT_EQ(found.at("final_norm.weight")[0], 2 * layers * dim);
    EXPECT_EQ(found.at("embedding.weight")[0], norms);
    EXPECT_EQ(found.at("layers.1.attention.qkv.weight")[0], norms + vocab * dim + dim * dim);
    EXPECT_EQ(found.at("layers.1.feed_forward.in.weight").back(), norms + matrices - 1); // the end of w3
}

// The values of dequantize() in llama2.c's runq.c: level times the scale of the group.
TEST(Llama2c, ReadsVersion2AsItsLevelsTimesTheirScales) {
    const test::TempDir dir;
    put_file(dir / "a.bin", version_2());
    EXPECT_TRUE(is_llama2c(dir / "a.bin"));
    const Source source = llama2c_source(dir / "a.bin");
    EXPECT_FALSE(source.blueprint.tied_head);
    const auto found = values_of(source);
    EXPECT_EQ(found.at("layers.1.attention_norm.weight")[0], dim + 1);
    EXPECT_EQ(found.at("final_norm.weight")[0], 2 * layers * dim + 1);
    // -127 to -124 times 0.5, -123 to -120 times 0.25, -119 to -116 times 1, and so on.
    const std::vector<float> row{-63.5f, -63,  -62.5f, -62,  -30.75f, -30.5f, -30.25f, -30,
                                 -119,   -118, -117,   -116, -57.5f,  -57,    -56.5f,  -56};
    const auto begins = [&](const std::string& name, std::size_t at, std::size_t n) {
        const std::vector<float>& values = found.at(name);
        EXPECT_EQ(std::vector<float>(values.begin() + static_cast<std::ptrdiff_t>(at),
                                     values.begin() + static_cast<std::ptrdiff_t>(at + n)),
                  std::vector<float>(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(n)))
            << name << " from " << at;
    };
    begins("embedding.weight", 0, 16);
    begins("head.weight", 0, 16);
    for (const std::string layer : {"layers.0.", "layers.1."}) {
        begins(layer + "attention.qkv.weight", 0, dim * dim);
        begins(layer + "attention.qkv.weight", dim * dim, kv * dim);
        begins(layer + "attention.qkv.weight", dim * dim + kv * dim, kv * dim);
        begins(layer + "attention.out.weight", 0, dim * dim);
        begins(layer + "feed_forward.in.weight", 0, 16);
        begins(layer + "feed_forward.in.weight", hidden * dim, 16);
        begins(layer + "feed_forward.out.weight", 0, 16);
    }
    // Reads every float of a matrix separately, also from the middle of a group.
    std::vector<float> one(3);
    const FileTensor& w1 = *source.tensors.find("layers.1.w1.weight");
    source.tensors.read(w1, 4 * 6, std::as_writable_bytes(std::span(one)));
    EXPECT_EQ(one, (std::vector<float>{-30.25f, -30, -119}));
    for (std::size_t n = 0; n < version_2().size(); n += 13) {
        put_file(dir / "cut.bin", version_2().substr(0, n));
        EXPECT_NE(message([&] { llama2c_source(dir / "cut.bin"); }), "accepted") << n;
    }
}

TEST(Llama2c, RefusesHeadersByTheirField) {
    const auto refused = [](std::vector<std::int32_t> fields) {
        const std::string bytes = header(std::move(fields));
        return message([&] { llama2c_header(std::as_bytes(std::span(bytes)), "mem"); });
    };
    EXPECT_NE(refused({0, 6, 2, 2, 1, 5, 3}).find("'dim'"), std::string::npos);
    EXPECT_NE(refused({4, -6, 2, 2, 1, 5, 3}).find("'hidden_dim'"), std::string::npos);
    EXPECT_NE(refused({4, 6, 1'000'000'000, 2, 1, 5, 3}).find("'n_layers'"), std::string::npos);
    EXPECT_NE(refused({4, 6, 2, 0, 1, 5, 3}).find("'n_heads'"), std::string::npos);
    EXPECT_NE(refused({4, 6, 2, 3, 1, 5, 3}).find("heads of an even size"), std::string::npos);
    EXPECT_NE(refused({4, 6, 2, 4, 1, 5, 3}).find("heads of an even size"), std::string::npos);
    EXPECT_NE(refused({4, 6, 2, 2, 0, 5, 3}).find("'n_kv_heads'"), std::string::npos);
    EXPECT_NE(refused({12, 6, 2, 6, 4, 5, 3}), "accepted"); // 6 is not a multiple of 4
    EXPECT_NE(refused({4, 6, 2, 2, 1, 0, 3}).find("'vocab_size'"), std::string::npos);
    EXPECT_NE(refused({4, 6, 2, 2, 1, -2147483647 - 1, 3}).find("'vocab_size'"), std::string::npos);
    EXPECT_NE(refused({4, 6, 2, 2, 1, 5, -3}).find("'seq_len'"), std::string::npos);
    EXPECT_NE(refused({0x616b3432, 1, 4, 6, 2, 2, 1}).find("expected the 256 bytes"), std::string::npos);
    EXPECT_NE(refused({0x616b3432, 0, 4, 6, 2, 2, 1}).find("expected 1 or 2"), std::string::npos);
    const auto refused_version = [](int version, std::vector<std::int32_t> sizes, int group) {
        const std::string bytes = version_header(version, std::move(sizes), 1, group);
        return message([&] { llama2c_header(std::as_bytes(std::span(bytes)), "mem"); });
    };
    EXPECT_NE(refused_version(1, {4, 6, 2, 2, 1, -5, 3}, 0).find("'vocab_size': expected 1 to"), std::string::npos);
    EXPECT_NE(refused_version(2, {4, 6, 2, 2, 1, 5, 3}, 0).find("'group_size': expected 1 to"), std::string::npos);
    EXPECT_NE(refused_version(2, {4, 6, 2, 2, 1, 5, 3}, -4).find("'group_size': expected 1 to"), std::string::npos);
    EXPECT_EQ(
        refused_version(2, {4, 6, 2, 2, 1, 5, 3}, 8),
        "mem: header field 'group_size': expected one that divides the 20 numbers of 'token_embedding_table', found 8");
}

TEST(Llama2c, ReadsAVocabulary) {
    const auto token = [](float score, const std::string& text) {
        return test::le_float(score) + le(static_cast<std::int32_t>(text.size())) + text;
    };
    const std::string bytes = le<std::int32_t>(3) + token(0, "<unk>") + token(-1.5f, "") + token(2, "abc");
    const Llama2cVocabulary read = llama2c_vocabulary(bytes, 3, "mem");
    EXPECT_EQ(read.tokens, (std::vector<std::string>{"<unk>", "", "abc"}));
    EXPECT_EQ(read.scores, (std::vector<float>{0, -1.5f, 2}));
    for (std::size_t n = 0; n < bytes.size(); ++n)
        EXPECT_NE(message([&] { llama2c_vocabulary(bytes.substr(0, n), 3, "mem"); }), "accepted") << n;
    EXPECT_NE(message([&] { llama2c_vocabulary(bytes, 4, "mem"); }).find("expected 4 tokens, found 3"),
              std::string::npos);
    EXPECT_NE(message([&] { llama2c_vocabulary(bytes, 2, "mem"); }).find("11 bytes more"), std::string::npos);
    const std::string negative = le<std::int32_t>(3) + test::le_float(0) + le<std::int32_t>(-1) + "abc";
    EXPECT_NE(message([&] { llama2c_vocabulary(negative, 1, "mem"); }).find("found -1"), std::string::npos);
    const std::string nan = le<std::int32_t>(3) + token(std::numeric_limits<float>::quiet_NaN(), "a");
    EXPECT_NE(message([&] { llama2c_vocabulary(nan, 1, "mem"); }).find("finite score"), std::string::npos);
}

} // namespace
} // namespace ordo
