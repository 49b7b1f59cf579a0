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
    build();
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

void RegisteredEncoding::even(Params& p, std::string_view name, int& member, int most, std::string_view meaning,
                              std::string_view fallback) {
    p.integer(name, member, 2, most, meaning, fallback);
    if (p.read() && member % 2 != 0)
        fail(ErrorCode::usage, p.read()->name, ": ", name, ": expected an even number of columns, found ", member);
}

NamedTable RegisteredEncoding::by_position(std::string name, const std::vector<std::string>& header,
                                           const std::function<void(int position, Row out)>& fill) {
    return {std::move(name), [=](const TableRequest& request) {
                return make_table(header, request.length, [=, start = request.start](std::int64_t row, Row out) {
                    out[0] = start + static_cast<double>(row);
                    fill(start + static_cast<int>(row), out);
                });
            }};
}

NamedTable RegisteredEncoding::by_position_and_pair(std::string name, const std::vector<std::string>& header, int pairs,
                                                    const std::function<void(int position, int pair, Row out)>& fill) {
    return {std::move(name), [=](const TableRequest& request) {
                const std::int64_t rows = std::int64_t{request.length} * pairs;
                return make_table(header, rows, [=, start = request.start](std::int64_t row, Row out) {
                    const int position = start + static_cast<int>(row / pairs), pair = static_cast<int>(row % pairs);
                    out[0] = position;
                    out[1] = pair;
                    fill(position, pair, out);
                });
            }};
}

NamedTable RegisteredEncoding::by_pair(std::string name, const std::vector<std::string>& header, int pairs,
                                       const std::function<void(int pair, Row out)>& fill) {
    return {std::move(name), [=](const TableRequest&) {
                return make_table(header, pairs, [=](std::int64_t pair, Row out) {
                    out[0] = static_cast<double>(pair);
                    fill(static_cast<int>(pair), out);
                });
            }};
}

NamedTable RegisteredEncoding::by_head(std::string name, const std::vector<std::string>& header,
                                       const std::function<void(int slot, int head, Row out)>& fill) const {
    return {std::move(name), [=, this](const TableRequest& request) {
                return make_table(header, heads(), [=, slot = requested_slot(request)](std::int64_t head, Row out) {
                    out[0] = static_cast<double>(head);
                    fill(slot, static_cast<int>(head), out);
                });
            }};
}

NamedTable RegisteredEncoding::rows_of_tensor(std::string name, std::size_t i, std::string_view word) const {
    return {std::move(name), [=, this](const TableRequest& request) {
                const View rows = tensor(requested_slot(request), i);
                return rows_table(rows, 0, rows.rows, word);
            }};
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
