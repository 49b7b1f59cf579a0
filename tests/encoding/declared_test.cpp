// SPDX-License-Identifier: MIT
// The declarations of encodings: parameters with their defaults and ranges, tensors with their initial values, limits,
// and operations, which are counted here from the formulas.
#include "encoding/base/initial.h"
#include "tests/encoding/subject.h"

#include <cmath>
#include <limits>
#include <sstream>

namespace ordo {
namespace declared_test {

const Dims dims{24, 3, 8, 2, 64};

std::unique_ptr<Encoding> make(const std::string& spec, Mask mask = Mask::causal) {
    Dims of = dims;
    of.mask = mask;
    return std::move(make_encodings(spec, of).at(0));
}

// ---- Parameters ----------------------------------------------------------------------------------

const std::string rope = "rope:theta=10000,pairing=adjacent,width=8";

TEST(Declared, ParametersHaveTheirDefaults) {
    const std::pair<std::string, std::string> canonical[] = {
        // sqrt(24) = 4.898979485566356196...
        {"sinusoidal", "sinusoidal:scale=4.898979485566356,base=10000,layout=interleaved,law=paper,offset=0"},
        {"learned", "learned:length=64,offset=0"},
        {"segment", "segment:count=2"},
        {"rope", rope},
        {"rope:scaling=none,keep=1", rope},
        {"rope:scaling=linear", rope + ",scaling=linear,factor=1"},
        {"rope:scaling=ntk", rope + ",scaling=ntk,factor=1"},
        {"rope:scaling=dynamic", rope + ",scaling=dynamic,factor=1,original=64"},
        {"rope:scaling=yarn", rope + ",scaling=yarn,factor=1,original=64,beta-fast=32,beta-slow=1,attention=1"},
        {"rope:scaling=llama3", rope + ",scaling=llama3,factor=8,low=1,high=4,original=8192"},
        {"rope:scaling=longrope,short=1/1/1/1,long=1/2/3/4",
         rope + ",scaling=longrope,original=64,factor=1,short=1/1/1/1,long=1/2/3/4,attention=1"},
        {"xpos", "xpos:theta=10000,scale=512,pairing=adjacent,width=8,gamma=0.4,zeta=paper"},
        {"alibi", "alibi:max=8,power=1"},
        {"alibi:trained=no,scale=1", "alibi:max=8,power=1"},
        {"alibi:penalty=growing", "alibi:max=8,power=1,penalty=growing,length=64"},
        {"rotate-stretch", "rotate-stretch:period=36,step=0.1"},
        {"t5", "t5:buckets=32,distance=128"},
        {"kerple", "kerple:kernel=log"},
        {"sandwich", "sandwich:scale=8,width=24"},
        {"fire", "fire:threshold=64,width=32"},
        {"shaw", "shaw:clip=16,values=yes"},
        {"transformer-xl", "transformer-xl:width=24"},
        {"deberta", "deberta:span=128,terms=both"},
        {"cope", "cope:positions=64"},
        {"forget", "forget"},
        {"sink", "sink"},
        {"relative-logits", "relative-logits:rank=16,extent=64"},
        {"log-scale", "log-scale:kind=ssmax"},
        {"log-scale:kind=log-n", "log-scale:kind=log-n,length=64"},
        {"log-scale:kind=llama4", "log-scale:kind=llama4,length=8192,factor=0.1"},
        {"log-scale:kind=ministral", "log-scale:kind=ministral,length=16384,factor=0.1"},
        {"log-scale:kind=inkling", "log-scale:kind=inkling,length=128000,factor=0.1"},
        {"stick-breaking", "stick-breaking"},
        {"selective-rope", "selective-rope:kind=selective,rank=16,kernel=4,theta=10000"},
        {"selective-rope:kind=carope", "selective-rope:kind=carope"},
        {"selective-rope:kind=repo", "selective-rope:kind=repo,rank=3,theta=10000"}};
    for (const auto& [spec, whole] : canonical) EXPECT_EQ(make(spec)->spec(), whole);
    Dims odd = dims;
    odd.d_model = 25;
    odd.d_head = 7;
    EXPECT_THROW(make_encodings("rope", odd), Error);
    EXPECT_THROW(make_encodings("selective-rope", odd), Error);
    for (const char* spec : {"sandwich", "transformer-xl"})
        EXPECT_EQ(make_encodings(spec, odd).at(0)->spec(), make(spec)->spec()) << "the width is even";
}

TEST(Declared, CanonicalSpecsAreRead) {
    for (const char* rest :
         {",scaling=dynamic,factor=2,original=512,length=8192",
          ",scaling=yarn,factor=2,original=512,beta-fast=16,beta-slow=2,attention=1,truncate=no,keep=0.5",
          ",scaling=yarn,factor=2,original=512,beta-fast=32,beta-slow=1,attention=1.5,extrapolation=0.5",
          ",scaling=longrope,original=512,factor=4,short=1/1.5/2/2,long=2/3.25/4/4,attention=1.25,factors=short",
          ",keep=0.75,sections=1/2/1", ",sections=2/1/1,interleaved=yes"})
        EXPECT_EQ(make(rope + rest)->spec(), rope + rest);
}

TEST(Declared, ParametersHaveRanges) {
    std::istringstream ranges(R"(
        sinusoidal:scale 0 1e6  sinusoidal:base 0.0001 1e12  sinusoidal:offset 0 1073741824
        learned:length 1 16777216  learned:offset 0 16777216  segment:count 1 65536  rope:theta 0.0001 1e12
        rope:keep 0 1  rope:scaling=linear,factor 0.001 1e6  rope:scaling=dynamic,original 1 1073741824
        rope:scaling=dynamic,original=100,length 100 1073741824  rope:scaling=yarn,beta-fast 1 1e6
        rope:scaling=yarn,beta-slow 0.001 32  rope:scaling=yarn,attention 0 1e6  rope:scaling=yarn,extrapolation 0 1
        xpos:theta 0.0001 1e12  xpos:scale 0.001 1e12  xpos:gamma 0.0001 1e6  alibi:max 0 64  alibi:power 0.01 2
        alibi:scale 0.0001 1e6  alibi:penalty=growing,length 0.01 1e9  rotate-stretch:period 1 1073741824
        rotate-stretch:step 0 1e6  t5:distance 17 1048576  sandwich:scale 0.001 1e6  fire:threshold 1 1073741824
        fire:width 1 256  shaw:clip 0 1048576  deberta:span 1 1048576  deberta:distance 66 4096  cope:positions 1 8192
        relative-logits:rank 1 256  relative-logits:extent 1 1048576  log-scale:kind=log-n,length 2 1073741824
        log-scale:kind=llama4,length 1 1073741824  log-scale:kind=inkling,factor 0.0001 1e6
        selective-rope:rank 1 1024  selective-rope:kernel 1 64  selective-rope:kind=repo,theta 0.0001 1e12)");
    std::string parameter;
    for (double least = 0, most = 0; ranges >> parameter >> least >> most;) {
        const auto spec = [&](double value) { return parameter + "=" + decimal(value); };
        const double step = most > 1 && std::floor(least) == least ? 1 : least / 100 + 0.001 * (least == 0);
        EXPECT_NO_THROW(make(spec(least))) << parameter;
        EXPECT_NO_THROW(make(spec(most))) << parameter;
        EXPECT_THROW(make(spec(least - step)), Error) << parameter;
        EXPECT_THROW(make(spec(most + std::max(step, most / 1e6))), Error) << parameter;
    }
}

TEST(Declared, ParametersExcludeEachOther) {
    const auto refused = [](const std::string& spec, Mask mask = Mask::causal) {
        EXPECT_THROW(make(spec, mask), Error) << spec;
    };
    for (const std::string& spec : words_of(R"(
        none:x=1 forget:bias=2 sink:heads=3 sinusoidal:layout=half alibi:penalty=exponential,power=2
        alibi:penalty=growing,power=2 alibi:length=20 kerple:kernel=linear sandwich:width=0 sandwich:width=7
        sandwich:width=32770 transformer-xl:width=0 transformer-xl:width=3 transformer-xl:width=65538 t5:buckets=0
        t5:buckets=7 t5:buckets=4098,distance=5000 t5:buckets=64,distance=32 xpos:width=3 rope:width=3 xpos:width=10
        deberta:terms=p2p deberta:span=7,distance=9 log-scale:length=64 log-scale:factor=0.1 log-scale:kind=log-n,factor=0.1
        log-scale:kind=step selective-rope:kind=carope,theta=2 selective-rope:kind=carope,rank=2
        selective-rope:kind=repo,kernel=2)"))
        refused(spec);
    refused("stick-breaking", Mask::bidirectional);
    refused("t5:buckets=6", Mask::bidirectional);
    for (const char* spec : {"t5:buckets=2,distance=2", "t5:buckets=4096,distance=5000", "sandwich:width=32768",
                             "transformer-xl:width=65536", "xpos:width=2"})
        EXPECT_NO_THROW(make(spec)) << spec;
    EXPECT_NO_THROW(make("t5:buckets=8,distance=3", Mask::bidirectional));
    for (const std::string& rest : words_of(R"(
        factor=2 interleaved=yes scaling=lin scaling=linear,beta-fast=2 scaling=linear,extrapolation=1
        scaling=ntk,factor=2,width=2 scaling=dynamic,width=2 scaling=yarn,theta=1 scaling=llama3,low=4,high=4
        scaling=longrope,short=1/1/1/1 scaling=longrope,long=1/1/1/1 scaling=longrope,short=1/1/1,long=1/1/1/1
        scaling=longrope,short=1/1/1/0,long=1/1/1/1 sections=2/1 sections=1.5/2.5 sections=1/1/1/1/0
        sections=1/1/2,interleaved=yes sections=0/2/2,interleaved=yes)"))
        refused("rope:" + rest);
    for (const char* rest :
         {"sections=1/1/1/1", "sections=2/1/1,interleaved=yes", "sections=4", "sections=2/2,interleaved=yes",
          "scaling=llama3,low=3.9", "scaling=ntk,factor=2,width=4", "scaling=yarn,theta=1.1"})
        EXPECT_NO_THROW(make(std::string("rope:") + rest)) << rest;
}

// ---- Tensors ---------------------------------------------------------------------------------------

// Their names and shapes are those of files.
TEST(Declared, TensorsAndTheirInitialValues) {
    using Kind = InitialValues::Kind;
    struct Expected {
        const char *spec, *name;
        std::vector<std::int64_t> shape;
        Kind kind;
        double a, b; // mean and deviation, least and most, or the constant
    };
    const double root = 1 / std::sqrt(32.0);
    const Expected tensors[] = {
        {"learned:offset=2", "weight", {66, 24}, Kind::normal, 0, 0.02},
        {"segment", "weight", {2, 24}, Kind::normal, 0, 0.02},
        {"alibi:trained=yes", "layers.1.slopes", {3}, Kind::own, 0, 0},
        {"t5", "weight", {32, 3}, Kind::normal, 0, 1 / std::sqrt(24.0)}, // as in T5's code
        {"kerple", "layers.1.r1", {3}, Kind::uniform, 0.01, 2},          // as in its authors' code
        {"kerple", "layers.1.r2", {3}, Kind::uniform, 0.01, 1},
        {"kerple:kernel=power", "layers.1.r1", {3}, Kind::uniform, 0.01, 1},
        {"kerple:kernel=power", "layers.1.r2", {3}, Kind::uniform, 0.01, 2},
        {"fire", "layers.1.c", {1}, Kind::constant, 0.1, 0}, // as in the appendix; then torch.nn.Linear's ranges
        {"fire", "layers.1.l", {1}, Kind::constant, 1, 0},
        {"fire", "layers.1.in.weight", {32, 1}, Kind::uniform, -1, 1},
        {"fire", "layers.1.in.bias", {32}, Kind::uniform, -1, 1},
        {"fire", "layers.1.out.weight", {3, 32}, Kind::uniform, -root, root},
        {"fire", "layers.1.out.bias", {3}, Kind::uniform, -root, root},
        {"shaw", "layers.1.keys", {33, 8}, Kind::normal, 0, 0.02},
        {"shaw", "layers.1.values", {33, 8}, Kind::normal, 0, 0.02},
        {"transformer-xl:width=10", "layers.1.projection", {24, 10}, Kind::normal, 0, 0.02},
        {"transformer-xl", "layers.1.u", {3, 8}, Kind::normal, 0, 0.02},
        {"transformer-xl", "layers.1.v", {3, 8}, Kind::normal, 0, 0.02},
        {"deberta:span=4", "layers.1.keys", {8, 24}, Kind::normal, 0, 0.02},
        {"deberta:span=4", "layers.1.queries", {8, 24}, Kind::normal, 0, 0.02},
        {"cope", "layers.1.weight", {64, 8}, Kind::constant, 0, 0}, // as in its authors' code
        {"forget", "layers.1.gate.weight", {3, 24}, Kind::normal, 0, 0.02},
        {"forget:start=5", "layers.1.gate.bias", {3}, Kind::constant, 5, 0},
        {"relative-logits:extent=9", "layers.1.projection", {48, 24}, Kind::normal, 0, 0.02},
        {"relative-logits:extent=9", "layers.1.table", {16, 9}, Kind::normal, 0, 0.02},
        {"log-scale", "layers.1.scale", {3}, Kind::constant, 1 / std::log(64.0), 0}, // plain attention at the context
        {"selective-rope", "layers.1.down", {16, 24}, Kind::normal, 0, 0.02},
        {"selective-rope", "layers.1.up", {12, 16}, Kind::normal, 0, 0.02},
        {"selective-rope", "layers.1.convolution", {12, 4}, Kind::normal, 0, 0.02},
        {"selective-rope:kind=carope", "layers.1.frequency", {3, 24}, Kind::normal, 0, 0.02},
        {"selective-rope:kind=repo", "layers.1.gate", {3, 24}, Kind::normal, 0, 0.02},
        {"selective-rope:kind=repo", "layers.1.content", {3, 24}, Kind::normal, 0, 0.02},
        {"selective-rope:kind=repo", "layers.1.out", {3, 3}, Kind::normal, 0, 0.02},
        {"sink", "layers.1.logit", {3}, Kind::constant, 0, 0}}; // Miller's softmax: exp(0) more in the denominator
    for (const Expected& expected : tensors) {
        SCOPED_TRACE(std::string(expected.spec) + ": " + expected.name);
        const ModelEncodings stack(expected.spec, dims);
        const std::string name = "encoding." + parse_spec(expected.spec).at(0).name + "." + expected.name;
        const std::vector<TensorSpec> all = stack.tensors();
        const auto found = std::find_if(all.begin(), all.end(), [&](const TensorSpec& t) { return t.name == name; });
        ASSERT_NE(found, all.end());
        EXPECT_TRUE(found->trainable);
        EXPECT_EQ(found->shape, expected.shape);
        EXPECT_EQ(found->initial.kind, expected.kind);
        EXPECT_FLOAT_EQ(found->initial.a, static_cast<float>(expected.a));
        const float b = expected.kind == Kind::constant ? found->initial.b : static_cast<float>(expected.b);
        EXPECT_FLOAT_EQ(found->initial.b, b);
    }
    std::vector<float> slopes(3);
    fill_initial(make("alibi:trained=yes")->tensors().at(0), slopes, 7, 1);
    EXPECT_EQ(slopes, (std::vector<float>{1 / 16.0f, 1 / 256.0f, 1 / 4.0f}));
}

// ---- Limits ----------------------------------------------------------------------------------------

// A key of xPos stays below 2^96: zeta^(-p/scale), zeta = gamma / (1 + gamma) in the first pair.
TEST(Declared, PositionsAndSegmentsEnd) {
    const double log_most = 96 * std::log(2.0);
    for (const auto& [spec, most] : {std::pair{"learned:length=10,offset=2", 10.0},
                                     {"xpos", std::floor(log_most * 512 / std::log(1.4 / 0.4))},
                                     {"xpos:scale=5120", std::floor(log_most * 5120 / std::log(1.4 / 0.4))},
                                     {"xpos:gamma=1", 96 * 512.0},
                                     {"xpos:zeta=one", 2147483647.0},
                                     {"segment", 2147483647.0}})
        EXPECT_NEAR(ModelEncodings(spec, dims).limits().positions, most, 1e-9) << spec;
    EXPECT_EQ(ModelEncodings("segment:count=5", dims).limits().segments, 5);
    const auto xpos = make("xpos");
    for (const Role role : {Role::query, Role::key}) { // at the last position no number is lost
        std::vector<float> x(8, 1);
        const int last = xpos->limits().positions - 1;
        xpos->rotate(view(x.data(), 1, 8), {.n_heads = 1, .role = role, .positions = {{&last, 1}}});
        for (const float value : x) EXPECT_TRUE(std::isnormal(value));
    }
}

// FIRE's |l| threshold, the least of all layers; of a threshold that no int holds, the greatest int.
TEST(Declared, FireIsShiftInvariantUpToItsThreshold) {
    const auto fire = make("fire:threshold=40,width=1");
    std::vector<float> ones(3, 1);
    const View one = view(ones.data(), 1, 1), rows = view(ones.data(), 3, 1), row = view(ones.data(), 1, 3);
    constexpr int most = std::numeric_limits<int>::max();
    for (auto [l, below] : {std::pair{1.0f, 41}, {-0.5f, 21}, {1e30f, most}, {INFINITY, most}, {NAN, most}}) {
        for (const int layer : {1, 0}) {
            fire->bind(layer, std::vector<View>{one, view(&l, 1, 1), one, one, rows, row});
            l *= 2;
        }
        EXPECT_EQ(fire->shift_invariant_below(), below) << l;
    }
}

// ---- Operations ------------------------------------------------------------------------------------

// 10 tokens in 3 heads of 8 columns, and 600 pairs; an addition counts 1, and a function 8.
TEST(Declared, OperationsAreThoseOfTheFormula) {
    const Work work{.tokens = 10, .query_rows = 30, .key_rows = 30, .pairs = 600, .positions = 50};
    struct Expected {
        const char* spec;
        Moment moment;
        double products, others;
    };
    const Expected all[] = {
        {"sinusoidal", moment_embed, 0, 2 * 240},     // scaled, and added
        {"sinusoidal:scale=1", moment_embed, 0, 240}, // added
        {"sinusoidal:columns=4", moment_embed, 0, 240 + 40},
        {"learned", moment_embed, 0, 240},                         // added
        {"segment", moment_embed, 0, 240},                         // added
        {"rotate-stretch", moment_embed, 0, 5 * 240 + 10 * 3 * 8}, // a sum of squares, 6 for a pair; root, sine, cosine
        {"rope", moment_rotate, 0, 6 * 4 * 60},                    // 6 for a pair
        {"rope:keep=0.5", moment_rotate, 0, 6 * 2 * 60},           //
        {"rope:width=6", moment_rotate, 0, 6 * 3 * 60},            //
        {"xpos", moment_rotate, 0, 6 * 4 * 60},                    //
        {"alibi", moment_bias, 0, 2 * 600},                        // slope times distance, added
        {"alibi:power=2", moment_bias, 0, 600},                    // read from a table, as the next ones
        {"t5", moment_bias, 0, 600},                               //
        {"kerple", moment_bias, 0, 600},                           //
        {"sandwich", moment_bias, 0, 600},                         //
        {"fire:threshold=50", moment_bias, 0, 600},                //
        {"fire:threshold=48", moment_bias, 0, 6 * 600},            // a quotient, 2 comparisons, a line, added
        {"shaw", moment_bias, 16 * 30 * 17, 600},                  // 17 vectors for each query
        {"shaw", moment_mix, 16 * 30 * 17, 600},                   //
        {"shaw:clip=2", moment_bias, 16 * 30 * 3, 600},            //
        {"shaw:clip=20", moment_mix, 16 * 600, 600},               // no more vectors than pairs
        {"deberta", moment_rotate, 0, 8 * 30},                     // queries are scaled
        {"deberta", moment_bias, 2 * 16 * 600, 2 * 600},           //
        {"deberta:span=4,terms=c2p", moment_bias, 16 * 30 * 4, 600},   // 4 vectors for each query
        {"deberta:span=4,terms=p2c", moment_bias, 16 * 600, 600},      // a vector for each pair
        {"transformer-xl", moment_rotate, 0, 8 * 30},                  // u
        {"transformer-xl", moment_bias, 16 * 600, 8 * 30 + 600},       // v
        {"cope", moment_rescore, 16 * (600 + 60), 18 * 600 + 600},     // no more products than keys, and 2
        {"cope:positions=2", moment_rescore, 16 * 60, 18 * 120 + 600}, // 2 positions fill with 4 keys of a query
        {"forget", moment_observe, 2 * 240 * 3, 30 * (2 * 8 + 2)},     // a product, 2 functions and 2 sums for a gate
        {"forget", moment_bias, 0, 4 * 600},                           // differences of pairs of floats
        {"relative-logits:rank=4", moment_observe, 2 * 240 * 12, 0},   // 12 numbers of a token
        {"relative-logits:rank=4", moment_bias, 8 * 600, 600},         // no more curves than pairs
        {"relative-logits:rank=4,extent=5", moment_bias, 8 * 150, 600},
        {"log-scale", moment_rotate, 0, 30 * (8 + 8 + 1)},       // a logarithm, and its products
        {"stick-breaking", moment_rescore, 0, 19 * 600},         // a sigmoid, a logarithm, 3 for sums
        {"stick-breaking", moment_sink, 0, 30 * (8 + 1)},        //
        {"selective-rope", moment_rotate, 0, (6 + 16) * 4 * 60}, // a sine and a cosine, and 6 for a pair
        {"selective-rope", moment_observe, 2 * 16 * (24 + 12) * 10,
         (8 * 12 + 12 + 48) * 10}, // two maps; conv, sums, norm
        {"selective-rope:kind=carope", moment_observe, 2 * 24 * 3 * 10,
         (3 * 18 + 2 * 12) * 10},                                                         // 2 functions; powers, sums
        {"selective-rope:kind=repo", moment_observe, 2 * 3 * (48 + 3) * 10, 10 * 3 * 10}, // a silu, a product
        {"path", moment_rescore, 0, (7 * 8 + 3) * 600}, // w . r, times beta, r - w, r - q, times k, scaled, added
        {"wall", moment_rescore, 0, (5 * 8 + 2) * 600}, // r - r s, r - q, times k, scaled, added
        {"canon", moment_shift, 0, 2 * 2 * 4 * 240},    // 4 rows in 2 places
        {"canon:places=smear", moment_shift, 0, 10 * (2 * 24 + 2 * 12 + 8)}, // a row, and a gate of 12 columns
        {"sink", moment_sink, 0, 30 * (8 + 1)}};
    for (const Expected& expected : all) {
        const Operations found = make(expected.spec)->operations(expected.moment, work);
        EXPECT_EQ(found.products, expected.products) << expected.spec;
        EXPECT_EQ(found.others, expected.others) << expected.spec;
    }
    EXPECT_EQ(make("shaw:clip=2", Mask::bidirectional)->operations(moment_bias, work).products, 16 * 30 * 5);
    EXPECT_EQ(make("deberta:span=2,terms=c2p", Mask::bidirectional)->operations(moment_bias, work).products,
              16 * 30 * 4);
}

} // namespace declared_test
} // namespace ordo
