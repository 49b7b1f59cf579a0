// SPDX-License-Identifier: MIT
// An experiment and a result whose texts have markup of every kind.
#pragma once

#include "tools/lab/lab.h"

#include <cmath>

namespace ordo::lab::test {

inline const Experiment nasty{.name = "nasty", .summary = "a < b & c", .details = "\"quoted\"", .run = nullptr};

inline Result small_result() {
    Result result;
    result.answer = "It depends on < & >.";
    result.expected = {"x < y"};
    result.found = {"a | b, [c] & 1/3"};
    result.tables = {
        {"one", "first", {{"name", "value"}, {{std::string("a,\"b\""), 1.0 / 3}, {std::string("<i>"), std::nan("")}}}},
        {"two", "second", {{"n"}, {{std::int64_t{7}}}}}};
    result.pictures = {{"p", "a 'picture'", "x", "y",
                        Curves{.series = {{.label = "s", .x = {1}, .y = {2}}}, .references = {{"r", 3}}}}};
    return result;
}

} // namespace ordo::lab::test
