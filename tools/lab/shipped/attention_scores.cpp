// SPDX-License-Identifier: MIT
#include "tools/lab/shipped/attention_scores.h"

#include "tools/opening/scores.h"

namespace ordo::lab {
namespace {

// A repetition or its control: the start of a text, if any, n tokens, and n more.
struct Sequence {
    std::vector<Token> repeated, other;
    int first, n; // index of the first of the n
};

Sequence draw_sequence(const Model& model, std::span<const Token> vocabulary, const RepetitionPlan& plan,
                       std::uint64_t seed, int number) {
    const Random random(seed, 0xa77e + (static_cast<std::uint64_t>(number) << 20));
    const std::size_t n = plan.shortest + random.below(0, plan.longest - plan.shortest + 1);
    std::vector<Token> drawn(vocabulary.begin(), vocabulary.end());
    shuffle_forward(std::span(drawn), [&](std::size_t i, std::size_t left) { return random.below(1 + i, left); });
    Sequence out{{}, {}, 0, static_cast<int>(n)};
    if (model.start_of_text() >= 0) out.repeated.push_back(model.start_of_text());
    out.first = static_cast<int>(out.repeated.size());
    out.other = out.repeated;
    const auto put = [&](std::vector<Token>& to, std::size_t from) {
        for (std::size_t i = 0; i < n; ++i) to.push_back(drawn[from + i]);
    };
    put(out.repeated, 0), put(out.repeated, 0);
    put(out.other, n), put(out.other, 0);
    return out;
}

// The key that a head of this kind attends to from a query; -1: none.
int key_of(HeadKind kind, const Sequence& s, int query) {
    const int second = s.first + s.n, end = second + s.n;
    if (kind == HeadKind::previous) return query - 1;
    if (query < second) return -1;
    if (kind == HeadKind::duplicate) return query - s.n;
    return query + 1 < end ? query - s.n + 1 : -1; // the token after the last one has not come yet
}

// The mean weight of each head on the keys of each kind.
OfKinds<Vector> mean_weights(Session& session, int count, int heads, const Sequence& s, std::span<const Token> tokens) {
    const auto n = static_cast<int>(tokens.size());
    OfKinds<Vector> weights; // [kind][head][query], because several threads report weights at once
    weights.fill(Vector(count * n));
    session.watch({.states = {}, .weights = [&](int layer, int head, int query, int first_key, auto row) {
                       for (const HeadKind kind : head_kinds) {
                           const int key = key_of(kind, s, query) - first_key;
                           if (key >= 0 && key < static_cast<int>(row.size()))
                               weights[kind][(layer * heads + head) * n + query] = static_cast<double>(row[key]);
                       }
                   }});
    session.rewind(0);
    session.feed(tokens);
    session.watch({});
    OfKinds<Vector> means;
    for (const HeadKind kind : head_kinds) {
        int queries = 0;
        for (int q = 0; q < n; ++q) queries += key_of(kind, s, q) >= 0;
        for (int head = 0; head < count; ++head) {
            const auto from = weights[kind].begin() + head * n;
            means[kind].push_back(std::accumulate(from, from + n, 0.0) / queries);
        }
    }
    return means;
}

// The weight for a head that attends equally to all keys up to the query.
double uniform_weight(HeadKind kind, const Sequence& s) {
    double sum = 0;
    int queries = 0;
    for (int q = 0; q < static_cast<int>(s.repeated.size()); ++q)
        if (key_of(kind, s, q) >= 0) sum += 1.0 / (q + 1), ++queries;
    return sum / queries;
}

// The mean cost in nats of the second n tokens, except the first of them, which nothing predicts.
double cost(Session& session, const Sequence& s, std::span<const Token> tokens) {
    const Vector nll = tools::score_window(session, tokens); // of tokens 1, 2, ...
    const auto from = nll.begin() + s.first + s.n;
    return std::accumulate(from, nll.end(), 0.0) / static_cast<double>(nll.end() - from);
}

std::vector<Token> plain_tokens(const Model& model) {
    std::vector<Token> all;
    for (Token token = 0; token < model.vocab_size(); ++token)
        if (token != model.start_of_text() && token != model.end_of_text()) all.push_back(token);
    return all;
}

} // namespace

const char* name_of(HeadKind kind) {
    constexpr const char* names[] = {"previous-token", "duplicate-token", "induction"};
    return names[static_cast<std::size_t>(kind)];
}

std::vector<AttentionMap> attention_maps(const Model& model, std::span<const Token> tokens) {
    const auto n = static_cast<int>(tokens.size());
    const Blueprint& b = blueprint_of(model);
    check_reach(encodings_of(model), n);
    std::vector<AttentionMap> maps(b.n_layers * b.n_heads);
    for (AttentionMap& map : maps) map.assign(tokens.size(), Vector(tokens.size(), std::nan("")));
    Session session(model, {.capacity = n, .chunk = n});
    session.watch({.states = {}, .weights = [&](int layer, int head, int query, int first_key, auto row) {
                       AttentionMap& map = maps[layer * b.n_heads + head];
                       std::copy(row.begin(), row.end(), map[query].begin() + first_key);
                   }});
    session.feed(tokens);
    return maps;
}

HeadScores head_scores(const Model& model, const RepetitionPlan& plan, std::uint64_t seed,
                       const std::function<void()>& progress) {
    const Blueprint& b = blueprint_of(model);
    const std::vector<Token> vocabulary = plain_tokens(model);
    const int longest = 2 * plan.longest + (model.start_of_text() >= 0 ? 1 : 0);
    if (static_cast<int>(vocabulary.size()) < 2 * plan.longest)
        fail(ErrorCode::usage, "attention: expected a vocabulary of ", 2 * plan.longest, " tokens or more, found ",
             vocabulary.size());
    if (model.max_position() < longest)
        fail(ErrorCode::usage, "attention: expected a model of ", longest, " positions or more, found ",
             model.max_position());
    HeadScores out;
    out.layers = b.n_layers;
    out.heads = b.n_heads;
    for (auto* side : {&out.score, &out.control}) side->fill(std::vector<Vector>(out.count()));
    Session session(model, {.capacity = longest, .chunk = longest});
    for (int number = 0; number < plan.sequences; ++number) {
        progress();
        const Sequence s = draw_sequence(model, vocabulary, plan, seed, number);
        for (auto [tokens, side] : {std::pair{&s.repeated, &out.score}, {&s.other, &out.control}}) {
            const OfKinds<Vector> means = mean_weights(session, out.count(), out.heads, s, *tokens);
            for (const HeadKind kind : head_kinds)
                for (int head = 0; head < out.count(); ++head) (*side)[kind][head].push_back(means[kind][head]);
        }
        for (const HeadKind kind : head_kinds) out.uniform[kind] += uniform_weight(kind, s) / plan.sequences;
        out.gain.push_back(cost(session, s, s.other) - cost(session, s, s.repeated));
    }
    return out;
}

std::string head_name(const HeadScores& scores, int head) {
    return text("layer ", head / scores.heads, " head ", head % scores.heads);
}

Vector over_control(const HeadScores& scores, HeadKind kind, int head) {
    const Vector& score = scores.score[kind][head];
    return kind == HeadKind::previous ? score : minus(score, scores.control[kind][head]);
}

namespace {

// Every second value. One half selects a head and the other half measures it, so the selection does not bias the score.
Vector half_of(const Vector& values, std::size_t first) {
    Vector out;
    for (std::size_t i = first; i < values.size(); i += 2) out.push_back(values[i]);
    return out;
}

} // namespace

Best best_of(const HeadScores& scores, HeadKind kind) {
    Best best;
    double most = -HUGE_VAL;
    for (int head = 0; head < scores.count(); ++head)
        if (const double mean = mean_of(half_of(over_control(scores, kind, head), 0)).mean; mean > most)
            most = mean, best.head = head;
    best.score = share_of(half_of(scores.score[kind][best.head], 1));
    best.over = mean_of(half_of(over_control(scores, kind, best.head), 1));
    if (kind == HeadKind::previous) best.over.mean -= scores.uniform[kind];
    return best;
}

std::string label_of(const Model& model, Token token) {
    const Token one[] = {token};
    if (token == model.start_of_text()) return "(start)";
    std::string out = model.decode(one);
    std::replace(out.begin(), out.end(), '\n', ' ');
    return out.empty() ? text("#", token) : printable(out);
}

} // namespace ordo::lab
