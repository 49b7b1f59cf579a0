// SPDX-License-Identifier: MIT
#include "io/pytorch.h"

#include "io/checked.h"
#include "io/file_kind.h"
#include "io/pickle.h"
#include "io/safetensors_header.h"

#include <algorithm>
#include <cstring>

namespace ordo {
namespace {

using namespace std::string_view_literals;
using Entries = std::map<std::string, ZipEntry, std::less<>>;

constexpr std::string_view pickle_name = "/data.pkl";
// A pickle of this number begins a file before PyTorch 1.6.
constexpr std::string_view old_magic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv;

// The end of an old file's magic number; 0 for an archive.
std::size_t check_start(const FileBytes& file) {
    char start[file_kind_bytes] = {};
    const std::size_t n = std::min<std::uint64_t>(file.size(), sizeof start);
    file.read(0, std::as_writable_bytes(std::span(start, n)));
    const std::string_view text(start, n);
    if (text.starts_with("PK")) return 0;
    const std::size_t old = text.find(old_magic);
    if (text.starts_with('\x80') && (old == 2 || old == 11)) return old + old_magic.size(); // 11: behind a frame
    std::string found = n == 0 ? "an empty file" : "something else";
    if (const FileKind* kind = binary_kind(text))
        found = kind->text();
    else if (const std::string_view kind_of_text = text_kind(text, n == file.size()); !kind_of_text.empty())
        found = kind_of_text;
    fail(ErrorCode::model, file.where(), ": expected a zip archive of PyTorch's, found ", found);
}

// The folder of the archive with the pickle.
std::string folder_of(const Entries& entries, const std::string& where) {
    std::vector<std::string_view> folders;
    for (const auto& [name, entry] : entries)
        if (name.ends_with(pickle_name))
            folders.push_back(std::string_view(name).substr(0, name.size() - pickle_name.size()));
    if (folders.size() != 1)
        fail(ErrorCode::model, where, ": expected a zip archive of PyTorch's with one data.pkl, found ",
             folders.size());
    return std::string(folders.front());
}

std::string content_of(const FileBytes& file, const ZipEntry& entry) {
    std::string text(static_cast<std::size_t>(entry.size), '\0');
    file.read(entry.offset, std::as_writable_bytes(std::span(text)));
    return text;
}

void check_byte_order(const FileBytes& file, const Entries& entries, const std::string& folder) {
    const auto found = entries.find(folder + "/byteorder");
    if (found == entries.end() || found->second.size > 16) return;
    if (const std::string order = content_of(file, found->second); order != "little")
        fail(ErrorCode::model, file.where(), ": byteorder: expected little, found ", printable(order));
}

bool follow_each_other(const PickledTensor& tensor) {
    std::int64_t next = 1;
    for (std::size_t i = tensor.shape.size(); i-- > 0;) {
        if (tensor.shape[i] != 1 && tensor.strides[i] != next) return false;
        next *= tensor.shape[i]; // at most the number of elements, which has been checked
    }
    return true;
}

PytorchTensor tensor_in(const FileBytes& file, const ZipEntry& storage, const PickledTensor& pickled) {
    PytorchTensor tensor;
    tensor.name = pickled.name;
    tensor.dtype = pickled.dtype;
    tensor.shape = pickled.shape;
    const auto wrong = [&](const std::string& expected, const std::string& found) {
        fail(ErrorCode::model, file.where(), ": tensor '", printable(tensor.name), "': expected ", expected, ", found ",
             found);
    };
    const auto width = static_cast<std::uint64_t>(dtype_bits(tensor.dtype) / 8);
    if (!(Checked(pickled.storage_elements) * Checked(width) == Checked(storage.size)))
        wrong("a storage of " + std::to_string(pickled.storage_elements) + " elements of " + tensor.dtype,
              std::to_string(storage.size) + " bytes");
    Checked elements(1), last(0);
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
        const auto size = static_cast<std::uint64_t>(tensor.shape[i]);
        elements = elements * Checked(size);
        if (size > 0) last = last + Checked(size - 1) * Checked(static_cast<std::uint64_t>(pickled.strides[i]));
    }
    // A tensor of many elements must not refer to a storage of few.
    if (!(elements <= Checked(pickled.storage_elements)))
        wrong("no more elements than its storage has", "shape " + shape_text(tensor.shape));
    tensor.elements = elements.value();
    if (tensor.elements > 0 && !(Checked(pickled.offset) + last + Checked(1) <= Checked(pickled.storage_elements)))
        wrong("elements within its storage",
              "shape " + shape_text(tensor.shape) + " with strides " + shape_text(pickled.strides));
    tensor.bytes = tensor.elements * width;
    tensor.offset = storage.offset + (tensor.elements > 0 ? pickled.offset * width : 0);
    if (tensor.elements > 0 && !follow_each_other(pickled)) {
        tensor.strides = pickled.strides;
        tensor.span = (last.value() + 1) * width;
    }
    return tensor;
}

} // namespace

