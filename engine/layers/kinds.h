// SPDX-License-Identifier: MIT
// The choices between which a transformer's layers are built.
#pragma once

namespace ordo {

enum class NormPlace { pre, post }; // x + f(norm(x)); norm(x + f(x))
enum class Mask { causal, bidirectional };

} // namespace ordo
