// SPDX-License-Identifier: MIT
// The hyperparameters of a foreign model: the members of a config.json, or the scalars of a GGUF under its
// architecture's prefix. An error names the key, the wrong value, and the values that work.
#pragma once

#include "core/error.h"
#include "io/json.h"

#include <initializer_list>
#include <memory>
#include <optional>

namespace ordo {

class Config {
public:
    // object must outlive it. prefix is put before every key: "llama.".
    Config(const JsonValue& object, std::string where, std::string prefix = {})
        : object_(&object), where_(std::move(where)), prefix_(std::move(prefix)) {}

    // The same, with defaults for missing keys from a JSON object: those of a published class. A key with the value
    // null stays null.
    Config with_defaults(std::string_view json) const;

    const std::string& where() const { return where_; }
    const std::string& prefix() const { return prefix_; }
    // The value of a key; nullptr if it is absent or null.
    const JsonValue* find(std::string_view key) const;
    bool mentions(std::string_view key) const { return find_member(*object_, full(key)) != nullptr; } // or null
    bool has(std::string_view key) const { return find(key) != nullptr; }
    // The first of the keys that exists, or the first in the list: "n_embd", "hidden_size".
    std::string_view first_of(std::initializer_list<std::string_view> keys) const;

    // Throws Error(model) if a key without a fallback is missing. An integer may be written as a fraction: 64.0.
    int integer(std::string_view key, std::int64_t least = 1, std::int64_t most = 1 << 30) const;
    int integer(std::string_view key, int fallback, std::int64_t least, std::int64_t most) const;
    int layers(std::string_view key) const; // at most the layers of a Blueprint
    double number(std::string_view key, double fallback, double least, double most) const;
    float norm_eps(std::string_view key, double fallback) const; // more than 0, at most 1
    bool flag(std::string_view key, bool fallback) const;
    std::string text(std::string_view key, std::string_view fallback) const;
    // An object among the members; nullopt if it is absent or null.
    std::optional<Config> object(std::string_view key) const;
    // A list of numbers, or of texts.
    std::vector<double> numbers(std::string_view key, double least, double most) const;
    std::vector<std::string> texts(std::string_view key) const;

    // Refuses an unsupported value: the key must be missing, null, or equal to `works`.
    void only(std::string_view key, bool works) const;
    void only(std::string_view key, const char* works) const; // without it, a literal would convert to bool
    void only(std::string_view key, double works) const;
    void absent(std::string_view key) const;
    // "FILE: 'KEY': expected WORKS, found VALUE"
    [[noreturn]] void refuse(std::string_view key, std::string_view works) const;

private:
    std::string full(std::string_view key) const { return prefix_ + std::string(key); }
    const JsonValue& holder(std::string_view key) const; // the object with that key

    const JsonValue* object_;
    std::string where_, prefix_;
    std::shared_ptr<const JsonValue> defaults_;
};

} // namespace ordo
