// SPDX-License-Identifier: MIT
// Published figures for widely used checkpoints. A test runs if an environment variable names its checkpoint's folder
// (config.json, model.safetensors, tokenizer.json). Otherwise it is skipped:
//   ORDO_GPT2  openai-community/gpt2          ORDO_ROBERTA  FacebookAI/roberta-base
//   ORDO_BERT  google-bert/bert-base-uncased  ORDO_XGLM     facebook/xglm-564M
//   ORDO_T5    google-t5/t5-small
// The figures come from the repository huggingface/transformers. Each names its file and the commit at which it was
// read. The functions that compute them are first tested on tests/families, whose figures are known.
#include "model/model_access.h"
#include "tests/formats/family_run.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <numeric>

namespace ordo {
namespace {

using test::Json;
using Tokens = std::vector<Token>;
using Rows = std::map<int, std::vector<float>>; // by token

// ---- The computed figures -------------------------------------------------------------------

// The most likely next tokens, one after the other. input: of the encoder, in a model with an encoder.
Tokens greedy(const Model& model, const Tokens& tokens, std::size_t count, const Tokens& input = {}) {
    Session session(model, {.capacity = static_cast<int>(tokens.size() + count)});
    if (!input.empty()) session.encode(input);
    std::span<const float> logits = session.feed(tokens);
    Tokens next;
    for (;;) {
        next.push_back(static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
        if (next.size() == count) return next;
        logits = session.feed({&next.back(), 1});
    }
}

// The head's input or output for each token that is not padding.
enum class Of { states, logits };
Rows rows(const Model& model, Of what, const Tokens& tokens, const std::vector<int>& padding = {}) {
    Session session(model, {.capacity = static_cast<int>(tokens.size())});
    Rows all;
    const auto keep = [&](int first, ConstView x) {
        for (int i = 0; i < x.rows; ++i) all[first + i].assign(x.row(i), x.row(i) + x.cols);
    };
    if (what == Of::states)
        session.feed_states(tokens, {{}, {}, padding}, keep);
    else
        session.feed_all(tokens, {{}, {}, padding}, keep);
    return all;
}

double log_probability(std::span<const float> logits, Token token) {
    const double top = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float x : logits) sum += std::exp(x - top);
    return logits[token] - top - std::log(sum);
}

// The log probability of this text in the decoder, which begins with `start`, for an input.
double score(const Model& model, const Tokens& input, Token start, const Tokens& said) {
    Session session(model, {.capacity = static_cast<int>(said.size())});
    session.encode(input);
    double sum = 0;
    Token before = start;
    for (const Token token : said) {
        sum += log_probability(session.feed({&before, 1}), token);
        before = token;
    }
    return sum;
}

// Compares the rows from one token on and from one column on, as torch.allclose does.
void expect_rows(const Rows& found, int token, std::size_t column, const std::vector<std::vector<double>>& expected,
                 double tolerance) {
    for (const std::vector<double>& row : expected) {
        for (std::size_t j = 0; j < row.size(); ++j)
            EXPECT_NEAR(found.at(token).at(column + j), row[j], tolerance + 1e-5 * std::abs(row[j]))
                << "token " << token << ", column " << column + j;
        ++token;
    }
}

// ---- The same functions on fixtures ---------------------------------------------------------

TEST(PublishedFigures, AreAskedForAsTheFixturesAre) {
    for (const char* name : {"gpt2", "xglm", "t5"}) {
        SCOPED_TRACE(name);
        const Model model = Model::load(test::family(name));
        const Json given = test::read_cases(test::family(name)).front();
        const Tokens expected = given.at("greedy");
        EXPECT_EQ(greedy(model, given.at("tokens"), expected.size(), given.value("encoder", Tokens())), expected);
    }
    const Json padded = test::read_cases(test::family("bert")).at(3); // padding at the front
    const std::vector<int> padding = padded.at("padding");
    const auto first = static_cast<int>(std::count(padding.begin(), padding.end(), 1));
    ASSERT_GT(first, 0);
    for (const auto& [what, key] : {std::pair{Of::states, "hidden"}, {Of::logits, "logits"}}) {
        const Rows found = rows(Model::load(test::family("bert")), what, padded.at("tokens"), padding);
        std::vector<std::vector<double>> expected;
        for (const Json& row : padded.at(key))
            if (!row.is_null()) expected.push_back(row);
        EXPECT_EQ(found.size(), expected.size());
        expect_rows(found, first, 0, expected, 2e-4);
    }
    // The transcription's logits of all tokens predict the next token.
    const Json said = test::read_cases(test::family("t5")).front();
    const Tokens tokens = said.at("tokens");
    double expected = 0;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
        const std::vector<double> logits = said.at("logits").at(i);
        double sum = 0;
        for (const double x : logits) sum += std::exp(x);
        expected += logits.at(tokens[i + 1]) - std::log(sum);
    }
    EXPECT_NEAR(
        score(Model::load(test::family("t5")), said.at("encoder"), tokens.front(), {tokens.begin() + 1, tokens.end()}),
        expected, 1e-3);
}

// ---- Checkpoints ----------------------------------------------------------------------------

struct Checkpoint {
    const char *variable, *name;
    int vocab_size, n_layers, d_model;
};

std::string sizes(int vocab_size, int n_layers, int d_model) {
    return std::to_string(n_layers) + " layers of " + std::to_string(d_model) + ", " + std::to_string(vocab_size) +
           " tokens";
}

// The reason why a model is not the checkpoint; empty if it may be.
std::string other_than(const Checkpoint& wanted, const Model& model) {
    const Blueprint& b = blueprint_of(model);
    const std::string expected = sizes(wanted.vocab_size, wanted.n_layers, wanted.d_model),
                      found = sizes(b.vocab_size, b.n_layers, b.d_model);
    return found == expected ? ""
                             : std::string(wanted.variable) + "=" + where_of(model) + ": expected " + wanted.name +
                                   " (" + expected + "), found " + found;
}

TEST(PublishedFigures, AreNotHeldAgainstAnotherModel) {
    const Model model = Model::load(test::family("gpt2"));
    const Blueprint& b = blueprint_of(model);
    EXPECT_EQ(other_than({"ORDO_GPT2", "it", b.vocab_size, b.n_layers, b.d_model}, model), "");
    const std::string text = other_than({"ORDO_GPT2", "openai-community/gpt2", 50257, 12, 768}, model);
    EXPECT_NE(text.find("ORDO_GPT2=tests/families/gpt2"), text.npos) << text;
    EXPECT_NE(text.find("expected openai-community/gpt2 (12 layers of 768, 50257 tokens)"), text.npos) << text;
}

class PublishedCheckpoints : public ::testing::Test {
protected:
    // If no model is set afterwards, the test ends.
    void open(const Checkpoint& wanted) {
        const char* const folder = std::getenv(wanted.variable);
        if (folder == nullptr || *folder == 0) {
            std::cerr << "SKIPPED: " << wanted.variable << " names no folder with " << wanted.name << '\n';
            GTEST_SKIP();
        }
        LoadOptions options;
        options.dtype = "f32"; // the precision of the figures, whatever the file holds
        auto model = std::make_unique<Model>(Model::load(folder, options));
        if (const std::string other = other_than(wanted, *model); !other.empty()) FAIL() << other;
        model_ = std::move(model);
    }
    Tokens framed(const char* text) const { return encode_framed(*tokenizer_of(*model_), text, false); }
    std::string answer(const char* text, int most) const {
        GenerateOptions options;
        options.max_tokens = most;
        options.sampling.temperature = 0;
        return generate(*model_, text, options).text;
    }

