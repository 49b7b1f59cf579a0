// SPDX-License-Identifier: MIT
// The registered encodings: one file each, listed in list.def.
#pragma once

#include "encoding/base/registered.h"

#include <optional>

namespace ordo {

// The moments in the order of a pass, by name and by what they act on.
struct MomentInfo {
    Moment moment;
    std::string_view name, acts_on;
};
inline constexpr MomentInfo moments_of_a_pass[] = {
    {moment_embed, "embed", "embeddings"},         {moment_observe, "observe", "layer inputs"},
    {moment_rotate, "rotate", "queries and keys"}, {moment_bias, "bias", "scores"},
    {moment_rescore, "rescore", "rows of scores"}, {moment_sink, "sink", "softmax"},
    {moment_mix, "mix", "outputs of heads"}};

// One encoding as its file describes it. A file defines `const EncodingInfo NAME_encoding`.
struct EncodingInfo {
    std::string_view name;                                              // as in a spec
    std::string_view summary;                                           // one line
    std::string_view paper;                                             // "Vaswani et al. 2017, arXiv 1706.03762"
    std::string_view formula;                                           // one or more lines
    std::unique_ptr<RegisteredEncoding> (*make)(const Dims&) = nullptr; // with its parameters as they are by default
};

// What an item of a spec names. Throws Error(usage) for sizes that no model has and for parameters that are wrong.
std::unique_ptr<Encoding> make_encoding(const EncodingInfo& info, const SpecItem& item, const Dims& dims);
// The encoding with its default parameters, in a small model.
std::unique_ptr<Encoding> example_of(const EncodingInfo& info);
std::vector<Parameter> parameters_of(const EncodingInfo& info);

// In the order of list.def.
std::span<const EncodingInfo* const> registered_encodings();
// Throws Error(usage) with the names that exist (and the nearest).
const EncodingInfo& find_encoding(std::string_view name);
// Those that a spec names, each once, in its order; those in patterns too. Throws Error(usage).
std::vector<const EncodingInfo*> encodings_named(std::span<const SpecItem> items);

// The moments of an encoding that need a backward: all, but for a bias that reads nothing or a sink, if nothing of them
// is trained.
unsigned backward_moments(const Encoding& encoding);

// Where the gradients of tensors are added to: for each encoding of a layer, a view for each of its tensors().
using TensorGradients = std::vector<std::vector<View>>;

// The encodings that act in one layer, applied left to right. What a call shows of state is that of all of them, and
// each is shown its own columns.
class LayerEncodings {
public:
    unsigned moments() const { return moments_; }
    unsigned backward_moments() const { return backward_; } // of those, what has a backward to be called
    unsigned reads() const { return reads_; }
    int state_floats() const { return state_floats_; } // a token
    bool empty() const { return items_.empty(); }

    void observe(View x, Positions positions, const float* before, View state) const;
    void rotate(View x, const HeadRows& rows) const;
    bool move_keys(View keys, const HeadRows& rows, int by) const; // false, and nothing done, if one cannot
    void bias(View scores, const Tile& tile) const;
    void rescore(View scores, const Tile& tile) const;
    void mix(View out, View weights, const Tile& tile) const;
    float sink(int head) const;                                   // -inf: there is none
    Operations operations(Moment moment, const Work& work) const; // of all of them in this layer

    void observe_backward(View d_state, View x, Positions positions, View state, View dx,
                          const TensorGradients& grads) const;
    void rotate_backward(View dx, View x, const HeadRows& rows, const TensorGradients& grads) const;
    // gradient.tensors is ignored: grads has one list for each encoding.
    void bias_backward(View d_scores, const Tile& tile, const TileGradient& gradient,
                       const TensorGradients& grads) const;
    // scores: before the first rescore().
    void rescore_backward(View d_scores, View scores, const Tile& tile, const TileGradient& gradient,
                          const TensorGradients& grads) const;
    void mix_backward(View d_out, View weights, View d_weights, const Tile& tile, const TileGradient& gradient,
                      const TensorGradients& grads) const;
    void sink_backward(int head, float d_sink, const TensorGradients& grads) const;

private:
    friend class EncodingStack;
    struct Item {
        const Encoding* encoding = nullptr;
        unsigned moments = 0, backward = 0;
        int state_at = 0, state_floats = 0; // its columns
        std::vector<int> tensors = {};      // indices into EncodingStack::tensors()
    };
    class Shown;
    static TileGradient shown(const Item& item, const TileGradient& gradient, std::span<const View> tensors);

