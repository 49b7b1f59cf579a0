// SPDX-License-Identifier: MIT
#include "text/prefix_index.h"

#include "core/error.h"

#include <algorithm>
#include <numeric>

namespace ordo {

PrefixIndex::PrefixIndex(const Vocabulary& vocabulary, const std::string& where, std::string_view prefix)
    : vocabulary_(vocabulary), prefix_bytes_(prefix.size()) {
    const auto fits = [&](std::size_t id) {
        return vocabulary[id].size() > prefix.size() && vocabulary[id].starts_with(prefix);
    };
    std::size_t n = 0;
    for (std::size_t id = 0; id < vocabulary.size(); ++id) {
        if (vocabulary[id].size() > max_length)
            fail(ErrorCode::model, where, ": expected tokens of at most ", max_length, " bytes, found one of ",
                 vocabulary[id].size());
        n += fits(id) ? 1 : 0;
    }
    entries_.reserve(n);
    for (std::size_t id = 0; id < vocabulary.size(); ++id)
        if (fits(id))
            entries_.push_back(
                {static_cast<Token>(id), none, static_cast<std::uint32_t>(vocabulary[id].size() - prefix.size())});
    std::sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) { return text(a) < text(b); });
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
        const std::string_view own = text(entries_[i]);
        ++first_of_[static_cast<unsigned char>(own.front()) + std::size_t{1}];
        // The longest proper prefix of this spelling is the entry before it or a prefix of that entry.
        std::uint32_t beginning = i == 0 ? none : i - 1;
        while (beginning != none && !own.starts_with(text(entries_[beginning])))
            beginning = entries_[beginning].shorter;
        entries_[i].shorter = beginning;
    }
    std::partial_sum(first_of_.begin(), first_of_.end(), first_of_.begin());
}

const PrefixIndex::Entry* PrefixIndex::longest(std::string_view whole) const {
    whole = whole.substr(0, max_length);
    const auto first = static_cast<unsigned char>(whole.front());
    const auto begin = entries_.begin() + first_of_[first];
    const auto behind = std::upper_bound(begin, entries_.begin() + first_of_[first + std::size_t{1}], whole,
                                         [&](std::string_view key, const Entry& entry) { return key < text(entry); });
    if (behind == begin) return nullptr;
    const Entry* found = &*(behind - 1);
    const std::string_view last = text(*found);
    const auto common = static_cast<std::size_t>(
        std::mismatch(whole.begin(), whole.end(), last.begin(), last.end()).first - whole.begin());
    while (found != nullptr && found->size > common) found = shorter(*found);
    return found;
}

} // namespace ordo
