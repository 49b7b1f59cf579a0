// SPDX-License-Identifier: MIT
// A network in training compared with the resulting model: its errors, its results and its memory.
#include "core/parallel.h"
#include "tests/model/small_models.h"
#include "training/network.h"

#include <gtest/gtest.h>

namespace ordo::train {
namespace {

Blueprint blueprint() {
    Blueprint b = small_blueprint();
    b.n_kv_heads = 2;
    b.context = 24;
    return b;
}

struct Data {
    std::vector<Token> tokens, targets;
    Data(int rows, int vocab) : tokens(random_tokens(rows, vocab, 1)), targets(random_tokens(rows, vocab, 2)) {}
};

std::string error_of(ErrorCode code, const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, code) << error.what();
        return error.what();
    }
    return "no error";
}

// ---- Refusals -------------------------------------------------------------------------------

// The caller's own bias, with a trainable table and no backward pass.
class Untaught : public Encoding {
public:
    explicit Untaught(bool trainable) : trainable_(trainable) {}
    std::string spec() const override { return "untaught"; }
    std::vector<TensorSpec> tensors() const override {
        return {{.name = "table", .shape = {8}, .trainable = trainable_}};
    }
    void bind(int, std::span<const View> tensors) override { table_ = tensors[0]; }
    void bias(View scores, const Tile& tile) const override {
        for (int i = 0; i < scores.rows; ++i)
            for (int j = 0; j < scores.cols; ++j) scores.row(i)[j] += table_.data[(tile.first_key + j) % 8];
    }

private:
    bool trainable_;
    View table_;
};

TEST(Networks, RefuseWhatCannotBeTrainedBeforeTheFirstStep) {
    const Blueprint b = blueprint();
    for (const bool trainable : {true, false}) {
        std::vector<OwnEncoding> items;
        items.push_back(std::make_unique<Untaught>(trainable));
        ModelEncodings encodings(std::move(items), b.n_layers);
        Parameters parameters(b, encodings);
        parameters.initialise(1);
        const auto make = [&] { return std::make_unique<Network>(b, encodings, parameters, 1, 8); };
        if (trainable) {
            const std::string text = error_of(ErrorCode::usage, make);
            EXPECT_NE(text.find("'untaught' cannot be trained (tensor 'table')"), std::string::npos) << text;
            EXPECT_NE(text.find("no gradient for bias"), std::string::npos) << text;
        } else { // constants need no backward pass
            const Data data(8, b.vocab_size);
            EXPECT_GT(make()->loss_and_grad({data.tokens, data.targets}), 0);
        }
    }
}

TEST(Networks, RefuseSequencesThatDoNotFit) {
    const Blueprint b = blueprint();
    ModelEncodings encodings("segment+learned", b.dims());
    Parameters parameters(b, encodings);
    parameters.initialise(1);
    Network network(b, encodings, parameters, 2, 8);
    const Data data(16, b.vocab_size);
    const auto refused = [&](ErrorCode code, const std::string& phrase, const std::function<void(Sequences&)>& change) {
        Sequences in{data.tokens, data.targets};
        change(in);
        const std::string text = error_of(code, [&] { network.loss(in); });
        EXPECT_NE(text.find(phrase), std::string::npos) << text;
        EXPECT_EQ(error_of(code, [&] { network.loss_and_grad(in); }), text);
        for (const float g : parameters.grads()) ASSERT_EQ(g, 0);
    };
    std::vector<int> ids(16, 3), bad(16, 3);
    refused(ErrorCode::usage, "expected 16 tokens, 2 sequences of 8, found 15",
            [&](Sequences& s) { s.tokens = s.tokens.first(15); });
    refused(ErrorCode::usage, "expected 16 targets, 2 sequences of 8, found 0", [&](Sequences& s) { s.targets = {}; });
    refused(ErrorCode::usage, "expected 16 segments, 2 sequences of 8, found 2",
            [&](Sequences& s) { s.segments = std::span(ids).first(2); });
    refused(ErrorCode::usage, "expected 16 positions, 2 sequences of 8, found 5",
            [&](Sequences& s) { s.positions = std::span<const int>(ids).first(5); });
    refused(ErrorCode::usage, "at most 1 axes, found 2", [&](Sequences& s) { s.positions = Positions(ids, 2); });
    for (const int id : {-1, b.vocab_size}) {
        bad[7] = id;
        refused(ErrorCode::limit, "token 7: expected one from 0 to 100", [&](Sequences& s) { s.tokens = bad; });
    }
    bad[7] = b.vocab_size;
    refused(ErrorCode::limit, "target", [&](Sequences& s) { s.targets = bad; });
    refused(ErrorCode::limit, "position 7: expected one from 0 to 23, found 101",
            [&](Sequences& s) { s.positions = bad; });
    refused(ErrorCode::limit, "segment 0: expected one from 0 to 1, found 3", [&](Sequences& s) { s.segments = ids; });
    EXPECT_GT(network.loss({data.tokens, data.targets}), 0);
}

