// SPDX-License-Identifier: MIT
#pragma once

#include "encoding/base/model_encodings.h"
#include "layers/matrix.h"

namespace ordo {

// x.row(i) = scale * table.row(tokens[i]). Tokens must be rows of the table. table [vocab, d], x [n, d]
void embed_tokens(std::span<const Token> tokens, const Matrix& table, float scale, View x);
// to = `from` after the item-th encoding embeds it; both may be the same.
void embed_rows(const ModelEncodings& encodings, std::size_t item, const TokenRows& rows, View from, View to);

} // namespace ordo
