// SPDX-License-Identifier: MIT
// The parameters of an encoding. The function parameters() declares each of them once, with its name, member, range and
// meaning, in the order of the canonical spec. It runs three times: to read a spec into the members, to write the
// members as a spec, and to list them for `ordo encodings`.
#pragma once

#include "encoding/base/spec.h"

#include <algorithm>
#include <limits>

namespace ordo {

// A parameter as `ordo encodings NAME` shows it.
struct Parameter {
    std::string name;
    std::string fallback; // the default, as text: "10000", "sqrt(d_model)"
    std::string meaning;
    // Of a single number: the range, which includes both ends, and whether it is whole. NaN for other parameters.
    double least = std::numeric_limits<double>::quiet_NaN(), most = least;
    bool whole = false;
    std::vector<std::string> words = {}; // of a choice
};

class Params {
public:
    explicit Params(const SpecItem& read) : read_(&read) {}
    explicit Params(SpecWriter& write) : write_(&write) {}
    explicit Params(std::vector<Parameter>& list) : list_(&list) {}

    // A member holds its default before it is read. fallback says the default in words, where it depends on the model.
    // Each throws Error(usage) for a value of the spec outside the range. The range includes both ends.
    void number(std::string_view name, double& member, double least, double most, std::string_view meaning,
                std::string_view fallback = {});
    void integer(std::string_view name, int& member, int least, int most, std::string_view meaning,
                 std::string_view fallback = {});
    // A list of `fewest` to `most_count` numbers, 16/24/24; none by default.
    void numbers(std::string_view name, std::vector<double>& member, double least, double most, std::size_t most_count,
                 std::string_view meaning, std::size_t fewest = 1);
    // yes or no
    void flag(std::string_view name, bool& member, std::string_view meaning);
    // The member is an enumerator or a bool: the index of one of the words.
    template <class Choice>
    void choice(std::string_view name, Choice& member, std::initializer_list<std::string_view> words,
                std::string_view meaning, std::string_view fallback = {}) {
        member = static_cast<Choice>(index(name, static_cast<std::size_t>(member), words, meaning, fallback));
    }

    // If this is true, the canonical spec omits the next parameter, which then has its default.
    Params& unless(bool left_out) {
        left_out_ = left_out;
        return *this;
    }

    // The item that is read; null in the other two runs.
    const SpecItem* read() const { return read_; }
    bool listing() const { return list_ != nullptr; }
    // Whether the spec that is read has this parameter.
    bool given(std::string_view name) const {
        const auto is_it = [&](const auto& value) { return value.first == name; };
        return read_ && std::any_of(read_->values.begin(), read_->values.end(), is_it);
    }

private:
    std::size_t index(std::string_view name, std::size_t now, std::initializer_list<std::string_view> words,
                      std::string_view meaning, std::string_view fallback);
    // Writes or lists a parameter with this value. Returns the entry of the list; null in the other runs.
    template <class Value>
    Parameter* show(std::string_view name, const Value& value, std::string_view text, std::string_view meaning);

    const SpecItem* read_ = nullptr;
    SpecWriter* write_ = nullptr;
    std::vector<Parameter>* list_ = nullptr;
    bool left_out_ = false;
};

} // namespace ordo
