// SPDX-License-Identifier: MIT
// How a model's files say that the states of a text become one vector.
#pragma once

#include "formats/source.h"

namespace ordo {

// Of a directory as sentence-transformers writes it: modules.json, which lists what follows the model, and the folder
// of its pooling, 1_Pooling. It becomes the metadata `pooling` and `normalised`. A module that is neither is a warning.
void read_pooling(const std::filesystem::path& directory, Source& source);

// The same of *.pooling_type, a number of llama.cpp's.
void read_gguf_pooling(const Gguf& file, const std::string& architecture, Metadata& metadata);

} // namespace ordo
