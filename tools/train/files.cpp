// SPDX-License-Identifier: MIT
#include "tools/train/files.h"

#include "core/error.h"
#include "io/atomic_file.h"

namespace ordo::train {
namespace fs = std::filesystem;

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
    for (const Named& file : written)
        if (!file.path.empty()) AtomicFile{file.path}; // makes its temporary file and removes it
}

} // namespace ordo::train
