// SPDX-License-Identifier: MIT
// Counts of a corpus small enough to count by hand, and the counts that `word-order` states of its built-in corpus.
#include "tools/lab/trained/word_corpus.h"
#include "tools/lab/trained/word_questions.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ordo::lab {
namespace {

// (end) 0, a 1, b 2, c 3, d 4
WordCorpus tiny() {
    return parse_corpus("a b c\n\n  a b d  \nb a\n", "tiny");
}

void expect_near(const Distribution& found, const Distribution& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << i;
}

TEST(LabWordCorpus, ByHand) {
    const WordCorpus corpus = tiny();
    EXPECT_EQ(corpus.words, (std::vector<std::string>{"(end)", "a", "b", "c", "d"}));
    EXPECT_EQ(corpus.sentences, (std::vector<std::vector<Token>>{{1, 2, 3}, {1, 2, 4}, {2, 1}}));
    EXPECT_EQ(corpus.longest, 3u);
    EXPECT_EQ(corpus.find("d"), 4);
    EXPECT_EQ(corpus.find("(end)"), -1);
    expect_near(uniform(corpus), {0.2, 0.2, 0.2, 0.2, 0.2});
    expect_near(unigram(corpus), {3 / 11.0, 3 / 11.0, 3 / 11.0, 1 / 11.0, 1 / 11.0});
    expect_near(after_word(corpus, 1), {1 / 3.0, 0, 2 / 3.0, 0, 0});       // b, b, end
    expect_near(after_word(corpus, 2), {0, 1 / 3.0, 0, 1 / 3.0, 1 / 3.0}); // c, d, a
    expect_near(after_beginning(corpus, std::vector<Token>{1, 2}), {0, 0, 0, 0.5, 0.5});
    expect_near(after_beginning(corpus, std::vector<Token>{2, 1}), {1, 0, 0, 0, 0});
    expect_near(after_beginning(corpus, {}), {0, 2 / 3.0, 1 / 3.0, 0, 0});
    EXPECT_TRUE(after_beginning(corpus, std::vector<Token>{2, 2}).empty());
    // Each of the three first words costs ln 3 - 2/3 ln 2, and each of two third words ln 2. The other six cost
    // nothing.
    EXPECT_NEAR(answers_of(corpus, prompts_of(corpus)).loss,
                (3 * (std::log(3.0) - 2 / 3.0 * std::log(2.0)) + 2 * std::log(2.0)) / 11, 1e-12);
}

TEST(LabWordCorpus, JensenShannon) {
    EXPECT_NEAR(js_distance({1, 0}, {0, 1}), std::sqrt(std::log(2.0)), 1e-12);
    EXPECT_EQ(js_distance({0.25, 0.75}, {0.25, 0.75}), 0);
    // m = (3/4, 1/4): 1/2 ln 4/3 + 1/2 (1/2 ln 2/3 + 1/2 ln 2)
    const double by_hand = std::log(4 / 3.0) / 2 + (std::log(2 / 3.0) / 2 + std::log(2.0) / 2) / 2;
    EXPECT_NEAR(js_distance({1, 0}, {0.5, 0.5}), std::sqrt(by_hand), 1e-12);
    EXPECT_NEAR(js_distance({0.5, 0.5}, {1, 0}), std::sqrt(by_hand), 1e-12);
}

TEST(LabWordCorpus, RefusesWhatItCannotUse) {
    EXPECT_THROW(parse_corpus("", "x"), Error);
    EXPECT_THROW(parse_corpus(" \n \n", "x"), Error);
    std::string line;
    for (int i = 0; i < 65; ++i) line += "w ";
    EXPECT_THROW(parse_corpus(line, "x"), Error);
    EXPECT_NO_THROW(parse_corpus(line.substr(2), "x"));
}

// If the corpus lacks a word of a prompt, that prompt is skipped and the others are asked.
TEST(LabWordCorpus, AsksWhatItHasTheWordsFor) {
    const WordCorpus letters = tiny();
    const Answers none = answers_of(letters, prompts_of(letters), uniform(letters));
    for (const double answer :
         {none.food_is, none.food_is_truth, none.good_is, none.food_next, none.right_next, none.food_in_place})
        EXPECT_TRUE(std::isnan(answer));
    EXPECT_NEAR(none.loss, std::log(5.0), 1e-12);

    const WordCorpus own = parse_corpus("food is good\nthe food is red\n", "own");
    const Answers some = answers_of(own, prompts_of(own));
    // Good, against good and red.
    EXPECT_NEAR(some.food_is, js_distance({0, 0, 0, 1, 0, 0}, {0, 0, 0, 0.5, 0, 0.5}), 1e-12);
    EXPECT_EQ(some.food_is_truth, 0);
    EXPECT_TRUE(std::isnan(some.food_next));
}

TEST(LabWordCorpus, BuiltIn) {
    const WordCorpus corpus = built_in_corpus();
    std::size_t words = 0;
    const Token good = corpus.find("good"), is = corpus.find("is");
    for (const auto& sentence : corpus.sentences) {
        words += sentence.size();
        for (std::size_t i = 0; i + 1 < sentence.size(); ++i)
            EXPECT_FALSE(sentence[i] == good && sentence[i + 1] == is);
    }
    EXPECT_EQ(corpus.sentences.size(), 20u);
    EXPECT_EQ(words, 86u);
    EXPECT_EQ(corpus.words.size() - 1, 34u);
}

// Counted by eye. Of 12 words after "is", good comes 3 times; warm, fresh and sweet twice; a, brown and cold once.
// The two sentences that begin with "food is" continue with good and warm.
TEST(LabWordCorpus, ReferenceLines) {
    const WordCorpus corpus = built_in_corpus();
    const Prompts prompts = prompts_of(corpus);
    Distribution after_is(corpus.words.size()), food_is(corpus.words.size());
    const struct {
        const char* word;
        int count;
    } counts[] = {{"good", 3}, {"warm", 2}, {"fresh", 2}, {"a", 1}, {"brown", 1}, {"cold", 1}, {"sweet", 2}};
    for (const auto& [word, count] : counts) after_is[corpus.find(word)] = count / 12.0;
    food_is[corpus.find("good")] = food_is[corpus.find("warm")] = 0.5;

    const Answers by_heart = answers_of(corpus, prompts);
    EXPECT_NEAR(by_heart.food_is, js_distance(food_is, after_is), 1e-12);
    EXPECT_EQ(by_heart.food_is_truth, 0);
    EXPECT_TRUE(std::isnan(by_heart.good_is));
    EXPECT_EQ(by_heart.food_next, 0);
    EXPECT_EQ(by_heart.right_next, 1);    // one
    EXPECT_EQ(by_heart.food_in_place, 1); // ... large group of

    const Answers guess = answers_of(corpus, prompts, uniform(corpus));
    EXPECT_NEAR(guess.food_next, 1 / 35.0, 1e-12);
    EXPECT_NEAR(guess.loss, std::log(35.0), 1e-12);
    const Answers counted = answers_of(corpus, prompts, unigram(corpus));
    EXPECT_NEAR(counted.food_next, 7 / 106.0, 1e-12); // food occurs seven times among 86 words and 20 ends
}

} // namespace
} // namespace ordo::lab