    std::unique_ptr<Model> model_;
};

// tests/models/gpt2/test_modeling_gpt2.py, _test_lm_generate_gpt2_helper, at 031e0ac81793.
TEST_F(PublishedCheckpoints, Gpt2ContinuesTheDog) {
    open({"ORDO_GPT2", "openai-community/gpt2", 50257, 12, 768});
    if (!model_) return;
    const Tokens prompt = {464, 3290};
    const Tokens expected = {373,  1043, 287,  257,   2214, 1474, 262, 16246, 286,
                             2688, 290,  2688, 27262, 13,   198,  198, 464,   3290};
    EXPECT_EQ(model_->encode("The dog"), prompt);
    EXPECT_EQ(greedy(*model_, prompt, expected.size()), expected);
    EXPECT_EQ(model_->decode(expected),
              " was found in a field near the intersection of West and West Streets.\n\nThe dog");
}

// tests/models/bert/test_modeling_bert.py, test_inference_no_head_absolute_embedding, at 00c2af6cca1d. The first token
// is padding.
TEST_F(PublishedCheckpoints, BertHasTheStatesOfTransformers) {
    open({"ORDO_BERT", "google-bert/bert-base-uncased", 30522, 12, 768});
    if (!model_) return;
    const Tokens tokens = {0, 345, 232, 328, 740, 140, 1695, 69, 6078, 1588, 2};
    expect_rows(rows(*model_, Of::states, tokens, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), 1, 1,
                {{0.4249, 0.1008, 0.7531}, {0.3771, 0.1188, 0.7467}, {0.4152, 0.1098, 0.7108}}, 1e-4);
}

// model_cards/bert-base-uncased-README.md, at 28e589ca25c7. Others who ran the first got 0.1073106 to 0.1073110.
TEST_F(PublishedCheckpoints, BertFillsAsItsCardSays) {
    open({"ORDO_BERT", "google-bert/bert-base-uncased", 30522, 12, 768});
    if (!model_) return;
    const std::pair<const char*, std::vector<Candidate>> sentences[] = {{"Hello I'm a [MASK] model.",
                                                                         {{4827, 0.1073106899857521f},
                                                                          {2535, 0.08774490654468536f},
                                                                          {2047, 0.05338378623127937f},
                                                                          {3565, 0.04667217284440994f},
                                                                          {2986, 0.027095865458250046f}}},
                                                                        {"The man worked as a [MASK].",
                                                                         {{10533, 0.09747550636529922f},
                                                                          {15610, 0.0523831807076931f},
                                                                          {13362, 0.04962705448269844f},
                                                                          {15893, 0.03788609802722931f},
                                                                          {18968, 0.037680890411138535f}}}};
    for (const auto& [text, expected] : sentences) {
        const FilledText filled = fill(*model_, text, 5);
        ASSERT_EQ(filled.blanks.size(), 1U) << text;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const Candidate& found = filled.blanks.front().best.at(i);
            EXPECT_EQ(found.token, expected[i].token) << text << " " << i;
            EXPECT_NEAR(found.probability, expected[i].probability, 1e-5) << text << " " << i;
        }
    }
}

