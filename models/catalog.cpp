// SPDX-License-Identifier: MIT
#include "models/catalog.h"

namespace ordo {

// Built on first use: the order in which files' constants are initialised is not defined.
std::span<const Architecture> architectures() {
    static const Architecture all[] = {
#define ARCHITECTURE(name) name##_architecture,
#include "models/list.def"
#undef ARCHITECTURE
    };
    return all;
}

} // namespace ordo
