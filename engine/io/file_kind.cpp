// SPDX-License-Identifier: MIT
#include "io/file_kind.h"

#include "core/utf8.h"

#include <algorithm>

namespace ordo {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view old_pickle = "a Python pickle (PyTorch's format before 1.6?)";
constexpr std::string_view save_again = "load it in PyTorch and save it again";
constexpr std::string_view old_ggml = "one of ggml's formats before GGUF", again = "convert the model again";

constexpr FileKind kinds[] = {
    {"PK\x03\x04"sv, "a zip archive (PyTorch's .bin or .pt?)",
     "of a model, give the directory that holds it and its config.json"},
    {"\x80\x02"sv, old_pickle, save_again},
    {"\x80\x03"sv, old_pickle, save_again},
    {"\x80\x04"sv, old_pickle, save_again},
    {"\x80\x05"sv, old_pickle, save_again},
    {"GGUF"sv, "a GGUF file", {}, true},
    {"FUGG"sv, "a big-endian GGUF file", "it is not supported", true},
    {"GGML"sv, old_ggml, again, true},
    {"lmgg"sv, old_ggml, again, true},
    {"GGMF"sv, old_ggml, again, true},
    {"fmgg"sv, old_ggml, again, true},
    {"GGJT"sv, old_ggml, again, true},
    {"tjgg"sv, old_ggml, again, true},
    {"GGLA"sv, old_ggml, again, true},
    {"algg"sv, old_ggml, again, true},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file (Keras's .h5?)", "convert it to safetensors"},
    {"\x93NUMPY"sv, "a NumPy array (.npy)"},
    {"\x1f\x8b"sv, "a gzip archive", "unpack it first"},
    {"\x89PNG\r\n\x1a\n"sv, "a PNG image"},
    {"%PDF-"sv, "a PDF"},
    {"\x7f"
     "ELF"sv,
     "a program or a library (ELF)"},
    {"version https://git-lfs.github.com/spec/"sv, "a Git LFS pointer", "fetch the file itself"},
};

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

} // namespace

std::string FileKind::text() const {
    return std::string(name) + (advice.empty() ? "" : "; ") + std::string(advice);
}

const FileKind* binary_kind(std::string_view start) {
    for (const FileKind& kind : kinds)
        if (start.starts_with(kind.magic) && (!kind.like_a_text || start.find('\0') != start.npos)) return &kind;
    return nullptr;
}

// True for a header of less than 4 GiB after its length.
bool like_safetensors(std::string_view start) {
    return start.size() > 8 && start[8] == '{' && start.substr(4, 4) == "\0\0\0\0"sv;
}

std::string_view text_kind(std::string_view start, bool whole) {
    if (start.starts_with(byte_order_mark)) start.remove_prefix(byte_order_mark.size());
    if (!whole) start = start.substr(0, utf8_complete_prefix(start));
    const auto is_control = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && "\t\r\n\f"sv.find(c) == std::string_view::npos) || byte == 0x7f;
    };
    if (start.empty() || !utf8_valid(start) || std::any_of(start.begin(), start.end(), is_control)) return {};
    const std::size_t first = start.find_first_not_of(" \t\r\n");
    return first != start.npos && (start[first] == '{' || start[first] == '[') ? "JSON" : "a text";
}

} // namespace ordo
