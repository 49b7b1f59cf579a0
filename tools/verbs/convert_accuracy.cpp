// SPDX-License-Identifier: MIT
#include "tools/verbs/convert_accuracy.h"

#include "core/error.h"
#include "core/number.h"
#include "io/base_name.h"
#include "model/memory_limit.h"
#include "model/model_file.h"
#include "model/tensor_memory.h"
#include "tools/cli/machine.h"
#include "tools/opening/weights.h"
#include "tools/terminal/signals.h"
#include "tools/train/documents.h"

namespace ordo::tools {
namespace convert_accuracy_file {

// Throws Error if a model cannot run.
Measured measure(const Arguments& arguments, const Source& source, const Source& result, Progress& progress) {
    LoadOptions as_floats;
    as_floats.dtype = "f32";
    const Model reference = load_model(source, as_floats), model = load_model(result, {});
    if (blueprint_of(model).bidirectional())
        fail(ErrorCode::usage, "a bidirectional model does not predict the next token");
    const std::string path = arguments.has("file") ? arguments.text("file") : weights_file("heldout.txt").string();
    const std::vector<std::vector<Token>> documents =
        tokens_of(read_documents(read_corpus(path, most_text, arguments.has("quiet")), model, path));
    const auto show = [&](std::size_t i) {
        stop_if_asked();
        progress.show("accuracy: document " + std::to_string(i + 1) + " of " + std::to_string(documents.size()));
    };
    const int length = std::min(model.context(), model.max_position());
    return {bench::measure_accuracy(reference, model, documents, length, arguments.integer64("max-tokens"), show),
            path == "-" ? "standard input" : base_name(path)};
}

} // namespace convert_accuracy_file

void stop_if_asked() {
    if (stop_signal()) throw Stopped{};
}

std::string text_path(const Arguments& arguments) {
    if (!arguments.has("dtype") || arguments.has("no-accuracy")) return {};
    if (arguments.has("file")) return arguments.text("file");
    try {
        return weights_file("heldout.txt").string();
    } catch (const Error&) {
        return {}; // a later warning reports it
    }
}

void check_memory(const Source& source, std::uint64_t bytes) {
    const std::uint64_t need = packed_bytes(tensor_list(source.blueprint), WeightType::f32) + 2 * bytes;
    if (const std::uint64_t most = default_memory_limit(); need > most)
        fail(ErrorCode::limit, source.where, ": measuring the accuracy takes ", bytes_text(need), ", more than the ",
             bytes_text(most), " that may be used; --no-accuracy does without");
}

std::optional<Measured> try_to_measure(const Arguments& arguments, const Source& source, const Source& result,
                                       Progress& progress) {
    try {
        return convert_accuracy_file::measure(arguments, source, result, progress);
    } catch (const Error& error) {
        if (arguments.has("file")) throw; // the user asked for this text
        if (!arguments.has("quiet")) write_message("warning: accuracy not measured: " + std::string(error.what()));
        return std::nullopt;
    }
}

void record(const Measured& measured, const std::string& reference, Metadata& metadata) {
    metadata["accuracy.kl"] = joined(measured.accuracy.kl);
    metadata["accuracy.top1"] = joined(measured.accuracy.top1);
    metadata["accuracy.text"] = escaped_bytes(measured.text);
    metadata["accuracy.tokens"] = std::to_string(measured.accuracy.tokens);
    metadata["accuracy.reference"] = reference;
}

} // namespace ordo::tools
