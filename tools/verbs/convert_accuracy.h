// SPDX-License-Identifier: MIT
// The accuracy of a converted model: its predictions next to those of the original in f32.
#pragma once

#include "formats/source.h"
#include "tools/bench/accuracy.h"
#include "tools/cli/inputs.h"
#include "tools/terminal/output.h"

#include <optional>
#include <string>

namespace ordo::tools {

// Thrown after a signal, so that no incomplete file remains.
struct Stopped {};
void stop_if_asked();

struct Measured {
    bench::Accuracy accuracy;
    std::string text; // its name
};

// The text for measuring; empty if nothing is measured or no text is found.
std::string text_path(const Arguments& arguments);
// Measuring holds the new file, its model and the old weights as floats in memory at once. Throws Error(limit).
void check_memory(const Source& source, std::uint64_t bytes);
// Compares the converted file, in memory, with its original. If it cannot, a warning gives the reason; with --file it
// throws Error.
std::optional<Measured> try_to_measure(const Arguments& arguments, const Source& source, const Source& result,
                                       Progress& progress);
// In the metadata as accuracy.*
void record(const Measured& measured, const std::string& reference, Metadata& metadata);

} // namespace ordo::tools
