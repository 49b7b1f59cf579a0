// SPDX-License-Identifier: MIT
// Encoding and decoding: lossless for any bytes, merges as in the slow definition, and added tokens.
#include "core/error.h"
#include "core/random.h"
#include "text/bpe_tokenizer.h"
#include "text/bpe_trainer.h"

#include "text_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <thread>

namespace ordo {
namespace {

using text_samples::decode;
using text_samples::encode;
using Ids = std::vector<Token>;

std::unique_ptr<Tokenizer> trained_on_samples(int vocab_size) {
    std::string corpus;
    for (std::uint64_t seed = 100; seed < 120; ++seed) corpus += text_samples::random_text(seed, 200);
    return train_bpe(corpus, vocab_size);
}

TEST(ByteTokenizer, MapsBytesToThemselves) {
    const auto tokenizer = make_byte_tokenizer();
    EXPECT_EQ(tokenizer->vocab_size(), 257);
    EXPECT_EQ(tokenizer->end_of_text(), 256);
    EXPECT_EQ(encode(*tokenizer, "Hi \u00e9\xff"), (Ids{'H', 'i', ' ', 0xc3, 0xa9, 0xff}));
    EXPECT_EQ(encode(*tokenizer, "a<|endoftext|>b", true), (Ids{'a', 256, 'b'}));
    EXPECT_EQ(encode(*tokenizer, "<|endoftext|>").size(), end_of_text_name.size());
    EXPECT_EQ(decode(*tokenizer, {256}), "<|endoftext|>");
}

TEST(BpeTokenizer, IsLosslessOnAnyBytes) {
    const std::unique_ptr<Tokenizer> tokenizers[] = {make_byte_tokenizer(), trained_on_samples(400)};
    auto texts = text_samples::hostile_texts();
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    texts.push_back(all);
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        texts.push_back(text_samples::random_bytes(seed, static_cast<int>(seed * 7)));
        texts.push_back(text_samples::random_text(seed, static_cast<int>(seed * 3)));
    }
    for (const auto& tokenizer : tokenizers)
        for (const std::string& text : texts)
            for (const bool special : {false, true})
                ASSERT_EQ(decode(*tokenizer, encode(*tokenizer, text, special)), text);
}

TEST(BpeTokenizer, AppendsToWhatIsThere) {
    const auto tokenizer = make_byte_tokenizer();
    Ids ids{7};
    tokenizer->encode("ab", false, ids);
    EXPECT_EQ(ids, (Ids{7, 'a', 'b'}));
    std::string text = "x";
    tokenizer->append('y', text);
    EXPECT_EQ(text, "xy");
}

TEST(BpeTokenizer, RefusesIdsOutOfRange) {
    const auto tokenizer = make_byte_tokenizer();
    for (const Token id : {-1, 257, 1 << 30, std::numeric_limits<Token>::min()}) {
        std::string text;
        try {
            tokenizer->append(id, text);
            FAIL() << id;
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::limit);
            EXPECT_NE(std::string(error.what()).find(std::to_string(id)), std::string::npos);
        }
        EXPECT_EQ(text, "");
    }
}

// The definition of merging: merge the pair that was learned first, and the leftmost of equal pairs.
Ids merge_slowly(Ids ids, const std::vector<Merge>& merges) {
    std::map<std::pair<Token, Token>, std::size_t> ranks;
    for (std::size_t i = 0; i < merges.size(); ++i) ranks.emplace(std::pair(merges[i].left, merges[i].right), i);
    for (;;) {
        std::size_t best = merges.size(), where = 0;
        for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
            const auto at = ranks.find({ids[i], ids[i + 1]});
            if (at != ranks.end() && at->second < best) best = at->second, where = i;
        }
        if (best == merges.size()) return ids;
        ids[where] = merges[best].product;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(where) + 1);
    }
}

