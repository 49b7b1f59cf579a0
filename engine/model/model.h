// SPDX-License-Identifier: MIT
// What a Model is made of, and the ways to make one without a file.
#pragma once

#include "core/tensor.h"
#include "encoding/registry.h"
#include "layers/block.h"
#include "model/blueprint.h"
#include "text/tokenizer.h"

#include <map>

namespace ordo {

using Metadata = std::map<std::string, std::string, std::less<>>;

// The tensors of a model, one after the other in one block of memory, each aligned to 64 bytes.
class TensorBlock {
public:
    TensorBlock() = default;
    // Zeros. Throws Error(usage) for a name twice, a rank other than 1 and 2, or a size out of range.
    explicit TensorBlock(std::vector<TensorSpec> specs);
    // Bytes that such a block takes; the same checks.
    static std::uint64_t bytes(std::span<const TensorSpec> specs);

    std::span<const TensorSpec> specs() const { return specs_; }
    View view(std::size_t i);         // rank 1 as one row
    View view(std::string_view name); // no data if there is none
    std::span<float> values(std::size_t i);

private:
    std::vector<TensorSpec> specs_;
    std::vector<std::size_t> offsets_; // in floats
    std::map<std::string, std::size_t, std::less<>> by_name_;
    Buffer<float> values_;
};

// The tensors of tensor_list() in their places.
struct Weights {
    View embedding; // [vocab, d]
    NormWeights embedding_norm;
    std::vector<BlockWeights> blocks;
    NormWeights final_norm;
    Linear head; // [vocab, d]; the embedding if tied
};

struct Model::Impl {
    std::string where; // the file, for messages
    Blueprint blueprint;
    BlockShape shape; // of every layer
    TensorBlock tensors;
    Weights weights; // views into tensors
    EncodingStack encodings;
    std::unique_ptr<const Tokenizer> tokenizer; // may be none
    Metadata metadata;
};

// tensor_list(blueprint), then those of the encodings.
std::vector<TensorSpec> model_tensors(const Blueprint& blueprint, const EncodingStack& encodings);

// tensors: of model_tensors(), filled. The encodings are bound to them and prepared for the positions
// 0 .. positions - 1.
Model make_model(std::string where, const Blueprint& blueprint, EncodingStack encodings, TensorBlock tensors,
                 std::unique_ptr<const Tokenizer> tokenizer, Metadata metadata, int positions);

// Random weights that keep activations near 1, for tests and benchmarks: matrices uniform with
// variance 1 / columns, vectors of norms around 1, biases around 0. A vocabulary of 257 comes with the
// byte tokenizer, others with none.
Model random_model(const Blueprint& blueprint, EncodingStack encodings, std::uint64_t seed);
Model random_model(const Blueprint& blueprint, std::string_view encoding, std::uint64_t seed);

// Four fifths of the machine's memory, in bytes.
std::uint64_t default_memory_limit();

} // namespace ordo
