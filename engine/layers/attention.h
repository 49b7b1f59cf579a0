// SPDX-License-Identifier: MIT
// Scaled dot-product attention over a cache (Vaswani et al. 2017, section 3.2), with fewer key/value
// than query heads if asked (Ainslie et al. 2023), forward and backward. It knows the moments at which an encoding
// acts, never the encoding.
#pragma once

#include "encoding/base/stack.h"
#include "layers/kv_cache.h"
#include "layers/program.h"

namespace ordo {

struct AttentionShape {
    int n_heads = 0;
    int n_kv_heads = 0; // query head h reads key/value head h / (n_heads / n_kv_heads)
    int d_head = 0;
    float scale = 0;
    Mask mask = Mask::causal;
    int window = 0;     // keys that a query sees, itself included; 0: all
    float softcap = 0;  // of scaled scores, before the bias; 0: none
    bool cross = false; // keys and values are those of what is remembered, all of which every query sees
};
AttentionShape attention_shape(const Program& program);
AttentionShape cross_attention_shape(const Program& program);
// Of all layers, cross-attention's behind the others: what a stack's scratch must hold.
std::vector<AttentionShape> attention_shapes(std::span<const Program> programs);

using WatchWeights = decltype(Watch::weights);

// Rows of one sequence: the tokens from index first on, before which its cache holds the others. Cross-attention finds
// the keys and values of an encoder's output in `memory`.
struct Part {
    KvCache* cache;
    int first, rows;
    KvCache* memory = nullptr;
    int memory_tokens = 0;
    int visible = 0; // tokens that a bidirectional query sees, padding behind them left out; 0: all
};

// A layer's attention: its shape, the encodings that act in it, and its number.
struct AttentionLayer {
    AttentionShape shape;
    const LayerEncodings& encodings;
    int index;
    const WatchWeights* watch = nullptr;
};

// Memory for the scores of one tile of queries, per thread, and for what its queries gather from spans of
// a long sequence.
class AttentionScratch {
public:
    static constexpr int tile = 24; // queries; a multiple of what the kernels take at once

    AttentionScratch() = default;
    // For any of the layers of a model, whose shapes are given with what their encodings read (bits of Reads), and for
    // as many threads as there are now; more will not be used.
    AttentionScratch(std::span<const AttentionShape> shapes, unsigned reads, int capacity);

    int slots() const { return slots_; }
    View scores(int slot, int rows, int keys); // rows of `keys` in whole vectors
    View keys(int slot, int keys);             // [keys, d_head]; no data if nobody reads them
    std::byte* queries(int slot);              // for multiply_keys() of `tile` queries
    // What some rows gather from a span [rows, d_head], and what each of the spans of a row weighs. A thread's own are
    // `tile` rows from slot * tile on.
    View averages(int first, int rows, int span);
    float* weights(int row);

private:
    // Rows of scores lie as far apart as the keys ask for, and spans further than rows: a long context that a text does
    // not fill is not touched.
    Buffer<float> scores_;        // [slots, tile, columns]
    Buffer<float> keys_;          // [slots, columns, d_head]
    Buffer<std::byte> queries_;   // [slots, query_bytes]
    Buffer<float> averages_;      // [spans, rows, d_head]
    Buffer<float> weights_;       // [rows, spans]
    std::size_t query_bytes_ = 0; // in whole lines of a cache
    int slots_ = 1, columns_ = 0, spans_ = 0, d_head_ = 0, rows_ = 0;
};

// qkv [n, (n_heads + 2 n_kv_heads) * d_head] holds queries, then keys, then values of the rows of the
// parts, one part after the other, all of as many rows. The tokens' positions stand in the caches. Lets encodings
// observe `normed` [n, d_model], rotates queries and keys in place, caches keys and values, and writes what the queries
// gather to out [n, n_heads * d_head].
// A query sees a long sequence in spans of 1,024 keys, which begin at multiples of 1,024 and whose averages are then
// weighed against each other (as Flash-Decoding does, Dao et al. 2023): where heads of a single query are fewer than
// threads, threads share the spans. What is computed depends on the query's index alone, not on what it comes with.
// Where an encoding rescores whole rows there are no spans.
// A causal query sees the tokens of its sequence up to its own index, at most window of them; a
// bidirectional one sees all of them.
// Cross-attention has a shape that says so, and no encodings: qkv [n, n_heads * d_head] holds queries alone, and normed
// no data.
void attention(const AttentionLayer& layer, std::span<const Part> parts, View qkv, View normed,
               AttentionScratch& scratch, View out);

// ---- Backward -------------------------------------------------------------------------------

// Working memory of attention_backward(), of which each (sequence, key/value head) has one thread.
class AttentionGradient {
public:
    AttentionGradient() = default;
    // For sequences of so many tokens, and as many threads as there are now. item_floats: the most that the tensors of
    // one layer's encodings take; state_floats: likewise a token's state.
    AttentionGradient(std::span<const AttentionShape> shapes, int sequences, int length, std::size_t item_floats,
                      int state_floats);

    struct Scratch {                                    // of one thread; T: the length in whole vectors
        float* values_t;                                // [e, T]
        float *weights, *d_weights, *capped, *unscored; // [tile, T] each
        float* keys;                                    // [T, e], for encodings that read keys
    };
    int slots() const { return slots_; } // more threads will not be used
    Scratch of_slot(int slot);
    // What a sequence and key/value head (an item) adds to the gradients, summed up afterwards in a fixed order.
    float* tensors(int item) { return tensors_.data() + static_cast<std::size_t>(item) * item_floats_; }
    float* state(int item) { return states_.data() + static_cast<std::size_t>(item) * state_floats_; }

    int stride() const { return stride_; } // T
    std::ptrdiff_t item_stride() const { return static_cast<std::ptrdiff_t>(item_floats_); }

private:
    int slots_ = 1, stride_ = 0, d_head_ = 0;
    std::size_t scratch_floats_ = 0, item_floats_ = 0, state_floats_ = 0;
    Buffer<float> scratch_, tensors_, states_;
};

// Whole sequences, after attention() of the same rows: qkv rotated, out what was gathered, the caches as it left them.
// d_qkv is overwritten with the gradient of qkv before it was rotated, and the gradient of normed is added to d_normed
// [n, d_model], if encodings observe. grads: of the layer's encodings. The scores are computed again rather than
// kept: no [length, length] matrix outlives its tile. The same bits on any number of threads.
void attention_backward(const AttentionLayer& layer, std::span<const Part> parts, View qkv, View normed, View out,
                        View d_out, AttentionGradient& gradient, View d_qkv, View d_normed,
                        const TensorGradients& grads);
// The same of cross-attention, whose queries q [n, n_heads * d_head] met what the parts' memories were made of: keys
// and values kv [parts * m, 2 n_kv_heads * d_head]. d_q and d_kv are overwritten.
void cross_attention_backward(const AttentionLayer& layer, std::span<const Part> parts, View q, View kv, View out,
                              View d_out, AttentionGradient& gradient, View d_q, View d_kv);

} // namespace ordo
