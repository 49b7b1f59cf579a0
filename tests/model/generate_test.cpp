// SPDX-License-Identifier: MIT
#include "core/utf8.h"
#include "model/continuation.h"
#include "tests/expect_error.h"
#include "tests/model/small_models.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

constexpr Token end_of_text = 256; // of the byte tokenizer

// Repeats a text byte by byte without end. The bytes of the text must differ.
Model repeating(const std::string& text) {
    std::map<Token, std::vector<Token>> follow;
    for (std::size_t i = 0; i < text.size(); ++i)
        follow[static_cast<unsigned char>(text[i])] = {static_cast<unsigned char>(text[(i + 1) % text.size()])};
    follow[end_of_text] = {static_cast<unsigned char>(text[0])};
    return scripted_model(follow);
}

GenerateOptions greedy(int max_tokens) {
    GenerateOptions options;
    options.max_tokens = max_tokens;
    options.sampling.temperature = 0;
    return options;
}

TEST(Generate, ContinuesThePromptAndStreamsWhatItReturns) {
    const Model model = repeating("abcd");
    std::string streamed;
    const Generation g = generate(model, "ab", greedy(6), [&](std::string_view text) {
        streamed += text;
        return true;
    });
    EXPECT_EQ(g.text, "cdabcd");
    EXPECT_EQ(streamed, g.text);
    EXPECT_EQ(g.reason, StopReason::max_tokens);
    EXPECT_EQ(g.prompt_tokens, 3); // the end-of-text token, a and b
    EXPECT_EQ(g.new_tokens, 6);
    EXPECT_EQ(generate(model, "", greedy(3)).text, "abc"); // an empty prompt is the start of a document
    EXPECT_EQ(generate(model, "ab", greedy(0)).text, "");
}

// Of a model whose start token is not its end token, as Llama's.
TEST(Generate, APromptIsEncodedWithTheStartToken) {
    Blueprint b = small_blueprint();
    b.vocab_size = 257;
    TextSide text(make_byte_tokenizer());
    text.special.start = 'S';
    text.special.end = {'E'};
    const Model model = make_model("start", b, ModelEncodings("rope", b.dims()), floats_of(random_model(b, "rope", 9)),
                                   std::move(text), {}, b.context);
    EXPECT_EQ(model.encode("ab"), (std::vector<Token>{'a', 'b'}));
    EXPECT_EQ(model.encode("ab", {.start = true}), (std::vector<Token>{'S', 'a', 'b'}));
    EXPECT_EQ(model.encode("", {.start = true}), std::vector<Token>{'S'});
    EXPECT_EQ(generate(model, "ab", greedy(1)).prompt_tokens, 3);
    EXPECT_EQ(repeating("abcd").encode("<|endoftext|>a", {.special = true, .start = true}),
              (std::vector<Token>{end_of_text, 'a'})); // typed
}

TEST(Generate, TokensThatAlsoEndATextDoUnlessNothingShall) {
    const Model model = repeating("abcd");
    Continuation::Options options{greedy(6), false, {'d'}};
    Continuation ends(model, "ab", options);
    for (bool more = true; more;) more = ends.step();
    const Generation g = ends.finish();
    EXPECT_EQ(g.text, "c");
    EXPECT_EQ(g.reason, StopReason::end_of_text);
    options.ignore_end = true; // then the end-of-text token is never drawn
    Continuation goes_on(model, "ab", options);
    for (bool more = true; more;) more = goes_on.step();
    EXPECT_EQ(goes_on.finish().text.find('d'), std::string::npos);
}

TEST(Generate, GoesOnPastItsContext) {
    const Model model = repeating("abcd");
    GenerateOptions options = greedy(100);
    options.session.capacity = 16;
    EXPECT_EQ(generate(model, "ab", options).reason, StopReason::full);
    options.context_shift = true;
    const Generation g = generate(model, "ab", options);
    std::string expected;
    for (int i = 2; i < 102; ++i) expected += "abcd"[i % 4];
    EXPECT_EQ(g.text, expected);
    EXPECT_EQ(g.reason, StopReason::max_tokens);
    // The context of 16 tokens holds the prompt's 3 and 13 more. After that, each shift keeps 4 and drops 6 of the
    // other 12.
    EXPECT_EQ(g.shifts, (100 - 1 - 13 + 5) / 6);
    options.keep = 13;
    EXPECT_EQ(generate(model, "ab", options).text, expected);
    options.keep = 15; // a shift drops at least one token, for one new token
    EXPECT_EQ(generate(model, "ab", options).reason, StopReason::full);
    EXPECT_EQ(code_of([&] { generate(model, std::string(40, 'b'), options); }), ErrorCode::usage);
    options.keep = 4;
    const Generation long_prompt = generate(model, std::string(40, 'b'), options);
    EXPECT_EQ(long_prompt.text.substr(0, 4), "cdab");
    EXPECT_EQ(long_prompt.prompt_tokens, 41);
    EXPECT_EQ(long_prompt.left_out, 41 - 4 - 6);
    options.keep = -1;
    EXPECT_EQ(code_of([&] { generate(model, std::string(40, 'b'), options); }), ErrorCode::limit);
    options.keep = -2;
    EXPECT_EQ(code_of([&] { generate(model, "ab", options); }), ErrorCode::usage);
}

