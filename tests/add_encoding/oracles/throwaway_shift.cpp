// SPDX-License-Identifier: MIT
#include "tests/oracle.h"

namespace ordo::reference {
namespace {

class ThrowawayShift final : public Oracle {
public:
    explicit ThrowawayShift(const Setting& setting) : setting_(setting) {}
    void shift(std::vector<Vector>& rows, Stage stage, int layer) const override {
        if (stage != Stage::qkv) return;
        for (std::size_t t = rows.size(); t-- > 1;)
            for (std::size_t j = 0; j < rows[t].size(); ++j)
                rows[t][j] += setting_.of_layer(layer, "weight").at(0, 0) * rows[t - 1][j];
    }

private:
    Setting setting_;
};

const Registration throwaway_shift("throwaway-shift", [](const Item&, const Setting& s) -> std::unique_ptr<Oracle> {
    return std::make_unique<ThrowawayShift>(s);
});

} // namespace
} // namespace ordo::reference
