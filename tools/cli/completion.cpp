// SPDX-License-Identifier: MIT
// Completions for bash, zsh and fish, made from the table of options.
#include "tools/cli/completion.h"

#include "bench/shapes.h"
#include "core/error.h"
#include "encoding/registry.h"
#include "formats/architecture.h"

namespace ordo::tools {

namespace {

constexpr std::string_view global_names = "--help --version --man --markdown --completion";
constexpr std::string_view shells = "bash zsh fish";

enum class Values { none, free, files, words };

// What an option's value may be completed to.
Values values_of(const Option& option) {
    if (option.kind == Kind::flag) return Values::none;
    if (option.kind == Kind::path) return Values::files;
    const bool names =
        option.name == "encoding" || option.name == "encodings" || option.name == "shape" || option.name == "arch";
    return option.kind == Kind::choice || names ? Values::words : Values::free;
}

std::string joined(std::span<const std::string_view> words) {
    std::string text;
    for (const std::string_view word : words) text += (text.empty() ? "" : " ") + std::string(word);
    return text;
}

std::string words_of(const Verb& verb, const Option& option) {
    if (option.kind == Kind::choice) return joined(choices_of(option));
    if (option.name == "shape") {
        const std::vector<std::string> shapes = bench::shape_names();
        return joined(std::vector<std::string_view>(shapes.begin(), shapes.end()));
    }
    if (option.name == "arch") {
        std::vector<std::string_view> known;
        for (const Architecture& architecture : architectures())
            if (architecture.make().encoder.empty()) known.push_back(architecture.name); // as ordo train takes them
        return joined(known);
    }
    std::string names =
        option.name == "encodings" && verb.name == "bench" ? "all" : ""; // too many to read side by side
    for (const EncodingInfo* info : registered_encodings())
        names += (names.empty() ? "" : " ") + std::string(info->name);
    return names;
}

// "-m --model", "--encodings --encoding"
std::string names_of(const Option& option, const char* between) {
    std::string text = option.letter ? std::string("-") + option.letter + between : "";
    text += "--" + std::string(option.name);
    if (!option.alias.empty()) text += between + ("--" + std::string(option.alias));
    return text;
}

template <class Body>
void for_each_option(const Verb& verb, const Body& body) {
    for (const OptionGroup& group : verb.groups)
        for (const Option& option : group.options) body(option);
}

std::string verb_names() {
    std::string names;
    for (const Verb* verb : verbs()) names += (names.empty() ? "" : " ") + std::string(verb->name);
    return names;
}

// One word of a shell's script, whatever is in it. fish takes \' inside quotes, bash and zsh do not.
std::string in_quotes(std::string_view text, bool fish = false) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'')
            out += fish ? "\\'" : "'\\''";
        else if (c == '\\' && fish)
            out += "\\\\";
        else
            out += c;
    }
    return out + "'";
}

// ---- bash -------------------------------------------------------------------------------------

// Cases by "VERB OPTION", then the options of each verb. readline splits at =, so that --name=value are three words.
std::string bash_text() {
    std::string values, options;
    for (const Verb* verb : verbs()) {
        std::string names;
        const std::string prefix = "'" + std::string(verb->name) + " ";
        for_each_option(*verb, [&](const Option& option) {
            names += (names.empty() ? "" : " ") + names_of(option, " ");
            const Values kind = values_of(option);
            if (kind == Values::none) return;
            values += "        " + prefix + names_of(option, ("' | " + prefix).c_str()) + "') ";
            values += kind == Values::files   ? "files=1"
                      : kind == Values::words ? "words=" + in_quotes(words_of(*verb, option))
                                              : "return";
            values += " ;;\n";
        });
        const std::string operands = joined(operand_names(*verb));
        options += "        " + std::string(verb->name) + ") options=" + in_quotes(names) +
                   (operands.empty() ? "" : " operands=" + in_quotes(operands)) + " ;;\n";
    }
    return "# bash completion for ordo, made by ordo --completion bash\n"
           "_ordo() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev= verb= options= operands= words= files=\n"
           "    [ \"$COMP_CWORD\" -gt 0 ] && prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    if [ \"$cur\" = = ]; then\n"
           "        cur=\n"
           "    elif [ \"$prev\" = = ]; then\n"
           "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
           "    fi\n"
           "    COMPREPLY=()\n"
           "    [ \"$COMP_CWORD\" -gt 1 ] && verb=${COMP_WORDS[1]}\n"
           "    case $verb in\n"
           "        '') COMPREPLY=($(compgen -W " +
           in_quotes(verb_names() + " " + std::string(global_names)) +
           " -- \"$cur\")); return ;;\n"
           "        help | --help | -h) COMPREPLY=($(compgen -W " +
           in_quotes(verb_names()) +
           " -- \"$cur\")); return ;;\n"
           "        --completion) COMPREPLY=($(compgen -W " +
           in_quotes(shells) +
           " -- \"$cur\")); return ;;\n"
           "    esac\n"
           "    case \"$verb $prev\" in\n" +
           values +
           "    esac\n"
           "    case $verb in\n" +
           options +
           "    esac\n"
           "    if [ -n \"$words\" ]; then\n"
           "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
           "    elif [ -z \"$files\" ] && [[ $cur == -* ]]; then\n"
           "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
           "    elif [ -z \"$files\" ] && [ -n \"$operands\" ] && [ \"$COMP_CWORD\" -eq 2 ]; then\n"
           "        COMPREPLY=($(compgen -W \"$operands\" -- \"$cur\"))\n"
           "    else\n"
           "        local IFS=$'\\n'\n"
           "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
           "    fi\n"
           "}\n"
           "complete -o filenames -F _ordo ordo\n";
}

