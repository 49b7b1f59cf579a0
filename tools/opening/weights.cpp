// SPDX-License-Identifier: MIT
#include "tools/opening/weights.h"

#include "core/error.h"
#include "encoding/base/model_encodings.h"
#include "encoding/base/registry.h"
#include "formats/source.h"
#include "model/stack.h"
#include "tools/opening/reach.h"
#include "tools/opening/rope_options.h"
#include "tools/terminal/output.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <system_error>
#include <unistd.h>

namespace ordo::tools {

namespace fs = std::filesystem;

namespace {

constexpr const char* storyteller = "storyteller.safetensors";

// A file, and the encoding with which it was trained.
struct Candidate {
    fs::path file;
    std::string trained; // canonical
    std::string names;   // in it
};

struct Search {
    std::string names;             // in the requested encoding
    std::optional<fs::path> found; // trained with it
    std::vector<Candidate> others;
    std::string refused, broken; // why a file cannot hold the encoding, or cannot be read
    bool trained = false;        // the encoding has tensors that only training can set

    // The first of the others whose encodings have the same names.
    const Candidate* of_its_kind() const {
        const auto alike =
            std::find_if(others.begin(), others.end(), [&](const Candidate& c) { return c.names == names; });
        return alike == others.end() ? nullptr : &*alike;
    }
};

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

// Avoids fs::directory_iterator: libstdc++ 12's ends the process if it gets no memory for a name.
std::vector<fs::path> weight_files(const fs::path& directory) {
    std::vector<fs::path> files;
    const std::unique_ptr<DIR, CloseDirectory> open(::opendir(directory.c_str()));
    while (const dirent* entry = open ? ::readdir(open.get()) : nullptr)
        if (const fs::path name = entry->d_name; name.extension() == ".safetensors" && name != storyteller)
            files.push_back(directory / name);
    std::sort(files.begin(), files.end());
    return files;
}

[[noreturn]] void no_weights_in(const std::string& where, const fs::path& directory) {
    if (::access(directory.c_str(), R_OK | X_OK) != 0) {
        const int why = errno;
        fail(ErrorCode::io, where, printable_path(directory), ": ", std::strerror(why));
    }
    fail(ErrorCode::io, where, printable_path(directory), ": expected weights, *.safetensors, found none");
}

// "segment+pattern((rope),(none))": the names in a spec, without parameters.
std::string names_of(std::span<const SpecItem> items) {
    std::string names;
    for (const SpecItem& item : items) {
        names += (names.empty() ? "" : "+") + item.name;
        for (std::size_t i = 0; i < item.elements.size(); ++i)
            names += (i == 0 ? "((" : ",(") + names_of(item.elements[i]) + ")";
        if (item.is_pattern()) names += ")";
    }
    return names;
}

// The names of the others' encodings, each once. Names equal to the wanted ones are replaced by the whole spec.
std::string trained_list(const Search& search) {
    std::vector<std::string> all;
    for (const Candidate& candidate : search.others) {
        const std::string& shown = candidate.names == search.names ? candidate.trained : candidate.names;
        if (std::find(all.begin(), all.end(), shown) == all.end()) all.push_back(shown);
    }
    std::string text;
    for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
    return text;
}

// Before another folder's are taken.
void check_chosen_folder() {
    const char* chosen = std::getenv("ORDO_WEIGHTS");
    std::error_code error;
    if (!chosen || !*chosen || !fs::is_directory(chosen, error)) return; // weight_directories() reports it
    if (weight_files(chosen).empty() && !fs::exists(fs::path(chosen) / storyteller, error))
        no_weights_in("ORDO_WEIGHTS: ", chosen);
}

// Searches until the first file trained with the encoding.
Search search_weights(const std::string& spec) {
    const std::vector<SpecItem> items = parse_spec(spec);
    encodings_named(items); // unknown names are an error
    Search search;
    search.names = names_of(items);
    for (const fs::path& directory : weight_directories())
        for (const fs::path& file : weight_files(directory)) {
            try {
                const ModelFacts facts = read_facts(file);
                const ModelEncodings wanted(spec, facts.blueprint.dims());
                if (wanted.spec() == facts.encoding) {
                    search.found = file;
                    return search;
                }
                search.trained = !wanted.tensors().empty();
                search.others.push_back({file, facts.encoding, names_of(parse_spec(facts.encoding))});
            } catch (const Error& error) {
                (error.code == ErrorCode::usage ? search.refused : search.broken) = error.what();
            }
        }
    return search;
}

} // namespace

void check_loads(const Source& source) {
    try {
        load_model(source, {});
    } catch (const Error& error) {
        if (error.code != ErrorCode::limit) throw;
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): not checked, either
    }
}

