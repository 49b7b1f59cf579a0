// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "io/json_writer.h"
#include "model/blueprint.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace ordo {
namespace {

constexpr std::size_t longest_architecture = 64; // bytes

// The names of an enum's values, in their order.
template <class T>
struct Names;
template <>
struct Names<Norm> {
    static constexpr std::array<std::string_view, 2> all{"rms", "layer"};
};
template <>
struct Names<NormPlace> {
    static constexpr std::array<std::string_view, 2> all{"pre", "post"};
};
template <>
struct Names<Activation> {
    static constexpr std::array<std::string_view, 4> all{"relu", "gelu", "gelu_tanh", "silu"};
};
template <>
struct Names<Mask> {
    static constexpr std::array<std::string_view, 2> all{"causal", "bidirectional"};
};

// Every field with its name: what is written and read cannot differ. One with a default may be absent.
template <class B, class Visit>
void visit_fields(B& b, Visit&& visit) {
    visit("architecture", b.architecture);
    visit("vocab_size", b.vocab_size);
    visit("context", b.context);
    visit("n_layers", b.n_layers);
    visit("d_model", b.d_model);
    visit("n_heads", b.n_heads);
    visit("n_kv_heads", b.n_kv_heads);
    visit("d_head", b.d_head);
    visit("d_ff", b.d_ff);
    visit("norm", b.norm);
    visit("norm_eps", b.norm_eps);
    visit("norm_place", b.norm_place);
    visit("parallel_residual", b.parallel_residual);
    visit("activation", b.activation);
    visit("gated", b.gated);
    visit("attention_bias", b.attention_bias);
    visit("ffn_bias", b.ffn_bias);
    visit("embedding_norm", b.embedding_norm);
    visit("final_norm", b.final_norm);
    visit("tied_head", b.tied_head);
    visit("mask", b.mask);
    visit("window", b.window);
    visit("score_scale", b.score_scale);
    const Blueprint initial;
    visit("embedding_scale", b.embedding_scale, initial.embedding_scale);
    visit("attention_softcap", b.attention_softcap, initial.attention_softcap);
    visit("final_softcap", b.final_softcap, initial.final_softcap);
}

class Writer {
public:
    explicit Writer(bool all) : all_(all) {}

    void operator()(const char* name, float value, float initial) {
        if (all_ || value != initial) (*this)(name, value);
    }
    template <class T>
    void operator()(const char* name, const T& value) {
        text += text.empty() ? "{\"" : ",\"";
        text += name;
        text += "\":";
        write(value);
    }

    std::string text;

private:
    void write(const std::string& value) { text += json_quoted(value); }
    void write(bool value) { text += value ? "true" : "false"; }
    void write(int value) { text += std::to_string(value); }
    void write(float value) { // the shortest text that reads back as the same float
        std::array<char, 32> digits{};
        text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
    }
    template <class E>
    requires std::is_enum_v<E>
    void write(E value) {
        text += '"';
        text += Names<E>::all[static_cast<std::size_t>(value)];
        text += '"';
    }

    bool all_;
};

class Reader {
public:
    Reader(const JsonValue& object, std::string_view where) : object_(object), where_(where) {}

    void operator()(const char* name, std::string& value) {
        known_.push_back(name);
        value = get_string(object_, name, where_);
        if (value.size() > longest_architecture)
            fail(ErrorCode::model, where_, ": '", name, "': expected at most ", longest_architecture, " bytes, found ",
                 value.size());
    }
    void operator()(const char* name, bool& value) {
        known_.push_back(name);
        value = get_bool(object_, name, where_);
    }
    void operator()(const char* name, int& value) { // check() knows the narrower ranges
        known_.push_back(name);
        value = static_cast<int>(get_int(object_, name, where_, 0, std::numeric_limits<int>::max()));
    }
    void operator()(const char* name, float& value) {
        known_.push_back(name);
        value = static_cast<float>(get_number(object_, name, where_, 0, 1e6));
    }
    void operator()(const char* name, float& value, float initial) {
        if (find_member(object_, name))
            (*this)(name, value);
        else
            value = initial;
    }
    template <class E>
    requires std::is_enum_v<E>
    void operator()(const char* name, E& value) {
        known_.push_back(name);
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
    void finish() const {
        for (const auto& [key, value] : *object_.object())
            if (std::find(known_.begin(), known_.end(), key) == known_.end())
                fail(ErrorCode::model, where_, ": unknown field '", printable(key), "'");
    }

private:
    const JsonValue& object_;
    std::string_view where_;
    std::vector<std::string_view> known_;
};

} // namespace

std::string to_json(const Blueprint& blueprint, bool all) {
    Writer writer(all);
    visit_fields(blueprint, writer);
    return writer.text + "}";
}

Blueprint blueprint_from_json(std::string_view json, std::string_view where) {
    const std::string place = std::string(where) + ": blueprint";
    constexpr JsonLimits limits{std::size_t{64} << 10, 4}; // it has two dozen fields
    const JsonValue object = parse_json(json, place, limits);
    if (!object.object()) fail(ErrorCode::model, place, ": expected a JSON object, found ", describe(object));
    Blueprint blueprint;
    Reader reader(object, place);
    visit_fields(blueprint, reader);
    reader.finish();
    check(blueprint, where);
    return blueprint;
}

} // namespace ordo
