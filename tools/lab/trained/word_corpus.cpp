// SPDX-License-Identifier: MIT
#include "tools/lab/trained/word_corpus.h"

#include "tools/lab/study/prelude.h"

namespace ordo::lab {
namespace {

constexpr std::size_t most_words = 5000, most_in_sentence = 64;

constexpr std::string_view food = R"(food is good
food is warm
good food is fresh
bread is good
bread is a type of food
bread is brown
soup is warm
soup is good in winter
water is cold
sugar is sweet
fruit is sweet
fruit is fresh in summer
apples are a type of fruit
apples are sweet
carbohydrates are one large group of food
fats are one small group of food
people eat food every day
people eat warm soup
children like sweet fruit
children drink cold water every day
)";

Distribution normalised(Distribution counts) {
    double sum = 0;
    for (const double count : counts) sum += count;
    if (sum == 0) return {};
    for (double& count : counts) count /= sum;
    return counts;
}

Distribution zeros(const WordCorpus& corpus) {
    return Distribution(corpus.words.size());
}

// The token at place i of a sentence or of its end.
Token at(const std::vector<Token>& sentence, std::size_t i) {
    return i < sentence.size() ? sentence[i] : 0;
}

} // namespace

Token WordCorpus::find(std::string_view word) const {
    const auto found = std::find(words.begin() + 1, words.end(), word);
    return found == words.end() ? -1 : static_cast<Token>(found - words.begin());
}

std::vector<Token> WordCorpus::tokens(std::string_view text) const {
    std::vector<Token> out;
    std::istringstream in{std::string(text)};
    for (std::string word; in >> word;) {
        out.push_back(find(word));
        if (out.back() < 0) return {};
    }
    return out;
}

WordCorpus parse_corpus(std::string_view text, std::string_view name) {
    WordCorpus corpus{{"(end)"}, {}};
    std::map<std::string, Token, std::less<>> known;
    std::size_t total = 0;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        std::vector<Token> sentence;
        std::istringstream words{line};
        for (std::string word; words >> word;) {
            const auto [found, is_new] = known.emplace(word, static_cast<Token>(corpus.words.size()));
            if (is_new) corpus.words.push_back(word);
            sentence.push_back(found->second);
        }
        total += sentence.size();
        if (sentence.size() > most_in_sentence)
            fail(ErrorCode::limit, printable(name), ": expected sentences of at most ", most_in_sentence,
                 " words, one a line, found ", sentence.size());
        corpus.longest = std::max(corpus.longest, sentence.size());
        if (!sentence.empty()) corpus.sentences.push_back(std::move(sentence));
    }
    if (total < 1 || total > most_words)
        fail(ErrorCode::limit, printable(name), ": expected 1 to ", most_words, " words, found ", total);
    return corpus;
}

WordCorpus built_in_corpus() {
    return parse_corpus(food, "built-in corpus");
}

Distribution uniform(const WordCorpus& corpus) {
    return Distribution(corpus.words.size(), 1.0 / static_cast<double>(corpus.words.size()));
}

Distribution unigram(const WordCorpus& corpus) {
    Distribution counts = zeros(corpus);
    for (const auto& sentence : corpus.sentences)
        for (std::size_t i = 0; i <= sentence.size(); ++i) counts[at(sentence, i)] += 1;
    return normalised(std::move(counts));
}

Distribution after_word(const WordCorpus& corpus, Token word) {
    Distribution counts = zeros(corpus);
    for (const auto& sentence : corpus.sentences)
        for (std::size_t i = 0; i < sentence.size(); ++i)
            if (sentence[i] == word) counts[at(sentence, i + 1)] += 1;
    return normalised(std::move(counts));
}

Distribution after_beginning(const WordCorpus& corpus, std::span<const Token> beginning) {
    Distribution counts = zeros(corpus);
    for (const auto& sentence : corpus.sentences)
        if (sentence.size() >= beginning.size() && std::equal(beginning.begin(), beginning.end(), sentence.begin()))
            counts[at(sentence, beginning.size())] += 1;
    return normalised(std::move(counts));
}

double js_distance(const Distribution& p, const Distribution& q) {
    double divergence = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const double middle = (p[i] + q[i]) / 2;
        if (p[i] > 0) divergence += p[i] / 2 * std::log(p[i] / middle);
        if (q[i] > 0) divergence += q[i] / 2 * std::log(q[i] / middle);
    }
    return std::sqrt(std::max(0.0, divergence));
}

} // namespace ordo::lab
