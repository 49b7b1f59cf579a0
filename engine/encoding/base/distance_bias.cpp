// SPDX-License-Identifier: MIT
#include "encoding/base/distance_bias.h"

#include "core/error.h"
#include "encoding/base/table.h"

#include <algorithm>

namespace ordo {

void DistanceBias::ready() {
    for (const TensorSpec& spec : tensors()) {
        stored_ = true;
        per_layer_ = per_layer_ || spec.per_layer;
    }
    bound_.assign(static_cast<std::size_t>(slots()), {});
    table_ =
        DistanceTable(slots() * heads(), dims().mask == Mask::bidirectional,
                      [this](int row, std::int64_t distance) { return added(row / heads(), row % heads(), distance); });
}

void DistanceBias::bind(int layer, std::span<const View> tensors) {
    bound_[static_cast<std::size_t>(slot(layer))].assign(tensors.begin(), tensors.end());
}

bool DistanceBias::bound() const {
    return !stored_ || std::none_of(bound_.begin(), bound_.end(), [](const auto& tensors) { return tensors.empty(); });
}

void DistanceBias::prepare(int n_positions) {
    if (bound()) table_.prepare(n_positions);
}

void DistanceBias::bias(View scores, const Tile& tile) const {
    table_.add(scores, table_row(tile), tile);
}

void DistanceBias::bias_backward(View d_scores, const Tile& tile, const TileGradient& gradient) const {
    if (!stored_) return;
    std::vector<double> sums(gradient.tensors.size());
    sum_by_distance(d_scores, tile, [&](std::int64_t distance, float sum) {
        value_backward(slot(tile.layer), tile.head, distance, static_cast<double>(sum), sums);
    });
    for (std::size_t i = 0; i < sums.size(); ++i) gradient.tensors[i].row(0)[tile.head] += static_cast<float>(sums[i]);
}

int DistanceBias::requested_slot(const TableRequest& request) const {
    if (per_layer_) check_table_layer(*this, dims(), request);
    const int slot = this->slot(request.layer);
    if (stored_ && bound_[static_cast<std::size_t>(slot)].empty())
        fail(ErrorCode::usage, name(), ": the table is in the weights: expected a model file, found none");
    return slot;
}

std::vector<std::string> DistanceBias::table_parts() const {
    const HeadTable table = head_table();
    return table.columns.empty() ? std::vector<std::string>{"table"} : std::vector<std::string>{"table", table.part};
}

TableRows DistanceBias::table_rows(const TableRequest& request) const {
    const std::string part = checked_part(*this, request);
    const int slot = requested_slot(request);
    if (part != "table") {
        std::vector<std::string> header = head_table().columns;
        header.insert(header.begin(), "head");
        return make_table(std::move(header), heads(), [this, slot](std::int64_t head, std::span<double> out) {
            out[0] = static_cast<double>(head);
            head_row(slot, static_cast<int>(head), out.subspan(1));
        });
    }
    check_table_head(*this, heads(), request);
    return make_bias_matrix(request, dims().mask, [this, slot, head = request.head](int query, int key) {
        return value(slot, head, std::int64_t{query} - key);
    });
}

} // namespace ordo
