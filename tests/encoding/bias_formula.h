// SPDX-License-Identifier: MIT
// Compares a single encoding, without a model, with the formula of its paper: the bias that it adds and the gradients
// of its tensors.
#pragma once

#include "core/random.h"
#include "core/tensor.h"
#include "encoding/base/initial.h"
#include "ordo.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ordo {

// The tensors of one layer in double, in the order of Encoding::tensors().
using LayerParameters = std::vector<std::vector<double>>;
// The bias of a head for a query at position i and a key at j.
using BiasFormula = std::function<double(const LayerParameters&, int head, int i, int j)>;

// The one encoding of a spec, with its own tensors, bound in every layer and prepared.
class BoundEncoding {
public:
    BoundEncoding(const std::string& spec, const Dims& dims, int n_positions = 0)
        : dims_(dims), n_positions_(n_positions), encoding_(std::move(make_encodings(spec, dims).at(0))) {
        std::uint64_t stream = 0;
        for (int layer = 0; layer < dims.n_layers; ++layer) {
            tensors_.emplace_back();
            for (const TensorSpec& tensor : encoding_->tensors()) {
                if (!tensor.per_layer && layer > 0) continue;
                Tensor& made = tensors_.back().emplace_back(empty(tensor));
                fill_initial(tensor, {made.data(), made.size()}, 7, ++stream);
            }
        }
        prepare(n_positions);
    }

    Encoding& operator*() const { return *encoding_; }
    Encoding* operator->() const { return encoding_.get(); }
    const Dims& dims() const { return dims_; }

    // Prepares as the model does after a training step.
    void prepare(int n_positions) {
        for (int layer = 0; layer < dims_.n_layers; ++layer) encoding_->bind(layer, views(layer));
        encoding_->prepare(n_positions_ = n_positions);
    }
    // The tensors of a layer. A tensor that is not per layer is that of layer 0.
    std::vector<View> views(int layer) {
        std::vector<View> all;
        for (Tensor& tensor : stored(layer)) all.push_back(tensor.view());
        return all;
    }
    // Sets a tensor of a layer and updates everything derived from it.
    void set(int layer, std::size_t tensor, const std::vector<double>& values) {
        Tensor& to = stored(layer).at(tensor);
        ASSERT_EQ(values.size(), to.size());
        for (std::size_t i = 0; i < values.size(); ++i) to.data()[i] = static_cast<float>(values[i]);
        prepare(n_positions_);
    }
    LayerParameters parameters(int layer) {
        LayerParameters all;
        for (Tensor& tensor : stored(layer)) all.emplace_back(tensor.data(), tensor.data() + tensor.size());
        return all;
    }
    std::vector<Tensor> zeros() const {
        std::vector<Tensor> all;
        for (const TensorSpec& tensor : encoding_->tensors()) all.push_back(empty(tensor));
        return all;
    }

    // The bias, added to scores of zero.
    Tensor bias(int layer, int head, const std::vector<int>& queries, const std::vector<int>& keys) const {
        Tensor scores(static_cast<int>(queries.size()), static_cast<int>(keys.size()));
        encoding_->bias(scores.view(), tile(layer, head, queries, keys));
        return scores;
    }
    static Tile tile(int layer, int head, const std::vector<int>& queries, const std::vector<int>& keys) {
        Tile tile;
        tile.layer = layer;
        tile.head = head;
        tile.first_query = static_cast<int>(keys.size()) - static_cast<int>(queries.size());
        tile.queries = Positions(queries);
        tile.keys = Positions(keys);
        return tile;
    }

private:
    static Tensor empty(const TensorSpec& tensor) {
        return tensor.shape.size() == 1 ? Tensor(1, static_cast<int>(tensor.shape[0]))
                                        : Tensor(static_cast<int>(tensor.shape[0]), static_cast<int>(tensor.shape[1]));
    }
    std::vector<Tensor>& stored(int layer) {
        const std::vector<TensorSpec> specs = encoding_->tensors();
        const bool shared = !specs.empty() && !specs[0].per_layer;
        return tensors_[shared ? 0 : static_cast<std::size_t>(layer)];
    }

    Dims dims_;
    int n_positions_;
    std::unique_ptr<Encoding> encoding_;
    std::vector<std::vector<Tensor>> tensors_; // of each layer
};

