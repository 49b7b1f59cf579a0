// SPDX-License-Identifier: MIT
// Devlin et al. 2019 (arXiv 1810.04805), figure 2: the segment's row of a table is added to the embedding.
#include "tests/oracle.h"

namespace ordo::reference {
namespace {

class Segment final : public Oracle {
public:
    explicit Segment(const Setting& setting) : setting_(setting) {}
    void embed(Vector& x, const Place&, int segment) const override {
        const Matrix& table = setting_.shared("weight");
        for (std::size_t j = 0; j < x.size(); ++j) x[j] += table.at(segment, static_cast<int>(j));
    }

private:
    Setting setting_;
};

const Registration segment("segment", [](const Item&, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<Segment>(setting);
});

} // namespace
} // namespace ordo::reference
