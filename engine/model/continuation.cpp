// SPDX-License-Identifier: MIT
#include "model/continuation.h"

#include "core/error.h"
#include "core/timer.h"
#include "model/stack.h"

#include <algorithm>
#include <limits>

namespace ordo {
namespace {

using Options = Continuation::Options;

Options checked(const Options& options, const Model& model) {
    if (options.max_tokens < -1) fail(ErrorCode::usage, "max tokens: expected -1 or more, found ", options.max_tokens);
    if (options.keep < -1) fail(ErrorCode::usage, "keep: expected -1 or more, found ", options.keep);
    const Model::Impl& m = impl_of(model);
    if (m.blueprint.bidirectional())
        fail(ErrorCode::usage, m.where, ": a bidirectional model does not continue a text; fill and embed take one");
    expect_head(m);
    if (!m.tokenizer) fail(ErrorCode::model, m.where, ": has no tokenizer");
    return options;
}

std::vector<Token> not_empty(std::vector<Token> tokens) {
    if (tokens.empty()) fail(ErrorCode::usage, "prompt: expected a text, found an empty one");
    return tokens;
}

// The token of a language: eng_Latn as NLLB names it, or __en__ of M2M100.
Token language(const Model::Impl& m, const std::string& name) {
    for (const std::string& spelling : {name, "__" + name + "__"})
        if (const Token token = m.tokenizer->find(spelling); m.tokenizer->is_special(token)) return token;
    fail(ErrorCode::usage, m.where, ": language: expected the name of a special token, such as eng_Latn, en_XX or en, ",
         "found '", printable(name), "'");
}

// mBART's first models begin a text with its language, the later ones, M2M100 and NLLB with an end token.
bool starts_with_language(const SpecialTokens& special) {
    return special.start != special.padding && !special.ends_text(special.start);
}

// A decoder with an encoder begins with a token that its files name, and with the language.
std::vector<Token> start_of(const Model& model, std::string_view prompt, const Options& options) {
    if (!model.has_encoder()) return not_empty(model.encode(prompt, {options.special, options.starts}));
    const Model::Impl& m = impl_of(model);
    const Token to = options.to.empty() ? m.special.forced : language(m, options.to);
    if (!options.to.empty() && starts_with_language(m.special)) return {to};
    if (m.special.start < 0)
        fail(ErrorCode::model, m.where, ": expected a token that the decoder begins with, found none");
    std::vector<Token> start = {m.special.start};
    if (to >= 0) start.push_back(to);
    return start;
}

// The language that the tokenizer's frame names: a token without the brackets of <s> and [CLS]; -1: none.
Token framed_language(const Tokenizer& tokenizer) {
    for (const std::vector<Token>& tokens : {tokenizer.frame().before(), tokenizer.frame().after()})
        for (const Token token : tokens) {
            std::string spelling;
            tokenizer.append(token, spelling, true);
            if (!spelling.empty() && spelling.front() != '<' && spelling.front() != '[') return token;
        }
    return -1;
}

// The input of the encoder: the text in the tokenizer's frame. Models of many languages follow transformers' present
// order, whatever the frame of an older file: language, text, end; or, for mBART's first models, text, end, language.
std::vector<Token> input_of(const Model& model, std::string_view prompt, const Options& options) {
    if (!model.has_encoder()) return {};
    const Model::Impl& m = impl_of(model);
    const Token from = options.from.empty() ? framed_language(*m.tokenizer) : language(m, options.from);
    if (from < 0) return not_empty(encode_framed(*m.tokenizer, prompt, options.special));
    std::vector<Token> tokens;
    const bool behind = starts_with_language(m.special);
    if (!behind) tokens.push_back(from);
    m.tokenizer->encode(prompt, options.special, tokens);
    if (!m.special.end.empty()) tokens.push_back(m.special.end.front());
    if (behind) tokens.push_back(from);
    return tokens;
}

// The end-of-text tokens if they are suppressed, and padding, which models with an encoder never learned to predict.
std::vector<Token> never_drawn(const Model::Impl& m, const Options& options) {
    std::vector<Token> tokens;
    if (options.ignore_end) {
        tokens = m.special.end;
        tokens.insert(tokens.end(), options.also_end.begin(), options.also_end.end());
    }
    if (const Token padding = m.special.padding; m.encoder && padding >= 0 && !m.special.ends_text(padding))
        tokens.push_back(padding);
    return tokens;
}

// Unless the options give a size, the session has room for the requested text. A long context would stay mostly empty,
// and the angles of dynamic NTK depend on it.
Session new_session(const Model& model, const Options& options, std::size_t tokens, std::size_t input) {
    SessionOptions sizes = options.session;
    const std::int64_t wanted = static_cast<std::int64_t>(tokens) + options.max_tokens;
    const int most = std::min(model.context(), model.max_position() - std::max(0, sizes.first_position));
    if (sizes.capacity == 0 && options.max_tokens >= 0 && wanted < most) sizes.capacity = static_cast<int>(wanted);
    if (model.has_encoder() && sizes.input == 0)
        sizes.input = std::max(impl_of(model).encoder->blueprint.context, static_cast<int>(input));
    return Session(model, sizes);
}

} // namespace

Continuation::Continuation(const Model& model, std::string_view prompt, const Options& options, OnText on_text,
                           std::optional<Before> before)
    : model_(model), options_(checked(options, model)), no_prompt_(prompt.empty() || model.has_encoder()),
      on_text_(std::move(on_text)), sampler_(options.sampling, model.vocab_size()),
      input_(input_of(model, prompt, options)), left_out_(never_drawn(impl_of(model), options)),
      tokens_(start_of(model, prompt, options)), first_(tokens_.size()),
      stream_(options.stop, on_text_, impl_of(model).tokenizer->longest()),
      session_(before && input_.empty() ? std::move(before->session)
                                        : new_session(model, options, first_, input_.size())) {
    const auto capacity = static_cast<std::size_t>(session_.capacity());
    keep_ = options.keep < 0 ? first_ : static_cast<std::size_t>(options.keep);
    if (first_ > capacity) {
        if (!options.context_shift || options.keep < 0)
            fail(ErrorReason::prompt_too_long, ErrorCode::limit, "prompt: expected at most ", capacity,
                 " tokens, found ", first_);
        if (keep_ + 2 > capacity)
            fail(ErrorCode::usage, "keep: expected 2 tokens fewer than the ", capacity, " of the context, found ",
                 keep_);
        evicted_ = first_ - keep_ - (capacity - keep_) / 2; // the middle of the prompt is never fed
        result_.left_out = static_cast<int>(evicted_);
    }
    if (before && input_.empty()) begin_with(*before);
    result_.prompt_tokens = static_cast<int>(input_.empty() ? first_ : input_.size());
    tokens_.reserve(capacity + 1); // after this, only tables may be allocated: the text is assembled at the end
    piece_.reserve(impl_of(model).tokenizer->longest());
    if (!left_out_.empty()) allowed_.resize(model.vocab_size());
}

// The tokens of tokens_ that the session holds, or will hold.
std::vector<Token> Continuation::held() const {
    std::vector<Token> tokens = tokens_;
    const auto gone = tokens.begin() + static_cast<std::ptrdiff_t>(keep_);
    tokens.erase(gone, gone + static_cast<std::ptrdiff_t>(evicted_));
    return tokens;
}

// The last token is always fed, for its logits.
void Continuation::begin_with(const Before& before) {
    const std::vector<Token> now = held();
    const auto same = std::mismatch(now.begin(), now.end() - 1, before.tokens.begin(), before.tokens.end());
    int count = std::min(static_cast<int>(same.first - now.begin()), session_.size());
    if (!session_.can_rewind(count)) count = 0;
    session_.rewind(count);
    fed_ = static_cast<std::size_t>(count);
    if (fed_ > keep_) fed_ += evicted_;
}

bool Continuation::feed_prompt(int most) {
    if (fed_ >= first_) return false;
    const Clock::time_point start = Clock::now();
    if (!input_.empty()) session_.encode(input_);
    if (fed_ == keep_) fed_ += evicted_;
    const std::size_t end = evicted_ > 0 && fed_ < keep_ ? keep_ : first_;
    const std::size_t count = std::min(end - fed_, static_cast<std::size_t>(most));
    const std::size_t later = (end < first_ ? first_ - end - evicted_ : 0) + end - fed_ - count; // of the prompt
    logits_ = session_.feed(std::span(tokens_).subspan(fed_, count), TokenRows{{}, {}, {}, static_cast<int>(later)});
    fed_ += count;
    result_.prefill_seconds += seconds_since(start);
    return fed_ < first_;
}

std::span<const float> Continuation::allowed() {
    if (left_out_.empty()) return logits_;
    std::copy(logits_.begin(), logits_.end(), allowed_.begin());
    for (const Token token : left_out_) allowed_[token] = -std::numeric_limits<float>::infinity();
    return allowed_;
}

bool Continuation::ends(Token token) const {
    return impl_of(model_).special.ends_text(token) ||
           std::find(options_.also_end.begin(), options_.also_end.end(), token) != options_.also_end.end();
}

bool Continuation::end(StopReason reason) {
    result_.reason = reason;
    ended_ = true;
    return false;
}

// Appends the i-th token as text. Ids that only pad the vocabulary have no text.
void Continuation::append(std::size_t i, std::string& text) const {
    const Tokenizer& tokenizer = *impl_of(model_).tokenizer;
    const bool begins = no_prompt_ && i == first_;
    if (tokens_[i] < tokenizer.vocab_size()) tokenizer.append(tokens_[i], text, begins);
}

// Evicts half of the tokens after keep_, so that shifts are rare. False if there are none to evict.
bool Continuation::make_room() {
    const auto size = static_cast<std::size_t>(session_.size());
    if (!options_.context_shift || size < keep_ + 2) return false;
    const std::size_t gone = (size - keep_) / 2;
    evicted_ += gone;
    ++result_.shifts;
    if (session_.can_evict()) {
        session_.evict(static_cast<int>(keep_), static_cast<int>(gone));
        remembers_ = true;
        return true;
    }
    session_.rewind(0);
    const std::size_t later = size - keep_ - gone;
    if (keep_ > 0) session_.feed(std::span(tokens_).first(keep_), TokenRows{{}, {}, {}, static_cast<int>(later)});
    session_.feed(std::span(tokens_).subspan(keep_ + evicted_, later));
    return true;
}

bool Continuation::step() {
    if (ended_) return false;
    while (feed_prompt(static_cast<int>(first_))) {
    }
    if (result_.new_tokens == options_.max_tokens) return end(StopReason::max_tokens);
    const Clock::time_point start = Clock::now();
    if (fed_ < tokens_.size()) {
        if (session_.size() == session_.capacity() && !make_room()) return end(StopReason::full);
        logits_ = session_.feed({&tokens_.back(), 1});
        ++fed_;
    }
    const Token token = sampler_.sample(allowed(), tokens_, static_cast<std::uint64_t>(result_.new_tokens));
    if (ends(token)) return end(StopReason::end_of_text);
    if (on_draw_) on_draw_(logits_, token);
    ++result_.new_tokens;
    tokens_.push_back(token);
    piece_.clear();
    append(tokens_.size() - 1, piece_);
    const TextStream::State state = stream_.append(piece_);
    result_.decode_seconds += seconds_since(start);
    return state == TextStream::State::open || end(StopReason::callback);
}

Generation Continuation::finish() {
    ended_ = true;
    const TextStream::State state = stream_.finish();
    if (state == TextStream::State::stopped) result_.reason = StopReason::stop_text;
    if (state == TextStream::State::cancelled) result_.reason = StopReason::callback;
    for (std::size_t i = first_; i < tokens_.size(); ++i) append(i, result_.text);
    result_.text.resize(stream_.passed()); // the passed-on text is a prefix of it
    return result_;
}

Continuation::Before Continuation::release() {
    tokens_.resize(fed_);
    std::vector<Token> tokens = fed_ > keep_ ? held() : tokens_;
    if (remembers_) tokens.resize(keep_); // later tokens hold information about evicted ones
    return {std::move(session_), std::move(tokens)};
}

Generation generate(const Model& model, std::string_view prompt, const GenerateOptions& options,
                    const std::function<bool(std::string_view)>& on_text) {
    Continuation continuation(model, prompt, {options, false}, on_text);
    while (continuation.step()) {
    }
    return continuation.finish();
}

} // namespace ordo
