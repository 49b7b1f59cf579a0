// SPDX-License-Identifier: MIT
#include "tools/lab/shipped/probe.h"

#include "tools/lab/math/ridge.h"

namespace ordo::lab {
namespace {

constexpr double penalty = 1e-3; // for columns of variance 1

struct Windows {
    std::vector<std::span<const Token>> fit, test;
};

Windows windows_of(std::span<const tools::Document> documents, int length, int most) {
    Windows windows;
    int document_number = 0;
    for (const tools::Document& document : documents) {
        const std::span<const Token> tokens = document.tokens;
        const auto size = static_cast<std::size_t>(length);
        if (tokens.size() < size) continue;
        const bool held_out = document_number++ % 3 == 2;
        auto& list = held_out ? windows.test : windows.fit;
        const auto room = static_cast<std::size_t>(held_out ? most / 3 : most - most / 3);
        for (std::size_t start = 0; start + size <= tokens.size() && list.size() < room; start += size)
            list.push_back(tokens.subspan(start, size));
    }
    return windows;
}

// rows[layer]: the states of all windows, one after the other.
std::vector<std::vector<float>> states_of(const Model& model, std::span<const std::span<const Token>> windows) {
    std::vector<std::vector<float>> rows;
    for (const std::span<const Token> window : windows) {
        std::vector<Tensor> states = hidden_states(model, window);
        rows.resize(states.size());
        for (std::size_t layer = 0; layer < states.size(); ++layer)
            rows[layer].insert(rows[layer].end(), states[layer].data(), states[layer].data() + states[layer].size());
    }
    return rows;
}

} // namespace

std::vector<Tensor> hidden_states(const Model& model, std::span<const Token> tokens) {
    const auto n = static_cast<int>(tokens.size());
    check_reach(encodings_of(model), n);
    std::vector<Tensor> all;
    Session session(model, {.capacity = n, .chunk = n});
    session.watch({.states =
                       [&](int, int, ConstView states) {
                           Tensor copy(states.rows, states.cols);
                           for (int i = 0; i < states.rows; ++i)
                               std::copy_n(states.row(i), states.cols, copy.view().row(i));
                           all.push_back(std::move(copy));
                       },
                   .weights = {}});
    session.feed(tokens);
    return all;
}

Probe probe(const Model& model, const Text& text, int most_windows) {
    const int length = model.context();
    const std::vector<tools::Document> documents = documents_of(text, model);
    const Windows windows = windows_of(documents, length, most_windows);
    if (windows.fit.size() < 2 || windows.test.size() < 2)
        fail(ErrorCode::usage, text.name, ": expected three documents of ", 2 * length, " tokens or more, found fewer");
    const std::vector<std::vector<float>> fit = states_of(model, windows.fit), test = states_of(model, windows.test);
    const std::size_t d = test[0].size() / (windows.test.size() * static_cast<std::size_t>(length));
    std::vector<double> positions;
    for (std::size_t w = 0; w < windows.fit.size(); ++w)
        for (int p = 0; p < length; ++p) positions.push_back(p);

    Probe out;
    out.fitted = static_cast<int>(windows.fit.size());
    out.held_out = static_cast<int>(windows.test.size());
    for (int p = 0; p < length; ++p) out.guess += std::abs(p - (length - 1) / 2.0) / length;
    for (std::size_t layer = 0; layer < fit.size(); ++layer) {
        const Ridge ridge(fit[layer], static_cast<int>(d), positions, penalty);
        Sample errors;
        for (std::size_t w = 0; w < windows.test.size(); ++w) {
            double sum = 0;
            for (std::size_t p = 0; p < static_cast<std::size_t>(length); ++p) {
                const std::size_t row = w * static_cast<std::size_t>(length) + p;
                sum += std::abs(ridge.predict(std::span(test[layer]).subspan(row * d, d)) - static_cast<double>(p));
            }
            errors.add(sum / length);
        }
        out.layers.push_back({errors.mean(), errors.standard_error()});
    }
    return out;
}

} // namespace ordo::lab
