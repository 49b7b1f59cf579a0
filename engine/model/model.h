// SPDX-License-Identifier: MIT
// What a Model is made of, and the ways to make one without a file.
#pragma once

#include "core/tensor.h"
#include "encoding/base/stack.h"
#include "layers/layer.h"
#include "model/blueprint.h"
#include "model/text_side.h"

#include <map>
#include <mutex>

namespace ordo {

using Metadata = std::map<std::string, std::string, std::less<>>;

// The tensors of a model, side by side in large pieces of memory. Matrices of layers are packed one by one, so that a
// model never takes twice its memory.
class TensorMemory {
public:
    TensorMemory() = default;
    // Zeros, all f32. Throws Error(usage) for a name twice, a rank other than 1 and 2, or a size out of
    // range.
    explicit TensorMemory(std::vector<TensorSpec> specs);
    // One type for each; memory comes when values() asks for it.
    TensorMemory(std::vector<TensorSpec> specs, const std::vector<WeightType>& types);
    // Bytes of the values as floats; the same checks.
    static std::uint64_t bytes(std::span<const TensorSpec> specs);

    std::span<const TensorSpec> specs() const { return specs_; }
    std::span<float> values(std::size_t i); // of a tensor that is not packed, until it is: make_model() packs
    View view(std::size_t i);               // the same; rank 1 as one row
    View view(std::string_view name);       // no data if there is none
    Matrix matrix(std::string_view name);
    // Bytes that a tensor takes in memory; 0 if there is none.
    std::uint64_t held_bytes(std::string_view name) const;
    // A copy of tensor i as floats, packed or not.
    void read(std::size_t i, std::span<float> out) const;

    // Turns the values of tensor i into panels of its type, and frees them; nothing where packs() says no, or that is
    // done. Throws Error(model) for a weight that the type cannot hold.
    void pack(std::size_t i, const std::string& where);
    // The same from rows of that type as a file holds them, which stay what they are.
    void pack_blocks(std::size_t i, std::span<const std::byte> rows);
    // Memory for a tensor of one type, or of blocks of several, that Matrix::pack_blocks() then fills.
    const Matrix& start_blocks(std::size_t i, const std::vector<TypedRows>& bands);

private:
    struct Entry {
        WeightType type = WeightType::f32;
        std::span<float> values;
        Buffer<float> staged; // values that will be packed
        Matrix packed;        // empty until then
    };
    std::byte* take(std::size_t bytes);
    Matrix packed_memory(std::size_t i);

    std::vector<TensorSpec> specs_;
    std::vector<Entry> entries_;
    std::map<std::string, std::size_t, std::less<>> by_name_;
    std::vector<Buffer<std::byte>> pieces_;
    std::size_t used_ = 0; // of the last piece
};

// The type that a tensor gets in a model of weights of the type asked for: vectors and an encoding's own
// stay f32; rows that blocks of 32 do not divide are f16 instead; beside types in blocks of 32 the embedding and the
// head, which matter most and are a small part of a large model, are q8_0, beside those of 256 q6_K. Where blocks of
// 256 do not divide rows, the type that llama.cpp's quantiser takes instead stands in: q4_0 for q2_K and q3_K, q5_0 for
// q4_K, q5_1 for q5_K, q8_0 for q6_K, iq4_nl for iq4_xs.
WeightType type_within(WeightType wanted, const TensorSpec& spec);
// Whether a tensor of that type is packed in panels: all that is not f32, and of f32 the matrices that fill one. What
// an encoding owns it reads row by row.
bool packs(WeightType type, const TensorSpec& spec);
// Bytes that a tensor of a type takes.
std::uint64_t packed_bytes(WeightType type, const TensorSpec& spec);
// Bytes of a model's tensors in the types that type_within() gives them.
std::uint64_t packed_bytes(std::span<const TensorSpec> specs, WeightType type);

// The tensors of tensor_list() in their places: those of one stack of layers.
struct Weights {
    LayerWeights enter, finish, head; // of the programs of those names
    std::vector<LayerWeights> layers;