    std::vector<Item> items_;
    int layer_ = 0;
    unsigned moments_ = 0, backward_ = 0, reads_ = 0;
    int state_floats_ = 0;
};

// What angles may depend on, in tokens: the room of a session, and the text in it.
struct Lengths {
    Lengths(int both) : session(both), text(both) {} // NOLINT: sessions that are as long as their text
    Lengths(int of_session, int of_text) : session(of_session), text(of_text) {}
    int session, text;
};

// One summand of a spec: an encoding, or a pattern, of which layer i has element i modulo their number.
struct EncodingSum {
    std::vector<std::vector<int>> elements; // indices of encodings; not a pattern: one element of one encoding

    const std::vector<int>& in_layer(int layer) const {
        return elements[static_cast<std::size_t>(layer) % elements.size()];
    }
};

// The encodings of one model: of each layer, applied left to right.
class EncodingStack {
public:
    EncodingStack() = default; // of none
    // The same in all layers. Throws Error(usage) for encodings that cannot act together.
    explicit EncodingStack(std::vector<std::unique_ptr<Encoding>> items, int n_layers);
    // Throws Error(usage). With n_layers = 0 there are encodings, and no layers that they act in.
    EncodingStack(std::string_view spec, const Dims& dims);

    std::string spec() const; // canonical; "none" for the empty list
    const Dims& dims() const { return dims_; }
    unsigned moments() const; // of any layer
    unsigned reads() const;
    bool shift_invariant() const;
    int shift_invariant_below() const;
    int max_position() const; // the least of all
    int max_segment() const;  // likewise
    std::span<const std::shared_ptr<Encoding>> items() const { return items_; }
    std::span<const int> layers_of_item(int i) const { return placed_[static_cast<std::size_t>(i)].layers; }
    // Encodings that act in layer i.
    const LayerEncodings& layer(int i) const {
        static const LayerEncodings none;
        return layers_.empty() ? none : layers_[static_cast<std::size_t>(i)];
    }

    // All tensors of all encodings, in order, as stored: "encoding.NAME.TENSOR" or "encoding.NAME.layers.N.TENSOR", NAME being the
    // part of the encoding's spec before ':'.
    std::vector<TensorSpec> tensors() const;
    void bind(std::span<const View> tensors); // in the order of tensors()
    void prepare(int n_positions);
    // The same with what stands in for some of them at a length: bound, and prepared for n_positions. Empty if none
    // asks for it.
    std::optional<EncodingStack> at_length(Lengths lengths, int n_positions) const;
    // The lengths of a text beyond which at_length() differs, ascending; none if it depends on the session's alone.
    std::vector<int> changes_beyond() const;
    // After bind(). Throws Error(usage) naming an encoding, and a tensor if it is about one, that has no gradient where
    // it needs one.
    void check_trainable() const;
    // Of all views in the order of tensors(), those of a layer's encodings, and those of the i-th of items(): of a
    // tensor per layer an empty one.
    TensorGradients gradients_of_layer(int layer, std::span<const View> all) const;
    std::vector<View> gradients_of_item(int item, std::span<const View> all) const;

    void embed(View x, const TokenRows& rows) const;
    Operations embed_operations(const Work& work) const;

    // The same with others in the places of the encodings, which forward to these: bound and prepared as these are.
    using Wrap = std::function<std::shared_ptr<Encoding>(std::shared_ptr<Encoding>)>;
    EncodingStack wrapped(const Wrap& wrap) const;

private:
    struct Placed {
        std::vector<int> layers; // that it acts in
        int first_tensor;        // of tensors()
    };
    void place();
    std::vector<int> tensor_indices(std::size_t item, int slot) const;
    void bind_item(std::size_t item);

    std::vector<std::shared_ptr<Encoding>> items_; // that act in the model
    std::vector<std::shared_ptr<Encoding>>
        idle_; // in elements of a pattern that no layer has; they follow items_ in sums_
    std::vector<EncodingSum> sums_;
    Dims dims_;
    std::vector<Placed> placed_; // of items_
    std::vector<LayerEncodings> layers_;
    std::vector<View> bound_; // in the order of tensors()
};

} // namespace ordo
