// SPDX-License-Identifier: MIT
// RoPE: queries and keys are turned by an angle that grows with their position, so that their product
// depends on the distance alone: (R_i q) . (R_j k) = q . R_{j-i} k.
//   pair k of w/2:  (a, b) -> (a cos t - b sin t, a sin t + b cos t),  t = p theta^(-2k/w)
// on the first w (width) of the d_head columns of each head [n, n_heads * d_head].
// Su et al. 2021, RoFormer, arXiv 2104.09864, eq. 15 and 34. A width below d_head: Black et al. 2022,
// GPT-NeoX, arXiv 2204.06745; the exponent is then over the width.
#include "core/error.h"
#include "encoding/registry.h"
#include "encoding/rotation.h"
#include "encoding/table.h"

#include <cmath>

namespace ordo {
namespace {

std::vector<double> frequencies(double theta, int width) {
    std::vector<double> out;
    for (int k = 0; k < width / 2; ++k) out.push_back(std::pow(theta, -2.0 * k / width));
    return out;
}

class Rope final : public Encoding {
public:
    Rope(double theta, Pairing pairing, int width, int d_head)
        : theta_(theta), pairing_(pairing), width_(width), d_head_(d_head),
          rotation_(frequencies(theta, width), pairing) {}

    std::string spec() const override {
        const std::string_view pairing = pairing_ == Pairing::adjacent ? "adjacent" : "halves";
        return SpecWriter("rope")("theta", theta_)("pairing", pairing)("width", width_).text();
    }
    unsigned moments() const override { return moment_rotate; }
    void prepare(int n_positions) override { rotation_.prepare(n_positions); }

    void rotate(View x, int n_heads, Positions positions, Role, int) const override {
        rotation_.apply(x, n_heads, positions, false);
    }
    // The transpose of a rotation is the rotation back.
    void rotate_backward(View dx, int n_heads, Positions positions, Role, int) const override {
        rotation_.apply(dx, n_heads, positions, true);
    }

    // table: a row for each position and pair. frequency: theta_k in radians per position. matrix: R_t
    // of one head at t = start, with y = R_t x.
    std::vector<std::string> table_parts() const override { return {"table", "frequency", "matrix"}; }
    TableRows table_rows(const TableRequest& request) const override {
        const std::string part = checked_part(*this, request);
        const int pairs = rotation_.pairs();
        if (part == "matrix") {
            std::vector<double> angles;
            for (int k = 0; k < pairs; ++k) angles.push_back(rotation_.angle(request.start, k));
            return rotation_matrix(std::move(angles), pairing_, d_head_);
        }
        if (part == "frequency")
            return make_table({"pair", "frequency"}, pairs, [this](std::int64_t k, std::span<double> out) {
                out[0] = static_cast<double>(k);
                out[1] = rotation_.frequency(static_cast<int>(k));
            });
        return make_table({"position", "pair", "angle", "cos", "sin"}, std::int64_t{request.length} * pairs,
                          [this, pairs, start = request.start](std::int64_t row, std::span<double> out) {
                              const int position = start + static_cast<int>(row / pairs);
                              const int k = static_cast<int>(row % pairs);
                              const double t = rotation_.angle(position, k);
                              const double values[] = {static_cast<double>(position), static_cast<double>(k), t,
                                                       std::cos(t), std::sin(t)};
                              std::copy(std::begin(values), std::end(values), out.begin());
                          });
    }

private:
    double theta_;
    Pairing pairing_;
    int width_, d_head_;
    Rotation rotation_;
};

std::unique_ptr<Encoding> make(const SpecItem& item, const Dims& dims) {
    const double theta = item.number("theta", 10000, 0.0001, 1e12);
    const bool halves = item.choice("pairing", "adjacent", {"adjacent", "halves"}) == "halves";
    const int width = item.integer("width", dims.d_head, 2, dims.d_head);
    if (width % 2 != 0) fail(ErrorCode::usage, "rope: width: expected an even number of columns, found ", width);
    return std::make_unique<Rope>(theta, halves ? Pairing::halves : Pairing::adjacent, width, dims.d_head);
}

} // namespace

extern const EncodingInfo rope_encoding;
const EncodingInfo rope_encoding = {
    .name = "rope",
    .summary = "turns queries and keys by their position, so that scores depend on distance",
    .paper = "Su et al. 2021, arXiv 2104.09864",
    .formula = "(a, b) -> (a cos t - b sin t, a sin t + b cos t)\n"
               "t = p * theta^(-2k/width) for pair k of a head's queries and keys",
    .moments = moment_rotate,
    .shift_invariant = true,
    .trainable = false,
    .parameters = {{"theta", "10000", "base of the frequencies; greater turns the slow pairs more slowly"},
                   {"pairing", "adjacent", "pair k is columns (2k, 2k+1): adjacent, or (k, k+width/2): halves"},
                   {"width", "d_head", "columns of each head that are turned; even"}},
    .make = make,
};

} // namespace ordo
