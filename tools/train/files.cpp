// SPDX-License-Identifier: MIT
#include "tools/train/files.h"

#include "core/error.h"
#include "io/atomic_file.h"
#include "io/opened_files.h"
#include "io/safetensors.h"
#include "tools/train/checkpoint.h"

#include <system_error>

namespace ordo::train {
namespace {

namespace fs = std::filesystem;

// Whether a file is empty, or its header contains the recipe or the command that trained it.
bool is_trained(const fs::path& path) {
    const OpenedFiles apart; // the file is read to be replaced
    try {
        if (File(path).size() == 0) return true;
        const Metadata metadata = Safetensors::open(path).metadata();
        const auto command = metadata.find("command");
        return metadata.contains("recipe.format") ||
               (command != metadata.end() && command->second.starts_with("ordo train "));
    } catch (const Error&) {
        return false;
    }
}

// --resume without a checkpoint starts a new training, because scripts always give the option. A training has a
// checkpoint before its log has rows, so rows without one mean that a name is mistyped or a file is lost.
void check_start(const Options& o) {
    const std::string checkpoint = "option --resume: " + printable_path(o.checkpoint);
    if (is_log(o.log) && File(o.log).size() > csv_header().size())
        fail(ErrorCode::usage, checkpoint, ": expected the checkpoint of the training that wrote ",
             printable_path(o.log), ", found no file; give another --log to start a new training");
    std::error_code error;
    const bool replaces = fs::exists(o.out, error) && !fs::is_empty(o.out, error);
    if (o.on_warning)
        o.on_warning(checkpoint + ": found no file: a new training starts" +
                     (replaces ? " and replaces " + printable_path(o.out) + " at its end" : ""));
}

// Tells the files of an earlier run from other files. The weights of an earlier run are replaced only at the end, by
// complete ones.
void check_existing(const Options& o) {
    std::error_code error;
    if (fs::is_regular_file(o.out, error) && !o.overwrite && !is_trained(o.out))
        fail(ErrorCode::usage, "option --out: ", printable_path(o.out),
             ": expected the weights of a training, or no file, found another file; --overwrite replaces it");
    const auto expect = [](const fs::path& file, bool is_one, const char* what) {
        if (!is_one)
            fail(ErrorCode::io, printable_path(file), ": expected the ", what, " of a training, found another file");
    };
    if (!o.resume && fs::exists(o.checkpoint, error)) {
        if (!o.overwrite)
            fail(ErrorCode::usage, "option --checkpoint: ", printable_path(o.checkpoint),
                 ": exists; --resume goes on from it, --overwrite replaces it");
        expect(o.checkpoint, is_checkpoint(o.checkpoint), "checkpoint");
    }
    if (o.resume && !fs::exists(o.checkpoint, error)) check_start(o);
    if (!fs::exists(o.log, error)) return;
    if (!o.resume && !o.overwrite)
        fail(ErrorCode::usage, "option --log: ", printable_path(o.log),
             ": exists; --resume goes on with it, --overwrite replaces it");
    expect(o.log, is_log(o.log), "log");
}

// Also deletes the leftovers of a killed run with these files.
void try_to_write(const Options& o) {
    for (const fs::path& file : {o.out, o.checkpoint, o.log})
        if (!file.empty()) check_writable(file);
}

} // namespace

void check_files(const Options& o) {
    struct Named {
        const char* option;
        const fs::path& path;
    };
    const Named read[] = {{"corpus", o.corpus},
                          {"val", o.validation},
                          {"finish", o.finish},
                          {"init", o.init},
                          {"tokenizer", o.tokenizer}};
    const Named written[] = {{"out", o.out}, {"checkpoint", o.checkpoint}, {"log", o.log}};
    const auto expect_other = [](const Named& a, const Named& b) {
        if (!a.path.empty() && !b.path.empty() && same_file(a.path, b.path))
            fail(ErrorCode::usage, "option --", a.option, ": expected another file than that of --", b.option,
                 ", found ", printable_path(a.path));
    };
    for (const Named& a : written) {
        for (const Named& b : read) expect_other(a, b);
        for (const Named* b = written; b != &a; ++b) expect_other(a, *b);
    }
    for (const Named& file : read)
        if (!file.path.empty()) File{file.path};
    check_existing(o);
    try_to_write(o);
}

Log open_log(const Options& o, std::int64_t keep) {
    try_to_write(o);
    return o.log.empty() ? Log() : Log(o.log, keep, o.overwrite ? OldRows::replace : OldRows::refuse);
}

} // namespace ordo::train
