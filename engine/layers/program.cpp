// SPDX-License-Identifier: MIT
#include "layers/program.h"

#include <algorithm>
#include <cmath>

namespace ordo {
namespace {

class Compiler {
public:
    Compiler(const LayerPlan& plan, const LayerSizes& sizes) {
        program.plan = plan;
        program.sizes = sizes;
        program.values.push_back({Slot::stream, sizes.d_model});
    }

    // ---- Tensors: an index by which steps name them; their order is that of a file.
    // Matrices start from N(0, 0.02); those that write into the residual stream are shrunk by the number of its
    // branches, 2 n_layers (Radford et al. 2019, section 2.3).
    int matrix(const std::string& name, int rows, int cols, bool bias, bool into_stream = false) {
        const double deviation = into_stream ? 0.02 / std::sqrt(2.0 * program.sizes.n_layers) : 0.02;
        program.linears.push_back({name, rows, cols, bias, static_cast<float>(deviation)});
        tensor(name + ".weight", {rows, cols}, InitialValues::normal(static_cast<float>(deviation)));
        if (bias) tensor(name + ".bias", {rows}, InitialValues::constant(0));
        return static_cast<int>(program.linears.size()) - 1;
    }
    int norm_weights(const std::string& name) {
        const bool bias = program.plan.norm == Norm::layer && program.plan.norm_bias;
        return add_norm({name, program.sizes.d_model, bias});
    }
    int add_norm(NormSpec spec) {
        tensor(spec.name + ".weight", {spec.width}, InitialValues::constant(1));
        if (spec.bias) tensor(spec.name + ".bias", {spec.width}, InitialValues::constant(0));
        program.norms.push_back(std::move(spec));
        return static_cast<int>(program.norms.size()) - 1;
    }
    int vector(const std::string& name, int width) {
        program.vectors.push_back({name, width});
        tensor(name, {width}, InitialValues::constant(0));
        return static_cast<int>(program.vectors.size()) - 1;
    }

    // ---- Steps: each gives the value that it writes.
    int norm(int in, int weight, Slot to) { return step({Op::norm, in, value(to, program.sizes.d_model), -1, weight}); }
    int linear(int in, int weight, Slot to) {
        return step({Op::linear, in, value(to, program.linears[static_cast<std::size_t>(weight)].rows), -1, weight});
    }
    int add(int in, int branch) { return step({Op::add, in, value(Slot::stream, program.sizes.d_model), branch}); }
    int value(Slot slot, int width) {
        program.values.push_back({slot, width});
        return static_cast<int>(program.values.size()) - 1;
    }
    int step(const Step& s) {
        program.steps.push_back(s);
        return s.out;
    }

    LayerProgram program;

private:
    void tensor(std::string name, std::vector<std::int64_t> shape, InitialValues initial) {
        program.tensors.push_back({.name = std::move(name), .shape = std::move(shape), .initial = std::move(initial)});
    }
};

// Attention from the projection of its input to that of its output.
class AttentionPart {
public:
    explicit AttentionPart(Compiler& to) : c_(to) {
        const LayerPlan& plan = c_.program.plan;
        const LayerSizes& s = c_.program.sizes;
        const bool all = plan.q_bias && plan.k_bias && plan.v_bias;
        qkv_ = c_.matrix("attention.qkv", s.qkv_width(), s.d_model, all);
        if (!all) {
            bias(plan.q_bias, "attention.q.bias", 0, s.q_width());
            bias(plan.k_bias, "attention.k.bias", s.q_width(), s.kv_width());
            bias(plan.v_bias, "attention.v.bias", s.q_width() + s.kv_width(), s.kv_width());
        }
        if (plan.qk_norm != QkNorm::none) {
            const bool head = plan.qk_norm == QkNorm::head;
            qk_norm_ = c_.add_norm({"attention.q_norm", head ? s.d_head : s.q_width(), false});
            c_.add_norm({"attention.k_norm", head ? s.d_head : s.kv_width(), false});
        }
        out_ = c_.matrix("attention.out", s.d_model, s.q_width(), plan.out_bias, true);
    }

