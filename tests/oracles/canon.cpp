// SPDX-License-Identifier: MIT
// Allen-Zhu 2025 (arXiv 2512.17351): h + conv(h) on the normalised input of attention (Canon-A) or of the feed-forward
// part (Canon-C), where conv is a causal convolution of each column, without bias or activation; its last weight is the
// token's own (PyTorch's Conv1d). Smear, as in modded-nanogpt: x_t + lambda sigmoid(w . x_t[:12]) x_(t-1) on the
// embedding.
#include "tests/oracle.h"

#include <cmath>

namespace ordo::reference {
namespace {

class Canon final : public Oracle {
public:
    Canon(const Item& item, const Setting& setting) : setting_(setting), places_(item.word("places")) {}
    void shift(std::vector<Vector>& rows, Stage stage, int layer) const override {
        if (places_ == "smear") {
            if (stage == Stage::embedding) smear(rows);
        } else if (stage == Stage::attention || stage == Stage::feed_forward) {
            const std::string name = stage == Stage::attention ? "a" : "c";
            if (places_.find(name) != std::string::npos) convolve(rows, setting_.of_layer(layer, name));
        }
    }

private:
    static void convolve(std::vector<Vector>& rows, const Matrix& weight) {
        const std::vector<Vector> old = rows;
        for (std::size_t t = 0; t < rows.size(); ++t)
            for (int k = 0; k < weight.cols && static_cast<std::size_t>(k) <= t; ++k) // k tokens before
                for (int c = 0; c < weight.rows; ++c)
                    rows[t][c] += weight.at(c, weight.cols - 1 - k) * old[t - static_cast<std::size_t>(k)][c];
    }
    void smear(std::vector<Vector>& rows) const {
        const Matrix& gate = setting_.shared("gate");
        const std::vector<Vector> old = rows;
        for (std::size_t t = 1; t < rows.size(); ++t) {
            double z = 0;
            for (int c = 0; c < gate.cols; ++c) z += gate.at(0, c) * old[t][c];
            for (std::size_t c = 0; c < rows[t].size(); ++c)
                rows[t][c] += setting_.shared("scale").at(0, 0) / (1 + std::exp(-z)) * old[t - 1][c];
        }
    }

    Setting setting_;
    std::string places_;
};

const Registration canon("canon", [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<Canon>(item, setting);
});

} // namespace
} // namespace ordo::reference
