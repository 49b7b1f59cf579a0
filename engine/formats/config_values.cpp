// SPDX-License-Identifier: MIT
#include "formats/config_values.h"

#include "encoding/base/spec.h"

#include <algorithm>
#include <cmath>

namespace ordo {
namespace {

// The number of elements after which a list repeats. The last repetition may be cut short.
template <class T>
std::size_t period_of(std::span<const T> list) {
    for (std::size_t period = 1; period < list.size(); ++period) {
        bool repeats = true;
        for (std::size_t i = period; repeats && i < list.size(); ++i) repeats = list[i] == list[i - period];
        if (repeats) return period;
    }
    return list.size();
}

// The parameters of rope, from the new form or the old.
struct RopeConfig {
    std::optional<Config> scaling; // factors and the rest
    double theta, share;
};

RopeConfig old_form(const Config& config, const RopeKeys& keys) {
    return {keys.old_scaling ? config.object("rope_scaling") : std::nullopt,
            config.number(keys.theta_key, keys.theta, 1e-4, 1e12), config.number(keys.share_key, keys.share, 0, 1)};
}

std::string law_of(const std::optional<Config>& scaling) {
    if (!scaling) return "default";
    return scaling->text(scaling->first_of({"rope_type", "type"}), "default");
}

RopeConfig rope_config(const Config& config, ModelPlan& plan, const RopeKeys& keys) {
    const RopeConfig old = old_form(config, keys);
    std::optional<Config> parameters = config.object("rope_parameters");
    if (parameters && !keys.layer_type.empty() && parameters->has(keys.layer_type))
        parameters = parameters->object(keys.layer_type);
    if (!parameters) return old;
    const RopeConfig now{parameters, parameters->number("rope_theta", old.theta, 1e-4, 1e12),
                         parameters->number("partial_rotary_factor", old.share, 0, 1)};
    const bool differs = (config.has(keys.theta_key) && now.theta != old.theta) ||
                         (config.has(keys.share_key) && now.share != old.share) ||
                         (old.scaling && law_of(old.scaling) != law_of(now.scaling));
    if (differs)
        plan.warnings.emplace_back("rope_parameters differ from the older keys beside them, which are ignored");
    return now;
}

constexpr int most_positions = 1 << 30;

void write_yarn(const Config& config, const Config& s, int context, SpecWriter& spec) {
    const int original = s.integer("original_max_position_embeddings", context, 1, most_positions);
    const double factor = s.number("factor", static_cast<double>(context) / original, 0.001, 1e6);
    const auto attention = [&](double scale) { return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1; };
    double gain = attention(1);
    if (s.has("mscale") && s.has("mscale_all_dim"))
        gain = attention(s.number("mscale", 1, 0, 100)) / attention(s.number("mscale_all_dim", 1, 0, 100));
    spec("factor", factor)("original", original);
    const double fast = s.number("beta_fast", 32, 0.001, 1e6), slow = s.number("beta_slow", 1, 0.001, 1e6);
    if (slow > fast) s.refuse(s.first_of({"beta_slow", "beta_fast"}), "beta_slow no more than beta_fast");
    spec("beta-fast", fast)("beta-slow", slow);
    spec("attention", s.number("attention_factor", gain, 0, 1e6));
    if (!s.flag("truncate", true)) spec("truncate", "no");
    (void)config;
}

// A factor for each pair of columns that rotates.
std::vector<double> factors(const Config& s, std::string_view key, int width) {
    const auto pairs = static_cast<std::size_t>(width / 2);
    std::vector<double> list = s.numbers(key, 1e-4, 1e6);
    if (list.size() != pairs)
        s.refuse(key, "a list of " + std::to_string(pairs) + " numbers, one for each pair of columns that turns");
    return list;
}

void write_longrope(const Config& config, const Config& s, int context, int width, SpecWriter& spec) {
    const Config& holder = s.has("original_max_position_embeddings") ? s : config;
    const int original = holder.integer("original_max_position_embeddings", context, 1, most_positions);
    const double own = static_cast<double>(context) / original;
    const double factor = config.has("original_max_position_embeddings") ? own : s.number("factor", own, 0.001, 1e6);
    const double gain = factor <= 1 || original == 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original));
    const std::vector<double> brief = factors(s, "short_factor", width), extended = factors(s, "long_factor", width);
    spec("factor", factor)("original", original);
    spec("short", std::span<const double>(brief))("long", std::span<const double>(extended));
    spec("attention", s.number("attention_factor", gain, 0, 1e6));
}

void write_llama3(const Config& s, SpecWriter& spec) {
    const double low = s.number("low_freq_factor", 1, 0.001, 1e6), high = s.number("high_freq_factor", 4, 0.001, 1e6);
    if (low >= high)
        s.refuse(s.first_of({"low_freq_factor", "high_freq_factor"}), "low_freq_factor less than high_freq_factor");
    spec("low", low)("high", high);
    spec("original", s.integer("original_max_position_embeddings", 8192, 1, most_positions));
}

