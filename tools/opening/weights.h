// SPDX-License-Identifier: MIT
// From --model, --encoding and --dtype to a loaded model. Also finds the weights that come with the program.
#pragma once

#include "io/shipped.h"
#include "model/model_access.h"
#include "tools/cli/options.h"

namespace ordo {
struct Source;
class Tokenizer;
} // namespace ordo

namespace ordo::tools {

inline constexpr Option model_options[] = {
    {Kind::path, "m,model", "FILE",
     "The MODEL, a weight file or Hugging Face directory. Default: the weights shipped for --encoding."},
    {Kind::text, "encoding", "SPEC",
     "The positional encoding, such as rope:theta=10000. Default: the trained one; without --model, rope."},
    {"force-encoding", "Use an encoding other than the trained one."},
    {Kind::choice, "dtype", "TYPE", "f32|f16|bf16|q8_0|q4_0: the type of the weights in memory. Default: as stored."},
    {Kind::path, "tokenizer", "PATH", "Take the tokenizer from this file or directory."},
};
inline constexpr OptionGroup model_group{"Model", model_options};

// All shipped weight files, by folder and name; of those of one name, the first of weight_directories().
std::vector<std::filesystem::path> shipped_weights();
// Throws the errors of loading the model. A model too large for memory is not checked.
void check_loads(const Source& source);
// The weights in a folder, by name, except the storyteller. Throws Error(io) if there are none.
std::vector<std::filesystem::path> weights_in(const std::filesystem::path& directory);
bool holds_weights(const std::filesystem::path& directory);

// The first shipped weights trained with an encoding, if any. Throws Error(usage) for an invalid spec.
std::optional<std::filesystem::path> weights_trained_with(const std::string& spec);

// The same, but throws Error if there are none. With force, weights of the same kind of encoding are accepted, or else
// those of rope.
std::filesystem::path weights_for(const std::string& spec, bool force);

// Whether the command line names a model.
bool names_model(const Arguments& arguments);
// Throws Error(usage) if it names none. kind: one without a shipped file, "a model with a mask token, such as
// BERT".
void expect_model(const Arguments& arguments, std::string_view kind);

// The file of --model or the operand, or else the shipped one for --encoding. Throws Error.
std::filesystem::path model_path(const Arguments& arguments);

// The same for verbs that write texts: with neither a model nor an encoding, the shipped storyteller if there is one.
// The storyteller is larger than the other files, which differ only by their encodings. Only this function or its path
// finds it.
std::filesystem::path writing_model_path(const Arguments& arguments);

// A model's description in any file format, read without its tensors. Throws Error.
struct ModelFacts {
    Blueprint blueprint;
    std::string encoding; // canonical
    std::string dtype;    // of the largest tensor, as stored
    Metadata record;      // the complete metadata
};
ModelFacts read_facts(const std::filesystem::path& file);

// Opens the model with the requested encoding and type of weights.
Model open_model(const Arguments& arguments);

// The same for a given file and encoding.
struct ModelChoice {
    std::filesystem::path file = {};
    std::string encoding = {}; // empty: the trained one
    bool force = false;
    std::filesystem::path tokenizer = {}; // its source; empty: the model
};
Model open_model(const Arguments& arguments, const ModelChoice& choice);
// Reports on stderr the parts of the tokenizer's file that the tokenizer ignores.
void show_ignored(const Tokenizer& tokenizer);
// "model: FILE, encoding: SPEC" on stderr.
void show_model(const std::filesystem::path& file, const Model& model);

// Warns before any computation if `positions` exceeds the trained context, and describes the encoding's behaviour in a
// session of that length. whose: the model's name, if there are several.
void warn_beyond(const Arguments& arguments, const Model& model, std::int64_t positions, const std::string& whose = {});

// Warns of a prompt that spells the start token: without --special it is read as letters.
void warn_of_typed_start(const Arguments& arguments, const Model& model, std::string_view prompt);

} // namespace ordo::tools
