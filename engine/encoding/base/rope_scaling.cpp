// SPDX-License-Identifier: MIT
#include "encoding/base/rope_scaling.h"

#include "core/error.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ordo {
namespace {

using Law = RopeScaling::Law;

constexpr double two_pi = 6.283185307179586476925;
// theta^(-2k/width)
std::vector<double> plain(double theta, int width) {
    std::vector<double> out;
    for (int k = 0; k < width / 2; ++k) out.push_back(std::pow(theta, -2.0 * k / width));
    return out;
}

// The base that divides the frequency of the last pair, of exponent 2/width - 1, by s.
double ntk_base(double theta, int width, double s) {
    return theta * std::pow(s, width / (width - 2.0));
}

double longrope_attention(double s, int original) {
    return s <= 1 || original <= 1 ? 1 : std::sqrt(1 + std::log(s) / std::log(original));
}

void yarn(const RopeScaling& scaling, double theta, std::vector<double>& w) {
    const int width = 2 * static_cast<int>(w.size());
    const auto pair = [&](double turns) { // the pair that rotates `turns` times in L0
        return width * std::log(scaling.original / (two_pi * turns)) / (2 * std::log(theta));
    };
    double low = pair(scaling.beta_fast), high = pair(scaling.beta_slow);
    if (scaling.truncate) {
        low = std::floor(low);
        high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, width - 1.0);
    if (low == high) high += 0.001;
    for (std::size_t k = 0; k < w.size(); ++k) {
        const double ramp = std::clamp((static_cast<double>(k) - low) / (high - low), 0.0, 1.0),
                     kept = scaling.extrapolation * (1 - ramp);
        w[k] = w[k] * kept + w[k] / scaling.factor * (1 - kept);
    }
}

void llama3(const RopeScaling& scaling, std::vector<double>& w) {
    for (double& frequency : w) {
        const double wavelength = two_pi / frequency, turns = scaling.original / wavelength;
        if (wavelength < scaling.original / scaling.high) continue;
        const double t = std::max(0.0, (turns - scaling.low) / (scaling.high - scaling.low));
        frequency = (1 - t) * frequency / scaling.factor + t * frequency;
    }
}

// Throws Error(usage) for a key of the spec that requires scaling.
void refuse_keys(const SpecItem& item, const Dims& dims) {
    std::vector<Parameter> list;
    Params listing(list);
    RopeScaling().parameters(listing, dims, 10000, 4);
    for (const auto& [key, value] : item.values)
        for (const Parameter& parameter : std::span(list).subspan(1))
            if (parameter.name == key)
                fail(ErrorCode::usage, "rope: ", key,
                     ": expected scaling=linear, ntk, dynamic, yarn, llama3 or longrope beside it, found no scaling");
}

} // namespace

double yarn_attention(double factor, double extrapolation) {
    return factor <= 1 || extrapolation == 0 ? 1 : 0.1 * std::log(factor) + 1;
}

