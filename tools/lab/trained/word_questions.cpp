// SPDX-License-Identifier: MIT
#include "tools/lab/trained/word_questions.h"

#include "core/random.h"
#include "tools/lab/math/numbers.h"

#include <array>
#include <limits>

namespace ordo::lab {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

// The distribution of the word after this beginning of a sentence.
Distribution next_word(Session& session, std::span<const Token> beginning) {
    std::vector<Token> tokens{0};
    tokens.insert(tokens.end(), beginning.begin(), beginning.end());
    session.rewind(0);
    return softmax(session.feed(tokens));
}

double js_or_none(const Distribution& p, const Distribution& q) {
    return p.empty() || q.empty() ? none : js_distance(p, q);
}
double probability(const Distribution& p, Token word) {
    return p.empty() || word < 0 ? none : p[static_cast<std::size_t>(word)];
}

constexpr const char* prompt_words[] = {"food", "is", "good", "carbohydrates", "are"};

// next(beginning) is a Distribution.
template <class Next>
Answers ask(const WordCorpus& corpus, const Prompts& prompts, const Next& next) {
    const auto after = [](const std::vector<Token>& prompt, const auto& distribution) {
        return prompt.empty() ? Distribution() : distribution(prompt);
    };
    const auto in_corpus = [&corpus](std::span<const Token> beginning) { return after_beginning(corpus, beginning); };
    const Distribution after_is = prompts.is < 0 ? Distribution() : after_word(corpus, prompts.is);
    const Distribution truth = after(prompts.carbohydrates_are, in_corpus);
    const Distribution food_is = after(prompts.food_is, next),
                       carbohydrates_are = after(prompts.carbohydrates_are, next);
    const auto right = static_cast<Token>(std::max_element(truth.begin(), truth.end()) - truth.begin());
    Answers a;
    a.food_is = js_or_none(food_is, after_is);
    a.food_is_truth = js_or_none(food_is, after(prompts.food_is, in_corpus));
    a.good_is = js_or_none(after(prompts.good_is, next), after_is);
    a.food_next = probability(carbohydrates_are, prompts.food);
    a.right_next = truth.empty() ? none : probability(carbohydrates_are, right);
    a.food_in_place = probability(after(prompts.before_food, next), prompts.food);
    double nats = 0, words = 0;
    for (const auto& sentence : corpus.sentences)
        for (std::size_t i = 0; i <= sentence.size(); ++i, ++words)
            nats -= std::log(probability(next(std::span(sentence).first(i)), i < sentence.size() ? sentence[i] : 0));
    a.loss = nats / words;
    return a;
}

} // namespace

Prompts prompts_of(const WordCorpus& corpus) {
    Prompts p{corpus.tokens("food is"), corpus.tokens("good is"), corpus.tokens("carbohydrates are"), {},
              corpus.find("food"),      corpus.find("is")};
    if (p.carbohydrates_are.empty() || p.food < 0) return p;
    for (const auto& sentence : corpus.sentences) {
        if (!p.before_food.empty() || sentence.size() < 2 ||
            !std::equal(p.carbohydrates_are.begin(), p.carbohydrates_are.end(), sentence.begin()))
            continue;
        const auto food = std::find(sentence.begin() + 2, sentence.end(), p.food);
        if (food != sentence.end()) p.before_food = {sentence.begin(), food};
    }
    return p;
}

std::string missing_words(const WordCorpus& corpus) {
    std::string missing;
    for (const char* word : prompt_words)
        if (corpus.find(word) < 0) append(missing, text("'", word, "'"));
    return missing;
}

Answers answers_of(const WordCorpus& corpus, const Prompts& prompts, const Distribution& always) {
    return ask(corpus, prompts, [&always](std::span<const Token>) { return always; });
}
Answers answers_of(const WordCorpus& corpus, const Prompts& prompts) {
    return ask(corpus, prompts,
               [&corpus](std::span<const Token> beginning) { return after_beginning(corpus, beginning); });
}
Answers answers_of(const WordCorpus& corpus, const Prompts& prompts, const Model& model) {
    Session session = small_session(model, static_cast<int>(corpus.longest) + 1);
    return ask(corpus, prompts, [&session](std::span<const Token> beginning) { return next_word(session, beginning); });
}

