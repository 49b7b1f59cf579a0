// SPDX-License-Identifier: MIT
// The oracles of one layer on a sequence, as attention combines them.
#pragma once

#include "tests/oracle.h"

#include <cmath>

namespace ordo {

// A layer's oracles on one sequence: their observed states and their effect on a pair.
class LayerOracles {
public:
    using Vectors = std::vector<reference::Vector>; // one for each token

    template <class Subject>
    LayerOracles(const Subject& subject, int layer, const std::vector<int>& ids)
        : oracles_(subject.oracles->layer(layer)), layer_(layer) {
        const auto axes = static_cast<std::ptrdiff_t>(subject.axes);
        for (auto id = ids.begin(); id != ids.end(); id += axes) places_.emplace_back(id, id + axes);
        const reference::Vector nothing(static_cast<std::size_t>(subject.dims.d_model));
        for (const auto* oracle : oracles_) widths_.push_back(oracle->observe(nothing, {0}, layer, {}).size());
    }
    const std::vector<const reference::Oracle*>& list() const { return oracles_; }
    const reference::Place& place(std::size_t i) const { return places_[i]; }

    // The states of all encodings concatenated, as in the cache.
    Vectors observe(const Vectors& x) const {
        Vectors states(x.size());
        for (std::size_t i = 0; i < x.size(); ++i)
            for (std::size_t n = 0; n < oracles_.size(); ++n) {
                const reference::Vector before = i == 0 ? reference::Vector() : columns(states[i - 1], n);
                const reference::Vector own = oracles_[n]->observe(x[i], places_[i], layer_, before);
                states[i].insert(states[i].end(), own.begin(), own.end());
            }
        return states;
    }
    // states: as observe() returned them, or empty.
    void rotate(reference::Vector& x, std::size_t i, Role role, int head, const Vectors& states = {}) const {
        for (std::size_t n = 0; n < oracles_.size(); ++n)
            if (oracles_[n]->rotates(role))
                oracles_[n]->rotate_with(x, places_[i], states.empty() ? reference::Vector() : columns(states[i], n),
                                         role, layer_, head);
    }

    // The inputs of bias, rescore and mix.
    struct Sequence {
        Vectors q, k, states;
    };
    double bias(const reference::Head& of, const Sequence& s, std::size_t i, std::size_t j) const {
        double sum = 0;
        each(s, i, j,
             [&](const auto& oracle, const auto& query, const auto& key) { sum += oracle.bias(of, query, key); });
        return sum;
    }
    // row: the scores of the first keys. Returns the logit of the sinks.
    double rescore(reference::Vector& row, const reference::Head& of, const Sequence& s, std::size_t i) const {
        reference::Vector sinks;
        for (std::size_t n = 0; n < oracles_.size(); ++n) {
            Vectors states;
            for (std::size_t j = 0; j < std::max(row.size(), i + 1); ++j) states.push_back(columns(s.states[j], n));
            const auto side = [&](const Vectors& x, std::size_t j) {
                return reference::Side{x[j], places_[j], states[j]};
            };
            reference::ScoreRow at{of, side(s.q, i), {}, i};
            for (std::size_t j = 0; j < row.size(); ++j) at.keys.push_back(side(s.k, j));
            sinks.push_back(oracles_[n]->sink_of(at, row));
            oracles_[n]->rescore_row(row, at);
        }
        const double top = *std::max_element(sinks.begin(), sinks.end());
        double sum = 0;
        for (const double sink : sinks) sum += std::exp(sink - top);
        return std::isinf(top) ? top : top + std::log(sum);
    }
    // The logit of the sinks of encodings without rescore().
    double sink(const reference::Head& of, const Sequence& s, std::size_t i) const {
        reference::Vector none;
        return rescore(none, of, s, i);
    }
    void mix(reference::Vector& out, double weight, const reference::Head& of, const Sequence& s, std::size_t i,
             std::size_t j) const {
        each(s, i, j,
             [&](const auto& oracle, const auto& query, const auto& key) { oracle.mix(out, weight, of, query, key); });
    }

private:
    // The columns of the n-th encoding.
    reference::Vector columns(const reference::Vector& state, std::size_t n) const {
        std::size_t first = 0;
        for (std::size_t i = 0; i < n; ++i) first += widths_[i];
        return {state.begin() + std::ptrdiff_t(first), state.begin() + std::ptrdiff_t(first + widths_[n])};
    }
    template <class Act>
    void each(const Sequence& s, std::size_t i, std::size_t j, const Act& act) const {
        for (std::size_t n = 0; n < oracles_.size(); ++n) {
            const reference::Vector query = columns(s.states[i], n), key = columns(s.states[j], n);
            act(*oracles_[n], reference::Side{s.q[i], places_[i], query}, reference::Side{s.k[j], places_[j], key});
        }
    }

    std::vector<const reference::Oracle*> oracles_;
    int layer_;
    std::vector<reference::Place> places_;
    std::vector<std::size_t> widths_; // of the states
};

} // namespace ordo
