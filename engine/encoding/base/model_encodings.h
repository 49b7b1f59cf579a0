// SPDX-License-Identifier: MIT
// The encodings of a model: the whole spec, and the encodings that act in each layer.
#pragma once

#include "encoding/base/layer_encodings.h"

#include <optional>

namespace ordo {

// The lengths on which angles may depend, in tokens: the capacity of a session, and the length of its text.
struct Lengths {
    Lengths(int both) : session(both), text(both) {} // NOLINT: sessions that are as long as their text
    Lengths(int of_session, int of_text) : session(of_session), text(of_text) {}
    int session, text;
};

// One summand of a spec: an encoding or a pattern. Layer i has element i modulo the number of elements.
struct EncodingSum {
    std::vector<std::vector<int>> elements; // indices of encodings; without a pattern, one element with one encoding

    const std::vector<int>& in_layer(int layer) const {
        return elements[static_cast<std::size_t>(layer) % elements.size()];
    }
};

// The encodings of one model. Those of a layer are applied left to right.
class ModelEncodings {
public:
    ModelEncodings() = default; // without encodings
    // The same encodings in all layers. Throws Error(usage) for encodings that cannot act together.
    ModelEncodings(std::vector<OwnEncoding> items, const Dims& dims);
    // For encodings that do not shift.
    ModelEncodings(std::vector<OwnEncoding> items, int n_layers)
        : ModelEncodings(std::move(items), Dims{.n_layers = n_layers}) {}
    // Throws Error(usage). With n_layers = 0 the encodings exist, but act in no layer.
    ModelEncodings(std::string_view spec, const Dims& dims);

    std::string spec() const; // canonical; "none" for the empty list
    const Dims& dims() const { return dims_; }
    unsigned moments() const; // of any layer
    bool shifts(Place place) const;
    unsigned reads() const;
    int shift_invariant_below() const; // the minimum over the encodings
    Limits limits() const;             // likewise
    // The ids of a token that encodings derive from the text, of all together. The cache keeps them after the text's.
    int derived_axes() const { return static_cast<int>(axis_of_.size()); }
    std::span<const std::shared_ptr<Encoding>> items() const { return items_; }
    std::span<const int> layers_of_item(int i) const { return placed_[i].layers; }
    // The encodings that act in layer i.
    const LayerEncodings& layer(int i) const {
        static const LayerEncodings none;
        return layers_.empty() ? none : layers_[i];
    }

    // All tensors of all encodings, in order, as stored: "encoding.NAME.TENSOR" or "encoding.NAME.layers.N.TENSOR",
    // NAME being the part of the encoding's spec before ':'.
    std::vector<TensorSpec> tensors() const;
    void bind(std::span<const View> tensors); // in the order of tensors()
    void prepare(int n_positions);
    // The same encodings with the same tensors, made again from the spec that made this stack, and prepared for
    // n_positions. Empty if no spec made it.
    std::optional<ModelEncodings> prepared_for(int n_positions) const;
    // The stack in which encodings that depend on a length are replaced by their versions at it, bound, and prepared
    // for n_positions. Empty if no encoding depends on it.
    std::optional<ModelEncodings> at_length(Lengths lengths, int n_positions) const;
    // The text lengths beyond which at_length() differs in a session of this capacity, ascending.
    std::vector<int> changes_beyond(int capacity) const;
    // Throws Error(usage), naming the encoding and its tensor, if an encoding lacks a gradient that training needs.
    void check_trainable() const;
    // Selects from views in the order of tensors(): those of a layer's encodings, or those of the i-th of items(). The
    // latter has an empty view for each tensor per layer.
    TensorGradients gradients_of_layer(int layer, std::span<const View> all) const;
    std::vector<View> gradients_of_item(int item, std::span<const View> all) const;

    // POSITIONS, of tokens of one sequence in order. ids [n, derived_axes()]: if the sequence goes on, row -1 has those
    // of the token before. Throws Error(limit) for an id out of an encoding's range.
    void derive(std::span<const Token> tokens, bool goes_on, std::uint64_t draw, IdView ids) const;
    // The same for positions of the caller, which all encodings get. row: of ids.
    void take(Positions given, std::size_t i, int* row) const {
        for (std::size_t j = 0; j < axis_of_.size(); ++j) row[j] = given.at(i, axis_of_[j]);
    }

    void embed(View x, const TokenRows& rows) const;
    // Calls the i-th of items(), timed.
    void embed(std::size_t i, View x, const TokenRows& rows) const {
        MomentTimer::call(timer_, moment_embed, [&] { items_[i]->embed(x, own(i, rows)); });
    }
    void embed_backward(std::size_t i, View dx, View x, const TokenRows& rows, const Gradients& grads) const {
        items_[i]->embed_backward(dx, x, own(i, rows), grads);
    }
    Operations embed_operations(const Work& work) const;

    // After this call, this stack and those made from it report each call to the timer; null: stop. The timer
    // must outlive them.
    void time_with(MomentTimer* timer);

private:
    struct Placed {
        std::vector<int> layers; // in which it acts
        int first_tensor;        // index into tensors()
        int ids_at, id_axes;     // as LayerEncodings::Item
    };
    TokenRows own(std::size_t item, const TokenRows& rows) const {
        TokenRows shown = rows;
        if (const Placed& at = placed_[item]; at.id_axes != 0)
            shown.positions = rows.positions.derived(at.ids_at, at.id_axes);
        return shown;
    }
    void place();
    std::vector<int> tensor_indices(std::size_t item, int slot) const;
    void bind_item(std::size_t item);

    std::vector<std::shared_ptr<Encoding>> items_; // these act in the model
    std::vector<std::shared_ptr<Encoding>>
        idle_; // in elements of a pattern that no layer uses; they follow items_ in sums_
    std::vector<EncodingSum> sums_;
    Dims dims_;
    std::vector<Placed> placed_; // for each of items_
    std::vector<int> axis_of_;   // of each derived id: its axis among those of its encoding
    std::vector<LayerEncodings> layers_;
    std::vector<View> bound_; // in the order of tensors()
    MomentTimer* timer_ = nullptr;
    std::string made_from_; // the spec; empty if there was none
};

// For callers that give positions to encodings without a Session, which checks them itself. Throws Error(limit), with
// the encoding's name and both numbers, if the encoding lacks some of positions 0 .. tokens - 1. given: also encodings
// that would derive theirs get them.
void check_reach(const ModelEncodings& encodings, std::int64_t tokens, bool given = false);

} // namespace ordo
