// SPDX-License-Identifier: MIT
#include "text/pre_tokenizer.h"

#include "core/error.h"
#include "core/utf8.h"
#include "text/byte_alphabet.h"
#include "text/normalizer.h"
#include "text/regex.h"
#include "text/splitter.h"
#include "text/unicode.h"

#include <memory>
#include <span>

namespace ordo {
namespace {

// \s is spelled White_Space: PCRE2's \s also includes U+180E, which Unicode 6.3 and later do not count as a space. Each
// alternative is a run of one class, or steps back one character, so no match takes more than linear time.
constexpr char gpt2_pattern[] = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+)"
                                R"(|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+)";
// \w+|[^\w\s]+ in the syntax of Rust's regex crate, whose \w includes joiners.
constexpr char whitespace_pattern[] = R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+)"
                                      R"(|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\p{White_Space}]+)";

const Regex& gpt2_regex() {
    static const Regex regex(gpt2_pattern, "GPT-2's pattern");
    return regex;
}

// ---- Splitting a text into matches and the text between -------------------------------------------

void match_gpt2(std::string_view text, Allowance& allowance,
                const std::function<void(std::size_t, std::size_t)>& found) {
    gpt2_regex().each(text, allowance, found);
}

// Calls found(begin, end) for each match in a run of UTF-8.
using Matcher = std::function<void(std::string_view, Allowance&, const std::function<void(std::size_t, std::size_t)>&)>;

Matcher match_regex(std::string_view pattern, const std::string& where) {
    const auto regex = std::make_shared<Regex>(pattern, where);
    return [regex](std::string_view text, Allowance& allowance, const auto& found) {
        regex->each(text, allowance, found);
    };
}

template <class Is>
Matcher match_chars(Is is) {
    return [is](std::string_view text, Allowance&, const std::function<void(std::size_t, std::size_t)>& found) {
        for (std::size_t at = 0; at < text.size();) {
            const unicode::Char next = unicode::first_char(text.substr(at));
            if (is(next.point)) found(at, at + next.length);
            at += next.length;
        }
    };
}

// Splits one run of UTF-8.
void split_valid(const Matcher& match, Behaviour behaviour, bool invert, const Piece& piece, Allowance& allowance,
                 const PieceSink& sink) {
    Splitter splitter(behaviour, piece, sink);
    std::size_t done = 0;
    match(piece.text, allowance, [&](std::size_t begin, std::size_t end) {
        if (begin > done) splitter.segment(done, begin, invert);
        splitter.segment(begin, end, !invert);
        done = end;
    });
    if (done < piece.text.size()) splitter.segment(done, piece.text.size(), invert);
    splitter.finish();
}

void split(const Matcher& match, Behaviour behaviour, bool invert, const Piece& piece, Allowance& allowance,
           const PieceSink& sink) {
    const std::string_view text = piece.text;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (const std::size_t length = utf8_length(text.substr(end))) end += length;
        if (end > at) {
            split_valid(match, behaviour, invert, {text.substr(at, end - at), piece.first && at == 0}, allowance, sink);
        } else {
            while (end < text.size() && utf8_length(text.substr(end)) == 0) ++end;
            sink({text.substr(at, end - at), piece.first && at == 0});
        }
        at = end;
    }
}

PreTokenizer make_splitting(const Matcher& match, Behaviour behaviour, bool invert = false) {
    return [=](const Piece& piece, Allowance& allowance, const PieceSink& sink) {
        split(match, behaviour, invert, piece, allowance, sink);
    };
}

// ---- Components -------------------------------------------------------------------------------

// Each piece of one component goes through the next. The depth is at most max_components and two.
void run(std::span<const PreTokenizer> parts, const Piece& piece, Allowance& allowance, const PieceSink& sink) {
    if (parts.size() == 1) return parts[0](piece, allowance, sink);
    parts[0](piece, allowance, [&](const Piece& part) { run(parts.subspan(1), part, allowance, sink); });
}
PreTokenizer chain(std::vector<PreTokenizer> parts) {
    if (parts.size() < 2) return parts.empty() ? PreTokenizer() : std::move(parts[0]);
    return [parts = std::move(parts)](const Piece& piece, Allowance& allowance, const PieceSink& sink) {
        run(parts, piece, allowance, sink);
    };
}

PreTokenizer make_split(const JsonValue& c, const std::string& where) {
    return make_splitting(match_regex(pattern_of(c, where), where), behaviour_of(c, where),
                          get_bool(c, "invert", where));
}

PreTokenizer make_digits(const JsonValue& c, const std::string& where) {
    return make_splitting(match_chars(unicode::is_number),
                          get_bool(c, "individual_digits", where) ? Behaviour::isolated : Behaviour::contiguous);
}

