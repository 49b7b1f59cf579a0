// SPDX-License-Identifier: MIT
#include "encoding/base/params.h"

#include <algorithm>

namespace ordo {

template <class Value>
void Params::show(std::string_view name, const Value& value, std::string_view text, std::string_view meaning) {
    if (write_ && !left_out_) (*write_)(name, value);
    if (list_) list_->push_back({std::string(name), std::string(text), std::string(meaning)});
    left_out_ = false;
}

void Params::number(std::string_view name, double& member, double least, double most, std::string_view meaning,
                    std::string_view fallback) {
    if (read_) member = read_->number(name, member, least, most);
    show(name, member, fallback.empty() ? decimal(member) : fallback, meaning);
}

void Params::integer(std::string_view name, int& member, int least, int most, std::string_view meaning,
                     std::string_view fallback) {
    if (read_) member = read_->integer(name, member, least, most);
    show(name, member, fallback.empty() ? std::to_string(member) : fallback, meaning);
}

void Params::numbers(std::string_view name, std::vector<double>& member, double least, double most,
                     std::size_t most_count, std::string_view meaning, std::size_t fewest) {
    if (read_) member = read_->numbers(name, member, least, most, fewest, most_count);
    show(name, std::span<const double>(member), "", meaning);
}

void Params::flag(std::string_view name, bool& member, std::string_view meaning) {
    if (read_)
        member = read_->choice(name, member ? "yes" : "no", {member ? "yes" : "no", member ? "no" : "yes"}) == "yes";
    show(name, std::string_view(member ? "yes" : "no"), member ? "yes" : "no", meaning);
}

std::size_t Params::index(std::string_view name, std::size_t now, std::initializer_list<std::string_view> words,
                          std::string_view meaning, std::string_view fallback) {
    std::string_view word = words.begin()[now];
    if (read_) word = *std::find(words.begin(), words.end(), read_->choice(name, word, words));
    show(name, word, fallback.empty() ? word : fallback, meaning);
    return static_cast<std::size_t>(std::find(words.begin(), words.end(), word) - words.begin());
}

} // namespace ordo
