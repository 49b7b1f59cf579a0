// SPDX-License-Identifier: MIT
#include "encoding/base/rotary.h"

#include "core/error.h"
#include "encoding/base/table.h"

namespace ordo {

void Rotary::pair_parameters(Params& p) {
    p.choice("pairing", pairing_, {"adjacent", "halves"},
             "pair k is columns (2k, 2k+1): adjacent, or (k, k+width/2): halves");
    p.integer("width", width_, 2, dims().d_head, "columns of each head that are turned; even", "d_head");
    if (width_ % 2 != 0)
        fail(ErrorCode::usage, p.read() ? p.read()->name : name(),
             ": width: expected an even number of columns, found ", width_);
}

void Rotary::ready() {
    queries_.emplace(turns(Role::query), pairing_);
    if (roles_differ()) keys_.emplace(turns(Role::key), pairing_);
}

void Rotary::prepare(int n_positions) {
    queries_->prepare(n_positions);
    if (keys_) keys_->prepare(n_positions);
}

TableRows Rotary::pair_rows(const TableRequest& request, std::vector<std::string> columns,
                            std::function<void(int position, int pair, std::span<double> out)> values) const {
    columns.insert(columns.begin(), {"position", "pair"});
    const int pairs = rotation().pairs();
    return make_table(
        std::move(columns), std::int64_t{request.length} * pairs,
        [pairs, start = request.start, values = std::move(values)](std::int64_t row, std::span<double> out) {
            const int position = start + static_cast<int>(row / pairs), pair = static_cast<int>(row % pairs);
            out[0] = position;
            out[1] = pair;
            values(position, pair, out.subspan(2));
        });
}

TableRows Rotary::frequency_rows(std::string_view column, std::function<double(int pair)> value) const {
    return make_table({"pair", "frequency", std::string(column)}, rotation().pairs(),
                      [this, value = std::move(value)](std::int64_t k, std::span<double> out) {
                          const int pair = static_cast<int>(k);
                          out[0] = pair;
                          out[1] = rotation().frequency(pair);
                          out[2] = value(pair);
                      });
}

} // namespace ordo
