// SPDX-License-Identifier: MIT
// The command line: one table for parsing, help, man page and Markdown, and the errors (families E1 - E3).
#include "tools/cli/options.h"

#include "formats/architecture.h"
#include "tests/tools/child.h"
#include "tests/tools/models.h"
#include "tests/tools/terminal.h"
#include "tools/terminal/paragraph.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <sstream>

namespace {

using namespace ordo;
using namespace ordo::test;
using tools::Kind;

std::string plain_value(const tools::Option& option) {
    switch (option.kind) {
    case Kind::choice:
        return std::string(option.help.substr(0, option.help.find_first_of("|:")));
    case Kind::integer:
    case Kind::amount:
    case Kind::integers:
        return std::to_string(static_cast<std::int64_t>(option.most));
    case Kind::number:
        return std::to_string(option.most);
    case Kind::seed: // generate's may also be -1
        return "18446744073709551615";
    default:
        return "word";
    }
}

template <class Body>
void for_each_option(const Body& body) {
    for (const tools::Verb* verb : tools::verbs())
        for (const tools::OptionGroup& group : verb->groups)
            for (const tools::Option& option : group.options) {
                SCOPED_TRACE(std::string(verb->name) + " --" + std::string(option.name));
                body(*verb, option);
            }
}

tools::Arguments parse(const tools::Verb& verb, std::vector<std::string> words) {
    if (verb.operand_needed) words.insert(words.end(), tools::operand_count(verb), "operand");
    std::vector<const char*> args;
    for (const std::string& word : words) args.push_back(word.c_str());
    return {verb, args};
}

// ---- One table --------------------------------------------------------------------------------

TEST(CliTable, HelpManAndMarkdownNameEveryOption) {
    const std::string man = tools::man_text(), markdown = tools::markdown_text();
    for_each_option([&](const tools::Verb& verb, const tools::Option& option) {
        const std::string help = tools::help_text(verb), name = "--" + std::string(option.name);
        EXPECT_NE(help.find(name), std::string::npos);
        EXPECT_NE(markdown.find(name), std::string::npos);
        std::string in_roff; // where every dash is escaped
        for (const char c : name) in_roff += c == '-' ? "\\-" : std::string(1, c);
        EXPECT_NE(man.find(in_roff), std::string::npos);
        EXPECT_FALSE(option.help.empty());
        EXPECT_EQ(option.kind == Kind::flag, option.value.empty());
        if (!option.fallback.empty()) {
            EXPECT_NE(help.find("[" + std::string(option.fallback) + "]"), std::string::npos);
        }
    });
}

// A sentence begins with a capital letter, or with the choices and a colon, and ends with a full stop.
TEST(CliTable, HelpSpeaksInSentences) {
    for_each_option([&](const tools::Verb&, const tools::Option& option) {
        const bool capital = option.help[0] >= 'A' && option.help[0] <= 'Z';
        EXPECT_TRUE(capital || option.kind == Kind::choice) << option.help;
        EXPECT_TRUE(option.help.ends_with('.')) << option.help;
    });
    for (const tools::Example& example : tools::examples())
        EXPECT_TRUE(example.purpose.ends_with('.')) << example.purpose;
}

TEST(CliTable, ExamplesComeBeforeOptionsAndGenerateFitsAHundredLines) {
    for (const tools::Verb* verb : tools::verbs()) {
        const std::string help = tools::help_text(*verb);
        EXPECT_LT(help.find("\nExamples:\n"), help.find("\n  -")) << verb->name;
        EXPECT_LT(help.find("\nExamples:\n"), help.find(verb->details.substr(0, 20))) << verb->name;
        const auto lines = std::count(help.begin(), help.end(), '\n');
        EXPECT_TRUE(verb->name != "generate" || lines <= 100) << lines;
    }
}

TEST(CliTable, ParsingTakesEveryOptionByEveryName) {
    for_each_option([&](const tools::Verb& verb, const tools::Option& option) {
        std::vector<std::string> names{"--" + std::string(option.name)};
        if (!option.alias.empty()) names.push_back("--" + std::string(option.alias));
        if (option.letter) names.push_back(std::string("-") + option.letter);
        for (const std::string& name : names) {
            if (option.kind == Kind::flag) {
                EXPECT_TRUE(parse(verb, {name}).has(option.name));
                continue;
            }
            const std::string value = plain_value(option);
            EXPECT_EQ(parse(verb, {name, value}).text(option.name), value);
            if (name.starts_with("--")) {
                EXPECT_EQ(parse(verb, {name + "=" + value}).text(option.name), value);
            }
        }
    });
}

TEST(CliTable, DefaultsLieInTheirOwnRanges) {
    for_each_option([&](const tools::Verb& verb, const tools::Option& option) {
        if (option.fallback.empty()) return;
        EXPECT_NO_THROW(parse(verb, {"--" + std::string(option.name), std::string(option.fallback)}));
    });
}

TEST(CliTable, NamesAreUniqueWithinAVerb) {
    for (const tools::Verb* verb : tools::verbs()) {
        std::vector<std::string> seen;
        for (const tools::OptionGroup& group : verb->groups)
            for (const tools::Option& option : group.options)
                for (const std::string& name : {std::string(option.name), std::string(option.alias),
                                                std::string(option.letter ? 1 : 0, option.letter)}) {
                    if (name.empty()) continue;
                    EXPECT_EQ(std::count(seen.begin(), seen.end(), name), 0) << verb->name << " " << name;
                    seen.push_back(name);
                }
    }
}

TEST(CliTable, TrainNamesTheSizesThatItHasByDefault) {
    const auto all = architectures();
    const auto ordo = std::find_if(all.begin(), all.end(), [](const Architecture& a) { return a.name == "ordo"; });
    const Blueprint b = ordo->make();
    const auto number = [](int n) { return std::to_string(n); };
    const std::string sizes = "ordo has " + number(b.n_layers) + " layers of width " + number(b.d_model) + ", " +
                              number(b.n_heads) + " heads, " + number(b.context) + " tokens and a vocabulary of " +
                              number(b.vocab_size);
    for_each_option([&](const tools::Verb& verb, const tools::Option& option) {
        if (verb.name != "train" || option.name != "arch") return;
        EXPECT_NE(option.help.find(sizes), option.help.npos) << sizes;
    });
}

TEST(CliTable, HelpGoesToStdoutAndFitsATerminal) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"--help"},
                                                  {"-h"},
                                                  {"help"},
                                                  {"help", "generate"},
                                                  {"generate", "--help"},
                                                  {"--help", "generate"},
                                                  {"-h", "perplexity"},
                                                  {"train", "-h"},
                                                  {"table", "--help"},
                                                  {"--version"},
                                                  {"generate", "--version"},
                                                  {"--man"},
                                                  {"--markdown"}}) {
        const Outcome outcome = run_program(words);
        expect_success(outcome);
        EXPECT_EQ(outcome.err, "");
        EXPECT_GT(outcome.out.size(), 50u);
    }
    // Text is 80 columns wide without a terminal, else as wide as the terminal up to 100. Commands are never wrapped,
    // so that they can be copied.
    std::vector<std::string> names{""};
    for (const tools::Verb* verb : tools::verbs()) names.emplace_back(verb->name);
    for (const std::string& name : names) {
        std::vector<std::string> words{"--help", name};
        if (name.empty()) words.pop_back();
        const auto widest = [](const std::string& text) {
            std::istringstream lines(text);
            std::size_t most = 0;
            for (std::string line; std::getline(lines, line);)
                if (!line.starts_with("  ordo "))
                    most = std::max(most, static_cast<std::size_t>(tools::columns_of(line)));
            return most;
        };
        EXPECT_LE(widest(out_of(words)), 80u) << name;
        for (const auto& [columns, most] : {std::pair(72, 72u), std::pair(90, 90u), std::pair(150, 100u)}) {
            if (!name.empty() && name != "generate") continue;
            const std::size_t found = widest(run_in_terminal(words, columns).written);
            EXPECT_LE(found, most) << name;
            EXPECT_GT(found, name.empty() ? 60u : most - 12) << name; // the list of verbs is narrow
        }
    }
    EXPECT_NE(run_program({"--version"}).out.find("OpenMP"), std::string::npos);
}

