// SPDX-License-Identifier: MIT
// RoPE: queries and keys are turned by an angle that grows with their position, so that their product
// depends on the distance alone: (R_i q) . (R_j k) = q . R_{j-i} k.
//   pair k of w/2:  (a, b) -> (a cos t - b sin t, a sin t + b cos t),  t = p theta^(-2k/w)
// on the first w (width) of the d_head columns of each head [n, n_heads * d_head].
// Su et al. 2021, RoFormer, arXiv 2104.09864, eq. 15 and 34. A width below d_head: Black et al. 2022,
// GPT-NeoX, arXiv 2204.06745; the exponent is then over the width. keep below 1: the slowest pairs do not turn, and
// carry meaning alone: Barbero et al. 2024 (p-RoPE), arXiv 2410.06205. sections: pairs turn by the position on an
// axis of their own, time, height, width: Wang et al. 2024 (Qwen2-VL), arXiv 2409.12191; interleaved: Qwen3-VL.
// What stretches the frequencies for longer contexts is in rope_scaling.h.
#include "core/error.h"
#include "encoding/registry.h"
#include "encoding/rope_scaling.h"
#include "encoding/rotation.h"
#include "encoding/table.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ordo {
namespace {

struct Shape {
    double theta = 10000;
    Pairing pairing = Pairing::adjacent;
    int width = 0, d_head = 0;
    RopeScaling scaling;
    double keep = 1;              // of the pairs, the fastest
    std::vector<double> sections; // pairs on each axis; empty: all on the first
    bool interleaved = false;     // axes take turns, as long as each has pairs left
};

// The axis of each pair; none if there is one axis.
std::vector<int> axes_of(const Shape& shape) {
    const auto count = static_cast<int>(shape.sections.size());
    std::vector<int> axes;
    if (count < 2) return axes;
    if (shape.interleaved) {
        for (int k = 0; k < shape.width / 2; ++k) {
            const int axis = k % count;
            axes.push_back(k < count * shape.sections[static_cast<std::size_t>(axis)] ? axis : 0);
        }
        return axes;
    }
    for (int axis = 0; axis < count; ++axis)
        axes.insert(axes.end(), static_cast<std::size_t>(shape.sections[static_cast<std::size_t>(axis)]), axis);
    return axes;
}

PairTurns turns_of(const Shape& shape) {
    PairTurns turns{.frequencies = shape.scaling.frequencies(shape.theta, shape.width),
                    .factor = shape.scaling.attention,
                    .axes = axes_of(shape)};
    const auto kept = static_cast<std::ptrdiff_t>(std::floor(shape.keep * shape.width / 2));
    std::fill(turns.frequencies.begin() + kept, turns.frequencies.end(), 0.0);
    return turns;
}

class Rope final : public Encoding {
public:
    explicit Rope(Shape shape) : shape_(std::move(shape)), rotation_(turns_of(shape_), shape_.pairing) {}

    std::string spec() const override {
        const std::string_view pairing = shape_.pairing == Pairing::adjacent ? "adjacent" : "halves";
        SpecWriter spec("rope");
        spec("theta", shape_.theta)("pairing", pairing)("width", shape_.width);
        shape_.scaling.write(spec);
        if (shape_.keep != 1) spec("keep", shape_.keep);
        if (!shape_.sections.empty()) spec("sections", std::span<const double>(shape_.sections));
        if (shape_.interleaved) spec("interleaved", "yes");
        return spec.text();
    }
    unsigned moments() const override { return moment_rotate; }
    void prepare(int n_positions) override { rotation_.prepare(n_positions); }
    std::unique_ptr<Encoding> at_length(int tokens) const override {
        Shape other = shape_;
        other.scaling = shape_.scaling.at_length(tokens);
        if (other.scaling.length == shape_.scaling.length) return nullptr;
        return std::make_unique<Rope>(std::move(other));
    }

    int changes_beyond() const override { return shape_.scaling.changes_beyond(); }

    void rotate(View x, const HeadRows& rows) const override {
        rotation_.apply(x, rows.n_heads, rows.positions, false);
    }
    // The transpose of a rotation is the rotation back.
    void rotate_backward(View dx, View, const HeadRows& rows, std::span<const View>) const override {
        rotation_.apply(dx, rows.n_heads, rows.positions, true);
    }
    bool move_keys(View keys, const HeadRows& rows, int by) const override {
        rotation_.move(keys, rows.n_heads, by);
        return true;
    }

    Operations operations(Moment moment, const Work& work) const override {
        const double pairs = std::floor(shape_.keep * shape_.width / 2);
        return {.others = moment == moment_rotate ? 6 * pairs * (work.query_rows + work.key_rows) : 0};
    }

