// SPDX-License-Identifier: MIT
#include "layers/program_builder.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace ordo {
namespace {

// Attention, from the projection of its input to that of its output.
class AttentionBranch {
public:
    explicit AttentionBranch(ProgramBuilder& to) : c_(to) {
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
            const bool head = plan.qk_norm != QkNorm::width;
            qk_norm_ = c_.add_norm({"attention.q_norm", head ? s.d_head : s.q_width(), false});
            c_.add_norm({"attention.k_norm", head ? s.d_head : s.kv_width(), false});
        }
        out_ = c_.matrix("attention.out", s.d_model, s.q_width(), plan.out_bias, true);
    }

    int operator()(int in) const {
        const LayerSizes& s = c_.program.sizes;
        in = c_.shift(in, Place::attention, Slot::hidden);
        int qkv = c_.linear(in, qkv_, Slot::qkv);
        for (const Bias& b : biases_) c_.step({Op::bias, qkv, qkv, -1, b.vector, b.first});
        qkv = c_.shift(qkv, Place::qkv, Slot::qkv);
        if (c_.program.plan.qkv_clip != 0) qkv = c_.step({Op::clip, qkv, c_.value(Slot::qkv, s.qkv_width())});
        const bool rotated = c_.program.plan.qk_norm == QkNorm::rotated;
        if (qk_norm_ >= 0 && !rotated)
            qkv = c_.step({Op::qk_norm, qkv, c_.value(Slot::qkv, s.qkv_width()), -1, qk_norm_});
        const int gathered =
            c_.step({Op::attention, qkv, c_.value(Slot::attended, s.q_width()), in, rotated ? qk_norm_ : -1});
        return c_.linear(gathered, out_, Slot::branch);
    }

private:
    struct Bias {
        int vector, first;
    };
    void bias(bool present, const char* name, int first, int width) {
        if (present) biases_.push_back({c_.vector(name, width), first});
    }

    ProgramBuilder& c_;
    int qkv_, out_, qk_norm_ = -1;
    std::vector<Bias> biases_;
};

// Attention to the encoder's output, from the projection of the queries to that of the output. No step computes keys
// and values: a session computes them once for all later tokens.
class CrossAttentionBranch {
public:
    explicit CrossAttentionBranch(ProgramBuilder& to) : c_(to) {
        const LayerPlan& plan = c_.program.plan;
        const LayerSizes& s = c_.program.sizes;
        q_ = c_.matrix("cross_attention.q", s.q_width(), s.d_model, plan.q_bias);
        c_.program.memory = c_.matrix("cross_attention.kv", 2 * s.kv_width(), s.d_model, plan.v_bias);
        out_ = c_.matrix("cross_attention.out", s.d_model, s.q_width(), plan.out_bias, true);
    }

    int operator()(int in) const {
        const int q = c_.linear(in, q_, Slot::qkv);
        const int gathered = c_.step({Op::cross, q, c_.value(Slot::attended, c_.program.sizes.q_width())});
        return c_.linear(gathered, out_, Slot::branch);
    }

private:
    ProgramBuilder& c_;
    int q_, out_;
};

class FeedForwardBranch {
public:
    explicit FeedForwardBranch(ProgramBuilder& to) : c_(to) {
        const LayerPlan& plan = c_.program.plan;
        const LayerSizes& s = c_.program.sizes;
        const auto pair = [&](const std::string& name, int width) {
            const int in = c_.matrix(name + ".in", plan.gated ? 2 * width : width, s.d_model, plan.ffn_bias);
            c_.matrix(name + ".out", s.d_model, width, plan.ffn_bias, true);
            return in;
        };
        if (plan.experts == 0) {
            first_ = pair("feed_forward", s.d_ff);
            return;
        }
        first_ = c_.matrix("feed_forward.router", plan.experts, s.d_model, false);
        for (int e = 0; e < plan.experts; ++e) pair("feed_forward.experts." + std::to_string(e), s.d_ff);
        if (plan.shared_expert == 0) return;
        shared_ = pair("feed_forward.shared", plan.shared_expert);
        gate_ = c_.vector("feed_forward.shared_gate.weight", s.d_model);
    }

