// SPDX-License-Identifier: MIT
// The encodings that act in each layer and together, and the columns and tensors that each receives.
#include "encoding/base/model_encodings.h"

#include "core/tensor.h"
#include "ordo.h"
#include "tests/expect_error.h"
#include <gtest/gtest.h>

#include <cmath>

namespace ordo {
namespace stack_test {

const Dims dims{24, 3, 8, 4, 64};

template <class... Own>
std::vector<OwnEncoding> list(Own... own) {
    std::vector<OwnEncoding> items;
    (items.push_back(std::move(own)), ...);
    return items;
}

TEST(ModelEncodings, BindsAndLimits) {
    ModelEncodings stack("segment:count=3+learned:length=10,offset=2+alibi", dims);
    EXPECT_EQ(stack.moments(), moment_embed | moment_bias);
    EXPECT_EQ(stack.shift_invariant_below(), 0);
    EXPECT_EQ(stack.limits().positions, 10);
    EXPECT_EQ(stack.limits().segments, 3);
    Tensor segment(3, 24), learned(12, 24), x(1, 24);
    EXPECT_NO_THROW(stack.bind(std::vector<View>{segment.view(), learned.view()}));
    EXPECT_THROW(stack.bind(std::vector<View>{segment.view()}), Error);
    EXPECT_THROW(stack.bind(std::vector<View>{segment.view(), learned.view(), x.view()}), Error);
}

// ---- Encodings that return their inputs --------------------------------------------------------

// An encoding with every moment. It reads state, and has tensors for the model and for each layer.
class Probe : public Encoding {
public:
    Probe(std::string name, unsigned moments, int state) : name_(std::move(name)), moments_(moments), state_(state) {}

