// SPDX-License-Identifier: MIT
// Scaled dot-product attention over a cache (Vaswani et al. 2017, section 3.2), forward and backward, optionally with
// fewer key/value heads than query heads (Ainslie et al. 2023). It knows the moments at which an encoding acts, but no
// encoding.
#pragma once

#include "core/parallel.h"
#include "encoding/base/model_encodings.h"
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
    bool cross = false; // attend to all keys and values of an encoder's output
};
AttentionShape attention_shape(const Program& program);
AttentionShape cross_attention_shape(const Program& program);
// The shapes of all layers, then those of their cross-attention: a stack's scratch must hold all of them.
std::vector<AttentionShape> attention_shapes(std::span<const Program> programs);

// Rows of one sequence: the tokens from index first on, before which its cache holds the others. Cross-attention finds
// the keys and values of an encoder's output in `memory`.
struct Part {
    KvCache* cache;
    int first, rows;
    KvCache* memory = nullptr;
    int memory_tokens = 0;
    int visible = 0; // tokens that a bidirectional query sees, without the padding after them; 0: all
};

// A layer's attention: its shape, the encodings that act in it, and its number.
struct AttentionLayer {
    AttentionShape shape;
    const LayerEncodings& encodings;
    int index;
    const Watch* watch = nullptr;  // of weights or scores
    View q_norm = {}, k_norm = {}; // weights of norms after the rotation; no data: none
    float norm_eps = 0;
};

// Memory of each thread for the scores of one tile of queries, and for the averages of a long sequence's chunks.
class AttentionScratch {
public:
    static constexpr int tile = 24; // queries; a multiple of the rows that the kernels take at once

    AttentionScratch() = default;
    // For any layer of a model. Takes the shapes of the layers, the values that their encodings read (bits of Reads),
    // and the current number of threads, which is then the maximum. passing_floats: the most floats of the states of a
    // pass's rows in a layer whose encodings have states that the cache does not keep.
    AttentionScratch(std::span<const AttentionShape> shapes, unsigned reads, int capacity,
                     std::size_t passing_floats = 0);

    int slots() const { return slots_; }
    View scores(int slot, int rows, int keys);                          // rows of `keys` in whole vectors
    View keys(int slot, int keys);                                      // [keys, d_head]; no data if nobody reads them
    std::byte* queries(int slot);                                       // for multiply_keys() of `tile` queries
    void keep_unbiased() { unbiased_ = Buffer<float>(scores_.size()); } // for unbiased()
    View unbiased(int slot, int rows, int keys);                        // a place for a copy of scores
    // What some rows gather from a span [rows, d_head], and what each of the spans of a row weighs. A thread's own are
    // `tile` rows from slot * tile on.
    View averages(int first, int rows, int span);
    float* weights(int row);
    // [rows, floats], the states of a pass's rows; no data if the cache keeps all states.
    View states(int rows, int floats) {
        return states_.size() == 0 ? View{} : View{states_.data(), rows, floats, floats};
    }

private:
    // The distance between rows of scores depends on the number of keys, and chunks are further apart than rows. A
    // short text in a long context therefore leaves most of this memory untouched.
    Buffer<float> scores_;        // [slots, tile, columns]
    Buffer<float> unbiased_;      // the same, or none
    Buffer<float> keys_;          // [slots, columns, d_head]
    Buffer<std::byte> queries_;   // [slots, query_bytes]
    Buffer<float> averages_;      // [spans, rows, d_head]
    Buffer<float> weights_;       // [rows, spans]
    Buffer<float> states_;        // of the rows of a pass
    std::size_t query_bytes_ = 0; // in whole lines of a cache
    int slots_ = 1, columns_ = 0, spans_ = 0, d_head_ = 0, rows_ = 0;
};

