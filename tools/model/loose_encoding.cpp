// SPDX-License-Identifier: MIT
#include "tools/model/loose_encoding.h"

#include "encoding/base/initial.h"
#include "encoding/base/stack.h"

#include <numeric>

namespace ordo::tools {

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
    check_reach(stack_, std::int64_t{start} + x.rows);
    stack_.embed(x, {positions, {}});
}

} // namespace ordo::tools