    std::string spec() const override { return name_ + ":x=1"; }
    unsigned moments() const override { return moments_; }
    unsigned reads() const override { return state_ > 0 ? unsigned{reads_state} : 0; }
    int state_floats() const override { return state_; }
    void observe(View, int layer, Positions, const float* before, View state) const override {
        for (int j = 0; j < state_; ++j)
            state.row(0)[j] = static_cast<float>(10 * layer + j) + (before ? before[j] : 0);
        EXPECT_EQ(state.cols, state_);
    }
    void bias(View scores, const Tile& tile) const override { see(scores.row(0)[0], tile); }
    void rescore(View scores, const Tile& tile) const override { see(scores.row(0)[0], tile); }
    void mix(View out, View, const Tile& tile) const override { see(out.row(0)[0], tile); }

private:
    void see(float& to, const Tile& tile) const {
        EXPECT_EQ(tile.key_state.cols, state_);
        for (int j = 0; j < state_; ++j) to += tile.key_state.row(1)[j] - 100 * tile.query_state.row(0)[j];
    }
    std::string name_;
    unsigned moments_;
    int state_;
};

constexpr unsigned stateful = moment_observe | moment_bias | moment_rescore | moment_mix;

TEST(LayerEncodings, EachSeesItsOwnColumnsOfTheState) {
    const ModelEncodings stack(list(std::make_unique<Probe>("one", stateful, 2),
                                    std::make_unique<Probe>("plain", moment_bias, 0),
                                    std::make_unique<Probe>("two", stateful, 3)),
                               2);
    const LayerEncodings& layer = stack.layer(1);
    EXPECT_EQ(layer.state_floats(), 5);
    EXPECT_EQ(layer.reads(), unsigned{reads_state});
    Tensor state(1, 5), x(1, 24);
    layer.observe(x.view(), {}, nullptr, state.view());
    EXPECT_EQ(std::vector<float>(state.data(), state.data() + 5), (std::vector<float>{10, 11, 10, 11, 12}));
    const float before[] = {1, 2, 3, 4, 5};
    layer.observe(x.view(), {}, before, state.view());
    EXPECT_EQ(std::vector<float>(state.data(), state.data() + 5), (std::vector<float>{11, 13, 13, 15, 17}));

    Tensor keys(2, 5), queries(1, 5), out(1, 2);
    for (int j = 0; j < 5; ++j) {
        keys.view().row(1)[j] = static_cast<float>(1 << j);
        queries.data()[j] = static_cast<float>(j % 2);
    }
    const Tile tile{.query_state = queries.view(), .key_state = keys.view()};
    const float all = 31 - 200; // both sum their columns: 3 - 100 and 28 - 100
    layer.bias(out.view(), tile);
    EXPECT_EQ(out.data()[0], all);
    layer.rescore(out.view(), tile);
    EXPECT_EQ(out.data()[0], 2 * all);
    layer.mix(out.view(), {}, tile);
    EXPECT_EQ(out.data()[0], 3 * all);
}

// A state that only queries read comes after the kept ones, and gets no state of the token before.
TEST(LayerEncodings, KeepsTheStatesThatKeysNeedFirst) {
    class Passing final : public Probe {
    public:
        using Probe::Probe;
        unsigned reads() const override { return reads_query_state; }
        void observe(View, int, Positions, const float* before, View state) const override {
            EXPECT_EQ(before, nullptr);
            state.row(0)[0] = 7;
        }
        void bias(View scores, const Tile& tile) const override {
            EXPECT_EQ(tile.key_state.data, nullptr);
            scores.row(0)[0] += tile.query_state.row(0)[0];
        }
    };
    const ModelEncodings stack(list(std::make_unique<Passing>("passing", moment_observe | moment_bias, 1),
                                    std::make_unique<Probe>("kept", moment_observe | moment_bias, 2)),
                               1);
    const LayerEncodings& layer = stack.layer(0);
    EXPECT_EQ(layer.state_floats(), 3);
    EXPECT_EQ(layer.kept_floats(), 2);
    Tensor state(1, 3), x(1, 24), keys(2, 2), out(1, 1);
    const float before[] = {1, 2};
    layer.observe(x.view(), {}, before, state.view());
    EXPECT_EQ(std::vector<float>(state.data(), state.data() + 3), (std::vector<float>{1, 3, 7}));
    layer.bias(out.view(), {.query_state = state.view(), .key_state = keys.view()});
    EXPECT_EQ(out.data()[0], 7 - 100 * (1 + 3));
    EXPECT_FALSE(stack.items()[1]->can_move_keys());
    EXPECT_TRUE(stack.items()[0]->can_move_keys());
}

// Rescoring multiplies the row, so the second encoding's input differs from the first's.
class Scale final : public Encoding {
public:
    explicit Scale(float by) : by_(by) {}
    std::string spec() const override { return "x" + std::to_string(by_); }
    // s -> by s^2
    void rescore(View s, const Tile&) const override {
        for (int j = 0; j < s.cols; ++j) s.data[j] = by_ * s.data[j] * s.data[j];
    }
    void rescore_backward(View d, View s, const Tile&, const Gradients&) const override {
        for (int j = 0; j < s.cols; ++j) d.data[j] *= 2 * by_ * s.data[j];
    }

private:
    float by_;
};

TEST(LayerEncodings, RescoresBackThroughWhatEachWasGiven) {
    const ModelEncodings stack(list(std::make_unique<Scale>(2), std::make_unique<Scale>(3), std::make_unique<Scale>(5)),
                               1);
    std::vector<float> s = {1, 0.5f}, d = {1, 1};
    const View scores = view(s.data(), 1, 2);
    const TensorGradients grads = stack.gradients_of_layer(0, {});
    stack.layer(0).rescore_backward(view(d.data(), 1, 2), scores, {}, {}, grads);
    // y = 5 (3 (2 s^2)^2)^2 = 720 s^8
    EXPECT_FLOAT_EQ(d[0], 8 * 720.0f);
    EXPECT_FLOAT_EQ(d[1], 8 * 720 * std::pow(0.5f, 7.0f));
    EXPECT_EQ(s, (std::vector<float>{1, 0.5f})) << "the scores are as they were";
}

// ---- Tensors -------------------------------------------------------------------------------------

// A trained bias: one number for the model, and one for each layer.
class Trained : public Encoding {
public:
    std::string spec() const override { return "trained:a=1"; }
    unsigned moments() const override { return moment_bias; }
    std::vector<TensorSpec> tensors() const override {
        return {{.name = "all", .shape = {1}},
                {.name = "each", .shape = {2}, .per_layer = true},
                {.name = "last", .shape = {1, 3}}};
    }
    void bind(int layer, std::span<const View> tensors) override {
        bound.push_back({layer, static_cast<int>(tensors[0].data[0]), static_cast<int>(tensors[1].data[0]),
                         static_cast<int>(tensors[2].data[0])});
    }
    std::vector<std::vector<int>> bound;
};

TEST(ModelEncodings, TensorsPerLayerAreNamedAndBoundByLayer) {
    auto made = std::make_unique<Trained>();
    const Trained& trained = *made;
    ModelEncodings stack(list(std::move(made)), 2);
    std::vector<std::string> names;
    for (const TensorSpec& spec : stack.tensors()) names.push_back(spec.name);
    EXPECT_EQ(names, (std::vector<std::string>{"encoding.trained.all", "encoding.trained.layers.0.each",
                                               "encoding.trained.layers.1.each", "encoding.trained.last"}));
    std::vector<float> values = {5, 6, 7, 8};
    std::vector<View> views;
    for (float& value : values) views.push_back(view(&value, 1, 1));
    stack.bind(views);
    EXPECT_EQ(trained.bound, (std::vector<std::vector<int>>{{0, 5, 6, 8}, {1, 5, 7, 8}}));

    const TensorGradients second = stack.gradients_of_layer(1, views);
    ASSERT_EQ(second.size(), 1u);
    EXPECT_EQ(second[0].at(0).data, &values[0]);
    EXPECT_EQ(second[0].at(1).data, &values[2]);
    EXPECT_EQ(second[0].at(2).data, &values[3]);
    const std::vector<View> once = stack.gradients_of_item(0, views);
    EXPECT_EQ(once.at(0).data, &values[0]);
    EXPECT_EQ(once.at(1).data, nullptr);
    EXPECT_EQ(once.at(2).data, &values[3]);
}

TEST(Dims, SlotIsTheIndexAmongTheLayers) {
    Dims some = dims;
    EXPECT_EQ(some.slot(3), 3);
    EXPECT_EQ(some.slot(4), -1);
    EXPECT_EQ(some.slot(-1), -1);
    EXPECT_EQ(some.layer_count(), 4);
    some.layers = {1, 3};
    EXPECT_EQ(some.slot(1), 0);
    EXPECT_EQ(some.slot(3), 1);
    EXPECT_EQ(some.slot(2), -1);
    EXPECT_EQ(some.slot(4), -1);
    EXPECT_EQ(some.layer_count(), 2);
}

// ---- Lengths -------------------------------------------------------------------------------------

class Long final : public Encoding {
public:
    explicit Long(int tokens) : tokens_(tokens) {}
    std::string spec() const override { return "long:at=" + std::to_string(tokens_); }
    void bias(View scores, const Tile&) const override {
        scores.data[0] += weight_.data[0] * static_cast<float>(prepared_);
    }
    std::vector<TensorSpec> tensors() const override { return {{.name = "w", .shape = {1}}}; }
    void bind(int, std::span<const View> tensors) override { weight_ = tensors[0]; }
    void prepare(int n) override { prepared_ = n; }
    AtLength at_length(int capacity, int) const override {
        return {capacity > 100 ? std::make_unique<Long>(capacity) : nullptr};
    }

private:
    int tokens_, prepared_ = 0;
    View weight_;
};

// An encoding that changes with the length of a text of more than `beyond` tokens.
class Switching final : public Encoding {
public:
    explicit Switching(int beyond, int at = 0) : beyond_(beyond), at_(at) {}
    std::string spec() const override { return "switching:at=" + std::to_string(at_); }
    unsigned moments() const override { return moment_bias; }
    AtLength at_length(int, int text) const override {
        AtLength version{std::make_unique<Switching>(beyond_, text)};
        if (text <= beyond_) version.longest_text = beyond_;
        return version;
    }

private:
    int beyond_, at_;
};

TEST(ModelEncodings, TellsLengthsOfTheTextFromThatOfTheSession) {
    ModelEncodings stack(list(std::make_unique<Switching>(50), std::make_unique<Long>(0),
                              std::make_unique<Switching>(20), std::make_unique<Switching>(50)),
                         2);
    float weight = 3;
    stack.bind(std::vector<View>{view(&weight, 1, 1)});
    EXPECT_EQ(stack.changes_beyond(500), (std::vector<int>{20, 50}));
    EXPECT_EQ(stack.at_length({500, 30}, 10)->spec(), "switching:at=30+long:at=500+switching:at=30+switching:at=30");
}

TEST(ModelEncodings, RefusesTensorsThatAreNeitherVectorsNorMatrices) {
    class Shaped final : public Trained {
    public:
        explicit Shaped(std::vector<std::int64_t> shape) : shape_(std::move(shape)) {}
        std::vector<TensorSpec> tensors() const override { return {{.name = "w", .shape = shape_}}; }

    private:
        std::vector<std::int64_t> shape_;
    };
    for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {2, 2, 2}})
        expect_error(ErrorCode::usage, "trained:a=1: tensor 'w': expected a shape of rank 1 or 2",
                     [&] { Model::load("weights/none.safetensors", std::make_unique<Shaped>(shape)); });
}

