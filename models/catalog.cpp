// SPDX-License-Identifier: MIT
#include "models/catalog.h"

namespace ordo {

// Built on first use, because the order of initialisation across files is undefined.
std::span<const Architecture> architectures() {
    static const Architecture all[] = {
#define ARCHITECTURE(name) name##_architecture,
#include "models/list.def"
#undef ARCHITECTURE
    };
    return all;
}

} // namespace ordo
