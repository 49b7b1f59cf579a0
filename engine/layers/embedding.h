// SPDX-License-Identifier: MIT
#pragma once

#include "layers/matrix.h"

namespace ordo {

// x.row(i) = scale * table.row(tokens[i]). Tokens must be rows of the table. table [vocab, d], x [n, d]
void embed_tokens(std::span<const Token> tokens, const Matrix& table, float scale, View x);

} // namespace ordo
