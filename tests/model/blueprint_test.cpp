// SPDX-License-Identifier: MIT
#include "formats/architecture.h"
#include "model/model_access.h"

#include <gtest/gtest.h>
#include <set>

namespace ordo {
namespace {

std::string error_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::model);
        return error.what();
    }
    return "no error";
}

// The JSON of a valid blueprint with one piece of text replaced.
std::string replaced(const std::string& from, const std::string& to) {
    std::string json = to_json(architectures().front().make());
    const std::size_t at = json.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return json.replace(at, from.size(), to);
}

void expect_refused(const std::string& json, const std::string& phrase) {
    const std::string what = error_of([&] { blueprint_from_json(json, "a.safetensors"); });
    EXPECT_NE(what.find("a.safetensors"), std::string::npos) << what;
    EXPECT_NE(what.find(phrase), std::string::npos) << what;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
}

TEST(Blueprints, EveryArchitectureSurvivesItsJson) {
    std::set<std::string_view> names;
    for (const Architecture& a : architectures()) {
        EXPECT_TRUE(names.insert(a.name).second) << a.name;
        EXPECT_FALSE(a.summary.empty());
        const Blueprint b = a.make();
        EXPECT_EQ(b.architecture, a.name);
        check(b, "test");
        const Blueprint read = blueprint_from_json(to_json(b), "test");
        EXPECT_EQ(to_json(read), to_json(b));
        EXPECT_EQ(read.norm_eps, b.norm_eps); // exactly equal
        EXPECT_EQ(read.mask, b.mask);
        EXPECT_EQ(read.activation, b.activation);
        EXPECT_NO_THROW(ModelEncodings(a.encoding, b.dims())) << a.name;
    }
    EXPECT_TRUE(names.contains("ordo"));
}

// The sizes that the authors publish, without the parts that Ordo's trunks omit.
TEST(Blueprints, KnownModelsHaveTheirKnownSizes) {
    const auto parameters = [](std::string_view name) {
        for (const Architecture& a : architectures()) {
            if (a.name != name) continue;
            const Blueprint b = a.make();
            std::int64_t total = 0;
            for (const TensorSpec& t : model_tensors(b, ModelEncodings(a.encoding, b.dims()))) {
                std::int64_t elements = 1;
                for (const std::int64_t size : t.shape) elements *= size;
                total += elements;
            }
            return total;
        }
        return std::int64_t{0};
    };
    EXPECT_EQ(parameters("gpt2"), 124439808);
    EXPECT_EQ(parameters("bert"), 109482240 - 590592); // without the pooler: 768 * 768 + 768
    EXPECT_EQ(parameters("llama"), 1100048384);        // TinyLlama 1.1B
    EXPECT_EQ(parameters("bloom"), 559214592);         // bloom-560m
    EXPECT_EQ(parameters("gptj"), 6050882784);
}

TEST(Blueprints, RefusesFieldsByName) {
    expect_refused("", "blueprint");
    expect_refused("[]", "expected a JSON object");
    expect_refused("{}", "architecture");
    expect_refused(replaced("\"n_layers\":5,", ""), "n_layers");
    expect_refused(replaced("\"n_layers\"", "\"n_lagers\""), "n_layers");
    expect_refused(replaced("\"gated\":true", "\"gated\":true,\"extra\\u001b\":1"), "unknown field 'extra\\x1b'");
    expect_refused(replaced("\"gated\":true", "\"gated\":1"), "gated");
    expect_refused(replaced("\"gated\":true", "\"gated\":true,\"gated\":true"), "gated");
    expect_refused(replaced("\"d_model\":128", "\"d_model\":128.0"), "d_model");
    expect_refused(replaced("\"d_model\":128", "\"d_model\":\"128\""), "d_model");
    expect_refused(replaced("\"d_model\":128", "\"d_model\":-1"), "d_model");
    expect_refused(replaced("\"d_model\":128", "\"d_model\":99999999999999999999"), "d_model");
    expect_refused(replaced("\"norm\":\"rms\"", "\"norm\":\"RMS\""), "'norm': expected one of rms, layer; found 'RMS'");
    expect_refused(replaced("\"mask\":\"causal\"", "\"mask\":null"), "mask");
    expect_refused(replaced("\"norm_eps\":1e-05", "\"norm_eps\":1e400"), "blueprint");
    expect_refused(replaced("\"architecture\":\"ordo\"", "\"architecture\":\"" + std::string(65, 'x') + "\""),
                   "architecture");
}

