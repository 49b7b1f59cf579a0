// SPDX-License-Identifier: MIT
// The parts of a Model, and the ways to make one without a file.
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

// The tensors of a model, in large pieces of memory. Matrices of layers are packed one by one, so that a model never
// takes twice its memory.
class TensorMemory {
public:
    TensorMemory() = default;
    // Zeros, all f32. Throws Error(usage) for a duplicate name, a rank other than 1 and 2, or a size out of range.
    explicit TensorMemory(std::vector<TensorSpec> specs);
    // One type for each tensor. values() allocates the memory.
    TensorMemory(std::vector<TensorSpec> specs, const std::vector<WeightType>& types);
    // Bytes of the values as floats; the same checks.
    static std::uint64_t bytes(std::span<const TensorSpec> specs);

    std::span<const TensorSpec> specs() const { return specs_; }
    std::span<float> values(std::size_t i); // of a tensor that is not packed yet; make_model() packs
    View view(std::size_t i);               // the same; rank 1 as one row
    View view(std::string_view name);       // no data if it is missing
    Matrix matrix(std::string_view name);
    // The memory of a tensor in bytes; 0 if it is missing. Without a name, of all tensors.
    std::uint64_t held_bytes(std::string_view name) const;
    std::uint64_t held_bytes() const;
    // A copy of tensor i as floats, packed or not; or of a tensor that is there by its name.
    void read(std::size_t i, std::span<float> out) const;
    void read(std::string_view name, std::span<float> out) const { read(by_name_.find(name)->second, out); }
    const TensorSpec* find(std::string_view name) const; // null: there is none

    // Packs the values of tensor i into panels of its type, and frees them. Does nothing if packs() is false, or if
    // they are packed already. Throws Error(model) for a weight that the type cannot hold.
    void pack(std::size_t i, const std::string& where);
    // The same from rows of that type in a file's layout, without conversion.
    void pack_blocks(std::size_t i, std::span<const std::byte> rows);
    // Allocates a tensor of one type, or of several block types, which Matrix::pack_blocks() then fills.
    const Matrix& start_blocks(std::size_t i, const std::vector<TypedRows>& bands);

private:
    struct Entry {
        WeightType type = WeightType::f32;
        std::span<float> values;
        Buffer<float> staged; // values that will be packed
        Matrix packed;        // empty until then

        std::uint64_t bytes() const { return packed.packed() ? packed.bytes() : values.size_bytes(); }
    };
    std::byte* take(std::size_t bytes);
    Matrix packed_memory(std::size_t i);

    std::vector<TensorSpec> specs_;
    std::vector<Entry> entries_;
    std::map<std::string, std::size_t, std::less<>> by_name_;
    std::vector<Buffer<std::byte>> pieces_;
    std::size_t used_ = 0; // of the last piece
};

// The type of a tensor in a model whose weights have the wanted type. Vectors and the tensors of encodings stay f32.
// Rows that blocks of 32 do not divide are f16 instead. The embedding and the head matter most and are a small part of
// a large model: with types in blocks of 32 they are q8_0, with blocks of 256 q6_K. Rows that blocks of 256 do not
// divide get the type that llama.cpp's quantiser uses: q4_0 for q2_K and q3_K, q5_0 for q4_K, q5_1 for q5_K, q8_0 for
// q6_K, iq4_nl for iq4_xs.
WeightType type_within(WeightType wanted, const TensorSpec& spec);
// Whether a tensor of that type is packed in panels. These are all tensors that are not f32, and f32 matrices that fill
// a panel, except the tensors of encodings, which are read by rows.
bool packs(WeightType type, const TensorSpec& spec);
// The bytes of a tensor of a type.
std::uint64_t packed_bytes(WeightType type, const TensorSpec& spec);
// The bytes of a model's tensors in the types of type_within().
std::uint64_t packed_bytes(std::span<const TensorSpec> specs, WeightType type);

// The tensors of tensor_list() for one stack of layers, by their use.
struct Weights {
    LayerWeights enter, finish, head; // of the programs of these names
    std::vector<LayerWeights> layers;

