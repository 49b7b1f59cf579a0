// SPDX-License-Identifier: MIT
#include "encoding/base/rotary.h"

#include <cmath>

namespace ordo {

void Rotary::pair_parameters(Params& p) {
    p.choice("pairing", pairing_, {"adjacent", "halves"},
             "pair k is columns (2k, 2k+1): adjacent, or (k, k+width/2): halves");
    even(p, "width", width_, dims().d_head, "columns of each head that are turned; even", "d_head");
}

void Rotary::build() {
    queries_.emplace(turns(Role::query), pairing_);
    if (roles_differ()) keys_.emplace(turns(Role::key), pairing_);
}

void Rotary::prepare(int n_positions) {
    queries_->prepare(n_positions);
    if (keys_) keys_->prepare(n_positions);
}

NamedTable Rotary::angle_table() const {
    const bool grows = roles_differ();
    std::vector<std::string> header = {"position", "pair", "angle", "cos", "sin"};
    if (grows) header.emplace_back("scale");
    return by_position_and_pair("table", header, rotation().pairs(), [=, this](int position, int pair, auto out) {
        const double angle = rotation().angle(position, pair), gain = rotation().gain(position, pair);
        out[2] = angle;
        out[3] = (grows ? 1 : gain) * std::cos(angle);
        out[4] = (grows ? 1 : gain) * std::sin(angle);
        if (grows) out[5] = gain;
    });
}

NamedTable Rotary::frequency_table(std::string column, std::function<double(int pair)> number) const {
    std::vector<std::string> header = {"pair", "frequency"};
    if (!column.empty()) header.push_back(std::move(column));
    return by_pair("frequency", header, rotation().pairs(), [this, number = std::move(number)](int pair, auto out) {
        out[1] = rotation().frequency(pair);
        if (number) out[2] = number(pair);
    });
}

} // namespace ordo
