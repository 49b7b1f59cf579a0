// SPDX-License-Identifier: MIT
#include "tools/cli/mistakes.h"

#include "core/error.h"
#include "encoding/base/registry.h"
#include "encoding/base/spec.h"
#include "io/file.h"
#include "io/shipped.h"

#include <algorithm>
#include <system_error>

namespace ordo::tools {

namespace {

// Options of other programs, for the verbs that have one of ours; an empty `ours` means every verb. Without an answer,
// ours is meant.
struct Elsewhere {
    std::string_view names, ours, answer = {};
};
constexpr std::string_view cpu_alone = "Ordo computes on the CPU, and needs no option for it",
                           not_needed = "not needed; weights are mapped from the file",
                           no_scores = "not needed; attention never holds all scores";
constexpr Elsewhere elsewhere[] = {
    {"max-new-tokens max-tokens max_new_tokens max_tokens num-predict max-length length words tokens steps",
     "n-predict"},
    {"tokens words", "max-tokens"},
    {"epochs num-epochs steps max-steps iters max-iters", "lr", "a run is as long as its --tokens"},
    {"num_ctx ctx context c", "ctx-size"},
    {"ctx ctx-size context c", "length", "--length gives the tokens of a window"},
    {"length max-length seq-len seq-length block-size context ctx-size c", "ctx"},
    {"length", "len"},
    {"batch-size batch_size bs", "batch"},
    {"output output-file o", "out"},
    {"output output-file out o", "no-accuracy", "OUT, the file to write, is the second argument"},
    {"output output-file out o", "", "the result is written to stdout; > FILE keeps it"},
    {"hidden hidden-size hidden_size d-model d_model n-embd n_embd embed-dim width", "dim"},
    {"n-layers n_layers n-layer num-layers", "layers"},
    {"n-heads n_heads n-head num-heads", "heads"},
    {"learning-rate learning_rate", "lr"},
    {"d-ff d_ff ffn-dim intermediate-size", "ffn"},
    {"vocab-size vocab_size", "vocab"},
    {"data dataset", "corpus"},
    {"seeds", "seed", "a run has one seed: loop over --seed"},
    {"encodings", "encoding", "a run has one encoding: loop over --encoding"},
    {"batch-size ubatch-size b", "n-predict", "not needed; a prompt is read in parts"},
    {"stream streaming", "n-predict", "not needed; a text is written while it is drawn"},
    {"beam beams beam-size num-beams num_beams", "temp", "there is no beam search; --temp 0 takes the likeliest token"},
    {"beam beams beam-size num-beams num_beams", "n-predict", "there is no beam search"},
    {"gpu gpus cuda device ngl n-gpu-layers gpu-layers", "", cpu_alone},
    {"color", "", "a terminal shows colours without it, unless NO_COLOR is set"},
    {"no-color", "", "set NO_COLOR in the environment"},
    {"log-disable", "", "not needed; -q prints only errors"},
    {"mlock no-mmap", "", not_needed},
    {"flash-attn fa", "", no_scores},
};

// Calls use(name) for each word of a list until it returns true.
template <class Use>
bool any_word(std::string_view list, const Use& use) {
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(' '), list.size());
        if (use(list.substr(0, end))) return true;
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return false;
}

bool is_file(const std::string& name) {
    std::error_code error;
    return std::filesystem::symlink_status(name, error).type() != std::filesystem::file_type::not_found;
}

bool is_spec(const std::string& text) {
    try {
        encodings_named(parse_spec(text));
        return true;
    } catch (const Error&) {
        return false;
    }
}

bool continues(const Option& list, const std::string& word) {
    if (list.kind == Kind::integers)
        return std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; }) && !is_file(word);
    return list.name == "encodings" && is_spec(word) && !is_file(word);
}

} // namespace