TEST(CliTable, TheToolsFolderShowsTheSameTable) {
    EXPECT_EQ(file_content("tools/cli.md"), tools::markdown_text()) << "ordo --markdown > tools/cli.md";
}

// Every verb has examples, and each is a valid command line of an existing verb.
TEST(CliTable, EveryVerbHasExamplesThatAreTaken) {
    for (const tools::Verb* verb : tools::verbs()) {
        const std::string help = tools::help_text(*verb);
        const auto all = tools::examples();
        EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const auto& e) { return e.verb == verb->name; }))
            << verb->name;
        for (const tools::Example& example : all) {
            if (example.verb != verb->name) continue;
            EXPECT_NE(help.find(example.command), std::string::npos) << example.command;
            std::vector<std::string> words{""};
            bool quoted = false;
            for (const char c : example.command) {
                if (c == '\'')
                    quoted = !quoted;
                else if (c == ' ' && !quoted)
                    words.emplace_back();
                else
                    words.back() += c;
            }
            ASSERT_EQ(words[0], verb->name);
            std::vector<const char*> args;
            for (std::size_t i = 1; i < words.size(); ++i) args.push_back(words[i].c_str());
            EXPECT_NO_THROW(tools::Arguments(*verb, args)) << example.command;
        }
    }
}

