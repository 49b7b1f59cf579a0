// SPDX-License-Identifier: MIT
#include "tools/lab/trained/examples.h"

namespace ordo::lab {
namespace {

// > c a b = c a b .
Example echo(std::uint64_t seed, std::uint64_t index, int length, bool backwards) {
    Draws draws(seed, index);
    std::vector<int> word = draw(draws, length, letters);
    Writer w;
    w.given(start);
    for (const int x : word) w.given(first_letter + x);
    w.given(equals);
    if (backwards) std::reverse(word.begin(), word.end());
    for (const int x : word) w.answer(first_letter + x);
    w.answer(end);
    return w.example;
}
Example copy(std::uint64_t seed, std::uint64_t index, int length) {
    return echo(seed, index, length, false);
}
Example reverse(std::uint64_t seed, std::uint64_t index, int length) {
    return echo(seed, index, length, true);
}

// > K4 7 K9 1 = K9 1 K4 7: pairs of a key and a digit, then the keys in another order, each followed by its answer. All
// keys differ.
Example recall(std::uint64_t seed, std::uint64_t index, int length) {
    Draws draws(seed, index);
    std::vector<int> keys(pair_keys), order(length);
    std::iota(keys.begin(), keys.end(), 0);
    std::iota(order.begin(), order.end(), 0);
    const auto next = [&draws](std::size_t, std::size_t left) { return draws.below(static_cast<int>(left)); };
    shuffle_forward(std::span(keys), next);
    const std::vector<int> values = draw(draws, length, 10);
    shuffle_forward(std::span(order), next);
    Writer w;
    w.given(start);
    for (int i = 0; i < length; ++i) {
        w.given(first_key + keys[i]);
        w.given(first_digit + values[i]);
    }
    w.given(equals);
    for (const int i : order) {
        w.given(first_key + keys[i]);
        w.answer(first_digit + values[i]);
    }
    return w.example;
}

// > 1 0 1 1 = 1 1 0 1 .: the parity of the bits so far, after each bit; the last is the parity of all.
Example parity(std::uint64_t seed, std::uint64_t index, int length) {
    Draws draws(seed, index);
    const std::vector<int> bits = draw(draws, length, 2);
    Writer w;
    w.given(start);
    for (const int bit : bits) w.given(first_digit + bit);
    w.given(equals);
    int odd = 0;
    for (const int bit : bits) w.answer(first_digit + (odd ^= bit));
    w.answer(end);
    return w.example;
}

// > 3 9 + 8 4 = 1 4 1 .: 93 + 48 = 141, the lowest digit first; both numbers have `length` digits, the sum one more.
Example addition(std::uint64_t seed, std::uint64_t index, int length) {
    Draws draws(seed, index);
    const std::vector<int> a = draw(draws, length, 10), b = draw(draws, length, 10);
    Writer w;
    w.given(start);
    for (const int x : a) w.given(first_digit + x);
    w.given(plus);
    for (const int x : b) w.given(first_digit + x);
    w.given(equals);
    int carry = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const int sum = a[i] + b[i] + carry;
        w.answer(first_digit + sum % 10);
        carry = sum / 10;
    }
    w.answer(first_digit + carry);
    w.answer(end);
    return w.example;
}

constexpr int vocab = first_key + pair_keys;

// > K0=7 K1=2' K1=4 K0=3' K1' 2': facts of two parts in a random order, each a token, then a key, and its digit in the
// part that the key belongs to. A ' marks the second segment.
constexpr int part_keys = 8;
Example parts(std::uint64_t seed, std::uint64_t index, int length) {
    Draws draws(seed, index);
    const auto next = [&draws](std::size_t, std::size_t left) { return draws.below(static_cast<int>(left)); };
    std::vector<int> keys(part_keys), order(2 * length), digits[2];
    std::iota(keys.begin(), keys.end(), 0);
    std::iota(order.begin(), order.end(), 0);
    shuffle_forward(std::span(keys), next);
    shuffle_forward(std::span(order), next);
    digits[0] = draw(draws, length, 10);
    for (const int digit : digits[0]) digits[1].push_back((digit + 1 + draws.below(9)) % 10); // another digit
    Writer w;
    const auto put = [&w](Token token, bool scored, int part) {
        w.put(token, scored);
        w.example.segments.push_back(part);
    };
    put(start, false, 0);
    for (const int fact : order) {
        const int i = fact / 2, part = fact % 2;
        put(vocab + 10 * keys[i] + digits[part][i], false, part);
    }
    const int asked = draws.below(length), part = draws.below(2);
    put(first_key + keys[asked], false, part);
    put(first_digit + digits[part][asked], true, part);
    return w.example;
}

constexpr std::string_view of_states = "none;alibi;rope;path;selective-rope";
constexpr std::string_view places_of_digits = "abacus:first=4,last=13,offset=40";

constexpr Task list[] = {
    {"copy", "repeat a word of random letters", "letters", 1, 10, 2500, 32, letters, vocab, 2, 3, copy},
    {"reverse", "write a word of random letters from its end", "letters", 1, 10, 2500, 32, letters, vocab, 2, 3,
     reverse},
    {"recall", "answer with the digit that stood behind a key", "pairs", 4, 4, 5000, 32, 10, vocab, 4, 2, recall},
    {"parity", "say after each bit whether the ones so far are odd", "bits", 1, 10, 3500, 32, 2, vocab, 2, 3, parity},
    {"addition", "add two numbers, lowest digits first", "digits", 1, 3, 3500, 64, 10, vocab, 3, 5, addition},
    {"last-parity", "say whether the ones are odd", "bits", 1, 10, 5000, 32, 2, vocab, 1, 4, last_parity, of_states,
     "path"},
    {"flip-flop", "say which bit was written last", "bits", 1, 10, 3500, 32, 2, vocab, 2, 4, flip_flop, of_states,
     "path"},
    {"permutation", "say where swaps of two have brought five things", "swaps", 1, 6, 5000, 32, things, vocab, 1,
     things + 3, permutation, of_states, "path"},
    {"long-addition", "add two numbers, lowest digits first", "digits", 1, 10, 5000, 32, 10, vocab, 3, 5, addition,
     "none;alibi;rope;abacus:first=4,last=13,offset=40", places_of_digits},
    {"indirect", "find the letter so many places behind a letter", "letters", 1, 6, 5000, 32, letters, vocab, 1, 7,
     indirect, "none;alibi;rope;pope", "pope"},
};

constexpr Task of_parts{
    "segments", "answer from the part that is asked for", "keys", 1, 4, 600, 64, 10, vocab + 10 * part_keys, 2, 3,
    parts};

} // namespace

std::span<const Task> tasks() {
    return list;
}

const Task& segment_task() {
    return of_parts;
}

std::string task_names() {
    std::string names;
    for (const Task& task : list) append(names, task.name);
    return names;
}

const Task& find_task(std::string_view name) {
    for (const Task& task : list)
        if (task.name == name) return task;
    fail(ErrorCode::usage, "option --tasks: expected some of ", task_names(), ", found '", printable(name), "'");
}

std::string text_of(const Example& example) {
    std::string text;
    for (std::size_t i = 0; i < example.tokens.size(); ++i) {
        const Token token = example.tokens[i];
        if (!text.empty()) text += ' ';
        if (token >= vocab)
            text += "K" + std::to_string((token - vocab) / 10) + "=" + std::to_string((token - vocab) % 10);
        else if (token >= first_key)
            text += "K" + std::to_string(token - first_key);
        else if (token >= first_letter)
            text += static_cast<char>('a' + token - first_letter);
        else if (token >= first_digit)
            text += static_cast<char>('0' + token - first_digit);
        else
            text += ">=.+"[token];
        if (!example.segments.empty() && example.segments[i] > 0) text += '\'';
    }
    return text;
}

} // namespace ordo::lab