TEST(MergeTable, AgreesWithTheDefinition) {
    std::uint64_t state = 1;
    const auto draw = [&](std::size_t n) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::size_t>(state >> 33) % n;
    };
    for (int round = 0; round < 300; ++round) {
        // The tokens are strings over "ab", so that a product spells its parts. The order of the merges is shuffled, so
        // that some products come before their parts.
        std::vector<std::string> tokens{"a", "b"};
        std::vector<Merge> merges;
        while (merges.size() < 12) {
            const std::size_t left = draw(tokens.size()), right = draw(tokens.size());
            const std::string product = tokens[left] + tokens[right];
            auto at = std::find(tokens.begin(), tokens.end(), product);
            if (at == tokens.end()) at = tokens.insert(tokens.end(), product);
            merges.push_back(
                {static_cast<Token>(left), static_cast<Token>(right), static_cast<Token>(at - tokens.begin())});
        }
        for (std::size_t i = merges.size() - 1; i > 0; --i) std::swap(merges[i], merges[draw(i + 1)]);
        const MergeTable table(merges, tokens.size());
        MergeTable::Scratch scratch;
        for (int text = 0; text < 5; ++text) {
            Ids ids(draw(60));
            for (Token& id : ids) id = static_cast<Token>(draw(2));
            Ids merged = {99}; // earlier tokens stay unchanged
            merged.insert(merged.end(), ids.begin(), ids.end());
            Ids in_place = merged;
            table.apply(merged, 1, scratch);
            table.apply_in_place(in_place, 1, draw(6)); // rounds of few pairs
            ASSERT_EQ(in_place, merged);
            merged.erase(merged.begin());
            ASSERT_EQ(merged, merge_slowly(ids, merges));
        }
    }
}

// Family T5. The trainer saw eight at a time, so a run of any length is cut into eights.
TEST(BpeTokenizer, EncodesAMebibyteOfOneThing) {
    const std::string mark = "\u0301";
    for (const std::string& unit : {std::string("a"), std::string(" "), mark, std::string("\xff")}) {
        std::string eight, corpus, text;
        for (int i = 0; i < 8; ++i) eight += unit;
        for (int i = 0; i < 4; ++i) corpus += eight + "<|endoftext|>";
        const auto tokenizer = train_bpe(corpus, 300);
        const Ids one = encode(*tokenizer, eight);
        ASSERT_EQ(one.size(), 1u);
        while (text.size() < 1 << 20) text += eight;
        EXPECT_EQ(encode(*tokenizer, text), Ids(text.size() / eight.size(), one.front()));
    }
}

// The tokenizer remembers the pieces of long texts. The result must not depend on that.
TEST(BpeTokenizer, LongTextsGiveTheTokensOfTheirParts) {
    const auto tokenizer = trained_on_samples(350);
    std::string text;
    Ids expected;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        // Each part between special tokens is cut as a text of its own.
        const std::string part = text_samples::random_text(seed, 60) + text_samples::random_bytes(seed, 60);
        tokenizer->encode(part, true, expected);
        expected.push_back(tokenizer->end_of_text());
        text += part + "<|endoftext|>";
    }
    EXPECT_EQ(encode(*tokenizer, text, true), expected);
}

TEST(BpeTokenizer, SpecialTokensAreTextUnlessAskedFor) {
    const auto tokenizer = trained_on_samples(300);
    const Token eot = tokenizer->end_of_text();
    EXPECT_EQ(eot, tokenizer->vocab_size() - 1);
    const std::string text = "one<|endoftext|> two";
    const Ids plain = encode(*tokenizer, text), special = encode(*tokenizer, text, true);
    EXPECT_EQ(std::count(plain.begin(), plain.end(), eot), 0);
    Ids expected = encode(*tokenizer, "one");
    expected.push_back(eot);
    tokenizer->encode(" two", false, expected);
    EXPECT_EQ(special, expected);
    // A truncated special token is text.
    EXPECT_EQ(encode(*tokenizer, "<|endoftext|", true), encode(*tokenizer, "<|endoftext|"));
}

struct SplitPart {
    Token token; // -1: text
    std::string text;
    bool operator==(const SplitPart&) const = default;
};

std::vector<SplitPart> split(const AddedTokens& added, std::string_view text, bool special) {
    std::vector<SplitPart> parts;
    const auto on_text = [&](std::string_view part) { parts.push_back({-1, std::string(part)}); };
    const auto on_token = [&](Token token) { parts.push_back({token, ""}); };
    added.split(
        text, special, false, [&](std::string_view part) { added.split(part, special, true, on_text, on_token); },
        on_token);
    return parts;
}

// Family T3: overlapping tokens. The leftmost wins, then the longest.
TEST(AddedTokens, LeftmostThenLongest) {
    const AddedTokens added({{1, "ab"}, {2, "abc"}, {3, "bcd"}, {4, "a"}, {5, "<x>"}});
    EXPECT_EQ(split(added, "abcd", true), (std::vector<SplitPart>{{2, ""}, {-1, "d"}}));
    EXPECT_EQ(split(added, "xabab", true), (std::vector<SplitPart>{{-1, "x"}, {1, ""}, {1, ""}}));
    EXPECT_EQ(split(added, "bcda", true), (std::vector<SplitPart>{{3, ""}, {4, ""}}));
    EXPECT_EQ(split(added, "bc<x", true), (std::vector<SplitPart>{{-1, "bc<x"}}));
    EXPECT_EQ(split(added, "", true), std::vector<SplitPart>{});
    EXPECT_EQ(split(added, "abc", false), (std::vector<SplitPart>{{-1, "abc"}}));
}

