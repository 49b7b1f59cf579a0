// SPDX-License-Identifier: MIT
#include "text/decoder.h"

#include "core/error.h"
#include "text/byte_alphabet.h"
#include "text/normalizer.h"
#include "text/splitter.h"
#include "text/unicode.h"
#include "text/vocabulary.h"

#include <algorithm>
#include <limits>

namespace ordo {
namespace {

// Removes BERT's spaces before punctuation and contractions.
void clean_up(std::string& token, const Allowance& allowance) {
    static constexpr std::string_view pairs[][2] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (const auto& pair : pairs) replace_all(token, pair[0], pair[1], allowance);
}

Decoder make_word_piece_decoder(const JsonValue& c, const std::string& where) {
    const bool cleans = get_bool(c, "cleanup", where);
    return [cleans, prefix = get_string(c, "prefix", where)](std::string& token, bool first, Allowance& allowance) {
        if (!first && token.starts_with(prefix)) {
            token.erase(0, prefix.size());
        } else if (!first) {
            token.insert(0, " ");
        }
        if (cleans) clean_up(token, allowance);
    };
}

Decoder make_metaspace_decoder(const JsonValue& c, const std::string& where) {
    const MetaspaceOptions options = metaspace_options(c, where);
    const bool drops = options.scheme != MetaspaceOptions::Scheme::never;
    return [drops, mark = options.mark](std::string& token, bool first, Allowance& allowance) {
        replace_all(token, mark, first && drops ? "" : " ", allowance);
    };
}

// If the tokens are one text, only the start of that text can be stripped.
Decoder make_strip(const JsonValue& c, const std::string& where, bool fused) {
    const std::string content = get_string(c, "content", where);
    constexpr auto most = std::numeric_limits<std::int32_t>::max();
    const auto start = get_int(c, "start", where, 0, most), stop = get_int(c, "stop", where, 0, most);
    if (content.empty()) fail(ErrorCode::model, where, ": content: expected a character, found none");
    if (fused && stop > 0) fail(ErrorCode::model, where, ": stop: expected 0 after Fuse, found ", stop);
    return [=](std::string& token, bool first, Allowance&) {
        std::string_view kept = token;
        for (auto n = fused && !first ? 0 : start; n > 0 && kept.starts_with(content); --n)
            kept.remove_prefix(content.size());
        for (auto n = stop; n > 0 && kept.ends_with(content); --n) kept.remove_suffix(content.size());
        if (kept.size() != token.size()) token = std::string(kept);
    };
}

Decoder make_replacing(const JsonValue& c, const std::string& where, bool fused) {
    const JsonValue& pattern = get_object(c, "pattern", where);
    const JsonValue* text = find_member(pattern, "String");
    if (fused && (text == nullptr || !text->string() || unicode::count_chars(*text->string()) != 1))
        fail(ErrorCode::model, where, ": pattern: expected one character after Fuse, found ", describe(pattern));
    return [replace = make_replace(c, where)](std::string& token, bool, Allowance& allowance) {
        replace(token, allowance);
    };
}

void decode_byte_level(std::string& token, bool, Allowance&) {
    if (auto bytes = unspell_bytes(token)) token = std::move(*bytes);
}

void decode_byte(std::string& token, bool, Allowance&) {
    if (const int byte = byte_of_spelling(token); byte >= 0) token.assign(1, static_cast<char>(byte));
}

// fused: whether the incoming tokens are parts of one text; set to the same for the outgoing tokens.
Decoder make_component(const JsonValue& c, const std::string& where, bool& fused) {
    const std::string& type = type_of(c, where);
    if (type == "Strip") return make_strip(c, where, fused);
    if (type == "Replace") return make_replacing(c, where, fused);
    if (fused && type != "Fuse")
        fail(ErrorCode::model, where, ": \"", printable(type), "\" after Fuse is not supported");
    if (type == "WordPiece") return make_word_piece_decoder(c, where);
    if (type == "Metaspace") return make_metaspace_decoder(c, where);
    if (type == "ByteFallback") return decode_byte;
    if (type == "ByteLevel") {
        fused = true;
        return decode_byte_level;
    }
    if (type != "Fuse")
        fail(ErrorCode::model, where, ": \"", printable(type),
             "\" is not supported; ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Sequence, Strip and WordPiece "
             "are");
    fused = true;
    return [](std::string&, bool, Allowance&) {};
}

} // namespace

Decoder make_decoder(const JsonValue& component, const std::string& where) {
    if (component.is_null())
        return [](std::string& token, bool first, Allowance& allowance) {
            if (first) return;
            token.insert(0, " ");
            allowance.grow(0, 1);
        };
    bool fused = false;
    std::vector<Decoder> parts;
    for (const Component& c : components_of(component, "decoders", where))
        parts.push_back(make_component(c.value, c.where, fused));
    return [parts = std::move(parts), where](std::string& token, bool first, Allowance& allowance) {
        for (const Decoder& part : parts) {
            const std::size_t before = token.size();
            part(token, first, allowance);
            allowance.grow(before, token.size());
        }
        allowance.check_time(where);
    };
}

bool decodes_bytes(const JsonValue& component, const std::string& where) {
    const std::vector<Component> parts = components_of(component, "decoders", where);
    return std::any_of(parts.begin(), parts.end(),
                       [](const Component& c) { return type_of(c.value, c.where) == "ByteLevel"; });
}

} // namespace ordo