TEST(Blueprints, RefusesValuesOutOfRangeByName) {
    const auto refused = [](const std::function<void(Blueprint&)>& change, const std::string& field) {
        Blueprint b = architectures().front().make();
        change(b);
        const std::string what = error_of([&] { check(b, "file"); });
        EXPECT_NE(what.find("file: blueprint field '" + field + "'"), std::string::npos) << what;
    };
    constexpr int huge = std::numeric_limits<int>::max();
    for (const int bad : {0, -1, (1 << 22) + 1, huge}) {
        refused([=](Blueprint& b) { b.vocab_size = bad; }, "vocab_size");
        refused([=](Blueprint& b) { b.context = bad; }, "context");
    }
    for (const int bad : {0, -1, 1025, huge}) {
        refused([=](Blueprint& b) { b.n_layers = bad; }, "n_layers");
        refused([=](Blueprint& b) { b.n_heads = bad; }, "n_heads");
        refused([=](Blueprint& b) { b.d_head = bad; }, "d_head");
    }
    for (const int bad : {0, -1, 65537, huge}) refused([=](Blueprint& b) { b.d_model = bad; }, "d_model");
    for (const int bad : {0, -1, (1 << 20) + 1}) refused([=](Blueprint& b) { b.d_ff = bad; }, "d_ff");
    for (const int bad : {0, -1, 3, 5, 8}) refused([=](Blueprint& b) { b.n_kv_heads = bad; }, "n_kv_heads"); // of 4
    for (const int bad : {-1, (1 << 22) + 1}) refused([=](Blueprint& b) { b.window = bad; }, "window");
    refused([](Blueprint& b) { b.attention_norm = false, b.norm_place = NormPlace::post; }, "attention_norm");
    for (const float bad : {0.0f, -1.0f, 2.0f, std::numeric_limits<float>::quiet_NaN()})
        refused([=](Blueprint& b) { b.norm_eps = bad; }, "norm_eps");
    for (const float bad :
         {-1.0f, 1e7f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        refused([=](Blueprint& b) { b.score_scale = bad; }, "score_scale");
        refused([=](Blueprint& b) { b.embedding_scale = bad; }, "embedding_scale");
        refused([=](Blueprint& b) { b.attention_softcap = bad; }, "attention_softcap");
        refused([=](Blueprint& b) { b.qkv_clip = bad; }, "qkv_clip");
        refused([=](Blueprint& b) { b.final_softcap = bad; }, "final_softcap");
    }
    refused([](Blueprint& b) { b.embedding_scale = 0; }, "embedding_scale");
    for (const int off : {1, huge / 2})
        refused([=](Blueprint& b) { b.embedding_width = b.d_model + off; }, "embedding_width");
    refused([=](Blueprint& b) { b.embedding_width = -1; }, "embedding_width");
    refused([](Blueprint& b) { b.projected_embedding = true; }, "projected_embedding");
    for (const int bad : {-1, huge / 2}) refused([=](Blueprint& b) { b.distinct_layers = bad; }, "distinct_layers");
    refused(
        [](Blueprint& b) {
            b.n_layers = 4, b.distinct_layers = 1, b.pattern = {b, b};
            b.pattern[1].window = 3;
        },
        "distinct_layers");
}

// Files older than these fields have none of them. Files that do not need the fields still omit them.
TEST(Blueprints, TheLaterFieldsMayBeAbsent) {
    Blueprint b = architectures().front().make();
    for (const char* field : {"embedding_width", "projected_embedding", "distinct_layers", "embedding_scale",
                              "attention_softcap", "final_softcap"}) {
        EXPECT_EQ(to_json(b).find(field), std::string::npos) << field;
        EXPECT_NE(to_json(b, true).find(field), std::string::npos) << field;
    }
    const Blueprint old = blueprint_from_json(to_json(b), "test");
    EXPECT_EQ(old.embedding_scale, 1);
    EXPECT_EQ(old.attention_softcap, 0);
    EXPECT_EQ(old.final_softcap, 0);
    EXPECT_EQ(to_json(blueprint_from_json(to_json(b, true), "test")), to_json(b));
    b.embedding_width = 24, b.projected_embedding = true;
    b.distinct_layers = 1;
    b.embedding_scale = 11.3f;
    b.attention_softcap = 50;
    b.final_softcap = 30;
    const Blueprint read = blueprint_from_json(to_json(b), "test");
    EXPECT_EQ(read.embedding_width, 24);
    EXPECT_TRUE(read.projected_embedding);
    EXPECT_EQ(read.distinct_layers, 1);
    EXPECT_EQ(read.embedding_scale, 11.3f);
    EXPECT_EQ(read.attention_softcap, 50);
    EXPECT_EQ(read.final_softcap, 30);
    expect_refused(replaced("\"gated\":true", "\"gated\":true,\"final_softcap\":-1"), "final_softcap");
    expect_refused(replaced("\"gated\":true", "\"gated\":true,\"embedding_scale\":\"1\""), "embedding_scale");
}

// Each field of a plan, changed: {its JSON, the function that changes it}.
std::vector<std::pair<std::string, std::function<void(LayerPlan&)>>> changes() {
    return {
        {"\"norm_eps\":0.25", [](LayerPlan& p) { p.norm_eps = 0.25f; }},
        {"\"norm_place\":\"sandwich\"", [](LayerPlan& p) { p.norm_place = NormPlace::sandwich; }},
        {"\"norm_place\":\"after\"", [](LayerPlan& p) { p.norm_place = NormPlace::after; }},
        {"\"norm_place\":\"parallel_two\"", [](LayerPlan& p) { p.norm_place = NormPlace::parallel_two; }},
        {"\"attention_norm\":false", [](LayerPlan& p) { p.attention_norm = false; }},
        {"\"activation\":\"relu\"", [](LayerPlan& p) { p.activation = Activation::relu; }},
        {"\"activation\":\"relu2\"", [](LayerPlan& p) { p.activation = Activation::relu2; }},
        {"\"gated\":false", [](LayerPlan& p) { p.gated = false; }},
        {"\"ffn_bias\":true", [](LayerPlan& p) { p.ffn_bias = true; }},
        {"\"mask\":\"bidirectional\"", [](LayerPlan& p) { p.mask = Mask::bidirectional; }},
        {"\"window\":7", [](LayerPlan& p) { p.window = 7; }},
        {"\"score_scale\":0.5", [](LayerPlan& p) { p.score_scale = 0.5f; }},
        {"\"norm\":\"layer\",\"norm_bias\":false", [](LayerPlan& p) { p.norm = Norm::layer; }},
        {"\"norm\":\"layer\",\"norm_bias\":true", [](LayerPlan& p) { p.norm = Norm::layer, p.norm_bias = true; }},
        {"\"q_bias\":true", [](LayerPlan& p) { p.q_bias = true; }},
        {"\"k_bias\":true", [](LayerPlan& p) { p.k_bias = true; }},
        {"\"v_bias\":true", [](LayerPlan& p) { p.v_bias = true; }},
        {"\"out_bias\":true", [](LayerPlan& p) { p.out_bias = true; }},
        {"\"qk_norm\":\"head\"", [](LayerPlan& p) { p.qk_norm = QkNorm::head; }},
        {"\"qk_norm\":\"width\"", [](LayerPlan& p) { p.qk_norm = QkNorm::width; }},
        {"\"qk_norm\":\"rotated\"", [](LayerPlan& p) { p.qk_norm = QkNorm::rotated; }},
        {"\"qkv_clip\":8", [](LayerPlan& p) { p.qkv_clip = 8; }},
        {"\"attention_softcap\":50", [](LayerPlan& p) { p.attention_softcap = 50; }},
        {"\"experts\":8,\"experts_used\":2", [](LayerPlan& p) { p.experts = 8, p.experts_used = 2; }},
        {"\"experts\":8,\"experts_used\":2,\"experts_renormalised\":false",
         [](LayerPlan& p) { p.experts = 8, p.experts_used = 2, p.experts_renormalised = false; }},
        {"\"experts\":8,\"experts_used\":2,\"shared_expert\":24",
         [](LayerPlan& p) { p.experts = 8, p.experts_used = 2, p.shared_expert = 24; }},
        {"\"ffn_width\":24", [](LayerPlan& p) { p.ffn_width = 24; }},
        {"\"attention_bias\":true", [](LayerPlan& p) { p.attention_bias(true); }},
        {"\"parallel_residual\":true", [](LayerPlan& p) { p.norm_place = NormPlace::parallel; }},
        {"", [](LayerPlan&) {}},
    };
}

// Sets each field directly in a pattern, and through JSON: in a pattern and for all layers.
TEST(Blueprints, EveryFieldOfAPlanIsReachableByItsName) {
    const Blueprint base = architectures().front().make();
    for (const auto& [json, change] : changes()) {
        Blueprint expected = base;
        LayerPlan changed = base;
        change(changed);
        expected.pattern = {changed, base};
        std::string text = to_json(base);
        text.insert(text.size() - 1, ",\"layers\":[{" + json + "},{}]");
        const Blueprint read = blueprint_from_json(text, "test");
        EXPECT_EQ(read.pattern, expected.pattern) << json;
        EXPECT_TRUE(read.layer(0) == changed && read.layer(1) == static_cast<const LayerPlan&>(base)) << json;
        EXPECT_EQ(blueprint_from_json(to_json(expected), "test").pattern, expected.pattern) << json;
        EXPECT_EQ(to_json(blueprint_from_json(to_json(expected, true), "test")), to_json(expected)) << json;
        Blueprint all_layers = base;
        change(all_layers);
        EXPECT_EQ(static_cast<const LayerPlan&>(blueprint_from_json(to_json(all_layers), "test")), changed) << json;
        // Also against a base in which every other field is changed.
        Blueprint around = all_layers;
        around.pattern = {base, changed};
        EXPECT_EQ(blueprint_from_json(to_json(around), "test").pattern, around.pattern) << json;
    }
}

TEST(Blueprints, AsManyPlansAsLayersFitIn) {
    Blueprint b = architectures().front().make();
    b.n_layers = 1024;
    LayerPlan plan = b;
    plan.norm = Norm::layer, plan.norm_place = NormPlace::parallel_two, plan.activation = Activation::gelu_tanh;
    plan.gated = false, plan.ffn_bias = true, plan.qk_norm = QkNorm::width, plan.norm_bias = true;
    plan.attention_bias(true);
    plan.norm_eps = 1.2345679e-7f, plan.score_scale = 1.2345679e-5f, plan.attention_softcap = 1.2345679e-5f;
    plan.window = 1 << 22, plan.experts = 64, plan.experts_used = 63, plan.experts_renormalised = false;
    plan.shared_expert = plan.ffn_width = 1 << 20;
    b.pattern.assign(1024, plan);
    EXPECT_EQ(blueprint_from_json(to_json(b), "test").pattern, b.pattern);
}

// The key order of version 0.1.0, without the later fields.
std::string old_json(const std::string& norm, bool attention_bias, bool parallel, const std::string& place = "pre") {
    const auto text = [](bool value) { return value ? std::string("true") : std::string("false"); };
    return R"({"architecture":"old","vocab_size":257,"context":64,"n_layers":2,"d_model":32,"n_heads":4,"n_kv_heads":4,)"
           R"("d_head":8,"d_ff":64,"norm":")" +
           norm + R"(","norm_eps":1e-05,"norm_place":")" + place + R"(","parallel_residual":)" + text(parallel) +
           R"(,"activation":"silu","gated":true,"attention_bias":)" + text(attention_bias) +
           R"(,"ffn_bias":false,"mask":"causal","window":0,"score_scale":0,"embedding_norm":false,"final_norm":true,)"
           R"("tied_head":true})";
}

