// SPDX-License-Identifier: MIT
#include "encoding/registry.h"

#include "core/error.h"
#include "encoding/plan.h"

#include <algorithm>
#include <array>

namespace ordo {

#define ENCODING(x) extern const EncodingInfo x##_encoding;
#include "encoding/list.def"
#undef ENCODING

namespace {

// An explicit list: self-registration by static constructors would not survive a static archive.
constexpr auto encodings = std::to_array<const EncodingInfo*>({
#define ENCODING(x) &x##_encoding,
#include "encoding/list.def"
#undef ENCODING
});

} // namespace

std::span<const EncodingInfo* const> registered_encodings() {
    return encodings;
}

const EncodingInfo& find_encoding(std::string_view name) {
    std::vector<std::string_view> names;
    for (const EncodingInfo* info : encodings) {
        if (info->name == name) return *info;
        names.push_back(info->name);
    }
    if (const std::string likely = likely_name(name); !likely.empty())
        fail(ErrorCode::usage, "unknown encoding '", printable(name), "'; did you mean ", likely, "?");
    fail(ErrorCode::usage, "unknown encoding '", printable(name), "': expected ", one_of(name, names));
}

std::vector<const EncodingInfo*> encodings_named(std::span<const SpecItem> items) {
    std::vector<const EncodingInfo*> infos;
    const auto add = [&](const EncodingInfo* info) {
        if (std::find(infos.begin(), infos.end(), info) == infos.end()) infos.push_back(info);
    };
    for (const SpecItem& item : items) {
        if (!item.is_pattern()) add(&find_encoding(item.name));
        for (const std::vector<SpecItem>& element : item.elements)
            for (const EncodingInfo* info : encodings_named(element)) add(info);
    }
    return infos;
}

std::vector<std::unique_ptr<Encoding>> make_encodings(std::string_view spec, const Dims& dims) {
    EncodingPlan plan = plan_encodings(spec, dims);
    for (const EncodingSum& sum : plan.sums)
        if (sum.elements.size() > 1)
            fail(ErrorCode::usage, "encoding spec: expected the same encodings in all layers, found the pattern in '",
                 printable(spec), "'");
    return std::move(plan.encodings);
}

} // namespace ordo
