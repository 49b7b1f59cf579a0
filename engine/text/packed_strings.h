// SPDX-License-Identifier: MIT
// Many short strings, contiguous in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ordo {

// At most 4 GiB in all.
class PackedStrings {
public:
    void add(std::string_view text) {
        text_ += text;
        ends_.push_back(static_cast<std::uint32_t>(text_.size()));
    }
    std::size_t size() const { return ends_.size(); }
    std::string_view operator[](std::size_t i) const {
        const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
        return {text_.data() + begin, ends_[i] - begin};
    }

    bool operator==(const PackedStrings&) const = default;

private:
    std::string text_;
    std::vector<std::uint32_t> ends_;
};

} // namespace ordo