    const Matrix& embedding() const {
        return enter.linears.front().weight;
    }                          // [vocab, d], or as wide as the blueprint says
    bool convert_rows() const; // whether products may want their rows in another form than floats
    bool any(WeightType type) const;
};
inline constexpr const char* encoder_prefix = "encoder."; // of the names of an encoder's own tensors

// matrix(name) and view(name) find them; the second gives a view without data for what is not there. prefix: nothing,
// or an encoder's, which shares its matrices outside of layers.
template <class FindMatrix, class FindView>
Weights find_weights(const StackProgram& program, const std::string& prefix, const FindMatrix& matrix,
                     const FindView& view) {
    const auto own = [&](const std::string& name) { return view(prefix + name); };
    Weights w{layer_weights(program.enter, "", matrix, own),
              layer_weights(program.finish, "", matrix, own),
              layer_weights(program.head, "", matrix, own),
              {}};
    for (int i = 0; i < program.n_layers(); ++i)
        w.layers.push_back(layer_weights(program.layer(i), prefix + "layers." + std::to_string(i) + ".", matrix, view));
    return w;
}

// How the model's files say that a text becomes a vector: by the pooling that is given, theirs, or the mean; scaled to
// length 1 unless they say otherwise. Throws Error(model) for a pooling of theirs that there is not.
EmbedOptions embed_options(const Model& model, std::optional<Pooling> pooling = {});

struct Stack;
// Refuses a model that has no logits. Throws Error(usage).
void expect_head(const Stack& model);

// Layers upon each other, from the embedding on: all that a Pass needs.
struct Stack {
    std::string where; // the file, for messages
    Blueprint blueprint;
    StackProgram program;
    Weights weights; // views into the model's tensors
    EncodingStack encodings;

    // Encodings for sessions and texts of those lengths: those above, or what stands in for them, shared where they are
    // the same.
    std::shared_ptr<const EncodingStack> encodings_for(Lengths lengths) const;

    int prepared = 0; // positions that the encodings are prepared for

    mutable std::mutex stand_ins_guard;                                          // of:
    mutable std::map<std::string, std::weak_ptr<const EncodingStack>> stand_ins; // by spec
};

struct Model::Impl : Stack {
    TensorMemory tensors;
    std::unique_ptr<Stack> encoder;             // may be none
    std::unique_ptr<const Tokenizer> tokenizer; // may be none
    SpecialTokens special;
    std::optional<Sampling> sampling; // that its files recommend
    Metadata metadata;
};

// What a Model is made of: for the library's own parts, and for programs beside it.
struct ModelAccess {
    // Throws Error(usage) for a model that was moved from.
    static const Model::Impl& of(const Model& model);
};
inline const Model::Impl& impl_of(const Model& model) {
    return ModelAccess::of(model);
}

// Whether a tensor of that name belongs to an encoding.
bool of_encoding(std::string_view name);

// tensor_list(blueprint), then those of the encodings, and of an encoder's, which are by the same spec.
std::vector<TensorSpec> model_tensors(const Blueprint& blueprint, const EncodingStack& encodings);

// tensors: of model_tensors(), filled; what is not packed yet is packed here. The encodings are bound to them and
// prepared for the positions 0 .. positions - 1.
Model make_model(std::string where, const Blueprint& blueprint, EncodingStack encodings, TensorMemory tensors,
                 TextSide text, Metadata metadata, int positions);

// Random weights that keep activations near 1, for tests and benchmarks: matrices uniform with
// variance 1 / columns, vectors of norms around 1, biases around 0. A vocabulary of 257 comes with the
// byte tokenizer, others with none.
Model random_model(const Blueprint& blueprint, EncodingStack encodings, std::uint64_t seed,
                   WeightType type = WeightType::f32);
Model random_model(const Blueprint& blueprint, std::string_view encoding, std::uint64_t seed,
                   WeightType type = WeightType::f32);

// Four fifths of the memory that this process may use (io/control_group.h), in bytes.
std::uint64_t default_memory_limit();

} // namespace ordo
