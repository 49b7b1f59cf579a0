// SPDX-License-Identifier: MIT
// The encodings of one layer, as attention calls them.
#pragma once

#include "core/timer.h"
#include "encoding/base/moments.h"

namespace ordo {

// Gradients of tensors, to which a backward adds. For each encoding of a layer: a view for each of its tensors().
using TensorGradients = std::vector<std::vector<View>>;

// Observes each call of a moment in a pass, with its time (`ordo bench`). Many threads call it at once.
class MomentTimer {
public:
    virtual ~MomentTimer() = default;
    virtual void add(Moment moment, Clock::duration time) = 0;

    // Makes a call, and reports it to the timer if there is one.
    template <class Call>
    static void call(MomentTimer* timer, Moment moment, const Call& call) {
        if (!timer) return call();
        const Clock::time_point start = Clock::now();
        call();
        timer->add(moment, Clock::now() - start);
    }
};

// The encodings that act in one layer, applied left to right, factors of the queries last. A call gets the state of all
// of them and gives each encoding its own columns. The columns that the cache keeps come first.
class LayerEncodings {
public:
    unsigned moments() const { return moments_; }
    unsigned backward_moments() const { return backward_; } // the moments whose backward must be called
    unsigned reads() const { return reads_; }
    bool reads_states() const { return (reads_ & (reads_state | reads_query_state)) != 0; }
    bool rotates(Role role) const { return (roles_ & bit(role)) != 0; }
    int state_floats() const { return state_floats_; }       // for each token
    int kept_floats() const { return kept_floats_; }         // the first of them, which the cache keeps
    int observed_floats() const { return observed_floats_; } // the first of those, which OBSERVE writes
    bool shifts(Place place) const { return (places_ & bit(place)) != 0; }
    int shift_rows() const { return shift_rows_; }
    bool empty() const { return items_.empty(); }

    void observe(View x, Positions positions, const float* before, View state) const;
    bool observes_in_loops() const { return all_that_act(moment_observe, &Encoding::observes_in_loops); }
    // SHIFT, by one encoding after the other. x [n, cols]: some rows of a sequence. states [before + n, kept_floats()]:
    // of rows before them, and of them. All rows of the sequence have to be kept before any is shifted.
    int count() const { return static_cast<int>(items_.size()); }
    bool shifts(int item, Place place) const { return (items_[item].places & bit(place)) != 0; }
    const Encoding& item(int i) const { return *items_[i].encoding; }
    void keep_inputs(int item, View x, Place place, View states) const;
    void shift(int item, View x, Place place, View states) const;
    void rotate(View x, const HeadRows& rows) const;
    bool can_move_keys() const;
    void move_keys(View keys, const HeadRows& rows, int by) const;
    void bias(View scores, const Tile& tile) const;
    bool rescores_tiles() const { return all_that_act(moment_rescore, &Encoding::rescores_tiles); }
    bool passes_rescored() const; // whether an encoding has both RESCORE and SINK
    void rescore(View scores, const Tile& tile) const;
    void mix(View out, View weights, const Tile& tile) const;
    float sink(const Tile& query) const;                          // -inf if there is none
    Operations operations(Moment moment, const Work& work) const; // sum over the encodings of this layer

    void observe_backward(View d_state, View x, Positions positions, View state, View dx,
                          const TensorGradients& grads) const;
    void rotate_backward(View dx, View x, const HeadRows& rows, View d_state, const TensorGradients& grads) const;
    // states: of the whole sequence. tensors: the gradients of the item's.
    void shift_backward(int item, View dx, Place place, View states, std::span<const View> tensors) const;
    // gradient.tensors is ignored: grads has one list for each encoding.
    void bias_backward(View d_scores, const Tile& tile, const Gradients& gradient, const TensorGradients& grads) const;
    // scores: before the first rescore().
    void rescore_backward(View d_scores, View scores, const Tile& tile, const Gradients& gradient,
                          const TensorGradients& grads) const;
    void mix_backward(View d_out, View weights, View d_weights, const Tile& tile, const Gradients& gradient,
                      const TensorGradients& grads) const;
    void sink_backward(float d_sink, const Tile& query, const Gradients& gradient, const TensorGradients& grads) const;

private:
    friend class ModelEncodings;
    struct Item {
        const Encoding* encoding = nullptr;
        unsigned moments = 0, backward = 0, roles = 0; // roles: the bits of those that it rotates
        bool keeps_state = true, scales_queries = false;
        int state_at = 0, state_floats = 0;        // its columns
        unsigned places = 0;                       // the bits of those at which it shifts
        int inputs_at[std::size(all_places)] = {}; // its columns for the inputs of SHIFT
        int ids_at = 0, id_axes = 0;               // of the ids that it derives, behind the text's; 0: none
        std::vector<int> tensors = {};             // indices into ModelEncodings::tensors()

        View own(View states) const; // its columns; no data if there are none
        View own_keys(View states) const { return keeps_state ? own(states) : View{}; }
        Positions own(Positions positions) const {
            return id_axes == 0 ? positions : positions.derived(ids_at, id_axes);
        }
        HeadRows own(const HeadRows& rows) const;
    };
    class Shown;
    static unsigned bit(Role role) { return 1U << static_cast<unsigned>(role); }
    static unsigned bit(Place place) { return 1U << static_cast<unsigned>(place); }
    void add(Item item);
    void arrange(const Dims& dims); // after all have been added
    ShiftRows shift_rows_of(const Item& item, Place place, View states, int cols, int rows) const;
    // Calls call(item), timed, for each encoding that acts at the moment.
    template <class Call>
    void each(Moment moment, const Call& call) const {
        for (const Item& item : items_)
            if (item.moments & moment) MomentTimer::call(timer_, moment, [&] { call(item); });
    }
    bool all_that_act(Moment moment, bool (Encoding::*can)() const) const;
    static Gradients shown(const Item& item, const Gradients& gradient, std::span<const View> tensors);

    std::vector<Item> items_;
    MomentTimer* timer_ = nullptr;
    int layer_ = 0;
    unsigned moments_ = 0, backward_ = 0, reads_ = 0, roles_ = 0, places_ = 0;
    int state_floats_ = 0, kept_floats_ = 0, observed_floats_ = 0, shift_rows_ = 0;
};

} // namespace ordo
