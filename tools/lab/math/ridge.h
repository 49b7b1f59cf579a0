// SPDX-License-Identifier: MIT
// Linear regression with a penalty on the weights, in closed form (Hoerl and Kennard 1970).
#pragma once

#include "rows.h"

namespace ordo::lab {

// Minimizes mean (y - w . z - c)^2 + penalty |w|^2 over the rows x, where z is x with columns of mean 0 and variance 1.
// All in double.
class Ridge {
public:
    // rows: d floats for each row, one row after the other. y: one value for each row, at least two.
    Ridge(std::span<const float> rows, int d, std::span<const double> y, double penalty);
    double predict(std::span<const float> row) const;

private:
    std::vector<double> weights_; // of the original columns
    double constant_ = 0;
};

} // namespace ordo::lab
