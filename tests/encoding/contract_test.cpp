// SPDX-License-Identifier: MIT
// The contract between a model and any encoding: registered encodings in every architecture, sums and parameters.
#include "core/parallel.h"
#include "encoding/base/model_encodings.h"
#include "encoding/base/registry.h"
#include "formats/architecture.h"
#include "tests/encoding/subject.h"
#include "tests/model/small_models.h"

#include <gtest/gtest.h>

#include <set>

namespace ordo {
namespace contract_test {

struct Case {
    std::string architecture, spec;
    Blueprint blueprint;
};
void PrintTo(const Case& c, std::ostream* out) {
    *out << c.architecture << " with " << c.spec;
}

std::vector<std::string> registered(std::vector<std::string> specs = {}) {
    for (const EncodingCase& c : registered_cases({})) specs.push_back(c.spec);
    return specs;
}

std::vector<Case> all_cases() {
    // A session of 40 tokens is longer and shorter than the original contexts of dynamic and longrope, and lies, by its
    // shift, on both sides of FIRE's thresholds.
    std::vector<std::string> variants = words_of(R"(
        segment+learned alibi+learned sinusoidal+rope segment+rope+alibi rotate-stretch+segment:count=3
        rope:pairing=halves rope:theta=100,width=4 rope:pairing=halves,width=6 alibi:max=4 alibi:power=0.5
        learned:offset=2,length=98 sinusoidal:scale=1,layout=halves sinusoidal:law=tensor2tensor,offset=5
        rotate-stretch:period=6 rope:keep=0.6 rope:sections=2/2/1 rope:scaling=linear,factor=3
        rope:scaling=ntk,factor=3 rope:scaling=dynamic,factor=2,original=20 rope:scaling=dynamic,factor=2,original=64
        rope:scaling=yarn,factor=4,original=20,theta=100 rope:scaling=llama3,factor=8,original=64,theta=1000
        rope:scaling=longrope,original=20,factor=2,short=1/1.5/2/2/2,long=1/3/4/5/6
        rope:scaling=longrope,original=64,factor=2,short=1/1.5/2/2/2,long=1/3/4/5/6 xpos:zeta=one
        xpos:pairing=halves,scale=100,gamma=0.8 alibi:trained=yes alibi:trained=yes,penalty=exponential,length=20
        alibi:penalty=exponential,length=20 alibi:penalty=growing,length=20 t5:buckets=8,distance=20
        kerple:kernel=power sandwich:width=6,scale=3 fire:threshold=60 fire:threshold=30 shaw:clip=5,values=no
        transformer-xl:width=10 deberta:span=6,terms=c2p deberta:span=6,terms=p2c
        deberta:span=6,distance=30,order=code deberta:order=code cope:positions=5 t5+rope forget+rope
        cope+forget rope+sink relative-logits:rank=2,extent=12 forget+relative-logits pattern(rope,none)
        abacus:first=0,last=60 rope+abacus:first=20,last=99,offset=9 log-scale:kind=log-n,length=41
        rope+log-scale:kind=llama4,length=8 stick-breaking+alibi
        selective-rope:kind=carope selective-rope:kind=repo log-scale+selective-rope:kernel=2 forget+selective-rope
        pattern((alibi),(shaw+sink)) pattern((rope:theta=500),(t5+forget))+learned)");
    for (const std::string& spec : scaled_rotations()) variants.push_back(spec);
    std::vector<Case> all;
    const auto add = [&](const std::string& name, const std::string& spec, const Blueprint& b) {
        if (accepts(spec, b.dims())) all.push_back({name, spec, b});
    };
    for (const Architecture& a : architectures()) {
        const Blueprint b = shrunk(a.make());
        if (!b.encoder.empty()) continue; // see encoder_test.cpp
        const std::string name(a.name);
        for (const std::string& spec : registered()) add(name, spec, b);
        // Tests the sums and parameters in one causal and one bidirectional architecture.
        if (name == "ordo" || name == "bert")
            for (const std::string& spec : variants) add(name, spec, b);
        if (name != "ordo") continue;
        Blueprint grouped = b; // query heads that share keys
        grouped.n_kv_heads = 2;
        for (const std::string& spec : registered()) add("grouped", spec, grouped);
        for (const std::string& spec : variants) add("grouped", spec, grouped);
    }
    for (const std::string& spec : registered()) {
        Blueprint b = small_blueprint();
        b.window = 9;
        all.push_back({"window", spec, b});
    }
    return all;
}

std::vector<Case> causal_cases() {
    std::vector<Case> some = all_cases();
    std::erase_if(some, [](const Case& c) { return c.blueprint.mask != Mask::causal; });
    return some;
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
    return name_of(info.param.architecture + "_" + info.param.spec);
}
std::string spec_name(const ::testing::TestParamInfo<std::string>& info) {
    return name_of(info.param);
}

constexpr int length = 40;

class EncodingContract : public ::testing::TestWithParam<Case> {
protected:
    EncodingContract() {
        for (int i = 0; i < length; ++i) // 0 0 0 1 1 1 ..., up to the encoding's last segment
            segments_.push_back(i / 3 % std::min(3, encodings_of(model_).limits().segments));
    }
    Rows logits(int chunk = length, int first_position = 0) const {
        return logits_of(model_, tokens_, chunk, first_position, segments_);
    }