PytorchFile PytorchFile::open(const std::filesystem::path& path) {
    return PytorchFile(FileBytes(path));
}

PytorchFile PytorchFile::parse(std::span<const std::byte> bytes, std::string_view where) {
    return PytorchFile(FileBytes(bytes, where));
}

PytorchFile::PytorchFile(FileBytes source) : source_(std::move(source)) {
    const std::size_t old = check_start(source_);
    old > 0 ? read_old(old) : read_archive();
}

void PytorchFile::read_archive() {
    const Entries entries = read_zip_directory(source_);
    const std::string folder = folder_of(entries, where());
    check_byte_order(source_, entries, folder);
    const ZipEntry& pickle = entries.find(folder + std::string(pickle_name))->second;
    const std::string pickle_where = where() + ": data.pkl";
    const PickleLimits limits;
    if (pickle.size > limits.bytes)
        fail(ErrorCode::model, pickle_where, ": expected at most ", limits.bytes, " bytes, found ", pickle.size);
    const std::string content = content_of(source_, pickle);
    for (const PickledTensor& pickled : read_pickled_tensors(content, pickle_where, limits).tensors) {
        const auto storage = entries.find(folder + "/data/" + pickled.storage);
        if (storage == entries.end())
            fail(ErrorCode::model, where(), ": tensor '", printable(pickled.name), "': expected its storage, data/",
                 printable(pickled.storage), ", found none");
        tensors_.push_back(tensor_in(source_, storage->second, pickled));
    }
}

void PytorchFile::read_old(std::size_t start) {
    const PickleLimits limits;
    std::string text(std::min<std::uint64_t>(source_.size(), limits.bytes), '\0');
    source_.read(0, std::as_writable_bytes(std::span(text)));
    std::string_view rest = std::string_view(text).substr(start);
    for (int i = 0; i < 2; ++i) rest.remove_prefix(pickle_size(rest, where(), limits)); // the version, and the machine
    std::size_t size = 0;
    const PickledDictionary dictionary = read_pickled_tensors(rest, where(), limits, &size);
    rest.remove_prefix(size);
    const std::vector<std::string_view> keys = read_pickled_texts(rest, where(), limits, &size);
    std::map<std::string_view, const PickledStorage*> known;
    for (const PickledStorage& storage : dictionary.storages) known.emplace(storage.key, &storage);
    std::map<std::string_view, ZipEntry> places;
    Checked at(text.size() - rest.size() + size);
    for (const std::string_view key : keys) {
        const auto storage = known.find(key);
        std::uint64_t elements = 0;
        if (!(at + Checked(sizeof elements) <= Checked(source_.size())) || storage == known.end())
            fail(ErrorCode::model, where(), ": storage '", printable(key), "': expected ",
                 storage == known.end() ? "a tensor that refers to it" : "its elements", ", found none");
        source_.read(at.value(), std::as_writable_bytes(std::span(&elements, 1)));
        const Checked bytes =
            Checked(elements) * Checked(static_cast<std::uint64_t>(dtype_bits(storage->second->dtype) / 8));
        at = at + Checked(sizeof elements);
        if (!(at + bytes <= Checked(source_.size())))
            fail(ErrorCode::model, where(), ": storage '", printable(key), "': expected ", elements,
                 " elements, found the end of the file");
        places[key] = {at.value(), bytes.value()};
        at = at + bytes;
    }
    for (const PickledTensor& pickled : dictionary.tensors) {
        const auto storage = places.find(pickled.storage);
        if (storage == places.end())
            fail(ErrorCode::model, where(), ": tensor '", printable(pickled.name), "': expected its storage, '",
                 printable(pickled.storage), "', found none");
        tensors_.push_back(tensor_in(source_, storage->second, pickled));
    }
}

std::vector<std::byte> PytorchFile::gathered(const PytorchTensor& tensor) const {
    const std::size_t rank = tensor.shape.size(), width = tensor.bytes / tensor.elements;
    std::vector<std::byte> in(tensor.span), out(tensor.bytes);
    read_at(tensor.offset, in);
    std::vector<std::int64_t> at(rank, 0);
    std::uint64_t from = 0;
    for (std::size_t element = 0; element < tensor.elements; ++element) {
        std::memcpy(out.data() + element * width, in.data() + from * width, width);
        for (std::size_t i = rank; i-- > 0;) { // the next element: the last axis varies fastest
            from += static_cast<std::uint64_t>(tensor.strides[i]);
            if (++at[i] < tensor.shape[i]) break;
            from -= static_cast<std::uint64_t>(at[i]) * static_cast<std::uint64_t>(tensor.strides[i]);
            at[i] = 0;
        }
    }
    return out;
}

} // namespace ordo
