// SPDX-License-Identifier: MIT
#include "text/normalizer.h"

#include "core/error.h"
#include "core/utf8.h"
#include "text/byte_alphabet.h"
#include "text/regex.h"
#include "text/unicode.h"

#include <algorithm>
#include <memory>
#include <optional>

namespace ordo {
namespace {

using unicode::Form;

// Rewrites the text a character at a time; write(point, bytes, out) appends the replacement of a character.
template <class Write>
void map_chars(std::string& text, const Allowance& allowance, const Write& write) {
    std::string out;
    out.reserve(text.size());
    for (std::string_view rest = text; !rest.empty();) {
        const unicode::Char next = unicode::first_char(rest);
        write(next.point, rest.substr(0, next.length), out);
        allowance.check_growth(text.size(), out.size());
        rest.remove_prefix(next.length);
    }
    text = std::move(out);
}

template <class Drop>
void drop_chars(std::string& text, const Allowance& allowance, const Drop& drop) {
    map_chars(text, allowance, [&](char32_t point, std::string_view bytes, std::string& out) {
        if (!drop(point)) out += bytes;
    });
}

void lower(std::string& text, const Allowance& allowance) {
    map_chars(text, allowance, [](char32_t point, std::string_view bytes, std::string& out) {
        if (point == unicode::replacement) {
            out += bytes;
        } else {
            unicode::append_lower(point, out);
        }
    });
}

// ---- BERT -----------------------------------------------------------------------------------

bool is_chinese(char32_t point) {
    static constexpr char32_t blocks[][2] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                             {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf},
                                             {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
    for (const auto& block : blocks)
        if (point >= block[0] && point <= block[1]) return true;
    return false;
}

void clean(std::string& text, const Allowance& allowance) {
    map_chars(text, allowance, [](char32_t point, std::string_view bytes, std::string& out) {
        const bool kept_control = point == '\t' || point == '\n' || point == '\r';
        if (!kept_control && (point == unicode::replacement || unicode::is_other(point))) return;
        out += unicode::is_white_space(point) ? " " : bytes;
    });
}

void space_chinese(std::string& text, const Allowance& allowance) {
    map_chars(text, allowance, [](char32_t point, std::string_view bytes, std::string& out) {
        const std::string_view space = is_chinese(point) ? " " : "";
        out.append(space).append(bytes).append(space);
    });
}

void strip_accents(std::string& text, const Allowance& allowance) {
    text = unicode::normalize(text, Form::nfd, &allowance);
    drop_chars(text, allowance, unicode::is_nonspacing_mark);
}

Normalizer make_bert(const JsonValue& c, const std::string& where) {
    const bool cleans = get_bool(c, "clean_text", where), spaces = get_bool(c, "handle_chinese_chars", where),
               lowers = get_bool(c, "lowercase", where);
    const bool strips = is_null(c, "strip_accents") ? lowers : get_bool(c, "strip_accents", where);
    return [=](std::string& text, Allowance& allowance) {
        if (cleans) clean(text, allowance);
        if (spaces) space_chinese(text, allowance);
        if (strips) strip_accents(text, allowance);
        if (lowers) lower(text, allowance);
    };
}

// ---- SentencePiece's older normalizer ----------------------------------------------------------

void nmt(std::string& text, const Allowance& allowance) {
    map_chars(text, allowance, [](char32_t c, std::string_view bytes, std::string& out) {
        const bool dropped =
            (c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f;
        const bool space = c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 || (c >= 0x200b && c <= 0x200f) ||
                           c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xfeff || c == unicode::replacement;
        if (space) {
            out += ' ';
        } else if (!dropped) {
            out += bytes;
        }
    });
}

// ---- Other normalizers -------------------------------------------------------------------------

Normalizer make_strip(const JsonValue& c, const std::string& where) {
    const bool left = get_bool(c, "strip_left", where), right = get_bool(c, "strip_right", where);
    return [=](std::string& text, Allowance&) {
        std::string_view kept = text;
        while (left && !kept.empty() && unicode::is_white_space(unicode::first_char(kept).point))
            kept.remove_prefix(unicode::first_char(kept).length);
        while (right && !kept.empty() && unicode::is_white_space(unicode::last_char(kept).point))
            kept.remove_suffix(unicode::last_char(kept).length);
        text = std::string(kept);
    };
}

Normalizer make_prepend(const JsonValue& c, const std::string& where) {
    return [prefix = get_string(c, "prepend", where)](std::string& text, Allowance& allowance) {
        if (text.empty()) return;
        allowance.check_growth(text.size(), text.size() + prefix.size());
        text.insert(0, prefix);
    };
}

Normalizer make_form(Form form) {
    return [form](std::string& text, Allowance& allowance) { text = unicode::normalize(text, form, &allowance); };
}

constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

Normalizer make_plain(const std::string& type) {
    if (type == "NFC") return make_form(Form::nfc);
    if (type == "NFD") return make_form(Form::nfd);
    if (type == "NFKC") return make_form(Form::nfkc);
    if (type == "NFKD") return make_form(Form::nfkd);
    if (type == "Lowercase") return lower;
    if (type == "StripAccents")
        return [](std::string& text, Allowance& allowance) { drop_chars(text, allowance, unicode::is_mark); };
    if (type == "Nmt") return nmt;
    if (type == "ByteLevel")
        return [](std::string& text, Allowance& allowance) {
            allowance.check_growth(text.size(), 2 * text.size());
            text = spell_bytes(text);
        };
    return {};
}

} // namespace

void replace_all(std::string& text, std::string_view from, std::string_view to, const Allowance& allowance) {
    std::string out;
    std::size_t done = 0;
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, done)) {
        allowance.check_growth(text.size(), out.size() + (at - done) + to.size());
        out.append(text, done, at - done).append(to);
        done = at + from.size();
    }
    if (done > 0) text = out.append(text, done);
}

Normalizer make_replace(const JsonValue& c, const std::string& where) {
    const std::string pattern = pattern_of(c, where);
    const JsonValue& member = *find_member(c, "pattern");
    // A search by bytes finds characters, since their first byte is no other's later byte. It takes up to the product
    // of both sizes; Regex limits the time for longer texts.
    constexpr std::size_t most = 64; // bytes
    if (const JsonValue* const text = find_member(member, "Regex") == nullptr ? find_member(member, "String") : nullptr;
        text != nullptr && !text->string()->empty() && text->string()->size() <= most)
        return [from = *text->string(), to = get_string(c, "content", where)](
                   std::string& changed, Allowance& allowance) { replace_all(changed, from, to, allowance); };
    const auto regex = std::make_shared<Regex>(pattern, where);
    return [regex, content = get_string(c, "content", where)](std::string& text, Allowance& allowance) {
        std::string out;
        // Valid UTF-8 is separated from other bytes.
        for (std::string_view rest = text; !rest.empty();) {
            std::size_t valid = 0, done = 0;
            while (const std::size_t length = utf8_length(rest.substr(valid))) valid += length;
            const std::string_view part = rest.substr(0, valid);
            if (valid > 0)
                regex->each(part, allowance, [&](std::size_t begin, std::size_t end) {
                    allowance.check_growth(text.size(), out.size() + (begin - done) + content.size());
                    out.append(part.substr(done, begin - done)).append(content);
                    done = end;
                });
            const std::size_t step = std::min(valid + 1, rest.size());
            out += rest.substr(done, step - done);
            rest.remove_prefix(step);
        }
        text = std::move(out);
    };
}

namespace {

Normalizer make_component(const JsonValue& c, const std::string& where) {
    const std::string& type = type_of(c, where);
    if (type == "BertNormalizer") return make_bert(c, where);
    if (type == "Strip") return make_strip(c, where);
    if (type == "Prepend") return make_prepend(c, where);
    if (type == "Replace") return make_replace(c, where);
    if (type == "Precompiled") {
        if (is_null(c, "precompiled_charsmap")) return {};
        const std::string name = where + ": precompiled_charsmap";
        // An extension of Ordo, for maps from SentencePiece's own files and GGUF; Hugging Face's library ignores it.
        const bool longest = !is_null(c, "match") && get_string(c, "match", where) == "longest";
        return make_precompiled(from_base64(get_string(c, "precompiled_charsmap", where), name), name,
                                longest ? MapMatch::longest : MapMatch::shortest);
    }
    Normalizer plain = make_plain(type);
    if (!plain)
        fail(ErrorCode::model, where, ": \"", printable(type),
             "\" is not supported; BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, "
             "Precompiled, Prepend, Replace, Sequence, Strip and StripAccents are");
    return plain;
}

} // namespace

Normalizer make_normalizer(const JsonValue& component, const std::string& where) {
    std::vector<Normalizer> parts;
    for (const Component& c : components_of(component, "normalizers", where))
        if (Normalizer part = make_component(c.value, c.where)) parts.push_back(std::move(part));
    if (parts.empty()) return {};
    return [parts = std::move(parts), where](std::string& text, Allowance& allowance) {
        for (const Normalizer& part : parts) {
            const std::size_t before = text.size();
            part(text, allowance);
            allowance.grow(before, text.size());
            allowance.check_time(where);
        }
    };
}

std::string from_base64(std::string_view text, const std::string& where) {
    std::string bytes;
    std::uint32_t held = 0;
    int bits = 0;
    while (text.ends_with('=')) text.remove_suffix(1);
    for (const char c : text) {
        const std::size_t digit = base64_digits.find(c);
        if (digit == std::string_view::npos)
            fail(ErrorCode::model, where, ": expected base 64, found other characters");
        held = held << 6 | static_cast<std::uint32_t>(digit);
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        bytes += static_cast<char>(held >> bits & 0xff);
    }
    return bytes;
}

std::string to_base64(std::string_view bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        for (std::size_t j = 0; j < 3; ++j)
            group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
        for (std::size_t j = 0; j < 4; ++j)
            text += i + j <= bytes.size() ? base64_digits[group >> (18 - 6 * j) & 63] : '=';
    }
    return text;
}

