// SPDX-License-Identifier: MIT
// Encodings of the caller's: which are refused, which a name makes again, and the same weights under another encoding.
#include "tests/expect_error.h"
#include "tests/model/small_models.h"
#include "tests/temp_dir.h"
#include "training.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

constexpr const char* unencoded = "weights/none.safetensors";

// A score falls by a trained rate for each token of distance.
class Slope : public Encoding {
public:
    explicit Slope(std::string spec = "slope") : spec_(std::move(spec)) {}
    std::string spec() const override { return spec_; }
    std::vector<TensorSpec> tensors() const override {
        return {{.name = "rate", .shape = {1}, .initial = InitialValues::constant(0.0625f)}};
    }
    void bind(int, std::span<const View> tensors) override { rate_ = tensors[0]; }
    void bias(View scores, const Tile& tile) const override {
        for (int i = 0; i < scores.rows; ++i)
            for (int j = 0; j < scores.cols; ++j)
                scores.row(i)[j] -= rate_.data[0] * static_cast<float>(tile.queries[i] - tile.keys[j]);
    }
    void bias_backward(View d_scores, const Tile& tile, const Gradients& gradient) const override {
        for (int i = 0; i < d_scores.rows; ++i)
            for (int j = 0; j < d_scores.cols; ++j)
                gradient.tensors[0].data[0] -= d_scores.row(i)[j] * static_cast<float>(tile.queries[i] - tile.keys[j]);
    }

private:
    std::string spec_;
    View rate_;
};

struct Heir : Slope {};
struct Private : Encoding {
    std::string spec() const override { return "private"; }

private:
    float sink(const Tile&) const override { return 0; }
    void embed_backward(View, View, const TokenRows&, const Gradients&) const override {}
};
struct Narrow : Heir {
    unsigned moments() const override { return 0; }
};

TEST(OwnEncodings, ActAtTheMomentsThatTheirClassOverrides) {
    const auto moments_of = [](OwnEncoding own) {
        return std::pair{own.encoding->moments(), own.encoding->gradients()};
    };
    EXPECT_EQ(moments_of(std::make_unique<Slope>()), (std::pair{4u, 4u}));
    EXPECT_EQ(moments_of(std::make_unique<Heir>()), (std::pair{4u, 4u}));
    EXPECT_EQ(moments_of(std::make_unique<Private>()), (std::pair{64u, 1u}));
    EXPECT_EQ(moments_of(std::make_unique<Narrow>()), (std::pair{0u, 4u}));
    EXPECT_EQ(Model::load(unencoded).with_encoding(std::make_unique<Heir>()).encoding(), "slope");
}

// A pointer to a base hides the class, unless an OwnEncoding has seen it before.
TEST(OwnEncodings, APointerToABaseIsAnErrorWithoutMoments) {
    const std::string told = "encoding slope: moments(): expected an override";
    expect_error(ErrorCode::usage, told,
                 [] { Model::load(unencoded, std::unique_ptr<Encoding>(std::make_unique<Slope>())); });
    expect_error(ErrorCode::usage, told,
                 [] { Model::load(unencoded, std::unique_ptr<Slope>(std::make_unique<Heir>())); });
    expect_error(ErrorCode::usage, told, [] { Slope().table({}); });
    const Model model = Model::load(unencoded).with_encoding(std::unique_ptr<Encoding>(std::make_unique<Narrow>()));
    EXPECT_EQ(model.encoding(), "slope");
    OwnEncoding seen = std::make_unique<Slope>();
    EXPECT_EQ(model.with_encoding(std::move(seen.encoding)).encoding(), "slope");
}

