// SPDX-License-Identifier: MIT
// The list of verbs: a file each. A new verb is its file and two lines here.
#include "tools/cli/completion.h"

#include "core/error.h"
#include "encoding/base/registry.h"
#include "encoding/base/spec.h"

#include <algorithm>

namespace ordo::tools {

extern const Verb generate_verb, tokenize_verb, logits_verb, encodings_verb, table_verb, info_verb, perplexity_verb,
    train_verb, bench_verb, convert_verb, lab_verb, fill_verb, embed_verb, translate_verb;

namespace verbs_file {

const Verb* const list[] = {&generate_verb, &translate_verb, &fill_verb,    &embed_verb, &tokenize_verb,
                            &logits_verb,   &encodings_verb, &table_verb,   &info_verb,  &perplexity_verb,
                            &train_verb,    &bench_verb,     &convert_verb, &lab_verb};

// Only the program ordo-lab knows the experiments themselves.
const std::vector<std::string>& lab_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all{"report", "jobs"};
#define ORDO_EXPERIMENT(name) all.push_back(#name);
#include "tools/lab/list.def"
#undef ORDO_EXPERIMENT
        for (std::string& name : all) std::replace(name.begin(), name.end(), '_', '-');
        return all;
    }();
    return names;
}

} // namespace verbs_file

std::span<const Verb* const> verbs() {
    return verbs_file::list;
}

std::vector<std::string_view> operand_names(const Verb& verb) {
    std::vector<std::string_view> names;
    if (verb.operand == "SPEC")
        for (const EncodingInfo* info : registered_encodings()) names.push_back(info->name);
    if (&verb == &lab_verb) {
        names.assign(verbs_file::lab_names().begin(), verbs_file::lab_names().end());
    }
    return names;
}

const Verb& find_verb(std::string_view name) {
    // The names of verbs in other programs.
    static constexpr std::pair<std::string_view, std::string_view> elsewhere[] = {
        {"run", "generate"},    {"chat", "generate"},    {"complete", "generate"}, {"ppl", "perplexity"},
        {"eval", "perplexity"}, {"quantize", "convert"}, {"benchmark", "bench"},   {"encode", "tokenize"},
        {"decode", "tokenize"}, {"show", "info"}};
    std::vector<std::string_view> names;
    for (const Verb* verb : verbs_file::list) {
        if (name == verb->name) return *verb;
        names.push_back(verb->name);
    }
    std::string_view near = nearest(name, names);
    for (const auto& [word, verb] : elsewhere)
        if (name == word) near = verb;
    fail(ErrorCode::usage, "unknown verb '", printable(name), "'",
         near.empty() ? std::string("; ordo --help lists them") : "; did you mean " + std::string(near) + "?");
}

} // namespace ordo::tools