TEST(AddedTokens, OrdinaryOnesAreAlwaysFound) {
    const AddedTokens added({{1, "abc", true, false}, {2, "ab", false, false}});
    EXPECT_EQ(split(added, "abcab", true), (std::vector<SplitPart>{{1, ""}, {2, ""}}));
    EXPECT_EQ(split(added, "abcab", false), (std::vector<SplitPart>{{2, ""}, {-1, "c"}, {2, ""}}));
}

TEST(AddedTokens, NormalizedOnesComeSecond) {
    // "xab" begins further left, but is searched only in the text left over by "abc".
    const AddedTokens added({{1, "abc", true, false}, {2, "xab", true, true}});
    EXPECT_EQ(split(added, "xabcxab", true), (std::vector<SplitPart>{{-1, "x"}, {1, ""}, {2, ""}}));
}

// The definition, one token and one byte at a time: first the tokens with the flag, then the others in the remaining
// text. Among matches the leftmost wins, then the longest.
std::vector<SplitPart> split_slowly(const std::vector<AddedToken>& tokens, std::string_view text, bool special,
                                    bool normalized = false) {
    std::vector<SplitPart> parts;
    std::string left;
    const auto leave = [&] {
        if (left.empty()) return;
        if (normalized) {
            parts.push_back({-1, left});
        } else {
            const std::vector<SplitPart> more = split_slowly(tokens, left, special, true);
            parts.insert(parts.end(), more.begin(), more.end());
        }
        left.clear();
    };
    while (!text.empty()) {
        const AddedToken* longest = nullptr;
        for (const AddedToken& token : tokens)
            if (token.normalized == normalized && (special || !token.special) && text.starts_with(token.content) &&
                (longest == nullptr || token.content.size() > longest->content.size()))
                longest = &token;
        if (longest != nullptr) {
            leave();
            parts.push_back({longest->id, ""});
            text.remove_prefix(longest->content.size());
        } else {
            left += text.front();
            text.remove_prefix(1);
        }
    }
    leave();
    return parts;
}

TEST(AddedTokens, AgreeWithTheDefinition) {
    const Random random(41, 0);
    std::uint64_t draw = 0;
    const auto letters = [&](std::uint64_t most, std::uint64_t alphabet) {
        std::string text;
        for (std::uint64_t n = random.below(draw++, most) + 1; n > 0; --n)
            text += static_cast<char>('a' + random.below(draw++, alphabet));
        return text;
    };
    for (int round = 0; round < 300; ++round) {
        const std::uint64_t alphabet = 1 + random.below(draw++, 3);
        std::map<std::string, AddedToken> chosen;
        for (std::uint64_t n = random.below(draw++, 60); n > 0; --n) {
            const std::string content = letters(round % 3 == 0 ? 100 : 6, alphabet);
            chosen[content] = {static_cast<Token>(n), content, random.below(draw++, 2) == 0,
                               random.below(draw++, 4) == 0};
        }
        std::vector<AddedToken> tokens;
        for (const auto& [content, token] : chosen) tokens.push_back(token);
        const AddedTokens added(tokens);
        const std::string text = letters(300, alphabet) + letters(300, alphabet + 1);
        for (const bool special : {false, true})
            ASSERT_EQ(split(added, text, special), split_slowly(tokens, text, special)) << text;
    }
}

TEST(TokenizerThreads, ShareATokenizer) {
    const auto tokenizer = trained_on_samples(400);
    const std::string text = text_samples::random_text(5, 3000) + text_samples::random_bytes(5, 1000);
    const Ids expected = encode(*tokenizer, text, true);
    std::vector<Ids> found(4);
    std::vector<std::thread> threads;
    for (Ids& ids : found)
        threads.emplace_back([&] {
            for (int i = 0; i < 20; ++i) ids = encode(*tokenizer, text, true);
        });
    for (std::thread& thread : threads) thread.join();
    for (const Ids& ids : found) EXPECT_EQ(ids, expected);
}

} // namespace
} // namespace ordo
