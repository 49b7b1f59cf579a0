// SPDX-License-Identifier: MIT
#include "formats/name_map.h"

#include "model/model_access.h"

#include <charconv>

namespace ordo {
namespace {

struct Numbers {
    std::string layer, expert;
};

constexpr std::string_view digits = "0123456789";

// Whether a name fits a pattern, and the numbers for its '#' and '@'.
bool fits(std::string_view name, std::string_view pattern, Numbers& numbers) {
    while (!pattern.empty()) {
        const char c = pattern.front();
        pattern.remove_prefix(1);
        if (c != '#' && c != '@') {
            if (name.empty() || name.front() != c) return false;
            name.remove_prefix(1);
            continue;
        }
        const std::size_t n = std::min(name.find_first_not_of(digits), name.size());
        if (n == 0) return false;
        (c == '#' ? numbers.layer : numbers.expert) = name.substr(0, n);
        name.remove_prefix(n);
    }
    return name.empty();
}

std::string filled_in(std::string_view pattern, const Numbers& numbers) {
    std::string name;
    for (const char c : pattern)
        if (c == '#')
            name += numbers.layer;
        else if (c == '@')
            name += numbers.expert;
        else
            name += c;
    return name;
}

// The plan of the layer with the tensor of this name.
const LayerPlan& plan_of(std::string_view name, const Blueprint& b) {
    constexpr std::string_view before = "layers.";
    const std::size_t at = name.find(before);
    int layer = 0;
    if (at != name.npos) std::from_chars(name.data() + at + before.size(), name.data() + name.size(), layer);
    return b.layer(layer);
}

constexpr std::string_view suffixes[] = {".weight", ".bias"};

bool has_suffix(std::string_view name) {
    return name.ends_with(suffixes[0]) || name.ends_with(suffixes[1]);
}

} // namespace

const FileTensor* find_tensor(const TensorStore& store, const NameMap& names, const std::string& theirs) {
    const FileTensor* found = store.find(theirs);
    if (found != nullptr || names.prefix.empty() || !theirs.starts_with(names.prefix)) return found;
    const std::string rest = theirs.substr(names.prefix.size());
    found = store.find(rest);
    for (const std::string_view other : names.instead)
        if (found == nullptr) found = store.find(std::string(other) + rest);
    return found;
}

bool has_tensor(const TensorStore& store, const NameMap& names, std::string_view ours) {
    return std::any_of(names.rules.begin(), names.rules.end(), [&](const NameRule& rule) {
        const std::string theirs = their_name(rule, ours);
        return !theirs.empty() && find_tensor(store, names, theirs) != nullptr;
    });
}

std::string their_name(const NameRule& rule, std::string_view ours) {
    std::string_view suffix;
    if (!has_suffix(rule.ours))
        for (const std::string_view each : suffixes)
            if (ours.ends_with(each)) suffix = each;
    Numbers numbers;
    if (!fits(ours.substr(0, ours.size() - suffix.size()), rule.ours, numbers)) return {};
    return filled_in(rule.theirs, numbers) + std::string(suffix);
}

int expert_in(std::string_view name) {
    constexpr std::string_view before = ".experts.";
    const std::size_t at = name.find(before);
    int expert = -1;
    if (at != name.npos) std::from_chars(name.data() + at + before.size(), name.data() + name.size(), expert);
    return expert;
}

const Blueprint& stack_of(std::string_view name, const Blueprint& model) {
    return name.starts_with(encoder_prefix) && !model.encoder.empty() ? model.encoder.front() : model;
}

std::vector<TensorPiece> pieces_of(const TensorSpec& spec, const Blueprint& model) {
    const Blueprint& b = stack_of(spec.name, model);
    const std::size_t suffix = spec.name.rfind('.');
    const std::string stem = spec.name.substr(0, suffix), ending = spec.name.substr(suffix);
    const auto ends = [&](std::string_view last) { return stem.ends_with(last); };
    const auto rows = static_cast<int>(spec.shape[0]);
    std::vector<TensorPiece> pieces;
    const auto piece = [&](std::size_t cut, const char* name, int n) {
        const int first = pieces.empty() ? 0 : pieces.back().first + pieces.back().rows;
        pieces.push_back({stem.substr(0, stem.size() - cut) + name + ending, first, n});
    };
    if (ends("attention.qkv")) {
        piece(3, "q", b.n_heads * b.d_head);
        piece(3, "k", b.n_kv_heads * b.d_head);
        piece(3, "v", b.n_kv_heads * b.d_head);
    } else if (ends("attention.kv")) {
        piece(2, "k", b.n_kv_heads * b.d_head);
        piece(2, "v", b.n_kv_heads * b.d_head);
    } else if (ends(".in") && stem.find("feed_forward") != stem.npos && plan_of(stem, b).gated) {
        piece(2, "gate", rows / 2);
        piece(2, "up", rows / 2);
    }
    return pieces;
}

} // namespace ordo
