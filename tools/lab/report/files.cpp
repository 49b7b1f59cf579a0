// SPDX-License-Identifier: MIT
// Writes a result's files.
#include "core/error.h"
#include "io/atomic_file.h"
#include "tools/lab/drawing/render.h"
#include "tools/lab/drawing/svg.h"

namespace ordo::lab {

namespace fs = std::filesystem;

std::string file_stem(const Experiment& experiment, std::string_view name) {
    std::string stem = std::string(experiment.name) + "-" + std::string(name);
    for (char& c : stem) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
        if (!plain) c = '-';
    }
    return stem;
}

void make_directory(const fs::path& directory) {
    std::error_code error;
    fs::create_directories(directory, error);
    if (error) fail(ErrorCode::io, printable(directory.string()), ": ", error.message());
}

void write_files(const Experiment& experiment, const Result& result, const fs::path& data, const fs::path& pictures) {
    make_directory(data);
    make_directory(pictures);
    const auto csv = [&](std::string_view name, const tools::Figures& figures) {
        write_file(data / (file_stem(experiment, name) + ".csv"), tools::render(figures, tools::Format::csv),
                   Links::replace);
    };
    for (const NamedFigures& table : result.tables) csv(table.name, table.figures);
    for (const Picture& picture : result.pictures) {
        csv(picture.name, figures_of(picture));
        write_file(pictures / (file_stem(experiment, picture.name) + ".svg"), svg_of(picture), Links::replace);
    }
}

} // namespace ordo::lab
