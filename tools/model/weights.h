// SPDX-License-Identifier: MIT
// From --model, --encoding and --dtype to a loaded model; finding the weights that come with the program.
#pragma once

#include "model/model.h"
#include "tools/cli/options.h"

namespace ordo {
struct Source;
class Tokenizer;
} // namespace ordo

namespace ordo::tools {

inline constexpr Option model_options[] = {
    {.letter = 'm',
     .name = "model",
     .kind = Kind::path,
     .value = "FILE",
     .help = "A weight file or a Hugging Face directory. Default: the shipped weights trained with --encoding."},
    {.name = "encoding",
     .kind = Kind::text,
     .value = "SPEC",
     .help = "The positional encoding, such as rope:theta=10000. Default: the trained one; without --model, rope."},
    {.name = "force-encoding", .help = "Run the weights with another encoding than theirs."},
    {.name = "dtype",
     .kind = Kind::choice,
     .value = "TYPE",
     .help = "f32|f16|bf16|q8_0|q4_0: the type of the weights in memory. Default: as stored."},
};
inline constexpr OptionGroup model_group{"Model", model_options};

// Where shipped files are looked for, in this order: $ORDO_WEIGHTS, ../share/ordo/weights beside the
// program, the weights/ of the build tree.
std::vector<std::filesystem::path> weight_directories();

// A shipped file by its name. Throws Error(io).
std::filesystem::path find_shipped(std::string_view name);

// All shipped weight files, by folder and name; of those of one name, the first in the order above.
std::vector<std::filesystem::path> shipped_weights();
// Throws what loading the model throws. One that does not fit the memory is taken on trust.
void check_loads(const Source& source);
// Those that lie in a folder, by name, but the storyteller. Throws Error(io) if there are none.
std::vector<std::filesystem::path> weights_in(const std::filesystem::path& directory);
bool holds_weights(const std::filesystem::path& directory);

// The first shipped weights that were trained with an encoding, if there are any. Throws Error(usage) for a spec that
// is none.
std::optional<std::filesystem::path> weights_trained_with(const std::string& spec);

// The same, which there have to be; with force, weights of the same kind of
// encoding do, and failing that those for rope. Throws Error.
std::filesystem::path find_weights(const std::string& spec, bool force);

// Whether the command line names a model.
bool names_model(const Arguments& arguments);
// Throws Error(usage) where it names none: no shipped file is of this kind, "a model with a mask token, such as BERT".
void expect_model(const Arguments& arguments, std::string_view kind);

// The file that --model or the operand names, or else the shipped one for --encoding. Throws Error.
std::filesystem::path model_path(const Arguments& arguments);

// The same for who writes texts: with neither a model nor an encoding, the shipped storyteller if there is one. It is
// larger than the others, which differ by their encodings alone, and is found in no other way than this and by its
// path.
std::filesystem::path writing_model_path(const Arguments& arguments);

// What a model says of itself, in any format, without its tensors being read. Throws Error.
struct ModelFacts {
    Blueprint blueprint;
    std::string encoding; // canonical
    std::string dtype;    // of the largest tensor, as it is stored
    Metadata record;      // all of it
};
ModelFacts read_facts(const std::filesystem::path& file);

// The model with the encoding and the type of weights that were asked for. context: positions to prepare for, 0: as
// trained.
Model open_model(const Arguments& arguments, int context = 0);

// The same of a file and an encoding that were chosen otherwise.
struct ModelChoice {
    std::filesystem::path file = {};
    std::string encoding = {}; // empty: the trained one
    bool force = false;
    int context = 0;
    std::filesystem::path tokenizer = {}; // where it is taken from; empty: from the model
};
Model open_model(const Arguments& arguments, const ModelChoice& choice);
// What the tokenizer's file has and the tokenizer ignores, on stderr.
void show_ignored(const Tokenizer& tokenizer);
// "model: FILE, encoding: SPEC" on stderr.
void show_model(const std::filesystem::path& file, const Model& model);

// Says before anything is computed that so many positions are more than the model was trained with, and what its
// encoding makes of that in a session of that length. whose: of several models, which.
void warn_beyond(const Arguments& arguments, const Model& model, std::int64_t positions, const std::string& whose = {});

// Warns of a prompt that spells the token which is put before it: without --special it is read as letters.
void warn_of_typed_start(const Arguments& arguments, const Model& model, std::string_view prompt);

} // namespace ordo::tools
