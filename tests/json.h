// SPDX-License-Identifier: MIT
// JSON in tests: nlohmann's tree, so that the reader differs from the program's own.
#pragma once

#include "io/json.h"

#include <nlohmann/json.hpp>

namespace ordo::test {

using Json = nlohmann::json;

// Reads the program's output. Its own reader must accept it too.
inline Json read_json(const std::string& text) {
    parse_json(text, "output");
    return Json::parse(text);
}

} // namespace ordo::test
