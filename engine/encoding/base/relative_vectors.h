// SPDX-License-Identifier: MIT
// Encodings with trained vectors of relative positions, which are multiplied with queries or keys, or added to values.
#pragma once

#include "encoding/base/registered.h"
#include "encoding/base/relative.h"

namespace ordo {

class RelativeVectors : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;

    // ---- The formula -------------------------------------------------------------------------
    // A tensor of each layer, [most - least + 1, d_head]: row r is the vector of p_j - p_i = least + r, for key j and
    // query i. Further distances have the vector of the nearest end.
    struct Vectors {
        std::string name;
        int least, most;
        bool by_head = false;  // each head has vectors of its own: [.., n_heads * d_head]
        bool reversed = false; // row 0 is the vector of `most`
        bool of_keys = false;  // they are multiplied with keys, instead of queries
        // If not 0, distances from -reach to reach have the vectors of their buckets.
        int reach = 0;
    };
    virtual std::vector<Vectors> vectors() const = 0;
    virtual int bucket(int distance) const { return distance; }

    // ---- Derived from the formula ------------------------------------------------------------
    void build() override;
    std::vector<TensorSpec> tensors() const override;
    void bind(int layer, std::span<const View> tensors) override;
    void prepare(int) override;
    std::vector<NamedTable> tables() const override;

protected:
    // scores[i][j] += alpha * q_i . (the i-th of vectors(), at the distance of the pair), or k_j . the vector
    void add_products(std::size_t i, float alpha, View scores, const Tile& tile) const;
    void add_products_backward(std::size_t i, float alpha, View d_scores, const Tile& tile,
                               const Gradients& gradient) const;
    const RelativeTable& table(std::size_t i, const Tile& tile) const { return table(i, slot(tile.layer), tile.head); }

private:
    const RelativeTable& table(std::size_t i, int slot, int head) const {
        return tables_[i][all_[i].by_head ? slot * heads() + head : slot];
    }
    View rows_of_head(std::size_t i, View tensor, int head) const;
    int row_of(const Vectors& v, int distance) const; // of a tensor, with buckets

    std::vector<Vectors> all_;
    std::vector<std::vector<RelativeTable>> tables_; // for each of all_: of each slot, or of each head of each slot
    std::vector<std::vector<Tensor>> wide_;          // with buckets: a row for each distance from -reach, of each slot
};

} // namespace ordo
