// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "io/json_writer.h"
#include "model/blueprint.h"

#include <algorithm>
#include <array>
#include <optional>

namespace ordo {
namespace {

constexpr std::size_t longest_architecture = 64; // bytes

// The names of an enum's values, in order.
template <class T>
struct Names;
template <>
struct Names<Norm> {
    static constexpr std::array<std::string_view, 2> all{"rms", "layer"};
};
template <>
struct Names<NormPlace> {
    static constexpr std::array<std::string_view, 6> all{"pre",      "post",         "sandwich",
                                                         "parallel", "parallel_two", "after"};
};
template <>
struct Names<QkNorm> {
    static constexpr std::array<std::string_view, 4> all{"none", "head", "width", "rotated"};
};
template <>
struct Names<Activation> {
    static constexpr std::array<std::string_view, 5> all{"relu", "gelu", "gelu_tanh", "silu", "relu2"};
};
template <>
struct Names<DenseActivation> {
    static constexpr std::array<std::string_view, 6> all{"identity", "tanh", "relu", "gelu", "silu", "sigmoid"};
};
template <>
struct Names<Mask> {
    static constexpr std::array<std::string_view, 2> all{"causal", "bidirectional"};
};

// Visits every field with its name, so that reading and writing agree. A field with a default may be absent.
template <class P, class Visit>
void visit_plan(P& p, Visit&& visit) {
    visit("norm", p.norm);
    visit("norm_eps", p.norm_eps);
    visit("norm_place", p.norm_place);
    visit("activation", p.activation);
    visit("gated", p.gated);
    visit("ffn_bias", p.ffn_bias);
    visit("mask", p.mask);
    visit("window", p.window);
    visit("score_scale", p.score_scale);
    // Fields newer than version 0.1.0. There, norms of kind `layer` had a bias, and the biases of attention were one
    // field.
    const LayerPlan initial;
    visit("norm_bias", p.norm_bias, p.norm == Norm::layer);
    visit("q_bias", p.q_bias, initial.q_bias);
    visit("k_bias", p.k_bias, initial.k_bias);
    visit("v_bias", p.v_bias, initial.v_bias);
    visit("out_bias", p.out_bias, initial.out_bias);
    visit("qk_norm", p.qk_norm, initial.qk_norm);
    visit("qkv_clip", p.qkv_clip, initial.qkv_clip);
    visit("attention_softcap", p.attention_softcap, initial.attention_softcap);
    visit("experts", p.experts, initial.experts);
    visit("experts_used", p.experts_used, initial.experts_used);
    visit("experts_renormalised", p.experts_renormalised, initial.experts_renormalised);
    visit("shared_expert", p.shared_expert, initial.shared_expert);
    visit("ffn_width", p.ffn_width, initial.ffn_width);
    visit("cross_attention", p.cross_attention, initial.cross_attention);
    visit("attention_norm", p.attention_norm, initial.attention_norm);
}

template <class D, class Visit>
void visit_dense(D& d, Visit&& visit) {
    const DenseLayer initial;
    visit("width", d.width);
    visit("bias", d.bias, initial.bias);
    visit("unit_input", d.unit_input, initial.unit_input);
    visit("activation", d.activation, initial.activation);
}

template <class B, class Visit>
void visit_shared(B& b, Visit&& visit) {
    visit("architecture", b.architecture);
    visit("vocab_size", b.vocab_size);
    visit("context", b.context);
    visit("n_layers", b.n_layers);
    visit("d_model", b.d_model);
    visit("n_heads", b.n_heads);
    visit("n_kv_heads", b.n_kv_heads);
    visit("d_head", b.d_head);
    visit("d_ff", b.d_ff);
    visit("embedding_norm", b.embedding_norm);
    visit("final_norm", b.final_norm);
    visit("tied_head", b.tied_head);
    const Blueprint initial;
    visit("head", b.head, initial.head);
    visit("head_bias", b.head_bias, initial.head_bias);
    visit("embedding_width", b.embedding_width, initial.embedding_width);
    visit("projected_embedding", b.projected_embedding, initial.projected_embedding);
    visit("distinct_layers", b.distinct_layers, initial.distinct_layers);
    visit("embedding_scale", b.embedding_scale, initial.embedding_scale);
    visit("final_softcap", b.final_softcap, initial.final_softcap);
    visit("head_transform", b.head_transform, initial.head_transform);
    visit("head_scale", b.head_scale, initial.head_scale);
}

std::string text_of(const std::string& value) {
    return json_quoted(value);
}
std::string text_of(bool value) {
    return value ? "true" : "false";
}
std::string text_of(int value) {
    return number_text(value);
}
std::string text_of(float value) {
    return number_text(value);
}
template <class E>
requires std::is_enum_v<E> std::string text_of(E value) {
    return '"' + std::string(Names<E>::all[static_cast<std::size_t>(value)]) + '"';
}

// Writes fields as members of an object, in order.
class Writer {
public:
    explicit Writer(bool all) : all_(all) {}