TEST(ModelEncodings, AtALengthSharesWhatStaysAndBindsWhatChanges) {
    ModelEncodings stack(list(std::make_unique<Probe>("plain", moment_embed, 0), std::make_unique<Long>(0)), 2);
    float weight = 3;
    stack.bind(std::vector<View>{view(&weight, 1, 1)});
    stack.prepare(10);
    EXPECT_FALSE(stack.at_length(100, 100).has_value());
    const std::optional<ModelEncodings> other = stack.at_length(500, 20);
    ASSERT_TRUE(other.has_value());
    EXPECT_EQ(other->items()[0], stack.items()[0]);
    EXPECT_NE(other->items()[1], stack.items()[1]);
    EXPECT_EQ(other->spec(), "plain:x=1+long:at=500");
    float of_stack = 0, of_other = 0;
    stack.layer(1).bias(view(&of_stack, 1, 1), {});
    other->layer(1).bias(view(&of_other, 1, 1), {});
    EXPECT_EQ(of_stack, 30);
    EXPECT_EQ(of_other, 60);
}

// ---- Patterns and sums ---------------------------------------------------------------------------

// The encodings in each layer by their effect: "rb" rotates and adds a bias.
std::string acting(const ModelEncodings& stack, int n_layers) {
    std::string text;
    for (int layer = 0; layer < n_layers; ++layer) {
        const unsigned moments = stack.layer(layer).moments();
        text += layer > 0 ? " " : "";
        text += moments & moment_rotate ? "r" : "";
        text += moments & moment_bias ? "b" : "";
        text += moments == 0 ? "-" : "";
    }
    return text;
}

