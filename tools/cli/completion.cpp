// SPDX-License-Identifier: MIT
// Completions for bash, zsh and fish: each shell asks the program for them, by the hidden option --complete.
#include "tools/cli/completion.h"

#include "core/error.h"
#include "core/weight_type.h"
#include "encoding/base/model_encodings.h"
#include "encoding/base/registry.h"
#include "formats/architecture.h"
#include "tools/bench/shapes.h"

#include <algorithm>

namespace ordo::tools {

namespace {

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

// The characters that may join names in a verb's first operand.
std::string_view joints_of(const Verb& verb) {
    return verb.operand == "SPEC" ? "+" : "";
}

// The words that may stand in a place of the command line.
struct Offer {
    bool files = false;
    std::string before; // the beginning of the word, which stays: "--model=", "none,rope,"
    std::vector<std::pair<std::string, std::string_view>> words{}; // with descriptions

    void add(std::string_view word, std::string_view description = "") { words.emplace_back(word, description); }
    void add_all(std::span<const std::string_view> names) {
        for (const std::string_view name : names) add(name);
    }
    // begun: the word so far, of which the part up to the last separator stays.
    void stay_before(std::string_view begun, std::string_view separators) {
        if (const std::size_t at = begun.find_last_of(separators); at != begun.npos) before += begun.substr(0, at + 1);
    }
};

void add_value(const Verb& verb, const Option& option, std::string_view begun, Offer& offer) {
    const Values kind = values_of(option);
    offer.files = kind == Values::files;
    if (kind != Values::words) return;
    offer.stay_before(begun, separators_of(option));
    if (option.kind == Kind::choice) {
        offer.add_all(choices_of(option));
    } else if (option.name == "shape") {
        for (const std::string& name : bench::shape_names()) offer.add(name);
    } else if (option.name == "arch") {
        for (const Architecture& architecture : architectures())
            if (architecture.make().encoder.empty()) offer.add(architecture.name); // as ordo train accepts
    } else if (option.name == "dtype") {
        for (const WeightType type : weight_types) offer.add(name_of(type));
    } else {
        if (option.name == "encodings" && verb.name != "generate") offer.add("all"); // too many to read side by side
        for (const EncodingInfo* info : registered_encodings()) offer.add(info->name, info->summary);
    }
}

template <class Body>
void for_each_name(const Verb& verb, const Body& body) {
    for (const OptionGroup& group : verb.groups)
        for (const Option& option : group.options) {
            if (option.letter) body(option, std::string("-") + option.letter);
            body(option, "--" + std::string(option.name));
            if (!option.alias.empty()) body(option, "--" + std::string(option.alias));
        }
}

const Option* option_spelled(const Verb& verb, std::string_view name) {
    const Option* found = nullptr;
    for_each_name(verb, [&](const Option& option, const std::string& known) {
        if (known == name) found = &option;
    });
    return found;
}

void add_verbs(Offer& offer) {
    for (const Verb* verb : verbs()) offer.add(verb->name, verb->summary);
}

// line: the words after the verb. The cursor stands in the last of them.
Offer offer_of(const Verb& verb, std::span<const std::string> line) {
    Offer offer;
    const std::string& begun = line.back();
    std::size_t operands = 0;
    bool ended = false; // by --
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
        const std::string& word = line[i];
        if (ended || word.size() < 2 || word[0] != '-') {
            ++operands;
        } else if (word == "--") {
            ended = true;
        } else if (const Option* option = option_spelled(verb, word); option && values_of(*option) != Values::none) {
            if (++i + 1 < line.size()) continue;
            add_value(verb, *option, begun, offer);
            return offer;
        }
    }
    if (const std::size_t at = begun.find('='); !ended && begun.starts_with("--") && at != begun.npos) {
        offer.before = begun.substr(0, at + 1);
        if (const Option* option = option_spelled(verb, begun.substr(0, at)))
            add_value(verb, *option, std::string_view(begun).substr(at + 1), offer);
    } else if ((!ended && begun.starts_with('-')) || operands >= operand_count(verb)) {
        for_each_name(verb, [&](const Option& option, const std::string& name) { offer.add(name, option.help); });
    } else if (const std::vector<std::string_view> names = operand_names(verb); operands == 0 && !names.empty()) {
        offer.stay_before(begun, joints_of(verb));
        offer.add_all(names);
    } else {
        offer.files = true;
    }
    return offer;
}

// line: the words after the program's name. The cursor stands in the last of them.
Offer offer_of(std::span<const std::string> line) {
    Offer offer;
    const std::string& first = line[0];
    if (line.size() == 1) {
        add_verbs(offer);
        for (const char* const name : {"--help", "--version", "--man", "--markdown", "--completion"}) offer.add(name);
    } else if (first == "help" || first == "--help" || first == "-h") {
        if (line.size() == 2) add_verbs(offer);
    } else if (first == "--completion") {
        if (line.size() == 2) offer.add_all(std::array<std::string_view, 3>{"bash", "zsh", "fish"});
    } else {
        for (const Verb* verb : verbs())
            if (verb->name == first) return offer_of(*verb, line.subspan(1));
    }
    return offer;
}

// readline's words end at = and : too. A piece that begins with one of them, or follows one, belongs to the word before
// it.
std::vector<std::string> words_of_readline(std::span<const char* const> pieces) {
    std::vector<std::string> words;
    bool glued = false;
    for (const std::string_view piece : pieces) {
        if (!words.empty() && !piece.empty() && (glued || piece[0] == '=' || piece[0] == ':'))
            words.back() += piece;
        else
            words.emplace_back(piece);
        glued = piece.ends_with('=') || piece.ends_with(':');
    }
    return words;
}

// ---- The scripts ------------------------------------------------------------------------------

// A line that begins with a tab asks for files.
constexpr std::string_view bash_script = R"(# bash completion for ordo, made by ordo --completion bash
_ordo() {
    local IFS=$'\n'
    COMPREPLY=($("${1/#\~/$HOME}" --complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    if [[ ${COMPREPLY[0]} == $'\t'* ]]; then
        COMPREPLY=()
        compopt -o default
    fi
}
complete -F _ordo ordo
)";

constexpr std::string_view zsh_script = R"(#compdef ordo
# zsh completion for ordo, made by ordo --completion zsh
_ordo() {
    local line
    local -a lines=("${(@f)$(_call_program words $words[1] --complete zsh ${(@qq)words[2,CURRENT]})}") found shown
    if [[ $lines[1] == $'\t'* ]]; then
        compset -P '--*='
        _files
        return
    fi
    for line in $lines; do
        found+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  -- }")
    done
    compadd -d shown -a found
}
# Found in $fpath this is the function itself; read as a script it tells whose it is.
if [[ $funcstack[1] == _ordo ]]; then _ordo "$@"; else compdef _ordo ordo; fi
)";

