// SPDX-License-Identifier: MIT
// Every architecture of list.def by its own name; formats/architecture.h's architectures() lists them.
#pragma once

#include "formats/config_values.h"
#include "formats/gguf/keys.h"

namespace ordo {

#define ARCHITECTURE(name) extern const Architecture name##_architecture;
#include "models/list.def"
#undef ARCHITECTURE

} // namespace ordo