TEST(ModelEncodings, APatternRepeatsOverTheLayers) {
    EXPECT_EQ(acting(ModelEncodings("rope", dims), 4), "r r r r");
    EXPECT_EQ(acting(ModelEncodings("pattern(rope,none)", dims), 4), "r - r -");
    EXPECT_EQ(acting(ModelEncodings("pattern(rope,rope,none)", dims), 4), "r r - r");
    EXPECT_EQ(acting(ModelEncodings("alibi+pattern(none,rope)", dims), 4), "b rb b rb");
    EXPECT_EQ(acting(ModelEncodings("pattern(none,(rope+alibi),alibi)", dims), 4), "- rb b -");
    EXPECT_EQ(acting(ModelEncodings("pattern(rope,none)+pattern(none,(rope:theta=5))", dims), 4), "r r r r");
}

TEST(ModelEncodings, EqualItemsOfAPatternAreOneEncoding) {
    EXPECT_EQ(ModelEncodings("pattern(rope,rope,none)", dims).items().size(), 1u);
    EXPECT_EQ(ModelEncodings("pattern(rope,(rope:theta=5),rope)", dims).items().size(), 2u);
    EXPECT_EQ(ModelEncodings("pattern(rope,(rope:theta=10000,width=8))", dims).items().size(), 1u);
}

