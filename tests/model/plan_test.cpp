// SPDX-License-Identifier: MIT
// Compares every choice of a layer's plan with the oracle, in inference: the whole input at once, in chunks, token by
// token, and next to other sequences in a batch, in any type of weights, on any number of threads. Also compares every
// encoding in any type of weights.
#include "core/parallel.h"
#include "encoding/base/registry.h"
#include "tests/kernels/sets.h"
#include "tests/model/small_models.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

struct PlanCase {
    std::string name;
    Blueprint blueprint;
    std::string encoding = "rope";
};
void PrintTo(const PlanCase& c, std::ostream* out) {
    *out << c.name;
}

// Widths that are multiples of 32, so that all matrices can be quantised.
Blueprint base() {
    Blueprint b = small_blueprint();
    b.d_model = 64;
    b.n_kv_heads = 2;
    b.d_head = 16;
    b.d_ff = 96;
    return b;
}

std::vector<PlanCase> plans() {
    std::vector<PlanCase> all;
    const auto with = [&](const std::string& name, const std::function<void(Blueprint&)>& change) {
        all.push_back({name, base()});
        change(all.back().blueprint);
    };
    const std::pair<NormPlace, std::string> places[] = {{NormPlace::pre, "pre"},
                                                        {NormPlace::post, "post"},
                                                        {NormPlace::sandwich, "sandwich"},
                                                        {NormPlace::parallel, "parallel"},
                                                        {NormPlace::parallel_two, "parallel_two"},
                                                        {NormPlace::after, "after"}};
    for (const auto& each : places) {
        const NormPlace place = each.first; // clang 14 does not capture a structured binding
        const std::string& name = each.second;
        with(name, [&](Blueprint& b) { b.norm_place = place; });
        with(name + "_with_all_that_comes_between", [&](Blueprint& b) {
            b.norm_place = place;
            b.norm = Norm::layer;
            b.qk_norm = QkNorm::head;
            b.q_bias = b.v_bias = b.out_bias = true;
            b.experts = 3, b.experts_used = 2;
            b.attention_softcap = 2;
        });
        all.push_back({name + "_observed", base(), "rope+forget"}); // a second encoding observes attention
        all.back().blueprint.norm_place = place;
        all.push_back({name + "_experts_observed", base(), "forget"});
        all.back().blueprint.norm_place = place;
        all.back().blueprint.experts = 3, all.back().blueprint.experts_used = 1;
    }
    with("no_norm_before_the_first_attention", [](Blueprint& b) {
        b.pattern = {b, b};
        b.pattern[0].attention_norm = false, b.pattern[1].window = 9;
    });
    with("norms_of_heads", [](Blueprint& b) { b.qk_norm = QkNorm::head; });
    with("norms_of_queries_and_keys", [](Blueprint& b) { b.qk_norm = QkNorm::width, b.q_bias = b.k_bias = true; });
    with("norms_after_the_rotation", [](Blueprint& b) { b.qk_norm = QkNorm::rotated; });
    // Heads that fill a panel of weights. A thread computes its heads from the product to the output.
    for (const QkNorm norm : {QkNorm::none, QkNorm::head, QkNorm::width, QkNorm::rotated})
        with("wide_heads_of_norm_" + std::to_string(static_cast<int>(norm)),
             [&](Blueprint& b) { b.d_head = 32, b.qk_norm = norm, b.q_bias = b.k_bias = b.v_bias = true; });
    with("wide_heads_and_layers_with_little_between", [](Blueprint& b) {
        b.d_head = 32, b.d_ff = 224, b.gated = false, b.window = 9;
        b.norm_place = NormPlace::sandwich;
    });
    with("clipped", [](Blueprint& b) { b.qkv_clip = 0.5f; });
    with("clipped_before_norms", [](Blueprint& b) { b.qkv_clip = 0.5f, b.qk_norm = QkNorm::head, b.q_bias = true; });
    with("layer_norm", [](Blueprint& b) { b.norm = Norm::layer; });
    with("layer_norm_with_bias", [](Blueprint& b) { b.norm = Norm::layer, b.norm_bias = true; });
    for (int biases = 1; biases < 8; ++biases) // of q, k and v; 7 sets all three
        with("biases_" + std::to_string(biases), [&](Blueprint& b) {
            b.q_bias = (biases & 1) != 0, b.k_bias = (biases & 2) != 0, b.v_bias = (biases & 4) != 0;
            b.out_bias = biases == 5;
        });
    with("bias_of_the_head", [](Blueprint& b) { b.head_bias = true, b.tied_head = false; });
    with("caps", [](Blueprint& b) { b.attention_softcap = 2, b.final_softcap = 3, b.head_bias = true; });
    with("score_scale", [](Blueprint& b) { b.score_scale = 1; });
    with("head_scale", [](Blueprint& b) { b.head_scale = 0.125f; });
    with("head_scale_without_a_norm", [](Blueprint& b) { b.head_scale = 3, b.final_norm = false; });
    with("head_transform", [](Blueprint& b) { b.head_transform = true, b.activation = Activation::gelu; });
    with("embedding_width", [](Blueprint& b) { b.embedding_width = 24, b.embedding_norm = true; });
    with("embedding_width_beside_a_transform", [](Blueprint& b) {
        b.embedding_width = 33, b.head_transform = true, b.tied_head = false, b.head_scale = 0.5f;
    });
    with("projected_embedding", [](Blueprint& b) {
        b.embedding_width = 24, b.projected_embedding = b.embedding_norm = b.head_transform = true;
    });
    with("projected_embedding_alone", [](Blueprint& b) { b.embedding_width = 24, b.projected_embedding = true; });
    with("layers_of_the_same_weights", [](Blueprint& b) { b.n_layers = 4, b.distinct_layers = 1; });
    with("pairs_of_layers_of_the_same_weights", [](Blueprint& b) { b.n_layers = 5, b.distinct_layers = 2; });
    with("head_transform_of_bert", [](Blueprint& b) {
        b.head_transform = b.head_bias = true, b.final_norm = false, b.norm_place = NormPlace::post;
        b.norm = Norm::layer, b.norm_bias = true, b.head_scale = 0.5f;
    });
    with("experts_gated", [](Blueprint& b) { b.experts = 4, b.experts_used = 2; });
    with("experts_plain", [](Blueprint& b) {
        b.experts = 4, b.experts_used = 3;
        b.experts_renormalised = b.gated = false;
        b.ffn_bias = true;
    });
    with("experts_all_used", [](Blueprint& b) { b.experts = b.experts_used = 2; });
    with("experts_alone", [](Blueprint& b) { b.experts = b.experts_used = 1, b.experts_renormalised = false; });
    with("experts_many", [](Blueprint& b) { b.experts = 40, b.experts_used = 1; }); // most have no row
    with("a_shared_expert", [](Blueprint& b) { b.experts = 4, b.experts_used = 2, b.shared_expert = 28; });
    with("a_shared_expert_plain_behind_norms", [](Blueprint& b) {
        b.norm_place = NormPlace::post, b.experts = 3, b.experts_used = 1, b.shared_expert = 70;
        b.gated = b.experts_renormalised = false;
        b.ffn_bias = true;
    });
    with("widths_of_layers", [](Blueprint& b) {
        b.n_layers = 3;
        b.pattern = {b, b, b};
        b.pattern[0].ffn_width = 96;
        b.pattern[1].experts = 3, b.pattern[1].experts_used = 2, b.pattern[1].ffn_width = 20;
        b.pattern[1].shared_expert = 33;
    });
    with("a_pattern", [](Blueprint& b) {
        b.n_layers = 5;
        b.pattern = {b, b, b};
        b.pattern[0].window = 7;
        b.pattern[1].norm_place = NormPlace::post, b.pattern[1].gated = false, b.pattern[1].norm = Norm::layer;
        b.pattern[1].norm_bias = true;
        b.pattern[2].experts = 3, b.pattern[2].experts_used = 2, b.pattern[2].attention_softcap = 3;
        b.pattern[2].qk_norm = QkNorm::width;
    });
    all.push_back({"a_pattern_of_plans_and_encodings", all.back().blueprint, "pattern(rope,none,(shaw+sink))"});
    return all;
}

