// SPDX-License-Identifier: MIT
// The oracles of the encodings, transcribed from the papers in double precision, one token and one pair
// of positions at a time. They share no code with engine/encoding, its spec parser included.
//
// An encoding without an oracle fails the tests that need one: what nothing is compared with is not
// proved. To add one: derive from Position and name it in make_position().
#pragma once

#include "tests/reference.h"

#include <complex>
#include <cstdlib>
#include <memory>
#include <utility>

namespace ordo::reference {

// The parameters of one item of a canonical spec, which has all of them.
class Values {
public:
    explicit Values(std::string item) {
        const std::size_t colon = item.find(':');
        name_ = item.substr(0, colon);
        item = colon == std::string::npos ? "" : item.substr(colon + 1);
        while (!item.empty()) {
            const std::size_t equals = item.find('='), comma = item.find(',');
            words_[item.substr(0, equals)] = item.substr(equals + 1, comma - equals - 1);
            item = comma == std::string::npos ? "" : item.substr(comma + 1);
        }
    }
    const std::string& name() const { return name_; }
    const std::string& word(const std::string& key) const { return words_.at(key); }
    double number(const std::string& key) const { return std::atof(words_.at(key).c_str()); }

private:
    std::string name_;
    std::map<std::string, std::string> words_;
};

class NonePosition final : public Position {};

// Vaswani et al. 2017, section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(same), after
// the embedding is multiplied by sqrt(d) (section 3.4). tensor2tensor's get_timing_signal_1d: there are
// n = d // 2 timescales, the i-th exp(i log(base) / max(n - 1, 1)); all sines come first, then all cosines,
// then, where d is odd, one zero.
class SinusoidalPosition final : public Position {
public:
    explicit SinusoidalPosition(const Values& values)
        : scale_(values.number("scale")), base_(values.number("base")), offset_(values.number("offset")),
          halves_(values.word("layout") == "halves"), tensor2tensor_(values.word("law") == "tensor2tensor") {}
    void embed(std::vector<double>& x, int position, int) const override {
        for (double& value : x) value *= scale_;
        tensor2tensor_ ? add_tensor2tensor(x, position + offset_) : add_paper(x, position + offset_);
    }

private:
    void add_paper(std::vector<double>& x, double position) const {
        const std::size_t d = x.size(), sines = d - d / 2;
        for (std::size_t i = 0; i < sines; ++i) {
            const double angle = position / std::pow(base_, 2.0 * static_cast<double>(i) / static_cast<double>(d));
            const std::size_t sine = halves_ ? i : 2 * i, cosine = halves_ ? sines + i : 2 * i + 1;
            x[sine] += std::sin(angle);
            if (cosine < d) x[cosine] += std::cos(angle);
        }
    }
    void add_tensor2tensor(std::vector<double>& x, double position) const {
        const std::size_t n = x.size() / 2;
        const double increment = std::log(base_) / std::max(static_cast<double>(n) - 1, 1.0);
        std::vector<double> signal;
        for (std::size_t i = 0; i < n; ++i)
            signal.push_back(std::sin(position * std::exp(-increment * static_cast<double>(i))));
        for (std::size_t i = 0; i < n; ++i)
            signal.push_back(std::cos(position * std::exp(-increment * static_cast<double>(i))));
        if (x.size() % 2 != 0) signal.push_back(0);
        for (std::size_t j = 0; j < x.size(); ++j) // interleaved: column 2i is sine i, column 2i + 1 cosine i
            x[j] += signal[halves_ || j == 2 * n ? j : j / 2 + j % 2 * n];
    }

