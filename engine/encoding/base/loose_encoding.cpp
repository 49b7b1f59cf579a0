// SPDX-License-Identifier: MIT
#include "encoding/base/loose_encoding.h"

#include "core/error.h"
#include "encoding/base/initial.h"

#include <algorithm>
#include <numeric>

namespace ordo {

LooseEncoding::LooseEncoding(std::string_view spec, const Dims& dims, std::uint64_t seed)
    : width_(dims.d_model), stack_(spec, dims) {
    std::vector<View> bound;
    for (const TensorSpec& tensor : stack_.tensors()) {
        const auto rows = tensor.shape.size() == 2 ? static_cast<int>(tensor.shape[0]) : 1;
        Tensor& values = tensors_.emplace_back(rows, static_cast<int>(tensor.shape.back()));
        fill_initial(tensor, {values.data(), values.size()}, seed, 0xe4c0 + tensors_.size());
        bound.push_back(values.view());
    }
    stack_.bind(bound);
    stack_.prepare(dims.context);
}

Table LooseEncoding::table(int length, std::string_view part, int start, int head) const {
    return stack_.items()[0]->table(
        {.length = length, .start = start, .head = head, .width = width_, .part = std::string(part)});
}

void LooseEncoding::embed(View x, int start) const {
    std::vector<int> positions(static_cast<std::size_t>(x.rows));
    std::iota(positions.begin(), positions.end(), start);
    check_reach(stack_, std::int64_t{start} + x.rows, true);
    stack_.embed(x, {positions, {}});
}

Table encoding_table(std::string_view spec, Dims dims, const TableRequest& request) {
    dims.n_heads = std::max(dims.n_heads, 1);
    if (dims.d_head == 0) dims.d_head = std::max(dims.d_model / dims.n_heads, 1);
    dims.n_layers = std::max({dims.n_layers, request.layer + 1, 1});
    if (dims.context == 0) dims.context = 256;
    const LooseEncoding loose(spec, dims);
    const std::span<const std::shared_ptr<Encoding>> items = loose.stack().items();
    const Encoding* found = nullptr;
    int count = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const std::span<const int> layers = loose.stack().layers_of_item(static_cast<int>(i));
        if (std::find(layers.begin(), layers.end(), request.layer) == layers.end()) continue;
        found = items[i].get();
        ++count;
    }
    if (count != 1)
        fail(ErrorCode::usage, "table: '", printable(spec), "': expected one encoding in layer ", request.layer,
             ", found ", count);
    TableRequest wanted = request;
    wanted.width = dims.d_model;
    return found->table(wanted);
}

} // namespace ordo