// ---- Shared by the components -----------------------------------------------------------------

const std::string& type_of(const JsonValue& component, const std::string& where) {
    return get_string(component, "type", where);
}

namespace {

void add_components(const JsonValue& c, std::string_view key, const std::string& where, std::vector<Component>& out) {
    if (c.is_null()) return;
    if (type_of(c, where) == "Sequence") {
        const JsonValue::Array& parts = get_array(c, key, where);
        for (std::size_t i = 0; i < parts.size(); ++i)
            add_components(parts[i], key, where + "." + std::string(key) + "[" + std::to_string(i) + "]", out);
        return;
    }
    if (out.size() == max_components)
        fail(ErrorCode::model, where, ": expected at most ", max_components, " components, found more");
    out.push_back({c, where});
}

} // namespace

// Arrays nest at most to JSON's limit.
std::vector<Component> components_of(const JsonValue& component, std::string_view key, const std::string& where) {
    std::vector<Component> components;
    add_components(component, key, where, components);
    return components;
}

bool is_null(const JsonValue& object, std::string_view key) {
    const JsonValue* value = find_member(object, key);
    return value == nullptr || value->is_null();
}

bool get_bool_or(const JsonValue& object, std::string_view key, const std::string& where, bool otherwise) {
    return is_null(object, key) ? otherwise : get_bool(object, key, where);
}

std::string pattern_of(const JsonValue& component, const std::string& where) {
    const JsonValue& pattern = get_object(component, "pattern", where);
    const std::string name = where + ": pattern";
    check_keys(pattern, name, {"String", "Regex"});
    if (find_member(pattern, "Regex") != nullptr)
        return pattern_from_oniguruma(get_string(pattern, "Regex", name), name);
    return quoted_pattern(get_string(pattern, "String", name));
}

} // namespace ordo
