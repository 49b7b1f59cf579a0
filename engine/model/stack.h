// SPDX-License-Identifier: MIT
// The parts of a Model, and the ways to make one without a file. Other parts of the library and related programs read a
// Model through model_access.h.
#pragma once

#include "layers/layer.h"
#include "model/model_access.h"
#include "model/tensor_memory.h"

#include <map>
#include <mutex>

namespace ordo {

// The tensors of tensor_list() for one stack of layers.
struct Weights : StackTensors<LayerWeights> {
    const Matrix& embedding() const {
        return enter.linears.front().weight;
    }                          // [vocab, d], or of the blueprint's embedding_width
    bool convert_rows() const; // whether products may need their rows in another form than floats
    bool any(WeightType type) const;
};

// Throws Error(usage) for a model without logits.
void expect_head(const Stack& model);

// Encodings for sessions and texts of some length.
struct EncodingsAtLength {
    std::shared_ptr<const ModelEncodings> encodings;
    int positions = 0;  // with tables
    std::string angles; // equal for encodings of one stack that compute the same
};

inline constexpr std::int64_t most_prepared = 1 << 16; // positions, if a text needs more than the file's context

// A stack of layers, from the embedding on, with everything that a Pass needs.
struct Stack {
    std::string where; // the file, for messages
    Blueprint blueprint;
    StackProgram program;
    Weights weights; // views into the model's tensors
    ModelEncodings encodings;

    // The model's own encodings, or their versions at these lengths, with tables for so many positions or more, up to
    // most_prepared. Equal ones are shared. The longest tables of the own encodings stay as long as the model.
    EncodingsAtLength encodings_for(Lengths lengths, std::int64_t positions = 0) const;

    int prepared = 0; // positions for which the encodings are prepared

    mutable std::mutex stand_ins_guard;                   // guards:
    mutable std::shared_ptr<const ModelEncodings> longer; // the own encodings with longer tables; may be none
    mutable int longer_prepared = 0;
    struct StandIn {
        std::weak_ptr<const ModelEncodings> encodings;
        int prepared = 0;
    };
    mutable std::map<std::string, StandIn> stand_ins; // versions at a length, by spec
};

struct Model::Impl : Stack {
    std::shared_ptr<TensorMemory> tensors;      // shared with the same weights under other encodings
    TensorMemory lacking;                       // tensors of the encodings that those lack
    std::unique_ptr<Stack> encoder;             // may be none
    std::vector<Linear> dense;                  // of the blueprint's dense layers
    std::shared_ptr<const Tokenizer> tokenizer; // may be none
    SpecialTokens special;
    std::optional<Sampling> sampling; // recommended by its files
    Metadata metadata;

    // A copy of a tensor as floats.
    void read(std::string_view name, std::span<float> out) const {
        (lacking.find(name) ? lacking : *tensors).read(name, out);
    }
};

// The implementation of a Model. Throws Error(usage) for one that was moved from.
const Model::Impl& impl_of(const Model& model);

// tensors: of model_tensors(), filled; packs those that are not packed yet. Binds the encodings to them, and prepares
// them for positions 0 .. positions - 1.
Model make_model(std::string where, const Blueprint& blueprint, ModelEncodings encodings, TensorMemory tensors,
                 TextSide text, Metadata metadata, int positions);
// The same weights in memory with other encodings, of which tensors that they lack have their initial values.
Model with_encodings(const Model::Impl& model, ModelEncodings encodings);

} // namespace ordo
