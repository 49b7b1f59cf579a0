// SPDX-License-Identifier: MIT
#include "encoding/base/rope_keys.h"

#include "core/error.h"

#include <algorithm>

namespace ordo {
namespace {

// How many ropes there are.
int change(std::vector<SpecItem>& items, const SpecItem& keys) {
    int count = 0;
    for (SpecItem& item : items) {
        for (std::vector<SpecItem>& element : item.elements) count += change(element, keys);
        if (item.name != "rope") continue;
        ++count;
        if (keys.find("scaling")) remove_scaling(item);
        for (const auto& [key, value] : keys.values) item.set(key, value);
    }
    return count;
}

} // namespace

void remove_scaling(SpecItem& rope) {
    constexpr std::string_view keys[] = {"scaling",   "factor",   "original",  "length",       "beta-fast",
                                         "beta-slow", "truncate", "low",       "high",         "short",
                                         "long",      "factors",  "attention", "extrapolation"};
    std::erase_if(rope.values, [&](const auto& value) {
        return std::find(std::begin(keys), std::end(keys), value.first) != std::end(keys);
    });
}

std::string with_rope_keys(std::string_view spec, std::string_view keys) {
    const std::vector<SpecItem> given = parse_spec("rope:" + std::string(keys));
    if (given.size() != 1) fail(ErrorCode::usage, "rope: expected keys with values, found '", printable(keys), "'");
    std::vector<SpecItem> items = parse_spec(spec);
    if (change(items, given[0]) == 0)
        fail(ErrorCode::usage, "rope: expected an encoding with rope, found '", printable(spec), "'");
    return spec_text(items);
}

} // namespace ordo
