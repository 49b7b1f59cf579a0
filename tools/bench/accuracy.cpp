// SPDX-License-Identifier: MIT
#include "tools/bench/accuracy.h"

#include "core/error.h"
#include "core/parallel.h"

#include <algorithm>
#include <cmath>

namespace ordo::bench {
namespace {

using Logits = std::span<const float>;

// KL(p || q) = sum of p (ln p - ln q), in double. With logits x and y, sums of exponentials P and Q and
// p = e^x / P this is sum of p (x - y) + ln Q - ln P: one pass.
double divergence(Logits x, Logits y) {
    const double x_most = *std::max_element(x.begin(), x.end()), y_most = *std::max_element(y.begin(), y.end());
    double x_sum = 0, y_sum = 0, difference = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double e = std::exp(x[i] - x_most);
        x_sum += e;
        y_sum += std::exp(y[i] - y_most);
        difference += e * (static_cast<double>(x[i]) - static_cast<double>(y[i]));
    }
    return difference / x_sum + (y_most + std::log(y_sum)) - (x_most + std::log(x_sum));
}

std::ptrdiff_t likeliest(Logits logits) {
    return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

Logits row_of(View logits, std::ptrdiff_t i) {
    return {logits.row(static_cast<int>(i)), static_cast<std::size_t>(logits.cols)};
}

// Two sessions with the same input, and their differences.
class Pair {
public:
    Pair(const Model& reference, const Model& model, const SessionOptions& expected, const SessionOptions& found)
        : reference_(reference, expected), model_(model, found) {}

    void feed(std::span<const Token> window) {
        reference_.rewind(0);
        model_.rewind(0);
        kl_.resize(window.size());
        same_.resize(window.size());
        // Feeds one chunk to the first model, then to the second: whole windows of logits would be large.
        reference_.feed_all(window, TokenRows{}, [&](int first, View expected) {
            const auto at = static_cast<std::size_t>(first);
            const auto chunk = window.subspan(at, expected.rows);
            model_.feed_all(chunk, TokenRows{}, [&](int from, View found) {
                parallel_for(found.rows, 1, [&](std::ptrdiff_t i) {
                    const std::size_t to = at + static_cast<std::size_t>(from + i);
                    const Logits p = row_of(expected, from + i), q = row_of(found, i);
                    kl_[to] = divergence(p, q);
                    same_[to] = likeliest(p) == likeliest(q) ? 1 : 0;
                });
            });
        });
        for (const double kl : kl_) kl_sum_ += kl;
        for (const int same : same_) same_sum_ += same;
        tokens_ += static_cast<std::int64_t>(window.size());
    }

    Accuracy accuracy() const {
        const auto n = static_cast<double>(std::max<std::int64_t>(tokens_, 1));
        return {tokens_, std::max(0.0, kl_sum_ / n), static_cast<double>(same_sum_) / n}; // rounding may give < 0
    }
    std::int64_t tokens() const { return tokens_; }

private:
    Session reference_, model_;
    std::vector<double> kl_;
    std::vector<int> same_;
    double kl_sum_ = 0;
    std::int64_t same_sum_ = 0, tokens_ = 0;
};

} // namespace

Accuracy measure_accuracy(const Model& reference, const Model& model, std::span<const std::vector<Token>> documents,
                          int length, std::int64_t max_tokens, const std::function<void(std::size_t)>& on_document,
                          CacheType cache) {
    if (reference.vocab_size() != model.vocab_size())
        fail(ErrorCode::usage, "accuracy: expected a vocabulary of ", reference.vocab_size(), ", found ",
             model.vocab_size());
    std::size_t longest = 2;
    for (const std::vector<Token>& document : documents) longest = std::max(longest, document.size());
    const std::size_t most = std::min(static_cast<std::size_t>(length), longest);
    const auto capacity = static_cast<int>(most);
    const SessionOptions floats{.capacity = capacity, .chunk = std::min(capacity, 64)};
    SessionOptions kept = floats;
    kept.cache = cache;
    Pair pair(reference, model, floats, kept);
    for (std::size_t d = 0; d < documents.size(); ++d) {
        if (on_document) on_document(d);
        const std::span<const Token> tokens = documents[d];
        // The last token of a window is not fed: the next window has its successor.
        for (std::size_t start = 0; start + 1 < tokens.size(); start += most) {
            std::size_t n = std::min(most, tokens.size() - start) - 1;
            if (max_tokens > 0) n = std::min(n, static_cast<std::size_t>(max_tokens - pair.tokens()));
            if (n > 0) pair.feed(tokens.subspan(start, n));
            if (max_tokens > 0 && pair.tokens() == max_tokens) return pair.accuracy();
        }
    }
    return pair.accuracy();
}

} // namespace ordo::bench
