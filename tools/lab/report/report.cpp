// SPDX-License-Identifier: MIT
#include "tools/lab/report/report.h"

#include "core/error.h"
#include "core/parallel.h"
#include "core/timer.h"
#include "io/atomic_file.h"
#include "tools/bench/machine.h"
#include "tools/cli/machine.h"
#include "tools/lab/drawing/render.h"
#include "tools/lab/drawing/svg.h"
#include "tools/terminal/signals.h"
#include "tools/terminal/terminal.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <new>
#include <system_error>

namespace ordo::lab {

namespace fs = std::filesystem;

using tools::escaped_markdown;

namespace {

constexpr std::string_view stopped = "not run to its end: stopped by a signal";

// Thrown from an experiment's progress when the user stops the report.
struct Stopped {};

double expected_seconds(const Experiment& experiment, bool quick) {
    return quick ? experiment.seconds.quick : experiment.seconds.full;
}

class Run {
public:
    Run(const tools::Arguments& arguments, const fs::path& directory, std::span<const Experiment* const> list)
        : arguments_(arguments), directory_(directory), list_(list), quick_(arguments.has("quick")),
          quiet_(arguments.has("quiet")), progress_(quiet_) {
        for (const Experiment* experiment : list) total_ += expected_seconds(*experiment, quick_);
    }

    double total() const { return total_; }

    std::vector<Outcome> all() {
        std::vector<Outcome> outcomes;
        for (const Experiment* experiment : list_) {
            outcomes.push_back(one(*experiment, outcomes.size()));
            done_ += expected_seconds(*experiment, quick_);
        }
        return outcomes;
    }

private:
    Outcome one(const Experiment& experiment, std::size_t index) {
        Outcome outcome{.experiment = &experiment, .command = command_of(experiment.name, arguments_)};
        const auto start = Clock::now();
        Request request{.arguments = arguments_,
                        .seed = tools::parse_seed(arguments_.text("seed"), "option --seed"),
                        .quick = quick_};
        request.progress = [&](const std::string& line) {
            if (tools::stop_signal()) throw Stopped{};
            progress_.show(bar(index, experiment, seconds_since(start)) + (line.empty() ? "" : ": " + line));
        };
        try {
            request.progress({});
            outcome.result = run(experiment, request);
            write_files(experiment, outcome.result, directory_ / "data", directory_ / "pictures");
        } catch (const Stopped&) {
            outcome.error = stopped;
        } catch (const Error& error) {
            outcome.error = error.what();
        } catch (const std::bad_alloc&) {
            outcome.error = "out of memory";
        } catch (const std::exception& error) { // a failure in one experiment leaves the others running
            outcome.error = error.what();
        }
        outcome.seconds = seconds_since(start);
        return outcome;
    }

    // "[######------------------] 3/12, about 2 min left, slopes"
    std::string bar(std::size_t index, const Experiment& experiment, double seconds) const {
        const auto width = static_cast<std::size_t>(std::clamp(tools::LiveLine::width() / 4, 4, 24));
        const double at = done_ + std::min(seconds, expected_seconds(experiment, quick_));
        const double share = total_ > 0 ? at / total_ : 1;
        const auto full = static_cast<std::size_t>(share * width);
        return "[" + std::string(full, '#') + std::string(width - full, '-') + "] " + std::to_string(index + 1) + "/" +
               std::to_string(list_.size()) + ", about " + duration_text(total_ - at) + " left, " +
               std::string(experiment.name);
    }

    const tools::Arguments& arguments_;
    const fs::path& directory_;
    std::span<const Experiment* const> list_;
    bool quick_, quiet_;
    double total_ = 0, done_ = 0; // expected seconds
    tools::Progress progress_;
};

// A path without the user's home: a shell expanded ~, and readers need not see the home folder.
std::string path_word(const std::string& path) {
    const char* home = std::getenv("HOME");
    const std::string inside = home && *home ? fs::path(std::string(home) + "/").lexically_normal().string() : "";
    if (inside.size() > 1 && path.starts_with(inside))
        return path.size() == inside.size() ? "~/" : "~/" + shell_word(path.substr(inside.size()));
    return shell_word(path);
}

// Lines: everything besides the program on which a report's figures depend.
std::string machine_text() {
    const std::time_t now = std::time(nullptr);
    std::tm date{};
    char buffer[32] = "";
    if (::gmtime_r(&now, &date)) std::strftime(buffer, sizeof buffer, "%Y-%m-%d %H:%M UTC", &date);
    return bench::cpu_name() + ", " + std::to_string(thread_count()) + " used\nmemory: " + bench::memory_size() +
           "\nsystem: " + bench::system_name() + "\ncompiler: " + bench::compiler_name() + "\ndate: " + buffer + "\n";
}

void try_to_write(const fs::path& file) {
    const AtomicFile dropped(file, system_calls, Links::replace);
}

} // namespace

std::string shell_word(const std::string& text) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+@%-";
    if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
    return out + "'";
}

