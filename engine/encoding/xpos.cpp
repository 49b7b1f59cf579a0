// SPDX-License-Identifier: MIT
// xPos: RoPE whose queries shrink and keys grow with the position, so that their product falls with the distance, and
// more where pairs turn fast: (R_i q) . (R_j k) = q . zeta^((i-j)/scale) R_{j-i} k.
//   pair k of w/2:  (a, b) -> g (a cos t - b sin t, a sin t + b cos t),  t = p theta^(-2k/w)
//   g = zeta_k^(p/scale) of queries, zeta_k^(-p/scale) of keys,  zeta_k = (2k/w + gamma)/(1 + gamma)
// on the first w (width) of the d_head columns of each head [n, n_heads * d_head].
// Sun et al. 2022, A Length-Extrapolatable Transformer, arXiv 2212.10554, eq. 16 and table 3 (gamma 0.4, scale 512).
// Positions are not centred, as in some code: that would depend on the length, and every cached key with it. Keys of
// later positions are refused as soon as they could grow past 2^96, as floats end at 2^128.
#include "core/error.h"
#include "encoding/registry.h"
#include "encoding/rotation.h"
#include "encoding/table.h"

#include <cmath>

namespace ordo {
namespace {

struct Shape {
    double theta, scale, gamma;
    Pairing pairing;
    int width;
    bool decays; // or every zeta is 1

    double zeta(int pair) const { return decays ? (2.0 * pair / width + gamma) / (1 + gamma) : 1; }
};

PairTurns turns_of(const Shape& shape, Role role) {
    PairTurns turns{};
    for (int k = 0; k < shape.width / 2; ++k) {
        turns.frequencies.push_back(std::pow(shape.theta, -2.0 * k / shape.width));
        const double growth = std::log(shape.zeta(k)) / shape.scale;
        if (shape.decays) turns.growth.push_back(role == Role::query ? growth : -growth);
    }
    return turns;
}

class Xpos final : public Encoding {
public:
    explicit Xpos(const Shape& shape)
        : shape_(shape), queries_(turns_of(shape, Role::query), shape.pairing),
          keys_(turns_of(shape, Role::key), shape.pairing) {}

    std::string spec() const override {
        return SpecWriter("xpos")("theta", shape_.theta)("scale", shape_.scale)(
                   "pairing", shape_.pairing == Pairing::adjacent ? "adjacent" : "halves")("width", shape_.width)(
                   "gamma", shape_.gamma)("zeta", shape_.decays ? "paper" : "one")
            .text();
    }
    unsigned moments() const override { return moment_rotate; }
    int max_position() const override {
        constexpr int most = std::numeric_limits<int>::max();
        if (!shape_.decays) return most;
        return static_cast<int>(std::min<double>(most, 96 * std::log(2.0) * shape_.scale / -std::log(shape_.zeta(0))));
    }
    void prepare(int n_positions) override {
        queries_.prepare(n_positions);
        keys_.prepare(n_positions);
    }

    void rotate(View x, const HeadRows& rows) const override {
        of(rows.role).apply(x, rows.n_heads, rows.positions, false);
    }
    void rotate_backward(View dx, View, const HeadRows& rows, std::span<const View>) const override {
        of(rows.role).apply(dx, rows.n_heads, rows.positions, true);
    }
    bool move_keys(View keys, const HeadRows& rows, int by) const override {
        keys_.move(keys, rows.n_heads, by);
        return true;
    }

    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_rotate ? 3.0 * shape_.width * (work.query_rows + work.key_rows) : 0};
    }

    // table: a row for each position and pair, with what queries are multiplied by, which keys are divided by.
    // frequency: of each pair, with its zeta.
    std::vector<std::string> table_parts() const override { return {"table", "frequency"}; }
    TableRows table_rows(const TableRequest& request) const override {
        const std::string part = checked_part(*this, request);
        const int pairs = queries_.pairs();
        if (part == "frequency")
            return make_table({"pair", "frequency", "zeta"}, pairs, [this](std::int64_t k, std::span<double> out) {
                const int pair = static_cast<int>(k);
                out[0] = pair;
                out[1] = queries_.frequency(pair);
                out[2] = shape_.zeta(pair);
            });
        return make_table({"position", "pair", "angle", "cos", "sin", "scale"}, std::int64_t{request.length} * pairs,
                          [this, pairs, start = request.start](std::int64_t row, std::span<double> out) {
                              const int position = start + static_cast<int>(row / pairs);
                              const int k = static_cast<int>(row % pairs);
                              const double t = queries_.angle(position, k);
                              out[0] = position;
                              out[1] = k;
                              out[2] = t;
                              out[3] = std::cos(t);
                              out[4] = std::sin(t);
                              out[5] = queries_.gain(position, k);
                          });
    }

private:
    const Rotation& of(Role role) const { return role == Role::query ? queries_ : keys_; }

    Shape shape_;
    Rotation queries_, keys_;
};

std::unique_ptr<Encoding> make(const SpecItem& item, const Dims& dims) {
    Shape shape{};
    shape.theta = item.number("theta", 10000, 0.0001, 1e12);
    shape.scale = item.number("scale", 512, 0.001, 1e12);
    const bool halves = item.choice("pairing", "adjacent", {"adjacent", "halves"}) == "halves";
    shape.pairing = halves ? Pairing::halves : Pairing::adjacent;
    shape.width = item.integer("width", dims.d_head, 2, dims.d_head);
    if (shape.width % 2 != 0)
        fail(ErrorCode::usage, "xpos: width: expected an even number of columns, found ", shape.width);
    shape.gamma = item.number("gamma", 0.4, 0.0001, 1000000);
    shape.decays = item.choice("zeta", "paper", {"paper", "one"}) == "paper";
    return std::make_unique<Xpos>(shape);
}

} // namespace

extern const EncodingInfo xpos_encoding;
const EncodingInfo xpos_encoding = {
    .name = "xpos",
    .summary = "turns queries and keys like rope, and lets scores fall with the distance",
    .paper = "Sun et al. 2022, arXiv 2212.10554",
    .formula = "(a, b) -> g (a cos t - b sin t, a sin t + b cos t),  t = p * theta^(-2k/width)\n"
               "g = zeta_k^(p/scale) for queries, zeta_k^(-p/scale) for keys\n"
               "zeta_k = (2k/width + gamma)/(1 + gamma)",
    .moments = moment_rotate,
    .shift_invariant = true,
    .trainable = false,
    .parameters = {{"theta", "10000", "base of the frequencies; greater turns the slow pairs more slowly"},
                   {"scale", "512", "positions in which pair k falls by zeta_k"},
                   {"pairing", "adjacent", "pair k is columns (2k, 2k+1): adjacent, or (k, k+width/2): halves"},
                   {"width", "d_head", "columns of each head that are turned; even"},
                   {"gamma", "0.4", "greater lets the fast pairs fall less"},
                   {"zeta", "paper", "one: nothing falls, which is rope"}},
    .make = make,
};

} // namespace ordo
