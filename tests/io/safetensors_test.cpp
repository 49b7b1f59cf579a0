// SPDX-License-Identifier: MIT
#include "io/safetensors.h"

#include "tests/temp_dir.h"

#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace {

using namespace ordo;
using namespace ordo::test;

// A file composed from the format's description, without the writer.
std::string file_bytes(const std::string& header, std::string_view data = {}) {
    std::string bytes;
    std::uint64_t length = header.size();
    for (int i = 0; i < 8; ++i, length >>= 8) bytes += static_cast<char>(length & 0xff);
    return bytes + header + std::string(data);
}

Safetensors parse(const std::string& bytes) {
    return Safetensors::parse(std::as_bytes(std::span(bytes)), "mem");
}

std::string header_refusal(const std::string& bytes) {
    try {
        parse(bytes);
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::model) << error.what();
        return error.what();
    }
    return "accepted";
}

TEST(SafetensorsReader, ReadsAHandMadeFile) {
    // 1.5f = 3fc00000, -2.0f = c0000000; f16 1.0 = 3c00; bf16 -1.0 = bf80.
    using namespace std::string_literals;
    const std::string bytes = file_bytes(
        R"({"h":{"dtype":"F16","shape":[1],"data_offsets":[8,10]},"__metadata__":{"k":"v"},)"
        R"("b":{"dtype":"BF16","shape":[1,1],"data_offsets":[10,12]},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
        R"("none":{"dtype":"I64","shape":[0,3],"data_offsets":[12,12]},"one":{"dtype":"U8","shape":[],"data_offsets":[12,13]}}  )",
        "\x00\x00\xc0\x3f\x00\x00\x00\xc0\x00\x3c\x80\xbf\x07"s);
    const Safetensors file = parse(bytes);
    ASSERT_EQ(file.tensors().size(), 5u);
    EXPECT_EQ(file.tensors()[0].name, "w");
    EXPECT_EQ(file.metadata().at("k"), "v");
    float w[2], h, b;
    file.read(*file.find("w"), w);
    file.read(*file.find("h"), {&h, 1});
    file.read(*file.find("b"), {&b, 1});
    EXPECT_EQ(w[0], 1.5f);
    EXPECT_EQ(w[1], -2.0f);
    EXPECT_EQ(h, 1.0f);
    EXPECT_EQ(b, -1.0f);
    float second;
    file.read_part(*file.find("w"), 1, {&second, 1});
    EXPECT_EQ(second, -2.0f);
    EXPECT_THROW(file.read_part(*file.find("w"), 2, {&second, 1}), Error);
    EXPECT_EQ(file.find("b")->shape, (std::vector<std::int64_t>{1, 1}));
    EXPECT_EQ(file.find("none")->elements, 0u);
    EXPECT_EQ(file.find("one")->elements, 1u);
    EXPECT_EQ(file.find("absent"), nullptr);
    std::byte raw[1];
    file.read_raw(*file.find("one"), raw);
    EXPECT_EQ(raw[0], std::byte{7});
    try {
        file.read(*file.find("one"), {&h, 1});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::model);
        EXPECT_STREQ(error.what(), "mem: tensor 'one': expected dtype F32, F16 or BF16, found U8");
    }
}

TEST(SafetensorsReader, NamesWhatItRefuses) {
    EXPECT_EQ(header_refusal(""), "mem: the file is empty");
    EXPECT_EQ(header_refusal(file_bytes("[]")), "mem: expected '{' at byte 8, found '['");
    EXPECT_EQ(header_refusal(file_bytes(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "123")),
              "mem: tensor 'a': data ends at 4, past the end of the file's 3 bytes of data");
    EXPECT_EQ(header_refusal(file_bytes(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234")),
              "mem: tensor 'a': 'shape': expected an integer from 0 to 9223372036854775807, found -1");
}

TEST(SafetensorsWriter, WritesWhatItReads) {
    const TempDir dir;
    std::vector<float> a = {1, -2.5f, 3e-7f, std::numeric_limits<float>::infinity(), -0.0f, 65504.0f};
    std::vector<float> b = {1, -2.5f, 0x1p-24f, 0, -0.0f, 65504.0f};
    const std::map<std::string, std::string, std::less<>> metadata = {{"text", "line\n\"\\\x7fé"}, {"a", ""}};
    const std::vector<StoredTensor> tensors = {{"z half", {2, 3}, WeightType::f16, b},
                                               {"f", {6}, WeightType::f32, a},
                                               {"bf", {3, 2, 1}, WeightType::bf16, b},
                                               {"é", {0}, WeightType::f32, {}}};
    write_safetensors(dir / "one", tensors, metadata);
    const auto one = file_content(dir / "one");
    EXPECT_EQ(one.size() % 2, 0u);

    const Safetensors file = Safetensors::open(dir / "one");
    EXPECT_EQ(file.metadata(), metadata);
    EXPECT_EQ(file.size(), one.size());
    std::vector<std::vector<float>> values;
    std::vector<StoredTensor> again;
    for (const TensorInfo& info : file.tensors()) {
        values.emplace_back(info.elements);
        file.read(info, values.back());
        const auto type = info.dtype == "F32"   ? WeightType::f32
                          : info.dtype == "F16" ? WeightType::f16
                                                : WeightType::bf16;
        again.push_back({info.name, info.shape, type, values.back()});
    }
    std::vector<float> read(6);
    file.read(*file.find("f"), read);
    EXPECT_EQ(std::memcmp(read.data(), a.data(), 24), 0);
    file.read(*file.find("z half"), read);
    EXPECT_EQ(std::memcmp(read.data(), b.data(), 24), 0);
    write_safetensors(dir / "two", again, file.metadata());
    EXPECT_EQ(one, file_content(dir / "two"));
}

} // namespace
