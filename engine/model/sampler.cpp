// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "core/random.h"
#include "ordo.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ordo {
namespace {

constexpr std::uint64_t stream = 0; // the counter's upper half: other uses of a seed have other streams

void check(const Sampling& s, int vocab_size) {
    if (vocab_size < 1) fail(ErrorCode::usage, "sampling: expected a vocabulary of 1 or more, found ", vocab_size);
    // A NaN fails this comparison.
    if (!(s.temperature >= 0 && s.temperature <= std::numeric_limits<float>::max()))
        fail(ErrorCode::usage, "temperature: expected 0 or more, found ", s.temperature);
    if (s.top_k < 0) fail(ErrorCode::usage, "top-k: expected 0 or more, found ", s.top_k);
    if (!(s.top_p > 0 && s.top_p <= 1))
        fail(ErrorCode::usage, "top-p: expected more than 0 and at most 1, found ", s.top_p);
    if (!(s.min_p >= 0 && s.min_p <= 1)) fail(ErrorCode::usage, "min-p: expected 0 to 1, found ", s.min_p);
    if (!(s.repeat_penalty > 0 && s.repeat_penalty <= std::numeric_limits<float>::max()))
        fail(ErrorCode::usage, "repeat penalty: expected more than 0, found ", s.repeat_penalty);
    if (s.repeat_last_n < -1)
        fail(ErrorCode::usage, "repeat-last-n: expected -1 or more tokens, found ", s.repeat_last_n);
}

// Keskar et al. 2019 (arXiv 1909.05858), as in llama.cpp: negative logits are multiplied. A token counts once, however
// often it occurred.
void penalise(const Sampling& s, std::span<const float> logits, std::span<const Token> history,
              std::span<float> scores) {
    if (s.repeat_penalty == 1) return;
    const std::size_t n =
        s.repeat_last_n < 0 ? history.size() : std::min(history.size(), static_cast<std::size_t>(s.repeat_last_n));
    for (const Token token : history.last(n)) {
        if (token < 0 || static_cast<std::size_t>(token) >= logits.size()) continue;
        const auto i = static_cast<std::size_t>(token);
        scores[i] = logits[i] > 0 ? logits[i] / s.repeat_penalty : logits[i] * s.repeat_penalty;
    }
}

// The number of sorted candidates that top-p (Holtzman et al. 2020, arXiv 1904.09751) keeps: the fewest whose
// probabilities reach p, at least one.
std::size_t nucleus(std::span<const float> scores, std::span<const std::int32_t> candidates, double p) {
    if (p >= 1) return candidates.size();
    const double top = scores[candidates.front()];
    const auto weight = [&](std::int32_t id) { return std::exp(scores[id] - top); };
    double total = 0;
    for (const std::int32_t id : candidates) total += weight(id);
    double sum = 0;
    for (std::size_t n = 0; n < candidates.size(); ++n) {
        sum += weight(candidates[n]);
        if (sum >= p * total) return n + 1;
    }
    return candidates.size();
}

// The number of sorted candidates with at least min_p times the probability of the first.
std::size_t above_least(std::span<const float> scores, std::span<const std::int32_t> candidates, double min_p) {
    if (min_p <= 0) return candidates.size();
    const double least = scores[candidates.front()] + std::log(min_p);
    std::size_t n = 1;
    while (n < candidates.size() && scores[candidates[n]] >= least) ++n;
    return n;
}

} // namespace

Sampler::Sampler(const Sampling& sampling, int vocab_size) : sampling_(sampling) {
    check(sampling, vocab_size);
    scores_.resize(vocab_size);
    order_.resize(vocab_size);
}

Token Sampler::sample(std::span<const float> logits, std::span<const Token> history, std::uint64_t n) {
    if (logits.size() != scores_.size())
        fail(ErrorCode::usage, "sampling: expected ", scores_.size(), " logits, found ", logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) // -inf marks a suppressed token
        if (!(logits[i] <= std::numeric_limits<float>::max()))
            fail(ErrorCode::model, "sampling: logit ", i, ": expected a finite value, found ", logits[i]);
    std::copy(logits.begin(), logits.end(), scores_.begin());
    penalise(sampling_, logits, history, scores_);

    const auto better = [this](std::int32_t a, std::int32_t b) {
        const float x = scores_[a], y = scores_[b];
        return x != y ? x > y : a < b;
    };
    const auto best = std::max_element(scores_.begin(), scores_.end()); // the first of equals
    if (*best == -std::numeric_limits<float>::infinity())
        fail(ErrorCode::model, "sampling: expected a finite logit, found none");
    if (sampling_.temperature == 0) return static_cast<Token>(best - scores_.begin());
    std::iota(order_.begin(), order_.end(), 0);
    std::size_t kept = order_.size();
    if (sampling_.top_k > 0) kept = std::min(kept, static_cast<std::size_t>(sampling_.top_k));
    std::partial_sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(kept), order_.end(), better);
    std::span<const std::int32_t> candidates(order_.data(), kept);
    candidates = candidates.first(nucleus(scores_, candidates, sampling_.top_p));
    candidates = candidates.first(above_least(scores_, candidates, sampling_.min_p));

    const double top = *best;
    const auto weight = [&](std::int32_t id) { return std::exp((scores_[id] - top) / sampling_.temperature); };
    double total = 0;
    for (const std::int32_t id : candidates) total += weight(id);
    const double drawn = Random(sampling_.seed, stream).uniform(n) * total;
    double sum = 0;
    for (const std::int32_t id : candidates) {
        sum += weight(id);
        if (drawn < sum) return id;
    }
    return candidates.front(); // rounding made the sum less than the draw
}

} // namespace ordo