    int operator()(int in) const {
        const LayerSizes& s = c_.program.sizes;
        int qkv = c_.linear(in, qkv_, Slot::qkv);
        for (const Bias& b : biases_) c_.step({Op::bias, qkv, qkv, -1, b.vector, b.first});
        if (qk_norm_ >= 0) qkv = c_.step({Op::qk_norm, qkv, c_.value(Slot::qkv, s.qkv_width()), -1, qk_norm_});
        const int gathered = c_.step({Op::attention, qkv, c_.value(Slot::attended, s.q_width()), in});
        return c_.linear(gathered, out_, Slot::branch);
    }

private:
    struct Bias {
        int vector, first;
    };
    void bias(bool present, const char* name, int first, int width) {
        if (present) biases_.push_back({c_.vector(name, width), first});
    }

    Compiler& c_;
    int qkv_, out_, qk_norm_ = -1;
    std::vector<Bias> biases_;
};

class FeedForwardPart {
public:
    explicit FeedForwardPart(Compiler& to) : c_(to) {
        const LayerPlan& plan = c_.program.plan;
        const LayerSizes& s = c_.program.sizes;
        const int inner = plan.gated ? 2 * s.d_ff : s.d_ff;
        const auto pair = [&](const std::string& name) {
            const int in = c_.matrix(name + ".in", inner, s.d_model, plan.ffn_bias);
            c_.matrix(name + ".out", s.d_model, s.d_ff, plan.ffn_bias, true);
            return in;
        };
        if (plan.experts == 0) {
            first_ = pair("feed_forward");
            return;
        }
        first_ = c_.matrix("feed_forward.router", plan.experts, s.d_model, false);
        for (int e = 0; e < plan.experts; ++e) pair("feed_forward.experts." + std::to_string(e));
    }

    int operator()(int in) const {
        const LayerSizes& s = c_.program.sizes;
        if (c_.program.plan.experts != 0)
            return c_.step({Op::experts, in, c_.value(Slot::branch, s.d_model), -1, first_});
        const int hidden = c_.linear(in, first_, Slot::hidden);
        const int active = c_.step({Op::activate, hidden, c_.value(Slot::active, s.d_ff)});
        return c_.linear(active, first_ + 1, Slot::branch);
    }

private:
    Compiler& c_;
    int first_;
};

} // namespace

LayerProgram compile(const LayerPlan& plan, const LayerSizes& sizes) {
    Compiler c(plan, sizes);
    const NormPlace place = plan.norm_place;
    const int norm1 = c.norm_weights("attention_norm");
    const AttentionPart attention(c);
    const int norm1_after = place == NormPlace::sandwich ? c.norm_weights("attention_out_norm") : -1;
    const int norm2 = place != NormPlace::parallel ? c.norm_weights("feed_forward_norm") : -1;
    const FeedForwardPart feed_forward(c);
    const int norm2_after = place == NormPlace::sandwich ? c.norm_weights("feed_forward_out_norm") : -1;

    int x = 0;
    switch (place) {
    case NormPlace::pre:
        x = c.add(x, attention(c.norm(x, norm1, Slot::normed)));
        x = c.add(x, feed_forward(c.norm(x, norm2, Slot::normed)));
        break;
    case NormPlace::post:
        x = c.norm(c.add(x, attention(x)), norm1, Slot::stream);
        x = c.norm(c.add(x, feed_forward(x)), norm2, Slot::stream);
        break;
    case NormPlace::sandwich:
        x = c.add(x, c.norm(attention(c.norm(x, norm1, Slot::normed)), norm1_after, Slot::branch));
        x = c.add(x, c.norm(feed_forward(c.norm(x, norm2, Slot::normed)), norm2_after, Slot::branch));
        break;
    case NormPlace::parallel: {
        const int in = c.norm(x, norm1, Slot::normed);
        x = c.add(x, attention(in));
        x = c.add(x, feed_forward(in));
        break;
    }
    case NormPlace::parallel_two: {
        const int branch = attention(c.norm(x, norm1, Slot::normed));
        const int in = c.norm(x, norm2, Slot::normed); // of the stream before attention is added
        x = c.add(x, branch);
        x = c.add(x, feed_forward(in));
        break;
    }
    }
    return std::move(c.program);
}

float LayerProgram::score_scale() const {
    return plan.score_scale != 0 ? plan.score_scale
                                 : static_cast<float>(1.0 / std::sqrt(static_cast<double>(sizes.d_head)));
}

int LayerProgram::widest_input() const {
    return std::max({sizes.d_model, sizes.q_width(), sizes.d_ff});
}

} // namespace ordo
