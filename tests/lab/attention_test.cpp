// SPDX-License-Identifier: MIT
// Heads with weights set by hand, so that the expected attention is known.
#include "model/stack.h"
#include "tests/lab/lab_run.h"
#include "tools/lab/shipped/attention_scores.h"

namespace ordo::lab {
namespace {

constexpr int n = 8, length = 2 * n, heads = 3; // a text of n tokens, repeated once; the vocabulary size is length
// Columns of the stream, in blocks of `length`: the token, its position, the token before it, and the prediction.
constexpr int token_block = 0, position_block = length, before_block = 2 * length, answer_block = 3 * length;
constexpr int d_model = 4 * length;
constexpr float sharp = 40; // a score so large that a score of 0 has no weight
constexpr float logit = 3;

// Sets the rows of one head's queries, keys or values to read a block, or the same block shifted by `further` places.
void read(View qkv, int part, int head, int block, float factor, int further = 0) {
    for (int i = 0; i + further < length; ++i)
        qkv.row((part * heads + head) * length + i + further)[block + i] = factor;
}

// Layer 0: head 0 attends to the previous position and writes its token into the stream. Head 1 attends to equal
// tokens. Layer 1: head 0 attends to the token that followed the same token, and predicts it. Every other head attends
// to all tokens equally.
Model hand_set() {
    Blueprint b;
    b.vocab_size = b.context = b.d_head = length;
    b.n_layers = 2;
    b.n_heads = b.n_kv_heads = heads;
    b.d_model = d_model;
    b.d_ff = 4;
    b.norm_eps = 1e-30f;
    b.final_norm = b.tied_head = false;
    b.score_scale = 1;
    ModelEncodings encodings("learned", b.dims());
    TensorMemory tensors(model_tensors(b, encodings));
    for (int i = 0; i < length; ++i) {
        tensors.view("embedding.weight").row(i)[token_block + i] = 1;
        tensors.view("encoding.learned.weight").row(i)[position_block + i] = 1;
        tensors.view("head.weight").row(i)[answer_block + i] = logit;
    }
    // For every token the sum of squares is 2 before the first layer and 3 before the second, so the norms change
    // nothing.
    for (int layer = 0; layer < 2; ++layer)
        for (int j = 0; j < d_model; ++j)
            tensors.view("layers." + std::to_string(layer) + ".attention_norm.weight").row(0)[j] =
                static_cast<float>(std::sqrt((2.0 + layer) / d_model));
    const View first = tensors.view("layers.0.attention.qkv.weight"),
               second = tensors.view("layers.1.attention.qkv.weight");
    read(first, 0, 0, position_block, sharp);
    read(first, 1, 0, position_block, 1, 1);
    read(first, 2, 0, token_block, 1);
    read(first, 0, 1, token_block, sharp);
    read(first, 1, 1, token_block, 1);
    read(second, 0, 0, token_block, sharp);
    read(second, 1, 0, before_block, 1);
    read(second, 2, 0, token_block, 1);
    for (int i = 0; i < length; ++i) {
        tensors.view("layers.0.attention.out.weight").row(before_block + i)[i] = 1;
        tensors.view("layers.1.attention.out.weight").row(answer_block + i)[i] = 1;
    }
    return make_model("hand-set", b, std::move(encodings), std::move(tensors), nullptr, {}, length);
}

// Mean of 1 / (q + 1) over the queries from first to last.
double uniform(int first, int last) {
    double sum = 0;
    for (int q = first; q <= last; ++q) sum += 1.0 / (q + 1);
    return sum / (last - first + 1);
}

class LabAttention : public testing::Test {
protected:
    static void SetUpTestSuite() {
        const tools::OneThread alone;
        scores =
            std::make_unique<HeadScores>(head_scores(hand_set(), {.sequences = 6, .shortest = n, .longest = n}, 1));
    }
    static void TearDownTestSuite() { scores.reset(); }