// ---- E1: the shape of the command line -----------------------------------------------------------

struct Refused {
    std::vector<std::string> words;
    std::string phrase;
};

class CliRefused : public testing::TestWithParam<Refused> {};

TEST_P(CliRefused, WithCode2AndOneLine) {
    expect_error(run_program(GetParam().words), 2, GetParam().phrase);
}

INSTANTIATE_TEST_SUITE_P(
    E1, CliRefused,
    testing::Values(Refused{{"generat"}, "did you mean generate?"}, Refused{{"\x1b[2J"}, "\\x1b[2J"},
                    Refused{{""}, "unknown verb ''"}, Refused{{"--temp", "1"}, "expected a verb before '--temp'"},
                    Refused{{"help", "nothing"}, "unknown verb"}, Refused{{"gen"}, "did you mean generate?"},
                    Refused{{"perp"}, "did you mean perplexity?"}, Refused{{"run"}, "did you mean generate?"},
                    Refused{{"--help", "nothing"}, "unknown verb"}, Refused{{"--completion"}, "bash, zsh or fish"},
                    Refused{{"--completion", "csh"}, "found 'csh'"},
                    Refused{{"encodings", "ALiBi"}, "found 'ALiBi'; did you mean alibi?"},
                    Refused{{"tokenize", "-p", "a", "-t", "1"}, "unknown option '-t'"},
                    Refused{{"tokenize", "-p", "a", "--encoding", "rope"}, "unknown option '--encoding'"},
                    Refused{{"generate", "-p", "a", "--encodings", "rope", "--encoding", "rope"}, "found both"},
                    Refused{{"generate", "-p", "a", "--encodings", "rope", "-i"}, "found both"},
                    Refused{{"generate", "--tempp", "1"}, "unknown option '--tempp'; did you mean --temp?"},
                    Refused{{"generate", "--n_predict", "1"}, "did you mean --n-predict?"},
                    Refused{{"generate", "--frequency-of-everything"}, "ordo generate --help"},
                    Refused{{"generate", "-Z"}, "unknown option '-Z'"},
                    Refused{{"generate", "-qZ"}, "unknown option '-Z'"},
                    Refused{{"generate", "---p"}, "'---p' is not an option"},
                    Refused{{"generate", "-p\xff"}, "put a space between -p"},
                    Refused{{"generate", "-n-5"}, "put a space between -n and its value"},
                    Refused{{"generate", "--temp", "1", "--temp", "1"}, "--temp is given twice: '1' and '1'"},
                    Refused{{"generate", "--temp", "1", "--temperature", "2"}, "--temp is given twice: '1' and '2'"},
                    Refused{{"generate", "-p", "a", "--prompt=b"}, "--prompt is given twice"},
                    Refused{{"generate", "-p"}, "option -p needs a value"},
                    Refused{{"generate", "--top-k"}, "option --top-k needs a value"},
                    Refused{{"generate", "--quiet=yes"}, "--quiet: takes no value"},
                    Refused{{"generate", "-p", "a", "one", "two"}, "unexpected argument 'two'; a text goes after -p"},
                    Refused{{"generate", "-p", "a", "--", "one", "--two"}, "unexpected argument '--two'"},
                    Refused{{"train", "a", "b"}, "unexpected argument 'b'"}, Refused{{"table"}, "expected SPEC"},
                    Refused{{"generate", "-p", "a", "-m", "x", "y"}, "expected one model, found 'x' and 'y'"},
                    Refused{{"generate", "-p", "a", "-m", ""}, "--model: expected a file name"},
                    Refused{{"generate", "-p", "a", "-f", "b"}, "--prompt or --file, found both"},
                    Refused{{"generate", "-p", "a", "--isa", "sse9"}, "'sse9'"},
                    Refused{{"generate", "-p", "a", "--stop", ""}, "--stop: expected a text"},
                    Refused{{"generate", "-p", "a", "--encoding", ""}, "--encoding"},
                    Refused{{"tokenize", "-p", "a", "--format", "csv"}, "--format: expected text|json, found 'csv'"},
                    Refused{{"tokenize", "-p", "a", "--decode", "1"}, "found both"},
                    Refused{{"logits", "-p", "a", "--tokens", "1"}, "found both"},
                    Refused{{"generate", "--encoding", "rope;alibi"}, "rope+alibi adds two encodings, and --encodings"},
                    Refused{{"generate", "--encoding", "rope,alibi"}, "rope+alibi adds two encodings, and --encodings"},
                    Refused{{"generate", "--encoding", "ropes"}, "ropes"}, // before the program asks for a text
                    Refused{{"fill", "-p", "a"}, "fill: needs -m MODEL: a model with a mask token"},
                    Refused{{"translate", "-p", "a"}, "translate: needs -m MODEL: an encoder-decoder"}));