// A pattern may be longer than the model is deep. Its further elements stay in the spec and have no effect.
TEST(ModelEncodings, ElementsPastTheLastLayerAreIdle) {
    Dims shallow = dims;
    shallow.n_layers = 2;
    const ModelEncodings stack("pattern(rope,none,(rope:theta=5),alibi)", shallow);
    EXPECT_EQ(stack.items().size(), 1u);
    EXPECT_EQ(stack.moments(), unsigned{moment_rotate});
    EXPECT_EQ(acting(stack, 2), "r -");
    EXPECT_EQ(stack.spec(), ModelEncodings("pattern(rope,none,(rope:theta=5),alibi)", dims).spec());
}

TEST(ModelEncodings, WithoutLayersThereAreEncodingsAndNoLayers) {
    Dims none = dims;
    none.n_layers = 0;
    ModelEncodings stack("segment+pattern(rope,alibi)", none);
    EXPECT_EQ(stack.items().size(), 3u);
    EXPECT_EQ(stack.moments(), moment_embed | moment_rotate | moment_bias);
    EXPECT_EQ(stack.tensors().size(), 1u);
    Tensor segment(2, 24), x(1, 24);
    segment.data()[3] = 7;
    stack.bind(std::vector<View>{segment.view()});
    stack.embed(x.view(), {std::vector<int>{0}, {}});
    EXPECT_EQ(x.data()[3], 7);
    EXPECT_THROW(ModelEncodings("pattern(rope,(rope+alibi+rope:theta=5))", none), Error);
    none.n_layers = -1;
    EXPECT_THROW(ModelEncodings("rope", none), Error);
}

TEST(ModelEncodings, RefusesTwoRotationsOfOneLayerWhereverTheyStand) {
    for (const char* spec :
         {"rope+alibi+rope:theta=5", "rope+pattern(none,rope)", "pattern(rope,none)+pattern(none,none,rope)",
          "pattern((rope+rope),none)", "pattern((rope+rope:theta=5))", "pattern(none,none,none,rope)+rope"})
        expect_error(ErrorCode::usage, "'rope' and 'rope' both rotate", [&] { ModelEncodings(spec, dims); });
    EXPECT_NO_THROW(ModelEncodings("pattern(rope,none)+pattern(none,rope)", dims));
}

// A factor of the queries commutes with a rotation, and with another factor.
TEST(ModelEncodings, TakesFactorsOfTheQueriesBesideARotation) {
    for (const char* spec : {"rope+log-scale", "log-scale+rope", "log-scale:kind=llama4+log-scale:kind=log-n+rope",
                             "pattern((rope+log-scale),none)", "log-scale:kind=inkling+cope"})
        EXPECT_NO_THROW(ModelEncodings(spec, dims)) << spec;
}

TEST(ModelEncodings, RefusesOthersWhereAnEncodingActsAlone) {
    const auto refused = [](const std::string& spec, const std::string& text) {
        expect_error(ErrorCode::usage, text, [&] { ModelEncodings(spec, dims); });
    };
    refused("log-scale:kind=inkling+alibi", "expected 'log-scale' without another encoding at bias");
    refused("t5+log-scale:kind=inkling", "expected 'log-scale' without another encoding at bias");
    refused("transformer-xl+log-scale", "expected 'transformer-xl' without another encoding at rotate");
    refused("stick-breaking+cope", "expected 'stick-breaking' without another encoding at rescore");
    refused("stick-breaking+sink", "'stick-breaking' and 'sink' both are the sink of a softmax");
    EXPECT_NO_THROW(ModelEncodings("pattern((log-scale:kind=inkling),(alibi))", dims));
}

} // namespace stack_test
} // namespace ordo
