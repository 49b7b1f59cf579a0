// SPDX-License-Identifier: MIT
#include "tools/opening/rope_options.h"

#include "core/error.h"
#include "encoding/base/model_encodings.h"
#include "encoding/base/rope_keys.h"
#include "encoding/base/rope_scaling.h"

#include <algorithm>
#include <initializer_list>

namespace ordo::tools {

namespace {

using Items = std::vector<SpecItem>;

bool given(const Arguments& arguments, std::initializer_list<const char*> options) {
    return std::any_of(options.begin(), options.end(), [&](const char* option) { return arguments.has(option); });
}

bool stretches(const Arguments& arguments, const SpecItem& item) {
    const std::string* law = item.find("scaling");
    const bool yarn = law && *law == "yarn", dynamic = law && *law == "dynamic";
    return given(arguments, {"rope-scaling", "rope-scale", "rope-freq-scale"}) ||
           (yarn && given(arguments, {"yarn-ext-factor", "yarn-attn-factor", "yarn-beta-fast", "yarn-beta-slow"})) ||
           ((yarn || dynamic) && arguments.has("yarn-orig-ctx"));
}

// Keeps the plain rope and sets its scaling. Where an option is missing, the file's value stays if its scaling is the
// same.
void stretch(const Arguments& arguments, SpecItem& item, const Dims& dims) {
    const SpecItem before = item;
    remove_scaling(item);
    const std::string* old = before.find("scaling");
    std::string law = arguments.text("rope-scaling");
    if (law.empty()) law = old ? *old : "linear";
    if (law == "none") return;
    if (law == "llama3" || law == "longrope")
        fail(ErrorCode::usage, "the file scales RoPE by ", law,
             ", which has more than a factor; give a --rope-scaling");
    const bool same = old && *old == law, factor_given = given(arguments, {"rope-scale", "rope-freq-scale"});
    const auto as_before = [&](const char* key) {
        if (same && before.find(key)) item.set(key, *before.find(key));
    };
    const auto number_before = [&](const char* key) {
        return same && before.find(key) ? std::stod(*before.find(key)) : 1;
    };
    double factor = number_before("factor");
    if (arguments.has("rope-freq-scale")) factor = 1 / arguments.number("rope-freq-scale");
    if (arguments.has("rope-scale")) factor = arguments.number("rope-scale");
    item.set("scaling", law);
    item.set("factor", decimal(factor));
    if (law != "yarn" && law != "dynamic") return;
    const std::string* original = before.find("original");
    item.set("original", original ? *original : std::to_string(dims.context));
    if (arguments.has("yarn-orig-ctx")) item.set("original", arguments.text("yarn-orig-ctx"));
    if (law != "yarn") return;
    for (const char* key : {"beta-fast", "beta-slow", "truncate"}) as_before(key);
    const double mixed_before = number_before("extrapolation");
    double mixed = mixed_before;
    if (arguments.has("yarn-ext-factor") && arguments.number("yarn-ext-factor") >= 0)
        mixed = arguments.number("yarn-ext-factor");
    if (mixed != 1) item.set("extrapolation", decimal(mixed));
    // Which is by the factor, and whether there is a mix, unless somebody says otherwise.
    if (!factor_given && (mixed == 0) == (mixed_before == 0)) as_before("attention");
    for (const auto& [option, key] : {std::pair{"yarn-beta-fast", "beta-fast"}, {"yarn-beta-slow", "beta-slow"}})
        if (arguments.has(option)) item.set(key, decimal(arguments.number(option)));
    if (arguments.has("yarn-attn-factor"))
        item.set("attention", decimal(arguments.number("yarn-attn-factor") * yarn_attention(factor, mixed)));
}

// Changes every rope, and returns their number.
int change(const Arguments& arguments, Items& items, const Dims& dims) {
    int count = 0;
    for (SpecItem& item : items) {
        for (Items& element : item.elements) count += change(arguments, element, dims);
        if (item.name != "rope") continue;
        ++count;
        if (arguments.has("rope-freq-base")) item.set("theta", decimal(arguments.number("rope-freq-base")));
        if (stretches(arguments, item)) stretch(arguments, item, dims);
    }
    return count;
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
    const std::string before = ModelEncodings(spec, dims).spec();
    Items items = parse_spec(before);
    if (change(arguments, items, dims) == 0) {
        idle.push_back("the options of RoPE change nothing: the encoding is " + before);
        return before;
    }
    std::string after = ModelEncodings(spec_text(items), dims).spec();
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
