// SPDX-License-Identifier: MIT
// Float gradients of every layer and encoding, compared with central differences of the oracle in double precision.
#include "core/random.h"
#include "encoding/base/registry.h"
#include "formats/architecture.h"
#include "tests/model/small_models.h"
#include "tests/train/gradient_plans.h"
#include "training/network.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ordo::train {
namespace {

struct Case {
    std::string name;
    Blueprint blueprint;
    std::string encoding;
    int axes = 1; // of the positions; with more than one, they form a plane 4 wide
};
void PrintTo(const Case& c, std::ostream* out) {
    *out << c.name;
}

// Every architecture with its usual encoding, and Ordo's own trunk with every encoding.
std::vector<Case> cases() {
    std::vector<Case> out;
    for (const Architecture& a : architectures()) {
        Blueprint b = a.make();
        if (b.qk_norm == QkNorm::rotated) continue; // its training is refused
        const bool grouped = b.n_kv_heads < b.n_heads;
        b.vocab_size = 23;
        b.context = 12;
        b.n_layers = 2;
        b.n_heads = 4;
        b.n_kv_heads = grouped ? 2 : 4;
        b.d_head = 4;
        b.d_model = 16;
        b.d_ff = 20;
        shrink_experts(b);
        fit_encoder(b);
        const std::string architecture(a.name);
        if (architecture != "ordo") {
            // Rotary widths are those of the full-size model. Here only a part of the four columns rotates.
            const bool rope = a.encoding.starts_with("rope:width");
            out.push_back({architecture, b, rope ? "rope:width=2" : std::string(a.encoding)});
            continue;
        }
        for (const EncodingInfo* e : registered_encodings())
            out.push_back({architecture + " " + std::string(e->name), b, std::string(e->name)});
        for (const char* spec :
             {"segment+learned", "rope:pairing=halves,width=2", "sinusoidal:layout=halves,law=tensor2tensor",
              "rotate-stretch:period=6", "learned+alibi", "rotate-stretch:period=5+segment+learned"})
            out.push_back({architecture + " " + spec, b, spec});
        Blueprint scaled = b;
        scaled.embedding_scale = 4; // sqrt(d_model)
        out.push_back({architecture + " with a scaled embedding", scaled, "segment+learned"});
        for (auto& [name, plan] : plans(b)) out.push_back({architecture + " plan, " + name, plan, "rope"});
        Blueprint narrow = b;
        narrow.embedding_width = 9, narrow.projected_embedding = narrow.embedding_norm = true;
        for (const char* spec : {"segment+learned", "sinusoidal", "rotate-stretch:period=5"})
            out.push_back({architecture + " with a narrow embedding, " + spec, narrow, spec});
        Blueprint pair = b;
        add_encoder(pair);
        for (const char* spec : {"t5", "segment+abacus:first=0,last=12", "shaw+sink", "deberta", "cope+forget"})
            out.push_back({architecture + " with an encoder, " + spec, pair, spec});
        for (const char* spec :
             {"alibi:trained=yes", "kerple:kernel=power", "shaw:clip=3,values=no", "deberta:terms=c2p",
              "deberta:span=4,distance=9,order=code", "pattern(rope,none)", "pattern((alibi:trained=yes),(shaw+sink))",
              "t5+forget", "rope+cope", "rope+log-scale", "log-scale+selective-rope", "selective-rope:kind=carope",
              "selective-rope:kind=repo", "relative-logits+selective-rope+sink", "canon:places=smear",
              "stick-breaking+relative-logits+abacus:last=9,first=0"})
            out.push_back({architecture + " " + spec, b, spec});
        for (const char* spec : {"rope:sections=1/1", "rope:sections=1/1+t5+abacus:first=0,last=12"})
            out.push_back({architecture + " in a plane, " + spec, b, spec, 2});
        b.window = 5;
        out.push_back({architecture + " with a window", b, "rope"});
        b.tied_head = false;
        b.final_norm = false;
        out.push_back({architecture + " with a head of its own", b, "alibi"});
    }
    return out;
}

class Gradient : public testing::TestWithParam<Case> {};

struct Batch {
    static constexpr int sequences = 2;
    std::vector<Token> tokens, targets;
    std::vector<int> segments, positions; // [tokens, axes]
    std::vector<Token> input; // the encoder's input, as many as the others, except that the first sequence is shorter

