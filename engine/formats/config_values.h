// SPDX-License-Identifier: MIT
// Readers of config.json that several families share.
#pragma once

#include "formats/architecture.h"

#include <functional>

namespace ordo {

// "gelu_new", "silu", ... under a key. Throws Error(model) for an unknown one.
Activation activation_of(const Config& config, std::string_view key, std::string_view fallback);

// Reads the sizes under Llama's names, which most later models use, and whether attention is causal.
void read_llama_sizes(const Config& config, Blueprint& blueprint);
// Llama's names of tensors, as in nearly all pre-norm models with a gated feed-forward branch.
NameMap llama_names();

// sliding_window; 0 if it is null. If it is missing, `usual`, the default of the class.
int window_of(const Config& config, int usual);
// The windows of Qwen's keys: sliding_window in each layer that layer_types marks sliding_attention. Without
// layer_types, `fallback` decides for each layer. None unless use_sliding_window. Layers that differ become a pattern.
void set_windows(const Config& config, Blueprint& blueprint, int usual, const std::function<bool(int)>& fallback);
// Whether each layer slides: layer_types says sliding_attention or full_attention. Without that key, `fallback`
// decides.
std::vector<bool> sliding_layers(const Config& config, int n_layers, const std::function<bool(int)>& fallback);
// Gives each layer the blueprint's plan, with a window in the sliding layers.
void set_sliding(Blueprint& blueprint, const std::vector<bool>& sliding, int window);

// BERT base's shape; and its sizes under BERT's names.
Blueprint bert_blueprint();
void read_bert_sizes(const Config& config, Blueprint& blueprint);
std::string bert_encoding(const Config& config); // segments and learned positions
// The head of a masked language model; without it in the file, no head.
void read_masked_head(ModelPlan& plan, bool there);

// BART's decoder, base, and the same with an encoder of its shape.
Blueprint bart_decoder();
Blueprint with_like_encoder(Blueprint decoder);
// The sizes of both stacks, and the encoder, which else is like the decoder. scaled: the class's default of
// scale_embedding.
void read_bart_sizes(const Config& config, bool scaled, Blueprint& decoder);
NameMap bart_names();

// Where a family keeps what rope is told, and what it is without.
struct RopeKeys {
    double theta = 10000;
    double share = 1; // of a head's columns: the fraction that rotates
    std::string_view theta_key = "rope_theta", share_key = "partial_rotary_factor";
    std::string_view pairing = "halves";
    bool old_scaling = true;          // whether rope_scaling applies to it
    bool alpha = false;               // whether alpha of a dynamic scaling multiplies theta (Hunyuan)
    std::string_view layer_type = {}; // "full_attention": a member of rope_parameters, if these are grouped by type
};

// The spec of rope: "rope:theta=500000,pairing=halves,scaling=llama3,...". There are two forms of the keys,
// rope_parameters (transformers 5), and rope_theta with rope_scaling. The first form wins, with a warning if they
// differ. The plan's blueprint must have its sizes.
std::string rope_spec(const Config& config, ModelPlan& plan, const RopeKeys& keys = {});

// Reduces the plans or specs of all layers to their period. A spec is "pattern(...)", unless one is enough.
std::vector<LayerPlan> to_period(std::vector<LayerPlan> layers);
std::string pattern_of(std::span<const std::string> specs);

} // namespace ordo
