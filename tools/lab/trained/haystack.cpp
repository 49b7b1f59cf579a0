// SPDX-License-Identifier: MIT
#include "tools/lab/trained/haystack.h"

namespace ordo::lab {
namespace {

constexpr std::size_t least_hay = 1024;

// " dog": a word in the middle of a text.
bool is_word(std::string_view spelling) {
    return spelling.size() >= 4 && spelling[0] == ' ' &&
           std::all_of(spelling.begin() + 1, spelling.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

} // namespace

Haystack::Haystack(std::span<const Token> text, int vocabulary, Token start,
                   const std::function<std::string(Token)>& spelling)
    : tokens_{start} {
    std::vector<Token> words;
    for (Token token = 0; token < vocabulary; ++token)
        if (token != start && is_word(spelling(token))) words.push_back(token);
    constexpr std::size_t wanted = key_count + value_count;
    if (words.size() < wanted)
        fail(ErrorCode::usage, "expected a vocabulary with ", wanted, " whole words or more, found ", words.size());
    // From the whole range, common and rare words; keys and values alternate.
    std::vector<Token> chosen;
    for (std::size_t i = 0; i < wanted; ++i) chosen.push_back(words[i * words.size() / wanted]);
    for (const bool keys : {true, false})
        for (std::size_t i = 0; i < wanted; ++i)
            if ((i % 3 == 0) == keys) tokens_.push_back(chosen[i]);

    std::map<Token, int> counts;
    for (const Token token : text)
        if (token != start && std::find(chosen.begin(), chosen.end(), token) == chosen.end()) ++counts[token];
    std::vector<std::pair<int, Token>> common;
    for (const auto& [token, count] : counts) common.push_back({-count, token});
    std::sort(common.begin(), common.end());
    common.resize(std::min(common.size(), std::size_t{hay_count}));
    std::map<Token, Token> numbers;
    for (const auto& [count, token] : common) {
        numbers[token] = static_cast<Token>(tokens_.size());
        tokens_.push_back(token);
    }
    for (const Token token : text)
        if (const auto number = numbers.find(token); number != numbers.end()) hay_.push_back(number->second);
    if (hay_.size() < least_hay)
        fail(ErrorCode::usage, "expected a text of ", least_hay, " tokens or more, found ", hay_.size());
}

std::vector<Haystack::Needle> Haystack::draw(std::uint64_t seed, std::uint64_t number, int hay, int needles,
                                             double depth, std::vector<Token>& tokens) const {
    const Random random(seed, 0x4a75);
    std::uint64_t next = number << 10;
    const auto below = [&](int n) { return static_cast<int>(random.below(next++, static_cast<std::uint64_t>(n))); };
    std::vector<Token> keys(key_count);
    std::iota(keys.begin(), keys.end(), 1);
    shuffle_forward(std::span(keys), [&](std::size_t, std::size_t left) {
        return static_cast<std::size_t>(below(static_cast<int>(left)));
    });
    std::vector<Needle> all;
    for (int i = 0; i < needles; ++i) {
        const Token value = 1 + key_count + below(value_count);
        all.push_back({keys[i], value, below(hay + 1)});
    }
    all.back().place = static_cast<int>(std::lround(depth * hay));
    const auto first = static_cast<std::size_t>(below(static_cast<int>(hay_.size()))); // wraps around at the end
    tokens.push_back(0);
    for (int at = 0; at <= hay; ++at) {
        for (const Needle& needle : all)
            if (needle.place == at) tokens.insert(tokens.end(), {needle.key, needle.value});
        if (at < hay) tokens.push_back(hay_[(first + static_cast<std::size_t>(at)) % hay_.size()]);
    }
    return all;
}

Question Haystack::ask(std::uint64_t seed, std::uint64_t number, int length, int needles, double depth) const {
    Question out;
    const int hay = length - 2 - 2 * needles;
    const std::vector<Needle> all = draw(seed, number, hay, needles, depth, out.tokens);
    out.tokens.push_back(all.back().key);
    out.answer = all.back().value;
    return out;
}

void Haystack::train(std::uint64_t seed, std::uint64_t number, int length, int needles, std::span<Token> tokens,
                     std::span<Token> targets) const {
    std::vector<Token> text;
    const double depth = Random(seed, 0xde97).uniform(number);
    const int hay = length - 4 * needles; // the last answer is not fed
    const std::vector<Needle> all = draw(seed, number, hay, needles, depth, text);
    for (auto needle = all.rbegin(); needle != all.rend(); ++needle) {
        targets[text.size()] = needle->value;
        text.insert(text.end(), {needle->key, needle->value});
    }
    std::copy_n(text.begin(), length, tokens.begin());
}

Haystack haystack_of(const Model& model, const Text& text) {
    std::vector<Token> hay;
    for (const tools::Document& document : documents_of(text, model))
        hay.insert(hay.end(), document.tokens.begin(), document.tokens.end());
    return {hay, model.vocab_size(), model.start_of_text(), [&](Token token) {
                const Token one[] = {token};
                return model.decode(one);
            }};
}

} // namespace ordo::lab
