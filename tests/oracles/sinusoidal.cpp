// SPDX-License-Identifier: MIT
// Vaswani et al. 2017, section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(same), after the
// embedding is multiplied by sqrt(d) (section 3.4). tensor2tensor's get_timing_signal_1d has n = d // 2 timescales, the
// i-th exp(i log(base) / max(n - 1, 1)). All sines come first, then all cosines, then a zero if d is odd.
// Instead of added to all columns, a row as wide as the last K may be written into them ("concatenated").
#include "tests/oracle.h"

#include <algorithm>
#include <cmath>

namespace ordo::reference {
namespace {

class Sinusoidal final : public Oracle {
public:
    explicit Sinusoidal(const Item& item)
        : scale_(item.number("scale")), base_(item.number("base")), offset_(item.number("offset")),
          columns_(static_cast<std::size_t>(item.number("columns", 0))), halves_(item.is("layout", "halves")),
          tensor2tensor_(item.is("law", "tensor2tensor")) {}
    void embed(Vector& x, const Place& at, int) const override {
        for (double& value : x) value *= scale_;
        Vector written(columns_);
        Vector& sums = columns_ == 0 ? x : written;
        tensor2tensor_ ? add_tensor2tensor(sums, at[0] + offset_) : add_paper(sums, at[0] + offset_);
        std::copy(written.begin(), written.end(), x.end() - static_cast<std::ptrdiff_t>(columns_));
    }

private:
    void add_paper(Vector& x, double position) const {
        const std::size_t d = x.size(), sines = d - d / 2;
        for (std::size_t i = 0; i < sines; ++i) {
            const double angle = position / std::pow(base_, 2.0 * static_cast<double>(i) / static_cast<double>(d));
            const std::size_t sine = halves_ ? i : 2 * i, cosine = halves_ ? sines + i : 2 * i + 1;
            x[sine] += std::sin(angle);
            if (cosine < d) x[cosine] += std::cos(angle);
        }
    }
    void add_tensor2tensor(Vector& x, double position) const {
        const std::size_t n = x.size() / 2;
        const double increment = std::log(base_) / std::max(static_cast<double>(n) - 1, 1.0);
        Vector signal;
        for (std::size_t i = 0; i < n; ++i)
            signal.push_back(std::sin(position * std::exp(-increment * static_cast<double>(i))));
        for (std::size_t i = 0; i < n; ++i)
            signal.push_back(std::cos(position * std::exp(-increment * static_cast<double>(i))));
        if (x.size() % 2 != 0) signal.push_back(0);
        for (std::size_t j = 0; j < x.size(); ++j) // interleaved: column 2i is sine i, column 2i + 1 cosine i
            x[j] += signal[halves_ || j == 2 * n ? j : j / 2 + j % 2 * n];
    }

    double scale_, base_, offset_;
    std::size_t columns_;
    bool halves_, tensor2tensor_;
};

const Registration sinusoidal("sinusoidal", [](const Item& item, const Setting&) -> std::unique_ptr<Oracle> {
    return std::make_unique<Sinusoidal>(item);
});

} // namespace
} // namespace ordo::reference