TEST(Blueprints, OldFilesReadAsBefore) {
    for (const bool bias : {false, true})
        for (const bool parallel : {false, true})
            for (const std::string norm : {"rms", "layer"}) {
                const Blueprint b = blueprint_from_json(old_json(norm, bias, parallel), "test");
                EXPECT_TRUE(b.pattern.empty());
                EXPECT_EQ(b.norm_bias, norm == "layer"); // LayerNorm always had a bias
                EXPECT_EQ(b.norm_place, parallel ? NormPlace::parallel : NormPlace::pre);
                for (const bool each : {b.q_bias, b.k_bias, b.v_bias, b.out_bias}) EXPECT_EQ(each, bias);
                std::set<std::string> names;
                for (const TensorSpec& t : tensor_list(b)) names.insert(t.name);
                EXPECT_EQ(names.contains("layers.1.attention.qkv.bias"), bias);
                EXPECT_EQ(names.contains("layers.1.attention.out.bias"), bias);
                EXPECT_EQ(names.contains("layers.1.feed_forward_norm.weight"), !parallel);
                EXPECT_EQ(names.contains("layers.1.attention_norm.bias"), norm == "layer");
                EXPECT_EQ(names.contains("final_norm.bias"), norm == "layer");
            }
    expect_refused(old_json("rms", false, true, "post"), "parallel_residual");
}