// ---- Agreement with inference ---------------------------------------------------------------

// Mean loss of a model's session over one sequence.
double loss_of(const Model& model, const Data& data, Positions positions = {}) {
    const auto n = static_cast<int>(data.tokens.size());
    Session session(model, {n, 8});
    double total = 0;
    session.feed_all(data.tokens, TokenRows{positions, {}}, [&](int first, View logits) {
        for (int i = 0; i < logits.rows; ++i) {
            double z = 0;
            for (int j = 0; j < logits.cols; ++j) z += std::exp(static_cast<double>(logits.row(i)[j]));
            total += std::log(z) - logits.row(i)[data.targets[first + i]];
        }
    });
    return total / n;
}

// Covers lengths on both sides of a change of angles, lengths below the context, and given positions.
TEST(Networks, ComputeWhatSessionsOfTheirLengthDo) {
    for (const char* spec : {"rope:scaling=dynamic,factor=2,original=10", "rope", "forget", "cope+t5",
                             "rope:scaling=longrope,original=10,factor=2,short=1/1/1/1/2,long=1/3/4/5/6"}) {
        const Blueprint b = blueprint();
        const Model model = random_model(b, spec, 5);
        ModelEncodings encodings(spec, b.dims());
        Parameters parameters(b, encodings);
        const reference::Tensors tensors = tensors_of(model);
        for (int i = 0; i < parameters.count(); ++i) {
            const View v = parameters.value(i);
            const std::vector<double>& from = tensors.at(parameters.specs()[i].name).values;
            for (std::size_t j = 0; j < from.size(); ++j) v.data[j] = static_cast<float>(from[j]);
        }
        for (const int n : {8, 16, 24}) {
            const Data data(n, b.vocab_size);
            Network network(b, encodings, parameters, 1, n);
            EXPECT_NEAR(network.loss({data.tokens, data.targets}), loss_of(model, data), 1e-5) << spec << n;
            std::vector<int> spread;
            for (int i = 0; i < n; ++i) spread.push_back(5 * i + i % 3);
            Network far(b, encodings, parameters, 1, n, {.axes = 1, .below = 5 * n});
            EXPECT_NEAR(far.loss({data.tokens, data.targets, {}, spread}), loss_of(model, data, spread), 1e-5) << spec;
        }
    }
}

TEST(Networks, HaveTheSameBitsOnAnyNumberOfThreads) {
    const detail::Restless restless;
    Blueprint b = blueprint();
    b.context = 64;
    b.pattern = {b, b};
    b.pattern[0].experts = 4, b.pattern[0].experts_used = 2;
    b.pattern[1].norm_place = NormPlace::sandwich, b.pattern[1].qk_norm = QkNorm::width, b.pattern[1].q_bias = true;
    const Data data(4 * 64, b.vocab_size);
    const int before = thread_count();
    for (const char* spec : {"rope+forget", "cope+t5", "shaw+sink", "transformer-xl", "deberta", "fire"}) {
        std::vector<float> one;
        for (const int threads : {1, 2, 5}) {
            set_threads(threads);
            ModelEncodings encodings(spec, b.dims());
            Parameters parameters(b, encodings);
            parameters.initialise(3);
            Network network(b, encodings, parameters, 4, 64);
            network.loss_and_grad({data.tokens, data.targets}, {0.2, 4, 1});
            const std::vector<float> found(parameters.grads().begin(), parameters.grads().end());
            if (threads == 1) one = found;
            EXPECT_EQ(found, one) << spec << " on " << threads;
        }
    }
    set_threads(before);
}

// A network is created for the current number of threads. It also works with more.
TEST(Networks, MayMeetMoreThreadsThanTheyWereMadeFor) {
    const detail::Restless restless;
    const Blueprint b = blueprint();
    const Data data(8 * 24, b.vocab_size);
    const int before = thread_count();
    ModelEncodings encodings("rope", b.dims());
    Parameters parameters(b, encodings);
    parameters.initialise(3);
    set_threads(1);
    Network network(b, encodings, parameters, 8, 24);
    const double loss = network.loss_and_grad({data.tokens, data.targets});
    const std::vector<float> one(parameters.grads().begin(), parameters.grads().end());
    std::fill(parameters.grads().begin(), parameters.grads().end(), 0.0f);
    set_threads(6);
    EXPECT_EQ(network.loss_and_grad({data.tokens, data.targets}), loss);
    EXPECT_EQ(std::vector<float>(parameters.grads().begin(), parameters.grads().end()), one);
    set_threads(before);
}

} // namespace
} // namespace ordo::train
