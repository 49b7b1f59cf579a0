// SPDX-License-Identifier: MIT
#include "tools/train/record.h"
#include "io/base_name.h"

#include "core/number.h"
#include "io/file.h"
#include "io/json.h"
#include "tools/train/data.h"
#include "tools/train/sha256.h"
#include "training/optimizer.h"

#include <algorithm>
#include <bit>
#include <set>
#include <sstream>

namespace ordo::train {
namespace {

// Marks a record with the complete recipe, and its version. A later key of the recipe needs a new number.
constexpr std::string_view recipe_format = "2", recipe_format_key = "recipe.format";

// It describes the file rather than the recipe, but is a condition too.
constexpr std::string_view tokenizer_key = "tokenizer";
// The part of the recipe in files older than recipe_format. Their command has the rest.
constexpr std::string_view old_conditions[] = {"corpus.sha256", "finish.sha256", "finish.tokens",
                                               "tokens",        "batch",         "lr"};
// The options of `ordo train` that may differ, each with a value. They do not affect the weights, are the subject of
// the comparison, or name texts whose digests are conditions.
constexpr std::string_view free_options[] = {
    "--encoding",   "--seed",        "-s",     "--out",     "--log", "--val",    "--checkpoint", "--checkpoint-every",
    "--eval-every", "--eval-tokens", "--keep", "--threads", "-t",    "--corpus", "--finish",     "--tokenizer"};
constexpr std::string_view free_flags[] = {"--resume", "--overwrite", "--quiet", "-q", "--verbose", "-v"};

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

std::string recorded(const Metadata& record, std::string_view key) {
    const auto found = record.find(key);
    return found == record.end() ? std::string() : found->second;
}

// A file's training command without the options that may differ.
std::string conditions_of(const std::string& command) {
    std::istringstream words(command);
    std::string rest;
    for (std::string word; words >> word;)
        if (is_one_of(word, free_options))
            words >> word;
        else if (!is_one_of(word, free_flags))
            rest += word + ' ';
    return rest;
}

// Which weights of the run the file holds: the last, as in all older files, or the best on the held-out text.
std::string kept(const Metadata& record) {
    if (recorded(record, "keep") != "best") return "last";
    return "best of " + recorded(record, "keep.every") + ' ' + recorded(record, "keep.windows") + ' ' +
           recorded(record, "validation.sha256");
}

bool of_the_recipe(std::string_view key) {
    return key == recipe_format_key || key == tokenizer_key || key.starts_with("recipe.") ||
           key.starts_with("fine_tune.") || is_one_of(key, old_conditions);
}

} // namespace

Metadata method(const Options& o) {
    Metadata m{
        {"recipe.optimizer", o.method == Method::muon ? "muon" : "adamw"},
        {"recipe.schedule", o.fall == Fall::stable ? "stable" : "cosine"},
        {"recipe.warmup", o.warmup_steps >= 0 ? std::to_string(o.warmup_steps) + " steps" : number_text(o.warmup)},
    };
    if (o.init.empty()) {
        m["recipe.initial.deviation"] = o.initial.deviation > 0 ? number_text(o.initial.deviation) : "1/sqrt(columns)";
        m["recipe.initial.branches"] = o.initial.shrink_branches ? "shrunk" : "full";
    }
    if (o.method == Method::muon) {
        m["recipe.optimizer.scale"] = number_text(o.muon_scale);
        m["recipe.optimizer.momentum"] = number_text(Optimizer::momentum);
        if (o.bf16_products) m["recipe.optimizer.products"] = "bf16"; // not so in earlier files
    }
    if (o.bf16_products) m["recipe.products"] = m["recipe.products.attention"] = "bf16"; // earlier files lack the last
    if (o.fall == Fall::stable) m["recipe.schedule.decay"] = number_text(o.decay);
    return m;
}

Metadata recipe(const Options& o, const Sources& sources) {
    Metadata m{
        {std::string(recipe_format_key), std::string(recipe_format)},
        {"corpus", sources.corpus.name()},
        {"corpus.sha256", sources.corpus.sha256()},
        {"validation", sources.validation.name()},
        {"validation.sha256", sources.validation.sha256()},
        {"seed", std::to_string(o.seed)},
        {"batch", std::to_string(o.batch)},
        {"lr", number_text(o.lr)},
        {"recipe.min_lr", number_text(o.min_lr)},
        {"recipe.beta1", number_text(Optimizer::beta1)},
        {"recipe.beta2", number_text(Optimizer::beta2)},
        {"recipe.epsilon", number_text(Optimizer::epsilon)},
        {"recipe.weight_decay", number_text(o.weight_decay)},
        {"recipe.clip", number_text(o.clip)},
        {"recipe.dropout", number_text(o.dropout)},
        {"recipe.context", std::to_string(o.blueprint.context)},
        {"recipe.randomised_positions", std::to_string(o.randomised_positions)},
        {"recipe.initial", o.init.empty() ? "random" : sources.init_sha256},
        {"recipe.tokenizer.sha256", sha256(sources.tokenizer)},
    };
    m.merge(method(o));
    if (o.validation.empty()) m["recipe.held_out"] = "of the corpus";
    if (!o.init.empty()) m["init"] = base_name(o.init);
    if (sources.finish) {
        m["finish"] = sources.finish->name();
        m["finish.sha256"] = sources.finish->sha256();
        m["finish.tokens"] = std::to_string(o.finish_tokens); // as requested; the run makes whole steps
    }
    return m;
}

Metadata conditions_of_run(const Options& o, const Sources& sources, const std::string& encoding) {
    Metadata run{{"encoding", encoding},
                 {"tokens", std::to_string(o.tokens)},
                 {"batch", std::to_string(o.batch)},
                 {"lr", number_text(o.lr)},
                 {"min-lr", number_text(o.min_lr)},
                 {"warmup", number_text(o.warmup)},
                 {"weight-decay", number_text(o.weight_decay)},
                 {"clip", number_text(o.clip)},
                 {"dropout", number_text(o.dropout)},
                 {"seed", std::to_string(o.seed)},
                 {"randomised-positions", std::to_string(o.randomised_positions)},
                 {"finish-tokens", std::to_string(o.finish_tokens)},
                 {"corpus.sha256", sources.corpus.sha256()},
                 {"finish.sha256", sources.finish ? sources.finish->sha256() : ""},
                 {"init.sha256", sources.init_sha256},
                 {"tokenizer.sha256", sha256(sources.tokenizer)},
                 {"held-out", o.validation.empty() ? "of the corpus" : "a text of its own"},
                 {"trunk.sha256", sha256(to_json(o.blueprint))}};
    const JsonValue trunk = parse_json(to_json(o.blueprint, true), "trunk");
    for (const auto& [key, value] : *trunk.object()) run.emplace("trunk." + key, describe(value));
    run.merge(method(o));
    run["keep"] = o.keep == Keep::last
                      ? "last"
                      : "best of every " + std::to_string(o.eval_every) + " steps by " + std::to_string(o.eval_tokens) +
                            " tokens of " + sources.validation.sha256();
    return run;
}

std::string differing_condition(const Metadata& a, const Metadata& b) {
    std::set<std::string_view> keys;
    for (const Metadata* record : {&a, &b})
        for (const auto& [key, value] : *record)
            if (of_the_recipe(key)) keys.insert(key);
    const bool both = !recorded(a, recipe_format_key).empty() && !recorded(b, recipe_format_key).empty();
    for (const std::string_view key : keys) {
        const bool everywhere = both || !key.starts_with("recipe.");
        if (everywhere && recorded(a, key) != recorded(b, key)) return std::string(key);
    }
    if (kept(a) != kept(b)) return "keep";
    return both || conditions_of(recorded(a, "command")) == conditions_of(recorded(b, "command")) ? "" : "command";
}

// FNV-1a.
std::uint64_t digest_of(const Metadata& conditions, std::int64_t step, std::span<const float> values) {
    std::uint64_t digest = 0xcbf29ce484222325;
    const auto add = [&](std::uint64_t value) { digest = (digest ^ value) * 0x100000001b3; };
    add(static_cast<std::uint64_t>(step));
    for (const auto& [key, value] : conditions)
        for (const char c : key + value) add(static_cast<unsigned char>(c));
    for (const float value : values) add(std::bit_cast<std::uint32_t>(value));
    return digest;
}

} // namespace ordo::train
