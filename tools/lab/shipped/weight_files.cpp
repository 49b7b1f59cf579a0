// SPDX-License-Identifier: MIT
#include "tools/lab/shipped/weight_files.h"

#include "io/base_name.h"
#include "tools/cli/inputs.h"
#include "tools/lab/trained/task_runs.h"
#include "tools/opening/scores.h"
#include "tools/opening/weights.h"

#include <system_error>

namespace ordo::lab {

std::vector<Trained> trained_models(const Request& request) {
    const auto given = request.arguments.all("model");
    std::vector<std::filesystem::path> files;
    for (const std::filesystem::path path : given) {
        // A folder with a config.json is one model; any other is a folder of weights.
        std::error_code error;
        if (!std::filesystem::is_directory(path, error) || std::filesystem::exists(path / "config.json", error))
            files.push_back(path);
        else if (given.size() == 1 || tools::holds_weights(path) || task_run_files(path).empty()) // else of tasks
            for (std::filesystem::path& file : tools::weights_in(path)) files.push_back(std::move(file));
    }
    if (files.empty() && given.empty()) files = tools::shipped_weights();
    std::vector<Trained> all;
    for (const std::filesystem::path& file : files) {
        const tools::ModelFacts facts = tools::read_facts(file);
        std::error_code error;
        const std::filesystem::path name = base_name(file);
        const bool directory = std::filesystem::is_directory(file, error); // a directory name has no extension
        if (!facts.blueprint.bidirectional())
            all.push_back(
                {printable((directory ? name : name.stem()).string()), file, facts.encoding, facts.blueprint.context});
        else if (!given.empty())
            fail(ErrorCode::usage, "lab: ", printable(file.string()),
                 ": expected a causal model, found a bidirectional one");
    }
    // The folder tells two files of one name apart, such as two seeds. If it cannot, a number does.
    std::map<std::string, int> files_of, seen;
    for (const Trained& one : all) ++files_of[one.name];
    for (Trained& one : all)
        if (files_of[one.name] > 1) one.name = printable(base_name(one.file / "..")) + "-" + one.name;
    for (Trained& one : all)
        if (const int again = seen[one.name]++; again > 0) one.name += "-" + std::to_string(again + 1);
    if (all.empty()) fail(ErrorCode::io, "lab: no weights found; give --model FILE or set ORDO_WEIGHTS");
    return all;
}

Text held_out(const Request& request) {
    const bool own = request.arguments.has("corpus");
    const std::string file = own ? request.arguments.text("corpus") : weights_file("heldout.txt").string();
    return {printable(base_name(file)), tools::read_corpus(file, tools::most_text, request.arguments.has("quiet"))};
}

std::vector<tools::Document> documents_of(const Text& text, const Model& model, std::size_t most) {
    std::vector<tools::Document> all = tools::read_documents(text.text, model, text.name);
    if (all.size() > most) all.resize(most);
    return all;
}

Losses score(const Model& model, std::span<const tools::Document> documents, std::size_t most, int first_position) {
    Session session(model, {.first_position = first_position});
    const auto length = static_cast<std::size_t>(model.context());
    Losses all;
    for (std::size_t d = 0; d < documents.size(); ++d) {
        const std::span<const Token> tokens = documents[d].tokens;
        std::size_t left = most;
        for (std::size_t start = 0; start + 1 < tokens.size() && left > 0; start += length) {
            const std::size_t count = std::min({length, tokens.size() - start, std::min(left, length) + 1});
            const std::vector<double> nll = tools::score_window(session, tokens.subspan(start, count));
            all.nll.insert(all.nll.end(), nll.begin(), nll.end());
            left -= nll.size();
        }
        all.document.resize(all.nll.size(), static_cast<int>(d));
    }
    return all;
}

} // namespace ordo::lab
