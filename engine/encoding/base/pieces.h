// SPDX-License-Identifier: MIT
// A hidden layer of ReLU units with one input x >= 0, stored as line segments:
//   f_h(x) = out_bias[h] + sum_w out_weight[h, w] relu(in_weight[w] x + in_bias[w])
// f_h is a line between neighbouring borders, the inputs at which a unit switches on or off. A value therefore costs
// one multiplication, whatever the width. Piece p lies between borders p - 1 and p.
#pragma once

#include "rows.h"

#include <algorithm>

namespace ordo {

class Pieces {
public:
    struct Network {
        View in_weight, in_bias, out_weight, out_bias; // [width, 1], [1, width], [n_heads, width], [1, n_heads]
    };
    void build(const Network& network);

    int piece(double x) const {
        return static_cast<int>(std::upper_bound(borders_.begin(), borders_.end(), x) - borders_.begin());
    }
    // The same, searched from a nearby piece.
    int piece(double x, int near) const {
        while (near > 0 && x < borders_[static_cast<std::size_t>(near) - 1]) --near;
        while (near < last() && x >= borders_[near]) ++near;
        return near;
    }
    double slope(int head, int piece) const { return lines_[index(head, piece)].slope; }
    double value(int head, int piece, double x) const {
        const Line line = lines_[index(head, piece)];
        return line.slope * x + line.offset;
    }
    int last() const { return static_cast<int>(borders_.size()); }
    // Unit w is active in pieces first(w) .. end(w) - 1.
    int first(int unit) const { return ranges_[unit].first; }
    int end(int unit) const { return ranges_[unit].end; }

private:
    struct Range {
        int first, end;
    };
    struct Line {
        double slope, offset;
    };
    std::size_t index(int head, int piece) const {
        return static_cast<std::size_t>(head) * (borders_.size() + 1) + static_cast<std::size_t>(piece);
    }

    std::vector<double> borders_; // ascending
    std::vector<Range> ranges_;   // of each unit
    std::vector<Line> lines_;     // [n_heads, pieces]
};

} // namespace ordo
