// SPDX-License-Identifier: MIT
// Contextual position encoding: the position of a key is the number of keys after it that the query finds relevant.
//   g_j = sigmoid(s_j),  p_j = min(g_j + g_(j+1) + .. + g_last, positions - 1)
//   s_j += z(p_j),  z(p) between z_floor(p) and z_ceil(p) by p's fraction,  z = W q
// for one query q, unscaled, and the scaled scores s of the keys that it sees. The weight W [positions, d_head] of a
// layer is shared by its heads. Golovneva et al. 2024, arXiv 2405.18719, eq. 3 to 5 and listing. The count is over the
// keys of the row, whatever their position ids. Once the count is full, all earlier keys share one position, and no
// gates are computed for them.
//   dL/dg_k = sum over j <= k of dL/ds_j (z_(floor+1) - z_floor), for keys j below the last position
#include "encoding/base/registered.h"
#include "encoding/base/relative.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cstring>

namespace ordo {
namespace {

constexpr int most_positions = 8192; // their products are on the stack
constexpr int keys_at_once = 64, keys_of_run = 16;

typedef float Four __attribute__((vector_size(16)));
typedef int FourInts __attribute__((vector_size(16)));

// at[j] = start + gates[j] + .. + gates[keys_of_run - 1], which never decreases towards lower j. Returns the sum of the
// gates.
inline float add_up(const float* gates, float start, float* at) {
    const Four none{};
    float sum = 0;
    for (int j = keys_of_run - 4; j >= 0; j -= 4) {
        Four four;
        std::memcpy(&four, gates + j, sizeof four);
        four += __builtin_shufflevector(four, none, 1, 2, 3, 4);
        four += __builtin_shufflevector(four, none, 2, 3, 4, 5);
        // Rounding can make the first sum of two pairs less than the next sum, but positions must not decrease.
        const Four next = __builtin_shufflevector(four, none, 1, 2, 3, 4);
        four = four < next ? next : four;
        four += sum;
        sum = four[0];
        four += start;
        std::memcpy(at + j, &four, sizeof four);
    }
    return sum;
}

// floor[i] = whole + the integer part of at[i]; at[i] keeps its fraction.
inline void split(int n, int whole, float* at, int* floor) {
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        Four four;
        std::memcpy(&four, at + i, sizeof four);
        const FourInts down = __builtin_convertvector(four, FourInts), sum = down + whole;
        four -= __builtin_convertvector(down, Four);
        std::memcpy(floor + i, &sum, sizeof sum);
        std::memcpy(at + i, &four, sizeof four);
    }
    for (; i < n; ++i) {
        const int down = static_cast<int>(at[i]);
        floor[i] = down + whole;
        at[i] -= static_cast<float>(down);
    }
}

class Cope final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    void parameters(Params& p) override {
        p.integer("positions", positions_, 1, most_positions, "rows of W: counts from there on are alike");
    }
    void ready() override {
        for (int slot = 0; slot < slots(); ++slot) turned_.emplace_back(positions_, dims().d_head);
    }
    unsigned moments() const override { return moment_rescore; }
    unsigned reads() const override { return reads_queries; }

    // The weight starts at zero as in the authors' code, so it changes no score.
    std::vector<TensorSpec> tensors() const override {
        return {{.name = "weight",
                 .shape = {positions_, dims().d_head},
                 .initial = InitialValues::constant(0),
                 .per_layer = true}};
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
        const int full = count(scores, [&](const Counted& keys) {
            for (int i = 0; i < keys.n; ++i) {
                const float low = z[keys.floor[i]], high = z[keys.floor[i] + 1];
                s[keys.first + i] += low + keys.fraction[i] * (high - low);
            }
        });
        if (full > 0) kernels().add_value(full, z[reached - 1], s);
    }

