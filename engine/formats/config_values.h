// SPDX-License-Identifier: MIT
// What several families' config.json have in common.
#pragma once

#include "formats/architecture.h"

#include <functional>

namespace ordo {

// "gelu_new", "silu", ... of a key. Throws Error(model) for one that we have not.
Activation activation_of(const Config& config, std::string_view key, std::string_view fallback);

// The sizes under the names that Llama gave them, which most since have taken over, and whether attention is causal.
void read_llama_sizes(const Config& config, Blueprint& blueprint);
// Llama's names of tensors: those of nearly all pre-norm models with a gated feed-forward branch.
NameMap llama_names();

// sliding_window; 0 if it is null, and `usual`, the class's default, if it is absent.
int window_of(const Config& config, int usual);
// The windows of Qwen's keys: sliding_window in the layers that layer_types names sliding_attention, or those that
// `fallback` says slide; none unless use_sliding_window. Layers that differ become a pattern.
void set_windows(const Config& config, Blueprint& blueprint, int usual, const std::function<bool(int)>& fallback);
// For each layer whether layer_types says sliding_attention, or full_attention; as fallback says where there is no such
// key.
std::vector<bool> sliding_layers(const Config& config, int n_layers, const std::function<bool(int)>& fallback);
// Each layer as the blueprint's own plan, with a window where it slides.
void set_sliding(Blueprint& blueprint, const std::vector<bool>& sliding, int window);

// BERT's shape, base, and its sizes under the names that it gave them.
Blueprint bert_blueprint();
void read_bert_sizes(const Config& config, Blueprint& blueprint);
// The head of a masked language model, if the file has it, or none.
void read_masked_head(ModelPlan& plan, bool there);

// Where a family keeps what rope is told, and what it is without.
struct RopeKeys {
    double theta = 10000;
    double share = 1; // of a head's columns that turn
    std::string_view theta_key = "rope_theta", share_key = "partial_rotary_factor";
    std::string_view pairing = "halves";
    bool old_scaling = true;          // whether rope_scaling is meant for it
    std::string_view layer_type = {}; // "full_attention": a member of rope_parameters, where these are kept by type
};

// The spec of rope: "rope:theta=500000,pairing=halves,scaling=llama3,...". Of both forms of the keys, rope_parameters
// (transformers 5) and rope_theta with rope_scaling, the first wins, with a warning if they differ. The plan's
// blueprint has its sizes already.
std::string rope_spec(const Config& config, ModelPlan& plan, const RopeKeys& keys = {});

// Layers that repeat: the plans, or specs, of all layers cut to their period. A spec is "pattern(...)" unless one is
// enough.
std::vector<LayerPlan> to_period(std::vector<LayerPlan> layers);
std::string pattern_of(std::span<const std::string> specs);

} // namespace ordo
