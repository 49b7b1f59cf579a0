// SPDX-License-Identifier: MIT
#include "encoding/base/key_count.h"
#include "encoding/base/registered.h"
#include "encoding/base/relative.h"
#include "kernels/kernels.h"

namespace ordo {

const EncodingInfo cope_encoding = {
    .name = "cope",
    .summary = "counts the keys that a query finds relevant, and scores by that count",
    .paper = "Golovneva et al. 2024, arXiv 2405.18719",
    .formula = "score_j += z(p_j),  p_j = min(sum of sigmoid(score) from j to the row's end, positions - 1)\n"
               "z(p) = q . W[p], between whole positions by the fraction",
    .make = cope_file::make,
};

namespace cope_file {

constexpr int most_positions = 8192; // their products are on the stack

// Eq. 3 to 5 and the listing, for the scaled scores of the keys that a query sees, and the unscaled query. A layer's
// heads share W. Keys are counted in the row, whatever their position ids. Once the count is full, all earlier keys
// share one position, and no gates are computed for them.
//   dL/dg_k = sum over j <= k of dL/ds_j (z_(floor+1) - z_floor), for keys j below the last position
class Cope final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    void parameters(Params& p) override {
        p.integer("positions", positions_, 1, most_positions, "the number of rows of W; larger counts share the last");
    }
    void ready() override {
        for (int slot = 0; slot < slots(); ++slot) turned_.emplace_back(positions_, dims().d_head);
    }
    unsigned reads() const override { return reads_queries; }

    // The weight starts at zero as in the authors' code, so it changes no score.
    std::vector<TensorSpec> tensors() const override {
        return {per_layer("weight", {positions_, dims().d_head}, InitialValues::constant(0))};
    }
    void prepare(int) override {
        for (int slot = 0; slot < slots(); ++slot) turned_[slot].set(tensor(slot, 0));
    }

    void rescore(View scores, const Tile& tile) const override {
        alignas(64) float z[most_positions + relative_vector]; // half of the smallest stack of a thread
        // The sum of n gates is at most n, and interpolation reads the next position too.
        const int reached = std::min(positions_, scores.cols + 2);
        turned(tile).multiply(1, tile.q, 0, reached, view(z, 1, reached));
        float* s = scores.row(0);
        const int full = count_keys(scores, positions_ - 1, [&](const CountedKeys& keys) {
            for (int i = 0; i < keys.n; ++i) {
                const float low = z[keys.floor[i]], high = z[keys.floor[i] + 1];
                s[keys.first + i] += low + keys.fraction[i] * (high - low);
            }
        });
        if (full > 0) kernels().add_value(full, z[reached - 1], s);
    }

    void rescore_backward(View d_scores, View scores, const Tile& tile, const Gradients& gradient) const override {
        if (scores.rows == 0) return;
        const View weight = tensor(slot(tile.layer), 0);
        alignas(64) float z[most_positions + relative_vector], dz[most_positions];
        turned(tile).multiply(1, tile.q, 0, positions_, view(z, 1, positions_));
        std::fill_n(dz, positions_, 0.0f);
        float* ds = d_scores.row(0);
        double slopes = 0; // of all keys, then of the keys up to the current one
        const auto slope = [&](int j, int floor) { return static_cast<double>(ds[j]) * (z[floor + 1] - z[floor]); };
        const int full = count_keys(scores, positions_ - 1, [&](const CountedKeys& keys) {
            for (int i = keys.n - 1; i >= 0; --i) {
                const int j = keys.first + i, floor = keys.floor[i];
                slopes += slope(j, floor);
                dz[floor] += ds[j] * (1 - keys.fraction[i]);
                dz[floor + 1] += ds[j] * keys.fraction[i];
            }
        });
        for (int j = 0; j < full; ++j) dz[positions_ - 1] += ds[j];
        count_keys(scores, positions_ - 1, [&](const CountedKeys& keys) {
            for (int i = keys.n - 1; i >= 0; --i) {
                const int j = keys.first + i;
                const float gate = keys.gates[i];
                const double own = slope(j, keys.floor[i]);
                ds[j] += static_cast<float>(slopes * gate * (1 - gate));
                slopes -= own;
            }
        });
        const Kernels& k = kernels();
        const int e = weight.cols;
        k.product(1, e, positions_, 1, dz, 1, 1, weight.data, weight.stride, 1, gradient.q.data, e);
        for (int p = 0; p < positions_; ++p) k.axpy(e, dz[p], tile.q.data, gradient.tensors[0].row(p));
    }

    // A query is multiplied with all positions, or with as many as it has keys. Gates of scores around 0 are 1/2, so
    // twice as many keys as positions fill the count. Each of these keys costs a sigmoid, a sum, a floor, a fraction,
    // two reads, and 3 for the interpolation. The other keys share one position.
    Operations operations(Moment moment, const Work& work) const override {
        if (moment != moment_rescore) return {};
        const double counted = std::min(work.pairs, 2.0 * positions_ * work.query_rows);
        return {2.0 * dims().d_head * std::min(1.0 * positions_ * work.query_rows, work.pairs + 2 * work.query_rows),
                (operations_of_function + 10) * counted + work.pairs};
    }

    std::vector<NamedTable> tables() const override { return {rows_of_tensor("table", 0)}; }

private:
    const TurnedRows& turned(const Tile& tile) const { return turned_[slot(tile.layer)]; }

    int positions_ = 64;
    std::vector<TurnedRows> turned_; // weight of each layer, transposed
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Cope>(dims);
}

} // namespace cope_file
} // namespace ordo