    int operator()(int in) const {
        const LayerPlan& plan = c_.program.plan;
        in = c_.shift(in, Place::feed_forward, Slot::attended);
        if (plan.experts == 0) return single(in, first_, c_.program.sizes.d_ff);
        int shared = -1;
        if (plan.shared_expert != 0)
            shared = c_.step({Op::gate, single(in, shared_, plan.shared_expert), branch(), in, gate_});
        return c_.step({Op::experts, in, branch(), shared, first_});
    }

private:
    int single(int in, int first, int width) const {
        const int hidden = c_.linear(in, first, Slot::hidden);
        const int active = c_.step({Op::activate, hidden, c_.value(Slot::active, width)});
        return c_.linear(active, first + 1, Slot::branch);
    }
    int branch() const { return c_.value(Slot::branch, c_.program.sizes.d_model); }

    ProgramBuilder& c_;
    int first_, shared_ = -1, gate_ = -1;
};

// A branch of the residual stream, with the norms around it.
template <class Inner>
class NormedBranch {
public:
    NormedBranch(ProgramBuilder& to, const std::string& name, bool own_norm = true)
        : c_(to), norm_(own_norm && place() != NormPlace::after ? to.norm_weights(name + "_norm") : -1), inner_(to),
          norm_after_(place() == NormPlace::sandwich || place() == NormPlace::after
                          ? to.norm_weights(name + "_out_norm")
                          : -1) {}

    int normed(int x) const { return c_.norm(x, norm_, Slot::normed); }
    int inner(int in) const { return inner_(in); }
    // Returns the stream plus the branch.
    int operator()(int x) const {
        if (place() == NormPlace::post) return c_.norm(c_.add(x, inner_(x)), norm_, Slot::stream);
        int branch = inner_(norm_ >= 0 ? normed(x) : x);
        if (norm_after_ >= 0) branch = c_.norm(branch, norm_after_, Slot::branch);
        return c_.add(x, branch);
    }

private:
    NormPlace place() const { return c_.program.plan.norm_place; }

    ProgramBuilder& c_;
    int norm_; // tensors, in the order of a file
    Inner inner_;
    int norm_after_;
};

} // namespace

Program compile(const LayerPlan& plan, LayerSizes sizes, unsigned places) {
    if (plan.ffn_width != 0) sizes.d_ff = plan.ffn_width;
    ProgramBuilder c(plan, sizes, {Slot::stream, sizes.d_model});
    c.places = places;
    const NormedBranch<AttentionBranch> attention(c, "attention", plan.attention_norm);
    std::optional<NormedBranch<CrossAttentionBranch>> cross;
    if (plan.cross_attention) cross.emplace(c, "cross_attention");
    const NormedBranch<FeedForwardBranch> feed_forward(c, "feed_forward", plan.norm_place != NormPlace::parallel);

    int x = 0;
    if (plan.norm_place == NormPlace::parallel) {
        const int in = attention.normed(x);
        x = c.add(x, attention.inner(in));
        x = c.add(x, feed_forward.inner(in));
    } else if (plan.norm_place == NormPlace::parallel_two) {
        const int branch = attention.inner(attention.normed(x));
        const int in = feed_forward.normed(x); // of the stream without attention
        x = c.add(x, branch);
        x = c.add(x, feed_forward.inner(in));
    } else {
        x = attention(x);
        if (cross) x = (*cross)(x);
        x = feed_forward(x);
    }
    return std::move(c.program);
}

std::array<int, slot_count> StackProgram::widths() const {
    std::array<int, slot_count> widths{};
    const auto take = [&](const Program& program) {
        for (const Value& v : program.values) {
            int& width = widths[static_cast<std::size_t>(v.slot)];
            width = std::max(width, v.width);
        }
    };
    for (const Program* each : {&enter, &finish, &head}) take(*each);
    for (const Program& each : layers) take(each);
    return widths;
}

float Program::score_scale() const {
    return plan.score_scale != 0 ? plan.score_scale
                                 : static_cast<float>(1.0 / std::sqrt(static_cast<double>(sizes.d_head)));
}

int Program::widest_input() const {
    int widest = sizes.d_model;
    for (const LinearSpec& w : linears) widest = std::max(widest, w.cols);
    return widest;
}

} // namespace ordo