std::vector<fs::path> weights_in(const fs::path& directory) {
    std::vector<fs::path> files = weight_files(directory);
    if (files.empty()) no_weights_in("", directory);
    return files;
}

bool holds_weights(const fs::path& directory) {
    return !weight_files(directory).empty();
}

std::vector<fs::path> shipped_weights() {
    std::vector<fs::path> all;
    for (const fs::path& directory : weight_directories())
        for (const fs::path& file : weight_files(directory))
            if (std::none_of(all.begin(), all.end(),
                             [&](const fs::path& other) { return other.filename() == file.filename(); }))
                all.push_back(file);
    return all;
}

std::optional<fs::path> weights_trained_with(const std::string& spec) {
    check_chosen_folder();
    Search search = search_weights(spec);
    if (!search.found && !search.broken.empty()) fail(ErrorCode::model, search.broken); // maybe the wanted one
    return std::move(search.found);
}

fs::path weights_for(const std::string& spec, bool force) {
    check_chosen_folder();
    const Search search = search_weights(spec);
    if (search.found) return *search.found;
    if (force) {
        if (const Candidate* const alike = search.of_its_kind()) return alike->file;
        if (!search.others.empty() && spec != "rope") return weights_for("rope", false);
    }
    if (search.others.empty()) {
        if (!search.refused.empty()) fail(ErrorCode::usage, search.refused);
        if (!search.broken.empty()) fail(ErrorCode::model, search.broken);
        fail(ErrorCode::io, "no weights found in ", weight_directory_list(), "; give --model FILE or set ORDO_WEIGHTS");
    }
    fail(ErrorCode::usage, "encoding ", printable(spec), ": no shipped weights were trained with it, only with ",
         trained_list(search),
         search.trained && !search.of_its_kind() ? "; ordo train --encoding makes such weights"
                                                 : "; --force-encoding runs them with it");
}

bool names_model(const Arguments& arguments) {
    return arguments.has("model") || (arguments.verb().operand == "MODEL" && arguments.has_operand());
}

void expect_model(const Arguments& arguments, std::string_view kind) {
    if (!names_model(arguments)) fail(ErrorCode::usage, arguments.verb().name, ": needs -m MODEL: ", kind);
}

fs::path model_path(const Arguments& arguments) {
    const bool positional = arguments.verb().operand == "MODEL" && arguments.has_operand();
    if (positional && arguments.has("model"))
        fail(ErrorCode::usage, "expected one model, found '", printable(arguments.text("model")), "' and '",
             printable(arguments.operand()), "'");
    if (positional) return arguments.operand();
    if (arguments.has("model")) return arguments.text("model");
    const auto has = [&](const char* name) { return arguments.offers(name) && arguments.has(name); };
    return weights_for(has("encoding") ? arguments.text("encoding") : "rope", has("force-encoding"));
}

// The first folder with weights decides.
fs::path writing_model_path(const Arguments& arguments) {
    if (arguments.has("model") || arguments.has_operand() || arguments.has("encoding")) return model_path(arguments);
    check_chosen_folder();
    std::error_code error;
    for (const fs::path& directory : weight_directories()) {
        if (fs::exists(directory / storyteller, error)) return directory / storyteller;
        if (!weight_files(directory).empty()) break;
    }
    return model_path(arguments);
}

ModelFacts read_facts(const fs::path& file) {
    const Source source = open_source(file);
    const std::span<const FileTensor> tensors = source.tensors.tensors();
    const auto largest = std::max_element(tensors.begin(), tensors.end(),
                                          [](const FileTensor& a, const FileTensor& b) { return a.bytes < b.bytes; });
    return {source.blueprint, source.trained_encodings().spec(),
            largest == tensors.end() ? std::string() : largest->dtype, source.metadata};
}

Model open_model(const Arguments& arguments) {
    const ModelChoice choice{model_path(arguments), arguments.text("encoding"), arguments.has("force-encoding"),
                             arguments.text("tokenizer")};
    Model model = open_model(arguments, choice);
    const bool watched = ::isatty(STDERR_FILENO) == 1 && !arguments.has("quiet") && !arguments.has("verbose");
    if (watched && !names_model(arguments)) show_model(choice.file, model);
    return model;
}

