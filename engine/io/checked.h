// SPDX-License-Identifier: MIT
// Sizes that come from a file.
#pragma once

#include "core/error.h"

namespace ordo {

// An unsigned 64-bit number whose arithmetic cannot wrap unnoticed. A result that does not fit makes the number
// invalid, and any result from an invalid number is invalid. Plain integers do not convert to it, so that every use of
// a number from outside is visible.
class Checked {
public:
    constexpr explicit Checked(std::uint64_t value) : value_(value) {}

    friend constexpr Checked operator+(Checked a, Checked b) {
        Checked result(0);
        result.valid_ = !__builtin_add_overflow(a.value_, b.value_, &result.value_) && a.valid_ && b.valid_;
        return result;
    }
    friend constexpr Checked operator-(Checked a, Checked b) {
        Checked result(0);
        result.valid_ = !__builtin_sub_overflow(a.value_, b.value_, &result.value_) && a.valid_ && b.valid_;
        return result;
    }
    friend constexpr Checked operator*(Checked a, Checked b) {
        Checked result(0);
        result.valid_ = !__builtin_mul_overflow(a.value_, b.value_, &result.value_) && a.valid_ && b.valid_;
        return result;
    }
    // An invalid number equals nothing, and every comparison with it is false.
    friend constexpr bool operator==(Checked a, Checked b) { return a.valid_ && b.valid_ && a.value_ == b.value_; }
    friend constexpr bool operator<=(Checked a, Checked b) { return a.valid_ && b.valid_ && a.value_ <= b.value_; }

    constexpr bool valid() const { return valid_; }
    // Callers have checked valid() or compared before; the throw is a second defence.
    constexpr std::uint64_t value() const {
        if (!valid_) fail(ErrorCode::model, "a size exceeds 64 bits");
        return value_;
    }

private:
    std::uint64_t value_;
    bool valid_ = true;
};

} // namespace ordo
