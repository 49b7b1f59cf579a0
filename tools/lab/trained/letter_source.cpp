// SPDX-License-Identifier: MIT
#include "tools/lab/trained/letter_source.h"

namespace ordo::lab {
namespace {

constexpr std::uint64_t far_away = std::uint64_t{1} << 40; // beyond every window of training

std::vector<Token> chain(std::uint64_t seed, std::uint64_t number, int length) {
    const Random random(seed, 0x1e77e5);
    std::uint64_t next = number << 16;
    const auto draw = [&](int n) { return static_cast<Token>(random.below(next++, static_cast<std::uint64_t>(n))); };
    std::array<Token, LetterSource::letters> table;
    std::iota(table.begin(), table.end(), 0);
    shuffle_forward(std::span<Token>(table),
                    [&](std::size_t, std::size_t left) { return draw(static_cast<int>(left)); });
    std::vector<Token> out{draw(LetterSource::letters)};
    while (static_cast<int>(out.size()) <= length) {
        const bool by_table = random.uniform(next++) < LetterSource::regular;
        out.push_back(by_table ? table[out.back()] : draw(LetterSource::letters));
    }
    return out;
}

} // namespace

LetterSource::LetterSource(std::string text, const std::string& name, int longest)
    : text_(std::move(text)), kept_back_(text_.size() / 10 * 9) {
    const auto least = 10 * (static_cast<std::size_t>(longest) + 2);
    if (text_.size() < least)
        fail(ErrorCode::usage, name, ": expected ", least, " bytes or more, found ", text_.size());
}

std::vector<Token> LetterSource::window(std::uint64_t seed, std::uint64_t number, int length, bool held_out) const {
    if (text_.empty()) return chain(seed, held_out ? far_away + number : number, length);
    const std::size_t first = held_out ? kept_back_ : 0, end = held_out ? text_.size() : kept_back_;
    const std::size_t places = end - first - static_cast<std::size_t>(length);
    const std::size_t at = first + static_cast<std::size_t>(Random(seed, held_out ? 2 : 1).below(number, places));
    std::vector<Token> out;
    for (std::size_t i = at; i <= at + static_cast<std::size_t>(length); ++i)
        out.push_back(static_cast<unsigned char>(text_[i]));
    return out;
}

double LetterSource::entropy() {
    const double other = (1 - regular) / letters, one = regular + other;
    return -one * std::log(one) - (letters - 1) * other * std::log(other);
}

} // namespace ordo::lab