inline std::vector<int> positions_from(int first, int count) {
    std::vector<int> all;
    for (int i = 0; i < count; ++i) all.push_back(first + i);
    return all;
}

// Whether a causal mask hides the key, by both positions.
inline bool is_hidden(const Dims& dims, int query, int key) {
    return dims.mask == Mask::causal && key > query;
}

// Checks all layers and heads, for the pairs that the mask leaves visible.
inline void expect_bias(BoundEncoding& encoding, const std::vector<int>& queries, const std::vector<int>& keys,
                        const BiasFormula& formula, double tolerance = 1e-6) {
    for (int layer = 0; layer < encoding.dims().n_layers; ++layer)
        for (int head = 0; head < encoding.dims().n_heads; ++head) {
            Tensor found = encoding.bias(layer, head, queries, keys);
            const LayerParameters parameters = encoding.parameters(layer);
            for (std::size_t i = 0; i < queries.size(); ++i)
                for (std::size_t j = 0; j < keys.size(); ++j) {
                    if (is_hidden(encoding.dims(), queries[i], keys[j])) continue;
                    const double expected = formula(parameters, head, queries[i], keys[j]);
                    ASSERT_NEAR(found.data()[i * keys.size() + j], expected,
                                tolerance * std::max(1.0, std::fabs(expected)))
                        << "layer " << layer << ", head " << head << ": " << queries[i] << ", " << keys[j];
                }
        }
}

// The loss is the sum of random weights times the bias. Compares its gradient with respect to every tensor of every
// layer with central differences of the formula.
inline void expect_gradients(BoundEncoding& encoding, const std::vector<int>& queries, const std::vector<int>& keys,
                             const BiasFormula& formula, double tolerance = 1e-4) {
    const Dims& dims = encoding.dims();
    const auto cols = static_cast<int>(keys.size());
    for (int layer = 0; layer < dims.n_layers; ++layer) {
        std::vector<Tensor> grads = encoding.zeros();
        std::vector<View> views;
        for (Tensor& grad : grads) views.push_back(grad.view());
        std::vector<Tensor> weights; // of each head
        for (int head = 0; head < dims.n_heads; ++head) {
            const Random random(static_cast<std::uint64_t>(100 * layer + head), 12);
            Tensor& d = weights.emplace_back(static_cast<int>(queries.size()), cols);
            for (std::size_t i = 0; i < d.size(); ++i) {
                const std::size_t query = i / keys.size(), key = i % keys.size();
                if (!is_hidden(dims, queries[query], keys[key])) d.data()[i] = static_cast<float>(random.normal(i));
            }
            // In two tiles, because gradients accumulate.
            const int half = static_cast<int>(queries.size()) / 2, rest = static_cast<int>(queries.size()) - half;
            const std::vector<int> first(queries.begin(), queries.begin() + half);
            const std::vector<int> second(queries.begin() + half, queries.end());
            TileGradient gradient;
            gradient.tensors = views;
            encoding->bias_backward(rows_of(d.view(), 0, half), encoding.tile(layer, head, first, keys), gradient);
            encoding->bias_backward(rows_of(d.view(), half, rest), encoding.tile(layer, head, second, keys), gradient);
        }
        const LayerParameters parameters = encoding.parameters(layer);
        const auto loss = [&](const LayerParameters& at) {
            double sum = 0;
            for (int head = 0; head < dims.n_heads; ++head)
                for (std::size_t i = 0; i < queries.size(); ++i)
                    for (std::size_t j = 0; j < keys.size(); ++j) {
                        const double d = weights[head].data()[i * keys.size() + j];
                        if (d != 0) sum += d * formula(at, head, queries[i], keys[j]);
                    }
            return sum;
        };
        for (std::size_t t = 0; t < parameters.size(); ++t) {
            for (std::size_t i = 0; i < parameters[t].size(); ++i) {
                const double step = 1e-6 * std::max(1e-1, std::fabs(parameters[t][i]));
                LayerParameters above = parameters, below = parameters;
                above[t][i] += step;
                below[t][i] -= step;
                const double expected = (loss(above) - loss(below)) / (2 * step);
                ASSERT_NEAR(grads[t].data()[i], expected, tolerance * std::max(1.0, std::fabs(expected)))
                    << "layer " << layer << ", tensor " << t << ": " << i;
            }
        }
    }
}

} // namespace ordo