namespace {

Source source_of(const ModelChoice& choice) {
    return choice.tokenizer.empty() ? open_source(choice.file) : open_source(choice.file, choice.tokenizer);
}

// Applies RoPE's options to the encoding that would load without them. Giving the options counts as forcing it.
void apply_rope_options(const Arguments& arguments, const ModelChoice& choice, LoadOptions& options) {
    const Source source = source_of(choice);
    const Dims dims = source.blueprint.dims();
    const std::string spec = ModelEncodings(options.encoding.empty() ? source.encoding : options.encoding, dims).spec();
    if (!options.force_encoding && spec != source.trained_encodings().spec()) return; // loading will refuse it
    std::vector<std::string> idle;
    options.encoding = with_rope_options(arguments, spec, dims, idle);
    options.force_encoding = true;
    if (!arguments.has("quiet"))
        for (const std::string& text : idle) write_message("warning: " + text);
}

Model load(const Arguments& arguments, const ModelChoice& choice, const LoadOptions& options) {
    Model model = choice.tokenizer.empty() ? Model::load(choice.file, options) : load_model(source_of(choice), options);
    const bool takes_text = arguments.offers("file") && !(arguments.offers("tokens") && arguments.has("tokens"));
    if (takes_text && !tokenizer_of(model))
        fail(ErrorCode::model, printable_path(choice.file),
             ": has no tokenizer; --tokenizer PATH takes one from elsewhere");
    return model;
}

// The library does not know the option that forces an encoding.
Model load_or_say_how(const Arguments& arguments, const ModelChoice& choice, const LoadOptions& options) {
    try {
        return load(arguments, choice, options);
    } catch (const Error& error) {
        if (error.reason != ErrorReason::other_encoding) throw;
        fail(error.code, error.what(), " with --force-encoding");
    }
}

} // namespace

Model open_model(const Arguments& arguments, const ModelChoice& choice) {
    LoadOptions options;
    options.encoding = choice.encoding;
    options.force_encoding = choice.force;
    if (has_rope_options(arguments)) apply_rope_options(arguments, choice, options);
    if (arguments.offers("dtype")) options.dtype = arguments.text("dtype");
    const bool draws = arguments.offers("n-predict"); // otherwise a file's sampling settings have no effect
    if (!arguments.has("quiet"))
        options.on_warning = [draws](std::string_view text) {
            if (draws || text.find(generation_warning) == text.npos) write_message("warning: " + std::string(text));
        };
    Model model = load_or_say_how(arguments, choice, options);
    if (arguments.has("verbose")) {
        show_model(choice.file, model);
        if (const auto& tokenizer = tokenizer_of(model)) show_ignored(*tokenizer);
    }
    return model;
}

void show_ignored(const Tokenizer& tokenizer) {
    for (const std::string& line : tokenizer.ignored()) write_message("warning: " + line);
}

void show_model(const fs::path& file, const Model& model) {
    write_message("model: " + printable_path(file) + ", encoding: " + model.encoding());
}

void warn_beyond(const Arguments& arguments, const Model& model, std::int64_t positions, const std::string& whose) {
    const int context = model.context();
    if (positions <= context || arguments.has("quiet")) return;
    const auto number = [](std::int64_t n) { return grouped(static_cast<std::uint64_t>(n)); };
    std::string text = "warning: " + (whose.empty() ? "" : whose + ": ") + number(positions) +
                       " positions are more than the " + number(context) + " that the model was trained with";
    if (const std::string trained = model.metadata("encoding"); !trained.empty()) {
        const auto length = static_cast<int>(std::min<std::int64_t>(positions, unlimited));
        const int sound = sound_positions(*impl_of(model).encodings_for(length).encodings,
                                          ModelEncodings(trained, blueprint_of(model).dims()), context);
        if (sound < positions)
            text += "; those from " + number(sound) + " on are new to it (ordo encodings -m says more)";
        else
            text += sound < unlimited ? "; the encoding has been stretched to " + number(sound)
                                      : "; the encoding goes on by its law";
    }
    write_message(text);
}

void warn_of_typed_start(const Arguments& arguments, const Model& model, std::string_view prompt) {
    const Token start = model.start_of_text();
    if (start < 0 || arguments.has("special") || arguments.has("quiet")) return;
    if (arguments.offers("chat") && arguments.has("chat")) return; // a chat template contains such tokens
    const std::string spelling = model.decode({&start, 1});
    if (!spelling.empty() && prompt.starts_with(spelling))
        write_message("warning: the prompt begins with '" + printable(spelling) +
                      "', which is put before it anyway and is read as plain text here; --special reads it as a token");
}

} // namespace ordo::tools
