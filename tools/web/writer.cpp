// SPDX-License-Identifier: MIT
#include "tools/web/writer.h"

#include "core/error.h"
#include "core/timer.h"
#include "model/score.h"
#include "tools/web/models.h"

#include <algorithm>
#include <cmath>

namespace ordo::web {
namespace {

constexpr int alternatives = 6;

WrittenToken token_under(std::span<const float> logits, Token token, int position, bool prompt) {
    return {{},       token,  static_cast<float>(std::exp(-nll_of(logits, token))),
            position, prompt, likeliest(logits, alternatives)};
}

} // namespace

Writer::Writer(const Model& model, const Writing& writing) : model_(model) {
    const std::vector<Token> prompt = tokens_of(model, writing.prompt);
    const std::int64_t wanted = static_cast<std::int64_t>(prompt.size()) + writing.count;
    Continuation::Options options;
    options.max_tokens = writing.count;
    options.sampling = writing.sampling;
    options.ignore_end = writing.ignore_end;
    options.session.capacity = writing.capacity > 0
                                   ? writing.capacity
                                   : static_cast<int>(std::min<std::int64_t>(wanted, model.max_position()));
    // A prompt that does not fit is left to the continuation, which says so.
    std::optional<Continuation::Before> before;
    if (static_cast<int>(prompt.size()) <= options.session.capacity)
        before.emplace(Continuation::Before{read_prompt(prompt, options.session.capacity), prompt});
    continuation_.emplace(
        model, writing.prompt, options, [this](std::string_view text) { return add(text); }, std::move(before));
    continuation_->on_draw([this](std::span<const float> logits, Token token) {
        tokens_.push_back(token_under(logits, token, position_++, false));
    });
}

// The continuation computes the last token of the prompt again.
Session Writer::read_prompt(std::span<const Token> prompt, int capacity) {
    const Clock::time_point start = Clock::now();
    Session session(model_, {.capacity = capacity});
    tokens_.push_back({{}, prompt[0], {}, position_++, true});
    session.feed_all(prompt, {}, [&](int first, View rows) {
        for (int i = 0; i < rows.rows && first + i + 1 < static_cast<int>(prompt.size()); ++i)
            tokens_.push_back(token_under({rows.row(i), static_cast<std::size_t>(rows.cols)},
                                          prompt[static_cast<std::size_t>(first + i + 1)], position_++, true));
    });
    prompt_seconds_ = seconds_since(start);
    const TextStream::Sink sink = [this](std::string_view text) { return add(text); };
    std::vector<WrittenToken> all = take();
    TextStream stream({}, sink);
    for (WrittenToken& token : all) {
        tokens_.push_back(std::move(token));
        if (tokens_.back().id != model_.start_of_text()) stream.append(token_text(model_, tokens_.back().id));
    }
    return session;
}

bool Writer::add(std::string_view text) {
    if (!tokens_.empty()) tokens_.back().text += text;
    return true;
}

bool Writer::step() {
    return continuation_->step();
}

Generation Writer::finish() {
    Generation result = continuation_->finish();
    result.prefill_seconds += prompt_seconds_;
    return result;
}

} // namespace ordo::web
