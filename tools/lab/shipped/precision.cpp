// SPDX-License-Identifier: MIT
// RoPE's angles in bf16, f16 and f32: how far they are off, and the loss of weights that run with them.
#include "encoding/base/rope_scaling.h"
#include "io/half.h"
#include "tools/lab/shipped/extension_costs.h"

namespace ordo::lab {
namespace precision_file {

enum class Kind { f64, f32, f16, bf16_positions, bf16_angles, bf16_waves };
constexpr Kind kinds[] = {Kind::f64, Kind::f32, Kind::f16, Kind::bf16_positions, Kind::bf16_angles, Kind::bf16_waves};
constexpr const char* names[] = {"f64", "f32", "f16 angles", "bf16 positions", "bf16 angles", "bf16 sines and cosines"};
constexpr int ends[] = {256, 1024, 4096}; // positions at which a window ends

float rounded(double value, Kind kind) {
    const auto x = static_cast<float>(value);
    return kind == Kind::f16 ? f16_to_float(f16_from_float(x)) : bf16_to_float(bf16_from_float(x));
}

// position * frequency, as a program computes it that holds these numbers in the type.
double angle(int position, double frequency, Kind kind) {
    const auto p = static_cast<double>(static_cast<float>(position));
    switch (kind) {
    case Kind::f64:
        return position * frequency;
    case Kind::f32:
    case Kind::bf16_waves:
        return static_cast<float>(p) * static_cast<float>(frequency);
    case Kind::bf16_positions:
        return rounded(p, kind) * static_cast<float>(frequency);
    default:
        return rounded(static_cast<double>(rounded(p, kind) * rounded(frequency, kind)), kind);
    }
}

// A rotation of neighbouring columns by these angles.
class Rounded final : public Encoding {
public:
    Rounded(Vector frequencies, Kind kind) : frequencies_(std::move(frequencies)), kind_(kind) {}
    std::string spec() const override { return "rounded"; }
    void rotate(View x, const HeadRows& rows) const override {
        const auto held = [&](double wave) {
            return kind_ == Kind::bf16_waves ? rounded(wave, kind_) : static_cast<float>(wave);
        };
        for (int i = 0; i < x.rows; ++i)
            for (std::size_t k = 0; k < frequencies_.size(); ++k) {
                const double t = angle(rows.positions[i], frequencies_[k], kind_);
                const float c = held(std::cos(t)), s = held(std::sin(t));
                for (int first = 0; first < x.cols; first += x.cols / rows.n_heads) {
                    float* pair = x.row(i) + first + 2 * k;
                    const float a = pair[0], b = pair[1];
                    pair[0] = a * c - b * s, pair[1] = a * s + b * c;
                }
            }
    }

private:
    Vector frequencies_; // of the pairs
    Kind kind_;
};

Figures errors(Curves& curves) {
    Figures figures{{"position", "f32", "f16", "bf16", "bf16_positions"}, {}, 3};
    const Vector frequencies = column_of(LooseEncoding("rope", dims_of(128)).table(1, "frequency"), 1);
    constexpr Kind shown[] = {Kind::f32, Kind::f16, Kind::bf16_angles, Kind::bf16_positions};
    for (const Kind kind : shown) curves.add(names[static_cast<int>(kind)], Series::Style::line_points);
    for (const int position : {1, 15, 255, 1023, 4095, 32767, 131071, 1048575, 16777215}) {
        Vector most;
        for (std::size_t i = 0; i < std::size(shown); ++i) {
            double error = 0;
            const int before = position / 64; // types round to 128 steps between powers of two, or to more
            for (int p = position - before; p <= position; p += std::max(1, before / 256))
                for (const double f : frequencies) error = std::max(error, std::abs(angle(p, f, shown[i]) - p * f));
            most.push_back(std::isfinite(error) ? error : NAN);
            if (std::isfinite(error) && error > 0) curves.series[i].add(position, error);
        }
        add_row(figures, position, most);
    }
    return figures;
}

Result run(const Request& request) {
    const Trained file = extension::rotary_models(request)[0];
    const Text held = held_out(request);
    const Dims dims = blueprint_of(Model::load(file.file)).dims();
    const Vector frequencies = column_of(LooseEncoding(file.encoding, dims).table(1, "frequency"), 1);
    if (file.encoding.find("pairing=halves") != file.encoding.npos)
        fail(ErrorCode::usage, file.name, ": expected weights with pairing=adjacent");
    Figures losses{{"angles", "end", "nll", "half", "nll_more", "half_more", "verdict"}, {}, 4};
    std::map<std::pair<int, int>, Losses> all; // [kind][end]
    const auto more = [&](int kind, int end) {
        const Losses &one = all[{kind, end}], &exact = all[{0, ends[0]}];
        return mean_of_clusters(minus(one.nll, exact.nll), one.document);
    };
    for (int kind = 0; kind < static_cast<int>(std::size(kinds)); ++kind) {
        const Model model = Model::load(file.file, std::make_unique<Rounded>(frequencies, kinds[kind]));
        const auto documents = documents_of(held, model, request.quick ? 8 : most_documents);
        for (const int end : ends) {
            request.progress(told("{} to position {}", names[kind], end));
            const int n = std::min(model.context(), ends[0]);
            const Losses& one = all[{kind, end}] = score(model, documents, static_cast<std::size_t>(n) - 1, end - n);
            const Mean extra = more(kind, end);
            add_row(losses, names[kind], end, mean_of_clusters(one.nll, one.document), extra,
                    worded(above(extra.interval(), 0), "worse", "better", "undecided"));
        }
    }
    Result result;
    Curves curves{.log_x = true, .log_y = true};
    result.tables = {{"angles",
                      "The largest error of an angle up to a position, in radians, of 64 pairs with theta 10,000",
                      errors(curves)},
                     {"losses", "The same windows, moved to end at other positions", std::move(losses)}};
    const auto& rows = result.tables[0].figures.rows;
    const auto cell = [&](std::size_t row, std::size_t column) {
        return figure(std::get<double>(rows[row][column]), 2);
    };
    result.answer = told(
        "Not in bf16: it has 8 bits, so that positions from 256 on share values, and at position 4,095 an angle is off "
        "by up to {} radians. Windows that end at position 4,096 lose {}{} nats per token with bf16 angles. Angles in "
        "f32 are off by {} there, and cost {}{}; sines and cosines may be rounded to bf16 ({}{}).",
        cell(4, 3), figure(more(4, ends[2]).mean), margin(more(4, ends[2]).half), cell(4, 1),
        figure(more(1, ends[2]).mean, 2), margin(more(1, ends[2]).half), figure(more(5, ends[2]).mean, 2),
        margin(more(5, ends[2]).half));
    result.found = {
        told("f32 has 24 bits: at position {}, an angle is off by up to {} radians, and at {} by {}. Beyond "
             "a million, reduce the angle in f64 first.",
             "1,048,575", cell(7, 1), "16,777,215", cell(8, 1)),
        told("Positions alone in bf16, with everything else in f32, lose {}{} nats at 1,024.",
             figure(more(3, ends[1]).mean), margin(more(3, ends[1]).half))};
    result.pictures = {{"errors", "bf16 loses whole radians after some hundred positions", "position",
                        "largest error of an angle, radians", curves}};
    result.notes = {"Exact rotations depend on distances alone, so that moving a window changes nothing: each extra "
                    "nat is a rounding error. f16 holds no position above 65,504: its cells there are blank.",
                    told("Weights: {}; text: {}, the first window of each document. Differences are from f64 at the "
                         "first end, with the half-width of the 95 % interval over documents.",
                         file.name, held.name)};
    return result;
}

} // namespace precision_file

const Experiment precision_experiment{
    .name = "precision",
    .summary = "Can RoPE's angles be computed in bf16 or f16?",
    .details = "The error of an angle by position in f32, f16 and bf16, and the loss of RoPE weights whose windows end "
               "at positions 256, 1,024 and 4,096, with angles, positions, or sines and cosines rounded.",
    .options = {"model", "corpus"},
    .seconds = {8, 3},
    .run = precision_file::run};

} // namespace ordo::lab
