// SPDX-License-Identifier: MIT
#include "formats/model_type.h"

#include "core/error.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace ordo {
namespace {

// "xlm-roberta" and "XLMRoberta" as "xlmroberta".
std::string plain(std::string_view name) {
    std::string out;
    for (const unsigned char c : name)
        if (c != '-' && c != '_') out += static_cast<char>(std::tolower(c));
    return out;
}

// The beginning of a class's name, before the words that say what it is for: "GPTNeoX" of "GPTNeoXForCausalLM".
std::string_view family_part(std::string_view name) {
    std::size_t end = name.size();
    for (const std::string_view word : {"For", "With", "Model", "LMHead", "MTModel", "EncoderModel", "DoubleHeads"})
        end = std::min(end, name.find(word, 1));
    return name.substr(0, end);
}

const std::string* first_class(const JsonValue& config) {
    const JsonValue* const classes = find_member(config, "architectures");
    const bool any = classes != nullptr && classes->array() && !classes->array()->empty();
    return any ? classes->array()->front().string() : nullptr;
}

// The tensors with a name of the family, with or without its prefix, behind `levels` levels such as "module.".
std::ptrdiff_t count_named(const Architecture& family, std::span<const FileTensor> tensors, int levels) {
    const NameMap names = example_names(family);
    return std::count_if(tensors.begin(), tensors.end(), [&](const FileTensor& tensor) {
        std::string name = tensor.name;
        for (int i = 0; i < levels; ++i) name.erase(0, name.find('.') + 1);
        return std::any_of(names.rules.begin(), names.rules.end(), [&](const NameRule& rule) {
            const NameRule back{rule.theirs, rule.ours};
            return !their_name(back, name).empty() || !their_name(back, std::string(names.prefix) + name).empty();
        });
    });
}

// The families with the most of the names, the oldest first. A few hundred tensors tell them apart.
std::vector<std::string_view> families_of(const TensorStore& tensors) {
    const std::span<const FileTensor> some =
        tensors.tensors().first(std::min<std::size_t>(tensors.tensors().size(), 256));
    std::vector<std::string_view> best;
    for (int levels = 0; levels < 3 && best.empty(); ++levels) {
        std::ptrdiff_t most = 1;
        for (const Architecture& each : architectures()) {
            const std::vector<std::string_view>& types = each.hugging_face.model_types;
            const std::ptrdiff_t found = types.empty() ? 0 : count_named(each, some, levels);
            if (found > most) best.clear();
            if (found >= most) best.push_back(types.front());
            most = std::max(most, found);
        }
    }
    return best;
}

// The families from before the key "model_type". Where they share their names with later ones, or BERT with RoBERTa,
// the older one is meant.
bool is_old(std::string_view family) {
    constexpr std::string_view old[] = {"bert", "gpt2", "roberta", "distilbert", "t5"};
    return std::find(std::begin(old), std::end(old), family) != std::end(old);
}

} // namespace

std::string model_type_of(const JsonValue& config) {
    const JsonValue* const type = find_member(config, "model_type");
    if (type != nullptr && type->string()) return *type->string();
    const std::string* const name = first_class(config);
    const std::string wanted = name != nullptr ? plain(family_part(*name)) : "";
    for (const Architecture& each : architectures())
        for (const std::string_view own : each.hugging_face.model_types)
            if (plain(own) == wanted) return std::string(own);
    return {};
}

std::string model_type_of(const JsonValue& config, const TensorStore& tensors, const std::string& where) {
    if (std::string type = model_type_of(config); !type.empty()) return type;
    if (const std::string* const name = first_class(config))
        fail(ErrorCode::model, where, ": 'model_type' is missing, and 'architectures' names ", printable(*name, 60),
             ", a class of no family that Ordo has");
    std::vector<std::string_view> best = families_of(tensors);
    if (!best.empty() && is_old(best.front())) std::erase_if(best, [](auto each) { return !is_old(each); });
    const JsonValue* const segments = find_member(config, "type_vocab_size"); // RoBERTa has one
    const bool one = segments != nullptr && segments->unsigned_integer() && *segments->unsigned_integer() == 1;
    if (best.size() == 2 && one) std::erase(best, "bert");
    if (!best.empty() && (best.size() == 1 || is_old(best.front()))) return std::string(best.front());
    fail(ErrorCode::model, where,
         ": 'model_type' is missing, and neither 'architectures' nor the names of the tensors say which family it is");
}

void remove_level(TensorStore& tensors, const NameMap& names) {
    if (has_tensor(tensors, names, "embedding.weight")) return;
    std::string theirs;
    for (const NameRule& rule : names.rules)
        if (theirs.empty()) theirs = their_name(rule, "embedding.weight");
    std::vector<std::string> endings{theirs};
    if (theirs.starts_with(names.prefix)) endings.push_back(theirs.substr(names.prefix.size()));
    for (const std::string& ending : endings) {
        std::set<std::string> levels;
        for (const FileTensor& tensor : std::as_const(tensors).tensors())
            if (!ending.empty() && tensor.name.ends_with("." + ending))
                levels.insert(tensor.name.substr(0, tensor.name.size() - ending.size()));
        if (levels.size() == 1) return tensors.remove_prefix(*levels.begin());
    }
}

NameMap example_names(const Architecture& family) {
    return family.hugging_face.names({family.make(), std::string(family.encoding)});
}

} // namespace ordo
