// SPDX-License-Identifier: MIT
// Malformed files that have broken other GGUF readers: G1 to G20.
#include "tests/formats/gguf_bytes.h"

#include <limits>

namespace {

using namespace ordo;
using namespace ordo::test;

std::string with_entry(const std::string& bytes) {
    GgufBytes g;
    g.entries = {bytes};
    return g.file();
}

// ---- G1 - G5: the start, counts, cuts ---------------------------------------------------------

TEST(GgufReader, G1RefusesAnotherMagic) {
    expect_gguf_refused("", "the file is empty");
    expect_gguf_refused("GGU", "expected a GGUF file, found a text");
    expect_gguf_refused("GGML" + std::string(40, '\0'), "one of ggml's formats before GGUF");
    expect_gguf_refused("tjgg" + std::string(40, '\0'), "one of ggml's formats before GGUF");
    expect_gguf_refused("FUGG" + std::string(40, '\0'), "big-endian");
    expect_gguf_refused("\x1b[2J" + std::string(40, '\0'), "found '\\x1b[2J'");
    expect_gguf_refused(le<std::uint64_t>(30) + "{\"a\":" + std::string(40, ' '), "safetensors");
    expect_gguf_refused("PK\3\4" + std::string(40, '\0'), "zip archive");
}

TEST(GgufReader, G2RefusesAnotherVersion) {
    for (const std::uint32_t version : {0u, 1u, 4u, 0xffffffffu}) {
        std::string bytes = small_gguf().file();
        bytes.replace(4, 4, le(version));
        expect_gguf_refused(bytes, "GGUF version " + std::to_string(version) + ", expected 2 or 3");
    }
    std::string bytes = small_gguf().file();
    bytes.replace(4, 4, le(std::uint32_t{2})); // the same layout
    EXPECT_EQ(parse_gguf(bytes).tensors().size(), parse_gguf(small_gguf().file()).tensors().size());
    bytes.replace(4, 4, le<std::uint32_t>(3u << 24));
    expect_gguf_refused(bytes, "big-endian");
}

TEST(GgufReader, G3G4RefuseCountsThatTheFileCannotHold) {
    for (const std::uint64_t count : {std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{1'000'000'000},
                                      std::uint64_t{65'537}, std::uint64_t{60'000}})
        for (const std::size_t at : {8u, 16u}) {
            std::string bytes = small_gguf().file();
            bytes.replace(at, 8, le(count));
            expect_gguf_refused(bytes, at == 8 ? "tensor count: " : "metadata count: ");
        }
}

TEST(GgufReader, G5RefusesEveryPrefix) {
    const std::string valid = small_gguf().file();
    ASSERT_EQ(gguf_refusal(valid), "accepted");
    for (std::size_t n = 0; n < valid.size(); ++n) EXPECT_NE(gguf_refusal(valid.substr(0, n)), "accepted") << n;
}

// ---- G6 - G12: metadata -----------------------------------------------------------------------

TEST(GgufReader, G6RefusesKeysOfNoLengthAndTooLong) {
    expect_gguf_refused(with_entry(u32_entry("", 1)), "metadata 0: the key is empty");
    expect_gguf_refused(with_entry(le(~std::uint64_t{0}) + std::string(40, 'k')),
                        "string of 18446744073709551615 bytes");
    expect_gguf_refused(with_entry(le(~std::uint64_t{0} - 7) + std::string(40, 'k')), "string of 18446744073709551608");
    expect_gguf_refused(with_entry(entry(std::string(65'536, 'k'), 0, "\1")),
                        "string of 65536 bytes, allowed are 65535");
    EXPECT_EQ(gguf_refusal(with_entry(entry(std::string(65'535, 'k'), 0, "\1"))), "accepted");
}

TEST(GgufReader, G7RefusesAKeyTwice) {
    GgufBytes g = small_gguf();
    g.entries.push_back(u32_entry("n", 8));
    expect_gguf_refused(g.file(), "metadata 'n' appears twice");
}

TEST(GgufReader, G8RefusesUnknownKinds) {
    expect_gguf_refused(with_entry(entry("k", 13, std::string(16, '\0'))), "expected a type from 0 to 12, found 13");
    expect_gguf_refused(with_entry(entry("k", 0xffffffff, std::string(16, '\0'))), "found 4294967295");
    expect_gguf_refused(with_entry(array_entry("k", 13, 1, std::string(16, '\0'))), "metadata 'k': expected a type");
}

TEST(GgufReader, G9RefusesArraysOfArrays) {
    const std::string inner = le<std::uint32_t>(0) + le<std::uint64_t>(1) + "a";
    expect_gguf_refused(with_entry(array_entry("k", 9, 1, inner)), "metadata 'k': an array of arrays");
}

TEST(GgufReader, G10RefusesArraysThatTheFileCannotHold) {
    for (const std::uint32_t type : {0u, 4u, 8u, 12u})
        for (const std::uint64_t n : {std::uint64_t{1} << 61, ~std::uint64_t{0}, (std::uint64_t{1} << 61) + 1})
            expect_gguf_refused(with_entry(array_entry("k", type, n, std::string(64, '\0'))), "elements, allowed are");
    expect_gguf_refused(with_entry(array_entry("k", 8, 1 << 24, std::string(64, '\0'))),
                        "found 64, the end of the file");
    expect_gguf_refused(with_entry(array_entry("k", 8, 2, gguf_string("a") + le(~std::uint64_t{0}))),
                        "element 1: string of 18446744073709551615 bytes");
}

TEST(GgufReader, G11RefusesBoolsOfTwo) {
    expect_gguf_refused(with_entry(entry("k", 7, "\2")), "metadata 'k': expected a bool, 0 or 1, found 2");
    expect_gguf_refused(with_entry(array_entry("k", 7, 3, "\1\xff\1")), "expected a bool, 0 or 1, found 255");
}

TEST(GgufReader, G12RefusesOtherAlignments) {
    for (const std::uint32_t alignment : {0u, 3u, 24u, 1u << 31, 1u << 17})
        expect_gguf_refused(with_entry(u32_entry("general.alignment", alignment)),
                            "metadata 'general.alignment': expected a power of two up to 65536, found u32");
    expect_gguf_refused(with_entry(text_entry("general.alignment", "32")), "expected a u32, found the string '32'");
    expect_gguf_refused(with_entry(entry("general.alignment", 10, le<std::uint64_t>(32))),
                        "expected a u32, found u64 32");
}

TEST(GgufReader, RefusesStringsThatAreTooLong) {
    GgufLimits limits;
    limits.string_bytes = 4;
    const std::string bytes = with_entry(text_entry("k", "12345"));
    EXPECT_THROW(Gguf::parse(std::as_bytes(std::span(bytes)), "mem", limits), Error);
    expect_gguf_refused(with_entry(entry("k", 8, le<std::uint64_t>(6) + "12345")), "string of 6 bytes, the file has 5");
}

// ---- G13 - G20: tensors -----------------------------------------------------------------------

TEST(GgufReader, G13RefusesNames) {
    const auto named = [](const std::string& name) {
        GgufBytes g;
        g.tensors = {tensor_info(name, {1}, 0, 0)};
        g.data = le_float(1);
        return g.file();
    };
    EXPECT_EQ(gguf_refusal(named(std::string(63, 'n'))), "accepted");
    expect_gguf_refused(named(std::string(64, 'n')), "tensor 0: name: string of 64 bytes, allowed are 63");
    expect_gguf_refused(named(""), "tensor 0: the name is empty");
    expect_gguf_refused(named("a\x1b[2J"), "control character: 'a\\x1b[2J'");
    expect_gguf_refused(named("a\nb"), "control character");
    GgufBytes twice;
    twice.tensors = {tensor_info("a", {1}, 0, 0), tensor_info("b", {1}, 0, 32), tensor_info("a", {1}, 0, 64)};
    twice.data = std::string(68, '\0');
    expect_gguf_refused(twice.file(), "tensor 'a' appears twice");
}

TEST(GgufReader, G14RefusesRanks) {
    expect_gguf_refused(one_tensor({}, 0, 4), "tensor 't': expected 1 to 4 dimensions, found 0");
    expect_gguf_refused(one_tensor({1, 1, 1, 1, 1}, 0, 4), "expected 1 to 4 dimensions, found 5");
    GgufBytes g;
    g.tensors = {gguf_string("t") + le(~std::uint32_t{0}) + std::string(64, '\0')};
    expect_gguf_refused(g.file(), "expected 1 to 4 dimensions, found 4294967295");
}

TEST(GgufReader, G15RefusesSizes) {
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    expect_gguf_refused(one_tensor({0}, 0, 0), "dimension 0: expected 1 or more, found 0");
    expect_gguf_refused(one_tensor({4, 0}, 0, 0), "dimension 1: expected 1 or more, found 0");
    expect_gguf_refused(one_tensor({~std::uint64_t{0}}, 0, 4), "expected 1 or more, found -1");
    const std::uint64_t big = std::uint64_t{1} << 62;
    expect_gguf_refused(one_tensor({big, big, big, big}, 0, 4), "the number of its elements exceeds 64 bits");
    expect_gguf_refused(one_tensor({most, 2, 1, 1}, 0, 4), "its size exceeds 64 bits");
    expect_gguf_refused(one_tensor({most, 2, 2, 1}, 24, 4), "the number of its elements exceeds 64 bits");
    expect_gguf_refused(one_tensor({most}, 24, 4), "bytes of data end past the end of the file");
}

TEST(GgufReader, G16RefusesUnknownTypes) {
    for (const std::uint32_t type : {4u, 5u, 31u, 36u, 40u, 43u, 0xffffffffu})
        expect_gguf_refused(one_tensor({32}, type, 128), "tensor 't': type " +
                                                             std::to_string(static_cast<std::int32_t>(type)) +
                                                             " of ggml's, which is unknown");
}

TEST(GgufReader, G17RefusesRowsThatBlocksDoNotDivide) {
    expect_gguf_refused(one_tensor({33}, 8, 68), "rows of 33 weights, which blocks of 32 of type Q8_0 do not divide");
    expect_gguf_refused(one_tensor({16, 2}, 8, 34), "rows of 16 weights"); // 32 in all
    expect_gguf_refused(one_tensor({128, 2}, 12, 144),
                        "rows of 128 weights, which blocks of 256 of type Q4_K do not divide");
}

TEST(GgufReader, G18RefusesSizesThatWrapWhenAligned) {
    const std::uint64_t wraps = ~std::uint64_t{0} - 3; // the bytes of one tensor, in I8
    GgufBytes g;
    g.tensors = {tensor_info("a", {wraps / 4, 4}, 24, 0), tensor_info("b", {1}, 0, 0)};
    g.data = std::string(64, '\0');
    expect_gguf_refused(g.file(), "tensor 'a': its ");
    const std::uint64_t half = std::uint64_t{1} << 62;
    g.tensors = {tensor_info("a", {half, 3}, 24, 0), tensor_info("b", {half, 3}, 24, half * 3)};
    expect_gguf_refused(g.file(), "tensor 'a': its ");
}

TEST(GgufReader, G19RefusesOffsets) {
    const auto pair = [](std::uint64_t first, std::uint64_t second, std::size_t bytes) {
        GgufBytes g;
        g.tensors = {tensor_info("a", {1}, 0, first), tensor_info("b", {1}, 0, second)};
        g.data = std::string(bytes, '\0');
        return g.file();
    };
    EXPECT_EQ(gguf_refusal(pair(0, 32, 36)), "accepted");
    expect_gguf_refused(pair(0, 4, 36), "tensor 'b': expected its data at offset 32");
    expect_gguf_refused(pair(0, 0, 36), "tensor 'b': expected its data at offset 32, where those before end, found 0");
    expect_gguf_refused(pair(32, 0, 36), "tensor 'a': expected its data at offset 0");
    expect_gguf_refused(pair(0, 64, 68), "tensor 'b': expected its data at offset 32");
    expect_gguf_refused(pair(0, ~std::uint64_t{0} - 31, 36), "tensor 'b': expected its data at offset 32");
}

TEST(GgufReader, G20RefusesDataThatIsShort) {
    expect_gguf_refused(one_tensor({3}, 0, 11), "tensor 't': its 12 bytes of data end past the end of the file");
    expect_gguf_refused(one_tensor({3}, 0, 0), "tensor 't': its 12 bytes of data end past the end of the file");
}

TEST(GgufReader, AnyChangedByteIsRefusedOrRead) {
    const std::string valid = small_gguf().file();
    int read = 0, refused = 0;
    for (std::size_t at = 0; at < valid.size(); ++at)
        for (int bit = 0; bit < 8; ++bit) {
            std::string changed = valid;
            changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
            (gguf_refusal(changed) == "accepted" ? read : refused)++;
        }
    EXPECT_GT(read, 8 * 28); // at least the data
    EXPECT_GT(refused, 1000);
}

} // namespace
