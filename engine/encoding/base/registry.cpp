// SPDX-License-Identifier: MIT
#include "encoding/base/registry.h"

#include "core/error.h"
#include "encoding/base/moments.h"
#include "encoding/base/plan.h"
#include "encoding/base/registered.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

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

using Factory = std::function<OwnEncoding(const Dims&, std::string_view)>;

// Of register_encoding().
struct OwnEncodings {
    std::mutex guard;
    std::map<std::string, Factory, std::less<>> by_name;
};
OwnEncodings& own_encodings() {
    static OwnEncodings all;
    return all;
}
Factory own_factory(std::string_view name) {
    OwnEncodings& own = own_encodings();
    const std::lock_guard lock(own.guard);
    const auto found = own.by_name.find(name);
    return found == own.by_name.end() ? Factory() : found->second;
}

bool is_listed(std::string_view name) {
    return std::any_of(encodings.begin(), encodings.end(),
                       [&](const EncodingInfo* info) { return info->name == name; });
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

std::unique_ptr<Encoding> make_encoding(const SpecItem& item, const Dims& dims) {
    const Factory make = own_factory(item.name);
    if (!make) return make_encoding(find_encoding(item.name), item, dims);
    check_dims(dims);
    std::unique_ptr<Encoding> encoding = checked(make(dims, spec_text({&item, 1})));
    const std::string spec = encoding->spec();
    if (name_of(spec) != item.name)
        fail(ErrorCode::usage, "encoding ", item.name, ": expected a spec() that begins with this name, found '",
             printable(spec), "'");
    return encoding;
}

bool is_registered(std::string_view name) {
    return is_listed(name) || own_factory(name);
}

std::unique_ptr<Encoding> checked(OwnEncoding own) {
    if (!own.encoding)
        fail(ErrorCode::usage, "encoding: expected one, found a null pointer (the spec none has no encoding)");
    const std::string name = "encoding " + printable(own.encoding->spec());
    constexpr int most_state = 1 << 20, most_rows = 1 << 10, most_axes = 16; // floats; rows
    if (const int axes = own.encoding->position_axes(); axes < 1 || axes > most_axes)
        fail(ErrorCode::usage, name, ": position_axes(): expected 1 to ", most_axes, ", found ", axes);
    if (const int rows = own.encoding->shift_rows(); rows < 0 || rows > most_rows)
        fail(ErrorCode::usage, name, ": shift_rows(): expected 0 to ", most_rows, ", found ", rows);
    if (const int state = own.encoding->state_floats(); state < 0 || state > most_state)
        fail(ErrorCode::usage, name, ": state_floats(): expected 0 to ", most_state, ", found ", state);
    unsigned known = 0;
    for (const MomentInfo& info : moments_of_a_pass) known |= info.moment;
    if (const unsigned unknown = own.encoding->moments() & ~known; unknown != 0)
        fail(ErrorCode::usage, name, ": moments(): expected a set of moments, found the unknown bits ", unknown);
    return std::move(own.encoding);
}

void register_encoding(std::string_view name, Factory make) {
    const auto in_names = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
    if (name.empty() || name == "pattern" || !std::all_of(name.begin(), name.end(), in_names))
        fail(ErrorCode::usage, "register_encoding: expected a name of a-z, 0-9 and -, found '", printable(name), "'");
    if (!make) fail(ErrorCode::usage, "register_encoding: expected a function, found an empty one");
    OwnEncodings& own = own_encodings();
    const std::lock_guard lock(own.guard);
    if (is_listed(name) || !own.by_name.emplace(name, std::move(make)).second)
        fail(ErrorCode::usage, "register_encoding: expected a new name, found '", name, "', which is taken");
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