    const Matrix& embedding() const {
        return enter.linears.front().weight;
    }                          // [vocab, d], or of the blueprint's embedding_width
    bool convert_rows() const; // whether products may need their rows in another form than floats
    bool any(WeightType type) const;
};
inline constexpr const char* encoder_prefix = "encoder."; // of the names of an encoder's own tensors

// Finds the tensors by matrix(name) and view(name); view() returns a view without data for a missing tensor. prefix:
// empty, or encoder_prefix; an encoder shares its matrices outside of layers.
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

// How a text becomes a vector, by the model's files. Uses the given pooling, else that of the files, else the mean.
// Scales the vector to length 1, unless the files say otherwise. Throws Error(model) for an unknown pooling in the
// files.
EmbedOptions embed_options(const Model& model, std::optional<Pooling> pooling = {});

struct Stack;
// Throws Error(usage) for a model without logits.
void expect_head(const Stack& model);

// Encodings for sessions and texts of some length.
struct EncodingsAtLength {
    std::shared_ptr<const EncodingStack> encodings;
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
    EncodingStack encodings;

    // The model's own encodings, or their versions at these lengths, with tables for so many positions or more, up to
    // most_prepared. Equal ones are shared. The longest tables of the own encodings stay as long as the model.
    EncodingsAtLength encodings_for(Lengths lengths, std::int64_t positions = 0) const;

    int prepared = 0; // positions for which the encodings are prepared

    mutable std::mutex stand_ins_guard;                  // guards:
    mutable std::shared_ptr<const EncodingStack> longer; // the own encodings with longer tables; may be none
    mutable int longer_prepared = 0;
    struct StandIn {
        std::weak_ptr<const EncodingStack> encodings;
        int prepared = 0;
    };
    mutable std::map<std::string, StandIn> stand_ins; // versions at a length, by spec
};

struct Model::Impl : Stack {
    std::shared_ptr<TensorMemory> tensors;      // shared with the same weights under other encodings
    TensorMemory lacking;                       // tensors of the encodings that those lack
    std::unique_ptr<Stack> encoder;             // may be none
    std::shared_ptr<const Tokenizer> tokenizer; // may be none
    SpecialTokens special;
    std::optional<Sampling> sampling; // recommended by its files
    Metadata metadata;

    // A copy of a tensor as floats.
    void read(std::string_view name, std::span<float> out) const {
        (lacking.find(name) ? lacking : *tensors).read(name, out);
    }
};

// The implementation of a Model, for the library's own parts and for related programs.
struct ModelAccess {
    // Throws Error(usage) for a model that was moved from.
    static const Model::Impl& of(const Model& model);
};
inline const Model::Impl& impl_of(const Model& model) {
    return ModelAccess::of(model);
}

// Whether a tensor of that name belongs to an encoding.
bool of_encoding(std::string_view name);

// tensor_list(blueprint), then the tensors of the encodings, and of an encoder's encodings, which have the same spec.
std::vector<TensorSpec> model_tensors(const Blueprint& blueprint, const EncodingStack& encodings);

// tensors: of model_tensors(), filled; packs those that are not packed yet. Binds the encodings to them, and prepares
// them for positions 0 .. positions - 1.
Model make_model(std::string where, const Blueprint& blueprint, EncodingStack encodings, TensorMemory tensors,
                 TextSide text, Metadata metadata, int positions);
// The same weights in memory with other encodings, of which tensors that they lack have their initial values.
Model with_encodings(const Model::Impl& model, EncodingStack encodings);

// Random weights that keep activations near 1, for tests and benchmarks. Matrices are uniform with variance 1 /
// columns, vectors of norms around 1, biases around 0. A vocabulary of 257 comes with the byte tokenizer, any other
// without one.
Model random_model(const Blueprint& blueprint, EncodingStack encodings, std::uint64_t seed,
                   WeightType type = WeightType::f32);
Model random_model(const Blueprint& blueprint, std::string_view encoding, std::uint64_t seed,
                   WeightType type = WeightType::f32);

// Four fifths of the memory available to this process (io/control_group.h), in bytes.
std::uint64_t default_memory_limit();

} // namespace ordo
