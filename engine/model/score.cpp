// SPDX-License-Identifier: MIT
#include "model/score.h"

#include "core/error.h"
#include "core/parallel.h"
#include "model/stack.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ordo {

double nll_of(std::span<const float> logits, Token target) {
    const double most = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits) sum += std::exp(logit - most);
    return most + std::log(sum) - logits[target];
}

std::vector<Candidate> likeliest(std::span<const float> logits, int count) {
    std::vector<Token> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    const auto at = [&](Token token) { return logits[token]; };
    const auto kept = std::min(static_cast<std::size_t>(count), order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                      [&](Token a, Token b) { return at(a) != at(b) ? at(a) > at(b) : a < b; });
    const double top = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float x : logits) sum += std::exp(x - top);
    std::vector<Candidate> best;
    for (std::size_t i = 0; i < kept; ++i)
        best.push_back({order[i], static_cast<float>(std::exp(at(order[i]) - top) / sum)});
    return best;
}

std::vector<double> score_continuation(Session& session, std::span<const Token> tokens) {
    std::vector<double> nll(tokens.size() - 1);
    session.feed_all(tokens.first(tokens.size() - 1), TokenRows{}, [&](int first, View logits) {
        parallel_for(logits.rows, 1, [&](std::ptrdiff_t i) {
            const auto at = static_cast<std::size_t>(first + i);
            nll[at] = nll_of({logits.row(static_cast<int>(i)), static_cast<std::size_t>(logits.cols)}, tokens[at + 1]);
        });
    });
    return nll;
}

std::vector<TokenScore> score(const Model& model, std::string_view text) {
    const Model::Impl& m = impl_of(model);
    if (m.blueprint.bidirectional() || m.encoder)
        fail(ErrorCode::usage, m.where, ": score: expected a causal model, found ",
             m.encoder ? "one with an encoder" : "a bidirectional one");
    expect_head(m);
    const std::vector<Token> tokens = model.encode(text, {.start = true});
    if (tokens.size() < 2) return {};
    Session session(model, {.capacity = std::min(static_cast<int>(tokens.size()), model.context())});
    const std::vector<double> nll = score_continuation(session, tokens);
    std::vector<TokenScore> scores;
    for (std::size_t i = 0; i < nll.size(); ++i) scores.push_back({tokens[i + 1], static_cast<float>(-nll[i])});
    return scores;
}

} // namespace ordo
