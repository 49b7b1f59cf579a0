// SPDX-License-Identifier: MIT
// These tests compose headers and offsets by hand. Ordo's own writer refuses to write most of these files, and its own
// files would prove little.
#include "tests/malformed/files.h"

#include "core/random.h"
#include "tests/malformed/generate_model.h"

#include <limits>

namespace ordo::test {
namespace {

using namespace std::string_literals;

std::string bytes_of(std::uint64_t number) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
    return bytes;
}

// A file with this header and n zero bytes of data.
std::string file(const std::string& header, std::size_t n = 0) {
    return bytes_of(header.size()) + header + std::string(n, '\0');
}

// The member of a header for one tensor.
std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
    return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

// A file whose only tensor is this F32 one, with n bytes of data.
std::string one(const std::string& shape, const std::string& offsets, std::size_t n) {
    return file("{" + tensor("a", "F32", shape, offsets) + "}", n);
}

std::string repeat(const std::string& text, int n) {
    std::string result;
    result.reserve(text.size() * static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) result += text;
    return result;
}

std::string many_empty_tensors(int n, const std::string& prefix) {
    std::string header = "{";
    for (int i = 0; i < n; ++i)
        header += (i > 0 ? "," : "") + tensor(prefix + std::to_string(i), "F32", "[0]", "[0,0]");
    return file(header + "}");
}

using Files = std::vector<MalformedFile>;

// Adds a small file, made at once.
void add(Files& files, const std::string& name, std::string content) {
    files.push_back({name + ".safetensors", [content = std::move(content)] { return content; }});
}

// ---- S1 - S10: the length and the JSON ------------------------------------------------------

void add_lengths(Files& files) {
    add(files, "s01-empty", "");
    add(files, "s02-seven-bytes", "\x10\0\0\0\0\0\0"s);
    add(files, "s03-length-0", bytes_of(0));
    add(files, "s03-length-0-and-data", bytes_of(0) + "{}");
    add(files, "s04-length-past-end", bytes_of(3) + "{}");
    add(files, "s04-length-1-GiB", bytes_of(1 << 30) + "{}");
    add(files, "s04-nothing-after-length", bytes_of(2));
    add(files, "s05-length-2^64-1", bytes_of(std::numeric_limits<std::uint64_t>::max()) + "{}");
    add(files, "s05-length-2^64-8", bytes_of(std::numeric_limits<std::uint64_t>::max() - 7) + "{}");
    add(files, "s05-length-2^63", bytes_of(std::uint64_t{1} << 63) + "{}");
    files.push_back({"s06-header-17-MiB.safetensors", [] { return file("{}" + std::string(17 << 20, ' ')); }});
}

void add_texts(Files& files) {
    add(files, "s07-array", file("[]"));
    add(files, "s07-byte-order-mark", file("\xef\xbb\xbf{}"));
    add(files, "s07-leading-space", file(" {}"));
    add(files, "s07-utf-16", file("{\0}\0"s));
    add(files, "s08-not-utf-8", file("{\"\xff\":1}"));
    add(files, "s08-surrogate", file("{\"\xed\xa0\x80\":1}"));
    add(files, "s08-escaped-surrogate", file("{\"\\ud800\":1}"));
    add(files, "s09-cut-in-string", file("{\"a"));
    add(files, "s09-cut-in-tensor", file("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],"));
    add(files, "s09-trailing-comma", file("{" + tensor("a", "F32", "[1]", "[0,4]") + ",}", 4));
    add(files, "s09-second-value", file("{}{}"));
    add(files, "s09-text-after-nul", file("{}\0{\"hidden\":1}"s));
    add(files, "s09-padded-with-nul", file("{}\0\0\0\0\0\0"s));
    add(files, "s09-nan", one("[NaN]", "[0,4]", 4));
    add(files, "s09-comment", file("{/**/}"));
    for (const auto& [name, before] :
         {std::pair("s10-deep-header", "{\"a\":"), std::pair("s10-deep-shape", "{\"a\":{\"shape\":"),
          std::pair("s10-deep-metadata", "{\"__metadata__\":{\"a\":")})
        add(files, name, file(before + std::string(100'000, '[')));
    add(files, "s10-deep-objects", file(repeat("{\"a\":", 100'000)));
}

// ---- S11 - S25, S32: the header's content ---------------------------------------------------

void add_keys(Files& files) {
    const std::string a = tensor("a", "F32", "[1]", "[0,4]"), b = tensor("b", "F32", "[1]", "[4,8]");
    add(files, "s11-tensor-twice", file("{" + a + "," + a + "}", 4));
    add(files, "s11-tensor-twice-elsewhere",
        file("{" + a + "," + b + "," + tensor("a", "F32", "[1]", "[8,12]") + "}", 12));
    add(files, "s11-tensor-twice-escaped", file("{" + a + "," + tensor("\\u0061", "F32", "[1]", "[4,8]") + "}", 8));
    add(files, "s12-dtype-twice", file(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));
    add(files, "s12-shape-twice", file(R"({"a":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})", 4));
    add(files, "s12-offsets-twice",
        file(R"({"a":{"dtype":"F32","data_offsets":[0,4],"shape":[1],"data_offsets":[0,4]}})", 4));
    add(files, "s12-unknown-key", file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"stride":[1]}})", 4));
    add(files, "s12-no-dtype", file(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4));
    add(files, "s12-no-shape", file(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4));
    add(files, "s12-no-offsets", file(R"({"a":{"dtype":"F32","shape":[1]}})", 4));
    add(files, "s12-tensor-is-a-number", file(R"({"a":1})"));
    add(files, "s12-tensor-is-an-array", file(R"({"a":[]})"));
    add(files, "s13-metadata-number", file(R"({"__metadata__":{"a":1}})"));
    add(files, "s13-metadata-null", file(R"({"__metadata__":{"a":null}})"));
    add(files, "s13-metadata-object", file(R"({"__metadata__":{"a":{}}})"));
    add(files, "s13-metadata-is-a-string", file(R"({"__metadata__":"a"})"));
    add(files, "s13-metadata-key-twice", file(R"({"__metadata__":{"a":"1","a":"2"}})"));
    add(files, "s13-metadata-twice", file(R"({"__metadata__":{},"__metadata__":{}})"));
    add(files, "s13-metadata-long-key", file("{\"__metadata__\":{\"" + std::string(257, 'k') + "\":\"\"}}"));
}

void add_values(Files& files) {
    for (const auto& [name, dtype] :
         {std::pair("s14-dtype-F31", "F31"), std::pair("s14-dtype-lower-case", "f32"), std::pair("s14-dtype-empty", ""),
          std::pair("s14-dtype-escape", "\\u001b[31mF32")})
        add(files, name, file("{" + tensor("a", dtype, "[1]", "[0,4]") + "}", 4));
    add(files, "s14-dtype-number", file(R"({"a":{"dtype":32,"shape":[1],"data_offsets":[0,4]}})", 4));
    add(files, "s15-f4-half-byte", file("{" + tensor("a", "F4", "[3]", "[0,1]") + "}", 1));
    for (const auto& [name, shape] :
         {std::pair("negative", "[-1]"), std::pair("minus-zero", "[-0]"), std::pair("float", "[1.0]"),
          std::pair("exponent", "[1e3]"), std::pair("2^63", "[9223372036854775808]"),
          std::pair("2^64", "[18446744073709551616]"), std::pair("string", "[\"1\"]"), std::pair("null", "[null]"),
          std::pair("bool", "[true]"), std::pair("nested", "[[1]]"), std::pair("number", "1"),
          std::pair("object", "{}")})
        add(files, "s16-shape-"s + name, one(shape, "[0,4]", 4));
    add(files, "s17-product-2^64", one("[4294967296,4294967296]", "[0,0]", 0));
    add(files, "s17-product-wraps-to-4", one("[6148914691236517206,6]", "[0,16]", 16));
    add(files, "s17-bits-wrap-to-0", one("[2305843009213693952]", "[0,0]", 0));
    add(files, "s17-wraps-then-zero", one("[9223372036854775807,9223372036854775807,0]", "[0,0]", 0));
    add(files, "s18-65-dimensions", one("[1" + repeat(",1", 64) + "]", "[0,4]", 4));
    add(files, "s18-a-million-dimensions", one("[1" + repeat(",1", 999'999) + "]", "[0,4]", 4));
}

void add_layouts(Files& files) {
    const auto pair = [](const std::string& first, const std::string& second, std::size_t n) {
        return file("{" + tensor("a", "F32", "[1]", first) + "," + tensor("b", "F32", "[1]", second) + "}", n);
    };
    add(files, "s19-data-too-long", one("[1]", "[0,8]", 8));
    add(files, "s19-data-too-short", one("[2]", "[0,4]", 4));
    add(files, "s19-rank-0-without-data", one("[]", "[0,0]", 0));
    add(files, "s20-begin-after-end", one("[1]", "[4,0]", 4));
    add(files, "s21-end-past-file", one("[2]", "[0,8]", 7));
    add(files, "s21-end-2^64-1", one("[1]", "[18446744073709551611,18446744073709551615]", 4));
    add(files, "s21-no-data", one("[1]", "[0,4]", 0));
    add(files, "s22-same-data", pair("[0,4]", "[0,4]", 4));
    add(files, "s22-partly-same-data", pair("[0,4]", "[2,6]", 6));
    add(files, "s22-empty-inside",
        file("{" + tensor("a", "F32", "[1]", "[0,4]") + "," + tensor("b", "F32", "[0]", "[2,2]") + "}", 4));
    add(files, "s23-hole", pair("[0,4]", "[8,12]", 12));
    add(files, "s23-hole-at-start", one("[1]", "[4,8]", 8));
    add(files, "s23-empty-after-hole", one("[0]", "[4,4]", 4));
    add(files, "s24-trailing-bytes", one("[1]", "[0,4]", 8));
    add(files, "s24-data-without-tensors", file("{}", 1));
    add(files, "s25-one-offset", one("[1]", "[4]", 4));
    add(files, "s25-three-offsets", one("[1]", "[0,4,4]", 4));
    add(files, "s25-no-offsets", one("[1]", "[]", 4));
    add(files, "s25-offset-float", one("[1]", "[0,4.0]", 4));
    add(files, "s25-offset-negative", one("[1]", "[-4,0]", 4));
    add(files, "s25-offset-2^64", one("[1]", "[0,18446744073709551620]", 4));
    add(files, "s25-offset-string", one("[1]", "[0,\"4\"]", 4));
    add(files, "s25-offset-nested", one("[1]", "[0,[4]]", 4));
}

// ---- S31, S33, S35: names, numbers, other formats -------------------------------------------

void add_names(Files& files) {
    const auto named = [](const std::string& name) { return file("{" + tensor(name, "F32", "[1]", "[0,4]") + "}", 4); };
    add(files, "s31-name-nul", named("a\\u0000b"));
    add(files, "s31-name-newline", named("a\\nordo: all is well"));
    add(files, "s31-name-escape", named("\\u001b[2J\\u001b[31mred"));
    add(files, "s31-name-delete", named("a\x7f"));
    add(files, "s31-name-257-bytes", named(std::string(257, 'n')));
    files.push_back({"s31-name-1-MiB.safetensors", [=] { return named(std::string(1 << 20, 'n')); }});
    files.push_back({"s33-a-million-tensors.safetensors", [] { return many_empty_tensors(1'000'000, "tensor"); }});
    files.push_back({"s33-65537-tensors.safetensors", [] { return many_empty_tensors(65'537, "t"); }});
    files.push_back({"s33-65536-tensors-one-twice.safetensors", [] {
                         std::string content = many_empty_tensors(65'536, "t");
                         return content.replace(content.find("\"t65535\""), 8, "\"t12345\"");
                     }});
    files.push_back({"s33-65537-metadata.safetensors", [] {
                         std::string header = "{\"__metadata__\":{\"k\":\"\"";
                         for (int i = 0; i < 65'536; ++i) header += ",\"k" + std::to_string(i) + "\":\"\"";
                         return file(header + "}}");
                     }});
}

void add_other_formats(Files& files) {
    const auto other = [&](const char* name, std::string content) {
        files.push_back({name, [content = std::move(content)] { return content; }});
    };
    const std::string padding(64, '\0');
    other("s35-pickle.bin", "\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\x02M\xe9\x03." + padding);
    other("s35-pickle-4.bin", "\x80\x04\x95\x1a\0\0\0\0\0\0\0}\x94."s + padding);
    other("s35-zip.bin", "PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\x12\0"s
                         "archive/data.pkl" +
                             padding);
    other("s35-gguf.gguf", "GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"s);
    other("s35-lfs-pointer.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    other("s35-page.safetensors", "<!DOCTYPE html>\n<html>Not found</html>\n");
    other("s35-ggml.bin", "lmgg\x01\0\0\0\0\x7d\0\0"s + padding);
    other("s35-ggjt.bin", "tjgg\x03\0\0\0\0\x7d\0\0"s + padding);
    other("s35-weights.h5", "\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0"s + padding);
    other("s35-array.npy", "\x93NUMPY\x01\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n"s);
    other("s35-packed.gz", "\x1f\x8b\x08\x08\0\0\0\0\0\x03model\0"s + padding);
    other("s35-picture.png", "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"s + padding);
    other("s35-program", "\x7f"
                         "ELF\x02\x01\x01\0"s +
                             padding);
    // UTF-8 texts: in the first the 32nd byte begins a two-byte character, and the second begins with a byte order
    // mark.
    other("s35-text-cut.txt", "Es war einmal eine alte Witwe f\u00fcr sich allein\n"s);
    other("s35-text-marked.txt", "\ufeffGr\u00fc\u00dfe"s);
    other("s35-text-short.txt", "hi\n");
    other("s35-text-latin-1.txt", "Gr\xfc\xdf"
                                  "e aus dem Norden\n"s);
    other("s35-config.json", "{\"_name\": \"\u6f22\u5b57\", \"n_layer\": 2}\n"s);
    other("s35-config-marked.json", "\ufeff {\"n_layer\": 2}\n"s);
    other("s35-words-about.txt", "GGML, and GGUF after it, are formats of files.\n");
    const Random random(1, 0);
    for (int i = 0; i < 8; ++i) {
        std::string noise;
        for (std::uint64_t j = 0; j < 64; ++j) noise += bytes_of(random.bits(static_cast<std::uint64_t>(i) * 64 + j));
        add(files, "s35-noise-" + std::to_string(i), noise);
    }
}

} // namespace

std::vector<MalformedFile> malformed_files() {
    Files files;
    add_lengths(files);
    add_texts(files);
    add_keys(files);
    add_values(files);
    add_layouts(files);
    add_names(files);
    add_other_formats(files);
    add_model_files(files);
    return files;
}

} // namespace ordo::test
