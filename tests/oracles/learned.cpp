// SPDX-License-Identifier: MIT
// Devlin et al. 2019 (arXiv 1810.04805), figure 2: the position's row of a table is added to the embedding.
#include "tests/oracle.h"

namespace ordo::reference {
namespace {

class Learned final : public Oracle {
public:
    Learned(const Item& item, const Setting& setting) : setting_(setting), offset_(item.integer("offset")) {}
    void embed(Vector& x, const Place& at, int) const override {
        const Matrix& table = setting_.shared("weight");
        for (std::size_t j = 0; j < x.size(); ++j) x[j] += table.at(at[0] + offset_, static_cast<int>(j));
    }

private:
    Setting setting_;
    int offset_;
};

const Registration learned("learned", [](const Item& item, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<Learned>(item, setting);
});

} // namespace
} // namespace ordo::reference
