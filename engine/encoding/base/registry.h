// SPDX-License-Identifier: MIT
// The registered encodings: one file each, listed in list.def.
#pragma once

#include "encoding/base/info.h"
#include "encoding/base/params.h"

namespace ordo {

// The encoding of an item of a spec. Throws Error(usage) for impossible sizes and for wrong parameters.
std::unique_ptr<Encoding> make_encoding(const EncodingInfo& info, const SpecItem& item, const Dims& dims);
// The same by its name, which may be one of register_encoding().
std::unique_ptr<Encoding> make_encoding(const SpecItem& item, const Dims& dims);
bool is_registered(std::string_view name); // by list.def or register_encoding()
// The encoding of the caller's. Throws Error(usage) as OwnEncoding says.
std::unique_ptr<Encoding> checked(OwnEncoding own);
// The encoding with its default parameters, in a small model.
std::unique_ptr<Encoding> example_of(const EncodingInfo& info);
std::vector<Parameter> parameters_of(const EncodingInfo& info);

// In the order of list.def.
std::span<const EncodingInfo* const> registered_encodings();
// Throws Error(usage) that lists the existing names, and the nearest.
const EncodingInfo& find_encoding(std::string_view name);
// The encodings in a spec, patterns included, each once and in the order of the spec. Throws Error(usage).
std::vector<const EncodingInfo*> encodings_named(std::span<const SpecItem> items);

} // namespace ordo
