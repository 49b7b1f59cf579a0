// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "core/timer.h"
#include "model/model.h"
#include "model/text_stream.h"

#include <algorithm>

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

// The token that a decoder begins with, which its files name.
Token decoder_start(const Model& model) {
    if (model.start_of_text() < 0)
        fail(ErrorCode::model, impl_of(model).where, ": expected a token that the decoder begins with, found none");
    return model.start_of_text();
}

// What goes into an encoder.
std::vector<Token> input_of(const Model& model, std::string_view text, bool special) {
    const Model::Impl& m = impl_of(model);
    if (!m.tokenizer) fail(ErrorCode::model, m.where, ": has no tokenizer");
    std::vector<Token> tokens = encode_framed(*m.tokenizer, text, special);
    if (tokens.empty()) fail(ErrorCode::usage, "prompt: expected a text, found an empty one");
    return tokens;
}

// Logits without the padding token, which models with an encoder were trained to predict nowhere.
class WithoutPadding {
public:
    explicit WithoutPadding(const Model::Impl& m) {
        const Token padding = m.special.padding;
        if (!m.encoder || padding < 0 || m.special.ends_text(padding)) return;
        padding_ = static_cast<std::size_t>(padding);
        copy_.resize(static_cast<std::size_t>(m.blueprint.vocab_size));
    }
    std::span<const float> operator()(std::span<const float> logits) {
        if (copy_.empty()) return logits;
        std::copy(logits.begin(), logits.end(), copy_.begin());
        copy_[padding_] = -std::numeric_limits<float>::infinity();
        return copy_;
    }

private:
    std::size_t padding_ = 0;
    std::vector<float> copy_;
};

// A session that has taken in what stands before the text, and the logits after it.
struct Begun {
    Session session;
    std::vector<Token> tokens; // fed to it
    int prompt_tokens;         // of the prompt, whichever stack took them
    std::span<const float> logits;
    double seconds; // of taking them in
};

Begun begin(const Model& model, std::string_view prompt, const GenerateOptions& options) {
    const bool answers = model.has_encoder();
    const std::vector<Token> input = answers ? input_of(model, prompt, options.special) : std::vector<Token>();
    std::vector<Token> tokens =
        answers ? std::vector<Token>{decoder_start(model)} : start_of(model, prompt, options.special);
    SessionOptions sizes = options.session;
    if (answers && sizes.input == 0)
        sizes.input = std::max(impl_of(model).encoder->blueprint.context, static_cast<int>(input.size()));
    Session session(model, sizes);
    const auto capacity = static_cast<std::size_t>(session.capacity());
    if (tokens.size() > capacity)
        fail(ErrorCode::limit, "prompt: expected at most ", capacity, " tokens, found ", tokens.size());
    const Clock::time_point start = Clock::now();
    if (answers) session.encode(input);
    const auto count = static_cast<int>(answers ? input.size() : tokens.size());
    const std::span<const float> logits = session.feed(tokens);
    return {std::move(session), std::move(tokens), count, logits, seconds_since(start)};
}

} // namespace

Generation generate(const Model& model, std::string_view prompt, const GenerateOptions& options,
                    const std::function<bool(std::string_view)>& on_text) {
    if (options.max_tokens < -1) fail(ErrorCode::usage, "max tokens: expected -1 or more, found ", options.max_tokens);
    if (impl_of(model).blueprint.bidirectional())
        fail(ErrorCode::usage, impl_of(model).where, ": a bidirectional model does not continue a text");
    Sampler sampler(options.sampling, model.vocab_size());
    if (!impl_of(model).tokenizer) fail(ErrorCode::model, impl_of(model).where, ": has no tokenizer");
    const Tokenizer& tokenizer = *impl_of(model).tokenizer;
    TextStream stream(options.stop, on_text,
                      tokenizer.longest()); // refuses what it cannot stop at, before anything is computed
    WithoutPadding allowed(impl_of(model));

    Generation result;
    Begun begun = begin(model, prompt, options);
    result.prefill_seconds = begun.seconds;
    result.prompt_tokens = begun.prompt_tokens;
    Session& session = begun.session;
    std::vector<Token>& tokens = begun.tokens;
    std::span<const float> logits = begun.logits;
    const auto capacity = static_cast<std::size_t>(session.capacity());
    const std::size_t first = tokens.size();
    const bool bare = prompt.empty() || model.has_encoder(); // no text stands before it

    // From here to the end of the loop nothing is allocated: the text is put together afterwards.
    tokens.reserve(capacity + 1);
    std::string piece;
    piece.reserve(tokenizer.longest());
    const Clock::time_point start = Clock::now();
    auto state = TextStream::State::open;
    while (result.new_tokens != options.max_tokens) {
        const Token token = sampler.sample(allowed(logits), tokens, static_cast<std::uint64_t>(result.new_tokens));
        if (impl_of(model).special.ends_text(token)) {
            result.reason = StopReason::end_of_text;
            break;
        }
        ++result.new_tokens;
        tokens.push_back(token);
        piece.clear();
        if (token < tokenizer.vocab_size()) // or it is no text
            tokenizer.append(token, piece, bare && result.new_tokens == 1);
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
    for (std::size_t i = first; i < tokens.size(); ++i)
        if (tokens[i] < tokenizer.vocab_size()) tokenizer.append(tokens[i], result.text, bare && i == first);
    result.text.resize(stream.passed()); // what was passed on is how it begins
    return result;
}

} // namespace ordo