std::string command_of(std::string_view experiment, const tools::Arguments& arguments) {
    constexpr std::string_view shown_only[] = {"all", "format", "out", "quiet",
                                               "verbose"}; // these do not affect the result
    std::string line = "ordo lab " + std::string(experiment);
    for (const tools::OptionGroup& group : arguments.verb().groups)
        for (const tools::Option& option : group.options) {
            if (!arguments.has(option.name) ||
                std::find(std::begin(shown_only), std::end(shown_only), option.name) != std::end(shown_only))
                continue;
            const std::string name = " --" + std::string(option.name);
            if (option.kind == tools::Kind::flag)
                line += name;
            else
                for (const std::string& value : arguments.all(option.name))
                    line += name + " " + (option.kind == tools::Kind::path ? path_word(value) : shell_word(value));
        }
    return line;
}

std::string page_markdown(std::span<const Outcome> outcomes, const Setting& setting) {
    std::string out = "# " + std::string(page_title) + "\n\n";
    for (const std::string& text : introduction(outcomes.size(), setting)) out += escaped_markdown(text) + "\n\n";
    for (const Outcome& outcome : outcomes)
        out += "- [" + std::string(outcome.experiment->summary) + "](#" + std::string(outcome.experiment->name) + ") " +
               (outcome.error.empty() ? escaped_markdown(outcome.result.answer) : "**No result.**") + "\n";
    out += "\n";
    for (const Outcome& outcome : outcomes) {
        if (outcome.error.empty())
            out += markdown_of(*outcome.experiment, outcome.result, outcome.command, "pictures");
        else
            out += "## " + std::string(outcome.experiment->name) + "\n\n```sh\n" + outcome.command +
                   "\n```\n\n**No result:** " + escaped_html(outcome.error) + "\n\n";
    }
    return out + "## How this page was made\n\n```text\n" + setting.command + "\n\n" + setting.machine + "\n" +
           setting.versions + "```\n";
}

int write_report(const tools::Arguments& arguments, const fs::path& directory,
                 std::span<const Experiment* const> list) {
    const bool quiet = arguments.has("quiet");
    const Setting setting{tools::version_text(), machine_text(),
                          command_of("report", arguments) + " " + path_word(directory.string())};
    std::vector<Outcome> outcomes;
    // Check that the directory is writable before minutes of work. Existing files stay until then.
    make_directory(directory);
    for (const char* name : {"data", "pictures"}) {
        if (fs::is_symlink(directory / name))
            fail(ErrorCode::io, printable_path(directory / name), ": expected a folder, found a link");
        make_directory(directory / name);
        try_to_write(directory / name / "probe");
    }
    for (const char* name : {page_names(false).html, page_names(false).markdown}) try_to_write(directory / name);
    {
        Run run(arguments, directory, list);
        if (!quiet)
            tools::write_message("report: " + std::to_string(list.size()) + " experiments, about " +
                                 duration_text(run.total()) + " on two cores");
        outcomes = run.all();
    }
    const bool partial = tools::stop_signal() != 0;
    const PageNames names = page_names(partial), others = page_names(!partial);
    write_file(directory / names.html, page_html(outcomes, setting), Links::replace);
    write_file(directory / names.markdown, page_markdown(outcomes, setting), Links::replace);
    if (partial) return tools::stop_code();
    for (const auto& [name, html] : own_pages(outcomes)) write_file(directory / name, html, Links::replace);
    for (const char* name : {others.html, others.markdown}) {
        std::error_code error;
        fs::remove(directory / name, error); // from a stopped run: this run replaces it
    }
    bool failed = false;
    for (const Outcome& outcome : outcomes) {
        if (outcome.error.empty()) continue;
        failed = true;
        tools::write_message("report: " + std::string(outcome.experiment->name) + ": " + outcome.error);
    }
    return failed ? static_cast<int>(ErrorCode::failure) : 0;
}

} // namespace ordo::lab
