// SPDX-License-Identifier: MIT
// Command lines that are wrong in a known way: the error says what was probably meant.
#include "tests/tools/child.h"
#include "tests/tools/models.h"
#include "tools/cli/options.h"

#include <gtest/gtest.h>

namespace {

using namespace ordo::test;

struct Mistake {
    std::vector<std::string> words;
    std::string meant;
};

void expect_meant(const std::vector<Mistake>& mistakes, int code = 2) {
    for (const auto& [words, meant] : mistakes) {
        std::string line;
        for (const std::string& word : words) line += word + " ";
        SCOPED_TRACE(line);
        expect_error(run_program(words), code, meant);
    }
}

TEST(CliMistakes, OptionsOfOtherProgramsNameOurs) {
    expect_meant({{{"generate", "-ngl", "3"}, "unknown option '-ngl'; Ordo computes on the CPU"},
                  {{"generate", "--n-gpu-layers", "3"}, "Ordo computes on the CPU"},
                  {{"generate", "--gpu"}, "Ordo computes on the CPU"},
                  {{"train", "a", "--cuda"}, "Ordo computes on the CPU"},
                  {{"generate", "--color"}, "a terminal shows colours without it"},
                  {{"generate", "--log-disable"}, "not needed; -q prints only errors"},
                  {{"generate", "--stream"}, "a text is written while it is drawn"},
                  {{"generate", "--beam", "4"}, "there is no beam search; --temp 0"},
                  {{"translate", "--num-beams", "4"}, "unknown option '--num-beams'; there is no beam search"},
                  {{"perplexity", "-c", "5"}, "--length gives the tokens of a window"},
                  {{"perplexity", "--tokens", "5"}, "did you mean --max-tokens?"},
                  {{"generate", "-o", "f"}, "unknown option '-o'; the result is written to stdout; > FILE keeps it"},
                  {{"table", "rope", "--output", "f"}, "> FILE keeps it"},
                  {{"convert", "a", "b", "-o", "f"}, "OUT, the file to write, is the second argument"},
                  {{"table", "alibi", "--length", "5"}, "did you mean --len?"}});
    for (const char* option : {"max-new-tokens", "max-tokens", "length", "words", "tokens", "steps"})
        expect_meant({{{"generate", std::string("--") + option, "3"}, "did you mean --n-predict?"},
                      {{"generate", std::string("-") + option, "3"}, "did you mean --n-predict?"}});
    for (const auto& [theirs, ours] : {std::pair{"batch-size", "batch"},
                                       {"output", "out"},
                                       {"hidden", "dim"},
                                       {"hidden-size", "dim"},
                                       {"n-layers", "layers"},
                                       {"num-heads", "heads"},
                                       {"learning-rate", "lr"},
                                       {"vocab-size", "vocab"},
                                       {"length", "ctx"},
                                       {"block-size", "ctx"}})
        expect_meant({{{"train", "a", std::string("--") + theirs, "3"}, std::string("did you mean --") + ours + "?"}});
    expect_meant({{{"train", "a", "-o", "3"}, "did you mean --out?"},
                  {{"train", "a", "-out", "3"}, "unknown option '-out'; did you mean --out?"},
                  {{"train", "a", "--epochs", "3"}, "a run is as long as its --tokens"},
                  {{"train", "a", "--steps", "3"}, "a run is as long as its --tokens"},
                  {{"train", "a", "--encodings", "rope,alibi"}, "a run has one encoding: loop over --encoding"},
                  {{"train", "a", "--seeds", "1,2"}, "a run has one seed: loop over --seed"}});
    // An option that a verb has is never taken for another program's.
    expect_success(run_program({"logits", "--tokens", "97"}));
}

TEST(CliMistakes, AListWithSpacesIsToldToHaveCommas) {
    expect_meant(
        {{{"generate", "-p", "a", "--encodings", "none", "rope", "alibi"}, "--encodings none,rope,alibi"},
         {{"generate", "-p", "a", "--encodings", "none", "rope"}, "expected commas between its values"},
         {{"lab", "tables", "--encodings", "rope", "alibi"}, "--encodings rope,alibi"},
         {{"lab", "--encoding", "rope", "alibi"}, "--encoding rope,alibi"},
         {{"bench", "-p", "128", "512", "-n", "1"}, "option -p: expected commas between its values: -p 128,512"},
         {{"perplexity", "--length", "128", "512"}, "--length 128,512"}});
    expect_meant({{{"perplexity", "--length", "8", "128.gguf"}, "128.gguf: there is no such file"}}, 5);
}

TEST(CliMistakes, AnEncodingInThePlaceOfAModelIsOfferedAsOne) {
    const std::string rope = model_file("rope"), alibi = model_file("alibi");
    expect_meant({{{"generate", "-p", "a", "-m", "rope"}, "did you mean --encoding rope or " + rope + "?"},
                  {{"generate", "rope"}, "rope: there is no such file; did you mean --encoding rope"},
                  {{"generate", "-p", "a", "-m", "RoPE"}, "did you mean --encoding rope or " + rope},
                  {{"info", "alibi"}, "did you mean --encoding alibi or " + alibi},
                  {{"generate", "-p", "a", "-m", "alibi.safetensors"}, "or " + alibi},
                  {{"perplexity", "no/where/alibi.safetensors"}, "or " + alibi},
                  {{"info", "random.safetensors"}, "did you mean " + model_file("random") + "?"},
                  {{"info", "random"}, "did you mean " + model_file("random") + "?"}, // a shipped file, no encoding
                  {{"generate", "-p", "a", "-m", "rope:theta=5"}, "did you mean --encoding rope:theta=5?"},
                  {{"tokenize", "-p", "a", "-m", "rope"}, "did you mean " + rope}, // it has no --encoding
                  {{"bench", "-m", "rope"}, "did you mean " + rope},
                  {{"convert", "rope", "x.gguf"}, "did you mean " + rope},
                  {{"lab", "compare", "-m", "rope"}, "did you mean " + rope}},
                 5);
    expect_error(run_program({"info", "no/where/rope"}), 5, "no/where/rope: No such file");
    const Outcome typed = run_program({"generate", "-i", "-q"}, {.input = "/model rope\n/model nothing\n"});
    EXPECT_EQ(typed.err.find("ordo: rope: there is no such file; did you mean /encoding rope or " + rope + "?\n"), 0u)
        << typed.err;
    EXPECT_NE(typed.err.find("nothing: No such file"), std::string::npos) << typed.err;
}

TEST(CliMistakes, SpecsThatAreNearlyRightSaySo) {
    expect_meant({{{"encodings", "rope:base=500000"}, "rope: unknown key 'base'; did you mean theta?"},
                  {{"encodings", "sinusoidal:theta=500"}, "did you mean base?"},
                  {{"encodings", "t5:num-buckets=8"}, "did you mean buckets?"},
                  {{"encodings", "rope:10000"}, "rope: '10000': expected KEY=VALUE; did you mean rope:theta=10000?"},
                  {{"encodings", "rope:0.5"}, "rope: '0.5': expected KEY=VALUE"},
                  {{"encodings", "rope:halves"}, "did you mean rope:pairing=halves?"},
                  {{"encodings", "rope:yarn"}, "did you mean rope:scaling=yarn?"},
                  {{"encodings", "rope:theta=500,halves"}, "did you mean rope:pairing=halves?"},
                  {{"encodings", "alibi:8"}, "did you mean alibi:max=8?"},
                  {{"encodings", "rope:nothing"}, "rope: key 'nothing': expected '=' and a value"},
                  {{"encodings", "relative"}, "did you mean shaw, t5 or transformer-xl?"},
                  {{"encodings", "all"}, "without one, all are listed"},
                  {{"encodings", "list"}, "without one, all are listed"}});
}

TEST(CliMistakes, TheLabKnowsEncodingsAndWholes) {
    expect_meant({{{"lab", "rope"}, "unknown experiment 'rope'; ordo encodings rope explains this encoding, as do "},
                  {{"lab", "RoPE"}, "ordo encodings rope explains"},
                  {{"lab", "rope"}, "angles, rotary"},
                  {{"lab", "alibi"}, "slopes"},
                  {{"lab", "shaw"}, "ordo encodings shaw explains this encoding"},
                  {{"lab", "list"}, "ordo lab lists them"},
                  {{"lab", "all"}, "ordo lab report DIR runs all of them"},
                  {{"lab", "slope"}, "did you mean slopes?"},
                  {{"lab", "compare", "runs"}, "unexpected argument 'runs'; did you mean --model runs?"},
                  {{"lab", "waves", "runs"}, "unexpected argument 'runs'"}});
}

TEST(CliMistakes, AWidthNamesTheOptionThatWasGiven) {
    const std::string dim = "option --dim: expected a multiple of the 4 heads, found 127",
                      heads = "option --heads: expected a divisor of the width 128, found 3";
    expect_meant({{{"train", "a", "--out", "b", "--dim", "127"}, dim},
                  {{"train", "a", "--out", "b", "--heads", "3"}, heads},
                  {{"train", "a", "--out", "b", "--dim", "128", "--heads", "3"}, heads},
                  {{"encodings", "--dim", "127"}, dim},
                  {{"encodings", "--heads", "3"}, heads},
                  {{"bench", "-q", "--shape", "ordo", "--dim", "127"}, dim},
                  {{"table", "rope", "--dim", "16", "--heads", "3"}, "--heads: expected a divisor of the width 16"}});
}

} // namespace
