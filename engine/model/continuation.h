// SPDX-License-Identifier: MIT
// A text that is continued token by token: generate(), one step at a time.
#pragma once

#include "model/text_stream.h"
#include "ordo.h"

#include <optional>

namespace ordo {

class Continuation {
public:
    using OnText = TextStream::Sink; // false stops
    // Receives the logits from which a token was drawn, before they are overwritten.
    using OnDraw = std::function<void(std::span<const float> logits, Token token)>;

    struct Options : GenerateOptions {
        bool ignore_end = false;          // do not stop at the end-of-text token
        std::vector<Token> also_end = {}; // further tokens that end the text
        bool starts = true;               // begin the prompt with the start token, if the model has one
    };

    // A session of the same model, and its tokens. Another text that begins with them need not feed them again, except
    // for an encoder's prompt.
    struct Before {
        Session session;
        std::vector<Token> tokens;
    };

    // Does not compute anything yet. Throws the errors of generate().
    Continuation(const Model& model, std::string_view prompt, const Options& options, OnText on_text = {},
                 std::optional<Before> before = {});
    Continuation(const Continuation&) = delete;
    Continuation& operator=(const Continuation&) = delete;

    int prompt_tokens() const { return result_.prompt_tokens; }
    int left_out() const { return result_.left_out; }    // prompt tokens that were dropped
    int capacity() const { return session_.capacity(); } // tokens of the context
    bool can_evict() const { return session_.can_evict(); }
    int fed() const { return static_cast<int>(input_.empty() ? fed_ : fed_ > 0 ? input_.size() : 0); } // of the prompt
    // Feeds at most `most` tokens of the prompt; false when all are fed.
    bool feed_prompt(int most);
    // Draws one more token; false at the end. Allocates nothing, except when the context shifts.
    bool step();
    void on_draw(OnDraw call) { on_draw_ = std::move(call); }
    // Ends the text: passes on the text that was held back.
    Generation finish();
    // Returns the session in its current state, for another prompt.
    Before release();

private:
    std::span<const float> allowed();
    bool ends(Token token) const;
    bool end(StopReason reason);
    bool make_room();
    std::vector<Token> held() const;
    void begin_with(const Before& before);
    void append(std::size_t i, std::string& text) const;

    const Model& model_;
    const Options options_;
    const bool no_prompt_;
    const OnText on_text_;
    OnDraw on_draw_;
    Sampler sampler_;
    const std::vector<Token> input_;    // of an encoder: the prompt
    const std::vector<Token> left_out_; // tokens that are never drawn
    std::vector<Token> tokens_;         // of the prompt, or a decoder's start token, then the generated tokens
    const std::size_t first_;           // of the generated tokens
    TextStream stream_;
    Session session_;
    std::size_t fed_ = 0;     // tokens of tokens_ that the session has
    std::size_t keep_ = 0;    // tokens of tokens_ that stay when the context shifts
    std::size_t evicted_ = 0; // tokens after those
    bool remembers_ = false;  // the session's tokens hold information about evicted ones
    std::span<const float> logits_;
    std::vector<float> allowed_; // logits, where some tokens are suppressed
    std::string piece_;
    bool ended_ = false;
    Generation result_;
};

} // namespace ordo
