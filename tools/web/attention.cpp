// SPDX-License-Identifier: MIT
#include "tools/web/attention.h"

#include "core/error.h"
#include "model/stack.h"

#include <algorithm>
#include <cmath>

namespace ordo::web {
namespace {

constexpr std::size_t most_tokens = 512;

// Rotates as a model's encodings do, and keeps the queries and keys from before.
class Recorder final : public Encoding {
public:
    Recorder(const ModelEncodings& stack, const Blueprint& b, std::size_t n)
        : stack_(stack), heads_(static_cast<std::size_t>(b.n_heads)), e_(static_cast<std::size_t>(b.d_head)), n_(n),
          kept_(static_cast<std::size_t>(b.n_layers) * 2 * heads_ * n * e_) {}

    std::string spec() const override { return "recorder"; }
    bool rotates(Role) const override { return true; }
    void rotate(View x, const HeadRows& rows) const override {
        for (int i = 0; i < x.rows && (rows.role == Role::query || rows.role == Role::key); ++i)
            for (int head = 0; head < rows.n_heads; ++head)
                std::copy_n(x.row(i) + static_cast<std::size_t>(head) * e_, e_,
                            at(rows.layer, rows.role, rows.first_head + head, rows.positions[i]));
        stack_.layer(rows.layer).rotate(x, rows);
    }
    float product(int layer, int query_head, int query, int key_head, int key) const {
        const float *q = at(layer, Role::query, query_head, query), *k = at(layer, Role::key, key_head, key);
        float sum = 0;
        for (std::size_t i = 0; i < e_; ++i) sum += q[i] * k[i];
        return sum;
    }

private:
    float* at(int layer, Role role, int head, int position) const {
        const std::size_t side = static_cast<std::size_t>(layer) * 2 + (role == Role::key ? 1 : 0);
        return kept_.data() +
               ((side * heads_ + static_cast<std::size_t>(head)) * n_ + static_cast<std::size_t>(position)) * e_;
    }

    const ModelEncodings& stack_;
    std::size_t heads_, e_, n_;
    mutable std::vector<float> kept_; // [layer][query or key][head][n][e]
};

const char* part_of(unsigned moments) {
    if (moments & (moment_bias | moment_rescore)) return "bias";
    if (moments & moment_rotate) return "rotation";
    return moments & moment_embed ? "input" : "nothing";
}

} // namespace

Attention look(const Model& model, std::span<const Token> tokens) {
    const Model::Impl& m = impl_of(model);
    const Blueprint& b = m.blueprint;
    const std::size_t n = tokens.size(), maps = static_cast<std::size_t>(b.n_layers * b.n_heads);
    if (n > most_tokens) fail(ErrorCode::limit, "text: expected at most ", most_tokens, " tokens, found ", n);
    check_reach(m.encodings, static_cast<std::int64_t>(n));
    Attention seen{std::vector<float>(3 * maps * n * n, std::numeric_limits<float>::quiet_NaN()),
                   part_of(m.encodings.moments())};
    float* const weights = seen.numbers.data();
    float *const scores = weights + maps * n * n, *const plain = scores + maps * n * n;
    std::fill(weights, scores, 0.0f);

    // Only rotations are hidden from the scores that a session reports.
    const std::shared_ptr<const ModelEncodings> stack = m.encodings_for(static_cast<int>(n)).encodings;
    const Recorder* recorder = nullptr;
    std::optional<Model> recorded;
    if (stack->moments() == moment_rotate) {
        auto own = std::make_unique<Recorder>(*stack, b, n);
        recorder = own.get();
        recorded.emplace(model.with_encoding(std::move(own)));
    }
    const auto row = [&](int layer, int head, int query, int key) {
        return (static_cast<std::size_t>(layer * b.n_heads + head) * n + static_cast<std::size_t>(query)) * n +
               static_cast<std::size_t>(key);
    };
    const auto feed = [&](const Model& through, const Watch& watch) {
        Session session(through, {.capacity = static_cast<int>(n), .chunk = static_cast<int>(n)});
        session.watch(watch);
        session.feed(tokens);
    };
    const auto keep = [&](float* map) {
        return [map, &row](int layer, int head, int query, int first_key, std::span<const float> values) {
            std::copy(values.begin(), values.end(), map + row(layer, head, query, first_key));
        };
    };
    const auto keep_both = [plain = keep(plain), scores = keep(scores)](int layer, int head, int query, int first_key,
                                                                        std::span<const float> before,
                                                                        std::span<const float> after) {
        plain(layer, head, query, first_key, before);
        scores(layer, head, query, first_key, after);
    };
    feed(recorded ? *recorded : model, {.states = {}, .weights = keep(weights), .scores = keep_both});
    if ((stack->moments() & ~moment_positions) == moment_embed) {
        const auto keep_plain = [plain = keep(plain)](int layer, int head, int query, int first_key,
                                                      std::span<const float>, std::span<const float> after) {
            plain(layer, head, query, first_key, after);
        };
        feed(model.with_encoding("none"), {.states = {}, .weights = {}, .scores = keep_plain});
    }
    if (recorder == nullptr) return seen;
    for (int layer = 0; layer < b.n_layers; ++layer) {
        const LayerPlan& plan = b.layer(layer);
        const float scale = plan.score_scale != 0 ? plan.score_scale : 1 / std::sqrt(static_cast<float>(b.d_head));
        for (int head = 0; head < b.n_heads; ++head)
            for (int query = 0; query < static_cast<int>(n); ++query)
                for (int key = 0; key < static_cast<int>(n); ++key) {
                    float& score = plain[row(layer, head, query, key)];
                    if (std::isnan(score)) continue;
                    score = scale * recorder->product(layer, head, query, head / (b.n_heads / b.n_kv_heads), key);
                    if (const float cap = plan.attention_softcap; cap > 0) score = cap * std::tanh(score / cap);
                }
    }
    return seen;
}

} // namespace ordo::web
