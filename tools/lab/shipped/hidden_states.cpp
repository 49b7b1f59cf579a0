// SPDX-License-Identifier: MIT
#include "tools/lab/shipped/hidden_states.h"

#include "encoding/base/stack.h"
#include "model/model.h"

#include <algorithm>

namespace ordo::lab {

std::vector<Tensor> hidden_states(const Model& model, std::span<const Token> tokens) {
    const auto n = static_cast<int>(tokens.size());
    check_reach(impl_of(model).encodings, n);
    std::vector<Tensor> all;
    Session session(model, {.capacity = n, .chunk = n});
    session.watch({.states =
                       [&](int, int, ConstView states) {
                           Tensor copy(states.rows, states.cols);
                           for (int i = 0; i < states.rows; ++i)
                               std::copy_n(states.row(i), states.cols, copy.view().row(i));
                           all.push_back(std::move(copy));
                       },
                   .weights = {}});
    session.feed(tokens);
    return all;
}

} // namespace ordo::lab
