// SPDX-License-Identifier: MIT
// The answers of several models as sentences, curves and maps. Each function takes the names of the models, and a
// function of a model's place among them.
#pragma once

#include "tools/lab/study/prelude.h"

namespace ordo::lab {

using Names = std::vector<std::string>;

// The smallest and the largest value with their names: "0.12 (sinusoidal) to 0.56 (alibi)". NaN is skipped.
std::string ends_of(const Names& names, const std::function<double(std::size_t)>& value, int decimals = 2);

// A curve for each name over x, with the interval of each share if it is known. A share of NaN is left out.
Curves curves_of(const Names& names, const Vector& x,
                 const std::function<Share(std::size_t name, std::size_t x)>& share, const std::string& interval);

// A map of shares, with a row for each name of y.
HeatMap map_of(const Names& y, const Names& x, const std::function<double(std::size_t y, std::size_t x)>& share);

} // namespace ordo::lab
