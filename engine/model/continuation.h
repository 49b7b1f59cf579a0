// SPDX-License-Identifier: MIT
// A text that is continued token by token: what generate() does, a step at a time.
#pragma once

#include "model/text_stream.h"

#include <optional>

namespace ordo {

// The tokens of a prompt: the token that begins a text of the model, as in training, and the text's. A beginning that
// the text names itself, which only special reads as a token, is not put before it again.
std::vector<Token> tokens_of_prompt(const Model& model, std::string_view prompt, bool special);

class Continuation {
public:
    using OnText = TextStream::Sink; // false stops
    // Sees the logits that a token was drawn from, before they are written over.
    using OnDraw = std::function<void(std::span<const float> logits, Token token)>;

    struct Options : GenerateOptions {
        bool ignore_end = false;          // never draw what ends a text
        std::vector<Token> also_end = {}; // tokens that end it beside the model's own
    };

    // A session of the same model, and the tokens in it that another text may begin with: they need not be fed again,
    // but for an encoder's prompt.
    struct Before {
        Session session;
        std::vector<Token> tokens;
    };

    // Nothing is computed yet. Throws what generate() throws.
    Continuation(const Model& model, std::string_view prompt, const Options& options, OnText on_text = {},
                 std::optional<Before> before = {});
    Continuation(const Continuation&) = delete;
    Continuation& operator=(const Continuation&) = delete;

    int prompt_tokens() const { return result_.prompt_tokens; }
    int left_out() const { return result_.left_out; }    // of those
    int capacity() const { return session_.capacity(); } // tokens of the context
    bool can_evict() const { return session_.can_evict(); }
    int fed() const { return static_cast<int>(input_.empty() ? fed_ : fed_ > 0 ? input_.size() : 0); } // of those
    // Feeds at most so many tokens of the prompt; false once all have been.
    bool feed_prompt(int most);
    // Draws one token more. False if there are none to come. Allocates nothing, but where the context shifts.
    bool step();
    void on_draw(OnDraw call) { on_draw_ = std::move(call); }
    // No more are wanted: what was held back is passed on.
    Generation finish();
    // The session as it is now, for another prompt.
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
    std::vector<Token> tokens_;         // of the prompt, or what a decoder begins with, and of what follows
    const std::size_t first_;           // of what follows
    TextStream stream_;
    Session session_;
    std::size_t fed_ = 0;     // of tokens_, to the session
    std::size_t keep_ = 0;    // of tokens_, that stay when the context shifts
    std::size_t evicted_ = 0; // after those
    bool remembers_ = false;  // the session's tokens know some that were evicted
    std::span<const float> logits_;
    std::vector<float> allowed_; // logits, where some are left out
    std::string piece_;
    bool ended_ = false;
    Generation result_;
};

} // namespace ordo