PreTokenizer make_punctuation(const JsonValue& c, const std::string& where) {
    return make_splitting(match_chars(unicode::is_punctuation),
                          is_null(c, "behavior") ? Behaviour::isolated : behaviour_of(c, where));
}

PreTokenizer make_bert() {
    return chain({make_splitting(match_chars(unicode::is_white_space), Behaviour::removed),
                  make_splitting(match_chars(unicode::is_punctuation), Behaviour::isolated)});
}

PreTokenizer make_metaspace(const JsonValue& c, const std::string& where) {
    const MetaspaceOptions options = metaspace_options(c, where);
    const char32_t mark = unicode::first_char(options.mark).point;
    const Matcher marks = match_chars([mark](char32_t point) { return point == mark; });
    return [=](const Piece& piece, Allowance& allowance, const PieceSink& sink) {
        std::string text;
        for (const char byte : piece.text) {
            allowance.check_growth(piece.text.size(), text.size());
            if (byte == ' ') {
                text += options.mark;
            } else {
                text += byte;
            }
        }
        const bool prepends = options.scheme == MetaspaceOptions::Scheme::always ||
                              (options.scheme == MetaspaceOptions::Scheme::first && piece.first);
        if (prepends && !text.starts_with(options.mark)) text.insert(0, options.mark);
        allowance.grow(piece.text.size(), text.size());
        if (!options.split) return sink({text, piece.first});
        split(marks, Behaviour::merged_with_next, false, {text, piece.first}, allowance, sink);
    };
}

PreTokenizer make_byte_level(const JsonValue& c, const std::string& where) {
    const bool prefix = get_bool(c, "add_prefix_space", where), cuts = get_bool_or(c, "use_regex", where, true);
    return [=](const Piece& piece, Allowance& allowance, const PieceSink& sink) {
        const auto cut = [&](const Piece& part) {
            cuts ? split(match_gpt2, Behaviour::isolated, false, part, allowance, sink) : sink(part);
        };
        if (!prefix || piece.text.starts_with(' ')) return cut(piece);
        allowance.grow(piece.text.size(), piece.text.size() + 1);
        const std::string with_space = " " + std::string(piece.text);
        cut({with_space, piece.first});
    };
}

PreTokenizer make_spelling() {
    return [](const Piece& piece, Allowance& allowance, const PieceSink& sink) {
        allowance.check_growth(piece.text.size(), 2 * piece.text.size());
        const std::string spelled = spell_bytes(piece.text);
        allowance.grow(piece.text.size(), spelled.size());
        sink({spelled, piece.first});
    };
}

PreTokenizer make_component(const JsonValue& c, const std::string& where, bool& byte_level) {
    const std::string& type = type_of(c, where);
    if (type == "Split") return make_split(c, where);
    if (type == "Digits") return make_digits(c, where);
    if (type == "Punctuation") return make_punctuation(c, where);
    if (type == "Metaspace") return make_metaspace(c, where);
    if (type == "ByteLevel") {
        byte_level = true;
        return make_byte_level(c, where);
    }
    PreTokenizer plain;
    if (type == "BertPreTokenizer") plain = make_bert();
    if (type == "WhitespaceSplit") plain = make_splitting(match_chars(unicode::is_white_space), Behaviour::removed);
    if (type == "Whitespace") plain = make_splitting(match_regex(whitespace_pattern, where), Behaviour::removed, true);
    if (!plain)
        fail(ErrorCode::model, where, ": \"", printable(type),
             "\" is not supported; ByteLevel, BertPreTokenizer, Digits, Metaspace, Punctuation, Sequence, Split, "
             "Whitespace and WhitespaceSplit are");
    return plain;
}

} // namespace

PreTokenizer make_pre_tokenizer(const JsonValue& component, const std::string& where, bool* byte_level) {
    bool bytes = false;
    std::vector<PreTokenizer> parts;
    for (const Component& c : components_of(component, "pretokenizers", where)) {
        if (std::exchange(bytes, false)) parts.push_back(make_spelling());
        parts.push_back(make_component(c.value, c.where, bytes));
    }
    if (byte_level != nullptr) *byte_level = bytes;
    if (bytes && byte_level == nullptr) parts.push_back(make_spelling());
    return chain(std::move(parts));
}

void cut_gpt2(std::string_view text, const std::function<void(std::string_view)>& on_piece) {
    Allowance allowance("text to cut", text.size());
    split(match_gpt2, Behaviour::isolated, false, {text, true}, allowance,
          [&](const Piece& piece) { on_piece(piece.text); });
}

} // namespace ordo
