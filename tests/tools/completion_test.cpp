// SPDX-License-Identifier: MIT
// Asks the shells for completions: bash and zsh in a pseudo-terminal by the tab key or a key that inserts all
// completions, and fish by its `complete -C`.
#include "tools/cli/options.h"

#include "encoding/base/model_encodings.h"
#include "encoding/base/registry.h"
#include "tests/tools/terminal.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <unistd.h>

namespace {

using namespace ordo;
using namespace ordo::test;

using WordSet = std::set<std::string>;

struct Question {
    std::string before; // the line up to the word
    std::string begun;  // the word under the cursor
    WordSet offered;    // its completions
};

// A user's folders: the shells' installed completion files, and the working directory.
class Home {
public:
    Home() {
        for (const auto& folder : {work(), home_ / "installed"}) std::filesystem::create_directory(folder);
        for (const auto& [shell, name] : {std::pair{"bash", "ordo"}, {"zsh", "_ordo"}, {"fish", "ordo.fish"}})
            put_file(home_ / "installed" / name, out_of({"--completion", shell}));
        for (const char* file : {"model.gguf", "moon.txt", "my texts.txt"}) put_file(work() / file, "");
        std::filesystem::create_directory(work() / "models");
    }
    std::filesystem::path work() const { return home_ / "work"; }
    std::string operator/(const std::string& name) const { return (home_ / name).string(); }

