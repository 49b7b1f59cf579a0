// SPDX-License-Identifier: MIT
// Finds values in the tables and pictures of a result.
#pragma once

#include "tools/lab/lab.h"

#include <functional>

namespace ordo::lab {

// The cells of a table, or the numbers of a picture. Throws Error(failure) if the result has neither.
tools::Figures numbers_of(const Result& result, std::string_view name);
// Throws Error(failure) if there is no such column.
std::size_t column_named(const tools::Figures& figures, std::string_view name);
// The row of a number, all rows for "*", or the first row with such cells: "series=rope;x=2". Empty: none.
std::vector<std::size_t> rows_of(const tools::Figures& figures, const std::string& row);
// NaN for a cell without a number.
double number(const tools::Cell& cell);

// A sentence with each {NAME:TABLE/ROW/COLUMN} filled by that cell of the experiment NAME, or by several with commas.
// A number has three significant digits, or as many as follow: {...|5}. A missing row gives "(not measured)". Other
// braces stay.
std::string with_cells(const std::string& sentence, const std::function<const Result&(const std::string& name)>& run);
// The same from one result: {:TABLE/ROW/COLUMN}.
inline std::string with_cells(const std::string& sentence, const Result& result) {
    return with_cells(sentence, [&](const std::string&) -> const Result& { return result; });
}

} // namespace ordo::lab
