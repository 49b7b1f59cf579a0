// SPDX-License-Identifier: MIT
// The functions of ordo_c.h give the numbers of ordo.h. tests/install/api.c calls them from C.
#include "c/c_interface.h"
#include "tests/model/small_models.h"
#include "tests/model/word_tokenizer.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

constexpr const char* shipped = "weights/rope.safetensors";

struct Freed {
    void operator()(ordo_model* p) const { ordo_model_free(p); }
    void operator()(ordo_session* p) const { ordo_session_free(p); }
    void operator()(ordo_batch* p) const { ordo_batch_free(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Freed>;

TEST(CInterface, FeedsManyTokensAndBatches) {
    const Owned<ordo_model> model(ordo_model_load(shipped, nullptr));
    ASSERT_TRUE(model) << ordo_error_text();
    const std::vector<Token> tokens = random_tokens(9, model->model.vocab_size(), 1);
    const Rows expected = logits_of(model->model, tokens);
    const auto width = static_cast<std::size_t>(model->model.vocab_size());
    const Owned<ordo_session> a(ordo_session_new(model.get(), nullptr)), b(ordo_session_new(model.get(), nullptr));
    struct Seen {
        Rows rows;
        std::size_t width;
    } seen{{}, width};
    const auto on_logits = [](std::size_t index, const float* logits, void* user) {
        Seen& own = *static_cast<Seen*>(user);
        EXPECT_EQ(index, own.rows.size());
        own.rows.emplace_back(logits, logits + own.width);
    };
    ASSERT_EQ(ordo_session_feed_all(a.get(), tokens.data(), 8, on_logits, &seen), ORDO_OK) << ordo_error_text();
    EXPECT_EQ(difference(seen.rows, Rows(expected.begin(), expected.end() - 1)), 0);
    const Owned<ordo_session> c(ordo_session_new(model.get(), nullptr));
    std::vector<float> logits_of_c(8 * width);
    ASSERT_EQ(ordo_session_feed_into(c.get(), tokens.data(), 8, logits_of_c.data()), ORDO_OK) << ordo_error_text();
    for (std::size_t i = 0; i < 8; ++i)
        EXPECT_EQ(std::vector(logits_of_c.begin() + i * width, logits_of_c.begin() + (i + 1) * width), seen.rows[i]);
    EXPECT_EQ(ordo_session_feed_into(c.get(), tokens.data(), 8, nullptr), ORDO_USAGE);
    ASSERT_TRUE(ordo_session_feed(b.get(), tokens.data(), 5));
    const Owned<ordo_batch> batch(ordo_batch_new(model.get(), 2, 0));
    ordo_session* const both[] = {a.get(), b.get()};
    const Token next[] = {tokens[8], tokens[5]};
    const float* const logits = ordo_batch_feed(batch.get(), both, next, 2);
    ASSERT_TRUE(logits) << ordo_error_text();
    EXPECT_LE(difference({logits, width}, expected[8]), 1e-4);
    EXPECT_LE(difference({logits + width, width}, expected[5]), 1e-4);
    EXPECT_EQ(ordo_session_feed_all(a.get(), tokens.data(), 1, nullptr, nullptr), ORDO_USAGE);
    EXPECT_EQ(ordo_batch_feed(batch.get(), both, nullptr, 2), nullptr);
}

TEST(CInterface, ScoresEmbedsAndFillsAsOrdoDoes) {
    const Owned<ordo_model> model(ordo_model_load(shipped, nullptr));
    const std::string text = "Once upon a time";
    const std::vector<TokenScore> expected = score(model->model, text);
    std::vector<ordo_token_score> scores(expected.size());
    const auto n = static_cast<std::ptrdiff_t>(expected.size());
    EXPECT_EQ(ordo_score(model.get(), text.data(), text.size(), nullptr, 0), n);
    EXPECT_EQ(ordo_score(model.get(), text.data(), text.size(), scores.data(), scores.size()), n);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(scores[i].token, expected[i].token);
        EXPECT_EQ(scores[i].log_probability, expected[i].log_probability);
    }
    const std::vector<float> vector = embed(model->model, text, {Pooling::last, false});
    std::vector<float> found(vector.size());
    EXPECT_EQ(ordo_embed(model.get(), text.data(), text.size(), ORDO_POOL_LAST, 0, found.data(), found.size()),
              static_cast<std::ptrdiff_t>(vector.size()));
    EXPECT_EQ(found, vector);
    EXPECT_EQ(ordo_embed(model.get(), text.data(), text.size(), 9, 0, nullptr, 0), -1);
    EXPECT_EQ(ordo_fill(model.get(), text.data(), text.size(), 1, nullptr, 0), -1);
    EXPECT_NE(std::string(ordo_error_text()).find("bidirectional"), std::string::npos);

    Blueprint b = small_blueprint();
    b.vocab_size = test::word_vocabulary;
    b.mask = Mask::bidirectional;
    const ordo_model masked{make_model("words", b, ModelEncodings("learned", b.dims()),
                                       floats_of(random_model(b, "learned", 9)),
                                       tokenizer_from_json(test::word_tokenizer(), "words"), {}, b.context)};
    const std::string blanks = "the [MASK] sat [MASK]";
    const FilledText filled = fill(masked.model, blanks, 2);
    std::vector<ordo_candidate> candidates(4);
    ASSERT_EQ(ordo_fill(&masked, blanks.data(), blanks.size(), 2, candidates.data(), 4), 4) << ordo_error_text();
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(candidates[i].index, filled.blanks[i / 2].index);
        EXPECT_EQ(candidates[i].token, filled.blanks[i / 2].best[i % 2].token);
        EXPECT_EQ(candidates[i].probability, filled.blanks[i / 2].best[i % 2].probability);
    }
}

TEST(CInterface, ChangesTheEncodingAndRopesKeys) {
    const Owned<ordo_model> model(ordo_model_load(shipped, nullptr));
    const Owned<ordo_model> alibi(ordo_model_with_encoding(model.get(), "alibi"));
    ASSERT_TRUE(alibi) << ordo_error_text();
    EXPECT_EQ(alibi->model.encoding(), model->model.with_encoding("alibi").encoding());
    EXPECT_EQ(ordo_model_with_encoding(model.get(), "ropes"), nullptr);
    ordo_load_options options;
    ordo_load_options_defaults(&options);
    options.rope = "scaling=linear,factor=4";
    const Owned<ordo_model> scaled(ordo_model_load(shipped, &options));
    ASSERT_TRUE(scaled) << ordo_error_text();
    const Model same = Model::load(shipped, {.encoding = "rope:scaling=linear,factor=4", .force_encoding = true});
    EXPECT_EQ(scaled->model.encoding(), same.encoding());
}

TEST(CInterface, TellsWarningsSettingsAndWhereWeightsLie) {
    ordo_load_options options;
    ordo_load_options_defaults(&options);
    std::string told;
    options.encoding = "none";
    options.force_encoding = 1;
    options.on_warning = [](const char* text, void* user) { *static_cast<std::string*>(user) += text; };
    options.user = &told;
    const Owned<ordo_model> model(ordo_model_load(shipped, &options));
    ASSERT_TRUE(model) << ordo_error_text();
    EXPECT_NE(told.find("running with 'none'"), std::string::npos) << told;

    ordo_sampling sampling;
    ordo_sampling_defaults(&sampling);
    sampling.temperature = -1;
    ASSERT_EQ(ordo_model_sampling(model.get(), &sampling), ORDO_OK);
    EXPECT_EQ(sampling.temperature, model->model.sampling().temperature);

    std::array<char, 4096> path{};
    ASSERT_GT(ordo_weights_file("rope.safetensors", path.data(), path.size()), 0) << ordo_error_text();
    EXPECT_TRUE(std::filesystem::equivalent(path.data(), shipped));
    EXPECT_EQ(ordo_weights_file("absent.safetensors", path.data(), path.size()), -1);
    EXPECT_EQ(ordo_error_status(), ORDO_IO);
}

} // namespace
} // namespace ordo
