// SPDX-License-Identifier: MIT
#include "encoding/base/params.h"

#include <algorithm>

namespace ordo {

template <class Value>
Parameter* Params::show(std::string_view name, const Value& value, std::string_view text, std::string_view meaning) {
    if (write_ && !left_out_) (*write_)(name, value);
    left_out_ = false;
    if (!list_) return nullptr;
    // In its place: where memory runs out, g++ 12 destroys a part of a temporary twice.
    Parameter& listed = list_->emplace_back();
    listed.name = name;
    listed.fallback = text;
    listed.meaning = meaning;
    return &listed;
}

void Params::number(std::string_view name, double& member, double least, double most, std::string_view meaning,
                    std::string_view fallback) {
    if (read_) member = read_->number(name, member, least, most);
    if (Parameter* listed = show(name, member, fallback.empty() ? decimal(member) : fallback, meaning))
        listed->least = least, listed->most = most;
}

void Params::integer(std::string_view name, int& member, int least, int most, std::string_view meaning,
                     std::string_view fallback) {
    if (read_) member = read_->integer(name, member, least, most);
    if (Parameter* listed = show(name, member, fallback.empty() ? std::to_string(member) : fallback, meaning))
        listed->least = least, listed->most = most, listed->whole = true;
}

void Params::numbers(std::string_view name, std::vector<double>& member, double least, double most,
                     std::size_t most_count, std::string_view meaning, std::size_t fewest) {
    if (read_) member = read_->numbers(name, member, least, most, fewest, most_count);
    show(name, std::span<const double>(member), "", meaning);
}

void Params::flag(std::string_view name, bool& member, std::string_view meaning) {
    if (read_)
        member = read_->choice(name, member ? "yes" : "no", {member ? "yes" : "no", member ? "no" : "yes"}) == "yes";
    const std::string_view word = member ? "yes" : "no";
    if (Parameter* listed = show(name, word, word, meaning)) listed->words = {"yes", "no"};
}

std::size_t Params::index(std::string_view name, std::size_t now, std::initializer_list<std::string_view> words,
                          std::string_view meaning, std::string_view fallback) {
    std::string_view word = words.begin()[now];
    if (read_) word = *std::find(words.begin(), words.end(), read_->choice(name, word, words));
    if (Parameter* listed = show(name, word, fallback.empty() ? word : fallback, meaning))
        listed->words = {words.begin(), words.end()};
    return static_cast<std::size_t>(std::find(words.begin(), words.end(), word) - words.begin());
}

} // namespace ordo
