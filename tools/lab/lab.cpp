// SPDX-License-Identifier: MIT
// ordo lab: the experiments.
#include "tools/lab/lab.h"

#include "core/error.h"
#include "tools/cli/machine.h"
#include "tools/lab/drawing/draw.h"
#include "tools/lab/drawing/render.h"
#include "tools/lab/drawing/svg.h"
#include "tools/lab/report/report.h"
#include "tools/terminal/signals.h"
#include "tools/terminal/terminal.h"

#include <algorithm>
#include <system_error>

namespace ordo::tools {

extern const Verb lab_verb;

namespace {

using lab::Experiment;

// tools/verbs/lab.cpp has the tables of the options; its program starts this one.
const std::span<const Option> options = lab_verb.groups[0].options;
const std::span<const Option> some_options = lab_verb.groups[1].options;

std::string option_names(const Experiment& experiment) {
    std::string names;
    for (const std::string_view name : experiment.options) names += (names.empty() ? "--" : ", --") + std::string(name);
    return names;
}

bool takes(const Experiment& experiment, std::string_view option) {
    return std::find(experiment.options.begin(), experiment.options.end(), option) != experiment.options.end();
}

// An option without effect is an error.
void check_options(const Arguments& arguments, const Experiment& experiment) {
    for (const Option& option : some_options)
        if (arguments.has(option.name) && !takes(experiment, option.name))
            fail(ErrorCode::usage, "lab: ", experiment.name, " does not take --", option.name,
                 experiment.options.empty() ? "" : "; it takes the options of every experiment and ",
                 option_names(experiment));
}

// The list for a terminal: a line for each experiment, with the number of its lesson.
std::string listed(int width) {
    constexpr int name_column = 16, time_column = 8;
    std::string out =
        lab::wrapped("ordo lab NAME runs an experiment, ordo lab NAME --help explains it. Times are those "
                     "of two cores with --quick.",
                     width, 0) +
        "\n\n";
    double all = 0;
    const auto line = [&](const std::string& lesson, std::string_view name, double seconds, std::string_view question) {
        out += lab::fitted(lesson, 2) + lab::fitted(std::string(name), name_column) +
               lab::fitted(lab::duration_text(seconds), time_column) + std::string(question) + "\n";
        all += seconds;
    };
    int number = 0;
    for (const lab::Lesson& lesson : lab::lessons()) {
        ++number;
        for (const Experiment* experiment : lesson.experiments)
            line(experiment == lesson.experiments[0] ? std::to_string(number) : "", experiment->name,
                 experiment->seconds.quick, experiment->summary);
    }
    line("", "report", all, "all of them as one page: ordo lab report DIR");
    return out;
}

int list_experiments(const Arguments& arguments) {
    for (const Option& option : some_options)
        if (arguments.has(option.name))
            fail(ErrorCode::usage, "lab: option --", option.name, ": expected an experiment");
    const Format format = parse_format(arguments.text("format"));
    if (format == Format::text) {
        write_out(listed(lab::screen_of_stdout().width));
        return 0;
    }
    Figures figures{{"experiment", "lesson", "time on two cores", "with --quick", "question", "options"}, {}};
    double all = 0, all_quick = 0;
    for (const lab::Lesson& lesson : lab::lessons())
        for (const Experiment* experiment : lesson.experiments) {
            figures.add(std::string(experiment->name), std::string(lesson.title),
                        lab::duration_text(experiment->seconds.full), lab::duration_text(experiment->seconds.quick),
                        std::string(experiment->summary), option_names(*experiment));
            all += experiment->seconds.full, all_quick += experiment->seconds.quick;
        }
    figures.add(std::string("report"), std::string(), lab::duration_text(all), lab::duration_text(all_quick),
                std::string("all of them as one page: ordo lab report DIR"), std::string());
    write_out(render(figures, format));
    return 0;
}

std::string shown(const Experiment& experiment, const lab::Result& result, const Arguments& arguments) {
    const std::string command = lab::command_of(experiment.name, arguments);
    switch (parse_format(arguments.text("format"))) {
    case Format::md:
        return lab::markdown_of(experiment, result, command, arguments.text("out"));
    case Format::csv:
        return lab::csv_of(result);
    case Format::json:
        return lab::json_of(experiment, result, command);
    case Format::text:
        break;
    }
    return lab::text_of(experiment, result, lab::screen_of_stdout(), arguments.has("all"));
}

// The directory of `report` and `jobs`, which take some of the options.
std::string directory_of(const Arguments& arguments, std::initializer_list<std::string_view> taken, const char* hint) {
    const std::string& verb = arguments.operand();
    if (arguments.operand(1).empty()) fail(ErrorCode::usage, "lab: ", verb, ": expected a directory, found none");
    for (const OptionGroup& group : lab_verb.groups.first(2))
        for (const Option& option : group.options)
            if (arguments.has(option.name) && std::find(taken.begin(), taken.end(), option.name) == taken.end())
                fail(ErrorCode::usage, "lab: ", verb, " does not take --", option.name, hint);
    return arguments.operand(1);
}

int report(const Arguments& arguments) {
    const std::filesystem::path directory = directory_of(arguments, {"seed", "quick"}, ", only --seed and --quick");
    stop_softly();
    const int code = lab::write_report(arguments, directory, lab::experiments());
    const auto [html, markdown] = lab::page_names(code == stop_code());
    write_out((directory / html).string() + "\n" + (directory / markdown).string() + "\n");
    return code;
}

int jobs(const Arguments& arguments) {
    const std::string directory =
        directory_of(arguments, {"seed", "seeds", "encodings", "corpus", "tasks", "train"}, "");
    const lab::Request request{.arguments = arguments, .seed = parse_seed(arguments.text("seed"), "option --seed")};
    const std::vector<std::string> all = lab::jobs_of(request, directory);
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) fail(ErrorCode::io, printable(directory), ": cannot be made: ", error.message());
    std::string text;
    for (const std::string& job : all) text += job + "\n";
    write_out(text);
    if (!arguments.has("quiet"))
        write_message(std::to_string(all.size()) +
                      " commands, which any machine may run in any order; ordo lab compare --model " + directory +
                      " compares the results so far");
    return 0;
}

// The help of an experiment: its question, method, duration and options.
std::string help(const Arguments& arguments) {
    if (!arguments.has_operand() || arguments.operand() == "report" || arguments.operand() == "jobs")
        return help_text(arguments.verb());
    const Experiment& experiment = lab::find_experiment(arguments.operand());
    std::vector<Option> taken;
    for (const Option& option : some_options)
        if (takes(experiment, option.name)) taken.push_back(option);
    std::vector<OptionGroup> shown{{"Every experiment", options}};
    if (!taken.empty()) shown.push_back({"This experiment", taken});
    shown.push_back(common_group);
    const std::string name = "lab " + std::string(experiment.name);
    const std::string details = std::string(experiment.details) + "\n\nTakes about " +
                                lab::duration_text(experiment.seconds.full) + " on two cores, with --quick about " +
                                lab::duration_text(experiment.seconds.quick) + ".";
    return help_text(
        Verb{.name = name, .operand = {}, .summary = experiment.summary, .details = details, .groups = shown});
}

int run(const Arguments& arguments) {
    if (!arguments.has_operand()) return list_experiments(arguments);
    if (arguments.operand() == "report") return report(arguments);
    if (arguments.operand() == "jobs") return jobs(arguments);
    const Experiment& experiment = lab::find_experiment(arguments.operand());
    if (!arguments.operand(1).empty())
        fail(ErrorCode::usage, "lab: unexpected argument '", printable(arguments.operand(1)), "'",
             takes(experiment, "model") ? "; did you mean --model " + printable(arguments.operand(1)) + "?" : "");
    check_options(arguments, experiment);
    lab::Request request{.arguments = arguments,
                         .seed = parse_seed(arguments.text("seed"), "option --seed"),
                         .quick = arguments.has("quick")};
    lab::Result result;
    {
        Progress progress(arguments.has("quiet"));
        request.progress = [&](const std::string& line) { progress.show(std::string(experiment.name) + ": " + line); };
        result = lab::run(experiment, request);
    }
    if (arguments.has("out")) lab::write_files(experiment, result, arguments.text("out"), arguments.text("out"));
    const std::string text = shown(experiment, result, arguments);
    parse_format(arguments.text("format")) == Format::text ? write_styled(text) : write_out(text);
    return 0;
}

} // namespace

const Verb& lab_program() {
    static const Verb verb = [] {
        Verb own = lab_verb;
        own.run = run;
        own.help = help;
        own.program = {};
        return own;
    }();
    return verb;
}

} // namespace ordo::tools
