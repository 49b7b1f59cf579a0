// SPDX-License-Identifier: MIT
// Instead of engine/text/regex.cpp: the browser's regular expressions. Their \s, possessive quantifiers and options
// differ from PCRE2's. Only patterns that tests/web compares with PCRE2 are accepted, and texts without operators.
#include "text/regex.h"

#include "core/error.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <emscripten.h>

// clang-format off
// The matches of a pattern in memory of malloc(): their number, then the first byte and the end of each.
EM_JS(int*, ordo_regex_matches, (const char* pattern, int pattern_bytes, const char* text, int bytes), {
    const decode = (at, size) => new TextDecoder("utf-8", {ignoreBOM: true}).decode(HEAPU8.subarray(at, at + size));
    const found = [...decode(text, bytes).matchAll(new RegExp(decode(pattern, pattern_bytes), "gmu"))];
    const whole = found.length ? found[0].input : "", out = _malloc(4 + 8 * found.length);
    let unit = 0, byte = 0, to = out >> 2;
    const byte_of = end => { // of a place that counts UTF-16's units
        for (; unit < end; ++unit) {
            const code = whole.charCodeAt(unit);
            byte += code < 0x80 ? 1 : code < 0x800 || (code & 0xf800) === 0xd800 ? 2 : 3;
        }
        return byte;
    };
    HEAP32[to++] = found.length;
    for (const match of found) {
        HEAP32[to++] = byte_of(match.index);
        HEAP32[to++] = byte_of(match.index + match[0].length);
    }
    return out;
})
// clang-format on

namespace ordo {
namespace {

// GPT-2's, of pre_tokenizer.cpp.
constexpr std::string_view proven[] = {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+)"
                                       R"(|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+)"};

// Of quoted_pattern(): letters, digits, spaces, bytes beyond ASCII, and escaped signs.
bool is_quoted(std::string_view pattern) {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const auto c = static_cast<unsigned char>(pattern[i]);
        if (c == '\\' && i + 1 < pattern.size() && std::isalnum(static_cast<unsigned char>(pattern[i + 1])) == 0)
            ++i;
        else if (c < 0x80 && std::isalnum(c) == 0)
            return false;
    }
    return true;
}

// JavaScript allows to escape only the signs of its syntax.
std::string for_browser(std::string_view quoted) {
    std::string out;
    for (std::size_t i = 0; i < quoted.size(); ++i) {
        const bool escaped = quoted[i] == '\\';
        const char c = quoted[i + escaped];
        if (escaped && std::string_view("^$\\.*+?()[]{}|/").find(c) != std::string_view::npos) out += '\\';
        out += c;
        i += escaped;
    }
    return out;
}

} // namespace

void Regex::FreeCode::operator()(pcre2_real_code_8* code) const {
    delete reinterpret_cast<std::string*>(code);
}

Regex::Regex(std::string_view pattern, std::string_view where) : where_(where) {
    const bool known = std::find(std::begin(proven), std::end(proven), pattern) != std::end(proven);
    if (!known && !is_quoted(pattern))
        fail(ErrorCode::model, where_, ": pattern '", printable(pattern),
             "': not among the patterns that the browser's engine is known to match alike; use the program ordo");
    code_.reset(reinterpret_cast<pcre2_real_code_8*>(new std::string(known ? pattern : for_browser(pattern))));
}

void Regex::each(std::string_view text, Allowance& allowance,
                 const std::function<void(std::size_t, std::size_t)>& found) const {
    allowance.check_time(where_);
    const auto& pattern = *reinterpret_cast<const std::string*>(code_.get());
    const std::unique_ptr<int, void (*)(void*)> matches(ordo_regex_matches(pattern.data(),
                                                                           static_cast<int>(pattern.size()),
                                                                           text.data(), static_cast<int>(text.size())),
                                                        std::free);
    if (!matches) throw std::bad_alloc();
    const int* at = matches.get();
    for (int left = *at++; left > 0; --left, at += 2)
        found(static_cast<std::size_t>(at[0]), static_cast<std::size_t>(at[1]));
}

} // namespace ordo