constexpr int plan_tokens = 60;

class LayerPlans : public ::testing::TestWithParam<PlanCase> {
protected:
    Model model(WeightType type) const { return random_model(GetParam().blueprint, GetParam().encoding, 61, type); }
    // In one call of feed_all(), and then token by token.
    Rows fed(const Model& m, int chunk) const {
        Session session(m, {plan_tokens, chunk});
        Rows rows = logits_of(session, std::span(tokens_).first(plan_tokens - 8));
        for (int i = plan_tokens - 8; i < plan_tokens; ++i) {
            const std::span<const float> next = session.feed({&tokens_[i], 1});
            rows.emplace_back(next.begin(), next.end());
        }
        return rows;
    }

    const std::vector<Token> tokens_ = random_tokens(plan_tokens, base().vocab_size, 62);
};

TEST_P(LayerPlans, AgreeWithTheOracleHoweverTheyAreFed) {
    const Blueprint& b = GetParam().blueprint;
    const Model m = model(WeightType::f32);
    const reference::Tensors tensors = tensors_of(m);
    const reference::Oracles oracles(m.encoding(), b.dims(), tensors, plan_tokens);
    ORDO_EXPECT_COMPLETE(oracles);
    reference::Input in{tokens_, {}, {}};
    for (int i = 0; i < plan_tokens; ++i) in.positions.push_back(i);
    const Rows expected = to_rows(reference::Transformer(b, tensors, oracles).logits(in));
    for (const int chunk : {1, 5, 25, plan_tokens}) EXPECT_LE(difference(fed(m, chunk), expected), 2e-4) << chunk;
}

