// SPDX-License-Identifier: MIT
// The way from a text to one vector in a model's files: its truncation, its prompt and its pooling.
#pragma once

#include "formats/source.h"

namespace ordo {

// The folder of the model itself: the directory, or in the older form of sentence-transformers the folder of its first
// module, such as 0_Transformer or 0_BERT.
std::filesystem::path transformer_folder(const std::filesystem::path& directory);

// Reads a directory in the form of sentence-transformers: modules.json, the list of modules after the model, the
// folders of its pooling, 1_Pooling, and of its dense layers, and the files of its truncation and of its prompts. Sets
// the metadata `pooling`, `normalised`, `max_tokens`, `prompt` and `prompt_pooled`, and adds the dense layers with
// their tensors. Warns of any other module.
void read_pooling(const std::filesystem::path& directory, Source& source);

// The same from *.pooling_type, llama.cpp's number.
void read_gguf_pooling(const Gguf& file, const std::string& architecture, Metadata& metadata);

} // namespace ordo