constexpr std::string_view fish_script = R"(# fish completion for ordo, made by ordo --completion fish
function __ordo_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct | string trim -l -c '\'"')
    set -l lines ($words[1] --complete fish $words[2..] "$current" 2>/dev/null)
    if string match -q -- \t'*' "$lines[1]"
        set -l before (string sub -s 2 -- $lines[1])
        for path in (__fish_complete_path (string replace -- "$before" '' "$current"))
            echo $before$path
        end
    else if set -q lines[1]
        printf '%s\n' $lines
    end
end
complete -c ordo -f -a '(__ordo_complete)'
)";

} // namespace

std::string completions(std::string_view shell, std::span<const char* const> pieces) {
    if (pieces.empty()) return "";
    const bool readline = shell == "bash";
    std::vector<std::string> line =
        readline ? words_of_readline(pieces) : std::vector<std::string>(pieces.begin(), pieces.end());
    std::string& begun = line.back();
    // readline replaces only the part of a word after its last = or :.
    std::string_view replaced = readline ? std::string_view(pieces.back()) : std::string_view(begun);
    if (replaced.starts_with('=') || replaced.starts_with(':')) replaced.remove_prefix(1);
    std::size_t kept = readline ? begun.size() - replaced.size() : 0;
    if (begun.starts_with('\'') || begun.starts_with('"')) {
        begun.erase(0, 1);
        kept -= std::min<std::size_t>(kept, 1);
    }
    const Offer offer = offer_of(line);
    if (offer.files) return "\t" + offer.before + "\n";
    std::string text;
    for (const auto& [word, description] : offer.words) {
        const std::string whole = offer.before + word;
        if (!whole.starts_with(begun)) continue;
        text += whole.substr(kept);
        if (!readline && !description.empty()) text.append("\t").append(description);
        text += '\n';
    }
    return text;
}

std::string completion_text(std::string_view shell) {
    if (shell == "bash") return std::string(bash_script);
    if (shell == "zsh") return std::string(zsh_script);
    if (shell == "fish") return std::string(fish_script);
    fail(ErrorCode::usage, "option --completion: expected bash, zsh or fish, found '", printable(shell), "'");
}

} // namespace ordo::tools