// Another session, fed exactly the remaining tokens, predicts the same token at each step.
TEST(Generate, AShiftedContextIsTheOneThatIsLeft) {
    Blueprint b = small_blueprint();
    b.vocab_size = byte_vocabulary;
    for (const char* encoding : {"learned", "rope"}) {
        b.n_layers = std::string_view(encoding) == "rope" ? 1 : 2; // later layers remember dropped tokens
        const Model model = random_model(b, encoding, 12);
        GenerateOptions options = greedy(40);
        options.session.capacity = 20;
        options.context_shift = true;
        std::vector<Token> held = {end_of_text, 'T', 'h', 'e'};
        Continuation continuation(model, "The", {options, true});
        int shifts = 0;
        continuation.on_draw([&](std::span<const float> logits, Token token) {
            Session session(model, {.capacity = 20});
            EXPECT_LE(difference(session.feed(held), logits), 1e-4) << encoding << ' ' << held.size();
            held.push_back(token);
            if (held.size() <= 20) return;
            held.erase(held.begin() + 4, held.begin() + 12);
            ++shifts;
        });
        while (continuation.step()) {
        }
        EXPECT_EQ(continuation.finish().shifts, shifts);
        EXPECT_GE(shifts, 2);
    }
}

// The remaining tokens still carry information about evicted tokens. Another text that begins with the same tokens must
// not inherit it.
TEST(Generate, AnotherTextBeginsAfresh) {
    Blueprint b = small_blueprint();
    b.vocab_size = byte_vocabulary;
    for (const char* encoding : {"rope", "learned"}) {
        const Model model = random_model(b, encoding, 13);
        GenerateOptions options = greedy(9);
        options.session.capacity = 20;
        options.context_shift = true;
        const std::string prompt(15, 'a');
        std::vector<std::vector<float>> drawn;
        const auto keep_logits = [&](std::span<const float> logits, Token) {
            drawn.emplace_back(logits.begin(), logits.end());
        };
        Continuation first(model, prompt, {options, true});
        first.on_draw(keep_logits);
        while (first.step()) {
        }
        ASSERT_GT(first.finish().shifts, 0);
        Continuation again(model, prompt, {options, true}, {}, first.release());
        again.on_draw(keep_logits);
        ASSERT_TRUE(again.step());
        EXPECT_LE(difference(drawn.back(), drawn.front()), 1e-5) << encoding;
    }
}

TEST(Generate, BreaksOnlyBetweenCharacters) {
    const Model model = repeating("\xe2\x82\xac\xc3\xa9"); // euro sign, e acute
    std::vector<std::string> parts;
    const Generation g = generate(model, "", greedy(9), [&](std::string_view text) {
        parts.emplace_back(text);
        return true;
    });
    EXPECT_EQ(parts, (std::vector<std::string>{"\xe2\x82\xac", "\xc3\xa9", "\xe2\x82\xac"}));
    EXPECT_EQ(g.text, "\xe2\x82\xac\xc3\xa9\xe2\x82\xac"); // the ninth token began a character
    EXPECT_EQ(g.new_tokens, 9);
}

TEST(Generate, StopsAtAStopText) {
    const Model model = repeating("abcdefg");
    GenerateOptions options = greedy(100);
    options.stop = {"xyz", "efga"};
    const Generation g = generate(model, "", options);
    EXPECT_EQ(g.text, "abcd");
    EXPECT_EQ(g.reason, StopReason::stop_text);
    EXPECT_EQ(g.new_tokens, 8);
    options.stop = {"g", ""};
    EXPECT_EQ(code_of([&] { generate(model, "", options); }), ErrorCode::usage);
}

TEST(Generate, ReleasesWhatWasHeldBackForAStopText) {
    const Model model = repeating("abcdefg");
    GenerateOptions options = greedy(6);
    options.stop = {"efgh"};
    EXPECT_EQ(generate(model, "", options).text, "abcdef");
}