    static void expect(const OfKinds<std::vector<Vector>>& side, HeadKind kind, int layer, int head, double wanted) {
        for (const double found : side[kind][layer * heads + head])
            EXPECT_NEAR(found, wanted, 1e-4) << name_of(kind) << " " << layer << " " << head;
    }
    static inline std::unique_ptr<HeadScores> scores;
};

TEST_F(LabAttention, ThePreviousTokenHeadIsOneWhetherTokensRepeatOrNot) {
    for (const auto& side : {scores->score, scores->control}) {
        expect(side, HeadKind::previous, 0, 0, 1);
        expect(side, HeadKind::duplicate, 0, 0, 0);
        expect(side, HeadKind::induction, 0, 0, 0);
    }
}

// The head attends to the same token twice: to its earlier place and to its own.
TEST_F(LabAttention, TheDuplicateTokenHeadGivesHalf) {
    expect(scores->score, HeadKind::duplicate, 0, 1, 0.5);
    expect(scores->control, HeadKind::duplicate, 0, 1, 0);
    expect(scores->score, HeadKind::previous, 0, 1, 0);
    expect(scores->score, HeadKind::induction, 0, 1, 0);
}

// The first token has none before it and counts as its own predecessor. So the first of the seven queries splits its
// weight.
TEST_F(LabAttention, TheInductionHeadFindsWhatCameAfter) {
    expect(scores->score, HeadKind::induction, 1, 0, (n - 2 + 0.5) / (n - 1));
    expect(scores->control, HeadKind::induction, 1, 0, uniform(n, length - 2)); // nothing to find
    expect(scores->score, HeadKind::duplicate, 1, 0, 0.5 / n);
}

TEST_F(LabAttention, AHeadThatAttendsToAllAlikeHasTheUniformScores) {
    const double wanted[] = {uniform(1, length - 1), uniform(n, length - 1), uniform(n, length - 2)};
    for (const HeadKind kind : head_kinds) {
        const double share = wanted[static_cast<std::size_t>(kind)];
        EXPECT_NEAR(scores->uniform[kind], share, 1e-12);
        for (const auto& side : {scores->score, scores->control})
            for (const auto& [layer, head] : {std::pair{0, 2}, {1, 1}, {1, 2}}) expect(side, kind, layer, head, share);
    }
}

// The induction head predicts the token that it attends to. After the first repeated token, two tokens share the
// weight. After later ones, a single token has it all. In the control all q + 1 earlier tokens are equally likely, and
// the next token is none of them.
TEST_F(LabAttention, TheGainIsWhatTheInductionHeadPredicts) {
    const double z = static_cast<double>(logit);
    double repeated = std::log(2 * std::exp(z / 2) + length - 2) - z / 2, other = 0;
    for (int i = 1; i < n - 1; ++i) repeated += std::log(std::exp(z) + length - 1) - z;
    for (int q = n; q < length - 1; ++q) other += std::log((q + 1) * std::exp(z / (q + 1)) + length - q - 1);
    for (const double gain : scores->gain) EXPECT_NEAR(gain, (other - repeated) / (n - 1), 1e-4);
}

TEST_F(LabAttention, MapsAreOfEachHeadAndBlankWhereTheMaskHides) {
    const tools::OneThread alone;
    const Model model = hand_set();
    const std::vector<Token> tokens{3, 1, 4, 1, 5};
    const std::vector<AttentionMap> maps = attention_maps(model, tokens);
    ASSERT_EQ(maps.size(), 6u);
    for (std::size_t query = 0; query < tokens.size(); ++query)
        for (std::size_t key = 0; key < tokens.size(); ++key) {
            EXPECT_EQ(std::isnan(maps[0][query][key]), key > query);
            if (key > query) continue;
            EXPECT_NEAR(maps[0][query][key], key + 1 == query || query == 0 ? 1 : 0, 1e-4);
            EXPECT_NEAR(maps[2][query][key], 1.0 / static_cast<double>(query + 1), 1e-4);
        }
    EXPECT_NEAR(maps[1][3][1], 0.5, 1e-4); // the earlier token 1
    EXPECT_NEAR(maps[1][3][3], 0.5, 1e-4);
}

TEST_F(LabAttention, RefusesWhatCannotHoldASequence) {
    const Model model = hand_set();
    EXPECT_THROW(head_scores(model, {.sequences = 1, .shortest = n, .longest = n + 1}, 1), Error);
}

TEST_F(LabAttention, OfShippedWeightsEachHeadHasItsScoresAndAMap) {
    const Result result =
        test::run(attention_experiment, {"--model", "weights/rope.safetensors", "--prompt", "A dog saw a dog."});
    const Model model = Model::load("weights/rope.safetensors");
    const Blueprint& b = blueprint_of(model);
    const tools::Figures& table = test::table(result, "heads");
    EXPECT_EQ(table.rows.size(), 3u * static_cast<std::size_t>(b.n_layers * b.n_heads));
    for (const auto& row : table.rows) {
        const double score = test::number(row[4]), low = test::number(row[5]), high = test::number(row[6]);
        EXPECT_TRUE(0 <= low && low <= score && score <= high && high <= 1) << low << " " << score << " " << high;
    }
    const auto& tiles = test::picture<HeatMap>(result, "maps-rope");
    const std::size_t tokens = model.encode("A dog saw a dog.").size() + (model.start_of_text() >= 0 ? 1 : 0);
    EXPECT_EQ(tiles.values.size(), (tokens + 1) * static_cast<std::size_t>(b.n_layers) - 1);
    // A row of a tile holds one query's weights, which sum to one.
    double sum = 0;
    for (std::size_t key = 0; key < tokens; ++key) sum += tiles.values[tokens - 1][key];
    EXPECT_NEAR(sum, 1, 1e-4);
}

} // namespace
} // namespace ordo::lab
