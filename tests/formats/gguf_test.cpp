// SPDX-License-Identifier: MIT
// Reads files made by hand, and checks written files byte by byte.
#include "tests/formats/gguf_bytes.h"
#include "tests/temp_dir.h"

#include <limits>

namespace {

using namespace ordo;
using namespace ordo::test;

// ---- Well-formed files ------------------------------------------------------------------------

TEST(GgufReader, ReadsAHandMadeFile) {
    const std::string bytes = small_gguf().file();
    const Gguf file = parse_gguf(bytes);
    EXPECT_EQ(file.text("general.architecture"), "llama");
    EXPECT_EQ(file.integer("n", 0, 10), 7);
    EXPECT_EQ(file.truth("yes"), true);
    ASSERT_NE(file.strings("tokens"), nullptr);
    EXPECT_EQ(file.strings("tokens")->size(), 3u);
    EXPECT_EQ(file.strings("tokens")->text(0), "a");
    EXPECT_EQ(file.strings("tokens")->text(1), "");
    EXPECT_EQ(file.strings("tokens")->text(2), "xyz");
    EXPECT_EQ(file.numbers("scores")->number(1), -1);
    EXPECT_EQ(file.find("absent"), nullptr);
    EXPECT_EQ(file.strings("absent"), nullptr);
    const GgufTensor* a = file.find("a");
    ASSERT_NE(a, nullptr);
    EXPECT_EQ(a->shape, (std::vector<std::int64_t>{2, 3})); // the fastest axis last
    EXPECT_EQ(a->type, WeightType::f32);
    float second[3];
    file.read(*a, 12, std::as_writable_bytes(std::span(second)));
    EXPECT_EQ(second[0], 4);
    EXPECT_EQ(second[2], 6);
    std::uint16_t halves[2];
    file.read(*file.find("b"), 0, std::as_writable_bytes(std::span(halves)));
    EXPECT_EQ(halves[1], 0x4000);
    EXPECT_THROW(file.read(*a, 13, std::as_writable_bytes(std::span(second))), Error);
}

TEST(GgufReader, ReadsEveryKindOfValue) {
    GgufBytes g;
    g.entries = {entry("u8", 0, "\xff"),
                 entry("i8", 1, "\xff"),
                 entry("u16", 2, "\xff\xff"),
                 entry("i16", 3, "\xff\xff"),
                 entry("u32", 4, le<std::uint32_t>(0xffffffff)),
                 entry("i32", 5, le<std::uint32_t>(0xffffffff)),
                 entry("f32", 6, le_float(1.5f)),
                 entry("u64", 10, le(~std::uint64_t{0})),
                 entry("i64", 11, le(~std::uint64_t{0})),
                 entry("f64", 12, le<std::uint64_t>(0x3ff8000000000000))};
    const std::string bytes = g.file();
    const Gguf file = parse_gguf(bytes);
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(file.integer("u8", -1, most), 255);
    EXPECT_EQ(file.integer("i8", -1, most), -1);
    EXPECT_EQ(file.integer("u16", -1, most), 65535);
    EXPECT_EQ(file.integer("i16", -1, most), -1);
    EXPECT_EQ(file.integer("u32", -1, most), 4294967295);
    EXPECT_EQ(file.integer("i32", -1, most), -1);
    EXPECT_EQ(file.integer("u64", -1, most), most); // larger than any count
    EXPECT_EQ(file.integer("i64", -1, most), -1);
    EXPECT_EQ(file.number("f32"), 1.5);
    EXPECT_EQ(file.number("f64"), 1.5);
    EXPECT_EQ(file.number("u8"), 255);
}

TEST(GgufReader, RefusesAValueOfAnotherKindByItsKey) {
    GgufBytes g = small_gguf();
    g.entries.push_back(float_entry("nan", std::numeric_limits<float>::quiet_NaN()));
    g.entries.push_back(array_entry("inf", 6, 1, le_float(std::numeric_limits<float>::infinity())));
    const std::string bytes = g.file();
    const Gguf file = parse_gguf(bytes);
    const auto message = [&](const auto& ask) {
        try {
            ask();
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::model);
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_EQ(message([&] { file.integer("n", 8, 10); }),
              "mem: metadata 'n': expected an integer from 8 to 10, found u32 7");
    EXPECT_EQ(message([&] { file.integer("yes", 0, 1); }),
              "mem: metadata 'yes': expected an integer from 0 to 1, found true");
    EXPECT_EQ(message([&] { file.text("n"); }), "mem: metadata 'n': expected a string, found u32 7");
    EXPECT_EQ(message([&] { file.truth("n"); }), "mem: metadata 'n': expected a bool, found u32 7");
    EXPECT_EQ(message([&] { file.strings("scores"); }),
              "mem: metadata 'scores': expected an array of strings, found an array of 2 f32");
    EXPECT_EQ(message([&] { file.integer("tokens", 0, 1); }),
              "mem: metadata 'tokens': expected an integer from 0 to 1, found an array of 3 string");
    EXPECT_EQ(message([&] { file.number("nan"); }), "mem: metadata 'nan': expected a finite number, found f32 nan");
    EXPECT_EQ(message([&] { file.numbers("inf"); }),
              "mem: metadata 'inf': element 0: expected a finite number, found inf");
}

// The sizes of ggml's blocks. For 512 weights of each type, the data has the exact length and then one byte less.
TEST(GgufReader, KnowsTheSizeOfEachType) {
    const std::pair<std::uint32_t, std::size_t> types[] = {
        {0, 2048},  {1, 1024},  {2, 288},   {3, 320},   {6, 352},  {7, 384},  {8, 544},  {9, 576},
        {10, 168},  {11, 220},  {12, 288},  {13, 352},  {14, 420}, {15, 584}, {24, 512}, {25, 1024},
        {26, 2048}, {27, 4096}, {28, 4096}, {30, 1024}, {16, 132}, {17, 148}, {18, 196}, {19, 100},
        {20, 288},  {21, 220},  {22, 164},  {23, 272},  {29, 112}, {34, 108}, {35, 132}, {39, 272}};
    for (const auto& [type, bytes] : types) {
        SCOPED_TRACE(type);
        const std::string exact = one_tensor({256, 2}, type, bytes);
        EXPECT_EQ(parse_gguf(exact).tensors()[0].bytes, bytes);
        expect_gguf_refused(exact.substr(0, exact.size() - 1), "end past the end of the file");
    }
}

TEST(GgufReader, AgreesWithTheTypesOfWeights) {
    for (const WeightType type : weight_types) {
        EXPECT_EQ(ggml_type(type).block_bytes, row_bytes(type, block_size(type)));
        EXPECT_EQ(ggml_type(type).block, static_cast<std::uint64_t>(block_size(type)));
        EXPECT_EQ(ggml_type(ggml_type(type).number), &ggml_type(type));
    }
}

TEST(GgufReader, TakesFillingBehindTheLastTensorAndNoMore) {
    EXPECT_EQ(gguf_refusal(one_tensor({3}, 0, 12)), "accepted");
    EXPECT_EQ(gguf_refusal(one_tensor({3}, 0, 32)), "accepted");
    expect_gguf_refused(one_tensor({3}, 0, 33), "the data of the tensors ends at");
    EXPECT_EQ(gguf_refusal(one_tensor({8}, 0, 32)), "accepted");
    expect_gguf_refused(one_tensor({8}, 0, 33), "the data of the tensors ends at");
}

TEST(GgufReader, HeedsTheAlignment) {
    for (const std::uint32_t alignment : {1u, 4u, 8u, 64u, 4096u}) {
        SCOPED_TRACE(alignment);
        GgufBytes g;
        g.alignment = alignment;
        g.entries = {u32_entry("general.alignment", alignment)};
        const std::uint64_t second = (4 + alignment - 1) / alignment * alignment;
        g.tensors = {tensor_info("a", {1}, 0, 0), tensor_info("b", {1}, 0, second)};
        g.data = le_float(1) + std::string(second - 4, '\0') + le_float(2);
        const std::string bytes = g.file();
        const Gguf file = parse_gguf(bytes);
        float b = 0;
        file.read(*file.find("b"), 0, std::as_writable_bytes(std::span(&b, 1)));
        EXPECT_EQ(b, 2);
    }
}

// ---- Writing ----------------------------------------------------------------------------------

GgufStored stored(std::string name, std::vector<std::int64_t> shape, WeightType type, std::string bytes) {
    return {std::move(name), std::move(shape), type,
            [bytes = std::move(bytes)](const auto& sink) { sink(std::as_bytes(std::span(bytes))); }};
}

const GgufEntries entries = {{"general.architecture", GgufValue::of("llama")},
                             {"n", GgufValue::of(std::uint32_t{7})},
                             {"i", GgufValue::of(std::int32_t{-7})},
                             {"f", GgufValue::of(0.5f)},
                             {"yes", GgufValue::of(true)},
                             {"tokens", GgufValue::of(std::vector<std::string>{"a", "", "xyz"})},
                             {"scores", GgufValue::of(std::vector<float>{0.5f, -1})},
                             {"types", GgufValue::of(std::vector<std::int32_t>{1, 3})}};

TEST(GgufWriter, WritesTheBytesThatTheFormatAsksFor) {
    GgufBytes g;
    g.entries = {text_entry("general.architecture", "llama"),
                 u32_entry("n", 7),
                 entry("i", 5, le<std::uint32_t>(static_cast<std::uint32_t>(-7))),
                 float_entry("f", 0.5f),
                 entry("yes", 7, "\1"),
                 array_entry("tokens", 8, 3, gguf_string("a") + gguf_string("") + gguf_string("xyz")),
                 array_entry("scores", 6, 2, le_float(0.5f) + le_float(-1)),
                 array_entry("types", 5, 2, le<std::uint32_t>(1) + le<std::uint32_t>(3))};
    g.tensors = {tensor_info("a", {3, 1}, 0, 0), tensor_info("q", {32, 2}, 8, 32), tensor_info("h", {3}, 1, 128)};
    g.data = std::string(12, 'a') + std::string(20, '\0') + std::string(68, 'q') + std::string(28, '\0') +
             std::string(6, 'h') + std::string(26, '\0');
    const std::vector<GgufStored> tensors = {stored("a", {1, 3}, WeightType::f32, std::string(12, 'a')),
                                             stored("q", {2, 32}, WeightType::q8_0, std::string(68, 'q')),
                                             stored("h", {3}, WeightType::f16, std::string(6, 'h'))};
    const std::vector<std::byte> bytes = gguf_bytes(entries, tensors, "mem");
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), g.file());
    const TempDir dir;
    write_gguf(dir / "a.gguf", entries, tensors);
    EXPECT_EQ(file_content(dir / "a.gguf"), g.file());
    EXPECT_EQ(Gguf::open(dir / "a.gguf").find("q")->shape, (std::vector<std::int64_t>{2, 32}));
}

