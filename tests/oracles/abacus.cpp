// SPDX-License-Identifier: MIT
// McLeish et al. 2024 (arXiv 2405.17399), as in the authors' abacus.py: the digits of a number have positions 1, 2, ..
// and all other tokens 0. The position's row of a table is added to the embedding, also for 0.
#include "tests/oracle.h"

namespace ordo::reference {
namespace {

class Abacus final : public Oracle {
public:
    Abacus(const Item& item, const Setting& setting)
        : setting_(setting), first_(item.integer("first")), last_(item.integer("last")) {}
    std::vector<int> positions(const std::vector<Token>& tokens) const override {
        std::vector<int> ids;
        for (const Token token : tokens) {
            const bool digit = token >= first_ && token <= last_;
            ids.push_back(!digit ? 0 : ids.empty() ? 1 : ids.back() + 1);
        }
        return ids;
    }
    void embed(Vector& x, const Place& at, int) const override {
        for (std::size_t j = 0; j < x.size(); ++j) x[j] += setting_.shared("weight").at(at[0], static_cast<int>(j));
    }

private:
    Setting setting_;
    int first_, last_;
};

const Registration abacus("abacus", [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<Abacus>(item, setting);
});

} // namespace
} // namespace ordo::reference
