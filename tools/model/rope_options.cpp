// SPDX-License-Identifier: MIT
#include "tools/model/rope_options.h"

#include "core/error.h"
#include "encoding/base/rope_scaling.h"
#include "encoding/base/stack.h"

#include <algorithm>
#include <initializer_list>

namespace ordo::tools {

namespace {

using Items = std::vector<SpecItem>;

const std::string* find(const SpecItem& item, std::string_view key) {
    for (const auto& [name, value] : item.values)
        if (name == key) return &value;
    return nullptr;
}

void set(SpecItem& item, std::string_view key, std::string value) {
    for (auto& [name, old] : item.values) {
        if (name != key) continue;
        old = std::move(value);
        return;
    }
    item.values.emplace_back(key, std::move(value));
}

bool given(const Arguments& arguments, std::initializer_list<const char*> options) {
    return std::any_of(options.begin(), options.end(), [&](const char* option) { return arguments.has(option); });
}

bool stretches(const Arguments& arguments, const SpecItem& item) {
    const std::string* law = find(item, "scaling");
    const bool yarn = law && *law == "yarn", dynamic = law && *law == "dynamic";
    return given(arguments, {"rope-scaling", "rope-scale", "rope-freq-scale"}) ||
           (yarn && given(arguments, {"yarn-ext-factor", "yarn-attn-factor", "yarn-beta-fast", "yarn-beta-slow"})) ||
           ((yarn || dynamic) && arguments.has("yarn-orig-ctx"));
}

// Keeps the plain rope and sets its scaling. Where an option is missing, the file's value stays if its scaling is the
// same.
void stretch(const Arguments& arguments, SpecItem& item, const Dims& dims) {
    const SpecItem before = item;
    constexpr std::string_view keys[] = {"scaling",   "factor",   "original",  "length",       "beta-fast",
                                         "beta-slow", "truncate", "low",       "high",         "short",
                                         "long",      "factors",  "attention", "extrapolation"};
    std::erase_if(item.values, [&](const auto& value) {
        return std::find(std::begin(keys), std::end(keys), value.first) != std::end(keys);
    });
    const std::string* old = find(before, "scaling");
    std::string law = arguments.text("rope-scaling");
    if (law.empty()) law = old ? *old : "linear";
    if (law == "none") return;
    if (law == "llama3" || law == "longrope")
        fail(ErrorCode::usage, "the file scales RoPE by ", law,
             ", which has more than a factor; give a --rope-scaling");
    const bool same = old && *old == law, factor_given = given(arguments, {"rope-scale", "rope-freq-scale"});
    const auto as_before = [&](const char* key) {
        if (same && find(before, key)) set(item, key, *find(before, key));
    };
    const auto number_before = [&](const char* key) {
        return same && find(before, key) ? std::stod(*find(before, key)) : 1;
    };
    double factor = number_before("factor");
    if (arguments.has("rope-freq-scale")) factor = 1 / arguments.number("rope-freq-scale");
    if (arguments.has("rope-scale")) factor = arguments.number("rope-scale");
    set(item, "scaling", law);
    set(item, "factor", decimal(factor));
    if (law != "yarn" && law != "dynamic") return;
    const std::string* original = find(before, "original");
    set(item, "original", original ? *original : std::to_string(dims.context));
    if (arguments.has("yarn-orig-ctx")) set(item, "original", arguments.text("yarn-orig-ctx"));
    if (law != "yarn") return;
    for (const char* key : {"beta-fast", "beta-slow", "truncate"}) as_before(key);
    const double mixed_before = number_before("extrapolation");
    double mixed = mixed_before;
    if (arguments.has("yarn-ext-factor") && arguments.number("yarn-ext-factor") >= 0)
        mixed = arguments.number("yarn-ext-factor");
    if (mixed != 1) set(item, "extrapolation", decimal(mixed));
    // attention follows from the factor and from whether there is a mix, unless an option sets it.
    if (!factor_given && (mixed == 0) == (mixed_before == 0)) as_before("attention");
    for (const auto& [option, key] : {std::pair{"yarn-beta-fast", "beta-fast"}, {"yarn-beta-slow", "beta-slow"}})
        if (arguments.has(option)) set(item, key, decimal(arguments.number(option)));
    if (arguments.has("yarn-attn-factor"))
        set(item, "attention", decimal(arguments.number("yarn-attn-factor") * yarn_attention(factor, mixed)));
}

// Changes every rope, and returns their number.
int change(const Arguments& arguments, Items& items, const Dims& dims) {
    int count = 0;
    for (SpecItem& item : items) {
        for (Items& element : item.elements) count += change(arguments, element, dims);
        if (item.name != "rope") continue;
        ++count;
        if (arguments.has("rope-freq-base")) set(item, "theta", decimal(arguments.number("rope-freq-base")));
        if (stretches(arguments, item)) stretch(arguments, item, dims);
    }
    return count;
}

std::string text_of(const Items& items) {
    std::string text;
    for (const SpecItem& item : items) {
        text += (text.empty() ? "" : "+") + item.name;
        char separator = ':';
        for (const auto& [key, value] : item.values) {
            text += separator + key + "=" + value;
            separator = ',';
        }
        for (std::size_t i = 0; i < item.elements.size(); ++i)
            text += (i == 0 ? "((" : ",(") + text_of(item.elements[i]) + ")";
        if (item.is_pattern()) text += ")";
    }
    return text;
}

} // namespace

bool has_rope_options(const Arguments& arguments) {
    return std::any_of(std::begin(rope_options), std::end(rope_options), [&](const Option& option) {
        return arguments.offers(option.name) && arguments.has(option.name);
    });
}

std::string with_rope_options(const Arguments& arguments, std::string_view spec, const Dims& dims,
                              std::vector<std::string>& idle) {
    if (arguments.has("rope-scale") && arguments.has("rope-freq-scale"))
        fail(ErrorCode::usage, "expected --rope-scale or --rope-freq-scale, found both");
    const std::string before = EncodingStack(spec, dims).spec();
    Items items = parse_spec(before);
    if (change(arguments, items, dims) == 0) {
        idle.push_back("the options of RoPE change nothing: the encoding is " + before);
        return before;
    }
    std::string after = EncodingStack(text_of(items), dims).spec();
    if (after == before) idle.push_back("the options of RoPE change nothing: the encoding is " + before + " already");
    const auto only_for = [&](const char* option, bool wanted, const char* what) {
        if (arguments.has(option) && !wanted)
            idle.push_back("option --" + std::string(option) + " changes nothing without --rope-scaling " + what);
    };
    if (arguments.text("rope-scaling") == "none")
        for (const char* option : {"rope-scale", "rope-freq-scale"})
            if (arguments.has(option))
                idle.push_back("option --" + std::string(option) + " changes nothing beside --rope-scaling none");
    const bool yarn = after.find("scaling=yarn") != after.npos, dynamic = after.find("scaling=dynamic") != after.npos;
    only_for("yarn-orig-ctx", yarn || dynamic, "yarn or dynamic");
    for (const char* option : {"yarn-ext-factor", "yarn-attn-factor", "yarn-beta-fast", "yarn-beta-slow"})
        only_for(option, yarn, "yarn");
    return after;
}

} // namespace ordo::tools
