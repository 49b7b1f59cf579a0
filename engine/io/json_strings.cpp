// SPDX-License-Identifier: MIT
#include "io/json_strings.h"

namespace ordo {
namespace {

// What a byte after a backslash stands for; 0: nothing, or what the parser has to look at.
char meant_by(char escaped) {
    switch (escaped) {
    case '"':
    case '\\':
    case '/':
        return escaped;
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return 0;
    }
}

struct Extent {
    std::size_t end; // of the closing quote; npos: there is none
    bool simple;
};

// Of a string whose first byte after its quote is text[at].
Extent extent_of(std::string_view text, std::size_t at) {
    bool simple = true;
    for (; at < text.size() && text[at] != '"'; ++at) {
        if (static_cast<unsigned char>(text[at]) < 0x20) simple = false;
        if (text[at] != '\\') continue;
        if (++at == text.size()) break;
        if (meant_by(text[at]) == 0) simple = false;
    }
    return {at < text.size() ? at : std::string_view::npos, simple};
}

// A byte at a time: where a tokenizer lies in a string, every tenth is a backslash.
std::string unescaped(std::string_view text) {
    std::string out(text.size(), 0);
    char* to = out.data();
    for (std::size_t at = 0; at < text.size(); ++at) *to++ = text[at] == '\\' ? meant_by(text[++at]) : text[at];
    out.resize(static_cast<std::size_t>(to - out.data()));
    return out;
}

} // namespace

LongStrings::LongStrings(std::string_view text) : text_(text) {
    std::size_t copied = 0, number = 0;
    for (std::size_t quote = text.find('"'); quote != std::string_view::npos; ++number) {
        const auto [end, simple] = extent_of(text, quote + 1);
        if (end == std::string_view::npos) break;
        if (simple && end - quote - 1 >= least) {
            rest_.append(text, copied, quote + 1 - copied);
            lifted_.push_back({number, quote + 1, end - quote - 1});
            copied = end;
        }
        quote = text.find('"', end + 1);
    }
    if (!lifted_.empty()) rest_.append(text, copied);
}

std::optional<std::string> LongStrings::next() {
    const std::size_t number = seen_++;
    if (given_ == lifted_.size() || lifted_[given_].number != number) return {};
    const Lifted& lifted = lifted_[given_++];
    return unescaped(text_.substr(lifted.first, lifted.length));
}

std::size_t LongStrings::original(std::size_t byte) const {
    for (const Lifted& lifted : lifted_) {
        if (byte <= lifted.first) break;
        byte += lifted.length;
    }
    return byte;
}

} // namespace ordo