    // Replaces this process.
    [[noreturn]] void run(std::vector<std::string> argv) const {
        std::filesystem::current_path(work());
        const std::string program = std::filesystem::path(program_path()).parent_path().string();
        const std::string path = program + ":" + ::getenv("PATH");
        for (const auto& [name, value] : {std::pair{"HOME", home_.path().string()},
                                          {"ZDOTDIR", home_.path().string()},
                                          {"PATH", path},
                                          {"TERM", std::string("dumb")},
                                          {"INPUTRC", std::string("/dev/null")},
                                          {"LC_ALL", std::string("C.UTF-8")}})
            ::setenv(name, value.c_str(), 1);
        std::vector<char*> words;
        for (std::string& word : argv) words.push_back(word.data());
        words.push_back(nullptr);
        ::execvp(words[0], words.data());
        ::_exit(126);
    }

private:
    TempDir home_;
};

bool there_is(const std::string& shell) {
    std::stringstream path(::getenv("PATH"));
    for (std::string folder; std::getline(path, folder, ':');)
        if (::access((folder + "/" + shell).c_str(), X_OK) == 0) return true;
    return false;
}

std::vector<std::string> lines_of(const std::string& file) {
    std::vector<std::string> all;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
}

// A line's words, without quotes.
WordSet words_of(std::string_view line) {
    WordSet words;
    std::string word;
    char quote = 0;
    for (std::size_t i = 0; i <= line.size(); ++i) {
        const char c = i < line.size() ? line[i] : ' ';
        if (quote ? c == quote : c == '\'' || c == '"')
            quote = quote ? 0 : c;
        else if (c == '\\' && !quote && i + 1 < line.size())
            word += line[++i];
        else if (c != ' ' || (quote && i < line.size()))
            word += c;
        else if (!word.empty())
            words.insert(std::exchange(word, {}));
    }
    return words;
}

// The shell's completions of each line, asked after the shell writes "ready> ". ^X^A inserts all completions. ^X^P
// writes the line to the file "answers", empties it, and prints "answered".
std::vector<WordSet> answers_in_terminal(const Home& home, const std::vector<std::string>& argv,
                                         const std::vector<Question>& questions) {
    std::size_t asked = 0, answered = 0, read = 0;
    const auto type = [&](const std::string& written) -> std::string {
        for (std::size_t at; (at = written.find("answered", read)) != std::string::npos; ++answered) read = at + 1;
        if (asked > answered || asked > questions.size() || written.find("ready> ") == std::string::npos) return "";
        if (++asked > questions.size()) return "exit\r";
        const Question& question = questions[asked - 1];
        const bool one = question.offered.size() <= 1;
        return question.before + question.begun + (one ? "\t" : "\x18\x01") + "\x18\x10";
    };
    const Watched watched = watch(
        200, [&] { home.run(argv); }, {}, type);
    const std::vector<std::string> lines = lines_of(home / "answers");
    EXPECT_EQ(lines.size(), questions.size()) << watched.written;
    std::vector<WordSet> answers(questions.size());
    for (std::size_t i = 0; i < std::min(lines.size(), answers.size()); ++i) {
        EXPECT_TRUE(lines[i].starts_with(questions[i].before)) << lines[i];
        const std::string tail = lines[i].substr(std::min(lines[i].size(), questions[i].before.size()));
        if (tail == questions[i].begun) continue;
        for (std::string word : words_of(tail)) { // zsh ends options with a value in = and folders in /
            if (word.ends_with('=') || word.ends_with('/')) word.pop_back();
            answers[i].insert(word);
        }
    }
    return answers;
}

std::vector<WordSet> bash_answers(const Home& home, const std::vector<Question>& questions) {
    put_file(home / "bashrc", ". " + (home / "installed/ordo") +
                                  "\n"
                                  "answer() { echo \"$READLINE_LINE\" >>" +
                                  (home / "answers") +
                                  "; READLINE_LINE=; echo answered; }\n"
                                  "bind '\"\\C-x\\C-a\": insert-completions'\n"
                                  "bind -x '\"\\C-x\\C-p\": answer'\n"
                                  "PS1='ready> '\n");
    return answers_in_terminal(home, {"bash", "--noprofile", "--rcfile", home / "bashrc", "-i"}, questions);
}

// known: the command that makes the file known.
std::vector<WordSet> zsh_answers(const Home& home, const std::vector<Question>& questions, const std::string& known) {
    put_file(home / ".zshrc", "autoload -Uz compinit\n" + known +
                                  "\n"
                                  "all() { _main_complete; compstate[insert]=all compstate[list]=; }\n"
                                  "answer() { print -r -- $BUFFER >>" +
                                  (home / "answers") +
                                  "; BUFFER=; zle -I; print answered; }\n"
                                  "zle -C all complete-word all\nbindkey '^X^A' all\n"
                                  "zle -N answer\nbindkey '^X^P' answer\n"
                                  "PS1='ready> '\n");
    return answers_in_terminal(home, {"zsh", "-d", "-i"}, questions);
}

std::vector<WordSet> fish_answers(const Home& home, const std::vector<Question>& questions) {
    std::string lines;
    for (const Question& question : questions) lines += question.before + question.begun + "\n";
    put_file(home / "lines", lines);
    const Watched watched = watch(200, [&] {
        home.run({"fish", "--no-config", "-c",
                  "set -p fish_complete_path " + (home / "installed") +
                      "; while read -l line; complete -C $line; echo answered; end <" + (home / "lines") + " >" +
                      (home / "answers")});
    });
    std::vector<WordSet> answers(1);
    for (const std::string& line : lines_of(home / "answers")) {
        if (line == "answered") {
            answers.emplace_back();
            continue;
        }
        const std::string word = line.substr(0, line.find('\t'));
        answers.back().insert(word.ends_with('/') ? word.substr(0, word.size() - 1) : word);
    }
    answers.pop_back();
    EXPECT_EQ(answers.size(), questions.size()) << watched.written;
    answers.resize(questions.size());
    return answers;
}

const WordSet files{"model.gguf", "moon.txt", "models"}; // that begin with "mo"

// Verbs, options, and values of options.
const std::vector<Question> of_options{
    {"ordo ", "gen", {"generate"}},
    {"ordo help ", "tok", {"tokenize"}},
    {"ordo --help ", "tok", {"tokenize"}},
    {"ordo --help tokenize ", "mo", {}},
    {"ordo --completion ", "", {"bash", "fish", "zsh"}},
    {"ordo gibberish ", "mo", {}},
    {"ordo generate ", "--top", {"--top-k", "--top-p"}},
    {"ordo generate model.gguf ", "--top", {"--top-k", "--top-p"}},
    {"ordo generate -p \"Once upon: a = time\" ", "--top", {"--top-k", "--top-p"}},
    {"ordo table alibi ", "--len", {"--len"}},
    {"ordo generate --temp ", "", {}}, // a number has no completions
    {"ordo generate -p ", "mo", {}},   // a text has none either
    {"ordo generate --cache-type ", "", {"f32", "f16", "bf16", "q8_0"}},
    {"ordo convert --dtype ", "q", {"q8_0", "q4_0"}},
    {"ordo convert --dtype ", "f32,q", {}}, // the option takes one type
    {"ordo generate ", "--dtype=bf", {"--dtype=bf16"}},
    {"ordo bench --dtype ", "f32,q6", {"f32,q6_K"}},
    {"ordo bench --dtype ", "f32+q6", {}},
    {"ordo perplexity --encoding ", "rope,ali", {}}, // one spec, which may be a sum
    {"ordo bench --shape ", "llama1", {"llama110m", "llama15m", "llama1.1b"}},
    {"ordo generate --isa ", "avx512v", {"avx512vnni"}},
    {"ordo perplexity --encoding ", "ali", {"alibi"}},
    {"ordo train --encoding ", "segment+learn", {"segment+learned"}},
    {"ordo train --arch ", "smollm", {"smollm3"}},
    {"ordo generate --encodings ", "al", {"alibi"}}, // without "all"
    {"ordo bench --encodings ", "al", {"all", "alibi"}},
    {"ordo generate --encodings ", "none,rope,ali", {"none,rope,alibi"}},
    {"ordo generate --encodings ", "'none;rope;ali", {"none;rope;alibi"}},
    {"ordo generate -m ", "mo", files},
    {"ordo generate --model ", "mo", files},
    {"ordo generate ", "--model=model.", {"--model=model.gguf"}},
};

// Operands, in every place.
const std::vector<Question> of_operands{
    {"ordo info ", "mo", files},
    {"ordo info ", "my", {"my texts.txt"}},
    {"ordo info ", "\"my", {"my texts.txt"}},
    {"ordo generate -t 2 ", "mo", files},
    {"ordo generate --ignore-eos ", "mo", files},
    {"ordo generate --dtype=f32 ", "mo", files},
    {"ordo generate model.gguf ", "mo", {}}, // there is only one operand
    {"ordo convert ", "mo", files},
    {"ordo convert model.gguf ", "mo", files},
    {"ordo convert --dtype f16 model.gguf ", "mo", files},
    {"ordo convert model.gguf out.gguf ", "mo", {}},
    {"ordo encodings ", "ro", {"rope", "rotate-stretch"}},
    {"ordo table --len 5 ", "ali", {"alibi"}},
    {"ordo table --len=5 ", "ali", {"alibi"}},
    {"ordo table --slopes ", "ali", {"alibi"}},
    {"ordo table -- ", "ali", {"alibi"}},
    {"ordo table rope:theta=100 ", "ali", {}},
    {"ordo table ", "segment+learn", {"segment+learned"}},
    {"ordo table ", "segment,learn", {}}, // the verb takes one operand
    {"ordo lab ", "slo", {"slopes"}},
    {"ordo lab ", "slopes,re", {}},
    {"ordo lab ", "slopes+re", {}},
    {"ordo lab --quick ", "rep", {"report"}},
    {"ordo lab report ", "mo", files},
    {"ordo lab --seed 1 report ", "mo", files},
    {"ordo generate -p table ", "ali", {}}, // "table" is the value of -p, not the verb
};

// Every verb and option in the table.
std::vector<Question> of_the_table() {
    std::vector<Question> all;
    WordSet verbs, names;
    for (const tools::Verb* verb : tools::verbs()) {
        verbs.insert(std::string(verb->name));
        WordSet options;
        for (const tools::OptionGroup& group : verb->groups)
            for (const tools::Option& option : group.options)
                for (const std::string_view name : {option.name, option.alias})
                    if (!name.empty()) options.insert("--" + std::string(name));
        all.push_back({"ordo " + std::string(verb->name) + " ", "--", options});
    }
    for (const EncodingInfo* info : registered_encodings()) names.insert(std::string(info->name));
    all.push_back({"ordo logits --encoding ", "", names});
    all.push_back({"ordo table ", "", names});
    all.push_back({"ordo help ", "", verbs});
    all.push_back({"ordo ", "--", {"--help", "--version", "--man", "--markdown", "--completion"}});
    return all;
}

class CliCompletionIn : public testing::TestWithParam<std::string> {};

TEST_P(CliCompletionIn, OffersWhatMayStandThere) {
    const std::string& shell = GetParam();
    if (!there_is(shell)) GTEST_SKIP() << "there is no " << shell << " here";
    const Home home;
    std::vector<Question> questions = of_the_table();
    questions.insert(questions.end(), of_options.begin(), of_options.end());
    questions.insert(questions.end(), of_operands.begin(), of_operands.end());
    const std::vector<WordSet> answers =
        shell == "bash"   ? bash_answers(home, questions)
        : shell == "fish" ? fish_answers(home, questions)
                          : zsh_answers(home, questions, "fpath=(" + (home / "installed") + " $fpath)\ncompinit -u -D");
    for (std::size_t i = 0; i < questions.size(); ++i)
        EXPECT_EQ(answers[i], questions[i].offered) << questions[i].before + questions[i].begun;
}

INSTANTIATE_TEST_SUITE_P(Shells, CliCompletionIn, testing::Values("bash", "zsh", "fish"),
                         [](const auto& shell) { return shell.param; });

// As with `source <(ordo --completion zsh)` in the user's own files.
TEST(CliCompletion, ZshMayReadItAsAScript) {
    if (!there_is("zsh")) GTEST_SKIP() << "there is no zsh here";
    const Home home;
    const std::vector<WordSet> answers =
        zsh_answers(home, {{"ordo ", "gen", {"generate"}}}, "compinit -u -D\nsource " + (home / "installed/_ordo"));
    EXPECT_EQ(answers[0], WordSet{"generate"});
}

} // namespace
