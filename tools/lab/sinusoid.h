// SPDX-License-Identifier: MIT
// The engine's sinusoidal table for several experiments.
#pragma once

#include "ordo.h"

#include <utility>

namespace ordo::lab {

// Rows start .. start + length - 1 of the table that is added, [length, width], or another part of it.
Table sinusoidal_table(int width, int length, int start = 0, const std::string& part = {});

// The least and the most of a column.
std::pair<double, double> range_of(const Table& table, std::size_t column);

} // namespace ordo::lab
