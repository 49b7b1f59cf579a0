// SPDX-License-Identifier: MIT
#include "tools/lab/drawing/draw.h"

#include "encoding/base/model_encodings.h"
#include "encoding/base/registry.h"

#include <algorithm>
#include <map>

namespace ordo::lab {

namespace {

// 11 marks and 7 colours have no common factor, so there are 77 looks.
constexpr std::size_t marks = 11, dashes = 5;

// Variants of an encoding that several pictures show, by the beginning of their labels. Each has its own mark.
struct Variant {
    std::string_view label;
    std::size_t number; // of the encoding's marks; the encoding itself has 0
};
constexpr Variant variants[] = {{"rope-none", 1},         {"pattern(rope,none)", 1}, {"rope:width", 2},
                                {"rotate-stretch-36", 0}, {"rotate-stretch-6", 1},   {"rotate-stretch:period=6", 1}};

const Variant* variant_of(std::string_view label) {
    for (const Variant& variant : variants)
        if (label.starts_with(variant.label)) return &variant;
    return nullptr;
}

// The place in list.def of the encoding that a label begins with, or -1. "rope-1" and "rope:theta=500" begin with rope,
// and a pattern counts by its first encoding; "ropes" does not.
int encoding_of(std::string_view label) {
    if (label.starts_with("pattern(")) label.remove_prefix(8);
    int found = -1;
    std::size_t longest = 0;
    const auto encodings = registered_encodings();
    for (std::size_t i = 0; i < encodings.size(); ++i) {
        const std::string_view name = encodings[i]->name;
        if (name.size() <= longest || !label.starts_with(name)) continue;
        if (label.size() > name.size() && std::isalnum(static_cast<unsigned char>(label[name.size()]))) continue;
        longest = name.size();
        found = static_cast<int>(i);
    }
    return found;
}

Look look(std::size_t color, std::size_t mark, std::size_t dash) {
    return {line_colors[color % line_colors.size()], static_cast<int>(mark % marks), static_cast<int>(dash % dashes)};
}

} // namespace

std::vector<Look> looks_of(const Curves& curves) {
    const std::size_t colors = line_colors.size();
    std::vector<int> encodings;
    std::map<int, std::size_t> seen; // how many marks of an encoding are in use
    for (const Series& series : curves.series) encodings.push_back(encoding_of(series.label));
    // If rope itself is in the picture, rope-none counts as a variant of it, whichever comes first.
    const auto registered = registered_encodings();
    const auto is_itself = [&](std::size_t i) {
        return encodings[i] >= 0 && curves.series[i].label == registered[static_cast<std::size_t>(encodings[i])]->name;
    };
    for (std::size_t i = 0; i < encodings.size(); ++i)
        if (const Variant* known = variant_of(curves.series[i].label); known || is_itself(i))
            seen[encodings[i]] = std::max(seen[encodings[i]], (known ? known->number : 0) + 1);
    const bool named = std::any_of(encodings.begin(), encodings.end(), [](int i) { return i >= 0; });
    std::size_t other = named ? registered_encodings().size() : 0; // so that none has an encoding's look
    std::vector<Look> looks;
    for (std::size_t i = 0; i < encodings.size(); ++i) {
        const int encoding = encodings[i];
        if (encoding < 0) {
            looks.push_back(look(other, other, other / colors));
            ++other;
            continue;
        }
        const Variant* const known = variant_of(curves.series[i].label);
        const auto at = static_cast<std::size_t>(encoding);
        const std::size_t again = is_itself(i) ? 0 : known ? known->number : seen[encoding]++;
        // The first of the list, none, has the last colour: grey.
        looks.push_back(look(at + colors - 1, at + 3 * again, at / colors + again));
    }
    return looks;
}

} // namespace ordo::lab
