// SPDX-License-Identifier: MIT
// The table of options as --help, as Markdown and as a man page.
#include "core/trimmed.h"
#include "ordo.h"
#include "tools/cli/options.h"
#include "tools/terminal/columns.h"

#include <algorithm>

namespace ordo::tools {

namespace {

constexpr std::size_t help_column = 28;

// Limits the width, so that a reader finds the next line.
std::size_t help_width() {
    const Display display = stdout_display();
    return display.terminal ? static_cast<std::size_t>(std::clamp(display.width, 60, 100)) : 80;
}

constexpr std::string_view purpose = "Ordo runs and trains small language models with any positional encoding.";

// The options of ordo without a verb.
struct GlobalOption {
    std::string_view names, help;
};
constexpr GlobalOption global_options[] = {
    {"-h, --help", "Print this list. ordo VERB --help explains a verb."},
    {"--version", "Print the version, the BLAS, the kernels and OpenMP."},
    {"--man", "Print all help as a man page: ordo --man > ordo.1."},
    {"--markdown", "Print all options as Markdown."},
    {"--completion SHELL", "Print the completions for bash, zsh or fish."},
};

struct Note {
    std::string_view name, text;
};
constexpr Note exit_codes[] = {
    {"0", "Success."},
    {"1", "Any other failure."},
    {"2", "Usage: a wrong option, value or encoding."},
    {"3", "A malformed or unsupported model file."},
    {"4", "A limit was exceeded: length, context, memory."},
    {"5", "Input or output failed."},
    {"130", "Stopped by Ctrl-C (143: by SIGTERM)."},
};
constexpr Note environment[] = {
    {"ORDO_WEIGHTS", "The first directory to search for weights."},
    {"OMP_NUM_THREADS", "The number of threads without --threads."},
    {"NO_COLOR", "If set, print without colour."},
};

std::string signature(const Option& option) {
    std::string names = option.letter ? std::string("-") + option.letter + ", " : "    ";
    names += "--" + std::string(option.name);
    if (!option.alias.empty()) names += ", --" + std::string(option.alias);
    if (!option.value.empty()) names += " " + std::string(option.value);
    return names;
}

std::string explanation(const Option& option) {
    std::string text(option.help);
    if (option.repeatable) text += " May be repeated.";
    if (!option.fallback.empty()) text += " [" + std::string(option.fallback) + "]";
    return text;
}

// The length of the next unbroken piece of text: a word or, in a list of choices longer than a line, one choice.
std::size_t piece_of(std::string_view text, std::size_t room) {
    const std::size_t word = std::min(text.find_first_of(" \n"), text.size());
    const std::size_t bar = text.find('|');
    return word > room && bar < word ? bar + 1 : word;
}

// Wraps text to lines of at most width - indent columns. All but the first are indented.
std::string indented(std::string_view text, std::size_t indent, std::size_t width) {
    std::string out;
    std::size_t column = indent;
    const auto begin_line = [&] {
        out += "\n" + std::string(indent, ' ');
        column = indent;
    };
    bool space = false; // a space comes before the next piece
    while (!text.empty()) {
        const std::size_t size = piece_of(text, width - indent);
        if (column > indent && column + (space ? 1 : 0) + size > width)
            begin_line();
        else if (space && column > indent) {
            out += ' ';
            ++column;
        }
        out += text.substr(0, size);
        column += size;
        text.remove_prefix(size);
        space = text.starts_with(' ');
        if (text.starts_with('\n')) begin_line();
        if (text.starts_with(' ') || text.starts_with('\n')) text.remove_prefix(1);
    }
    return out;
}

std::string entry(std::string_view left, std::string_view right) {
    std::string line = "  " + std::string(left);
    if (line.size() + 2 > help_column)
        line += "\n" + std::string(help_column, ' ');
    else
        line.resize(help_column, ' ');
    return line + indented(right, help_column, help_width()) + "\n";
}

std::string usage(const Verb& verb) {
    std::string line = "ordo " + std::string(verb.name);
    if (!verb.operand.empty()) line += verb.operand_needed ? " " : " [";
    line += verb.operand;
    if (!verb.operand.empty() && !verb.operand_needed) line += "]";
    return line + " [options]";
}

// Escapes leading dots and quotes and all backslashes, which roff interprets.
std::string roff(std::string_view text) {
    std::string out;
    bool line_start = true;
    for (const char c : text) {
        if (line_start && (c == '.' || c == '\'')) out += "\\&";
        line_start = c == '\n';
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else
            out += c;
        if (c == '|') out += "\\:"; // a list of choices may break here
    }
    return out;
}

std::string roff_entry(std::string_view left, std::string_view right) {
    return ".TP\n.B " + roff(left) + "\n" + roff(right) + "\n";
}

// Escapes bars, which would end the cell, and <, which would begin a tag.
std::string cell(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '|') out += '\\';
        if (c == '<')
            out += "&lt;";
        else
            out += c;
    }
    return out;
}