TEST(Generate, StopsAtTheEndOfText) {
    const Model model = scripted_model({{end_of_text, {'x'}}, {'x', {'y'}}, {'y', {end_of_text}}});
    const Generation g = generate(model, "", greedy(100));
    EXPECT_EQ(g.text, "xy");
    EXPECT_EQ(g.reason, StopReason::end_of_text);
    EXPECT_EQ(g.new_tokens, 2);
}

TEST(Generate, FillsTheContextToTheLastToken) {
    const Model model = repeating("abcd");
    GenerateOptions options = greedy(-1);
    options.session.capacity = 10;
    const Generation g = generate(model, "abcd", options); // five tokens with the end-of-text token
    EXPECT_EQ(g.reason, StopReason::full);
    EXPECT_EQ(g.new_tokens, 6); // five that fit, and a last that need not be fed
    EXPECT_EQ(g.text, "abcdab");
    EXPECT_EQ(generate(model, std::string(8, 'a'), options).new_tokens, 2);
    EXPECT_EQ(generate(model, std::string(9, 'a'), options).new_tokens, 1);
    std::string what;
    EXPECT_EQ(code_of([&] { generate(model, std::string(10, 'a'), options); }, &what), ErrorCode::limit);
    EXPECT_NE(what.find("expected at most 10 tokens, found 11"), std::string::npos) << what;
}

TEST(Generate, TheCallbackCanStopIt) {
    const Model model = repeating("abcd");
    int calls = 0;
    const Generation g = generate(model, "", greedy(100), [&](std::string_view) { return ++calls < 3; });
    EXPECT_EQ(g.reason, StopReason::callback);
    EXPECT_EQ(g.text, "abc");
    EXPECT_EQ(calls, 3);
}

TEST(Generate, WhatTheCallbackThrowsPropagates) {
    const Model model = repeating("abcd");
    const auto throwing = [](std::string_view) -> bool { throw std::out_of_range("mine"); };
    EXPECT_THROW(generate(model, "", greedy(10), throwing), std::out_of_range);
    EXPECT_EQ(generate(model, "", greedy(4)).text, "abcd"); // the model is unchanged
}

TEST(Generate, SpecialTokensInThePromptAreTextUnlessAsked) {
    const Model model = repeating("abcd");
    GenerateOptions options = greedy(1);
    EXPECT_EQ(generate(model, "<|endoftext|>", options).prompt_tokens, 14);
    options.special = true;
    EXPECT_EQ(generate(model, "<|endoftext|>", options).prompt_tokens, 1); // the token that begins a text, once
}

TEST(Generate, TheSeedDecides) {
    Blueprint b = small_blueprint();
    b.vocab_size = byte_vocabulary;
    const Model model = random_model(b, "none", 1);
    GenerateOptions options;
    options.max_tokens = 30;
    options.sampling.temperature = 1.5f;
    options.sampling.seed = 7;
    const std::string once = generate(model, "hello", options).text;
    EXPECT_EQ(generate(model, "hello", options).text, once);
    EXPECT_TRUE(once.size() > 5);
    options.sampling.seed = 8;
    EXPECT_NE(generate(model, "hello", options).text, once);
}

TEST(Generate, RefusesWhatCannotBe) {
    const Model model = repeating("abcd");
    GenerateOptions options = greedy(-2);
    EXPECT_EQ(code_of([&] { generate(model, "", options); }), ErrorCode::usage);
    options = greedy(1);
    options.sampling.top_p = 0;
    EXPECT_EQ(code_of([&] { generate(model, "", options); }), ErrorCode::usage);
    Blueprint b = small_blueprint();
    b.mask = Mask::bidirectional;
    EXPECT_EQ(code_of([&] { generate(random_model(b, "none", 1), "a", greedy(1)); }), ErrorCode::usage);
    b.mask = Mask::causal;
    EXPECT_EQ(code_of([&] { generate(random_model(b, "none", 1), "a", greedy(1)); }), ErrorCode::model); // no tokenizer
}

TEST(Generate, LogitsThatAreNotFiniteAreAnError) {
    Blueprint b = small_blueprint();
    b.vocab_size = byte_vocabulary;
    b.tied_head = false;
    TensorMemory tensors(model_tensors(b, {}));
    for (std::size_t i = 0; i < tensors.specs().size(); ++i)
        for (float& v : tensors.values(i)) v = 1;
    for (float& v : std::span(tensors.view("head.weight").data, 40)) v = 3e38f;
    const Model model = make_model("huge", b, {}, std::move(tensors), make_byte_tokenizer(), {}, b.context);
    std::string what;
    EXPECT_EQ(code_of([&] { generate(model, "a", greedy(1)); }, &what), ErrorCode::model);
    EXPECT_NE(what.find("huge: the head yields"), std::string::npos) << what;
}

} // namespace
} // namespace ordo
