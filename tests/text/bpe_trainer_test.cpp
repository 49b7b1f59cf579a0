// SPDX-License-Identifier: MIT
// Compares learned merges with the classic example, worked by hand, and with a trainer that recounts everything.
#include "core/error.h"
#include "text/bpe_trainer.h"
#include "text/pre_tokenizer.h"

#include "text_samples.h"

#include <gtest/gtest.h>

#include <map>

namespace ordo {
namespace {

std::vector<std::string> learned(const Tokenizer& tokenizer) {
    std::vector<std::string> tokens;
    for (Token id = 256; id < tokenizer.vocab_size(); ++id) tokens.push_back(text_samples::decode(tokenizer, {id}));
    return tokens;
}

// Sennrich et al. 2016, section 3.2: low x5, lower x2, newest x6, widest x3. Counts at the start: es 9, st 9, we 8, lo
// 7, ow 7, ne 6, ew 6, wi 3, id 3, de 3, er 2. The merges are "es" (before "st" by its lower first byte), "est", "lo"
// and "low". Then comes "ew" 6, before ne 6 and w+est 6 by its lower left id.
TEST(BpeTrainer, LearnsTheClassicExample) {
    std::string corpus;
    for (int i = 0; i < 5; ++i) corpus += "low\n";
    for (int i = 0; i < 2; ++i) corpus += "lower\n";
    for (int i = 0; i < 6; ++i) corpus += "newest\n";
    for (int i = 0; i < 3; ++i) corpus += "widest\n";
    const auto tokenizer = train_bpe(corpus, 1000);
    EXPECT_EQ(learned(*tokenizer), (std::vector<std::string>{"es", "est", "lo", "low", "ew", "new", "newest", "dest",
                                                             "idest", "widest", "er", "lower", "<|endoftext|>"}));
    // "lowest" is not in the corpus: low + est.
    EXPECT_EQ(text_samples::encode(*tokenizer, "lowest"), (std::vector<Token>{259, 257}));
    // A smaller vocabulary is a prefix of a larger one.
    EXPECT_EQ(learned(*train_bpe(corpus, 261)), (std::vector<std::string>{"es", "est", "lo", "low", "<|endoftext|>"}));
}

// Algorithm 1 of the paper, which recounts every pair for every merge.
std::vector<std::string> learn_slowly(std::string_view corpus, std::size_t n_merges) {
    std::map<std::string, int> words;
    cut_gpt2(corpus, [&](std::string_view piece) { ++words[std::string(piece)]; });
    std::vector<std::pair<std::vector<int>, int>> split;
    for (const auto& [word, count] : words) {
        split.emplace_back(std::vector<int>{}, count);
        for (const char c : word) split.back().first.push_back(static_cast<unsigned char>(c));
    }
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
    while (tokens.size() < 256 + n_merges) {
        std::map<std::pair<int, int>, int> counts;
        for (const auto& [ids, count] : split)
            for (std::size_t i = 0; i + 1 < ids.size(); ++i) counts[{ids[i], ids[i + 1]}] += count;
        std::pair<int, int> best;
        int most = 1;
        for (const auto& [pair, count] : counts) // in order, so the first of equal counts stays
            if (count > most) most = count, best = pair;
        if (most == 1) break;
        for (auto& [ids, count] : split) {
            std::vector<int> merged;
            for (std::size_t i = 0; i < ids.size(); ++i)
                if (i + 1 < ids.size() && std::pair(ids[i], ids[i + 1]) == best)
                    merged.push_back(static_cast<int>(tokens.size())), ++i;
                else
                    merged.push_back(ids[i]);
            ids = merged;
        }
        tokens.push_back(tokens[best.first] + tokens[best.second]);
    }
    tokens.erase(tokens.begin(), tokens.begin() + 256);
    tokens.emplace_back("<|endoftext|>");
    return tokens;
}

TEST(BpeTrainer, AgreesWithCountingAfresh) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        std::string corpus = text_samples::random_text(seed, 300);
        for (int i = 0; i < 300; ++i)
            corpus += "ab "[text_samples::random_bytes(seed + static_cast<std::uint64_t>(i), 3)[2] & 1];
        for (int i = 0; i < 20; ++i)
            corpus += std::string(static_cast<std::size_t>(i % 7), 'a') + "\n"; // overlapping pairs: aaa
        EXPECT_EQ(learned(*train_bpe(corpus, 256 + 120 + 1)), learn_slowly(corpus, 120)) << "seed " << seed;
    }
}

TEST(BpeTrainer, NeverMergesAcrossDocuments) {
    std::string corpus;
    for (int i = 0; i < 50; ++i) corpus += "x\n<|endoftext|>\n";
    const auto tokenizer = train_bpe(corpus, 300);
    EXPECT_EQ(learned(*tokenizer), std::vector<std::string>{"<|endoftext|>"});
    EXPECT_EQ(text_samples::encode(*tokenizer, corpus, true).size(), 50u * 4);
}

TEST(BpeTrainer, ALittleCorpusGivesALittleVocabulary) {
    EXPECT_EQ(train_bpe("", 4096)->vocab_size(), 257);
    EXPECT_EQ(train_bpe("abcd", 4096)->vocab_size(), 257); // no pair occurs twice
    EXPECT_EQ(train_bpe("abab abab", 257)->vocab_size(), 257);
    EXPECT_EQ(train_bpe("", 257)->end_of_text(), 256);
}

TEST(BpeTrainer, RefusesSizesWithoutRoomForTheBytes) {
    for (const int size : {-1, 0, 256, max_trained_vocab_size + 1}) {
        try {
            train_bpe("abc", size);
            FAIL() << size;
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::usage);
        }
    }
}

} // namespace
} // namespace ordo