    template <class T>
    void operator()(const char* name, const T& value) {
        members.emplace_back(name, text_of(value));
    }
    template <class T>
    void operator()(const char* name, const T& value, const T& initial) {
        if (all_ || value != initial) (*this)(name, value);
    }

    std::vector<std::pair<std::string, std::string>> members;

private:
    bool all_;
};

std::string object_of(std::span<const std::pair<std::string, std::string>> members) {
    std::string text = "{";
    for (const auto& [name, value] : members) text += (text.size() == 1 ? "" : ",") + json_quoted(name) + ':' + value;
    return text + '}';
}

// Reads an object's members into fields. partial: members may be absent; their fields then stay unchanged.
class Reader {
public:
    Reader(const JsonValue& object, std::string_view where, bool partial)
        : object_(object), where_(where), partial_(partial) {}

    template <class T>
    void operator()(const char* name, T& value) {
        known_.push_back(name);
        if (!partial_ || find_member(object_, name)) read(name, value);
    }
    template <class T>
    void operator()(const char* name, T& value, const T& initial) {
        known_.push_back(name);
        if (find_member(object_, name))
            read(name, value);
        else if (!partial_)
            value = initial;
    }
    // The value of a field from before 0.2 that has been replaced; empty if it is absent.
    std::optional<bool> formerly(const char* name) {
        known_.push_back(name);
        if (!find_member(object_, name)) return std::nullopt;
        bool value = false;
        read(name, value);
        return value;
    }
    const JsonValue* member(const char* name) {
        known_.push_back(name);
        return find_member(object_, name);
    }
    void finish() const {
        for (const auto& [key, value] : *object_.object())
            if (std::find(known_.begin(), known_.end(), key) == known_.end())
                fail(ErrorCode::model, where_, ": unknown field '", printable(key), "'");
    }

private:
    void read(const char* name, std::string& value) {
        value = get_string(object_, name, where_);
        if (value.size() > longest_architecture)
            fail(ErrorCode::model, where_, ": '", name, "': expected at most ", longest_architecture, " bytes, found ",
                 value.size());
    }
    void read(const char* name, bool& value) { value = get_bool(object_, name, where_); }
    void read(const char* name, int& value) { // check() tests the narrower ranges
        value = static_cast<int>(get_int(object_, name, where_, 0, std::numeric_limits<int>::max()));
    }
    void read(const char* name, float& value) { value = static_cast<float>(get_number(object_, name, where_, 0, 1e6)); }
    template <class E>
    requires std::is_enum_v<E>
    void read(const char* name, E& value) {
        const std::string& text = get_string(object_, name, where_);
        const auto& all = Names<E>::all;
        const auto found = std::find(all.begin(), all.end(), text);
        if (found == all.end()) {
            std::string expected;
            for (const std::string_view each : all) expected += (expected.empty() ? "" : ", ") + std::string(each);
            fail(ErrorCode::model, where_, ": '", name, "': expected one of ", expected, "; found '", printable(text),
                 "'");
        }
        value = static_cast<E>(found - all.begin());
    }

