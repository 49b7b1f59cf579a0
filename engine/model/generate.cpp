// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "core/timer.h"
#include "model/model.h"
#include "model/text_stream.h"

namespace ordo {
namespace {

// A prompt begins as documents did in training.
std::vector<Token> start_of(const Model& model, std::string_view prompt, bool special) {
    std::vector<Token> tokens;
    if (model.start_of_text() >= 0) tokens.push_back(model.start_of_text());
    const std::vector<Token> encoded = model.encode(prompt, special);
    tokens.insert(tokens.end(), encoded.begin(), encoded.end());
    if (tokens.empty()) fail(ErrorCode::usage, "prompt: expected a text, found an empty one");
    return tokens;
}

} // namespace

Generation generate(const Model& model, std::string_view prompt, const GenerateOptions& options,
                    const std::function<bool(std::string_view)>& on_text) {
    if (options.max_tokens < -1) fail(ErrorCode::usage, "max tokens: expected -1 or more, found ", options.max_tokens);
    if (impl_of(model).blueprint.bidirectional())
        fail(ErrorCode::usage, impl_of(model).where, ": a bidirectional model does not continue a text");
    Sampler sampler(options.sampling, model.vocab_size());
    std::vector<Token> tokens = start_of(model, prompt, options.special);
    const Tokenizer& tokenizer = *impl_of(model).tokenizer; // or start_of() would have thrown
    TextStream stream(options.stop, on_text, tokenizer.longest());
    Session session(model, options.session);
    const auto capacity = static_cast<std::size_t>(session.capacity());
    if (tokens.size() > capacity)
        fail(ErrorCode::limit, "prompt: expected at most ", capacity, " tokens, found ", tokens.size());

    Generation result;
    result.prompt_tokens = static_cast<int>(tokens.size());
    Clock::time_point start = Clock::now();
    std::span<const float> logits = session.feed(tokens);
    result.prefill_seconds = seconds_since(start);

    // From here to the end of the loop nothing is allocated: the text is put together afterwards.
    tokens.reserve(capacity + 1);
    std::string piece;
    piece.reserve(tokenizer.longest());
    start = Clock::now();
    auto state = TextStream::State::open;
    while (result.new_tokens != options.max_tokens) {
        const Token token = sampler.sample(logits, tokens, static_cast<std::uint64_t>(result.new_tokens));
        if (impl_of(model).special.ends_text(token)) {
            result.reason = StopReason::end_of_text;
            break;
        }
        ++result.new_tokens;
        tokens.push_back(token);
        piece.clear();
        if (token < tokenizer.vocab_size()) // or it is no text
            tokenizer.append(token, piece, prompt.empty() && result.new_tokens == 1);
        state = stream.append(piece);
        if (state != TextStream::State::open || result.new_tokens == options.max_tokens) break;
        if (tokens.size() > capacity) {
            result.reason = StopReason::full;
            break;
        }
        logits = session.feed({&tokens.back(), 1});
    }
    state = stream.finish();
    if (state == TextStream::State::stopped) result.reason = StopReason::stop_text;
    if (state == TextStream::State::cancelled) result.reason = StopReason::callback;
    result.decode_seconds = seconds_since(start);
    const auto begin = static_cast<std::size_t>(result.prompt_tokens);
    for (std::size_t i = begin; i < tokens.size(); ++i)
        if (tokens[i] < tokenizer.vocab_size()) tokenizer.append(tokens[i], result.text, prompt.empty() && i == begin);
    result.text.resize(stream.passed()); // what was passed on is how it begins
    return result;
}

} // namespace ordo
