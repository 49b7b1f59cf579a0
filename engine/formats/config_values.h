// SPDX-License-Identifier: MIT
// What several families' config.json have in common.
#pragma once

#include "formats/architecture.h"

namespace ordo {

// "gelu_new", "silu", ... of a key. Throws Error(model) for one that we have not.
Activation activation_of(const Config& config, std::string_view key, std::string_view fallback);

// The sizes under the names that Llama gave them, which most since have taken over.
void read_llama_sizes(const Config& config, Blueprint& blueprint);
// Llama's names of tensors: those of nearly all pre-norm models with a gated feed-forward part.
NameMap llama_names();

// Where a family keeps what rope is told, and what it is without.
struct RopeKeys {
    double theta = 10000;
    double share = 1; // of a head's columns that turn
    std::string_view theta_key = "rope_theta", share_key = "partial_rotary_factor";
    std::string_view pairing = "halves";
    std::string_view layer_type = {}; // "full_attention": a member of rope_parameters, where these are kept by type
};

// The spec of rope: "rope:theta=500000,pairing=halves,scaling=llama3,...". Of both forms of the keys, rope_parameters
// (transformers 5) and rope_theta with rope_scaling, the first wins, with a warning if they differ. The plan's blueprint
// has its sizes already.
std::string rope_spec(const Config& config, ModelPlan& plan, const RopeKeys& keys = {});

// Layers that repeat: the plans, or specs, of all layers cut to their period. A spec is "pattern(...)" unless one is
// enough.
std::vector<LayerPlan> to_period(std::vector<LayerPlan> layers);
std::string pattern_of(std::span<const std::string> specs);

} // namespace ordo