TEST(OwnEncodings, NumbersWithoutAMeaningAreAnError) {
    struct Stated : Slope {
        explicit Stated(int floats, unsigned bits) : state(floats), more(bits) {}
        int state_floats() const override { return state; }
        unsigned moments() const override { return moment_bias | more; }
        int state;
        unsigned more;
    };
    const Model model = Model::load(unencoded);
    for (const int state : {-1, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()})
        expect_error(ErrorCode::usage, "state_floats(): expected 0 to",
                     [&] { model.with_encoding(std::make_unique<Stated>(state, 0)); });
    struct Mixing : Slope {
        bool shifts(Place place) const override { return place == Place::attention; }
        int shift_rows() const override { return rows; }
        void shift(View, const ShiftRows&) const override {}
        int rows = 0;
    };
    for (const int rows : {-1, std::numeric_limits<int>::max()}) {
        auto own = std::make_unique<Mixing>();
        own->rows = rows;
        expect_error(ErrorCode::usage, "shift_rows(): expected 0 to", [&] { model.with_encoding(std::move(own)); });
    }
    struct Axes : Slope {
        int position_axes() const override { return axes; }
        int axes = 0;
    };
    for (const int axes : {0, 17}) {
        auto own = std::make_unique<Axes>();
        own->axes = axes;
        expect_error(ErrorCode::usage, "position_axes(): expected 1 to", [&] { model.with_encoding(std::move(own)); });
    }
    for (const unsigned bits : {512u, 1u << 31})
        expect_error(ErrorCode::usage, "moments(): expected a set of moments",
                     [&] { Model::load(unencoded, std::make_unique<Stated>(0, bits)); });
}

// A tensor is a vector or a matrix.
TEST(OwnEncodings, TensorsOfOtherShapesAreAnError) {
    struct Odd : Slope {
        explicit Odd(std::vector<std::int64_t> of) : shape(std::move(of)) {}
        std::vector<TensorSpec> tensors() const override { return {{.name = "rate", .shape = shape}}; }
        std::vector<std::int64_t> shape;
    };
    const Model model = Model::load(unencoded);
    using Shape = std::vector<std::int64_t>;
    for (const Shape& shape : {Shape{}, Shape{1, 1, 1}}) {
        const std::string told =
            "tensor 'rate': expected a shape of rank 1 or 2, found " + std::to_string(shape.size());
        expect_error(ErrorCode::usage, told, [&] { Model::load(unencoded, std::make_unique<Odd>(shape)); });
        expect_error(ErrorCode::usage, told, [&] { model.with_encoding(std::make_unique<Odd>(shape)); });
    }
    for (const Shape& shape : {Shape{0}, Shape{2, -1}, Shape{std::numeric_limits<std::int64_t>::max()}}) {
        expect_error(ErrorCode::usage, "rate': expected sizes from 1 to",
                     [&] { model.with_encoding(std::make_unique<Odd>(shape)); });
        expect_error(ErrorCode::usage, "rate': expected [", // the file has none
                     [&] { Model::load(unencoded, std::make_unique<Odd>(shape)); });
    }
}

TEST(OwnEncodings, ANullPointerIsAnError) {
    expect_error(ErrorCode::usage, "encoding: expected one, found a null pointer",
                 [] { Model::load(unencoded, std::unique_ptr<Encoding>()); });
    const Model model = Model::load(unencoded);
    expect_error(ErrorCode::usage, "null pointer", [&] { model.with_encoding(std::unique_ptr<Slope>()); });
}

TEST(OwnEncodings, ARegisteredNameMakesThemInSpecs) {
    register_encoding("gentle", [](const Dims& dims, std::string_view item) {
        EXPECT_EQ(dims.n_heads, 4);
        return std::make_unique<Slope>(std::string(item));
    });
    const Model model = random_model(small_blueprint(), "gentle:power=2+rope", 3);
    EXPECT_EQ(model.encoding().find("gentle:power=2+rope:"), 0u);
    EXPECT_EQ(make_encodings("gentle", small_blueprint().dims()).at(0)->spec(), "gentle");
    for (const char* name : {"gentle", "rope", "none"})
        expect_error(ErrorCode::usage, "taken",
                     [&] { register_encoding(name, [](auto&&...) { return std::make_unique<Slope>(); }); });
    for (const char* name : {"", "Gentle", "a:b", "pattern"})
        expect_error(ErrorCode::usage, "expected a name",
                     [&] { register_encoding(name, [](auto&&...) { return std::make_unique<Slope>(); }); });
    register_encoding("broken", [](auto&&...) { return std::unique_ptr<Slope>(); });
    register_encoding("misnamed", [](auto&&...) { return std::make_unique<Slope>("slope"); });
    expect_error(ErrorCode::usage, "null pointer", [] { make_encodings("broken", small_blueprint().dims()); });
    expect_error(ErrorCode::usage, "begins with this name",
                 [] { make_encodings("misnamed", small_blueprint().dims()); });
}

