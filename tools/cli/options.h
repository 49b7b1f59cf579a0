// SPDX-License-Identifier: MIT
// One table of options for each verb. Parsing, --help, tools/cli.md, the man page and the shell completions all use it,
// so they always agree.
#pragma once

#include "rows.h"

#include <map>
#include <optional>

namespace ordo::tools {

// amount: a whole number, also in the form 12M or 1.2e7.
enum class Kind { flag, text, path, choice, integer, amount, number, integers, seed };

struct Option {
    char letter = 0;             // "-n", or 0
    std::string_view name;       // "--n-predict"
    std::string_view alias = {}; // another long name
    Kind kind = Kind::flag;
    std::string_view value = {};    // the placeholder for the value in the help: "N"
    std::string_view fallback = {}; // the value if not given; empty: none
    double least = 0; // integer, amount, number, integers: the range; seed: -1 if that may ask for a random one
    double most = 0;
    bool above = false;      // the value must be greater than least
    bool repeatable = false; // every value counts; otherwise a second one is an error
    std::string_view help;   // choice: begins with the choices, "text|json: ..."

    // names: "n,n-predict,predict", where the letter and the alias may be missing.
    constexpr Option(std::string_view names, std::string_view text) : help(text) {
        if (names.size() > 1 && names[1] == ',') letter = names[0], names.remove_prefix(2);
        name = names.substr(0, names.find(','));
        if (name.size() < names.size()) alias = names.substr(name.size() + 1);
    }
    // placeholder: "N", or "N=128" with the value if not given. A seed without that may be random.
    constexpr Option(Kind type, std::string_view names, std::string_view placeholder, std::string_view text)
        : Option(names, text) {
        kind = type;
        value = placeholder.substr(0, placeholder.find('='));
        if (value.size() < placeholder.size()) fallback = placeholder.substr(value.size() + 1);
        if (kind == Kind::seed && fallback.empty()) least = -1;
    }
    constexpr Option(Kind type, std::string_view names, std::string_view placeholder, double from, double to,
                     std::string_view text)
        : Option(type, names, placeholder, text) {
        least = from, most = to;
    }
};
constexpr Option above(Option option) {
    option.above = true;
    return option;
}
constexpr Option repeatable(Option option) {
    option.repeatable = true;
    return option;
}

struct OptionGroup {
    std::string_view title;
    std::span<const Option> options;
};

class Arguments;

// A command after "ordo", and its purpose.
struct Example {
    std::string_view verb, command, purpose;
};
std::span<const Example> examples(); // for all verbs, in the order of the help

struct Verb {
    std::string_view name;
    std::string_view operand;    // "FILE", "IN OUT": the maximum number of operands; empty: none
    bool operand_needed = false; // all of them are required
    std::string_view summary;    // one line
    std::string_view details;    // paragraphs, or empty
    std::span<const OptionGroup> groups;
    int (*run)(const Arguments&) = nullptr; // returns the exit code
    // Text for --help if it depends on the operands; null: only the verb's table.
    std::string (*help)(const Arguments&) = nullptr;
    std::string_view program = {}; // in the folder of this program; it runs the verb instead of `run`
};

// By its letter, its name or its alias; null if the verb has none.
const Option* find_option(const Verb& verb, std::string_view name);

// The possible values of a choice: "f32|f16" of "f32|f16: of the weights".
std::vector<std::string_view> choices_of(const Option& option);

// The number of words in Verb::operand.
std::size_t operand_count(const Verb& verb);

// The verbs, in the order of the help.
std::span<const Verb* const> verbs();
// Throws Error(usage) with the nearest name.
const Verb& find_verb(std::string_view name);

// A command line, with every value checked by its verb's table.
class Arguments {
public:
    // args: the arguments after the verb. Throws Error(usage).
    Arguments(const Verb& verb, std::span<const char* const> args);

    const Verb& verb() const { return *verb_; }
    bool offers(std::string_view name) const;      // in the verb's table
    bool has(std::string_view name) const;         // given on the command line
    std::string text(std::string_view name) const; // as given, or the fallback
    int integer(std::string_view name) const;      // the same as a number
    std::int64_t integer64(std::string_view name) const;
    double number(std::string_view name) const;
    std::vector<std::int64_t> integers(std::string_view name) const;
    std::span<const std::string> all(std::string_view name) const; // for a repeatable option
    // The i-th operand; empty if not given.
    std::string operand(std::size_t i = 0) const { return i < operands_.size() ? operands_[i] : std::string(); }
    bool has_operand() const { return !operands_.empty(); }
    // The command line with paths cut to base names, for publication.
    std::string command() const;

private:
    const Option& option(std::string_view name) const;
    void store(const Option& option, std::string value);

    const Verb* verb_;
    std::map<std::string_view, std::vector<std::string>> values_; // by Option::name
    std::vector<std::pair<const Option*, std::string>> sequence_;
    std::vector<std::string> operands_;
};

// Strict numbers: digits only, no sign but '-', no exponent for integers, no nan or inf, nothing after the number.
// `what` names the value in Error(usage): "option --temp".
std::int64_t parse_integer(std::string_view text, std::string_view what, std::int64_t least, std::int64_t most);
// Also accepts 12M (k, M, G or B: a thousand, a million, a billion) and 1.2e7.
std::int64_t parse_amount(std::string_view text, std::string_view what, std::int64_t least, std::int64_t most);
double parse_number(std::string_view text, std::string_view what, double least, double most, bool above = false);
std::uint64_t parse_seed(std::string_view text, std::string_view what);
// Empty for -1, which asks for a random seed.
std::optional<std::uint64_t> parse_seed_or_random(std::string_view text, std::string_view what);
// Numbers separated by commas or white space, at least one.
std::vector<std::int64_t> parse_integers(std::string_view text, std::string_view what, std::int64_t least,
                                         std::int64_t most);

// ---- The table as text ------------------------------------------------------------------------

std::string verbs_text();                // a line for each verb
std::string help_text();                 // ordo --help
std::string help_text(const Verb& verb); // ordo VERB --help
std::string markdown_text();             // tools/cli.md
std::string man_text();                  // ordo.1
// The completion script for bash, zsh or fish. Throws Error(usage) for another shell.
std::string completion_text(std::string_view shell);

} // namespace ordo::tools
