// SPDX-License-Identifier: MIT
#include "tests/oracle.h"

namespace ordo::reference {
namespace {

class ThrowawayRows final : public Oracle {
public:
    explicit ThrowawayRows(const Setting& setting) : setting_(setting) {}
    void embed(Vector& x, const Place& at, int) const override {
        for (std::size_t j = 0; j < x.size(); ++j) x[j] += setting_.shared("weight").at(at[0] % 7, static_cast<int>(j));
    }

private:
    Setting setting_;
};

const Registration throwaway_rows("throwaway-rows", [](const Item&, const Setting& s) -> std::unique_ptr<Oracle> {
    return std::make_unique<ThrowawayRows>(s);
});

} // namespace
} // namespace ordo::reference
