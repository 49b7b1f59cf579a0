// SPDX-License-Identifier: MIT
// The pooling of a model's files: the way from the states of a text to one vector.
#pragma once

#include "formats/source.h"

namespace ordo {

// Reads a directory in the form of sentence-transformers: modules.json, the list of modules after the model, and the
// folder of its pooling, 1_Pooling. Sets the metadata `pooling` and `normalised`. Warns of any other module.
void read_pooling(const std::filesystem::path& directory, Source& source);

// The same from *.pooling_type, llama.cpp's number.
void read_gguf_pooling(const Gguf& file, const std::string& architecture, Metadata& metadata);

} // namespace ordo
