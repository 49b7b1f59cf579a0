// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "encoding/base/rope_scaling.h"
#include "encoding/base/rotary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ordo {

const EncodingInfo rope_encoding = {
    .name = "rope",
    .summary = "rotates queries and keys by their position, so that scores depend on the distance",
    .paper = "Su et al. 2021, arXiv 2104.09864",
    .formula = "(a, b) -> (a cos t - b sin t, a sin t + b cos t)\n"
               "t = p * theta^(-2k/width) for pair k of a head's queries and keys, or as scaling says",
    .make = rope_file::make,
};

namespace rope_file {

constexpr std::size_t most_axes = 4;

// Eq. 15 and 34. A width below d_head: Black et al. 2022, GPT-NeoX, arXiv 2204.06745; the exponent is then over the
// width. keep below 1: the slowest pairs do not rotate, and hold content alone. Barbero et al. 2024 (p-RoPE), arXiv
// 2410.06205. sections: each pair rotates by the position on its own axis: time, height or width. Wang et al. 2024
// (Qwen2-VL), arXiv 2409.12191; interleaved: Qwen3-VL. rope_scaling.h has the scaling for longer contexts.
class Rope final : public Rotary {
public:
    using Rotary::Rotary;
    void parameters(Params& p) override {
        theta_parameter(p);
        pair_parameters(p);
        scaling_.parameters(p, dims(), theta_, width_);
        p.unless(keep_ == 1).number("keep", keep_, 0, 1, "share of the pairs that turn, the fastest first");
        p.unless(sections_.empty())
            .numbers("sections", sections_, 0, width_ / 2.0, most_axes,
                     "pairs that turn by each axis of a position, 16/24/24");
        if (!sections_.empty() || p.listing())
            p.unless(!interleaved_).flag("interleaved", interleaved_, "yes: axes take turns from pair to pair");
    }
    void ready() override {
        if (sections_.empty()) return;
        const int pairs = width_ / 2;
        for (const double section : sections_)
            if (section != std::floor(section))
                fail(ErrorCode::usage, "rope: sections: expected whole numbers, found ", decimal(section));
        const double sum = std::accumulate(sections_.begin(), sections_.end(), 0.0);
        if (sum != pairs)
            fail(ErrorCode::usage, "rope: sections: expected a sum of ", pairs, ", half the width, found ",
                 decimal(sum));
        const auto count = static_cast<double>(sections_.size());
        for (std::size_t axis = 1; interleaved_ && axis < sections_.size(); ++axis)
            if ((sections_[axis] - 1) * count + static_cast<double>(axis) >= pairs)
                fail(ErrorCode::usage, "rope: sections: expected at most a pair of each ", decimal(count), " on axis ",
                     axis, " where they are interleaved, found ", decimal(sections_[axis]), " of ", pairs);
    }
    PairTurns turns(Role) const override {
        PairTurns turns{
            .frequencies = scaling_.frequencies(theta_, width_), .factor = scaling_.attention, .axes = axes()};
        std::fill(turns.frequencies.begin() + static_cast<std::ptrdiff_t>(turning_pairs()), turns.frequencies.end(),
                  0.0);
        return turns;
    }
    double turning_pairs() const override { return std::floor(keep_ * width_ / 2); }
    AtLength at_length(int capacity, int text) const override {
        AtLength version;
        if (scaling_.by_text() && text <= scaling_.original) version.longest_text = scaling_.original;
        RopeScaling scaling = scaling_.at_length(capacity, text);
        if (scaling.length == scaling_.length) return version;
        auto other = std::make_unique<Rope>(dims());
        other->read(parse_spec(spec()).front());
        other->scaling_ = std::move(scaling);
        other->finish(name());
        version.instead = std::move(other);
        return version;
    }

    // matrix: of one head, at position start.
    std::vector<NamedTable> tables() const override {
        return {angle_table(),
                frequency_table("axis", [this](int pair) { return rotation().axis(pair); }),
                {"matrix", [this](const TableRequest& request) {
                     std::vector<double> angles;
                     for (int k = 0; k < rotation().pairs(); ++k) angles.push_back(rotation().angle(request.start, k));
                     return rotation_matrix(std::move(angles), pairing_, dims().d_head, rotation().gain(0, 0));
                 }}};
    }

private:
    // The axis of each pair. Empty if there is one axis.
    std::vector<int> axes() const {
        const auto count = static_cast<int>(sections_.size());
        std::vector<int> axes;
        const auto pairs_on = [&](int axis) { return static_cast<int>(sections_[axis]); };
        if (interleaved_)
            for (int k = 0; count > 1 && k < width_ / 2; ++k)
                axes.push_back(k < count * pairs_on(k % count) ? k % count : 0);
        else
            for (int axis = 0; count > 1 && axis < count; ++axis)
                axes.insert(axes.end(), static_cast<std::size_t>(pairs_on(axis)), axis);
        return axes;
    }
    RopeScaling scaling_;
    double keep_ = 1;              // the fraction of the pairs that rotates: the fastest
    std::vector<double> sections_; // pairs on each axis; empty: all on the first
    bool interleaved_ = false;     // axes alternate, as long as each has pairs left
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Rope>(dims);
}

} // namespace rope_file
} // namespace ordo
