// SPDX-License-Identifier: MIT
#include "encoding/base/distance_bias.h"

namespace ordo {

void DistanceBias::build() {
    table_ =
        DistanceTable(slots() * heads(), dims().mask == Mask::bidirectional,
                      [this](int row, std::int64_t distance) { return added(row / heads(), row % heads(), distance); });
}

void DistanceBias::prepare(int n_positions) {
    if (bound()) table_.prepare(n_positions);
}

void DistanceBias::bias(View scores, const Tile& tile) const {
    table_.add(scores, table_row(tile), tile);
}

void DistanceBias::bias_backward(View d_scores, const Tile& tile, const Gradients& gradient) const {
    if (!stored()) return;
    std::vector<double> sums(gradient.tensors.size());
    sum_by_distance(d_scores, tile, [&](std::int64_t distance, float sum) {
        value_backward(slot(tile.layer), tile.head, distance, static_cast<double>(sum), sums);
    });
    for (std::size_t i = 0; i < sums.size(); ++i) gradient.tensors[i].row(0)[tile.head] += static_cast<float>(sums[i]);
}

NamedTable DistanceBias::bias_table() const {
    return {"table", [this](const TableRequest& request) {
                const int slot = requested_slot(request), head = request.head;
                check_table_head(*this, heads(), request);
                return make_bias_matrix(request, dims().mask,
                                        [=, this](int query, int key) { return between(slot, head, query, key); });
            }};
}

} // namespace ordo
