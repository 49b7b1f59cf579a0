// SPDX-License-Identifier: MIT
#include "encoding/base/registered.h"

#include "core/error.h"

#include <algorithm>

namespace ordo {

void RegisteredEncoding::finish(std::string_view name) {
    name_ = name;
    for (const TensorSpec& tensor : tensors()) {
        stored_ = true;
        per_layer_ = per_layer_ || tensor.per_layer;
    }
    bound_.resize(std::max(1, slots()));
    ready();
    SpecWriter spec(name_);
    Params writing(spec);
    parameters(writing);
    spec_ = spec.text();
}

void RegisteredEncoding::bind(int layer, std::span<const View> tensors) {
    bound_[slot(layer)].assign(tensors.begin(), tensors.end());
}

bool RegisteredEncoding::bound() const {
    return !stored_ || std::none_of(bound_.begin(), bound_.end(), [](const auto& tensors) { return tensors.empty(); });
}

int RegisteredEncoding::requested_slot(const TableRequest& request) const {
    if (per_layer_) check_table_layer(*this, dims_, request);
    const int slot = this->slot(request.layer);
    if (stored_ && tensors_of(slot).empty())
        fail(ErrorCode::usage, name_, ": the table is in the weights: expected a model file, found none");
    return slot;
}

std::vector<NamedTable> RegisteredEncoding::tables() const {
    return {{"table", [this](const TableRequest& request) { return Encoding::table_rows(request); }}};
}

std::vector<std::string> RegisteredEncoding::table_parts() const {
    std::vector<std::string> names;
    for (NamedTable& table : tables()) names.push_back(std::move(table.name));
    return names;
}

TableRows RegisteredEncoding::table_rows(const TableRequest& request) const {
    const std::string part = checked_part(*this, request);
    const std::vector<NamedTable> all = tables();
    return std::find_if(all.begin(), all.end(), [&](const NamedTable& table) { return table.name == part; })
        ->rows(request);
}

} // namespace ordo
