// SPDX-License-Identifier: MIT
// Writing a result's files and running gnuplot, without a shell.
#include "tools/lab/drawing/plot.h"

#include "core/error.h"
#include "io/atomic_file.h"
#include "tools/lab/drawing/render.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace ordo::lab {

namespace fs = std::filesystem;

namespace {

// Errors of a search for gnuplot through PATH: no file, no access, or an entry that is not a folder.
bool is_missing(int error) {
    return error == ENOENT || error == EACCES || error == ENOTDIR;
}

} // namespace

void make_directory(const fs::path& directory) {
    std::error_code error;
    fs::create_directories(directory, error);
    if (error) fail(ErrorCode::io, printable(directory.string()), ": ", error.message());
}

// Its output goes into a file beside the script.
bool run_gnuplot(const fs::path& script) {
    const fs::path directory = script.has_parent_path() ? script.parent_path() : fs::path(".");
    const fs::path output = fs::path(script).replace_extension(".log");
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    ::posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
    std::string program = "gnuplot", no_rc = "-d",
                name = "./" + script.filename().string(); // -d: do not read the user's configuration
    char* const words[] = {program.data(), no_rc.data(), name.data(), nullptr};
    pid_t child = 0;
    const int error = ::posix_spawnp(&child, "gnuplot", &actions, nullptr, words, environ);
    ::posix_spawn_file_actions_destroy(&actions);
    std::error_code ignored;
    if (error != 0) fs::remove(output, ignored);
    if (is_missing(error)) return false;
    if (error != 0) fail(ErrorCode::failure, "gnuplot: ", std::strerror(error));
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR) fail(ErrorCode::failure, "gnuplot: ", std::strerror(errno));
    const std::string said = file_text(output);
    fs::remove(output, ignored);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail(ErrorCode::failure, "gnuplot: ", printable(script.filename().string()), ": ", printable(said, 400));
    return true;
}

namespace {

// A folder for gnuplot's files; the destructor removes it.
class Scratch {
public:
    explicit Scratch(const fs::path& beside) {
        std::string name = (beside / ".ordo-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            fail(ErrorCode::io, printable(beside.string()), ": making a folder in it: ", std::strerror(errno));
        path_ = name;
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() {
        std::error_code error;
        fs::remove_all(path_, error);
    }
    fs::path operator/(const std::string& name) const { return path_ / name; }

private:
    fs::path path_;
};

constexpr const char* suffixes[] = {".svg", ".png"};

// gnuplot does not report a full disk. Checks that the picture ends as its format requires.
bool is_whole(const std::string& picture, std::string_view suffix) {
    if (suffix == ".png")
        return picture.ends_with(std::string_view("\0\0\0\0IEND\xae"
                                                  "B`\x82",
                                                  12));
    const std::size_t last = picture.find_last_not_of(" \r\n");
    return last != std::string::npos && std::string_view(picture).substr(0, last + 1).ends_with("</svg>");
}

// Keeps the cells of a heat map sharp: browsers smooth enlarged images.
std::string with_sharp_images(std::string svg) {
    constexpr std::string_view image = "<image ", sharp = "<image style='image-rendering:pixelated' ";
    for (std::size_t at = 0; (at = svg.find(image, at)) != svg.npos; at += sharp.size())
        svg.replace(at, image.size(), sharp);
    return svg;
}

// Draws in a temporary folder and returns the pictures, in the order of the suffixes. Empty without gnuplot.
std::vector<std::string> drawn_pictures(const fs::path& folder, const std::string& stem, const std::string& script) {
    const Scratch scratch(folder);
    write_file(scratch / (stem + ".gp"), script);
    std::vector<std::string> pictures;
    if (!run_gnuplot(scratch / (stem + ".gp"))) return pictures;
    for (const char* suffix : suffixes) {
        pictures.push_back(file_text(scratch / (stem + suffix)));
        if (!is_whole(pictures.back(), suffix))
            fail(ErrorCode::io, printable((folder / (stem + suffix)).string()),
                 ": expected a whole picture of gnuplot's, found ", pictures.back().size(),
                 " bytes without its end (is the disk full?)");
    }
    pictures[0] = with_sharp_images(std::move(pictures[0]));
    return pictures;
}

} // namespace

bool write_files(const Experiment& experiment, const Result& result, const Folders& folders,
                 const std::function<void(const std::string&)>& progress) {
    make_directory(folders.data);
    make_directory(folders.pictures);
    const auto csv = [&](std::string_view name, const tools::Figures& figures) {
        write_file(folders.data / (file_stem(experiment, name) + ".csv"), tools::render(figures, tools::Format::csv),
                   Links::replace);
    };
    bool drawn = true;
    for (const NamedFigures& table : result.tables) csv(table.name, table.figures);
    for (const Picture& picture : result.pictures) {
        progress("picture " + picture.name);
        const std::string stem = file_stem(experiment, picture.name), script = plot_script(picture, stem);
        std::vector<std::string> pictures;
        if (drawn) pictures = drawn_pictures(folders.pictures, stem, script);
        drawn = !pictures.empty();
        csv(picture.name, figures_of(picture));
        write_file(folders.pictures / (stem + ".gp"), script, Links::replace);
        for (std::size_t i = 0; i < std::size(suffixes); ++i) {
            const fs::path file = folders.pictures / (stem + suffixes[i]);
            std::error_code error;
            if (drawn)
                write_file(file, pictures[i], Links::replace);
            else
                fs::remove(file, error); // from another run: it must not pass for this run's picture
        }
    }
    return drawn;
}

} // namespace ordo::lab