TEST(GgufWriter, RefusesWhatTheReaderWouldRefuseAndLeavesTheOldFile) {
    const TempDir dir;
    put_file(dir / "a.gguf", "old");
    const auto refused = [&](const std::vector<GgufStored>& tensors, const GgufEntries& metadata = {}) {
        try {
            write_gguf(dir / "a.gguf", metadata, tensors);
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::failure);
            return std::string(error.what());
        }
        return std::string("written");
    };
    const GgufStored a = stored("a", {1}, WeightType::f32, "1234");
    EXPECT_NE(refused({a, a}).find("tensor 'a' appears twice"), std::string::npos);
    EXPECT_NE(refused({stored(std::string(64, 'n'), {1}, WeightType::f32, "1234")}).find("name"), std::string::npos);
    EXPECT_NE(refused({stored("a", {33}, WeightType::q8_0, "")}).find("rows of 33 weights"), std::string::npos);
    EXPECT_NE(refused({stored("a", {2}, WeightType::f32, "1234")}).find("expected 8 bytes, found 4"),
              std::string::npos);
    EXPECT_NE(refused({a}, {{"k", GgufValue::of(true)}, {"k", GgufValue::of(true)}}).find("'k' appears twice"),
              std::string::npos);
    EXPECT_NE(refused({a}, {{"", GgufValue::of(true)}}).find("the key is empty"), std::string::npos);
    EXPECT_EQ(file_content(dir / "a.gguf"), "old");
}

} // namespace