// tests/models/roberta/test_modeling_roberta.py, test_inference_masked_lm and test_inference_no_head, at 01edca39fbd2.
// fairseq's own model gave the figures.
TEST_F(PublishedCheckpoints, RobertaHasTheStatesAndLogitsOfFairseq) {
    open({"ORDO_ROBERTA", "FacebookAI/roberta-base", 50265, 12, 768});
    if (!model_) return;
    const Tokens tokens = {0, 31414, 232, 328, 740, 1140, 12695, 69, 46078, 1588, 2};
    expect_rows(rows(*model_, Of::logits, tokens), 0, 0,
                {{33.8802, -4.3103, 22.7761}, {4.6539, -2.8098, 13.6253}, {1.8228, -3.6898, 8.8600}}, 1e-4);
    expect_rows(rows(*model_, Of::states, tokens), 0, 0,
                {{-0.0231, 0.0782, 0.0074}, {-0.1854, 0.0540, -0.0175}, {0.0548, 0.0799, 0.1687}}, 1e-4);
}

// tests/models/t5/test_modeling_t5.py, test_small_integration_test, at 02fd66bbf114: the score from the authors' own
// program.
TEST_F(PublishedCheckpoints, T5ScoresAsItsAuthorsProgramDoes) {
    open({"ORDO_T5", "google-t5/t5-small", 32128, 6, 512});
    if (!model_) return;
    EXPECT_NEAR(score(*model_, framed("Hello there"), model_->start_of_text(), framed("Hi I am")), -19.0845, 1e-4);
}

// test_small_generation of the same file, 8 tokens including the start, and docs/source/en/model_doc/t5.mdx,
// "Inference", at 115aec4b27a4.
TEST_F(PublishedCheckpoints, T5SaysWhatTransformersPrints) {
    open({"ORDO_T5", "google-t5/t5-small", 32128, 6, 512});
    if (!model_) return;
    EXPECT_EQ(answer("summarize: Hello there", 7), "Hello there!");
    EXPECT_EQ(answer("translate English to German: The house is wonderful.", 19), "Das Haus ist wunderbar.");
    EXPECT_EQ(answer("translate English to German: I like to work in NYC.", 19), "Ich arbeite gerne in NYC.");
}

// tests/models/xglm/test_modeling_xglm.py, _test_lm_generate_xglm_helper, at 0c4e59bd6c90.
TEST_F(PublishedCheckpoints, XglmContinuesTheDog) {
    open({"ORDO_XGLM", "facebook/xglm-564M", 256008, 24, 1024});
    if (!model_) return;
    const Tokens expected = {67, 11, 1988, 57252, 9865, 5, 984, 67, 1988, 213838, 1658, 53, 70446, 33, 6657, 278, 1581};
    EXPECT_EQ(greedy(*model_, {2, 268, 9865}, expected.size()), expected);
}

} // namespace
} // namespace ordo
