// SPDX-License-Identifier: MIT
// The registry's description of each encoding matches its behaviour, and sums follow their rules. The encodings that
// training refuses, and the initial values of tensors.
#include "encoding/base/initial.h"
#include "tests/encoding/subject.h"
#include "tests/expect_error.h"

#include <set>

namespace ordo {
namespace registry_test {

const Dims dims{24, 3, 8, 2, 64};

void refused(std::string_view spec, const std::string& phrase, const Dims& of = dims) {
    expect_error(ErrorCode::usage, phrase, [&] { make_encodings(spec, of); });
}

TEST(Registry, DescribesEveryEncoding) {
    std::set<std::string_view> names;
    for (const EncodingInfo* info : registered_encodings()) {
        SCOPED_TRACE(info->name);
        EXPECT_TRUE(names.insert(info->name).second);
        EXPECT_FALSE(info->summary.empty());
        EXPECT_FALSE(info->paper.empty());
        EXPECT_FALSE(info->formula.empty());
        EXPECT_EQ(&find_encoding(info->name), info);
    }
}

// Those of the papers. contract_test.cpp proves the others, such as invariance.
TEST(Registry, SaysAtWhichMomentsEncodingsAct) {
    std::istringstream acting(R"(none 0 sinusoidal embed learned embed segment embed rotate-stretch embed rope rotate
        xpos rotate alibi bias t5 bias kerple bias sandwich bias fire bias forget observe+bias sink sink shaw bias+mix
        transformer-xl rotate+bias deberta rotate+bias cope rescore relative-logits observe+bias
        log-scale rotate stick-breaking rescore+sink selective-rope observe+rotate)");
    for (std::string name, moments; acting >> name >> moments;) {
        SCOPED_TRACE(name);
        const std::unique_ptr<Encoding> made = example_of(find_encoding(name));
        for (const MomentInfo& info : moments_of_a_pass)
            EXPECT_EQ((made->moments() & info.moment) != 0, moments.find(info.name) != moments.npos) << info.name;
    }
}

// The canonical form is the name followed by the parameters in the order of their description. It omits parameters that
// have no effect because another one is at its default. Every key in it is known.
TEST(Registry, CanonicalSpecsHaveTheParametersInOrder) {
    for (const EncodingInfo* info : registered_encodings()) {
        SCOPED_TRACE(info->name);
        const std::string spec = ModelEncodings(info->name, dims).spec();
        const std::vector<Parameter> parameters = parameters_of(*info);
        const std::vector<SpecItem> items = parse_spec(spec);
        ASSERT_EQ(items.size(), 1u);
        EXPECT_EQ(items[0].name, info->name);
        auto at = parameters.begin();
        for (const auto& pair : items[0].values) {
            at = std::find_if(at, parameters.end(), [&](const Parameter& p) { return p.name == pair.first; });
            ASSERT_NE(at, parameters.end()) << pair.first;
            ++at;
        }
    }
}

TEST(Registry, NoneIsTheEmptyList) {
    EXPECT_TRUE(make_encodings("", dims).empty());
    EXPECT_TRUE(make_encodings("none", dims).empty());
    EXPECT_EQ(make_encodings("none+rope+none", dims).size(), 1u);
    constexpr int most = std::numeric_limits<int>::max();
    const ModelEncodings stack("none", {});
    EXPECT_EQ(stack.spec(), "none");
    EXPECT_EQ(stack.moments(), 0u);
    EXPECT_EQ(std::min({stack.shift_invariant_below(), stack.limits().given(), stack.limits().segments}), most);
}

TEST(Registry, RefusesTwoEncodingsWhoseTensorsWouldCollide) {
    refused("learned+learned:length=5", "'learned'");
    refused("segment+learned+segment", "'segment'");
    EXPECT_EQ(make_encodings("alibi+alibi", dims).size(), 2u);
}

TEST(Registry, RefusesSizesThatCannotBe) {
    refused("rope", "d_head", {24, 3, 0, 2, 64});
    refused("alibi", "n_heads", {24, 0, 8, 2, 64});
    refused("sinusoidal", "d_model", {-1, 3, 8, 2, 64});
    refused("sinusoidal", "d_model", {2000000000, 3, 8, 2, 64});
    refused("learned", "length", {24, 3, 8, 2, 0});
}

TEST(Registry, MomentsStandInTheOrderOfAPass) {
    const unsigned all = moment_embed | moment_rotate | moment_bias | moment_observe | moment_rescore | moment_mix |
                         moment_sink | moment_shift | moment_positions;
    unsigned seen = 0;
    std::set<std::string_view> names;
    for (const MomentInfo& info : moments_of_a_pass) {
        EXPECT_EQ(seen & info.moment, 0u);
        seen |= info.moment;
        EXPECT_TRUE(names.insert(info.name).second);
        EXPECT_FALSE(info.acts_on.empty());
    }
    EXPECT_EQ(seen, all);
}

TEST(Registry, NamesTheEncodingsOfASpecOnceEach) {
    std::string names;
    for (const EncodingInfo* info :
         encodings_named(parse_spec("segment+pattern(rope,none,(rope:width=2+alibi))+alibi")))
        names += std::string(info->name) + " ";
    EXPECT_EQ(names, "segment rope none alibi ");
    EXPECT_THROW(encodings_named(parse_spec("pattern(rope,nothing)")), Error);
}

TEST(Registry, MakesNoListOfAPattern) {
    refused("pattern(rope,none)", "the same encodings in all layers");
    EXPECT_EQ(make_encodings("pattern(rope,rope)+alibi", dims).size(), 2u);
}

// ---- Tables of any encoding --------------------------------------------------------------------

// A caller's encoding that acts like a registered one but does not describe any tables.
class Foreign final : public Encoding {
public:
    explicit Foreign(unsigned moments) : moments_(moments) {}
    std::string spec() const override { return "foreign"; }
    unsigned moments() const override { return moments_; }
    Limits limits() const override { return {.positions = 100}; }
    void embed(View x, const TokenRows& rows) const override {
        for (int j = 0; j < x.cols; ++j) x.row(0)[j] += static_cast<float>(10 * rows.positions[0] + j);
    }
    void bias(View scores, const Tile& tile) const override {
        for (int j = 0; j < scores.cols; ++j)
            scores.row(0)[j] +=
                static_cast<float>(10000 * tile.layer + 1000 * tile.head + 10 * tile.queries[0] + tile.keys[j]);
    }

private:
    unsigned moments_;
};

TEST(EncodingTable, DefaultShowsWhatEmbedAdds) {
    const Table table = Foreign(moment_embed).table({.length = 2, .start = 7, .head = 0, .width = 3, .part = ""});
    EXPECT_EQ(table.header, (std::vector<std::string>{"dim0", "dim1", "dim2"}));
    EXPECT_EQ(table.rows, (std::vector<std::vector<double>>{{70, 71, 72}, {80, 81, 82}}));
}

TEST(EncodingTable, DefaultShowsTheCausalBias) {
    const double hidden = -std::numeric_limits<double>::infinity();
    const Table table = Foreign(moment_bias).table({.length = 2, .start = 7, .head = 1, .width = 3, .part = "table"});
    EXPECT_EQ(table.header, (std::vector<std::string>{"key7", "key8"}));
    EXPECT_EQ(table.rows, (std::vector<std::vector<double>>{{1077, hidden}, {1087, 1088}}));
    EXPECT_EQ(Foreign(moment_bias).table({.length = 1, .start = 3, .layer = 2}).rows[0][0], 20033);
    EXPECT_THROW(Foreign(moment_rotate).table({}), Error);
}

TEST(EncodingTable, RefusesRequestsThatCannotBe) {
    const Foreign foreign(moment_embed);
    const auto code = [&](const TableRequest& request) { return code_of([&] { foreign.table(request); }); };
    EXPECT_EQ(code({.length = 0}), ErrorCode::usage);
    EXPECT_EQ(code({.length = -5}), ErrorCode::usage);
    EXPECT_EQ(code({.start = -1}), ErrorCode::usage);
    EXPECT_EQ(code({.width = 0}), ErrorCode::usage);
    EXPECT_EQ(code({.part = "tabel"}), ErrorCode::usage);
    EXPECT_EQ(code({.length = 8, .start = 93}), ErrorCode::limit);
    EXPECT_EQ(code({.length = 2, .start = std::numeric_limits<int>::max()}), ErrorCode::limit);
    EXPECT_EQ(code({.length = 90, .width = 1 << 30}), ErrorCode::limit);
    EXPECT_NO_THROW(foreign.table({.length = 8, .start = 92})) << "the last row is in reach";
}

// ---- encoding_table() --------------------------------------------------------------------------

TEST(EncodingTable, ShowsTheElementOfALayerAndInitialValues) {
    const Table direct = encoding_table("alibi", {.d_model = 64, .n_heads = 8}, {.length = 4, .head = 2}),
                pattern = encoding_table("pattern(rope,alibi)", {.d_model = 64, .n_heads = 8},
                                         {.length = 4, .head = 2, .layer = 1});
    EXPECT_EQ(direct.rows[3][1], -2 / 8.0);
    EXPECT_EQ(pattern.rows, direct.rows);
    const Table learned = encoding_table("learned", dims, {.length = 3});
    EXPECT_EQ(learned.rows.size(), 3u);
    EXPECT_NE(learned.rows[0], learned.rows[1]); // drawn at random
    EXPECT_EQ(learned.rows, encoding_table("learned", dims, {.length = 3}).rows);
}

TEST(EncodingTable, RefusesSumsNothingAndUnknownParts) {
    const auto refused = [](std::string_view spec, const std::string& phrase, const TableRequest& request = {}) {
        expect_error(ErrorCode::usage, phrase, [&] { encoding_table(spec, dims, request); });
    };
    refused("learned+alibi", "expected one encoding in layer 0, found 2");
    refused("none", "found 0");
    refused("rope", "slopes", {.part = "slopes"});
    refused("ropes", "nearest: rope");
}

// An encoding counts the operations of its moments. For unused moments it returns 0.
TEST(Registry, EveryEncodingCountsItsOperations) {
    const Work work{.tokens = 4, .query_rows = 12, .key_rows = 12, .pairs = 30, .positions = 4};
    for (const EncodingInfo* info : registered_encodings()) {
        const std::unique_ptr<Encoding> made = example_of(*info);
        double sum = 0;
        for (const MomentInfo& moment : moments_of_a_pass) {
            const double operations = made->operations(moment.moment, work).sum();
            sum += operations;
            EXPECT_TRUE(made->moments() & moment.moment || operations == 0) << info->name << " " << moment.name;
        }
        EXPECT_EQ(sum > 0, made->moments() != 0) << info->name;
    }
}

// ---- Training ------------------------------------------------------------------------------------

// An encoding with moments and without a backward pass.
class Bare : public Encoding {
public:
    explicit Bare(unsigned moments, bool trained = false, unsigned reads = 0)
        : moments_(moments), trained_(trained), reads_(reads) {}
    std::string spec() const override { return "bare:x=1"; }
    unsigned moments() const override { return moments_; }
    unsigned reads() const override { return reads_; }
    std::vector<TensorSpec> tensors() const override {
        return {{.name = "fixed", .shape = {3}, .trainable = false},
                {.name = "weight", .shape = {2, 3}, .trainable = trained_}};
    }

private:
    unsigned moments_;
    bool trained_;
    unsigned reads_;
};

// The message that refuses to train an encoding made from some arguments; empty if there is none.
template <class T = Bare>
std::string untrainable(auto... arguments) {
    std::vector<OwnEncoding> items;
    items.push_back(std::make_unique<T>(arguments...));
    std::string what;
    code_of([&] { ModelEncodings(std::move(items), 2).check_trainable(); }, &what);
    return what;
}

TEST(Trainable, NoBackwardDoesNothingByDefault) {
    for (const MomentInfo& info : moments_of_a_pass) {
        if (info.moment == moment_positions) continue; // ids have no gradient
        const std::string text = untrainable(info.moment, true);
        EXPECT_NE(text.find("bare: has no gradient for " + std::string(info.name)), text.npos) << text;
        EXPECT_NE(text.find("'weight'"), text.npos) << text;
    }
}

// Calling the missing backward pass of an encoding throws the same message.
TEST(Trainable, ABackwardThatIsMissingThrows) {
    const Bare bare(moment_embed);
    const std::function<void()> calls[] = {[&] { bare.embed_backward({}, {}, {}, {}); },
                                           [&] { bare.shift_backward({}, {}, {}); },
                                           [&] { bare.observe_backward({}, {}, 0, {}, {}, {}, {}); },
                                           [&] { bare.rotate_backward({}, {}, {}, {}); },
                                           [&] { bare.bias_backward({}, {}, {}); },
                                           [&] { bare.rescore_backward({}, {}, {}, {}); },
                                           [&] { bare.sink_backward(0, {}, {}); },
                                           [&] { bare.mix_backward({}, {}, {}, {}, {}); }};
    for (std::size_t i = 0; i < std::size(calls); ++i) // of all moments but the first, POSITIONS
        expect_error(ErrorCode::usage, "bare: has no gradient for " + std::string(moments_of_a_pass[i + 1].name),
                     calls[i]);
}

TEST(Trainable, AnEncodingThatNamesItsGradientsIs) {
    class Taught final : public Bare {
    public:
        explicit Taught(unsigned gradients) : Bare(moment_embed | moment_rotate, true), gradients_(gradients) {}
        unsigned gradients() const override { return gradients_; }

    private:
        unsigned gradients_;
    };
    EXPECT_EQ(untrainable<Taught>(moment_embed | moment_rotate), "");
    EXPECT_NE(untrainable<Taught>(moment_embed).find("no gradient for rotate"), std::string::npos);
}

TEST(Trainable, WhatActsNowhereTrainsNothing) {
    EXPECT_EQ(untrainable(0, true), "'bare:x=1' cannot be trained (tensor 'weight'): it acts on no moment of a pass");
    EXPECT_NE(untrainable(moment_positions, true).find("acts on no moment"), std::string::npos);
    EXPECT_EQ(untrainable(0), "");
}

TEST(Trainable, ABiasOrASinkThatIsConstantNeedsNone) {
    EXPECT_EQ(untrainable(moment_bias | moment_sink), "");
    EXPECT_NE(untrainable(moment_bias, false, reads_keys).find("bare: has no gradient for bias"), std::string::npos);
    EXPECT_NE(untrainable(moment_sink, false, reads_queries).find("bare: has no gradient for sink"), std::string::npos);
    for (const Moment moment : {moment_embed, moment_rotate, moment_observe, moment_rescore, moment_mix, moment_shift})
        EXPECT_NE(untrainable(moment), "");
    // ALiBi without trained slopes needs no backward pass.
    const ModelEncodings stack("alibi", dims);
    EXPECT_EQ(stack.layer(0).backward_moments(), 0u);
    stack.layer(0).bias_backward({}, {}, {}, stack.gradients_of_layer(0, {}));
    stack.layer(0).sink_backward(1, {}, {}, stack.gradients_of_layer(0, {}));
}

TEST(InitialValues, AreNormalUniformConstantOrTheEncodingsOwn) {
    const auto filled = [](const InitialValues& initial, std::uint64_t seed = 7) {
        std::vector<float> values(10000);
        fill_initial({.name = "w", .shape = {10000}, .initial = initial}, values, seed, 0x1417);
        return values;
    };
    const Random random(7, 0x1417);
    const std::vector<float> normal = filled({}), uniform = filled(InitialValues::uniform(2, 5));
    for (std::size_t i = 0; i < normal.size(); ++i) {
        // The initial values must not change between versions.
        ASSERT_EQ(normal[i], static_cast<float>(0.02f * random.normal(i)));
        ASSERT_TRUE(uniform[i] >= 2 && uniform[i] <= 5);
    }
    EXPECT_NEAR(*std::min_element(uniform.begin(), uniform.end()), 2, 0.01);
    EXPECT_NEAR(*std::max_element(uniform.begin(), uniform.end()), 5, 0.01);
    EXPECT_NE(filled({}, 8), normal);
    EXPECT_EQ(filled(InitialValues::constant(1)), std::vector<float>(10000, 1.0f));
    double sum = 0;
    for (const float value : filled(InitialValues::normal(0.5f, 3))) sum += value;
    EXPECT_NEAR(sum / 10000, 3, 0.02);
    std::uint64_t given = 0;
    const std::vector<float> own = filled(InitialValues::from([&](std::span<float> out, std::uint64_t seed) {
        given = seed;
        std::fill(out.begin(), out.end(), 4.0f);
    }));
    EXPECT_EQ(own, std::vector<float>(10000, 4.0f));
    const std::uint64_t first = given;
    filled(InitialValues::from([&](std::span<float>, std::uint64_t seed) { given = seed; }), 8);
    EXPECT_NE(given, first);
}

} // namespace registry_test
} // namespace ordo