    double scale_, base_, offset_;
    bool halves_, tensor2tensor_;
};

// Devlin et al. 2019: the row of a table, for the position or for the segment.
class TablePosition final : public Position {
public:
    TablePosition(const Tensors& tensors, std::string tensor, int offset, bool by_segment)
        : tensors_(tensors), tensor_(std::move(tensor)), offset_(offset), by_segment_(by_segment) {}
    void embed(std::vector<double>& x, int position, int segment) const override {
        const Matrix& table = tensors_.at(tensor_);
        const int row = by_segment_ ? segment : position + offset_;
        for (std::size_t j = 0; j < x.size(); ++j) x[j] += table.at(row, static_cast<int>(j));
    }

private:
    const Tensors& tensors_;
    std::string tensor_;
    int offset_;
    bool by_segment_;
};

// Su et al. 2021, eq. 12: each pair as a complex number, multiplied by e^(i m theta_k), with
// theta_k = 10000^(-2(k-1)/d), k = 1 .. d/2 (eq. 15).
class RopePosition final : public Position {
public:
    explicit RopePosition(const Values& values)
        : base_(values.number("theta")), width_(static_cast<std::size_t>(values.number("width"))),
          halves_(values.word("pairing") == "halves") {}
    void rotate(std::vector<double>& x, int position, Role, int) const override {
        for (std::size_t k = 1; k <= width_ / 2; ++k) {
            const double exponent = -2.0 * (static_cast<double>(k) - 1) / static_cast<double>(width_);
            const double theta = std::pow(base_, exponent);
            double& real = x[halves_ ? k - 1 : 2 * k - 2];
            double& imaginary = x[halves_ ? k - 1 + width_ / 2 : 2 * k - 1];
            const auto turned = std::complex<double>(real, imaginary) * std::polar(1.0, position * theta);
            real = turned.real();
            imaginary = turned.imag();
        }
    }

private:
    double base_;
    std::size_t width_;
    bool halves_;
};

// Press et al. 2022: for n heads, a power of two, a geometric sequence that starts at 2^(-8/n) and has
// that as its ratio; for others (section 3, footnote, and the authors' code) the sequence of the power
// of two below, and then every other member of the sequence of twice as many heads.
inline std::vector<double> alibi_slopes(int n, double max) {
    int power = 1;
    while (2 * power <= n) power *= 2;
    std::vector<double> slopes;
    const double ratio = std::pow(2.0, -max / power);
    for (double slope = ratio; static_cast<int>(slopes.size()) < power; slope *= ratio) slopes.push_back(slope);
    if (power == n) return slopes;
    const std::vector<double> finer = alibi_slopes(2 * power, max);
    for (std::size_t i = 0; static_cast<int>(slopes.size()) < n; i += 2) slopes.push_back(finer[i]);
    return slopes;
}

class AlibiPosition final : public Position {
public:
    AlibiPosition(const Values& values, int n_heads)
        : slopes_(alibi_slopes(n_heads, values.number("max"))), power_(values.number("power")) {}
    double bias(int, int head, int query, int key) const override {
        const double distance = query > key ? double(query) - key : double(key) - query;
        return -slopes_[static_cast<std::size_t>(head)] * std::pow(distance, power_);
    }

private:
    std::vector<double> slopes_;
    double power_;
};

// Kurzion: theta = 2 pi / 36; vec <- scale * R_t vec with scale = (floor(t/36) + 1) * 0.1 * |vec|, R_t written
// out as a matrix. An odd width leaves its last column unturned.
class RotateStretchPosition final : public Position {
public:
    explicit RotateStretchPosition(const Values& values)
        : period_(values.number("period")), step_(values.number("step")) {}
    void embed(std::vector<double>& x, int position, int) const override {
        const std::size_t d = x.size();
        const double theta = 2 * std::acos(-1.0) / period_;
        Matrix r(static_cast<int>(d), static_cast<int>(d));
        for (int i = 0; i < static_cast<int>(d); ++i) r.at(i, i) = 1;
        for (int i = 0; i + 1 < static_cast<int>(d); i += 2) {
            r.at(i, i) = r.at(i + 1, i + 1) = std::cos(position * theta);
            r.at(i, i + 1) = -std::sin(position * theta);
            r.at(i + 1, i) = std::sin(position * theta);
        }
        double square = 0;
        for (const double value : x) square += value * value;
        const double scale = (std::floor(position / period_) + 1) * step_ * std::sqrt(square);
        std::vector<double> y(d);
        for (std::size_t i = 0; i < d; ++i)
            for (std::size_t j = 0; j < d; ++j) y[i] += scale * r.at(static_cast<int>(i), static_cast<int>(j)) * x[j];
        x = y;
    }

private:
    double period_, step_;
};

// The oracle of one item of a canonical spec; null if there is none. tensors, by the names that files
// have, must outlive it and may change between calls.
inline std::unique_ptr<Position> make_position(const std::string& item, const Dims& dims, const Tensors& tensors) {
    const Values values(item);
    if (values.name() == "none") return std::make_unique<NonePosition>();
    if (values.name() == "sinusoidal") return std::make_unique<SinusoidalPosition>(values);
    if (values.name() == "learned")
        return std::make_unique<TablePosition>(tensors, "encoding.learned.weight",
                                               static_cast<int>(values.number("offset")), false);
    if (values.name() == "segment") return std::make_unique<TablePosition>(tensors, "encoding.segment.weight", 0, true);
    if (values.name() == "rope") return std::make_unique<RopePosition>(values);
    if (values.name() == "alibi") return std::make_unique<AlibiPosition>(values, dims.n_heads);
    if (values.name() == "rotate-stretch") return std::make_unique<RotateStretchPosition>(values);
    return nullptr;
}

// The oracles of a whole canonical spec, in order. complete() is false if one of them does not exist.
class Oracles {
public:
    Oracles(std::string spec, const Dims& dims, const Tensors& tensors) {
        for (bool more = true; more;) {
            const std::size_t plus = spec.find('+');
            more = plus != std::string::npos;
            items_.push_back(make_position(spec.substr(0, plus), dims, tensors));
            if (!items_.back()) missing_ = spec.substr(0, plus);
            spec = more ? spec.substr(plus + 1) : "";
        }
    }
    bool complete() const { return missing_.empty(); }
    // True if the one that is missing is meant to be: the throw-away of tests/add_encoding.sh, which
    // names it in ORDO_WITHOUT_ORACLE.
    bool excused() const {
        const char* name = std::getenv("ORDO_WITHOUT_ORACLE");
        return name && missing_.substr(0, missing_.find(':')) == name;
    }
    std::string advice() const { return missing_ + " has no oracle: add one to tests/reference_encodings.h"; }
    PositionList list() const {
        PositionList out;
        for (const auto& item : items_) out.push_back(item.get());
        return out;
    }

private:
    std::vector<std::unique_ptr<Position>> items_;
    std::string missing_;
};

} // namespace ordo::reference

// Ends a test that an encoding without an oracle came to.
#define ORDO_EXPECT_COMPLETE(oracles)                                                                                  \
    if ((oracles).complete()) {                                                                                        \
    } else if ((oracles).excused())                                                                                    \
        GTEST_SKIP() << (oracles).advice();                                                                            \
    else                                                                                                               \
        FAIL() << (oracles).advice()
