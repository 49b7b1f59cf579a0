// SPDX-License-Identifier: MIT
// Completions, tried in the shells that are there.
#include "tools/cli/options.h"

#include "tests/tools/program.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <sstream>

namespace {

using namespace ordo;
using namespace ordo::test;

std::string output_of(const std::string& command) {
    FILE* pipe = ::popen(command.c_str(), "r");
    if (!pipe) throw std::runtime_error("popen failed");
    std::string out;
    char buffer[4096];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
    return ::pclose(pipe) == 0 ? out : "failed: " + out;
}

bool there_is(const std::string& shell) {
    return output_of("command -v " + shell).starts_with('/');
}

// What bash would offer for the last of these words.
std::string offered(const std::filesystem::path& script, const std::string& words, int count) {
    return output_of("bash -c '. " + script.string() + "; COMP_WORDS=(" + words +
                     "); COMP_CWORD=" + std::to_string(count - 1) + "; _ordo; echo ${COMPREPLY[@]}'");
}

TEST(CliCompletion, BashOffersWhatTheTableHas) {
    const TempDir dir;
    put_file(dir / "ordo.bash", out_of({"--completion", "bash"}));
    const auto offers = [&](const std::string& words, int count) { return offered(dir / "ordo.bash", words, count); };
    EXPECT_EQ(offers("ordo gen", 2), "generate\n");
    EXPECT_EQ(offers("ordo generate --top", 3), "--top-k --top-p\n");
    EXPECT_EQ(offers("ordo generate --cache-type \"\"", 4), "f32 f16\n");
    EXPECT_EQ(offers("ordo generate --cache-type = f1", 5), "f16\n"); // as readline splits --cache-type=f1
    EXPECT_EQ(offers("ordo perplexity --encoding ali", 4), "alibi\n");
    EXPECT_EQ(offers("ordo bench --encodings al", 4), "all alibi\n");
    EXPECT_EQ(offers("ordo generate --isa avx512v", 4), "avx512vnni\n");
    EXPECT_EQ(offers("ordo bench --shape llama1", 4), "llama15m llama110m llama1.1b\n");
    EXPECT_EQ(offers("ordo generate --temp \"\"", 4), "\n"); // a number
    EXPECT_EQ(offers("ordo --help tok", 3), "tokenize\n");
    EXPECT_EQ(offers("ordo --completion \"\"", 3), "bash zsh fish\n");
    EXPECT_EQ(offers("ordo info " + dir.path().string() + "/ord", 3), (dir / "ordo.bash").string() + "\n");
    EXPECT_EQ(offers("ordo generate -m " + dir.path().string() + "/ord", 4), (dir / "ordo.bash").string() + "\n");
    // What an argument without a dash may be by name, where it is not a file.
    EXPECT_EQ(offers("ordo encodings ro", 3), "rope rotate-stretch\n");
    EXPECT_EQ(offers("ordo table al", 3), "alibi\n");
    EXPECT_EQ(offers("ordo lab slo", 3), "slopes\n");
    EXPECT_EQ(offers("ordo lab rep", 3), "report\n");
    EXPECT_EQ(offers("ordo train --arch qw", 4).substr(0, 4), "qwen");
    EXPECT_EQ(offers("ordo generate --encodings al", 4), "alibi\n"); // and not all of them
    std::string names;                                               // every verb
    for (const tools::Verb* verb : tools::verbs()) names += std::string(verb->name) + " ";
    EXPECT_TRUE(offers("ordo \"\"", 2).starts_with(names));
}

class CliCompletionIn : public testing::TestWithParam<std::string> {};

TEST_P(CliCompletionIn, ItsShellIsTaken) {
    const TempDir dir;
    const std::string& shell = GetParam();
    const std::string script = out_of({"--completion", shell});
    for (const tools::Verb* verb : tools::verbs())
        EXPECT_NE(script.find(verb->name), std::string::npos) << shell << " " << verb->name;
    EXPECT_NE(script.find("f32 f16"), std::string::npos);
    put_file(dir / shell, script);
    EXPECT_NE(script.find("rope xpos alibi"), std::string::npos); // of encodings and table
    if (!there_is(shell)) GTEST_SKIP() << "no " << shell << " here";
    EXPECT_EQ(output_of(shell + " -n " + (dir / shell).string() + " 2>&1"), "") << shell;
    if (shell != "fish") return;
    const std::string tried = output_of("fish -N -c 'source " + (dir / "fish").string() +
                                        "; complete -C \"ordo generate --cache-type \"' 2>/dev/null");
    EXPECT_NE(tried.find("f16"), std::string::npos) << tried;
}

INSTANTIATE_TEST_SUITE_P(Shells, CliCompletionIn, testing::Values("zsh", "fish"),
                         [](const auto& shell) { return shell.param; });

} // namespace