// A row's sums do not depend on the number of rows in the call.
TEST_P(LayerPlans, ChunksChangeNoBit) {
    for (const Kernels* set : {available_kernels().back(), &test::amx_emulated_kernels}) {
        const test::Selected selected(*set);
        for (const WeightType type : {WeightType::f32, WeightType::bf16, WeightType::q8_0, WeightType::q4_0}) {
            const Model m = model(type);
            const Rows one = fed(m, 1);
            const auto expect_the_same = [&](int chunk) {
                EXPECT_EQ(difference(fed(m, chunk), one), 0) << set->name << ": " << name_of(type) << " " << chunk;
            };
            for (const int chunk : {3, 8, 25, plan_tokens}) expect_the_same(chunk);
        }
    }
}

TEST_P(LayerPlans, ThreadsChangeNoBit) {
    const detail::Restless restless;
    const int before = thread_count();
    for (const WeightType type : {WeightType::f32, WeightType::q8_0, WeightType::bf16}) {
        const test::Selected selected(type == WeightType::bf16 ? test::amx_emulated_kernels
                                                               : *available_kernels().back());
        const Model m = model(type);
        set_threads(1);
        const Rows one = fed(m, 30);
        for (const int threads : {2, 4}) {
            set_threads(threads);
            EXPECT_EQ(difference(fed(m, 30), one), 0) << name_of(type) << " " << threads;
        }
    }
    set_threads(before);
}