    // table: a row for each position and pair, cosine and sine as they are multiplied with. frequency: in radians per
    // position, and the axis that the position is read on. matrix: of one head at t = start, with y = R_t x.
    std::vector<std::string> table_parts() const override { return {"table", "frequency", "matrix"}; }
    TableRows table_rows(const TableRequest& request) const override {
        const std::string part = checked_part(*this, request);
        const int pairs = rotation_.pairs();
        if (part == "matrix") {
            std::vector<double> angles;
            for (int k = 0; k < pairs; ++k) angles.push_back(rotation_.angle(request.start, k));
            return rotation_matrix(std::move(angles), shape_.pairing, shape_.d_head, rotation_.gain(0, 0));
        }
        if (part == "frequency")
            return make_table({"pair", "frequency", "axis"}, pairs, [this](std::int64_t k, std::span<double> out) {
                const int pair = static_cast<int>(k);
                out[0] = pair;
                out[1] = rotation_.frequency(pair);
                out[2] = rotation_.axis(pair);
            });
        return make_table({"position", "pair", "angle", "cos", "sin"}, std::int64_t{request.length} * pairs,
                          [this, pairs, start = request.start](std::int64_t row, std::span<double> out) {
                              const int position = start + static_cast<int>(row / pairs);
                              const int k = static_cast<int>(row % pairs);
                              const double t = rotation_.angle(position, k), gain = rotation_.gain(position, k);
                              const double values[] = {static_cast<double>(position), static_cast<double>(k), t,
                                                       gain * std::cos(t), gain * std::sin(t)};
                              std::copy(std::begin(values), std::end(values), out.begin());
                          });
    }

private:
    Shape shape_;
    Rotation rotation_;
};

void read_sections(const SpecItem& item, Shape& shape) {
    constexpr std::size_t most_axes = 4;
    const int pairs = shape.width / 2;
    shape.sections = item.numbers("sections", {}, 0, pairs, 1, most_axes);
    if (shape.sections.empty()) return;
    for (const double section : shape.sections)
        if (section != std::floor(section))
            fail(ErrorCode::usage, "rope: sections: expected whole numbers, found ", decimal(section));
    const double sum = std::accumulate(shape.sections.begin(), shape.sections.end(), 0.0);
    if (sum != pairs)
        fail(ErrorCode::usage, "rope: sections: expected a sum of ", pairs, ", half the width, found ", decimal(sum));
    shape.interleaved = item.choice("interleaved", "no", {"no", "yes"}) == "yes";
    if (!shape.interleaved) return;
    const auto count = static_cast<double>(shape.sections.size());
    for (std::size_t axis = 1; axis < shape.sections.size(); ++axis)
        if ((shape.sections[axis] - 1) * count + static_cast<double>(axis) >= pairs)
            fail(ErrorCode::usage, "rope: sections: expected at most a pair of each ", decimal(count), " on axis ",
                 axis, " where they are interleaved, found ", decimal(shape.sections[axis]), " of ", pairs);
}

std::unique_ptr<Encoding> make(const SpecItem& item, const Dims& dims) {
    Shape shape;
    shape.theta = item.number("theta", 10000, 0.0001, 1e12);
    const bool halves = item.choice("pairing", "adjacent", {"adjacent", "halves"}) == "halves";
    shape.pairing = halves ? Pairing::halves : Pairing::adjacent;
    shape.width = item.integer("width", dims.d_head, 2, dims.d_head);
    shape.d_head = dims.d_head;
    if (shape.width % 2 != 0)
        fail(ErrorCode::usage, "rope: width: expected an even number of columns, found ", shape.width);
    shape.scaling = RopeScaling::read(item, dims, shape.theta, shape.width);
    shape.keep = item.number("keep", 1, 0, 1);
    read_sections(item, shape);
    return std::make_unique<Rope>(std::move(shape));
}

} // namespace

extern const EncodingInfo rope_encoding;
const EncodingInfo rope_encoding = {
    .name = "rope",
    .summary = "turns queries and keys by their position, so that scores depend on distance",
    .paper = "Su et al. 2021, arXiv 2104.09864",
    .formula = "(a, b) -> (a cos t - b sin t, a sin t + b cos t)\n"
               "t = p * theta^(-2k/width) for pair k of a head's queries and keys, or as scaling says",
    .moments = moment_rotate,
    .shift_invariant = true,
    .trainable = false,
    .parameters = {{"theta", "10000", "base of the frequencies; greater turns the slow pairs more slowly"},
                   {"pairing", "adjacent", "pair k is columns (2k, 2k+1): adjacent, or (k, k+width/2): halves"},
                   {"width", "d_head", "columns of each head that are turned; even"},
                   {"scaling", "none", "for longer contexts: linear, ntk, dynamic, yarn, llama3 or longrope"},
                   {"factor", "1", "that the context becomes longer by; of llama3 8"},
                   {"original", "context", "tokens that the model was trained on; of llama3 8192"},
                   {"length", "context", "dynamic: tokens of the session that the frequencies are for"},
                   {"beta-fast", "32", "yarn: pairs that turn as often in the original context are kept"},
                   {"beta-slow", "1", "yarn: pairs that turn as seldom are divided by the factor"},
                   {"extrapolation", "1", "yarn: share in which the pairs that are kept are; 0: all are divided"},
                   {"truncate", "yes", "yarn: no lets the ramp between the two begin and end inside a pair"},
                   {"low", "1", "llama3: turns in the original context from which on frequencies are divided"},
                   {"high", "4", "llama3: turns from which on they are kept"},
                   {"short", "", "longrope: divisors of the frequencies up to the original context, a/b/c"},
                   {"long", "", "longrope: divisors beyond it"},
                   {"factors", "by length", "longrope: short or long, whatever the length of the text"},
                   {"attention", "by factor", "yarn, longrope: what queries and keys are multiplied by"},
                   {"keep", "1", "share of the pairs that turn, the fastest first"},
                   {"sections", "", "pairs that turn by each axis of a position, 16/24/24"},
                   {"interleaved", "no", "yes: axes take turns from pair to pair"}},
    .make = make,
};

} // namespace ordo