// In the order of the canonical spec. It differs by the kind of scaling: each kind declares its own parameters, and a
// list shows all of them.
void RopeScaling::parameters(Params& p, const Dims& dims, double theta, int width) {
    constexpr double most = 1000000;
    p.unless(law == Law::none)
        .choice("scaling", law, {"none", "linear", "ntk", "dynamic", "yarn", "llama3", "longrope"},
                "for longer contexts: linear, ntk, dynamic, yarn, llama3 or longrope");
    if (law == Law::none && p.read()) refuse_keys(*p.read(), dims);
    if (law == Law::none && !p.listing()) return;
    if (p.read()) begin(dims, theta, width);
    const auto of = [&](auto... laws) { return p.listing() || ((law == laws) || ...); };
    const auto declare_original = [&] {
        p.integer("original", original, 1, 1 << 30, "tokens that the model was trained on; of llama3 8192", "context");
    };
    const auto declare_attention = [&] {
        p.number("attention", attention, 0, most, "yarn, longrope: what queries and keys are multiplied by",
                 "by factor");
    };
    if (law == Law::longrope) declare_original();
    p.number("factor", factor, 0.001, most, "how many times longer the context becomes; 8 for llama3");
    if (of(Law::dynamic, Law::yarn)) declare_original();
    if (p.read()) length = std::max(dims.context, original);
    if (p.read()) told = p.given("length") || p.given("factors");
    if (of(Law::dynamic))
        p.unless(!told).integer("length", length, original, 1 << 30,
                                "dynamic: tokens of the session that the frequencies are for", "context");
    if (of(Law::yarn)) {
        p.number("beta-fast", beta_fast, 0.001, most,
                 "yarn: pairs that turn as often in the original context are kept");
        p.number("beta-slow", beta_slow, 0.001, beta_fast, "yarn: pairs that turn as seldom are divided by the factor");
        if (law == Law::yarn) declare_attention();
        p.unless(extrapolation == 1)
            .number("extrapolation", extrapolation, 0, 1,
                    "yarn: share in which the pairs that are kept are; 0: all are divided");
        p.unless(truncate).flag("truncate", truncate,
                                "yarn: no lets the ramp between the two begin and end inside a pair");
    }
    if (of(Law::llama3)) {
        p.number("low", low, 0.001, most,
                 "llama3: turns in the original context from which on frequencies are divided");
        p.number("high", high, 0.001, most, "llama3: turns from which on they are kept");
        if (law == Law::llama3) declare_original();
    }
    if (of(Law::longrope)) {
        const auto pairs = static_cast<std::size_t>(width / 2);
        p.numbers("short", short_factors, 0.0001, most, pairs,
                  "longrope: divisors of the frequencies up to the original context, a/b/c", pairs);
        p.numbers("long", long_factors, 0.0001, most, pairs, "longrope: divisors beyond it", pairs);
        declare_attention();
        bool beyond = length > original; // only the choice of the list matters
        p.unless(!told).choice("factors", beyond, {"short", "long"},
                               "longrope: short or long, whatever the length of the text", "by length");
        if (p.read()) length = original + (beyond ? 1 : 0);
    }
    if (p.read()) end(p, width);
}

// The defaults of a kind of scaling.
void RopeScaling::begin(const Dims& dims, double theta, int width) {
    if ((law == Law::ntk || law == Law::dynamic) && width < 4)
        fail(ErrorCode::usage, "rope: scaling=", law == Law::ntk ? "ntk" : "dynamic",
             ": expected a width of at least 4, found ", width);
    if (law == Law::yarn && theta <= 1)
        fail(ErrorCode::usage, "rope: scaling=yarn: theta: expected more than 1, found ", decimal(theta));
    factor = law == Law::llama3 ? 8 : 1;
    if (law != Law::linear && law != Law::ntk) original = law == Law::llama3 ? 8192 : dims.context;
}

// Computes the derived values, and checks for parameters that exclude each other.
void RopeScaling::end(const Params& p, int width) {
    if (!p.given("attention") && law == Law::yarn) attention = yarn_attention(factor, extrapolation);
    if (!p.given("attention") && law == Law::longrope) attention = longrope_attention(factor, original);
    if (law == Law::llama3 && low >= high)
        fail(ErrorCode::usage, "rope: high: expected more than low, ", decimal(low), ", found ", decimal(high));
    for (const auto& [key, list] : {std::pair("short", &short_factors), std::pair("long", &long_factors)})
        if (law == Law::longrope && list->empty())
            fail(ErrorCode::usage, "rope: ", key, ": expected ", width / 2,
                 " numbers, one for each pair, as 1/2/3, found none");
}

RopeScaling RopeScaling::read(const SpecItem& item, const Dims& dims, double theta, int width) {
    RopeScaling scaling;
    Params reading(item);
    scaling.parameters(reading, dims, theta, width);
    return scaling;
}

std::vector<double> RopeScaling::frequencies(double theta, int width) const {
    std::vector<double> w = plain(theta, width);
    switch (law) {
    case Law::none:
        break;
    case Law::linear:
        for (double& frequency : w) frequency /= factor;
        break;
    case Law::ntk:
        return plain(ntk_base(theta, width, factor), width);
    case Law::dynamic:
        if (length > original) return plain(ntk_base(theta, width, factor * length / original - (factor - 1)), width);
        break;
    case Law::yarn:
        yarn(*this, theta, w);
        break;
    case Law::llama3:
        llama3(*this, w);
        break;
    case Law::longrope:
        for (std::size_t k = 0; k < w.size(); ++k) w[k] /= length == original ? short_factors[k] : long_factors[k];
        break;
    }
    return w;
}

RopeScaling RopeScaling::at_length(int capacity, int text) const {
    RopeScaling out = *this;
    if (told) return out;
    if (law == Law::dynamic) out.length = std::max(capacity, original);
    if (by_text()) out.length = text <= original ? original : original + 1;
    out.told = out.length != length;
    return out;
}

} // namespace ordo
