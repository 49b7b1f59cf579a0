// SPDX-License-Identifier: MIT
// The tensors of an encoding that has a set for each layer it acts in, and what its tables ask of them.
#pragma once

#include "core/error.h"
#include "encoding/base/spec.h"
#include "encoding/base/table.h"

#include "ordo.h"

namespace ordo {

class LayerTensors {
public:
    explicit LayerTensors(const Dims& dims) : dims_(dims), of_slots_(static_cast<std::size_t>(dims.layer_count())) {}

    void bind(int layer, std::span<const View> tensors) {
        of_slots_[static_cast<std::size_t>(slot(layer))].assign(tensors.begin(), tensors.end());
    }
    // Layers that the encoding acts in have slots 0 .. slots() - 1.
    int slot(int layer) const { return dims_.slot(layer); }
    std::span<const View> of_layer(int layer) const { return of_slot(slot(layer)); }
    std::span<const View> of_slot(int slot) const { return of_slots_[static_cast<std::size_t>(slot)]; }
    int slots() const { return static_cast<int>(of_slots_.size()); }
    // bind() has been called for every layer.
    bool bound() const {
        for (const auto& tensors : of_slots_)
            if (tensors.empty()) return false;
        return true;
    }

    // Of the layer that a table is asked for. Throws Error(usage).
    std::span<const View> requested(const Encoding& encoding, const TableRequest& request) const {
        check_table_layer(encoding, dims_, request);
        const std::span<const View> tensors = of_layer(request.layer);
        if (tensors.empty())
            fail(ErrorCode::usage, name_of(encoding.spec()),
                 ": the table is in the weights: expected a model file, found none");
        return tensors;
    }

private:
    Dims dims_;
    std::vector<std::vector<View>> of_slots_;
};

} // namespace ordo
