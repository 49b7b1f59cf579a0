// SPDX-License-Identifier: MIT
// The work that the components of a tokenizer may do for one text. A file chooses its components. Each may multiply its
// input, and a pattern may take exponential time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ordo {

// One allowance for each text and for all its components. It belongs to one thread. Each member throws Error(limit).
class Allowance {
public:
    // what: the name of the text in errors. bytes: its size.
    Allowance(std::string_view what, std::size_t bytes);

    // Checks that `from` bytes may become `to`, given all growth before. A component calls it before it allocates.
    void check_growth(std::size_t from, std::size_t to) const {
        if (to > from && to - from > growth_) refuse_growth(to - from);
    }
    // Records that `from` bytes have become `to`.
    void grow(std::size_t from, std::size_t to) {
        check_growth(from, to);
        if (to > from) growth_ -= to - from;
    }
    // Charges a search of a pattern, named `where`, for n steps of a backtracking match.
    void step(std::uint64_t n, std::string_view where);
    // Checks, between pieces of work, the processor time of the thread since the allowance was made.
    void check_time(std::string_view where) {
        if (++asked_ % 4 == 0 && is_late()) refuse_time(where);
    }
    bool is_late();
    [[noreturn]] void refuse_time(std::string_view where) const;

private:
    [[noreturn]] void refuse_growth(std::size_t by) const;

    std::string_view what_;
    std::size_t bytes_, growth_; // of the text; and the growth that is left
    std::uint64_t steps_;        // that are left
    double begin_;               // processor time of the thread, in seconds
    std::chrono::steady_clock::time_point next_look_;
    unsigned asked_ = 0;
};

} // namespace ordo
