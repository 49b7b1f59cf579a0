// SPDX-License-Identifier: MIT
#include "formats/pytorch_store.h"

#include <algorithm>
#include <mutex>

namespace ordo {
void add_pytorch(TensorStore& store, const std::shared_ptr<const PytorchFile>& file) {
    constexpr std::string_view types = "F32, F16, BF16 or F64";
    const std::size_t index = store.add_file(
        file->where(), file->size(),
        [file](std::uint64_t offset, std::span<std::byte> out) { file->read_at(offset, out); }, types);
    for (const PytorchTensor& tensor : file->tensors()) {
        FileTensor added{tensor.name,   tensor.dtype, float_type(tensor.dtype), tensor.shape, tensor.bytes,
                         tensor.offset, index};
        TensorStore::Read read = [file, at = tensor.offset](std::uint64_t offset, std::span<std::byte> out) {
            file->read_at(at + offset, out);
        };
        if (!tensor.strides.empty()) { // a separate file of the store, where its elements are contiguous after reading
            struct Elements {
                std::once_flag once;
                std::vector<std::byte> bytes;
            };
            read = [file, &tensor, elements = std::make_shared<Elements>()](std::uint64_t offset,
                                                                            std::span<std::byte> out) {
                std::call_once(elements->once, [&] { elements->bytes = file->gathered(tensor); });
                std::copy_n(elements->bytes.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
            };
            added.offset = 0;
            added.span = tensor.span;
            added.file = store.add_file(file->where(), 0, read, types);
        }
        if (tensor.dtype == "F64") {
            store.add_doubles(std::move(added), std::move(read));
            continue;
        }
        store.add(std::move(added));
    }
}

} // namespace ordo
