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
// {"dim0", "dim1", ...}
std::vector<std::string> numbered(std::string_view word, std::int64_t count, int first = 0);

} // namespace ordo
