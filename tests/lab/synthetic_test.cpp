// SPDX-License-Identifier: MIT
// Checks every example of every task with a checker that reads the text and solves it anew.
#include "tests/words.h"
#include "tools/lab/trained/synthetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace ordo::lab {
namespace {

struct Parts {
    std::vector<std::string> question, answer; // before and after "="
};
Parts parts_of(const Example& example) {
    const std::vector<std::string> words = ordo::test::words_in(text_of(example));
    const auto equals = std::find(words.begin(), words.end(), "=");
    EXPECT_EQ(words.at(0), ">");
    return {{words.begin() + 1, equals}, {equals + 1, words.end()}};
}

std::vector<std::string> with_end(std::vector<std::string> words) {
    words.emplace_back(".");
    return words;
}

// The sum with its lowest digit first, written as at school.
std::vector<std::string> sum_of(const std::vector<std::string>& question) {
    const auto digits = static_cast<std::size_t>(std::find(question.begin(), question.end(), "+") - question.begin());
    std::vector<std::string> out;
    int carry = 0;
    for (std::size_t i = 0; i < digits; ++i) {
        const int sum = std::stoi(question[i]) + std::stoi(question.at(digits + 1 + i)) + carry;
        out.push_back(std::to_string(sum % 10));
        carry = sum / 10;
    }
    out.push_back(std::to_string(carry));
    return out;
}

// The last bit after a w.
std::string stored_by(const std::vector<std::string>& question) {
    std::string stored;
    for (std::size_t i = 0; i < question.size(); i += 2)
        if (question[i] == "w") stored = question.at(i + 1);
    return stored;
}

// Five cups, and a letter for each two of them: a to d move the first cup, e to g the second, h and i the third.
std::vector<std::string> row_after(const std::vector<std::string>& question) {
    const std::string first = "aaaabbbccd", second = "bcdecdedee"; // the places, as letters
    std::vector<std::string> row{"0", "1", "2", "3", "4"};
    for (const std::string& swap : question) {
        const auto i = static_cast<std::size_t>(swap[0] - 'a');
        std::swap(row.at(first.at(i) - 'a'), row.at(second.at(i) - 'a'));
    }
    return row;
}

// The word, a letter of it, "+", and the places to go on.
std::string letter_behind(const std::vector<std::string>& question) {
    const auto word_end = question.end() - 3;
    const auto at = std::find(question.begin(), word_end, *word_end);
    EXPECT_EQ(std::set<std::string>(question.begin(), word_end).size() + 3, question.size());
    return *(at + std::stoi(question.back()));
}

void check_recall(const Parts& parts) {
    std::map<std::string, std::string> stored;
    for (std::size_t i = 0; i < parts.question.size(); i += 2) stored[parts.question[i]] = parts.question.at(i + 1);
    EXPECT_EQ(stored.size() * 2, parts.question.size()); // no key occurs twice
    std::set<std::string> asked;
    for (std::size_t i = 0; i < parts.answer.size(); i += 2) {
        EXPECT_EQ(stored.at(parts.answer[i]), parts.answer.at(i + 1));
        asked.insert(parts.answer[i]);
    }
    EXPECT_EQ(asked.size(), stored.size()); // each key once
}

void check(std::string_view task, const Parts& parts) {
    if (task == "copy") {
        EXPECT_EQ(parts.answer, with_end(parts.question));
    } else if (task == "reverse") {
        EXPECT_EQ(parts.answer, with_end({parts.question.rbegin(), parts.question.rend()}));
    } else if (task == "recall") {
        check_recall(parts);
    } else if (task == "parity") {
        std::vector<std::string> odd;
        for (auto i = parts.question.begin(); i != parts.question.end(); ++i)
            odd.push_back(std::count(parts.question.begin(), i + 1, "1") % 2 != 0 ? "1" : "0");
        EXPECT_EQ(parts.answer, with_end(odd));
    } else if (task == "last-parity") {
        const bool odd = std::count(parts.question.begin(), parts.question.end(), "1") % 2 != 0;
        EXPECT_EQ(parts.answer, with_end({odd ? "1" : "0"}));
    } else if (task == "flip-flop") {
        EXPECT_EQ(parts.question[0], "w");
        EXPECT_EQ(parts.answer, with_end({stored_by(parts.question)}));
    } else if (task == "permutation") {
        EXPECT_EQ(parts.answer, with_end(row_after(parts.question)));
    } else if (task == "indirect") {
        EXPECT_EQ(parts.answer, with_end({letter_behind(parts.question)}));
    } else if (task == "addition" || task == "long-addition") {
        EXPECT_EQ(parts.answer, with_end(sum_of(parts.question)));
    } else {
        FAIL() << "no checker for " << task;
    }
}

TEST(LabSyntheticTasks, AnswersAreRight) {
    for (const Task& task : tasks())
        for (const int length : {1, 2, task.trained, 4 * task.trained})
            for (std::uint64_t index = 0; index < 50; ++index) {
                const Example example = task.make(5, index, length);
                SCOPED_TRACE(std::string(task.name) + ": " + text_of(example));
                check(task.name, parts_of(example));
                ASSERT_EQ(static_cast<int>(example.tokens.size()), task.tokens(length));
                ASSERT_EQ(example.scored.size(), example.tokens.size());
                for (const Token token : example.tokens) EXPECT_TRUE(token >= 0 && token < task.vocab);
            }
}

// Nothing before "=" is scored. After it everything is scored except the keys that recall asks for.
TEST(LabSyntheticTasks, ScoresTheAnswer) {
    for (const Task& task : tasks()) {
        const Example example = task.make(1, 7, 3);
        const std::vector<std::string> words = ordo::test::words_in(text_of(example));
        const auto equals = static_cast<std::size_t>(std::find(words.begin(), words.end(), "=") - words.begin());
        for (std::size_t i = 0; i < words.size(); ++i)
            EXPECT_EQ(example.scored[i], i > equals && words[i][0] != 'K') << task.name << " " << i;
    }
}

TEST(LabSyntheticTasks, DrawnFromSeedAndIndexAlone) {
    for (const Task& task : tasks()) {
        EXPECT_EQ(task.make(1, 2, 8).tokens, task.make(1, 2, 8).tokens) << task.name;
        EXPECT_NE(task.make(1, 2, 8).tokens, task.make(1, 3, 8).tokens) << task.name;
        EXPECT_NE(task.make(1, 2, 8).tokens, task.make(2, 2, 8).tokens) << task.name;
        std::set<Token> seen; // the whole alphabet occurs
        for (std::uint64_t i = 0; i < 200; ++i)
            for (const Token token : task.make(1, i, task.trained).tokens) seen.insert(token);
        // The start, "=" and, if an answer has an end, "."; and letters, digits and "+", digits and keys, or bits.
        const std::map<std::string_view, std::size_t> alphabet{
            {"copy", 29},       {"reverse", 29},  {"recall", 28},      {"parity", 5},         {"addition", 14},
            {"last-parity", 5}, {"flip-flop", 7}, {"permutation", 18}, {"long-addition", 14}, {"indirect", 36}};
        EXPECT_EQ(seen.size(), alphabet.at(task.name)) << task.name;
    }
}

// In readable form, "K1=4'" is a fact of the second segment, and "K1' 4'" asks that segment.
TEST(LabSyntheticTasks, PartsDisagreeAndTheSegmentDecides) {
    const Task& task = segment_task();
    int second_first = 0;
    for (std::uint64_t index = 0; index < 100; ++index) {
        const int length = 1 + static_cast<int>(index % 8);
        const Example example = task.make(5, index, length);
        const std::vector<std::string> words = ordo::test::words_in(text_of(example));
        SCOPED_TRACE(text_of(example));
        ASSERT_EQ(static_cast<int>(words.size()), task.tokens(length));
        ASSERT_EQ(example.segments.size(), words.size());
        std::map<std::string, std::string> facts; // "K1'" -> "4'"
        for (std::size_t i = 1; i + 2 < words.size(); ++i) {
            const std::string& fact = words[i];
            const auto equals = fact.find('=');
            facts[fact.substr(0, equals) + (fact.back() == '\'' ? "'" : "")] = fact.substr(equals + 1);
            EXPECT_EQ(example.segments[i], fact.back() == '\'');
        }
        EXPECT_EQ(static_cast<int>(facts.size()), 2 * length); // each key once in each part
        for (const auto& [key, digit] : facts)
            if (key.back() != '\'') {
                EXPECT_NE(digit + "'", facts.at(key + "'"));
            }
        EXPECT_EQ(words.back(), facts.at(words[words.size() - 2]));
        for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(example.scored[i], i + 1 == words.size());
        for (const Token token : example.tokens) EXPECT_TRUE(token >= 0 && token < task.vocab);
        second_first += example.segments[1];
    }
    EXPECT_GT(second_first, 25);
    EXPECT_LT(second_first, 75);
}

TEST(LabSyntheticTasks, Find) {
    EXPECT_EQ(find_task("parity").name, "parity");
    EXPECT_THROW(find_task("parities"), Error);
}

} // namespace
} // namespace ordo::lab
