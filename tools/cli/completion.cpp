// SPDX-License-Identifier: MIT
// Completions for bash, zsh and fish, generated from the table of options.
#include "tools/cli/completion.h"

#include "core/error.h"
#include "core/weight_type.h"
#include "encoding/base/registry.h"
#include "encoding/base/stack.h"
#include "formats/architecture.h"
#include "tools/measure/shapes.h"

#include <algorithm>

namespace ordo::tools {

namespace {

constexpr std::string_view global_names = "--help --version --man --markdown --completion";
constexpr std::string_view shells = "bash zsh fish";

enum class Values { none, free, files, words };

// The characters that may separate the names in an option's value. Empty if the value is one name or no name.
std::string_view separators_of(const Option& option) {
    if (option.kind != Kind::text) return "";
    if (option.name == "encoding") return "+"; // a sum is one spec
    if (option.name == "encodings") return ",;+";
    return option.name == "shape" || option.name == "dtype" ? "," : "";
}

// The possible completions of an option's value.
Values values_of(const Option& option) {
    if (option.kind == Kind::flag) return Values::none;
    if (option.kind == Kind::path) return Values::files;
    const bool named = option.kind == Kind::choice || option.name == "arch" || !separators_of(option).empty();
    return named ? Values::words : Values::free;
}

std::string joined(std::span<const std::string_view> words) {
    std::string text;
    for (const std::string_view word : words) text += (text.empty() ? "" : " ") + std::string(word);
    return text;
}

// The characters that may join names in a verb's first operand.
std::string_view joints_of(const Verb& verb) {
    return verb.operand == "SPEC" ? "+" : "";
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
            if (architecture.make().encoder.empty()) known.push_back(architecture.name); // as ordo train accepts
        return joined(known);
    }
    if (option.name == "dtype") {
        std::vector<std::string_view> types;
        for (const WeightType type : weight_types) types.push_back(name_of(type));
        return joined(types);
    }
    std::string names =
        option.name == "encodings" && verb.name != "generate" ? "all" : ""; // too many to read side by side
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

// Quotes any text as one word of a shell script. fish reads \' inside quotes, bash and zsh do not.
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

// Options that take the next word as their value: "-m --model -t --threads".
std::string valued_names(const Verb& verb) {
    std::string names;
    for_each_option(verb, [&](const Option& option) {
        if (values_of(option) != Values::none) names += (names.empty() ? "" : " ") + names_of(option, " ");
    });
    return names;
}

// ---- bash -------------------------------------------------------------------------------------

// The rest of the script. readline completes only the part after the last = or :, and completes file names itself.
constexpr std::string_view bash_function = R"(_ordo() {
    local IFS=$' \t\n' line=() word= glued= piece=${COMP_WORDS[COMP_CWORD]} cur= before= head= verb= i
    local value= words= between= options= operands=0 names= joints= place=0 ended=
    COMPREPLY=()
    for ((i = 0; i <= COMP_CWORD; ++i)); do
        word=${COMP_WORDS[i]}
        if [[ $i -gt 0 && $word && ($glued || $word == [=:]*) ]]; then
            line[${#line[@]} - 1]+=$word
        else
            line+=("$word")
        fi
        glued=
        [[ $word == *[=:] ]] && glued=1
    done
    local last=$((${#line[@]} - 1))
    cur=${line[last]} verb=${line[1]}
    [[ $piece == [=:]* ]] && piece=
    local kept=${cur%"$piece"}
    if ((last == 1)); then
        value=words words=$_ordo_first
    elif ((last == 2)) && [[ $verb == help || $verb == --help || $verb == -h ]]; then
        value=words words=$_ordo_verbs
    elif ((last == 2)) && [[ $verb == --completion ]]; then
        value=words words=$_ordo_shells
    else
        _ordo_verb "$verb"
        [[ $options ]] || return
        for ((i = 2; i < last; ++i)); do
            word=${line[i]}
            if [[ $ended || $word != -?* ]]; then
                ((++place))
            elif [[ $word == -- ]]; then
                ended=1
            elif [[ $word != *=* ]]; then
                _ordo_value "$verb" "$word"
                [[ $value ]] && ((++i))
            fi
        done
        if ((i == last)); then # no option waits for this word
            value= words= between=
            if [[ ! $ended && $cur == --*=* ]]; then
                _ordo_value "$verb" "${cur%%=*}"
                before=${cur%%=*}= cur=${cur#*=}
            elif [[ ! $ended && $cur == -* ]] || ((place >= operands)); then
                value=words words=$options
            elif [[ $place -eq 0 && $names ]]; then
                value=words words=$names between=$joints
            else
                value=files
            fi
        fi
    fi
    if [[ $value == files ]]; then
        compopt -o default
    elif [[ $value == words ]]; then
        cur=${cur#[\'\"]} kept=${kept#[\'\"]}
        [[ $between ]] && head=${cur%"${cur##*[$between]}"}
        COMPREPLY=($(compgen -P "$before$head" -W "$words" -- "${cur#"$head"}"))
        COMPREPLY=("${COMPREPLY[@]#"$kept"}")
    fi
}
complete -F _ordo ordo
)";

std::string bash_text() {
    std::string values, cases;
    for (const Verb* verb : verbs()) {
        std::string names;
        const std::string prefix = "'" + std::string(verb->name) + " ";
        for_each_option(*verb, [&](const Option& option) {
            names += (names.empty() ? "" : " ") + names_of(option, " ");
            const Values kind = values_of(option);
            if (kind == Values::none) return;
            values += "        " + prefix + names_of(option, ("' | " + prefix).c_str()) + "') value=";
            if (kind == Values::files) values += "files";
            if (kind == Values::free) values += "text";
            if (kind == Values::words)
                values += "words words=" + in_quotes(words_of(*verb, option)) +
                          " between=" + in_quotes(separators_of(option));
            values += " ;;\n";
        });
        const std::string operands = joined(operand_names(*verb));
        cases += "        " + std::string(verb->name) + ") operands=" + std::to_string(operand_count(*verb)) +
                 " options=" + in_quotes(names) + (operands.empty() ? "" : " names=" + in_quotes(operands)) +
                 " joints=" + in_quotes(joints_of(*verb)) + " ;;\n";
    }
    std::string out = "# bash completion for ordo, made by ordo --completion bash\n";
    out += "_ordo_verbs=" + in_quotes(verb_names()) + "\n";
    out += "_ordo_first=\"$_ordo_verbs " + std::string(global_names) + "\"\n";
    out += "_ordo_shells=" + in_quotes(shells) + "\n";
    out += "_ordo_verb() { # VERB: its options, how many operands it takes, names for the first, and what joins them\n"
           "    case $1 in\n" +
           cases + "    esac\n}\n";
    out += "_ordo_value() { # VERB OPTION: what comes next: files, a text, words and what joins them, or nothing\n"
           "    value= words= between=\n    case \"$1 $2\" in\n" +
           values + "    esac\n}\n";
    return out.append(bash_function);
}

// ---- zsh --------------------------------------------------------------------------------------

// Escapes the characters that _arguments interprets.
std::string zsh_escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

std::string zsh_words(std::string_view separators, const std::string& words) {
    if (separators.empty()) return "(" + words + ")";
    return "{_ordo_list '" + std::string(separators) + "' " + words + "}";
}

// name: the text before the description, with = if the value may follow it.
std::string zsh_argument(const Verb& verb, const Option& option, std::string_view name) {
    const Values kind = values_of(option);
    std::string text = (option.repeatable ? "*" : "(" + names_of(option, " ") + ")") + std::string(name);
    if (kind != Values::none && name.starts_with("--")) text += '=';
    text += "[" + zsh_escaped(option.help) + "]";
    if (kind == Values::none) return in_quotes(text);
    text += ":" + zsh_escaped(option.value) + ":";
    if (kind == Values::files) text += "_files";
    if (kind == Values::words) text += zsh_words(separators_of(option), words_of(verb, option));
    return in_quotes(text);
}

// "IN OUT" gives two operands.
std::vector<std::string> zsh_operands(const Verb& verb) {
    std::vector<std::string> all;
    std::string_view rest = verb.operand;
    for (std::size_t place = 1; place <= operand_count(verb); ++place) {
        const std::string_view name = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(rest.size(), name.size() + 1));
        const std::string words = place == 1 ? joined(operand_names(verb)) : "";
        all.push_back(in_quotes(std::to_string(place) + ":" + zsh_escaped(name) + ":" +
                                (words.empty() ? "_files" : zsh_words(joints_of(verb), words))));
    }
    return all;
}

std::string zsh_text() {
    std::string summaries, cases;
    for (const Verb* verb : verbs()) {
        summaries += "        " + in_quotes(std::string(verb->name) + ":" + zsh_escaped(verb->summary)) + "\n";
        cases += "        " + std::string(verb->name) + ")\n            _arguments -s -S";
        const auto add = [&cases](const std::string& argument) { cases += " \\\n                " + argument; };
        for_each_option(*verb, [&](const Option& option) {
            if (option.letter) add(zsh_argument(*verb, option, std::string("-") + option.letter));
            add(zsh_argument(*verb, option, "--" + std::string(option.name)));
            if (!option.alias.empty()) add(zsh_argument(*verb, option, "--" + std::string(option.alias)));
        });
        for (const std::string& operand : zsh_operands(*verb)) add(operand);
        cases += "\n            ;;\n";
    }
    return "#compdef ordo\n"
           "# zsh completion for ordo, made by ordo --completion zsh\n"
           "_ordo_list() { # SEPARATORS WORD ...: one of them, at the end of a list too\n"
           "    compset -P \"*[$1]\"\n"
           "    compadd -- \"${@:2}\"\n"
           "}\n"
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
           "        help | --help | -h) ((CURRENT > 2)) || _describe verb verbs ;;\n"
           "        --completion) ((CURRENT > 2)) || compadd -- " +
           std::string(shells) + " ;;\n" + cases +
           "    esac\n"
           "}\n"
           "# Found in $fpath this is the function itself; read as a script it tells whose it is.\n"
           "if [[ $funcstack[1] == _ordo ]]; then _ordo \"$@\"; else compdef _ordo ordo; fi\n";
}

// ---- fish -------------------------------------------------------------------------------------

constexpr std::string_view fish_functions =
    R"(function __ordo_after # WORD ...: they alone stand between ordo and the cursor's word
    set -l line (commandline -opc)
    test "$line[2..]" = "$argv"
end
function __ordo_verb # VERB ...: one of these
    set -l line (commandline -opc)
    contains -- "$line[2]" $argv
end
function __ordo_place # VERB PLACE ...: how many operands of the verb stand before the cursor's word
    set -l line (commandline -opc)
    test "$line[2]" = $argv[1]; or return
    set -l valued (__ordo_valued $argv[1])
    set -l place 0
    set -l ended
    set -l skip
    for word in $line[3..]
        if set -q skip[1]
            set skip
        else if set -q ended[1]; or not string match -q -- '-?*' $word
            set place (math $place + 1)
        else if test $word = --
            set ended 1
        else if contains -- $word $valued
            set skip 1
        end
    end
    contains $place $argv[2..]
end
function __ordo_list # SEPARATORS WORD ...: each at the end of the list that is being written, if it is one
    set -l word (commandline -ct | string replace -r -- '^--[^=]*=' '' | string trim -l -c '\'"')
    set -l head (string match -r -- ".*[$argv[1]]" "$word")
    printf '%s\n' "$head"$argv[2..]
end
)";

std::string fish_words(std::string_view separators, const std::string& words) {
    if (separators.empty()) return words;
    return "(__ordo_list '" + std::string(separators) + "' " + words + ")";
}

std::string fish_text() {
    std::string out = "# fish completion for ordo, made by ordo --completion fish\n"
                      "function __ordo_valued # VERB: its options whose value is another word\n"
                      "    switch $argv[1]\n";
    for (const Verb* verb : verbs())
        out += "        case " + std::string(verb->name) + "\n            string split ' ' -- " +
               in_quotes(valued_names(*verb), true) + "\n";
    out += "    end\nend\n";
    out += fish_functions;
    const auto when = [&out](const std::string& condition, const std::string& what) {
        out += "complete -c ordo -n " + in_quotes(condition, true) + " " + what + "\n";
    };
    when("not __ordo_verb " + verb_names(), "-f"); // only verbs take files
    when("__ordo_after", "-a " + in_quotes(global_names, true));
    for (const Verb* verb : verbs())
        when("__ordo_after; or __ordo_after help; or __ordo_after --help; or __ordo_after -h",
             "-a " + std::string(verb->name) + " -d " + in_quotes(verb->summary, true));
    when("__ordo_after --completion", "-a " + in_quotes(shells, true));
    for (const Verb* verb : verbs()) {
        const std::string name(verb->name);
        if (const std::string operands = joined(operand_names(*verb)); !operands.empty())
            when("__ordo_place " + name + " 0", "-f -a " + in_quotes(fish_words(joints_of(*verb), operands), true));
        std::string places;
        for (std::size_t place = 0; place < operand_count(*verb); ++place) places += " " + std::to_string(place);
        when("__ordo_verb " + name + "; and not __ordo_place " + name + places, "-f"); // all operands are given
        for_each_option(*verb, [&](const Option& option) {
            std::string what;
            if (option.letter) what += std::string("-s ") + option.letter + " ";
            what += "-l " + std::string(option.name);
            if (!option.alias.empty()) what += " -l " + std::string(option.alias);
            const Values kind = values_of(option);
            if (kind == Values::files) what += " -rF";
            if (kind == Values::free) what += " -x";
            if (kind == Values::words)
                what += " -xa " + in_quotes(fish_words(separators_of(option), words_of(*verb, option)), true);
            when("__ordo_verb " + name, what + " -d " + in_quotes(option.help, true));
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