    static int input_length(int sequence, const Blueprint& b) { return b.context - (sequence == 0 ? 5 : 0); }

    Batch(const Blueprint& b, const ModelEncodings& encodings, int n_axes = 1) : axes(n_axes) {
        const Random random(7, 1);
        const auto vocab = static_cast<std::uint64_t>(b.vocab_size);
        for (int i = 0; i < sequences * b.context; ++i) {
            const auto n = static_cast<std::uint64_t>(i);
            tokens.push_back(static_cast<Token>(random.below(2 * n, vocab)));
            // Some tokens are not scored.
            targets.push_back(i % 9 == 4 ? -1 : static_cast<Token>(random.below(2 * n + 1, vocab)));
            segments.push_back(encodings.limits().segments > 1 && i % b.context > b.context / 2);
            const int at = i % b.context;
            for (int axis = 0; axis < axes; ++axis) positions.push_back(axes == 1 ? at : axis == 0 ? at / 4 : at % 4);
            if (b.encoder.empty()) continue;
            const bool there = i % b.context < input_length(i / b.context, b);
            input.push_back(there ? static_cast<Token>(random.below(1000 + n, vocab)) : -1);
        }
    }

    int axes;
};

double oracle_loss(const Blueprint& b, const std::string& encoding, const reference::Tensors& tensors,
                   const reference::Oracles& oracles, const Batch& batch) {
    const reference::Transformer transformer(b, tensors, oracles);
    double total = 0;
    std::ptrdiff_t scored = 0;
    for (int s = 0; s < Batch::sequences; ++s) {
        const std::ptrdiff_t first = s * b.context, last = first + b.context;
        reference::Input in;
        in.tokens.assign(batch.tokens.begin() + first, batch.tokens.begin() + last);
        in.segments.assign(batch.segments.begin() + first, batch.segments.begin() + last);
        in.positions.assign(batch.positions.begin() + first * batch.axes, batch.positions.begin() + last * batch.axes);
        in.axes = batch.axes;
        in.given = batch.axes > 1;
        if (!b.encoder.empty())
            in.memory = encoded_by_oracle(b, encoding, tensors,
                                          std::span(batch.input).subspan(first, batch.input_length(s, b)));
        const std::vector<Token> targets(batch.targets.begin() + first, batch.targets.begin() + last);
        const std::ptrdiff_t n = std::count_if(targets.begin(), targets.end(), [](Token t) { return t >= 0; });
        total += transformer.loss(in, targets) * static_cast<double>(n);
        scored += n;
    }
    return total / static_cast<double>(scored);
}

TEST_P(Gradient, AgreesWithDifferencesOfTheOracle) {
    const Blueprint& b = GetParam().blueprint;
    ModelEncodings encodings(GetParam().encoding, b.dims());
    Parameters parameters(b, encodings);
    parameters.initialise(3);
    const Random noise(11, 2); // larger than the initial values of training, so that every path carries a signal
    for (std::size_t i = 0; i < parameters.values().size(); ++i)
        parameters.values()[i] += static_cast<float>(0.2 * noise.normal(i));

    reference::Tensors tensors;
    for (int i = 0; i < parameters.count(); ++i) {
        const View v = parameters.value(i);
        reference::Matrix m(v.rows, v.cols);
        std::copy_n(v.data, m.values.size(), m.values.begin());
        tensors[parameters.specs()[i].name] = m;
    }
    const reference::Oracles oracles(encodings.spec(), b.dims(), tensors);
    ORDO_EXPECT_COMPLETE(oracles);

    const int axes = GetParam().axes;
    const Batch batch(b, encodings, axes);
    Network network(b, encodings, parameters, Batch::sequences, b.context, {.axes = axes},
                    b.encoder.empty() ? 0 : b.context);
    const Positions positions = axes == 1 ? Positions() : Positions(batch.positions, axes); // by default those of text
    const double loss = network.loss_and_grad({batch.tokens, batch.targets, batch.segments, positions, batch.input});
    EXPECT_NEAR(loss, oracle_loss(b, encodings.spec(), tensors, oracles, batch), 1e-5);

    const Random random(13, 3);
    std::uint64_t draws = 0;
    for (int i = 0; i < parameters.count(); ++i) {
        const std::string& name = parameters.specs()[i].name;
        const View g = parameters.grad(i);
        std::vector<double>& values = tensors[name].values;
        const std::vector<double> original = values;
        const std::vector<double> gradient(g.data, g.data + values.size());
        double square = 0;
        for (const double x : gradient) square += x * x;
        const double length = std::sqrt(square);
        ASSERT_GT(length, 0) << name << " has no gradient";
        for (int direction = 0; direction < gradient_directions(); ++direction) {
            std::vector<double> v = gradient; // the first direction
            if (direction > 0)
                for (double& x : v) x = random.normal(draws++);
            double v_square = 0, expected = 0;
            for (const double x : v) v_square += x * x;
            for (double& x : v) x /= std::sqrt(v_square);
            for (std::size_t j = 0; j < v.size(); ++j) expected += v[j] * gradient[j];
            const double h = 1e-5;
            double difference = 0;
            for (const double side : {1.0, -1.0}) {
                for (std::size_t j = 0; j < v.size(); ++j) values[j] = original[j] + side * h * v[j];
                difference += side * oracle_loss(b, encodings.spec(), tensors, oracles, batch);
            }
            values = original;
            difference /= 2 * h;
            const double typical = length / std::sqrt(static_cast<double>(v.size()));
            // A change that shifts all scores of a row equally has a zero gradient, up to rounding.
            EXPECT_NEAR(expected, difference, 1e-3 * std::max(std::abs(difference), typical) + 5e-8)
                << name << ", direction " << direction;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Layers, Gradient, testing::ValuesIn(cases()), [](const auto& test) {
    std::string name;
    for (const char c : test.param.name) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return name;
});

// Several tiles of queries and slabs of keys, with windows inside them: along the whole gradient and at random.
class LongGradient : public testing::TestWithParam<std::string> {};

TEST_P(LongGradient, AgreesWithDifferencesOfTheOracle) {
    for (const int window : {0, 41}) {
        Blueprint b = cases().front().blueprint;
        b.context = 90;
        b.n_layers = 1;
        b.n_kv_heads = 2;
        b.window = window;
        ModelEncodings encodings(GetParam(), b.dims());
        Parameters parameters(b, encodings);
        parameters.initialise(3);
        const Random noise(11, 2), random(13, 3);
        reference::Tensors tensors;
        for (int i = 0; i < parameters.count(); ++i) {
            const View v = parameters.value(i);
            reference::Matrix m(v.rows, v.cols);
            for (std::size_t j = 0; j < m.values.size(); ++j)
                m.values[j] = v.data[j] +=
                    static_cast<float>(0.2 * noise.normal(static_cast<std::uint64_t>(i) * 10000 + j));
            tensors[parameters.specs()[i].name] = m;
        }
        const reference::Oracles oracles(encodings.spec(), b.dims(), tensors);
        ORDO_EXPECT_COMPLETE(oracles);
        const Batch batch(b, encodings);
        Network network(b, encodings, parameters, Batch::sequences, b.context);
        const double loss = network.loss_and_grad({batch.tokens, batch.targets, batch.segments});
        EXPECT_NEAR(loss, oracle_loss(b, encodings.spec(), tensors, oracles, batch), 1e-5);

        const reference::Tensors original = tensors;
        for (int direction = 0; direction < gradient_directions(); ++direction) {
            reference::Tensors v = original;
            double square = 0, expected = 0;
            for (int i = 0; i < parameters.count(); ++i) {
                std::vector<double>& values = v[parameters.specs()[i].name].values;
                const float* g = parameters.grad(i).data;
                for (std::size_t j = 0; j < values.size(); ++j) {
                    const std::uint64_t draw = static_cast<std::uint64_t>(direction * 100 + i) * 10000 + j;
                    values[j] = direction == 0 ? static_cast<double>(g[j]) : random.normal(draw);
                    square += values[j] * values[j];
                    expected += values[j] * static_cast<double>(g[j]);
                }
            }
            const double h = 1e-5 / std::sqrt(square);
            double difference = 0;
            for (const double side : {1.0, -1.0}) {
                for (auto& [name, m] : tensors)
                    for (std::size_t j = 0; j < m.values.size(); ++j)
                        m.values[j] = original.at(name).values[j] + side * h * v[name].values[j];
                difference += side * oracle_loss(b, encodings.spec(), tensors, oracles, batch);
            }
            tensors = original;
            expected /= std::sqrt(square);
            EXPECT_NEAR(expected, difference / 2e-5, 1e-3 * std::abs(expected) + 1e-5) << "window " << window;
        }
    }
}

std::vector<std::string> long_encodings() {
    std::vector<std::string> specs = {"deberta:terms=p2c", "t5+forget", "rope+sink",
                                      "pattern((alibi:trained=yes))+cope"};
    for (const EncodingInfo* e : registered_encodings()) specs.emplace_back(e->name);
    return specs;
}

INSTANTIATE_TEST_SUITE_P(Encodings, LongGradient, testing::ValuesIn(long_encodings()), [](const auto& test) {
    std::string name;
    for (const char c : test.param) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return name;
});

// Dropout acts in training and not in inference.
TEST(Dropout, KeepsTheMeanAndIsTheSameForAStep) {
    Blueprint b = cases().front().blueprint;
    ModelEncodings encodings("none", b.dims());
    Parameters parameters(b, encodings);
    parameters.initialise(3);
    Network network(b, encodings, parameters, Batch::sequences, b.context);
    const Batch batch(b, encodings);
    const double plain = network.loss({batch.tokens, batch.targets});
    const double first = network.loss_and_grad({batch.tokens, batch.targets}, {0.5, 1, 10});
    EXPECT_EQ(network.loss_and_grad({batch.tokens, batch.targets}, {0.5, 1, 10}), first);
    EXPECT_NE(network.loss_and_grad({batch.tokens, batch.targets}, {0.5, 1, 11}), first);
    EXPECT_NE(network.loss_and_grad({batch.tokens, batch.targets}, {0.5, 2, 10}), first);
    EXPECT_EQ(network.loss_and_grad({batch.tokens, batch.targets}, {0, 1, 10}), plain);
    EXPECT_EQ(network.loss({batch.tokens, batch.targets}), plain); // identity outside training
}

// Tested along the gradient of each tensor. A float loss has a resolution of about 1e-6, which bounds the step from
// below. A branch with a missing or wrong mask is off by far more than the tolerance.
TEST(Dropout, GradientAgreesWithDifferencesOfTheLoss) {
    for (const char* name : {"ordo", "gptj", "bert", "bloom"}) { // pre-norm, parallel, post-norm, embedding norm
        Blueprint b;
        for (const Case& c : cases())
            if (c.blueprint.architecture == name) b = c.blueprint;
        ASSERT_EQ(b.architecture, name);
        ModelEncodings encodings("learned", b.dims());
        Parameters parameters(b, encodings);
        parameters.initialise(3);
        const Random noise(11, 2);
        for (std::size_t i = 0; i < parameters.values().size(); ++i)
            parameters.values()[i] += static_cast<float>(0.2 * noise.normal(i));
        const Batch batch(b, encodings);
        Network network(b, encodings, parameters, Batch::sequences, b.context);
        const auto loss = [&] {
            return network.loss_and_grad({batch.tokens, batch.targets, batch.segments}, {0.3, 5, 2});
        };
        std::fill(parameters.grads().begin(), parameters.grads().end(), 0.0f);
        loss();
        const std::vector<float> gradient(parameters.grads().begin(), parameters.grads().end());
        for (int i = 0; i < parameters.count(); ++i) {
            const View w = parameters.value(i);
            const float* g = gradient.data() + (w.data - parameters.values().data());
            const std::vector<float> original(w.data, w.data + static_cast<std::ptrdiff_t>(w.rows) * w.cols);
            double square = 0;
            for (std::size_t j = 0; j < original.size(); ++j) square += static_cast<double>(g[j]) * g[j];
            const double length = std::sqrt(square), h = 5e-3;
            ASSERT_GT(length, 0) << name << " " << parameters.specs()[i].name;
            double difference = 0;
            for (const double side : {1.0, -1.0}) {
                for (std::size_t j = 0; j < original.size(); ++j)
                    w.data[j] = static_cast<float>(original[j] + side * h * g[j] / length);
                difference += side * loss() / (2 * h);
            }
            std::copy(original.begin(), original.end(), w.data);
            EXPECT_NEAR(difference, length, 1e-2 * length + 5e-4) << name << " " << parameters.specs()[i].name;
        }
    }
}

} // namespace
} // namespace ordo::train