    void rescore_backward(View d_scores, View scores, const Tile& tile, const TileGradient& gradient) const override {
        if (scores.rows == 0) return;
        const View weight = tensor(slot(tile.layer), 0);
        alignas(64) float z[most_positions + relative_vector], dz[most_positions];
        turned(tile).multiply(1, tile.q, 0, positions_, view(z, 1, positions_));
        std::fill_n(dz, positions_, 0.0f);
        float* ds = d_scores.row(0);
        double slopes = 0; // of all keys, then of the keys up to the current one
        const auto slope = [&](int j, int floor) { return static_cast<double>(ds[j]) * (z[floor + 1] - z[floor]); };
        const int full = count(scores, [&](const Counted& keys) {
            for (int i = keys.n - 1; i >= 0; --i) {
                const int j = keys.first + i, floor = keys.floor[i];
                slopes += slope(j, floor);
                dz[floor] += ds[j] * (1 - keys.fraction[i]);
                dz[floor + 1] += ds[j] * keys.fraction[i];
            }
        });
        for (int j = 0; j < full; ++j) dz[positions_ - 1] += ds[j];
        count(scores, [&](const Counted& keys) {
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

    std::vector<NamedTable> tables() const override {
        return {{"table", [this](const TableRequest& request) {
                     return rows_table(tensor(requested_slot(request), 0), 0, positions_);
                 }}};
    }

private:
    const TurnedRows& turned(const Tile& tile) const { return turned_[slot(tile.layer)]; }

    // Keys whose position is below the last one: the i-th is key first + i.
    struct Counted {
        int first, n;
        const float* gates;
        const int* floor;
        const float* fraction;
    };
    // Calls use(keys) with the last keys first. Returns the number of remaining keys, which have the last position. use
    // may write the scores of its keys.
    template <class Use>
    int count(View scores, const Use& use) const {
        const int last = positions_ - 1;
        if (last == 0) return scores.cols;
        double total = 0; // sum of the gates so far
        for (int end = scores.cols; end > 0;) {
            const int first = std::max(0, end - keys_at_once), n = end - first;
            const int lead = -n & (keys_of_run - 1); // zeros before the keys, up to whole runs
            alignas(64) float gates[keys_at_once], at[keys_at_once];
            alignas(64) int floor[keys_at_once];
            std::fill_n(gates, lead, 0.0f);
            kernels().sigmoid(n, scores.row(0) + first, gates + lead);
            int full = lead; // keys before it have the last position
            bool filled = false;
            for (int begin = lead + n; begin > 0 && !filled;) {
                begin -= keys_of_run;
                // Floats are exact enough here: so few gates are added to a number below 1.
                const int whole = static_cast<int>(total);
                const auto start = static_cast<float>(total - whole), left = static_cast<float>(last - whole);
                const float sum = add_up(gates + begin, start, at + begin);
                const auto beyond = [left](float p) { return !(p < left); }; // true for NaN too
                filled = beyond(at[begin]);
                total += sum;
                if (filled) {
                    full = begin + static_cast<int>(std::count_if(at + begin, at + begin + keys_of_run, beyond));
                    split(begin + keys_of_run - full, whole, at + full, floor + full);
                } else {
                    split(keys_of_run, whole, at + begin, floor + begin);
                }
            }
            full = std::max(full, lead);
            use({first + full - lead, n + lead - full, gates + full, floor + full, at + full});
            if (filled) return first + full - lead;
            end = first;
        }
        return 0;
    }

    int positions_ = 64;
    std::vector<TurnedRows> turned_; // weight of each layer, transposed
};

} // namespace

const EncodingInfo cope_encoding = {
    .name = "cope",
    .summary = "counts the keys that a query finds relevant, and scores by that count",
    .paper = "Golovneva et al. 2024, arXiv 2405.18719",
    .formula = "score_j += z(p_j),  p_j = min(sum of sigmoid(score) from j to the row's end, positions - 1)\n"
               "z(p) = q . W[p], between whole positions by the fraction",
    .make = make_registered<Cope>,
};

} // namespace ordo
