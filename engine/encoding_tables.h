// SPDX-License-Identifier: MIT
// The operations that an encoding counts, and the tables that show it as numbers. encoding.h includes this file.
#pragma once

#include "rows.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)

namespace ordo {

// The amount of work for Encoding::operations: sizes of a pass, or of a part of it, in one layer.
struct Work {
    double tokens = 0;                   // fed in the pass
    double query_rows = 0, key_rows = 0; // tokens times query heads, tokens times key/value heads
    double pairs = 0;                    // of a query and a key that the mask leaves, in all query heads
    int positions = 0;                   // all positions are below this
};
// Floating-point operations. A processor computes products many times faster than the others.
struct Operations {
    double products = 0; // multiplications and additions of products of matrices and vectors
    double others = 0;   // see Encoding::operations

    double sum() const { return products + others; }
    Operations& operator+=(const Operations& other) {
        products += other.products;
        others += other.others;
        return *this;
    }
};
// The operations that one exponential, logarithm, sine or root counts for.
inline constexpr double operations_of_function = 8;

// One table of numbers with a header, for reading; see Encoding::table.
struct Table {
    std::vector<std::string> header = {};
    std::vector<std::vector<double>> rows = {};
};
// A Table whose rows the encoding computes one at a time. The encoding must outlive it.
struct TableRows {
    std::vector<std::string> header = {};
    std::int64_t count = 0;
    std::function<void(std::int64_t row, std::span<double> out)> fill = {}; // out: zeros, a number for each column
};
struct TableRequest {
    int length = 8;        // rows: positions start .. start + length - 1
    int start = 0;         // the first position
    int head = 0;          // for tables that differ by head
    int width = 8;         // columns of embed()'s input, for the default of Encoding::table
    std::string part = {}; // which table; empty is the main one, see Encoding::table_parts
    int layer = 0;         // for tables that differ by layer
};
// The table of the encoding that a spec names in a model of these sizes; in dims, d_model is enough. Trained tensors
// have their initial values (seed 1). Throws Error(usage) for a sum of encodings or none in the layer, and as
// Encoding::table does.
Table encoding_table(std::string_view spec, Dims dims, const TableRequest& request = {});

} // namespace ordo

#pragma GCC visibility pop
