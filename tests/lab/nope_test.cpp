// SPDX-License-Identifier: MIT
#include "encoding/base/registry.h"
#include "model/model_access.h"
#include "tests/lab/lab_run.h"
#include "tests/model/small_models.h"
#include "tools/lab/claims/counting.h"
#include "tools/lab/math/ridge.h"
#include "tools/lab/shipped/probe.h"

#include <map>
#include <numeric>

namespace ordo::lab {
namespace {

using test::number;

// The head, applied to the last hidden state by hand, gives a session's logits.
TEST(LabHiddenStates, LastOneGivesTheLogitsOfASession) {
    Blueprint b = small_blueprint();
    b.tied_head = true;
    for (const char* encoding : {"none", "sinusoidal", "rope", "alibi", "learned"}) {
        const Model model = random_model(b, encoding, 5);
        const std::vector<Token> tokens = random_tokens(40, b.vocab_size, 6);
        std::vector<Tensor> states = hidden_states(model, tokens);
        ASSERT_EQ(states.size(), 3u);
        const Rows logits = logits_of(model, tokens);
        const reference::Tensors tensors = tensors_of(model);
        const reference::Matrix &gain = tensors.at("final_norm.weight"), &head = tensors.at("embedding.weight");
        for (int i = 0; i < 40; ++i) {
            const float* x = states[2].view().row(i);
            double square = 0, logit = 0;
            for (int j = 0; j < b.d_model; ++j) square += static_cast<double>(x[j]) * x[j] / b.d_model;
            for (int j = 0; j < b.d_model; ++j)
                logit += x[j] / std::sqrt(square + double{b.norm_eps}) * gain.at(0, j) * head.at(17, j);
            EXPECT_NEAR(logit, logits[i][17], 1e-4) << encoding << " " << i;
        }
    }
}

// Recovers y = 3 a - 2 b + 5. A penalty much larger than the data leaves the mean.
TEST(LabRidge, FindsAPlaneAndShrinksToTheMean) {
    std::vector<float> rows;
    std::vector<double> y;
    const Random random(1, 2);
    double mean = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
        const float a = static_cast<float>(random.normal(2 * i)), c = static_cast<float>(7 + random.normal(2 * i + 1));
        rows.insert(rows.end(), {a, c, 1.0f}); // the third column is constant
        y.push_back(3 * double{a} - 2 * double{c} + 5);
        mean += y.back() / 200;
    }
    const Ridge plane(rows, 3, y, 1e-12), flat(rows, 3, y, 1e9);
    const float at[] = {1, 2, 1};
    EXPECT_NEAR(plane.predict(at), 3 - 4 + 5, 1e-6);
    EXPECT_NEAR(flat.predict(at), mean, 1e-6);
}

// A long first document must not use up the windows that are held out.
TEST(LabProbe, HoldsOutWindowsHoweverLongTheFirstDocumentIs) {
    const Model model = Model::load("weights/none.safetensors");
    std::string text;
    for (int document = 0; document < 3; ++document) {
        for (int i = 0; i < (document == 0 ? 12'000 : 1'500); ++i) text += i % 3 == 0 ? " the cat" : " sat";
        text += "<|endoftext|>";
    }
    const Probe p = probe(model, {"made up", text}, 12);
    EXPECT_EQ(p.fitted, 8);
    EXPECT_EQ(p.held_out, 4);
}

// The hand-set matrices, multiplied by hand for four tokens. Theorem 1: W_k has ones in its first column and zeros
// elsewhere, so the attention of token t is 1/t for each token, and the values are 1 for the first token and 0 for
// others. W_1 and W_2 turn 1/t into t. Theorem 2: a score is (j - i) / 8 and a product of contents.
TEST(LabCounting, MatricesAreThoseOfTheTheorems) {
    using Matrix = std::vector<std::vector<double>>;
    std::map<std::string, Matrix> m;
    for (const HandSetMatrix& matrix : hand_set_matrices(4, 1))
        m[std::to_string(matrix.theorem) + matrix.name] = matrix.rows;
    for (const auto& row : m.at("1W_k"))
        for (std::size_t j = 0; j < row.size(); ++j) EXPECT_EQ(row[j], j == 0 ? 1 : 0);
    // The norm divides a state by the root of its mean square, 8/13 here, and multiplies it with the gain.
    for (const auto& row : m.at("1E")) {
        const double mean_square = std::inner_product(row.begin(), row.end(), row.begin(), 0.0) / 13;
        EXPECT_NEAR(mean_square, 8.0 / 13, 1e-6);
        for (const double gain : m.at("1g").at(0)) EXPECT_NEAR(gain / std::sqrt(mean_square), 1, 1e-6);
    }
    const auto times = [](const Matrix& matrix, const std::vector<double>& x) {
        std::vector<double> y;
        for (const auto& row : matrix) y.push_back(std::inner_product(row.begin(), row.end(), x.begin(), 0.0));
        return y;
    };
    const auto add = [](std::vector<double>& x, const std::vector<double>& y) {
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += y.at(i);
    };
    std::vector<std::vector<double>> states, q, k;
    for (const int token : {0, 2, 1, 3}) {
        std::vector<double> x = m.at("1E").at(token);
        EXPECT_NEAR(times(m.at("1W_v"), x)[0], token == 0, 1e-7);
        const double t = static_cast<double>(states.size()) + 1;
        std::vector<double> mean(m.at("1W_o")[0].size());
        mean[0] = 1 / t;
        const double before = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
        add(x, times(m.at("1W_o"), mean));
        const double after = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
        std::vector<double> normed = x;
        for (double& value : normed) value *= std::sqrt(before / after);
        std::vector<double> hidden = times(m.at("1W_1"), normed);
        add(hidden, m.at("1b_1")[0]);
        for (double& unit : hidden) unit = std::max(unit, 0.0);
        add(x, times(m.at("1W_2"), hidden));
        add(x, m.at("1b_2")[0]);
        EXPECT_NEAR(x[2], 1 / t, 1e-6);
        EXPECT_NEAR(x[3], t / 4, 1e-6);
        EXPECT_NEAR(std::inner_product(x.begin(), x.end(), x.begin(), 0.0), before, 1e-5); // the norm changes nothing
        q.push_back(times(m.at("2W_q"), x)), k.push_back(times(m.at("2W_k"), x));
        states.push_back(x);
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j <= i; ++j) {
            EXPECT_NEAR(q[i][0] * k[j][0] + q[i][1] * k[j][1], (j - i) / 8.0, 1e-6) << i << " " << j;
            for (std::size_t c = 2; c < k[j].size(); ++c) EXPECT_EQ(k[j][c], states[j][3 + c]); // a content
        }
}

TEST(LabNope, PrintsTheMatricesOfBothTheorems) {
    const Result result = test::run(nope_experiment, {"--model", "weights/none.safetensors"});
    std::map<std::string, int> rows;
    for (const auto& row : test::table(result, "matrices").rows)
        ++rows[tools::number_text(number(row[0])) + std::get<std::string>(row[1])];
    // W_1: a unit for each of 1, 2 and 3. W_o of theorem 2: one place for each of four contents.
    for (const auto& [name, count] : {std::pair{"1W_k", 6}, {"1W_1", 3}, {"1W_2", 2}, {"2W_q", 6}, {"2W_o", 4}})
        EXPECT_EQ(rows[name], count) << name;
}

} // namespace
} // namespace ordo::lab
