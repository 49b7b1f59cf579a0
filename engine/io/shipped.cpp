// SPDX-License-Identifier: MIT
#include "io/shipped.h"

#include "core/error.h"
#include "io/file.h"
#include "ordo.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/auxv.h>
#include <system_error>

namespace ordo {

namespace fs = std::filesystem;

namespace {

// share/ordo/weights beside the folder of a library, lib or lib/x86_64-linux-gnu. Empty: there is none.
fs::path installed_with(const fs::path& library) {
    std::error_code error;
    fs::path folder = library.parent_path();
    for (int up = 0; up < 2; ++up) {
        folder = folder.parent_path();
        if (fs::path weights = folder / "share" / "ordo" / "weights"; fs::is_directory(weights, error)) return weights;
    }
    return {};
}

} // namespace

std::vector<fs::path> weight_directories() {
    std::vector<fs::path> directories;
    std::error_code error;
    if (const char* chosen = std::getenv("ORDO_WEIGHTS"); chosen && *chosen) {
        directories.emplace_back(chosen);
        if (!fs::is_directory(chosen, error))
            fail(ErrorCode::io, "ORDO_WEIGHTS: ", printable_path(chosen), ": expected a folder, found ",
                 fs::exists(chosen, error) ? "a file" : "nothing");
    }
    fs::path program = fs::read_symlink("/proc/self/exe", error);
    // A chroot may lack /proc. The kernel tells the path that was executed too.
    if (const auto* executed = reinterpret_cast<const char*>(getauxval(AT_EXECFN)); program.empty() && executed)
        program = fs::canonical(executed, error);
    static const char here = 0; // in the library, or in the program that it is linked into
    Dl_info library{};
    if (dladdr(&here, &library) != 0 && library.dli_fname)
        if (const fs::path file = fs::canonical(library.dli_fname, error); !error && file != program)
            if (const fs::path weights = installed_with(file); !weights.empty()) directories.push_back(weights);
    if (program.empty()) return directories;
    const fs::path bin = program.parent_path();
    directories.push_back(bin.parent_path() / "share" / "ordo" / "weights");
    directories.push_back(bin.parent_path().parent_path() / "weights"); // build/release/ordo
    return directories;
}

std::string weight_directory_list() {
    std::string text;
    for (const fs::path& directory : weight_directories())
        text += (text.empty() ? "" : ", ") + printable_path(directory);
    return text;
}

fs::path weights_file(std::string_view name) {
    std::error_code error;
    for (const fs::path& directory : weight_directories())
        if (fs::exists(directory / name, error)) return directory / name;
    fail(ErrorCode::io, printable(name), ": not found in ", weight_directory_list(),
         "; set ORDO_WEIGHTS to its folder");
}

} // namespace ordo