TEST(Blueprints, DenseLayersAreKeptAndChecked) {
    Blueprint b = architectures().front().make();
    b.dense = {{3072, true, false, DenseActivation::tanh}, {768, false, true, DenseActivation::sigmoid}, {5}};
    EXPECT_EQ(blueprint_from_json(to_json(b), "test").dense, b.dense);
    const std::vector<TensorSpec> list = tensor_list(b);
    EXPECT_EQ(list.back().name, "dense.2.weight");
    EXPECT_EQ(list.back().shape, (std::vector<std::int64_t>{5, 768}));
    const auto refused = [](const std::string& dense, const std::string& phrase) {
        expect_refused(replaced("\"gated\":true", "\"gated\":true,\"dense\":" + dense), phrase);
    };
    refused("[]", "'dense': expected a list of dense layers");
    refused("[{}]", "dense layer 0: ");
    refused("[{\"width\":0}]", "blueprint field 'dense: width': expected 1 to 65536, found 0");
    refused("[{\"width\":8,\"activation\":\"none\"}]", "dense layer 0: 'activation': expected one of identity");
    refused("[{\"width\":8,\"height\":8}]", "dense layer 0: unknown field 'height'");
    refused("[{\"width\":8},{\"width\":8,\"bias\":1}]", "dense layer 1: 'bias'");
}

