// SPDX-License-Identifier: MIT
#include "tools/opening/reach.h"

#include <algorithm>
#include <numbers>

namespace ordo::tools {

namespace {

constexpr double turn = 2 * std::numbers::pi;

std::vector<const Encoding*> acting_in(const ModelEncodings& stack, int layer) {
    std::vector<const Encoding*> found;
    for (std::size_t i = 0; i < stack.items().size(); ++i) {
        const std::span<const int> layers = stack.layers_of_item(static_cast<int>(i));
        if (std::find(layers.begin(), layers.end(), layer) != layers.end()) found.push_back(stack.items()[i].get());
    }
    return found;
}

// In radians per position. Empty for an encoding that rotates nothing.
std::vector<double> frequencies_of(const Encoding& encoding) {
    std::vector<double> list;
    const std::vector<std::string> parts = encoding.table_parts();
    if (std::find(parts.begin(), parts.end(), "frequency") == parts.end()) return list;
    const Table table = encoding.table({.part = "frequency"});
    const auto column = std::find(table.header.begin(), table.header.end(), "frequency") - table.header.begin();
    for (const std::vector<double>& row : table.rows) list.push_back(row.at(column));
    return list;
}

std::vector<double> frequencies_in(std::span<const Encoding* const> encodings) {
    std::vector<double> list;
    for (const Encoding* encoding : encodings)
        if (list.empty() && (encoding->moments() & moment_rotate)) list = frequencies_of(*encoding);
    return list;
}

int whole(double positions) {
    return positions < unlimited ? static_cast<int>(positions + 1e-6) : unlimited; // rounding must not lose a position
}

} // namespace

LayerReach reach_of_layer(const ModelEncodings& now, const ModelEncodings& trained, int layer, int context) {
    LayerReach reach;
    const std::vector<const Encoding*> encodings = acting_in(now, layer);
    const std::vector<double> seen = frequencies_in(acting_in(trained, layer));
    for (const Encoding* encoding : encodings) {
        reach.encoding += (reach.encoding.empty() ? "" : "+") + encoding->spec();
        reach.sound = std::min(reach.sound, encoding->limits().positions);
        if ((encoding->moments() & moment_embed) && !encoding->shift_invariant())
            reach.sound = std::min(reach.sound, context);
    }
    if (reach.encoding.empty()) reach.encoding = "none";
    const std::vector<double> turning = frequencies_in(encodings);
    for (std::size_t k = 0; k < turning.size(); ++k) {
        // Weights trained without rotation have seen no angle.
        const double trained_frequency = k < seen.size() ? seen[k] : 0, angle = context * trained_frequency;
        PairReach pair{turning[k], angle / turn};
        if (pair.turns < 1 && turning[k] > 0) pair.sound = whole(angle / turning[k]);
        reach.sound = std::min(reach.sound, pair.sound);
        reach.pairs.push_back(pair);
    }
    return reach;
}

int sound_positions(const ModelEncodings& now, const ModelEncodings& trained, int context) {
    int least = std::min(unlimited, now.limits().positions);
    const int layers = now.items().empty() ? 0 : now.dims().n_layers;
    for (int layer = 0; layer < layers; ++layer)
        least = std::min(least, reach_of_layer(now, trained, layer, context).sound);
    return least;
}

} // namespace ordo::tools
