// SPDX-License-Identifier: MIT
// A continuation, token by token, with the probabilities of its tokens.
#pragma once

#include "model/continuation.h"

#include <optional>

namespace ordo::web {

struct Writing {
    std::string prompt;
    int count = 128;  // new tokens at most
    int capacity = 0; // tokens of the prompt and the text; 0: as many as asked for
    Sampling sampling = {};
    bool ignore_end = false; // do not stop at the end-of-text token
};

struct WrittenToken {
    std::string text; // whole UTF-8 sequences; bytes of a token that ends within one come with the next
    Token id = -1;
    std::optional<float> probability = {}; // none for the first token
    int position = 0;
    bool prompt = false;
    std::vector<Candidate> alternatives = {};
};

class Writer {
public:
    // The model must outlive the writer. Throws the errors of generate().
    Writer(const Model& model, const Writing& writing);
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    const Model& model() const { return model_; }
    // Draws a token; the first step also reads the prompt. False at the end.
    bool step();
    // The tokens since the last call.
    std::vector<WrittenToken> take() { return std::exchange(tokens_, {}); }
    Generation finish();

private:
    Session read_prompt(std::span<const Token> prompt, int capacity);
    bool add(std::string_view text);

    const Model& model_;
    std::vector<WrittenToken> tokens_;
    int position_ = 0;
    double prompt_seconds_ = 0;
    std::optional<Continuation> continuation_;
};

} // namespace ordo::web