TEST_P(LayerPlans, BatchesAreSessionsSideBySide) {
    const Model m = model(WeightType::f32);
    const Rows alone = fed(m, 16);
    Session first(m, {plan_tokens}), second(m, {plan_tokens});
    second.feed(std::span(tokens_).first(9));
    Batch batch(m, 2);
    Session* const both[] = {&first, &second};
    for (std::size_t i = 0; i + 9 < plan_tokens; ++i) {
        const Token next[] = {tokens_[i], tokens_[i + 9]};
        const View logits = batch.feed(both, next);
        for (const std::size_t s : {0, 1})
            EXPECT_EQ(
                difference({logits.row(static_cast<int>(s)), static_cast<std::size_t>(logits.cols)}, alone[i + 9 * s]),
                0)
                << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Plans, LayerPlans, ::testing::ValuesIn(plans()),
                         [](const auto& test) { return test.param.name; });

// The registered encodings, in a single plan.
class EncodingsInAnyType : public LayerPlans {};

constexpr std::span types = writable_types; // for the types that are only read, see formats/gguf_blocks_test.cpp

std::vector<PlanCase> encoding_cases() {
    std::vector<PlanCase> all;
    for (const EncodingInfo* info : registered_encodings()) {
        all.push_back({std::string(info->name), base(), std::string(info->name)});
        all.back().blueprint.d_head = 32; // heads fill panels of weights
        std::replace(all.back().name.begin(), all.back().name.end(), '-', '_');
    }
    return all;
}

TEST_P(EncodingsInAnyType, TheFutureChangesNothing) {
    constexpr std::size_t changed = 25;
    std::vector<Token> other = tokens_;
    other[changed] = (other[changed] + 50) % base().vocab_size;
    for (const WeightType type : types) {
        const Model m = model(type);
        for (const int chunk : {7, plan_tokens}) {
            const Rows before = logits_of(m, tokens_, chunk), after = logits_of(m, other, chunk);
            for (std::size_t i = 0; i < changed; ++i) ASSERT_EQ(before[i], after[i]) << name_of(type) << " " << i;
            EXPECT_GT(difference(before[changed], after[changed]), 1e-2) << name_of(type);
        }
    }
}

TEST_P(EncodingsInAnyType, ChunksChangeNoBit) {
    for (const WeightType type : types) {
        const Model m = model(type);
        const Rows one = fed(m, 1);
        for (const int chunk : {3, 8, 25, plan_tokens})
            EXPECT_EQ(difference(fed(m, chunk), one), 0) << name_of(type) << " " << chunk;
    }
}

INSTANTIATE_TEST_SUITE_P(Encodings, EncodingsInAnyType, ::testing::ValuesIn(encoding_cases()),
                         [](const auto& test) { return test.param.name; });

// Keys beyond the 1,024th form a chunk of their own, both for a single token and for many tokens together.
TEST(LongTexts, ChunksChangeNoBit) {
    Blueprint b = base();
    b.context = 1100;
    const std::vector<Token> tokens = random_tokens(1100, b.vocab_size, 65);
    const auto expect_same = [&](const Model& m, const std::string& what, CacheType cache = CacheType::f32) {
        const auto fed = [&](int chunk) {
            Session session(m, {.capacity = 1100, .chunk = chunk, .cache = cache});
            return logits_of(session, tokens);
        };
        const Rows whole = fed(1100);
        for (const int chunk : {1, 7, 150, 512}) EXPECT_EQ(difference(fed(chunk), whole), 0) << what << " " << chunk;
    };
    for (const WeightType type : types) expect_same(random_model(b, "rope", 66, type), std::string(name_of(type)));
    for (const char* encoding : {"rope+sink", "shaw", "forget", "cope", "path+sink", "wall+path"})
        expect_same(random_model(b, encoding, 67, WeightType::f32), encoding);
    for (const CacheType cache : {CacheType::f16, CacheType::bf16, CacheType::q8_0})
        for (const char* encoding : {"rope", "shaw"}) expect_same(random_model(b, encoding, 69), name_of(cache), cache);
    b.window = 130;
    for (const char* encoding : {"alibi", "path", "wall"})
        expect_same(random_model(b, encoding, 68, WeightType::f32), std::string("window of ") + encoding);
}

// With one key/value head and several threads, the threads share the key chunks of a single token.
TEST(LongTexts, ThreadsThatShareSpansChangeNoBit) {
    Blueprint b = base();
    b.context = 2100, b.n_kv_heads = 1;
    const std::vector<Token> tokens = random_tokens(2100, b.vocab_size, 70);
    const int before = thread_count();
    for (const char* encoding : {"rope+sink", "shaw", "forget", "transformer-xl"}) {
        const Model m = random_model(b, encoding, 71);
        const auto last_rows = [&](int threads) {
            set_threads(threads);
            Session session(m, {2100});
            session.feed(std::span(tokens).first(2080));
            Rows rows;
            for (std::size_t i = 2080; i < tokens.size(); ++i) {
                const std::span<const float> logits = session.feed({&tokens[i], 1});
                rows.emplace_back(logits.begin(), logits.end());
            }
            return rows;
        };
        const Rows one = last_rows(1);
        EXPECT_EQ(difference(last_rows(4), one), 0) << encoding;
        set_threads(before);
        const Rows whole = logits_of(m, tokens);
        EXPECT_EQ(difference({whole.begin() + 2080, whole.end()}, one), 0) << encoding;
    }
}

// An encoding that acts as a window: it forbids keys that are further away, even whole chunks of keys.
class Near final : public Encoding {
public:
    std::string spec() const override { return "near"; }
    void bias(View scores, const Tile& tile) const override {
        for (int i = 0; i < scores.rows; ++i)
            for (int j = 0; j < scores.cols; ++j)
                if (tile.queries[i] - tile.keys[j] >= 40) scores.row(i)[j] = -HUGE_VALF;
    }
};

TEST(LongTexts, AnEncodingMayForbidAllKeysOfASpan) {
    Blueprint b = base();
    b.context = 1100;
    const std::vector<Token> tokens = random_tokens(1100, b.vocab_size, 72);
    std::vector<OwnEncoding> items;
    items.push_back(std::make_unique<Near>());
    const Model m = random_model(b, ModelEncodings(std::move(items), b.n_layers), 73);
    b.window = 40;
    const Rows expected = logits_of(random_model(b, "none", 73), tokens);
    for (const int chunk : {1, 256}) EXPECT_LE(difference(logits_of(m, tokens, chunk), expected), 1e-4) << chunk;
}

// A late thread reads the number of rows of each expert while other threads are layers ahead. It must find the numbers
// of its own layer.
TEST(Experts, ThreadsThatComeLateFindTheirOwnLayer) {
    const detail::Restless restless;
    Blueprint b = base();
    b.n_layers = 12;
    b.experts = 8, b.experts_used = 2;
    const Model m = random_model(b, "rope", 63);
    const std::vector<Token> tokens = random_tokens(64, b.vocab_size, 64);
    const int before = thread_count();
    const auto run = [&](int threads) {
        set_threads(threads);
        Session session(m, {64, 16});
        return logits_of(session, tokens);
    };
    const Rows one = run(1);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(difference(run(8), one), 0); // more threads than processors
    set_threads(before);
}

} // namespace
} // namespace ordo
