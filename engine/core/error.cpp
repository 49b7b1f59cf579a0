// SPDX-License-Identifier: MIT
#include "core/error.h"

#include "core/utf8.h"

namespace ordo {

std::string printable(std::string_view text, std::size_t limit) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string out;
    while (!text.empty()) {
        if (out.size() >= limit) return out + "...";
        const std::size_t length = utf8_length(text);
        const auto byte = static_cast<unsigned char>(text.front());
        const bool c1_control = length == 2 && byte == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
        if (length == 0 || byte < 0x20 || byte == 0x7f || c1_control) {
            const std::size_t escaped = c1_control ? 2 : 1;
            for (std::size_t i = 0; i < escaped; ++i) {
                const auto b = static_cast<unsigned char>(text[i]);
                out += {'\\', 'x', digits[b >> 4], digits[b & 15]};
            }
            text.remove_prefix(escaped);
        } else {
            out += text.substr(0, length);
            text.remove_prefix(length);
        }
    }
    return out;
}

} // namespace ordo
