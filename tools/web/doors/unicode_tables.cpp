// SPDX-License-Identifier: MIT
// Instead of engine/text/unicode_tables.cpp: the browser's tables of Unicode, which may be of a later version.
#include "text/unicode_tables.h"

#include "core/utf8.h"

#include <algorithm>
#include <cstdlib>
#include <emscripten.h>

// clang-format off
EM_JS(int, ordo_unicode_category, (unsigned point), {
    const names = ["Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf",
                   "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"];
    Module.categories = Module.categories || names.map(name => new RegExp("^\\\\p{" + name + "}$", "u"));
    const text = String.fromCodePoint(Math.min(point, 0x10ffff));
    return 1 + Module.categories.findIndex(category => category.test(text));
})

EM_JS(unsigned, ordo_unicode_lower, (unsigned point), {
    const text = String.fromCodePoint(point).toLowerCase(), lower = text.codePointAt(0);
    return text.length === String.fromCodePoint(lower).length ? lower : point;
})

// The normal form of a text in memory of malloc(); its bytes go to *size.
EM_JS(char*, ordo_unicode_normalize, (const char* text, int bytes, const char* form, int* size), {
    const read = new TextDecoder("utf-8", {ignoreBOM: true}).decode(HEAPU8.subarray(text, text + bytes));
    const out = new TextEncoder().encode(read.normalize(UTF8ToString(form))), at = _malloc(out.length + 1);
    HEAPU8.set(out, at);
    HEAP32[size >> 2] = out.length;
    return at;
})

EM_JS(int, ordo_unicode_cluster, (const char* text, int bytes), {
    const read = new TextDecoder("utf-8", {ignoreBOM: true}).decode(HEAPU8.subarray(text, text + bytes));
    const [first] = new Intl.Segmenter("und").segment(read);
    return new TextEncoder().encode(first.segment).length;
})
// clang-format on

namespace ordo::unicode::tables {

Category category(char32_t point) {
    return static_cast<Category>(ordo_unicode_category(point));
}

char32_t lower(char32_t point) {
    return ordo_unicode_lower(point);
}

// Only for terminals.
int columns(char32_t) {
    return 1;
}

void append_normalized(std::string_view text, Form form, const Allowance* allowance, std::string& out) {
    static constexpr const char* names[] = {"NFC", "NFD", "NFKC", "NFKD"};
    constexpr std::size_t part = std::size_t{1} << 20; // bytes at most before the growth is checked
    const std::size_t bytes = text.size();
    while (!text.empty()) {
        // A part ends before an ASCII character, which nothing before it changes.
        std::size_t end = std::min(part, text.size());
        while (end < text.size() && static_cast<unsigned char>(text[end]) >= 0x80) ++end;
        int size = 0;
        char* const form_of_part =
            ordo_unicode_normalize(text.data(), static_cast<int>(end), names[static_cast<int>(form)], &size);
        if (form_of_part == nullptr) throw std::bad_alloc();
        try {
            if (allowance != nullptr) allowance->check_growth(bytes, out.size() + static_cast<std::size_t>(size));
            out.append(form_of_part, static_cast<std::size_t>(size));
        } catch (...) {
            std::free(form_of_part);
            throw;
        }
        std::free(form_of_part);
        text.remove_prefix(end);
    }
}

std::size_t grapheme_length(std::string_view text) {
    for (std::size_t most = 64;; most *= 4) {
        std::size_t valid = 0;
        while (valid < most) {
            const std::size_t length = utf8_length(text.substr(valid));
            if (length == 0) break;
            valid += length;
        }
        const auto cluster = static_cast<std::size_t>(ordo_unicode_cluster(text.data(), static_cast<int>(valid)));
        if (cluster < valid || valid < most) return cluster;
    }
}

} // namespace ordo::unicode::tables
