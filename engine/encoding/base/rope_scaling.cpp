// SPDX-License-Identifier: MIT
#include "encoding/base/rope_scaling.h"

#include "core/error.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

namespace ordo {
namespace {

using Law = RopeScaling::Law;

constexpr double two_pi = 6.283185307179586476925;
constexpr std::string_view names[] = {"none", "linear", "ntk", "dynamic", "yarn", "llama3", "longrope"};
// Keys of a spec that mean nothing without scaling.
constexpr std::string_view keys[] = {"factor",        "original",  "length",   "beta-fast", "beta-slow",
                                     "extrapolation", "attention", "truncate", "low",       "high",
                                     "short",         "long",      "factors"};

const Parameter listed[] = {
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
    {"attention", "by factor", "yarn, longrope: what queries and keys are multiplied by"}};

// theta^(-2k/width)
std::vector<double> plain(double theta, int width) {
    std::vector<double> out;
    for (int k = 0; k < width / 2; ++k) out.push_back(std::pow(theta, -2.0 * k / width));
    return out;
}

// A base that slows the last pair, of exponent 2/width - 1, by s.
double ntk_base(double theta, int width, double s) {
    return theta * std::pow(s, width / (width - 2.0));
}

double longrope_attention(double s, int original) {
    return s <= 1 || original <= 1 ? 1 : std::sqrt(1 + std::log(s) / std::log(original));
}

void yarn(const RopeScaling& scaling, double theta, std::vector<double>& w) {
    const int width = 2 * static_cast<int>(w.size());
    const auto pair = [&](double turns) { // which turns so often in L0
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

std::vector<double> factors_of_pairs(const SpecItem& item, std::string_view key, int width) {
    const auto pairs = static_cast<std::size_t>(width / 2);
    std::vector<double> list = item.numbers(key, {}, 0.0001, 1000000, pairs, pairs);
    if (list.empty())
        fail(ErrorCode::usage, "rope: ", key, ": expected ", pairs,
             " numbers, one for each pair, as 1/2/3, found none");
    return list;
}

} // namespace

double yarn_attention(double factor, double extrapolation) {
    return factor <= 1 || extrapolation == 0 ? 1 : 0.1 * std::log(factor) + 1;
}

void RopeScaling::parameters(Params& p, const Dims& dims, double theta, int width) {
    if (p.read()) *this = read(*p.read(), dims, theta, width);
    if (p.write()) write(*p.write());
    if (p.list())
        for (const Parameter& parameter : listed) p.list()->push_back(parameter);
}

RopeScaling RopeScaling::read(const SpecItem& item, const Dims& dims, double theta, int width) {
    const std::string name =
        item.choice("scaling", "none", {"none", "linear", "ntk", "dynamic", "yarn", "llama3", "longrope"});
    RopeScaling s;
    s.law = static_cast<Law>(std::find(std::begin(names), std::end(names), name) - std::begin(names));
    if (s.law == Law::none) {
        for (const auto& [key, value] : item.values)
            if (std::find(std::begin(keys), std::end(keys), key) != std::end(keys))
                fail(ErrorCode::usage, "rope: ", key,
                     ": expected scaling=linear, ntk, dynamic, yarn, llama3 or longrope ",
                     "beside it, found no scaling");
        return s;
    }
    constexpr int most = 1 << 30;
    s.factor = item.number("factor", s.law == Law::llama3 ? 8 : 1, 0.001, 1000000);
    if (s.law != Law::linear && s.law != Law::ntk)
        s.original = item.integer("original", s.law == Law::llama3 ? 8192 : dims.context, 1, most);
    s.length = std::max(dims.context, s.original);
    s.told = std::any_of(item.values.begin(), item.values.end(),
                         [](const auto& value) { return value.first == "length" || value.first == "factors"; });
    if ((s.law == Law::ntk || s.law == Law::dynamic) && width < 4)
        fail(ErrorCode::usage, "rope: scaling=", name, ": expected a width of at least 4, found ", width);
    switch (s.law) {
    case Law::dynamic:
        s.length = item.integer("length", s.length, s.original, most);
        break;
    case Law::yarn:
        if (theta <= 1)
            fail(ErrorCode::usage, "rope: scaling=yarn: theta: expected more than 1, found ", decimal(theta));
        s.beta_fast = item.number("beta-fast", 32, 0.001, 1000000);
        s.beta_slow = item.number("beta-slow", 1, 0.001, s.beta_fast);
        s.extrapolation = item.number("extrapolation", 1, 0, 1);
        s.attention = item.number("attention", yarn_attention(s.factor, s.extrapolation), 0, 1000000);
        s.truncate = item.choice("truncate", "yes", {"yes", "no"}) == "yes";
        break;
    case Law::llama3:
        s.low = item.number("low", 1, 0.001, 1000000);
        s.high = item.number("high", 4, 0.001, 1000000);
        if (s.low >= s.high)
            fail(ErrorCode::usage, "rope: high: expected more than low, ", decimal(s.low), ", found ", decimal(s.high));
        break;
    case Law::longrope: {
        s.short_factors = factors_of_pairs(item, "short", width);
        s.long_factors = factors_of_pairs(item, "long", width);
        s.attention = item.number("attention", longrope_attention(s.factor, s.original), 0, 1000000);
        const char* usual = s.length <= s.original ? "short" : "long"; // which list is all that counts
        s.length = item.choice("factors", usual, {"short", "long"}) == "short" ? s.original : s.original + 1;
        break;
    }
    default:
        break;
    }
    return s;
}

void RopeScaling::write(SpecWriter& spec) const {
    if (law == Law::none) return;
    spec("scaling", names[static_cast<std::size_t>(law)]);
    if (law == Law::longrope) spec("original", original);
    spec("factor", factor);
    switch (law) {
    case Law::dynamic:
        spec("original", original);
        if (told) spec("length", length);
        break;
    case Law::yarn:
        spec("original", original)("beta-fast", beta_fast)("beta-slow", beta_slow)("attention", attention);
        if (extrapolation != 1) spec("extrapolation", extrapolation);
        if (!truncate) spec("truncate", "no");
        break;
    case Law::llama3:
        spec("low", low)("high", high)("original", original);
        break;
    case Law::longrope:
        spec("short", std::span<const double>(short_factors))("long", std::span<const double>(long_factors));
        spec("attention", attention);
        if (told) spec("factors", length == original ? "short" : "long");
        break;
    default:
        break;
    }
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

RopeScaling RopeScaling::at_length(int tokens) const {
    RopeScaling out = *this;
    if (told) return out;
    if (law == Law::dynamic) out.length = std::max(tokens, original);
    if (changes_beyond() == original) out.length = tokens <= original ? original : original + 1;
    out.told = out.length != length;
    return out;
}

int RopeScaling::changes_beyond() const {
    const bool changes = law == Law::longrope && !told && short_factors != long_factors;
    return changes ? original : std::numeric_limits<int>::max();
}

} // namespace ordo
