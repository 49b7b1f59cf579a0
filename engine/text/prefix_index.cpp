// SPDX-License-Identifier: MIT
#include "text/prefix_index.h"

#include "core/error.h"

#include <algorithm>
#include <numeric>

namespace ordo {

PrefixIndex::PrefixIndex(const Vocabulary& vocabulary, const std::string& where) : vocabulary_(vocabulary) {
    for (std::size_t id = 0; id < vocabulary.size(); ++id)
        if (!vocabulary[id].empty()) order_.push_back(static_cast<Token>(id));
    std::sort(order_.begin(), order_.end(), [&](Token a, Token b) { return vocabulary_[a] < vocabulary_[b]; });
    for (const Token id : order_) {
        const std::string_view spelling = vocabulary_[id];
        if (spelling.size() > max_length)
            fail(ErrorCode::model, where, ": expected tokens of at most ", max_length, " bytes, found one of ",
                 spelling.size());
        ++first_of_[static_cast<unsigned char>(spelling.front()) + std::size_t{1}];
    }
    std::partial_sum(first_of_.begin(), first_of_.end(), first_of_.begin());
}

bool PrefixIndex::extend(Range& range, unsigned char byte) const {
    if (range.depth == 0) {
        range = {first_of_[byte], first_of_[byte + std::size_t{1}], 1};
        return range.begin < range.end;
    }
    // Negative: the spelling ends here, and comes before all that go on.
    const auto next = [&](Token id) {
        const std::string_view spelling = vocabulary_[id];
        return spelling.size() == range.depth ? -1 : int{static_cast<unsigned char>(spelling[range.depth])};
    };
    const auto begin = order_.begin() + range.begin, end = order_.begin() + range.end;
    const auto low = std::lower_bound(begin, end, int{byte}, [&](Token id, int key) { return next(id) < key; });
    const auto high = std::upper_bound(low, end, int{byte}, [&](int key, Token id) { return key < next(id); });
    range = {static_cast<std::uint32_t>(low - order_.begin()), static_cast<std::uint32_t>(high - order_.begin()),
             range.depth + 1};
    return low != high;
}

} // namespace ordo