    Blueprint blueprint_ = GetParam().blueprint;
    Model model_ = random_model(blueprint_, GetParam().spec, 31);
    std::vector<Token> tokens_ = random_tokens(length, blueprint_.vocab_size, 32);
    std::vector<int> segments_;
};

// A bidirectional model takes its whole input at once. The following tests are for causal models.
class CausalContract : public EncodingContract {};

TEST_P(EncodingContract, AgreesWithTheOracle) {
    const reference::Tensors tensors = tensors_of(model_);
    const reference::Oracles oracles(model_.encoding(), blueprint_.dims(), tensors, length);
    ORDO_EXPECT_COMPLETE(oracles);
    const reference::Transformer oracle(blueprint_, tensors, oracles);
    for (const int first : {0, 50}) {
        reference::Input in{tokens_, {}, segments_};
        for (int i = 0; i < length; ++i) in.positions.push_back(first + i);
        EXPECT_LE(difference(logits(length, first), to_rows(oracle.logits(in))), 1e-4) << "from position " << first;
    }
}

TEST_P(CausalContract, ChunksAndDecodingEqualOnePass) {
    const Rows whole = logits();
    for (const int chunk : {1, 7, 24}) EXPECT_LE(difference(logits(chunk), whole), 1e-4) << chunk;
    Session session(model_, {length});
    // Feeds the prompt, then token by token. The length of the text is announced, because angles may depend on it.
    session.feed(std::span(tokens_).first(13), TokenRows{{}, std::span(segments_).first(13), {}, length - 13});
    for (int i = 13; i < length; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const TokenRows rows{{}, {&segments_[at], 1}, {}, length - 1 - i};
        EXPECT_LE(difference(session.feed({&tokens_[at], 1}, rows), whole[at]), 1e-4) << i;
    }
}

TEST_P(CausalContract, TheFutureChangesNothing) {
    for (const int chunk : {length, 7}) {
        const Rows before = logits(chunk);
        tokens_[25] = (tokens_[25] + 100) % blueprint_.vocab_size;
        const Rows after = logits(chunk);
        for (std::size_t i = 0; i < 25; ++i) ASSERT_EQ(before[i], after[i]) << i; // exactly equal
        EXPECT_GT(difference(before[25], after[25]), 1e-2);
        // A change also reaches later tokens through the cache.
        EXPECT_GT(difference(before[27], after[27]), 1e-5);
    }
}

TEST_P(EncodingContract, ShiftingAllPositionsDoesWhatItDeclares) {
    if (blueprint_.qk_norm == QkNorm::rotated) return; // its weights are on columns that have been rotated
    const Rows base = logits();
    const int invariant_below = encodings_of(model_).shift_invariant_below();
    // Beyond FIRE's threshold scores change gradually, but still by more than rounding errors.
    const double least = invariant_below > 0 ? 1e-4 : 1e-2;
    for (const int shift : {1, 17, 50}) {
        const double moved = difference(logits(length, shift), base);
        if (shift + length <= invariant_below)
            EXPECT_LE(moved, invariant_below < 1000 ? 1e-5 : 1e-4) << shift;
        else
            EXPECT_GT(moved, least) << shift;
    }
}

TEST_P(CausalContract, RewindingAndRefillingEqualsRecomputing) {
    const Rows whole = logits();
    Session session(model_, {length});
    std::vector<Token> other = random_tokens(length, blueprint_.vocab_size, 33);
    session.feed(std::span(tokens_).first(20), {.segments = std::span(segments_).first(20)});
    session.feed(std::span(other).first(20), {.segments = std::span(segments_).first(20)});
    session.rewind(20);
    const TokenRows rest{.segments = std::span(segments_).subspan(20)};
    EXPECT_LE(difference(session.feed(std::span(tokens_).subspan(20), rest), whole.back()), 1e-4);
}

// In a single layer, keys and values depend only on their own token and position. So an evicted token leaves no trace,
// and the session equals one that was fed only the other tokens.
TEST_P(CausalContract, EvictingEqualsNeverHavingFed) {
    Blueprint one = blueprint_;
    one.n_layers = 1;
    const Model model = random_model(one, GetParam().spec, 34);
    const SessionOptions sizes{.capacity = length + 1};
    const std::span<const Token> all(tokens_);
    const std::span<const int> segments(segments_);
    for (const auto& [first, count] : {std::pair{4, 15}, {0, 20}, {1, 1}, {30, 10}, {5, 0}}) {
        const auto from = static_cast<std::size_t>(first), to = from + static_cast<std::size_t>(count);
        Session session(model, sizes);
        session.feed(all, {.segments = segments});
        if (!session.can_evict()) {
            EXPECT_THROW(session.evict(first, count), Error);
            EXPECT_EQ(session.size(), length);
            continue;
        }
        session.evict(first, count);
        EXPECT_EQ(session.size(), length - count);
        if (encodings_of(model).moments() & (moment_observe | moment_shift | moment_positions))
            continue; // evicted tokens stay in the sums and the derived positions of others
        Session other(model, sizes);
        if (from > 0) other.feed(all.first(from), {.segments = segments.first(from)});
        if (to < length) other.feed(all.subspan(to), {.segments = segments.subspan(to)});
        for (int i = 0; i < count; ++i)
            ASSERT_LE(difference(session.feed({&tokens_[3], 1}), other.feed({&tokens_[3], 1})), 1e-4) << first;
    }
}

// Random rows of a role, rotated by a layer's encodings at positions first, first + 5, ..., and then moved down. If
// first is below 0, the rows are not rotated.
std::vector<float> rotated(const ModelEncodings& encodings, int layer, Role role, int first, int down = 0) {
    constexpr int n = 12;
    const Dims& dims = encodings.dims();
    const bool of_query = role == Role::query || role == Role::output;
    const int heads = of_query ? dims.n_heads : dims.n_kv_heads, width = heads * dims.d_head;
    std::vector<float> rows;
    const Random random(38, 1);
    for (int i = 0; i < n * width; ++i)
        rows.push_back(static_cast<float>(random.normal(static_cast<std::uint64_t>(i))));
    std::vector<int> at;
    for (int i = 0; i < n; ++i) at.push_back(first + 5 * i);
    const LayerEncodings& here = encodings.layer(layer);
    Tensor x(n, dims.d_model), state(n, here.state_floats());
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(Random(39, 1).normal(i));
    here.observe(x.view(), at, nullptr, state.view());
    const HeadRows where{layer, 0, heads, role, at, state.view()};
    if (first >= 0) here.rotate(view(rows.data(), n, width), where);
    if (down > 0) {
        EXPECT_TRUE(encodings.layer(layer).can_move_keys());
        encodings.layer(layer).move_keys(view(rows.data(), n, width), where, down);
    }
    return rows;
}

// An encoding that adds a position to the embedding changes every key, and the change cannot be undone. All other keys
// may be moved, if the move gives the key of the new position. Keys need no move if no encoding rotates them and no
// encoding keeps sums over tokens. An encoding that overrides rotate() or observe() declares whether its keys can move.
TEST(Evicting, IsForEncodingsWhoseKeysHoldNoAbsolutePosition) {
    for (const EncodingInfo* info : registered_encodings()) {
        SCOPED_TRACE(info->name);
        const Model model = random_model(small_blueprint(), std::string(info->name), 36);
        const ModelEncodings& encodings = encodings_of(model);
        const bool can = Session(model).can_evict();
        if ((encodings.moments() & moment_embed) && encodings.shift_invariant_below() == 0) {
            EXPECT_FALSE(can);
            continue;
        }
        const std::set<std::string_view> able = {"rope", "xpos", "forget", "transformer-xl", "deberta"};
        EXPECT_TRUE(can || (encodings.moments() & (moment_rotate | moment_observe) && !able.contains(info->name)));
        for (int layer = 0; can && layer < encodings.dims().n_layers; ++layer)
            EXPECT_LE(difference(rotated(encodings, layer, Role::key, 17, 17), rotated(encodings, layer, Role::key, 0)),
                      1e-4)
                << layer;
    }
    const Model plane = random_model(small_blueprint(), "rope:sections=2/2/1", 36);
    EXPECT_FALSE(Session(plane, {.axes = 2}).can_evict());
    EXPECT_TRUE(Session(plane).can_evict());
}

// `ordo encodings` prints these facts about cached keys.
TEST_P(EncodingContract, RotatesTheRolesThatItNamesAndCountsOperationsFor) {
    const ModelEncodings& encodings = encodings_of(model_);
    for (const bool of_query : {true, false}) {
        bool any = false, counted = false;
        for (const Role role : {of_query ? Role::query : Role::key, of_query ? Role::output : Role::value}) {
            bool changed = false, named = false;
            for (int layer = 0; layer < encodings.dims().n_layers; ++layer)
                changed = changed || rotated(encodings, layer, role, 1) != rotated(encodings, layer, role, -1);
            for (const auto& encoding : encodings.items()) named = named || encoding->rotates(role);
            EXPECT_EQ(changed, named) << static_cast<int>(role);
            any = any || changed;
        }
        const Work rows = of_query ? Work{.tokens = 1, .query_rows = 1} : Work{.tokens = 1, .key_rows = 1};
        for (const auto& encoding : encodings.items())
            counted = counted || encoding->operations(moment_rotate, rows).sum() > 0;
        EXPECT_EQ(any, counted) << (of_query ? "queries or outputs" : "keys or values");
    }
}

TEST_P(EncodingContract, ItsSpecMakesTheSameModel) {
    const std::string canonical = model_.encoding();
    const ModelEncodings again(canonical, blueprint_.dims());
    EXPECT_EQ(again.spec(), canonical);
    EXPECT_EQ(again.moments(), encodings_of(model_).moments());
    EXPECT_EQ(again.limits().positions, encodings_of(model_).limits().positions);
    EXPECT_EQ(difference(logits_of(random_model(blueprint_, canonical, 31), tokens_, length, 0, segments_), logits()),
              0);
}

INSTANTIATE_TEST_SUITE_P(Models, EncodingContract, ::testing::ValuesIn(all_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Models, CausalContract, ::testing::ValuesIn(causal_cases()), case_name);

class WindowContract : public ::testing::TestWithParam<std::string> {};

// Longer than a slab of keys, so that windows and tiles of queries begin and end inside a slab.
TEST_P(WindowContract, AgreesWithTheOracleBeyondABlock) {
    constexpr int n = 150;
    Blueprint b = small_blueprint();
    b.context = 160;
    b.n_kv_heads = 2;
    b.n_layers = 1;
    for (const int window : {0, 1, 70}) {
        b.window = window;
        const Model model = random_model(b, GetParam(), 35);
        const reference::Tensors tensors = tensors_of(model);
        const reference::Oracles oracles(model.encoding(), b.dims(), tensors, n);
        ORDO_EXPECT_COMPLETE(oracles);
        reference::Input in{random_tokens(n, b.vocab_size, 36), {}, {}};
        for (int i = 0; i < n; ++i) in.positions.push_back(i);
        const Rows expected = to_rows(reference::Transformer(b, tensors, oracles).logits(in));
        for (const int chunk : {1, 33, n})
            EXPECT_LE(difference(logits_of(model, in.tokens, chunk), expected), 2e-4) << chunk;
    }
}

INSTANTIATE_TEST_SUITE_P(Encodings, WindowContract, ::testing::ValuesIn(registered()), spec_name);

// A causal model learns the order from its mask. A bidirectional model learns it only from its encoding.
TEST(EncodingContractWithout, NoEncodingCannotTellTheOrder) {
    Blueprint b = small_blueprint();
    b.mask = Mask::bidirectional;
    std::vector<Token> tokens = random_tokens(20, b.vocab_size, 1);
    std::copy_n("123", 3, tokens.begin() + 2); // digits, which abacus places
    std::vector<Token> swapped = tokens;
    std::swap(swapped[3], swapped[11]);
    const auto last_change = [&](const std::string& spec) {
        const Model model = random_model(b, spec, 2);
        return difference(logits_of(model, tokens).back(), logits_of(model, swapped).back());
    };
    EXPECT_LE(last_change("none"), 1e-4);
    for (const EncodingInfo* info : registered_encodings()) {
        // An encoding that adds the same embedding at any position, such as segments, gives no order either.
        const std::unique_ptr<Encoding> encoding = example_of(*info);
        const unsigned moments = encoding->moments();
        const bool same_everywhere = moments == moment_embed && encoding->shift_invariant();
        // Nor does an encoding that acts only on the softmax's denominator, by all scores of a row or by none.
        if ((moments & ~moment_sink) == 0 || moments == (moment_sink | moment_rescore) || same_everywhere) continue;
        if (!accepts(std::string(info->name), b.dims())) continue;
        EXPECT_GT(last_change(std::string(info->name)), 1e-4) << info->name;
    }
}

class ThreadsContract : public ::testing::TestWithParam<std::string> {};

TEST_P(ThreadsContract, SameBitsOnAnyNumberOfThreads) {
    const detail::Restless restless;
    Blueprint b = small_blueprint();
    b.context = 200;
    b.n_layers = 1;
    b.d_model = 96;
    b.d_head = 24;
    b.d_ff = 256;
    const Model model = random_model(b, GetParam(), 41);
    const std::vector<Token> tokens = random_tokens(190, b.vocab_size, 42);
    const int before = thread_count();
    const auto run = [&](int threads, int chunk) {
        set_threads(threads);
        Session session(model, {200, chunk});
        Rows rows = logits_of(session, tokens);
        const std::span<const float> decoded = session.feed(random_tokens(1, b.vocab_size, 43));
        rows.emplace_back(decoded.begin(), decoded.end());
        return rows;
    };
    for (const int chunk : {200, 50}) {
        const Rows one = run(1, chunk);
        for (const int threads : {2, 3, 4, 8}) EXPECT_EQ(difference(run(threads, chunk), one), 0) << threads;
    }
    set_threads(before);
}

INSTANTIATE_TEST_SUITE_P(
    Encodings, ThreadsContract,
    ::testing::ValuesIn(registered({"forget+selective-rope:kind=repo", "selective-rope:kind=carope"})), spec_name);

} // namespace contract_test
} // namespace ordo