// A command may be longer than a line, so that it can be copied.
std::string example_text(const Example& example) {
    return "  ordo " + std::string(example.command) + "\n      " + indented(example.purpose, 6, help_width()) + "\n";
}

} // namespace

std::string verbs_text() {
    std::string out;
    for (const Verb* verb : verbs()) out += entry(verb->name, verb->summary);
    return out;
}

std::string help_text() {
    std::string out = "usage: ordo VERB [options]\n\n" + indented(purpose, 0, help_width()) + "\n\nVerbs:\n";
    out += verbs_text() + "\nOptions:\n";
    for (const auto& [names, help] : global_options) out += entry(names, help);
    out += "\nExit codes:\n";
    for (const Note& note : exit_codes) out += entry(note.name, note.text);
    out += "\nEnvironment:\n";
    for (const Note& note : environment) out += entry(note.name, note.text);
    return out;
}

std::string help_text(const Verb& verb) {
    const std::string summary = std::string(verb.summary) + (verb.summary.ends_with('?') ? "" : ".");
    std::string out = "usage: " + usage(verb) + "\n\n" + indented(summary, 0, help_width()) + "\n";
    std::string commands;
    for (const Example& example : examples())
        if (example.verb == verb.name) commands += example_text(example);
    if (!commands.empty()) out += "\nExamples:\n" + commands;
    if (!verb.details.empty()) out += "\n" + indented(verb.details, 0, help_width()) + "\n";
    for (const OptionGroup& group : verb.groups) {
        out += "\n" + std::string(group.title) + ":\n";
        for (const Option& option : group.options) out += entry(signature(option), explanation(option));
    }
    return out;
}

std::string markdown_text() {
    std::string out =
        "# The options of `ordo`\n\n`ordo --markdown` prints this page, and `ordo VERB --help` a part of it.\n";
    for (const Verb* verb : verbs()) {
        out += "\n## `" + usage(*verb) + "`\n\n" + std::string(verb->summary) + ".\n\n";
        if (!verb->details.empty()) out += indented(verb->details, 0, 100) + "\n\n";
        out += "| option | default | |\n|---|---|---|\n";
        for (const OptionGroup& group : verb->groups)
            for (const Option& option : group.options) {
                const std::string more = option.repeatable ? " May be repeated." : "";
                const std::string fallback = option.fallback.empty() ? "" : "`" + std::string(option.fallback) + "`";
                out += "| `" + std::string(trimmed(signature(option))) + "` | " + fallback + " | " + cell(option.help) +
                       more + " |\n";
            }
        out += "\n```sh\n";
        for (const Example& example : examples())
            if (example.verb == verb->name)
                out += "ordo " + std::string(example.command) + "    # " + std::string(example.purpose) + "\n";
        out += "```\n";
    }
    return out;
}

// Left-aligned, because a line may be one long word.
std::string man_text() {
    std::string out = ".TH ORDO 1 \"\" \"Ordo " + std::string(version()) +
                      "\" \"User Commands\"\n.ad l\n.SH NAME\n"
                      "ordo \\- transformers with interchangeable positional encodings\n.SH SYNOPSIS\n.B ordo\n"
                      ".I VERB\n[options]\n.SH DESCRIPTION\n" +
                      roff(purpose) + "\n";
    out += ".SH OPTIONS\n";
    for (const auto& [names, help] : global_options) out += roff_entry(names, help);
    out += ".SH VERBS\n";
    for (const Verb* verb : verbs()) {
        out += ".SS " + roff(usage(*verb)) + "\n" + roff(verb->summary) + ".\n";
        if (!verb->details.empty()) out += ".PP\n" + roff(verb->details) + "\n";
        for (const OptionGroup& group : verb->groups)
            for (const Option& option : group.options)
                out += roff_entry(trimmed(signature(option)), explanation(option));
    }
    out += ".SH EXAMPLES\n";
    for (const Example& example : examples())
        out += roff_entry("ordo " + std::string(example.command), example.purpose);
    out += ".SH \"EXIT STATUS\"\n";
    for (const Note& note : exit_codes) out += roff_entry(note.name, note.text);
    out += ".SH ENVIRONMENT\n";
    for (const Note& note : environment) out += roff_entry(note.name, note.text);
    return out;
}

} // namespace ordo::tools
