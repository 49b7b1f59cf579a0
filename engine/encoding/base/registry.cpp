// SPDX-License-Identifier: MIT
#include "encoding/base/registry.h"

#include "core/error.h"
#include "encoding/base/plan.h"
#include "encoding/base/registered.h"

#include <algorithm>
#include <array>

namespace ordo {

namespace {

// An explicit list: self-registration by static constructors would not survive a static archive.
constexpr auto encodings = std::to_array<const EncodingInfo*>({
#define ENCODING(x) &x##_encoding,
#include "encoding/list.def"
#undef ENCODING
});

// Checks sizes against limits that no real model reaches. These bound the memory that an encoding allocates.
void check_dims(const Dims& dims) {
    const int most = 1 << 20;
    const auto check = [most](std::string_view name, int value, int least) {
        if (value < least || value > most)
            fail(ErrorCode::usage, "encoding: ", name, ": expected ", least, " to ", most, ", found ", value);
    };
    check("d_model", dims.d_model, 1);
    check("n_heads", dims.n_heads, 1);
    check("d_head", dims.d_head, 1);
    check("n_kv_heads", dims.n_kv_heads, 0);
}

const Dims small = {.d_model = 64, .n_heads = 4, .d_head = 16, .n_layers = 1, .context = 128};

} // namespace

std::unique_ptr<Encoding> make_encoding(const EncodingInfo& info, const SpecItem& item, const Dims& dims) {
    std::unique_ptr<RegisteredEncoding> encoding = info.make(dims);
    if (encoding->moments() != 0) check_dims(dims); // "none" is made for any sizes
    encoding->read(item);
    item.finish();
    return encoding;
}

std::unique_ptr<Encoding> example_of(const EncodingInfo& info) {
    SpecItem item;
    item.name = info.name;
    return make_encoding(info, item, small);
}

std::vector<Parameter> parameters_of(const EncodingInfo& info) {
    std::vector<Parameter> list;
    Params listing(list);
    info.make(small)->parameters(listing);
    return list;
}

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
