// SPDX-License-Identifier: MIT
// Helpers for Encoding::table.
#pragma once

#include "ordo.h"

namespace ordo {

inline constexpr int max_table_cells = 1 << 25;

// Checks a request against an encoding and returns the part asked for. Throws Error(usage or limit).
std::string checked_part(const Encoding& encoding, const TableRequest& request);
// A table of zeros. Throws Error(limit) if it has more than max_table_cells numbers.
Table make_table(std::vector<std::string> header, std::int64_t rows);
// The same with cols columns, named "dim0", "dim1" ... for the word "dim" and first = 0.
Table make_matrix(std::string_view word, int first, int cols, std::int64_t rows);

} // namespace ordo
