// SPDX-License-Identifier: MIT
#include "core/error.h"

#include "core/utf8.h"

namespace ordo {

std::string printable(std::string_view text, std::size_t limit) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string out;
    while (!text.empty()) {
        if (out.size() >= limit) return out + "...";
        const std::size_t escaped = utf8_unprintable(text);
        for (std::size_t i = 0; i < escaped; ++i) {
            const auto b = static_cast<unsigned char>(text[i]);
            out += {'\\', 'x', digits[b >> 4], digits[b & 15]};
        }
        const std::size_t length = escaped > 0 ? escaped : utf8_length(text);
        if (escaped == 0) out += text.substr(0, length);
        text.remove_prefix(length);
    }
    return out;
}

} // namespace ordo
