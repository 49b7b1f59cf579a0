// SPDX-License-Identifier: MIT
// JSON in tests: nlohmann's tree, another reader than the program's own.
#pragma once

#include "io/json.h"

#include <nlohmann/json.hpp>

namespace ordo::test {

using Json = nlohmann::json;

// What the program has written: refused if its own reader would refuse it.
inline Json read_json(const std::string& text) {
    parse_json(text, "output");
    return Json::parse(text);
}

} // namespace ordo::test