TEST(CliTable, WithoutAVerbTheVerbsAreListed) {
    const Outcome outcome = run_program({});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    for (const tools::Verb* verb : tools::verbs())
        EXPECT_NE(outcome.err.find("\n  " + std::string(verb->name) + " "), std::string::npos) << verb->name;
    EXPECT_TRUE(outcome.err.ends_with("ordo: expected a verb; ordo --help says more\n")) << outcome.err;
}

TEST(CliTable, AnArgumentMayFollowTwoDashes) {
    expect_error(run_program({"info", "--", "--no-such-file"}), 5, "--no-such-file");
    expect_error(run_program({"generate", "-p", "--", "-m", "no-such-file"}), 5, "no-such-file"); // -- is the prompt
}

TEST(CliTable, ALongArgumentIsRefusedLikeAnyOther) {
    const std::string argument(120'000, 'a');
    expect_error(run_program({"generate", "--" + argument}), 2, "unknown option");
    expect_error(run_program({"generate", "-p", "a", "--temp=" + argument}), 2, "--temp");
    expect_error(run_program({"generate", "-p", "a", "--encoding", argument}), 2, "");
    expect_error(run_program({argument}), 2, "unknown verb");
}

// ---- E2, E3: numbers ---------------------------------------------------------------------------------

struct BadValue {
    const char* option;
    std::vector<const char*> values;
};

TEST(CliNumbers, EachIsRefusedWithItsRange) {
    const BadValue cases[] = {
        {"-n",
         {"-5", "-2", "1e3", "99999999999999999999", "-99999999999999999999", "1.0", "0x10", "+1", " 1", "1 ", "",
          "abc", "4194305"}},
        {"-c", {"-1", "4194305", "1k"}},
        {"-t", {"0", "-1", "100000", "1025", "two"}},
        {"-s", {"abc", "-2", "18446744073709551616", "1.5"}},
        {"--temp", {"nan", "inf", "-inf", "-1", "1e400", "0,8", "", "1001"}},
        {"--top-p", {"0", "1.5", "nan", "-0.1"}},
        {"--min-p", {"-0.1", "1.1", "nan"}},
        {"--top-k", {"-3", "1.5"}},
        {"--repeat-penalty", {"0", "-1", "nan"}},
        {"--repeat-last-n", {"-2"}},
    };
    for (const BadValue& bad : cases)
        for (const char* value : bad.values) {
            SCOPED_TRACE(std::string(bad.option) + " " + value);
            expect_error(run_program({"generate", "-p", "a", bad.option, value}), 2,
                         std::string("found '") + value + "'");
        }
}

TEST(CliNumbers, ASeedMayBeRandomOnlyWhereATextIsWritten) {
    expect_error(run_program({"generate", "-p", "a", "-s", "-2"}), 2,
                 "option --seed: expected -1 or a whole number from 0 to 18446744073709551615, found '-2'");
    expect_error(run_program({"train", "-s", "-1"}), 2,
                 "option --seed: expected a whole number from 0 to 18446744073709551615, found '-1'");
}

TEST(CliNumbers, ListsAreCheckedItemByItem) {
    for (const char* list : {"", "1,,2", "1;2", "1,a", ",1", "1,", "1,-2", "1, ,2", "3000000000"})
        expect_error(run_program({"logits", "--tokens", list}), 2, "option --tokens: expected a whole number");
    EXPECT_EQ(tools::parse_integers(" 1 2,3 , 4\n", "x", 0, 9), (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST(CliNumbers, AmountsMayHaveAUnitOrAnExponent) {
    for (const auto& [text, value] : {std::pair{"12000000", 12'000'000},
                                      {"12M", 12'000'000},
                                      {"1.5k", 1'500},
                                      {"1e6", 1'000'000},
                                      {"1.2e7", 12'000'000},
                                      {"2G", 2'000'000'000}})
        EXPECT_EQ(tools::parse_amount(text, "x", 1, 2'000'000'000), value) << text;
    for (const char* text : {"", "M", "1.5", "1Mi", "-1", "0", "3G", "nan", "inf", "1e400", "0x10", "1 M"})
        EXPECT_THROW(tools::parse_amount(text, "x", 1, 2'000'000'000), Error) << text;
    expect_error(run_program({"train", "--tokens", "1T"}), 2, "such as 12000000, 12M or 1.2e7, found '1T'");
}

TEST(CliNumbers, TheLimitsThemselvesAreTaken) {
    EXPECT_EQ(tools::parse_number("0.95", "x", 0, 1), 0.95);
    EXPECT_EQ(tools::parse_number("1e-3", "x", 0, 1), 0.001);
    EXPECT_EQ(tools::parse_number("1", "x", 0, 1, true), 1);
    EXPECT_THROW(tools::parse_number("0", "x", 0, 1, true), Error);
    EXPECT_EQ(tools::parse_integer("-1", "x", -1, 3), -1);
    EXPECT_EQ(tools::parse_seed("18446744073709551615", "x"), 18446744073709551615u);
    EXPECT_EQ(tools::parse_seed_or_random("7", "x"), 7u);
    EXPECT_FALSE(tools::parse_seed_or_random("-1", "x").has_value());
}

TEST(CliNumbers, TheCommandLineIsPublishedWithoutPaths) {
    const tools::Arguments arguments =
        parse(tools::find_verb("train"),
              {"--corpus", "/home/me/secret/text.txt", "--lr", "0.01", "--out=../x/w.safetensors", "--resume"});
    EXPECT_EQ(arguments.command(), "ordo train --corpus text.txt --lr 0.01 --out w.safetensors --resume");
}

} // namespace
