// SPDX-License-Identifier: MIT
// GGUF files composed by hand after the format's documentation, without Ordo's writer.
#pragma once

#include "formats/gguf/file.h"

#include <cstring>
#include <gtest/gtest.h>

namespace ordo::test {

template <class T>
std::string le(T value) {
    std::string bytes;
    for (std::size_t i = 0; i < sizeof value; ++i)
        bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff);
    return bytes;
}
inline std::string le_float(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return le(bits);
}
inline std::string gguf_string(const std::string& text) {
    return le<std::uint64_t>(text.size()) + text;
}

// Entries of the metadata, including their values.
inline std::string entry(const std::string& key, std::uint32_t type, const std::string& value) {
    return gguf_string(key) + le(type) + value;
}
inline std::string text_entry(const std::string& key, const std::string& value) {
    return entry(key, 8, gguf_string(value));
}
inline std::string u32_entry(const std::string& key, std::uint32_t value) {
    return entry(key, 4, le(value));
}
inline std::string float_entry(const std::string& key, float value) {
    return entry(key, 6, le_float(value));
}
inline std::string array_entry(const std::string& key, std::uint32_t type, std::uint64_t count,
                               const std::string& values) {
    return entry(key, 9, le(type) + le(count) + values);
}

// dims: the fastest axis first, as in the file.
inline std::string tensor_info(const std::string& name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                               std::uint64_t offset) {
    std::string bytes = gguf_string(name) + le(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t dim : dims) bytes += le(dim);
    return bytes + le(type) + le(offset);
}

struct GgufBytes {
    std::vector<std::string> entries, tensors;
    std::string data;
    std::size_t alignment = 32;

    std::string head() const {
        std::string bytes = "GGUF" + le<std::uint32_t>(3) + le<std::uint64_t>(tensors.size());
        bytes += le<std::uint64_t>(entries.size());
        for (const std::string& e : entries) bytes += e;
        for (const std::string& t : tensors) bytes += t;
        return bytes;
    }
    std::string file() const {
        std::string bytes = head();
        if (!data.empty()) bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
        return bytes + data;
    }
};

inline GgufBytes small_gguf() {
    GgufBytes g;
    g.entries = {text_entry("general.architecture", "llama"), u32_entry("n", 7), entry("yes", 7, "\1"),
                 array_entry("tokens", 8, 3, gguf_string("a") + gguf_string("") + gguf_string("xyz")),
                 array_entry("scores", 6, 2, le_float(0.5f) + le_float(-1))};
    g.tensors = {tensor_info("a", {3, 2}, 0, 0), tensor_info("b", {2}, 1, 32)};
    g.data = le_float(1) + le_float(2) + le_float(3) + le_float(4) + le_float(5) + le_float(6) + std::string(8, '\0') +
             std::string("\x00\x3c\x00\x40", 4);
    return g;
}

// A file with one tensor "t" of these sizes and this type, and `bytes` of data.
inline std::string one_tensor(const std::vector<std::uint64_t>& dims, std::uint32_t type, std::size_t bytes,
                              std::uint64_t offset = 0) {
    GgufBytes g;
    g.tensors = {tensor_info("t", dims, type, offset)};
    g.data = std::string(bytes, '\0');
    return g.file();
}

inline Gguf parse_gguf(const std::string& bytes) {
    return Gguf::parse(std::as_bytes(std::span(bytes)), "mem");
}

// The message that refuses the bytes. They are copied, so that the address sanitizer finds a read beyond them.
inline std::string gguf_refusal(const std::string& bytes) {
    const std::vector<char> exact(bytes.begin(), bytes.end());
    try {
        Gguf::parse(std::as_bytes(std::span(exact)), "mem");
    } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_EQ(error.code, ErrorCode::model) << text;
        EXPECT_TRUE(text.starts_with("mem: ")) << text;
        EXPECT_LT(text.size(), 400u);
        for (const char c : text) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << text;
        return text;
    }
    return "accepted";
}

inline void expect_gguf_refused(const std::string& bytes, const std::string& phrase) {
    const std::string text = gguf_refusal(bytes);
    EXPECT_NE(text.find(phrase), std::string::npos) << text << "\n  without: " << phrase;
}

} // namespace ordo::test
