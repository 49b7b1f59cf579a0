// SPDX-License-Identifier: MIT
// Wrong and doubtful claims of introductory texts on positional encoding, each with the fact.
#pragma once

#include "tools/lab/lab.h"

namespace ordo::lab {

// For one line of a terminal, and in full.
struct Claim {
    std::string_view brief, whole;
};
struct Evidence {
    std::string brief, whole;
};

struct Erratum {
    int number;
    std::string_view source;
    Claim claim;
    std::string_view verdict; // wrong, right, or partly: right within limits that the fact names
    std::string_view fact;
    Evidence figure;          // computed by this run
    std::string_view command; // that shows more; "-" if none does
};

// The texts: four posts and notebooks, a study with its repository.
inline constexpr std::string_view study_notes = "LLM study notes: Positional Encoding";
inline constexpr std::string_view course_notes = "Positional Encoding (King and Queen)";
inline constexpr std::string_view guide = "Position Encoding in Transformers";
inline constexpr std::string_view notebook = "Positional Embedding (notebook)";
inline constexpr std::string_view study = "Investigating Transformer Positional Encodings";
inline constexpr std::string_view study_code = "github.com/benkurzion/Transformer, code";
inline constexpr std::string_view all_texts = "all five texts";

std::vector<Erratum> errata_of_tables(const Request& request);      // the sinusoidal table
std::vector<Erratum> errata_of_attention(const Request& request);   // rotary, ALiBi, the attention layer
std::vector<Erratum> errata_of_experiments(const Request& request); // the study's experiments and encodings

} // namespace ordo::lab