// It records its tables and its calls, one for each pass.
struct Tabled : Encoding {
    std::string spec() const override { return "tabled"; }
    void embed(View, const TokenRows&) const override {
        ++passes;
        used = positions_;
    }
    void prepare(int n) override {
        positions_ = std::max(positions_, n);
        longest = std::max(longest, n);
        ++prepared;
    }
    static inline int longest = 0, prepared = 0, passes = 0, used = 0;

private:
    int positions_ = 0;
};
struct TabledByLength : Tabled {
    AtLength at_length(int capacity, int) const override {
        return {capacity > 50 ? std::make_unique<TabledByLength>() : nullptr};
    }
};

TEST(OwnEncodings, ATextLongerThanTheContextHasTables) {
    Tabled::longest = 0;
    register_encoding("tabled", [](auto&&...) { return std::make_unique<Tabled>(); });
    const Model model = random_model(small_blueprint(), "tabled", 3);
    const auto feed = [](Session& session, int n) { session.feed(std::vector<Token>(static_cast<std::size_t>(n), 1)); };
    Session first(model), text(model, {.capacity = 3000}), other(model, {.capacity = 400});
    feed(first, 9);
    feed(text, model.context());
    EXPECT_EQ(Tabled::longest, model.context());
    const int before = Tabled::prepared;
    feed(text, 1);
    EXPECT_EQ(Tabled::used, 128);
    feed(text, 30);
    feed(other, 120);
    EXPECT_EQ(Tabled::prepared, before + 1); // for all of these
    feed(text, 100);
    EXPECT_EQ(Tabled::longest, 256);
    Session later(model, {.capacity = 9, .first_position = 600});
    feed(later, 1);
    EXPECT_EQ(Tabled::longest, 1024);
    text.feed(std::vector<Token>(2, 1), {.to_come = 1500});
    EXPECT_EQ(Tabled::longest, 2048);
    other.feed({{1}}, {.to_come = 2'000'000'000}); // of which its capacity leaves some hundreds
    EXPECT_EQ(Tabled::longest, 2048);

    // Positions beyond all tables get none; their distances may be small.
    Session far(model, {.capacity = 9, .first_position = 1 << 20});
    feed(far, 9);
    EXPECT_EQ(Tabled::longest, 2048);
    EXPECT_EQ(Tabled::prepared, before + 4);

    // Sessions with tables of different lengths share a pass, which uses the longest.
    std::vector<Session*> members{&first, &text, &other};
    Batch batch(model, 3, 3000);
    Tabled::passes = 0;
    batch.feed(members, std::vector<Token>{1, 2, 3});
    EXPECT_EQ(Tabled::passes, 1);
    EXPECT_EQ(Tabled::used, 2048);

    // An encoding of the caller's cannot be made again.
    const Model own = model.with_encoding(std::make_unique<Tabled>());
    Session of_own(own, {.capacity = 300});
    Tabled::prepared = 0;
    feed(of_own, 200);
    EXPECT_EQ(Tabled::prepared, 0);
    EXPECT_EQ(Tabled::used, model.context());
}

TEST(OwnEncodings, AVersionAtALengthIsAnotherWhateverItsSpec) {
    const Model model = random_model(small_blueprint(), "none", 3).with_encoding(std::make_unique<TabledByLength>());
    Session brief(model, {.capacity = 45}), longer(model, {.capacity = 90});
    std::vector<Session*> members{&brief, &longer};
    Batch batch(model, 2);
    Tabled::passes = 0;
    batch.feed(members, std::vector<Token>{1, 2});
    EXPECT_EQ(Tabled::passes, 2);
}

TEST(OwnEncodings, AVersionAtALengthHasTablesThatGrow) {
    struct Registered : TabledByLength {
        std::string spec() const override { return "tabled-by-length"; }
        AtLength at_length(int, int) const override { return {std::make_unique<Registered>()}; }
    };
    register_encoding("tabled-by-length", [](auto&&...) { return std::make_unique<Registered>(); });
    const Model model = random_model(small_blueprint(), "tabled-by-length", 3);
    Session text(model, {.capacity = 600});
    for (const auto& [n, tables] : {std::pair{60, model.context()}, {60, 128}, {9, 256}, {400, 1024}}) {
        text.feed(std::vector<Token>(static_cast<std::size_t>(n), 1));
        EXPECT_EQ(Tabled::used, tables);
    }
}

// The layers' steps and the cache were made for the places of the first version.
TEST(OwnEncodings, AVersionAtALengthShiftsAtTheSamePlaces) {
    struct Mixing : Encoding {
        std::string spec() const override { return "mixing"; }
        bool shifts(Place place) const override { return place == Place::attention || place == more; }
        int shift_rows() const override { return rows; }
        void shift(View, const ShiftRows&) const override {}
        AtLength at_length(int, int) const override {
            auto version = std::make_unique<Mixing>();
            version->more = other, version->rows = other_rows;
            return {std::move(version)};
        }
        Place more = Place::attention, other = Place::attention;
        int rows = 1, other_rows = 1;
    };
    const Model model = Model::load(unencoded);
    const auto open = [&](Place other, int rows) {
        auto own = std::make_unique<Mixing>();
        own->other = other, own->other_rows = rows;
        const Model mixed = model.with_encoding(std::move(own));
        const Session session(mixed, {.capacity = 20});
    };
    for (const Place place : {Place::embedding, Place::qkv, Place::feed_forward})
        expect_error(ErrorCode::usage, "mixing: expected the same moments, places", [&] { open(place, 1); });
    expect_error(ErrorCode::usage, "shift_rows(): expected 0 to", [&] { open(Place::attention, -1); });
    EXPECT_NO_THROW(open(Place::attention, 2));
}

TEST(OwnEncodings, OneThatIsNotMadeAgainGoesOnWithItsTables) {
    struct Registered : Tabled {
        std::string spec() const override { return "made-once"; }
    };
    static bool has_memory = true;
    static int made_in_vain = 0;
    register_encoding("made-once", [](auto&&...) {
        if (!has_memory) ++made_in_vain, throw std::bad_alloc();
        return std::make_unique<Registered>();
    });
    const Model model = random_model(small_blueprint(), "made-once", 3);
    has_memory = false;
    Session text(model, {.capacity = 600});
    for (const int n : {60, 60, 300}) text.feed(std::vector<Token>(static_cast<std::size_t>(n), 1));
    EXPECT_EQ(Tabled::used, model.context());
    EXPECT_EQ(made_in_vain, 1);
}

// Once it is registered, training goes as for an encoding of Ordo's that computes the same.
TEST(OwnEncodings, TrainingRefusesAnUnknownOneAndTrainsAKnownOne) {
    const Model model = Model::load(unencoded);
    const Model own = model.with_encoding(std::make_unique<Slope>("falling"));
    expect_error(ErrorCode::usage, "encoding falling: training makes it a second time", [&] { Trainer{own}; });
    expect_error(ErrorCode::usage, "register_encoding()", [&] { Trainer{own}; });
    register_encoding("falling",
                      [](const Dims&, std::string_view item) { return std::make_unique<Slope>(std::string(item)); });
    const std::vector<Token> text = model.encode("My neighbour keeps seven green parrots.", {.start = true});
    const std::span<const Token> all(text), tokens = all.first(text.size() - 1), targets = all.subspan(1);
    Trainer trainer(own, {.length = static_cast<int>(tokens.size())});
    const double before = trainer.loss(tokens, targets);
    for (int step = 0; step < 8; ++step) trainer.step(tokens, targets, 1e-3);
    EXPECT_LT(trainer.loss(tokens, targets), before / 2);
    // Its only tensor has moved from where it began.
    const Model trained = trainer.model();
    float rate = 0.0625f;
    impl_of(trained).read("encoding.falling.rate", {&rate, 1});
    EXPECT_NE(rate, 0.0625f);
    const test::TempDir folder;
    trainer.save(folder.path() / "falling.safetensors", "f32");
    const Model read = Model::load(folder.path() / "falling.safetensors");
    EXPECT_EQ(read.encoding(), "falling");
    EXPECT_EQ(difference(logits_of(read, tokens), logits_of(trained, tokens)), 0);
}

// ---- The same weights under another encoding ---------------------------------------------------

TEST(WithEncoding, EqualsLoadingWithItAndCopiesNoWeights) {
    const Model rope = Model::load("weights/rope.safetensors");
    const std::vector<Token> tokens = rope.encode("Once upon a time", {.start = true});
    for (const char* spec : {"alibi", "none", "rope:theta=500,scaling=linear,factor=2", "pattern(rope,none)"}) {
        LoadOptions forced{.encoding = spec, .force_encoding = true};
        const Model loaded = Model::load("weights/rope.safetensors", forced), other = rope.with_encoding(spec);
        EXPECT_EQ(other.encoding(), loaded.encoding());
        EXPECT_EQ(difference(logits_of(other, tokens), logits_of(loaded, tokens)), 0) << spec;
        EXPECT_EQ(impl_of(other).tensors.get(), impl_of(rope).tensors.get());
        EXPECT_EQ(generate(other, "The old dog", {.max_tokens = 8}).text,
                  generate(loaded, "The old dog", {.max_tokens = 8}).text);
    }
    expect_error(ErrorCode::usage, "ropes", [&] { rope.with_encoding("ropes"); });
}

TEST(WithEncoding, LivesOnWithoutTheFirstModelAndFindsTrainedTensorsAgain) {
    const std::vector<Token> tokens = random_tokens(12, small_blueprint().vocab_size, 5);
    auto first = std::make_unique<Model>(random_model(small_blueprint(), "t5", 4));
    const Rows expected = logits_of(*first, tokens);
    const Model without = first->with_encoding("none");
    first.reset();
    EXPECT_GT(difference(logits_of(without, tokens), expected), 1e-3);
    EXPECT_EQ(difference(logits_of(without.with_encoding("t5"), tokens), expected), 0);
}

// Tensors that the weights lack, or have in another shape, begin as in training.
TEST(WithEncoding, GivesMissingTensorsTheirInitialValues) {
    const std::vector<Token> tokens = random_tokens(12, small_blueprint().vocab_size, 5);
    const Model model = random_model(small_blueprint(), "t5", 4);
    const Model slope = model.with_encoding(std::make_unique<Slope>());
    float rate = 0;
    impl_of(slope).read("encoding.slope.rate", {&rate, 1});
    EXPECT_EQ(rate, 0.0625f);
    std::string told;
    const auto on_warning = [&](std::string_view text) { told += text; };
    model.with_encoding("rope", on_warning);
    model.with_encoding("t5", on_warning);
    EXPECT_EQ(told, "");
    model.with_encoding(std::make_unique<Slope>(), on_warning);
    EXPECT_NE(told.find("tensor 'encoding.slope.rate' is not in the weights"), std::string::npos) << told;
    const Model fewer = model.with_encoding("t5:buckets=16");
    EXPECT_GT(difference(logits_of(fewer, tokens), logits_of(model, tokens)), 0);
    Trainer trainer(fewer, {.length = 12});
    EXPECT_EQ(difference(logits_of(trainer.model(), tokens), logits_of(fewer, tokens)), 0);
}

} // namespace
} // namespace ordo
