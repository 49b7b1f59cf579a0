// SPDX-License-Identifier: MIT
// A sweep over encodings and seeds as shell commands, for machines that take them one by one.
#include "tools/lab/lab.h"

#include "core/error.h"
#include "tools/lab/report/report.h"

#include <sstream>

namespace ordo::lab {
namespace {

// Each line is a command. Rejects text that would end it.
void check_one_line(const std::string& text, std::string_view what) {
    for (const char c : text)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f')
            fail(ErrorCode::usage, "lab: jobs: ", what, ": expected no control characters, found '", printable(text),
                 "'");
}

// A path that no program mistakes for an option.
std::string path_word(const std::string& path) {
    return shell_word((path.starts_with('-') ? "./" : "") + path);
}

// "rotate-stretch:period=6" as part of a file's name.
std::string file_part(std::string spec) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.";
    for (char& c : spec)
        if (letters.find(c) == std::string_view::npos) c = '-';
    while (spec.ends_with('-')) spec.pop_back();
    return spec;
}

} // namespace

std::vector<std::string> jobs_of(const Request& request, const std::filesystem::path& directory) {
    const tools::Arguments& a = request.arguments;
    if (!a.has("corpus") && !a.has("tasks"))
        fail(ErrorCode::usage,
             "lab: jobs: expected --corpus FILE to train on, --tasks NAME,..., or both; found neither");
    if (a.has("train") && !a.has("corpus"))
        fail(ErrorCode::usage, "lab: jobs: option --train: expected --corpus FILE beside it");
    std::vector<std::string> tasks, jobs;
    std::istringstream list(a.text("tasks"));
    for (std::string name; std::getline(list, name, ',');) tasks.push_back(name);
    for (const char* option : {"corpus", "tasks", "train"})
        check_one_line(a.text(option), "option --" + std::string(option));
    check_one_line(directory.string(), "DIR");
    const int seeds = request.integer("seeds", 3);
    for (const std::string& spec : request.encodings("sinusoidal;learned;rope;alibi;t5")) {
        check_one_line(spec, "option --encodings");
        for (int i = 0; i < seeds; ++i) {
            const std::string seed = std::to_string(request.seed + static_cast<std::uint64_t>(i));
            const std::string name = (directory / (file_part(spec) + "-" + seed)).string();
            if (a.has("corpus"))
                jobs.push_back("ordo train " + path_word(a.text("corpus")) + " --encoding " + shell_word(spec) +
                               " --seed " + seed + " --keep last --threads 1 --quiet --resume --checkpoint " +
                               path_word(name + ".checkpoint") + " --log " + path_word(name + ".csv") + " --out " +
                               path_word(name + ".safetensors") + (a.has("train") ? " " + a.text("train") : ""));
            for (const std::string& task : tasks)
                jobs.push_back("ordo lab tasks --tasks " + shell_word(task) + " --encodings " + shell_word(spec) +
                               " --alone --seed " + seed + " --seeds 1 --threads 1 --quiet --out " +
                               path_word(name + "-" + task));
        }
    }
    return jobs;
}

} // namespace ordo::lab
