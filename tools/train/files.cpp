// SPDX-License-Identifier: MIT
#include "tools/train/files.h"

#include "core/error.h"
#include "io/atomic_file.h"
#include "tools/train/log.h"

namespace ordo::train {
namespace {

namespace fs = std::filesystem;

// The work of an earlier run. Its weights are replaced at the end, by others that are whole.
void check_overwriting(const Options& o) {
    if (o.overwrite) return;
    std::error_code error;
    if (!o.resume && fs::exists(o.checkpoint, error))
        fail(ErrorCode::usage, "option --checkpoint: ", printable_path(o.checkpoint),
             ": exists; --resume goes on from it, --overwrite replaces it");
    if (!fs::exists(o.log, error)) return;
    if (!o.resume)
        fail(ErrorCode::usage, "option --log: ", printable_path(o.log),
             ": exists; --resume goes on with it, --overwrite replaces it");
    if (!is_log(o.log))
        fail(ErrorCode::io, printable_path(o.log), ": expected the log of a training, found another file");
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
    check_overwriting(o);
    for (const Named& file : written) // clears what a run that was killed left beside it, and tries to write
        if (!file.path.empty()) AtomicFile{file.path};
}

} // namespace ordo::train
