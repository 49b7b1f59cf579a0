// SPDX-License-Identifier: MIT
#include "text/merge_table.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>

namespace ordo {

// Sorted arrays instead of a hash: a file could choose ids that collide.
MergeTable::MergeTable(std::vector<Merge> merges, std::size_t n_tokens)
    : merges_(std::move(merges)), entries_(merges_.size()), first_of_(n_tokens + 1) {
    for (const Merge& merge : merges_) ++first_of_[static_cast<std::size_t>(merge.left) + 1];
    std::partial_sum(first_of_.begin(), first_of_.end(), first_of_.begin());
    std::vector<std::uint32_t> next(first_of_.begin(), first_of_.end() - 1);
    for (std::uint32_t rank = 0; rank < merges_.size(); ++rank)
        entries_[next[merges_[rank].left]++] = {merges_[rank].right, rank};
    for (std::size_t left = 0; left < n_tokens; ++left)
        std::sort(entries_.begin() + first_of_[left], entries_.begin() + first_of_[left + 1],
                  [](Entry a, Entry b) { return std::tie(a.right, a.rank) < std::tie(b.right, b.rank); });
}

std::uint32_t MergeTable::rank(Token left, Token right) const {
    const auto begin = entries_.begin() + first_of_[left];
    const auto end = entries_.begin() + first_of_[static_cast<std::size_t>(left) + 1];
    const auto at = std::lower_bound(begin, end, right, [](const Entry& e, Token key) { return e.right < key; });
    return at != end && at->right == right ? at->rank : none;
}

void MergeTable::apply(std::vector<Token>& ids, std::size_t begin, Scratch& scratch) const {
    auto& symbols = scratch.symbols;
    auto& heap = scratch.heap;
    symbols.clear();
    heap.clear();
    const auto n = static_cast<std::uint32_t>(ids.size() - begin);
    for (std::uint32_t i = 0; i < n; ++i)
        symbols.push_back({ids[begin + i], i == 0 ? none : i - 1, i + 1 == n ? none : i + 1, none});

    const auto look_up = [&](std::uint32_t i) { // the pair of symbol i and its successor
        auto& symbol = symbols[i];
        symbol.rank = symbol.next == none ? none : rank(symbol.id, symbols[symbol.next].id);
        if (symbol.rank == none) return;
        heap.push_back(static_cast<std::uint64_t>(symbol.rank) << 32 | i);
        std::push_heap(heap.begin(), heap.end(), std::greater<>());
    };
    for (std::uint32_t i = 0; i < n; ++i) look_up(i);

    while (!heap.empty()) {
        const std::uint64_t top = heap.front();
        std::pop_heap(heap.begin(), heap.end(), std::greater<>());
        heap.pop_back();
        const auto i = static_cast<std::uint32_t>(top);
        auto& symbol = symbols[i];
        if (symbol.rank != top >> 32) continue; // one of the two has been merged already
        auto& gone = symbols[symbol.next];
        symbol.id = merges_[symbol.rank].product;
        symbol.next = gone.next;
        gone.rank = none;
        if (symbol.next != none) symbols[symbol.next].prev = i;
        look_up(i);
        if (symbol.prev != none) look_up(symbol.prev);
    }
    ids.resize(begin);
    for (std::uint32_t i = 0; i != none && i < n; i = symbols[i].next) ids.push_back(symbols[i].id);
}

} // namespace ordo