// ---- zsh --------------------------------------------------------------------------------------

// What _arguments reads as its own.
std::string zsh_escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

std::string zsh_argument(const Verb& verb, const Option& option, std::string_view name) {
    std::string text = (option.repeatable ? "*" : "(" + names_of(option, " ") + ")") + std::string(name);
    text += "[" + zsh_escaped(option.help) + "]";
    const Values kind = values_of(option);
    if (kind == Values::none) return in_quotes(text);
    text += ":" + zsh_escaped(option.value) + ":";
    if (kind == Values::files) text += "_files";
    if (kind == Values::words) text += "(" + words_of(verb, option) + ")";
    return in_quotes(text);
}

std::string zsh_text() {
    std::string summaries, cases;
    for (const Verb* verb : verbs()) {
        summaries += "        " + in_quotes(std::string(verb->name) + ":" + zsh_escaped(verb->summary)) + "\n";
        cases += "        " + std::string(verb->name) + ")\n            _arguments -s";
        const auto add = [&cases](const std::string& argument) { cases += " \\\n                " + argument; };
        for_each_option(*verb, [&](const Option& option) {
            if (option.letter) add(zsh_argument(*verb, option, std::string("-") + option.letter));
            add(zsh_argument(*verb, option, "--" + std::string(option.name)));
            if (!option.alias.empty()) add(zsh_argument(*verb, option, "--" + std::string(option.alias)));
        });
        if (const std::string operands = joined(operand_names(*verb)); !operands.empty())
            add(in_quotes("1:" + zsh_escaped(verb->operand) + ":(" + operands + ")"));
        if (!verb->operand.empty()) add(in_quotes("*:" + zsh_escaped(verb->operand) + ":_files"));
        cases += "\n            ;;\n";
    }
    return "#compdef ordo\n"
           "# zsh completion for ordo, made by ordo --completion zsh\n"
           "_ordo() {\n"
           "    local -a verbs=(\n" +
           summaries +
           "    )\n"
           "    if ((CURRENT == 2)); then\n"
           "        _describe verb verbs\n"
           "        compadd -- " +
           std::string(global_names) +
           "\n"
           "        return\n"
           "    fi\n"
           "    local verb=$words[2]\n"
           "    shift words\n"
           "    ((CURRENT--))\n"
           "    case $verb in\n"
           "        help | --help | -h) _describe verb verbs ;;\n"
           "        --completion) compadd -- " +
           std::string(shells) + " ;;\n" + cases +
           "    esac\n"
           "}\n"
           "_ordo \"$@\"\n";
}

// ---- fish -------------------------------------------------------------------------------------

std::string fish_text() {
    std::string out = "# fish completion for ordo, made by ordo --completion fish\n"
                      "complete -c ordo -n __fish_use_subcommand -f\n";
    for (const Verb* verb : verbs())
        out += "complete -c ordo -n __fish_use_subcommand -a " + std::string(verb->name) + " -d " +
               in_quotes(verb->summary, true) + "\n";
    for (const Verb* verb : verbs()) {
        if (const std::string operands = joined(operand_names(*verb)); !operands.empty())
            out += "complete -c ordo -n '__fish_seen_subcommand_from " + std::string(verb->name) + "' -a " +
                   in_quotes(operands, true) + "\n";
        for_each_option(*verb, [&](const Option& option) {
            out += "complete -c ordo -n '__fish_seen_subcommand_from " + std::string(verb->name) + "'";
            if (option.letter) out += std::string(" -s ") + option.letter;
            out += " -l " + std::string(option.name);
            if (!option.alias.empty()) out += " -l " + std::string(option.alias);
            const Values kind = values_of(option);
            if (kind == Values::files) out += " -rF";
            if (kind == Values::free) out += " -x";
            if (kind == Values::words) out += " -xa " + in_quotes(words_of(*verb, option), true);
            out += " -d " + in_quotes(option.help, true) + "\n";
        });
    }
    return out;
}

} // namespace

std::string completion_text(std::string_view shell) {
    if (shell == "bash") return bash_text();
    if (shell == "zsh") return zsh_text();
    if (shell == "fish") return fish_text();
    fail(ErrorCode::usage, "option --completion: expected bash, zsh or fish, found '", printable(shell), "'");
}

} // namespace ordo::tools
