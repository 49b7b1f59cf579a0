// SPDX-License-Identifier: MIT
#include "tools/train/data.h"

#include "core/error.h"
#include "core/random.h"
#include "io/file.h"
#include "tools/cli/inputs.h"
#include "tools/train/documents.h"
#include "tools/train/sha256.h"

#include <algorithm>
#include <numeric>

namespace ordo::train {

namespace {

// The text after `left` bytes, or before them. The document at the boundary is cut at a line or a word, or else at a
// character.
std::vector<std::string_view> cut_by_bytes(const std::vector<std::string_view>& all, std::size_t left, bool held_out) {
    std::vector<std::string_view> some;
    for (const std::string_view document : all) {
        std::size_t at = std::min(left, document.size());
        left -= at;
        if (at > 0 && at < document.size()) {
            if (const std::size_t blank = document.find_first_of("\n ", at); blank != document.npos)
                at = blank;
            else
                while (at < document.size() && (static_cast<unsigned char>(document[at]) & 0xc0) == 0x80) ++at;
        }
        const std::string_view part =
            tools::without_outer_newlines(held_out ? document.substr(at) : document.substr(0, at));
        if (!part.empty()) some.push_back(part);
    }
    return some;
}

std::vector<std::string_view> part_of(const std::vector<std::string_view>& all, Part part, int length) {
    if (part == Part::all) return all;
    const bool held_out = part == Part::held_out;
    std::size_t bytes = 0;
    for (const std::string_view document : all) bytes += document.size();
    // A fiftieth; of a short text enough for four windows of a byte a token, but at most a quarter.
    const std::size_t share = std::clamp<std::size_t>(bytes / (4 * (static_cast<std::size_t>(length) + 1)), 4, 50);
    if (all.size() < share) return cut_by_bytes(all, bytes - bytes / share, held_out);
    std::vector<std::string_view> some;
    for (std::size_t i = 0; i < all.size(); ++i)
        if ((i % share == share - 1) == held_out) some.push_back(all[i]);
    return some;
}

std::string read_text(const std::filesystem::path& file) {
    std::string text = read_file(file, most_bytes);
    tools::expect_text(text, printable_path(file));
    if (const std::size_t at = text.find('\0'); at != text.npos)
        fail(ErrorCode::usage, printable_path(file), ": expected a text, found a NUL byte at byte ", at);
    return text;
}

// A tokenizer's working memory grows with its text, so a long document is encoded in portions. Each portion except the
// last ends before a blank, or else at a character.
constexpr std::size_t portion = std::size_t{1} << 16;

// Calls on_tokens with those of each portion.
void encode_in_portions(const Tokenizer& tokenizer, std::string_view document,
                        const std::function<void(std::span<const Token>)>& on_tokens) {
    std::vector<Token> some;
    while (!document.empty()) {
        std::size_t end = document.size();
        if (end > portion) {
            end = document.find_last_of("\n ", portion);
            if (end == document.npos || end < portion / 2) end = portion;
            while (end > 1 && (static_cast<unsigned char>(document[end]) & 0xc0) == 0x80) --end;
        }
        some.clear();
        tokenizer.encode(document.substr(0, end), false, some);
        document.remove_prefix(end);
        on_tokens(some);
    }
}

} // namespace

std::string read_part(const std::filesystem::path& file, Part part, int length) {
    std::string text = read_text(file);
    tools::unify_newlines(text);
    if (part == Part::all) return text;
    std::string some;
    for (const std::string_view document : part_of(tools::split_documents(text), part, length))
        some.append(document).append("\n").append(end_of_text_name).append("\n");
    return some;
}

Corpus::Corpus(const std::filesystem::path& file, const Tokenizer& tokenizer, int length, Part part,
               const std::function<void(std::string_view)>& on_warning)
    : length_(length), tokens_(tokenizer.vocab_size()), name_(file.filename().string()) {
    std::string text = read_text(file);
    bytes_ = text.size();
    sha256_ = ordo::sha256(text);
    if (tools::unify_newlines(text) && on_warning && part != Part::held_out)
        on_warning(tools::carriage_returns_warning(file.string()));
    const auto add = [&](std::span<const Token> tokens) {
        for (std::size_t i = 0; i < tokens.size(); ++i)
            if (tokens[i] < 0 || tokens[i] >= tokenizer.vocab_size())
                fail(ErrorCode::model, printable(file.string()), ": token ",
                     tokens_.size() + static_cast<std::int64_t>(i), ": expected an id from 0 to ",
                     tokenizer.vocab_size() - 1, ", found ", tokens[i]);
        tokens_.add(tokens);
    };
    const Token end_of_text = tokenizer.end_of_text();
    for (const std::string_view document : part_of(tools::split_documents(text), part, length)) {
        const std::int64_t first = tokens_.size();
        add({&end_of_text, 1});
        encode_in_portions(tokenizer, document, add);
        text_bytes_ += document.size();
        for (std::int64_t start = first; start < tokens_.size(); start += length) starts_.push_back(start);
    }
    while (!starts_.empty() && starts_.back() + length + 1 > tokens_.size()) starts_.pop_back();
    if (starts_.empty())
        fail(ErrorCode::limit, printable(file.string()), ": expected more than ", length, " tokens",
             part == Part::held_out ? " to hold out" : "", ", found ", tokens_.size(), "; give a smaller --ctx",
             part == Part::held_out ? ", or a text to hold out with --val" : " or a longer text");
}

void Corpus::window(std::int64_t i, std::span<Token> tokens, std::span<Token> targets) const {
    const std::int64_t first = starts_[i];
    tokens_.read(first, tokens.first(length_));
    tokens_.read(first + 1, targets.first(length_));
}

std::int64_t Corpus::shuffled(std::uint64_t seed, std::int64_t n) {
    const std::int64_t epoch = n / windows();
    if (epoch != epoch_ || seed != order_seed_) {
        order_.resize(starts_.size());
        std::iota(order_.begin(), order_.end(), 0);
        shuffle(std::span(order_), Random(seed, 0xda7a + static_cast<std::uint64_t>(epoch)));
        epoch_ = epoch;
        order_seed_ = seed;
    }
    return order_[n % windows()];
}

} // namespace ordo::train
