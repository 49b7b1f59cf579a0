// SPDX-License-Identifier: MIT
// Every architecture of list.def by name. architectures() in formats/architecture.h lists them.
#pragma once

#include "formats/config_values.h"
#include "formats/gguf/keys.h"

namespace ordo {

#define ARCHITECTURE(name) extern const Architecture name##_architecture;
#include "models/list.def"
#undef ARCHITECTURE

} // namespace ordo
