// SPDX-License-Identifier: MIT
// The work that the components of a tokenizer may do for one text. A file chooses its components: each may
// multiply the text that the one before it wrote, and a pattern may take exponential time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ordo {

// One for each text, and for all its components together: it belongs to one thread. Each member throws Error(limit).
class Allowance {
public:
    // what: names the text in errors. bytes: its size.
    Allowance(std::string_view what, std::size_t bytes);

    // Whether `from` bytes may become `to`, besides all that has grown before. A component asks before it allocates.
    void check_growth(std::size_t from, std::size_t to) const {
        if (to > from && to - from > growth_) refuse_growth(to - from);
    }
    // They have become so many.
    void grow(std::size_t from, std::size_t to) {
        check_growth(from, to);
        if (to > from) growth_ -= to - from;
    }
    // A search of a pattern, named by where, that takes so many steps of a backtracking match.
    void step(std::uint64_t n, std::string_view where);
    // Between pieces of work: the processor time of the thread since the allowance was made.
    void check_time(std::string_view where);

private:
    [[noreturn]] void refuse_growth(std::size_t by) const;

    std::string_view what_;
    std::size_t bytes_, growth_; // of the text; by which it may yet grow
    std::uint64_t steps_;        // that are left
    double begin_;               // processor time of the thread, in seconds
    std::chrono::steady_clock::time_point next_look_;
    unsigned asked_ = 0;
};

} // namespace ordo