[[noreturn]] void unknown_option(const Verb& verb, const std::string& name) {
    if (const Option* ours = find_option(verb, name)) // after a single dash
        fail(ErrorCode::usage, verb.name, ": unknown option '-", name, "'; did you mean --", ours->name, "?");
    for (const auto& [names, ours, answer] : elsewhere)
        if ((ours.empty() || find_option(verb, ours)) &&
            any_word(names, [&](std::string_view other) { return other == name; }))
            fail(ErrorCode::usage, verb.name, ": unknown option '",
                 name.size() == 1 || name == "ngl" || name == "fa" ? "-" : "--", name, "'; ",
                 answer.empty() ? "did you mean --" + std::string(ours) + "?" : std::string(answer));
    const std::string dashes = name.size() == 1 ? "-" : "--";
    std::vector<std::string_view> known;
    for (const OptionGroup& group : verb.groups)
        for (const Option& option : group.options) {
            known.push_back(option.name);
            if (!option.alias.empty()) known.push_back(option.alias);
        }
    const std::string_view near = name.size() == 1 ? std::string_view{} : nearest(name, known);
    fail(ErrorCode::usage, verb.name, ": unknown option '", dashes, printable(name), "'",
         near.empty() ? "; see ordo " : "; did you mean --", near.empty() ? verb.name : near,
         near.empty() ? " --help" : "?");
}

void check_words(const Verb& verb, std::span<const char* const> args) {
    for (const std::string_view word : args) {
        if (word == "--") return;
        for (const Elsewhere& other : elsewhere)
            if (any_word(other.names, [&](std::string_view name) {
                    return name.size() > 1 && word.starts_with('-') && word.substr(1) == name;
                }))
                unknown_option(verb, std::string(word.substr(1)));
    }
}

void expect_commas(const Verb& verb, std::span<const char* const> args) {
    for (std::size_t i = 0; i + 2 < args.size() && args[i] != std::string_view("--"); ++i) {
        const std::string_view word = args[i], name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
        const Option* list = word.starts_with('-') && !name.empty() ? find_option(verb, name) : nullptr;
        if (!list) continue;
        std::string joined = args[i + 1];
        std::size_t next = i + 2;
        for (; next < args.size() && continues(*list, args[next]); ++next) joined += "," + std::string(args[next]);
        if (next > i + 2)
            fail(ErrorCode::usage, "option ", word, ": expected commas between its values: ", word, " ",
                 printable(joined));
    }
}

std::string likely_model(const std::string& name, std::string_view option) {
    const std::filesystem::path path = name, shipped = path.filename();
    const bool weights = path.extension() == ".safetensors";
    if (is_file(name) || (!weights && name.find('/') != name.npos)) return {};
    std::string spec = weights ? path.stem().string() : name, meant;
    if (!is_spec(spec)) spec = likely_name(spec);
    const bool known = is_spec(spec);
    if (known && !option.empty()) meant = std::string(option) + " " + spec;
    std::error_code error;
    for (const std::filesystem::path& folder : weight_directories()) {
        const std::filesystem::path file = folder / ((known ? spec : path.stem().string()) + ".safetensors");
        if (!std::filesystem::exists(file, error)) continue;
        meant += (meant.empty() ? "" : " or ") + printable_path(file);
        break;
    }
    return meant.empty() ? meant : "; did you mean " + meant + "?";
}

void check_models(const Arguments& arguments) {
    const Verb& verb = arguments.verb();
    std::vector<std::string> models;
    if (verb.operand.starts_with("MODEL") || verb.operand.starts_with("IN ")) models.push_back(arguments.operand());
    const Option* model = find_option(verb, "model");
    if (model && model->kind == Kind::path)
        for (const std::string& file : arguments.all("model")) models.push_back(file);
    const Option* encoding = find_option(verb, "encoding");
    for (const std::string& file : models)
        if (const std::string meant =
                file.empty() ? "" : likely_model(file, encoding && encoding->name == "encoding" ? "--encoding" : "");
            !meant.empty())
            fail(ErrorCode::io, printable_path(file), ": there is no such file", meant);
}

int head_width(const Arguments& arguments, int dim, int heads) {
    if (dim % heads == 0) return dim / heads;
    if (arguments.has("heads"))
        fail(ErrorCode::usage, "option --heads: expected a divisor of the width ", dim, ", found ", heads);
    fail(ErrorCode::usage, "option --dim: expected a multiple of the ", heads, " heads, found ", dim);
}

} // namespace ordo::tools
