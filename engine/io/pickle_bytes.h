// SPDX-License-Identifier: MIT
// The bytes of a pickle, in their order.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace ordo::pickle {

class PickleBytes {
protected:
    PickleBytes(std::string_view pickle, std::string_view where) : rest_(pickle), size_(pickle.size()), where_(where) {}

    [[noreturn]] void wrong(const std::string& expected, const std::string& found) const {
        fail(ErrorCode::model, where_, ": expected ", expected, ", found ", found);
    }
    std::string_view take(std::uint64_t n) {
        if (n > rest_.size())
            wrong(std::to_string(n) + " bytes at " + std::to_string(size_ - rest_.size()),
                  std::to_string(rest_.size()));
        const std::string_view bytes = rest_.substr(0, n);
        rest_.remove_prefix(n);
        return bytes;
    }
    std::uint64_t number(std::size_t width) {
        std::uint64_t value = 0;
        const std::string_view bytes = take(width);
        std::memcpy(&value, bytes.data(), width);
        return value;
    }
    std::string_view line() {
        const std::size_t n = rest_.find('\n');
        if (n == rest_.npos) wrong("the end of a name", "none");
        const std::string_view text = take(n);
        take(1);
        return text;
    }

    std::string_view rest_;
    std::size_t size_;
    std::string_view where_;
};

} // namespace ordo::pickle