Recipe corpus_recipe(const WordCorpus& corpus, int steps) {
    Recipe r;
    r.length = static_cast<int>(corpus.longest) + 1;
    r.trunk = small_trunk(static_cast<int>(corpus.words.size()), r.length, 1, 8, 64);
    r.batch = static_cast<int>(std::min<std::size_t>(32, corpus.sentences.size()));
    r.steps = steps;
    // Walks through the corpus step by step, and starts over at its end.
    r.draw = [&corpus, batch = r.batch, length = static_cast<std::size_t>(r.length)](
                 std::uint64_t, int step, std::span<Token> tokens, std::span<Token> targets) {
        std::fill(tokens.begin(), tokens.end(), 0);
        std::fill(targets.begin(), targets.end(), -1);
        for (int i = 0; i < batch; ++i) {
            const std::size_t n =
                static_cast<std::size_t>(step) * static_cast<std::size_t>(batch) + static_cast<std::size_t>(i);
            const std::vector<Token>& sentence = corpus.sentences[n % corpus.sentences.size()];
            const std::size_t at = static_cast<std::size_t>(i) * length;
            for (std::size_t j = 0; j < sentence.size(); ++j) tokens[at + j + 1] = targets[at + j] = sentence[j];
            targets[at + sentence.size()] = 0;
        }
    };
    return r;
}

// ---- Who hunts whom ---------------------------------------------------------------------------

namespace {

constexpr int animals = 10;
constexpr Token chases = animals + 1, hunter = animals + 2, prey = animals + 3; // 0 starts, 1 .. 10 are animals
constexpr std::size_t chase_length = 6;                                         // of a sentence with its start

struct Pair {
    Token first, second;
};

// All unordered pairs; the first chase_kept are not trained on.
std::vector<Pair> shuffled_pairs(std::uint64_t seed) {
    std::vector<Pair> pairs;
    for (Token a = 1; a <= animals; ++a)
        for (Token b = a + 1; b <= animals; ++b) pairs.push_back({a, b});
    const Random random(seed, 0xca7);
    shuffle_forward(std::span(pairs), [&](std::size_t i, std::size_t n) { return random.below(i, n); });
    return pairs;
}

std::array<Token, chase_length> sentence_of(Token first, Token second, Token question) {
    return {0, first, chases, second, question, question == hunter ? first : second};
}

} // namespace

Recipe chase_recipe(int layers, int steps) {
    Recipe r;
    r.length = chase_length - 1;
    r.trunk = small_trunk(prey + 1, r.length, layers, 8, 64);
    r.batch = 48;
    r.steps = steps;
    r.lr = 2e-3;
    r.draw = [batch = r.batch](std::uint64_t seed, int step, std::span<Token> tokens, std::span<Token> targets) {
        const std::vector<Pair> pairs = shuffled_pairs(seed);
        const Random random(seed, 0xd06);
        for (std::size_t i = 0; i < static_cast<std::size_t>(batch); ++i) {
            const std::uint64_t n = (static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(batch) + i) * 2;
            const Pair pair = pairs[chase_kept + random.below(n, pairs.size() - chase_kept)];
            const std::uint64_t kind = random.below(n + 1, 4);
            const auto sentence = kind % 2 == 0 ? sentence_of(pair.first, pair.second, kind < 2 ? hunter : prey)
                                                : sentence_of(pair.second, pair.first, kind < 2 ? hunter : prey);
            for (std::size_t j = 0; j + 1 < chase_length; ++j) {
                tokens[i * (chase_length - 1) + j] = sentence[j];
                targets[i * (chase_length - 1) + j] = sentence[j + 1];
            }
        }
    };
    return r;
}

Chase ask_chase(const Model& model, std::uint64_t seed) {
    Session session = small_session(model, chase_length - 1);
    const auto ask = [&session](Token first, Token second, Token question) {
        const auto sentence = sentence_of(first, second, question);
        session.rewind(0);
        return softmax(session.feed(std::span(sentence).first(chase_length - 1)));
    };
    const std::vector<Pair> pairs = shuffled_pairs(seed);
    Chase result;
    int right = 0;
    for (std::size_t i = 0; i < chase_kept; ++i)
        for (const Token question : {hunter, prey}) {
            const auto [a, b] = pairs[i];
            const Distribution ab = ask(a, b, question), ba = ask(b, a, question);
            const double difference_ab = probability(ab, a) - probability(ab, b),
                         difference_ba = probability(ba, a) - probability(ba, b);
            right += (question == hunter ? difference_ab : -difference_ab) > 0;
            right += (question == hunter ? -difference_ba : difference_ba) > 0;
            for (std::size_t word = 0; word < ab.size(); ++word)
                result.change = std::max(result.change, std::abs(ab[word] - ba[word]));
        }
    result.accuracy = right / (4.0 * chase_kept);
    return result;
}

} // namespace ordo::lab
