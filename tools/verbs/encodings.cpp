// SPDX-License-Identifier: MIT
// ordo encodings: the registered encodings.
#include "core/error.h"
#include "encoding/base/model_encodings.h"
#include "encoding/base/plan.h"
#include "encoding/base/registry.h"
#include "formats/source.h"
#include "tools/cli/machine.h"
#include "tools/cli/mistakes.h"
#include "tools/opening/reach.h"
#include "tools/opening/rope_options.h"
#include "tools/opening/weights.h"
#include "tools/terminal/output.h"
#include "tools/terminal/wide_table.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>

namespace ordo::tools {

namespace encodings_file {

constexpr Option options[] = {
    {Kind::integer, "dim", "D=128", 1, 65'536, "The width of the model, for the printed limits and parameters."},
    {Kind::integer, "heads", "H=4", 1, 1'024, "The number of heads."},
    {Kind::integer, "ctx", "N=256", 1, 1 << 22,
     "The trained context. With --model alone: the length of a session, for scalings that depend on it."},
    {Kind::path, "m,model", "FILE",
     "Take the width, the heads and the context from this model. Without SPEC: list the encoding of each layer and its "
     "range."},
    {Kind::choice, "format", "FORMAT=text",
     "text|md|csv|json: the format of the list. An explanation is text or json."},
};
constexpr OptionGroup groups[] = {{"Encodings", options}, rope_group, common_group};

void expect_none(const Arguments& arguments, std::initializer_list<const char*> others) {
    for (const char* name : others)
        if (arguments.has(name)) fail(ErrorCode::usage, "expected --model or --", name, ", found both");
}

Dims read_dims(const Arguments& arguments) {
    if (arguments.has("model")) {
        expect_none(arguments, {"dim", "heads", "ctx"});
        return read_facts(arguments.text("model")).blueprint.dims();
    }
    const int dim = arguments.integer("dim"), heads = arguments.integer("heads");
    return {dim, heads, head_width(arguments, dim, heads), 1, arguments.integer("ctx")};
}

std::string moments_text(unsigned moments) {
    std::string text;
    for (const MomentInfo& info : moments_of_a_pass)
        if (moments & info.moment) text += (text.empty() ? "" : "+") + std::string(info.name);
    return text.empty() ? "none" : text;
}

Cell max_position_cell(const ModelEncodings& encoding, Format format) {
    if (const int most = encoding.limits().positions; most < std::numeric_limits<int>::max()) return std::int64_t{most};
    if (format == Format::json || format == Format::csv) return {};
    return std::string("unlimited");
}

// Facts of an encoding that follow from its parameters. A spec may name one encoding more than once.
struct Facts {
    unsigned moments = 0;
    bool shift_invariant = true, trainable = false, rotates_keys = false;

    std::string key_cache() const { return rotates_keys ? "rotated" : "raw"; }
};

Facts facts_of(const EncodingInfo& info, const std::string& spec, const Dims& dims) {
    Facts facts;
    for (const auto& encoding : plan_encodings(spec, dims).encodings) {
        if (name_of(encoding->spec()) != info.name) continue;
        facts.moments |= encoding->moments();
        facts.shift_invariant = facts.shift_invariant && encoding->shift_invariant();
        facts.rotates_keys = facts.rotates_keys || encoding->rotates(Role::key);
        for (const TensorSpec& tensor : encoding->tensors()) facts.trainable = facts.trainable || tensor.trainable;
    }
    return facts;
}

std::string list_text(const Dims& dims, Format format) {
    Figures figures;
    figures.columns = {"name",         "moments",   "summary",  "paper", "shift_invariant",
                       "max_position", "trainable", "key_cache"};
    for (const EncodingInfo* info : registered_encodings()) {
        const ModelEncodings encoding(info->name, dims);
        const Facts facts = facts_of(*info, std::string(info->name), dims);
        figures.add(std::string(info->name), moments_text(facts.moments), std::string(info->summary),
                    std::string(info->paper), facts.shift_invariant, max_position_cell(encoding, format),
                    facts.trainable, facts.key_cache());
    }
    if (format != Format::text) return render(figures, format);
    // On a terminal the long columns come last.
    const auto to_the_end = [](auto& row) { std::rotate(row.begin() + 2, row.begin() + 4, row.end()); };
    to_the_end(figures.columns);
    for (auto& row : figures.rows) to_the_end(row);
    return for_stdout(figures);
}

void write_explanation(JsonWriter& out, const EncodingInfo& info, const Facts& facts) {
    out.begin_object();
    out.member("name", info.name);
    out.member("summary", info.summary);
    out.member("paper", info.paper);
    out.member("formula", info.formula);
    out.member("moments", moments_text(facts.moments));
    out.member("shift_invariant", facts.shift_invariant);
    out.member("trainable", facts.trainable);
    out.member("key_cache", facts.key_cache());
    out.key("parameters");
    out.begin_array();
    for (const Parameter& parameter : parameters_of(info)) {
        out.begin_object();
        out.member("name", parameter.name);
        out.member("default", parameter.fallback);
        out.member("meaning", parameter.meaning);
        out.end_object();
    }
    out.end_array();
    out.end_object();
}

std::string indented(std::string_view text) {
    std::string out = "  ";
    for (const char c : text) {
        out += c;
        if (c == '\n') out += "  ";
    }
    return out + "\n";
}

std::string explanation_text(const EncodingInfo& info, const Facts& facts) {
    std::string out = std::string(info.name) + ": " + std::string(info.summary) + "\n";
    if (!info.paper.empty()) out += "paper: " + std::string(info.paper) + "\n";
    if (!info.formula.empty()) out += "formula:\n" + indented(info.formula);
    out += "moments: " + moments_text(facts.moments) + ", shift-invariant: " + (facts.shift_invariant ? "yes" : "no") +
           ", trained tensors: " + (facts.trainable ? "yes" : "none") + ", cached keys: " + facts.key_cache() + "\n";
    out = for_stdout(out);
    const std::vector<Parameter> parameters = parameters_of(info);
    if (parameters.empty()) return out;
    Figures figures{{"parameter", "default", "meaning"}, {}};
    for (const Parameter& parameter : parameters) figures.add(parameter.name, parameter.fallback, parameter.meaning);
    return out + for_stdout(figures);
}

std::string explain_json(const std::string& spec, std::span<const EncodingInfo* const> infos,
                         const ModelEncodings& encoding, const Dims& dims) {
    JsonWriter out(1);
    out.begin_object();
    out.member("spec", encoding.spec());
    out.key("model");
    out.begin_object();
    out.member("dim", dims.d_model);
    out.member("heads", dims.n_heads);
    out.member("d_head", dims.d_head);
    out.member("ctx", dims.context);
    out.end_object();
    out.key("max_position");
    write_json(out, max_position_cell(encoding, Format::json));
    out.key("encodings");
    out.begin_array();
    for (const EncodingInfo* info : infos) write_explanation(out, *info, facts_of(*info, spec, dims));
    out.end_array();
    out.end_object();
    return out.take() + "\n";
}

std::string explain(const std::string& spec, const Dims& dims, bool json) {
    const std::vector<const EncodingInfo*> infos = encodings_named(parse_spec(spec));
    const ModelEncodings encoding(spec, dims);
    if (json) return explain_json(spec, infos, encoding, dims);
    std::string out;
    for (const EncodingInfo* info : infos) out += explanation_text(*info, facts_of(*info, spec, dims)) + "\n";
    const Cell most = max_position_cell(encoding, Format::text);
    const auto* number = std::get_if<std::int64_t>(&most);
    return out +
           for_stdout("in a model of width " + std::to_string(dims.d_model) + " with " + std::to_string(dims.n_heads) +
                      " heads and context " + std::to_string(dims.context) + ":\n  spec: " + encoding.spec() +
                      "\n  positions: " + (number ? std::to_string(*number) : "unlimited") + "\n");
}

// ---- The encodings of a model -----------------------------------------------------------------

// Rounds to six digits for readers; programs get all digits.
double rounded(double value, Format format) {
    if (value == 0 || format == Format::json || format == Format::csv) return value;
    const double unit = std::pow(10.0, 5 - std::floor(std::log10(std::abs(value))));
    return std::round(value * unit) / unit;
}

Cell positions_cell(int positions, Format format) {
    if (positions < unlimited) return std::int64_t{positions};
    if (format == Format::json || format == Format::csv) return {};
    return std::string("unlimited");
}

// Consecutive layers with the same encoding: "0-5", "6".
struct Stretch {
    int first, last;
    LayerReach reach;

    std::string layers() const {
        return std::to_string(first) + (last > first ? "-" + std::to_string(last) : std::string());
    }
};

std::vector<Stretch> stretches_of(const ModelEncodings& now, const ModelEncodings& trained, const Dims& dims) {
    std::vector<Stretch> all;
    for (int layer = 0; layer < dims.n_layers; ++layer) {
        LayerReach reach = reach_of_layer(now, trained, layer, dims.context);
        if (!all.empty() && all.back().reach == reach)
            all.back().last = layer;
        else
            all.push_back({layer, layer, std::move(reach)});
    }
    return all;
}

Figures layers_table(std::span<const Stretch> stretches, Format format) {
    Figures figures{{"layers", "encoding", "sound_positions"}, {}};
    for (const Stretch& stretch : stretches)
        figures.add(stretch.layers(), stretch.reach.encoding, positions_cell(stretch.reach.sound, format));
    return figures;
}

Figures pairs_table(std::span<const Stretch> stretches, Format format) {
    Figures figures{{"layers", "pair", "frequency", "wavelength", "trained_turns", "sound_positions"}, {}};
    for (const Stretch& stretch : stretches)
        for (std::size_t k = 0; k < stretch.reach.pairs.size(); ++k) {
            const PairReach& pair = stretch.reach.pairs[k];
            Cell wavelength;
            if (pair.frequency > 0) wavelength = rounded(2 * std::numbers::pi / pair.frequency, format);
            figures.add(stretch.layers(), static_cast<std::int64_t>(k), rounded(pair.frequency, format),
                        std::move(wavelength), rounded(pair.turns, format), positions_cell(pair.sound, format));
        }
    return figures;
}

void show_model(const Arguments& arguments, Format format) {
    expect_none(arguments, {"dim", "heads"});
    const Source source = open_source(arguments.text("model"));
    const ModelEncodings trained = source.trained_encodings();
    std::vector<std::string> idle;
    std::string spec = trained.spec();
    if (has_rope_options(arguments)) spec = with_rope_options(arguments, spec, source.blueprint.dims(), idle);
    for (const std::string& text : idle)
        if (!arguments.has("quiet")) write_message("warning: " + text);
    ModelEncodings now(spec, source.blueprint.dims());
    if (arguments.has("ctx"))
        if (std::optional<ModelEncodings> other = now.at_length(arguments.integer("ctx"), 0)) now = std::move(*other);
    const std::vector<Stretch> stretches = stretches_of(now, trained, source.blueprint.dims());
    const int sound = sound_positions(now, trained, source.blueprint.context);
    const Figures layers = layers_table(stretches, format), pairs = pairs_table(stretches, format);
    if (format == Format::json) {
        JsonWriter out(1);
        out.begin_object();
        out.member("spec", now.spec());
        out.member("trained", trained.spec());
        out.member("context", source.blueprint.context);
        out.key("sound_positions");
        write_json(out, positions_cell(sound, format));
        out.key("layers");
        write_json(out, layers);
        out.key("pairs");
        write_json(out, pairs);
        out.end_object();
        return write_out(out.take() + "\n");
    }
    if (format == Format::csv || format == Format::md)
        return write_out(render(pairs.rows.empty() ? layers : pairs, format));
    std::string head =
        "trained with: " + trained.spec() + ", on " + std::to_string(source.blueprint.context) + " tokens\n";
    if (now.spec() != trained.spec()) head += "now: " + now.spec() + "\n";
    head += sound < unlimited ? "sound: positions below " + grouped(static_cast<std::uint64_t>(sound)) +
                                    "; from there on, an angle is new to the weights or a table has ended\n\n"
                              : "sound: all positions, by the formula of the encoding\n\n";
    write_out(for_stdout(head) + for_stdout(layers) + (pairs.rows.empty() ? "" : "\n" + for_stdout(pairs)));
}

int run(const Arguments& arguments) {
    const Format format = parse_format(arguments.text("format"));
    if (arguments.has("model") && !arguments.has_operand()) {
        show_model(arguments, format);
        return 0;
    }
    if (has_rope_options(arguments))
        fail(ErrorCode::usage, "the options of RoPE: expected --model, and no SPEC, beside them");
    const Dims dims = read_dims(arguments);
    if (arguments.operand() == "all" || arguments.operand() == "list")
        fail(ErrorCode::usage, "encodings: expected a SPEC, found '", arguments.operand(),
             "'; without one, all are listed");
    if (!arguments.has_operand()) {
        write_out(list_text(dims, format));
        return 0;
    }
    if (format == Format::md || format == Format::csv)
        fail(ErrorCode::usage, "option --format: expected text or json for one encoding, found '",
             arguments.text("format"), "'");
    write_out(explain(arguments.operand(), dims, format == Format::json));
    return 0;
}

} // namespace encodings_file

extern const Verb encodings_verb;
const Verb encodings_verb{
    .name = "encodings",
    .operand = "SPEC",
    .summary = "List the positional encodings, or explain one",
    .details =
        "A SPEC is NAME or NAME:KEY=VALUE,KEY=VALUE. A + adds encodings, each with its parameters: segment+learned. "
        "pattern(A,B) gives the layers A, B, A, B, ..., with parentheses around a sum: pattern((rope+alibi),none). "
        "With a name or a spec, such as rope:theta=500000 or segment+learned, print its formula, its parameters and "
        "the full spec. With --model alone, print the encoding of each layer, the frequency of each rotated pair of "
        "columns, and the number of positions whose values all occurred in training.",
    .groups = encodings_file::groups,
    .run = encodings_file::run};

} // namespace ordo::tools
