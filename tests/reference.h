// SPDX-License-Identifier: MIT
// The oracle: a transformer in double precision and plain loops, written from the papers. It shares only the Blueprint
// and the names of tensors with the engine: no cache, tiles, BLAS or threads. It computes every token against every
// other and asks the mask for each pair.
#pragma once

#include "model/blueprint.h"
#include "tests/oracle.h"

namespace ordo::reference {

struct Input {
    std::vector<Token> tokens;
    std::vector<int> positions; // [tokens, axes]
    std::vector<int> segments;  // one for each token, or empty: 0
    int axes = 1;
    std::vector<int> padding = {}; // one for each token, 1 for padding; empty: no padding
    Matrix memory = {};            // the output of the encoder, [m, d]
    bool given = false;            // the caller gives the positions: no encoding derives its own

    Place place(int token) const {
        const auto first = positions.begin() + static_cast<std::ptrdiff_t>(token) * axes;
        return {first, first + axes};
    }
};

class Transformer {
public:
    // The arguments must outlive this object. Tensors may change between calls.
    Transformer(const Blueprint& blueprint, const Tensors& tensors, const Oracles& oracles)
        : b_(blueprint), tensors_(tensors), oracles_(oracles) {}

    // The hidden states [n, d]: the input of the first layer, then the output of each layer.
    std::vector<Matrix> states(const Input& in) const;

    // The weights of a head, [queries, keys], zero where the mask hides a key.
    Matrix attention_weights(const Input& in, int layer, int head) const;

    // The output of the last layer after the final norm.
    Matrix finished(const Input& in) const;

    // [n, vocab]
    Matrix logits(const Input& in) const;

    // Mean of -log p(target) in nats over the rows whose target is >= 0.
    double loss(const Input& in, const std::vector<Token>& targets) const;

private:
    using States = std::vector<std::vector<Vector>>; // [encoding of the layer][token]
    // The inputs of a head's attention for one query.
    struct HeadInput {
        Head head;
        std::vector<Vector> queries, keys;
        std::vector<std::vector<Place>> places; // [encoding of the layer][token]
        const States* states;

        Side query(std::size_t encoding, std::size_t i) const {
            return {queries[i], places[encoding][i], (*states)[encoding][i]};
        }
        Side key(std::size_t encoding, std::size_t j) const {
            return {keys[j], places[encoding][j], (*states)[encoding][j]};
        }
    };

    const Matrix& tensor(const std::string& name) const { return tensors_.at(name); }
    std::string prefix(int layer) const { // of the names of its weights, which layers may share
        return "layers." + std::to_string(b_.distinct_layers != 0 ? layer % b_.distinct_layers : layer) + ".";
    }
    Matrix linear(const Matrix& x, const std::string& name, bool has_bias) const;
    Matrix norm(const Matrix& x, const std::string& name, const LayerPlan& plan) const;
    Matrix embedding(const Input& in) const;
    Matrix after_layer(const Matrix& x, int layer, const Input& in) const;
    Matrix feed_forward(const Matrix& x, int layer) const;
    Matrix expert(const Matrix& x, const std::string& name, const LayerPlan& plan, int width) const;
    int width_of(const LayerPlan& plan) const { return plan.ffn_width != 0 ? plan.ffn_width : b_.d_ff; }
    Matrix mixture(const Matrix& x, const std::string& name, const LayerPlan& plan) const;
    static bool sees(const LayerPlan& plan, int query, int key);
    static std::vector<std::size_t> seen_by(const LayerPlan& plan, int query, const Input& in);
    Matrix queries_keys_values(const Matrix& x, int layer, const Input& in) const;
    // of: the layer, and the head among those of the role.
    std::vector<Vector> rotated(const Matrix& qkv, int first, Role role, const Head& of, const Input& in,
                                const States& states) const;
    // Rotates a row of one head.
    void rotate(Vector& x, std::size_t token, Role role, const Head& of, const Input& in, const States& states) const;
    // The position of a token for an encoding: one that it derives, or that of the text.
    static Place place(const Oracle& oracle, const Input& in, int token);
    Matrix shifted(const Matrix& x, Stage stage, int layer, const Input& in) const;
    States observed(const Matrix& x, int layer, const Input& in) const;
    HeadInput head_input(const Matrix& x, int layer, int head, const Input& in, const States& states) const;
    Vector weights(const HeadInput& in, std::size_t i, const std::vector<std::size_t>& seen) const;
    Matrix attention(const Matrix& x, int layer, const Input& in) const;
    Matrix cross_attention(const Matrix& x, int layer, const Input& in) const;

    const Blueprint& b_;
    const Tensors& tensors_;
    const Oracles& oracles_;
};

// The encoder's tensors of a model, under the names of a model with a single stack.
Tensors encoder_tensors(const Tensors& all);

} // namespace ordo::reference