TEST(Blueprints, RefusesPlansByTheirNumberAndField) {
    const auto refused = [](const std::string& layers, const std::string& phrase) {
        expect_refused(replaced("\"gated\":true", "\"gated\":true,\"layers\":" + layers), phrase);
    };
    refused("[]", "'layers': expected a list of layer plans");
    refused("{}", "'layers': expected a list of layer plans");
    refused("null", "'layers'");
    refused("[{},7]", "layer plan 1: expected a JSON object");
    refused("[{},{\"n_heads\":2}]", "layer plan 1: unknown field 'n_heads'");
    refused("[{},{\"layers\":[]}]", "layer plan 1: unknown field 'layers'");
    refused("[{},{\"window\":-1}]", "window");
    refused("[{},{\"window\":5000000}]", "layer plan 1: blueprint field 'window'");
    refused("[{\"norm_bias\":true}]", "layer plan 0: blueprint field 'norm_bias': expected false with norm rms");
    refused("[{\"norm_place\":\"around\"}]", "layer plan 0: 'norm_place': expected one of pre, post, sandwich");
    refused("[{\"qk_norm\":\"both\"}]", "layer plan 0: 'qk_norm': expected one of none, head, width, rotated");
    refused("[{\"experts\":2}]", "layer plan 0: blueprint field 'experts_used': expected 1 to 2, found 0");
    refused("[{\"experts\":2,\"experts_used\":3}]", "experts_used");
    refused("[{\"experts_used\":1}]", "layer plan 0: blueprint field 'experts_used': expected 0 to 0, found 1");
    refused("[{\"shared_expert\":8}]", "layer plan 0: blueprint field 'shared_expert': expected 0 to 0, found 8");
    refused("[{\"ffn_width\":1048577}]", "layer plan 0: blueprint field 'ffn_width'");
    refused("[{\"experts\":1025,\"experts_used\":1}]", "layer plan 0: blueprint field 'experts'");
    refused("[{\"attention_softcap\":-1}]", "attention_softcap");
    refused("[{\"norm_eps\":0}]", "layer plan 0: blueprint field 'norm_eps'");
    refused("[{},{},{},{},{},{}]", "expected at most n_layers = 5 plans, found 6");
    refused("[{\"parallel_residual\":true,\"norm_place\":\"post\"}]", "layer plan 0: 'parallel_residual'");
    Blueprint b = architectures().front().make();
    b.n_layers = 1024, b.experts = 1024, b.experts_used = 1;
    EXPECT_NE(error_of([&] { check(b, "file"); }).find("'experts': expected at most 65536 in all layers"),
              std::string::npos);
}

