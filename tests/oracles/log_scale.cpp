// SPDX-License-Identifier: MIT
// Queries multiplied by a factor of their position p, with n = p + 1 keys in sight:
//   ssmax      s_h ln n: Nakanishi 2025 (arXiv 2501.19399), s trained in each layer and head.
//   log-n      ln n / ln L if n > L, else 1: Qwen's code.
//   llama4     1 + b ln(1 + floor(n / L)): Llama 4's code.
//   ministral  1 + b ln(1 + floor(p / L)): Ministral 3 in transformers.
//   inkling    1 + b ln(max(1, n / L)): Inkling in transformers.
#include "tests/oracle.h"

#include <algorithm>
#include <cmath>

namespace ordo::reference {
namespace {

class LogScale final : public Oracle {
public:
    LogScale(const Item& item, const Setting& setting)
        : setting_(setting), kind_(item.word("kind")), length_(item.number("length", 0)),
          factor_(item.number("factor", 0)) {}
    bool scales_queries() const override { return true; }
    void rotate(Vector& x, const Place& at, Role role, int layer, int head) const override {
        if (role == Role::key) return;
        for (double& value : x) value *= factor(at[0], layer, head);
    }

private:
    double factor(int position, int layer, int head) const {
        const double p = position, n = p + 1;
        if (kind_ == "ssmax") return setting_.of_layer(layer, "scale").at(0, head) * std::log(n);
        if (kind_ == "log-n") return n > length_ ? std::log(n) / std::log(length_) : 1;
        if (kind_ == "inkling") return 1 + factor_ * std::log(std::max(1.0, n / length_));
        return 1 + factor_ * std::log(1 + std::floor((kind_ == "llama4" ? n : p) / length_));
    }

    Setting setting_;
    std::string kind_;
    double length_, factor_;
};

const Registration log_scale("log-scale", [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<LogScale>(item, setting);
});

} // namespace
} // namespace ordo::reference