    const JsonValue& object_;
    std::string_view where_;
    bool partial_;
    std::vector<std::string_view> known_;
};

void read_plan(Reader& reader, LayerPlan& plan, std::string_view where) {
    visit_plan(plan, reader);
    if (const auto bias = reader.formerly("attention_bias")) plan.attention_bias(*bias);
    if (!reader.formerly("parallel_residual").value_or(false)) return;
    if (plan.norm_place != NormPlace::pre)
        fail(ErrorCode::model, where, ": 'parallel_residual': expected false with norm_place ",
             Names<NormPlace>::all[static_cast<std::size_t>(plan.norm_place)], ", found true");
    plan.norm_place = NormPlace::parallel;
}

using Members = std::vector<std::pair<std::string, std::string>>;

// The members of `own` that differ from those of `around`; both lists have the same names.
Members different(const Members& own, const Members& around) {
    Members all;
    for (std::size_t i = 0; i < own.size(); ++i)
        if (own[i] != around[i]) all.push_back(own[i]);
    return all;
}

// The plans of a pattern, each as its differences from the plan around it.
std::string pattern_json(const Blueprint& b) {
    Writer around(true);
    visit_plan(static_cast<const LayerPlan&>(b), around);
    std::string text;
    for (const LayerPlan& plan : b.pattern) {
        Writer own(true);
        visit_plan(plan, own);
        text += (text.empty() ? "" : ",") + object_of(different(own.members, around.members));
    }
    return '[' + text + ']';
}

Members all_members(const Blueprint& b) {
    Writer writer(true);
    visit_shared(b, writer);
    visit_plan(b, writer);
    return std::move(writer.members);
}

std::string encoder_json(const Blueprint& b) {
    const Blueprint& encoder = b.encoder.front();
    Members members = different(all_members(encoder), all_members(b.like_this()));
    if (!encoder.pattern.empty()) members.emplace_back("layers", pattern_json(encoder));
    return object_of(members);
}

// Calls read(object, place) for each object of a list that is not empty.
template <class Read>
void read_list(const JsonValue& list, std::string_view where, const char* name, const char* what, const Read& read) {
    const JsonValue::Array* const all = list.array();
    if (!all || all->empty())
        fail(ErrorCode::model, where, ": '", name, "': expected a list of ", what, "s, found ", describe(list));
    for (std::size_t i = 0; i < all->size(); ++i) {
        const std::string place = std::string(where) + ": " + what + ' ' + std::to_string(i);
        if (!(*all)[i].object()) fail(ErrorCode::model, place, ": expected a JSON object, found ", describe((*all)[i]));
        read((*all)[i], place);
    }
}

// partial: absent fields stay unchanged.
void read_fields(const JsonValue& object, std::string_view where, bool partial, Blueprint& b) {
    if (!object.object()) fail(ErrorCode::model, where, ": expected a JSON object, found ", describe(object));
    Reader reader(object, where, partial);
    visit_shared(b, reader);
    read_plan(reader, b, where);
    if (const JsonValue* plans = reader.member("layers"))
        read_list(*plans, where, "layers", "layer plan", [&](const JsonValue& own, const std::string& place) {
            LayerPlan plan = b;
            Reader of_plan(own, place, true);
            read_plan(of_plan, plan, place);
            of_plan.finish();
            b.pattern.push_back(plan);
        });
    const JsonValue* const encoder = partial ? nullptr : reader.member("encoder");
    if (const JsonValue* dense = partial ? nullptr : reader.member("dense"))
        read_list(*dense, where, "dense", "dense layer", [&](const JsonValue& own, const std::string& place) {
            Reader of_layer(own, place, false);
            visit_dense(b.dense.emplace_back(), of_layer);
            of_layer.finish();
        });
    reader.finish();
    if (!encoder) return;
    Blueprint other = b.like_this();
    read_fields(*encoder, std::string(where) + ": encoder", true, other);
    b.encoder.push_back(std::move(other));
}

} // namespace

std::string to_json(const Blueprint& b, bool all) {
    Writer writer(all);
    visit_shared(b, writer);
    visit_plan(b, writer);
    if (!b.pattern.empty()) writer.members.emplace_back("layers", pattern_json(b));
    if (!b.encoder.empty()) writer.members.emplace_back("encoder", encoder_json(b));
    std::string dense;
    for (const DenseLayer& layer : b.dense) {
        Writer own(all);
        visit_dense(layer, own);
        dense += (dense.empty() ? "" : ",") + object_of(own.members);
    }
    if (!dense.empty()) writer.members.emplace_back("dense", '[' + dense + ']');
    return object_of(writer.members);
}

Blueprint blueprint_from_json(std::string_view json, std::string_view where) {
    const std::string place = std::string(where) + ": blueprint";
    constexpr JsonLimits limits{std::size_t{1} << 20, 4}; // room for 1,024 plans of 600 bytes
    const JsonValue object = parse_json(json, place, limits);
    Blueprint blueprint;
    read_fields(object, place, false, blueprint);
    check(blueprint, where);
    return blueprint;
}

} // namespace ordo
