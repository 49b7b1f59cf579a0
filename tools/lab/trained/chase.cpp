// SPDX-License-Identifier: MIT
#include "tools/lab/trained/chase.h"

namespace ordo::lab {
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
    constexpr int length = chase_length - 1;
    Recipe r{.trunk = small_trunk(prey + 1, length, layers, 8, 64),
             .batch = 48,
             .length = length,
             .steps = steps,
             .lr = 2e-3};
    r.draw_each([](std::uint64_t seed, std::uint64_t number, std::span<Token> tokens, std::span<Token> targets) {
        const std::vector<Pair> pairs = shuffled_pairs(seed);
        const Random random(seed, 0xd06);
        const Pair pair = pairs[chase_kept + random.below(2 * number, pairs.size() - chase_kept)];
        const std::uint64_t kind = random.below(2 * number + 1, 4);
        const Token question = kind < 2 ? hunter : prey;
        const auto sentence = kind % 2 == 0 ? sentence_of(pair.first, pair.second, question)
                                            : sentence_of(pair.second, pair.first, question);
        std::copy_n(sentence.begin(), length, tokens.begin());
        std::copy_n(sentence.begin() + 1, length, targets.begin());
    });
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
            const Vector ab = ask(a, b, question), ba = ask(b, a, question);
            const double difference_ab = ab[a] - ab[b], difference_ba = ba[a] - ba[b];
            right += (question == hunter ? difference_ab : -difference_ab) > 0;
            right += (question == hunter ? -difference_ba : difference_ba) > 0;
            for (std::size_t word = 0; word < ab.size(); ++word)
                result.change = std::max(result.change, std::abs(ab[word] - ba[word]));
        }
    result.accuracy = right / (4.0 * chase_kept);
    return result;
}

Share accuracy_of(const std::vector<Chase>& seeds) {
    Vector values;
    for (const Chase& chase : seeds) values.push_back(chase.accuracy);
    return share_of(values, 4.0 * chase_kept);
}

} // namespace ordo::lab