void write_scaling(const Config& config, const Config& s, const RopeKeys& keys, int context, int width,
                   SpecWriter& spec) {
    const std::string law = law_of(s);
    if (law == "default") return;
    if (const double alpha = keys.alpha && law == "dynamic" ? s.number("alpha", 0, 0, 1e6) : 0; alpha != 0) {
        spec("scaling", "ntk")("factor", alpha);
        return;
    }
    const auto factor = [&] {
        if (!s.has("factor")) s.refuse("factor", "a number");
        return s.number("factor", 1, 0.001, 1e6);
    };
    spec("scaling", law == "su" ? "longrope" : law);
    if (law == "linear") {
        spec("factor", factor());
    } else if (law == "dynamic") {
        spec("factor", factor())("original", s.integer("original_max_position_embeddings", context, 1, most_positions));
    } else if (law == "yarn") {
        write_yarn(config, s, context, spec);
    } else if (law == "longrope" || law == "su") {
        write_longrope(config, s, context, width, spec);
    } else if (law == "llama3") {
        spec("factor", factor());
        write_llama3(s, spec);
    } else {
        s.refuse(s.first_of({"rope_type", "type"}), "default, linear, dynamic, yarn, longrope or llama3");
    }
}

// The columns of a head that rotate, as pairs.
int turning_columns(const Config& config, const RopeConfig& rope, const RopeKeys& keys, int d_head) {
    const int width = static_cast<int>(d_head * rope.share);
    if (width >= 2 && width % 2 == 0) return width;
    const Config& holder = rope.scaling && rope.scaling->has("partial_rotary_factor") ? *rope.scaling : config;
    const std::string works = "an even number of columns of a head that turn, at least 2 (here they are " +
                              std::to_string(width) + " of " + std::to_string(d_head) + ")";
    holder.refuse(holder.first_of({"partial_rotary_factor", keys.share_key, "head_dim", "num_attention_heads"}), works);
}

} // namespace

Activation activation_of(const Config& config, std::string_view key, std::string_view fallback) {
    const std::string name = config.text(key, fallback);
    if (name == "relu") return Activation::relu;
    if (name == "gelu") return Activation::gelu;
    // gelu_fast is the formula of gelu_new, expanded.
    if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast" || name == "gelu_tanh")
        return Activation::gelu_tanh;
    if (name == "silu" || name == "swish") return Activation::silu;
    if (name == "relu2") return Activation::relu2;
    config.refuse(key, "relu, gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, silu or relu2");
}

std::vector<bool> sliding_layers(const Config& c, int n_layers, const std::function<bool(int)>& fallback) {
    std::vector<bool> sliding;
    for (int i = 0; i < n_layers; ++i) sliding.push_back(fallback(i));
    if (!c.has("layer_types")) return sliding;
    const std::vector<std::string> types = c.texts("layer_types");
    const std::string works = "full_attention or sliding_attention for each of " + std::to_string(n_layers) + " layers";
    if (types.size() != sliding.size()) c.refuse("layer_types", works);
    for (std::size_t i = 0; i < types.size(); ++i) {
        if (types[i] != "full_attention" && types[i] != "sliding_attention") c.refuse("layer_types", works);
        sliding[i] = types[i] == "sliding_attention";
    }
    return sliding;
}

void set_sliding(Blueprint& b, const std::vector<bool>& sliding, int window) {
    std::vector<LayerPlan> plans(sliding.size(), b);
    for (std::size_t i = 0; i < sliding.size(); ++i) plans[i].window = sliding[i] ? window : 0;
    plans = to_period(std::move(plans));
    static_cast<LayerPlan&>(b) = plans.front();
    b.pattern.clear();
    if (plans.size() > 1) b.pattern = std::move(plans);
}

std::string rope_spec(const Config& config, ModelPlan& plan, const RopeKeys& keys) {
    const RopeConfig rope = rope_config(config, plan, keys);
    const int d_head = plan.blueprint.d_head;
    const int width = turning_columns(config, rope, keys, d_head);
    SpecWriter spec("rope");
    spec("theta", rope.theta)("pairing", keys.pairing);
    if (width != d_head) spec("width", width);
    if (rope.scaling) write_scaling(config, *rope.scaling, keys, plan.blueprint.context, width, spec);
    return spec.text();
}

std::vector<LayerPlan> to_period(std::vector<LayerPlan> layers) {
    layers.resize(period_of(std::span<const LayerPlan>(layers)));
    return layers;
}

std::string pattern_of(std::span<const std::string> specs) {
    const std::size_t period = period_of(specs);
    if (period == 1) return specs.front();
    std::string text = "pattern(";
    for (std::size_t i = 0; i < period; ++i) text += (i == 0 ? "(" : ",(") + specs[i] + ")";
    return text + ")";
}

} // namespace ordo