TEST(Blueprints, ScoreScaleIsThatOfThePaperUnlessGiven) {
    Blueprint b = architectures().front().make();
    b.d_head = 64;
    EXPECT_EQ(compile(b).layer(0).score_scale(), 0.125f);
    b.score_scale = 1;
    EXPECT_EQ(compile(b).layer(0).score_scale(), 1.0f);
}

TEST(Blueprints, TensorsComeInTheOrderOfAForwardPass) {
    Blueprint b = architectures().front().make();
    b.n_layers = 1;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.attention_bias(true);
    b.ffn_bias = b.embedding_norm = true;
    b.tied_head = false;
    b.n_kv_heads = 2;
    std::vector<std::string> names;
    for (const TensorSpec& t : tensor_list(b)) {
        names.push_back(t.name);
        if (t.name == "layers.0.attention.qkv.weight") {
            EXPECT_EQ(t.shape, (std::vector<std::int64_t>{(4 + 2 + 2) * 32, 128}));
        }
        if (t.shape.size() == 1) {
            EXPECT_EQ(t.initial.kind, InitialValues::Kind::constant) << t.name;
            EXPECT_EQ(t.initial.a, t.name.find("norm.weight") != std::string::npos ? 1 : 0) << t.name;
        }
    }
    EXPECT_EQ(names, (std::vector<std::string>{"embedding.weight", "embedding_norm.weight", "embedding_norm.bias",
                                               "layers.0.attention_norm.weight", "layers.0.attention_norm.bias",
                                               "layers.0.attention.qkv.weight", "layers.0.attention.qkv.bias",
                                               "layers.0.attention.out.weight", "layers.0.attention.out.bias",
                                               "layers.0.feed_forward_norm.weight", "layers.0.feed_forward_norm.bias",
                                               "layers.0.feed_forward.in.weight", "layers.0.feed_forward.in.bias",
                                               "layers.0.feed_forward.out.weight", "layers.0.feed_forward.out.bias",
                                               "final_norm.weight", "final_norm.bias", "head.weight"}));
}

} // namespace
} // namespace ordo
