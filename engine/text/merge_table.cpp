// SPDX-License-Identifier: MIT
#include "text/merge_table.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <span>
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

namespace {

// Symbols in the places of their first ids. A symbol's other places are negative; the second and the last of all its
// places hold its negative length.
struct Places {
    std::span<Token> at;

    std::size_t next(std::size_t i) const { return i + 1 < at.size() && at[i + 1] < 0 ? i - at[i + 1] : i + 1; }
    std::size_t before(std::size_t i) const { return at[i - 1] < 0 ? i + at[i - 1] : i - 1; }
    // Merges a symbol with the next one. Returns the place after both.
    std::size_t merge(std::size_t i, Token product) {
        const std::size_t right = next(i), end = next(right);
        at[i] = product;
        at[right] = -1;
        at[i + 1] = at[end - 1] = -static_cast<Token>(end - i);
        return end;
    }
};

} // namespace

// In each round, the pairs of the lowest ranks are collected and merged, up to `most` pairs. If one rank has more, its
// pairs are found from left to right instead.
void MergeTable::apply_in_place(std::vector<Token>& ids, std::size_t begin, std::size_t most) const {
    Places places{std::span(ids).subspan(begin)};
    const std::size_t n = places.at.size();
    const auto rank_at = [&](std::size_t i) { // of the pair of a symbol and its successor
        const std::size_t next = places.next(i);
        return next == n ? none : rank(places.at[i], places.at[next]);
    };
    std::vector<std::uint32_t> counts(merges_.size());
    for (std::size_t first = 0;; ++first) { // the ranks below it are merged
        std::fill(counts.begin(), counts.end(), 0);
        for (std::size_t i = 0; i < n; i = places.next(i))
            if (const std::uint32_t r = rank_at(i); r != none) ++counts[r];
        while (first < counts.size() && counts[first] == 0) ++first;
        if (first == counts.size()) break;
        std::size_t count = counts[first], last = first; // the ranks of this round
        while (last + 1 < counts.size() && count + counts[last + 1] <= most) count += counts[++last];

        std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> pairs; // as Scratch::heap
        const auto collect = [&](std::size_t i) {
            if (const std::uint64_t r = rank_at(i); r <= last) pairs.push(r << 32 | i);
        };
        std::size_t place = n; // where the next pair of a rank that has many is looked for
        if (count > most)
            place = 0;
        else
            for (std::size_t i = 0; i < n; i = places.next(i)) collect(i);
        while (place < n || !pairs.empty()) {
            std::uint64_t pair = std::uint64_t{first} << 32 | place;
            if (place == n || (!pairs.empty() && pairs.top() < pair)) {
                pair = pairs.top();
                pairs.pop();
            } else {
                place = places.next(place);
            }
            const std::size_t i = static_cast<std::uint32_t>(pair);
            if (places.at[i] < 0 || rank_at(i) != pair >> 32) continue; // one of the two has been merged already
            const std::size_t end = places.merge(i, merges_[pair >> 32].product);
            if (place > i && place < end) place = end;
            collect(i);
            if (i > 0) collect(places.before(i));
        }
        first = last;
    }
    std::size_t to = begin;
    for (std::size_t i = 0; i < n; i = places.next(i)) ids[to++] = places.at[i];
    ids.resize(to);
}

void MergeTable::apply(std::vector<Token>& ids, std::size_t begin, Scratch& scratch) const {
    constexpr std::size_t many = std::size_t{1} << 17; // ids, for which the scratch memory takes 3 MiB
    if (ids.size() - begin > many) return apply_in_place(ids, begin);
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