// qkv [n, (n_heads + 2 n_kv_heads) * d_head] holds the queries, then keys, then values of the rows. All sequences of
// the batch have equally many rows, one sequence after another. The caches hold the tokens' positions. Lets encodings
// observe `normed` [n, d_model], rotates queries, keys and values in place, caches keys and values, and writes the
// weighted sums of values to out [n, n_heads * d_head], rotated where an encoding does so.
// A query attends to a long sequence in chunks of 1,024 keys, which begin at multiples of 1,024. Their averages are
// then weighted against each other, as in Flash-Decoding (Dao et al. 2023). If a single query has fewer heads than
// there are threads, threads share its chunks. The result depends on the query's index alone, not on the rest of the
// batch. If an encoding rescores whole rows, there are no chunks.
// A causal query attends to the tokens of its sequence up to its own index, at most `window` of them. A bidirectional
// query attends to all of them, or to window / 2 on each side.
// Cross-attention has shape.cross and no encodings: qkv [n, n_heads * d_head] holds queries alone, and normed has no
// data.
// then: called on one thread after out is complete.
void attention(const AttentionLayer& layer, std::span<const Part> parts, View qkv, View normed,
               AttentionScratch& scratch, View out, const Then& then = {});
// Whether attend_head() may compute this row, and threads share the key/value heads evenly. Not for encodings with
// states, or that observe.
bool attends_by_heads(const AttentionLayer& layer, const Part& part, const AttentionScratch& scratch);
// The part of attention() for a single row that has the query heads of one key/value head.
void attend_head(const AttentionLayer& layer, const Part& part, View qkv, int kv_head, AttentionScratch& scratch,
                 int slot, View out);

// ---- Backward -------------------------------------------------------------------------------

// Working memory of attention_backward(). Each (sequence, key/value head) has one thread.
class AttentionGradient {
public:
    AttentionGradient() = default;
    // For sequences of so many tokens, and the current number of threads. item_floats: the maximum size of the tensors
    // of one layer's encodings. state_floats: the maximum size of a token's state.
    AttentionGradient(std::span<const AttentionShape> shapes, int sequences, int length, std::size_t item_floats,
                      int state_floats);

    struct Scratch {                                    // of one thread; T: the length in whole vectors
        float* values_t;                                // [e, T]
        float *weights, *d_weights, *capped, *unscored; // [tile, T] each
        std::byte* queries;                             // for multiply_keys() of `tile` rows
        float* keys;                                    // [T, e], for encodings that read keys
    };
    int slots() const { return slots_; } // the maximum number of threads
    Scratch of_slot(int slot);
    // The gradients from one (sequence, key/value head), an item. They are summed afterwards in a fixed order.
    float* tensors(int item) { return tensors_.data() + static_cast<std::size_t>(item) * item_floats_; }
    float* state(int item) { return states_.data() + static_cast<std::size_t>(item) * state_floats_; }

    int stride() const { return stride_; } // T
    std::ptrdiff_t item_stride() const { return static_cast<std::ptrdiff_t>(item_floats_); }

private:
    int slots_ = 1, stride_ = 0, d_head_ = 0;
    std::size_t scratch_floats_ = 0, item_floats_ = 0, state_floats_ = 0;
    Buffer<float> scratch_, tensors_, states_;
};

// For whole sequences, after attention() of the same rows: with qkv rotated, out, and the caches unchanged, which keep
// all states. Overwrites d_qkv with the gradient of qkv before its rotation. If encodings observe, adds the gradient of
// normed to d_normed [n, d_model]. If they rotate outputs, d_out becomes the gradient before that. grads: of the
// layer's encodings. The scores are recomputed: no [length, length] matrix is stored beyond its tile. The bits are the
// same for any number of threads.
void attention_backward(const AttentionLayer& layer, std::span<const Part> parts, View qkv, View normed, View out,
                        View d_out, AttentionGradient& gradient, View d_qkv, View d_normed,
                        const TensorGradients& grads);
// The same for cross-attention. Its queries q [n, n_heads * d_head] attended to kv [sequences * m, 2 n_kv_heads *
// d_head], the keys and values in the memories. Overwrites d_q and d_kv.
void cross_attention_backward(const AttentionLayer& layer, std::span<const Part> parts, View q, View kv, View out,
                              View d_out, AttentionGradient& gradient, View d_q, View d_kv);

} // namespace ordo
