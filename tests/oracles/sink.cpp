// SPDX-License-Identifier: MIT
// A trained logit per head that takes part in the softmax and has no value: Miller 2023 ("softmax1", where it is zero);
// gpt-oss's `sinks`; see Xiao et al. 2024 (arXiv 2309.17453), section 3.3.
#include "tests/oracle.h"

namespace ordo::reference {
namespace {

class Sink final : public Oracle {
public:
    explicit Sink(const Setting& setting) : setting_(setting) {}
    double sink(int layer, int head) const override { return setting_.of_layer(layer, "logit").at(0, head); }

private:
    Setting setting_;
};

const Registration sink("sink", [](const Item&, const Setting& setting) -> std::unique_ptr<Oracle> {
    return std::make_unique<Sink>(setting);
});

} // namespace
} // namespace ordo::reference
