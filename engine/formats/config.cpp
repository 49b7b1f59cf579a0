// SPDX-License-Identifier: MIT
#include "formats/config.h"

#include "encoding/base/spec.h"

#include <cmath>

namespace ordo {

Config Config::with_defaults(std::string_view json) const {
    Config config = *this;
    config.defaults_ = std::make_shared<const JsonValue>(parse_json(json, "defaults"));
    return config;
}

const JsonValue& Config::holder(std::string_view key) const {
    const bool absent = defaults_ && !mentions(key) && find_member(*defaults_, full(key)) != nullptr;
    return absent ? *defaults_ : *object_;
}

const JsonValue* Config::find(std::string_view key) const {
    const JsonValue* value = find_member(holder(key), full(key));
    return value == nullptr || value->is_null() ? nullptr : value;
}

std::string_view Config::first_of(std::initializer_list<std::string_view> keys) const {
    for (const std::string_view key : keys)
        if (has(key)) return key;
    return *keys.begin();
}

int Config::integer(std::string_view key, std::int64_t least, std::int64_t most) const {
    const JsonValue* const value = find(key);
    if (const double* fraction = value == nullptr ? nullptr : value->fraction())
        if (std::trunc(*fraction) == *fraction && *fraction >= static_cast<double>(least) &&
            *fraction <= static_cast<double>(most))
            return static_cast<int>(*fraction);
    return static_cast<int>(get_int(holder(key), full(key), where_, least, most));
}
int Config::integer(std::string_view key, int fallback, std::int64_t least, std::int64_t most) const {
    return has(key) ? integer(key, least, most) : fallback;
}
int Config::layers(std::string_view key) const {
    return integer(key, 1, 1024);
}
double Config::number(std::string_view key, double fallback, double least, double most) const {
    return has(key) ? get_number(holder(key), full(key), where_, least, most) : fallback;
}
float Config::norm_eps(std::string_view key, double fallback) const {
    const auto eps = static_cast<float>(number(key, fallback, 0, 1));
    if (eps == 0) refuse(key, "more than 0");
    return eps;
}
bool Config::flag(std::string_view key, bool fallback) const {
    return has(key) ? get_bool(holder(key), full(key), where_) : fallback;
}
std::string Config::text(std::string_view key, std::string_view fallback) const {
    return has(key) ? get_string(holder(key), full(key), where_) : std::string(fallback);
}

std::optional<Config> Config::object(std::string_view key) const {
    const JsonValue* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->object()) refuse(key, "an object");
    return Config(*value, where_ + ": '" + full(key) + "'");
}

std::vector<double> Config::numbers(std::string_view key, double least, double most) const {
    std::vector<double> list;
    const auto wrong = [&] { refuse(key, "a list of numbers from " + decimal(least) + " to " + decimal(most)); };
    const JsonValue* value = find(key);
    if (value == nullptr || !value->array()) wrong();
    for (const JsonValue& each : *value->array()) {
        double x = 0;
        if (const auto* n = each.unsigned_integer())
            x = static_cast<double>(*n);
        else if (const auto* i = each.integer())
            x = static_cast<double>(*i);
        else if (const auto* f = each.fraction())
            x = *f;
        else
            wrong();
        if (!(x >= least && x <= most)) wrong();
        list.push_back(x);
    }
    return list;
}

std::vector<std::string> Config::texts(std::string_view key) const {
    std::vector<std::string> list;
    const JsonValue* value = find(key);
    if (value == nullptr || !value->array()) refuse(key, "a list of texts");
    for (const JsonValue& each : *value->array()) {
        if (!each.string()) refuse(key, "a list of texts");
        list.push_back(*each.string());
    }
    return list;
}

void Config::only(std::string_view key, bool works) const {
    if (flag(key, works) != works) refuse(key, works ? "true" : "false");
}
void Config::only(std::string_view key, const char* works) const {
    if (text(key, works) != works) refuse(key, works);
}
void Config::only(std::string_view key, double works) const {
    if (number(key, works, -1e30, 1e30) != works) refuse(key, decimal(works));
}
void Config::absent(std::string_view key) const {
    if (has(key)) refuse(key, "none");
}

void Config::refuse(std::string_view key, std::string_view works) const {
    const JsonValue* value = find(key);
    fail(ErrorCode::model, where_, ": '", full(key), "': expected ", works, ", found ",
         value == nullptr ? std::string("none") : describe(*value));
}

} // namespace ordo
