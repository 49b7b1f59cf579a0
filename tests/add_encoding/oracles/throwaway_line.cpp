// SPDX-License-Identifier: MIT
#include "tests/oracle.h"

namespace ordo::reference {
namespace {

class ThrowawayLine final : public Oracle {
public:
    explicit ThrowawayLine(const Setting& setting) : setting_(setting) {}
    std::vector<int> positions(const std::vector<Token>& tokens) const override {
        std::vector<int> columns;
        for (const Token token : tokens) columns.push_back(token == 10 ? 0 : columns.empty() ? 1 : columns.back() + 1);
        return columns;
    }
    double bias(const Head& of, const Side& query, const Side& key) const override {
        return -setting_.of_layer(of.layer, "slopes").at(0, of.head) * distance(query.at, key.at);
    }

private:
    Setting setting_;
};

const Registration throwaway_line("throwaway-line", [](const Item&, const Setting& s) -> std::unique_ptr<Oracle> {
    return std::make_unique<ThrowawayLine>(s);
});

} // namespace
} // namespace ordo::reference
