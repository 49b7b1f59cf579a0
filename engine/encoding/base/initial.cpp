// SPDX-License-Identifier: MIT
#include "encoding/base/initial.h"

#include "core/parallel.h"
#include "core/random.h"

#include <algorithm>

namespace ordo {

void fill_initial(const TensorSpec& spec, std::span<float> values, std::uint64_t seed, std::uint64_t stream) {
    const InitialValues& initial = spec.initial;
    const Random random(seed, stream);
    const double a = initial.a, b = initial.b;
    const auto each = [&](const auto& value) {
        parallel_for(static_cast<std::ptrdiff_t>(values.size()), 4096,
                     [&](std::ptrdiff_t i) { values[i] = static_cast<float>(value(static_cast<std::uint64_t>(i))); });
    };
    switch (initial.kind) {
    case InitialValues::Kind::normal:
        return each([&](std::uint64_t i) { return a + b * random.normal(i); });
    case InitialValues::Kind::uniform:
        return each([&](std::uint64_t i) { return a + (b - a) * random.uniform(i); });
    case InitialValues::Kind::constant:
        return std::fill(values.begin(), values.end(), initial.a);
    case InitialValues::Kind::own:
        return initial.own(values, random.bits(0)); // streams have seeds of their own
    }
}

} // namespace ordo
