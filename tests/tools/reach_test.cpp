// SPDX-License-Identifier: MIT
// The effect of the command line on RoPE's frequencies, and the reach of an encoding. The random model (models.h) was
// trained with rope:theta=500 on 64 tokens, with heads of 8 columns. Pair k rotates by 500^(-k/4) a position.
#include "model/continuation.h"
#include "tests/tools/child.h"
#include "tests/tools/models.h"
#include "tests/words.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numbers>
#include <tuple>

namespace {

using namespace ordo::test;

constexpr int pairs = 4;

double frequency(int pair) {
    return std::pow(500.0, -pair / 4.0);
}

Json of_model(std::vector<std::string> more, const std::string& model = "random") {
    std::vector<std::string> words{"encodings", "-m", model_file(model), "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    return json_of(words);
}

TEST(CliReach, ShowsWhatTurnsInEachLayer) {
    const Json json = of_model({});
    EXPECT_EQ(json["spec"], "rope:theta=500,pairing=adjacent,width=8");
    EXPECT_EQ(json["context"], model_context);
    EXPECT_EQ(json["sound_positions"], model_context);
    ASSERT_EQ(json["layers"].size(), 1u);
    EXPECT_EQ(json["layers"][0]["layers"], "0-1");
    ASSERT_EQ(json["pairs"].size(), static_cast<std::size_t>(pairs));
    for (int k = 0; k < pairs; ++k) {
        const Json& pair = json["pairs"][k];
        EXPECT_NEAR(pair["frequency"].get<double>(), frequency(k), 1e-12);
        EXPECT_NEAR(pair["wavelength"].get<double>(), 2 * std::numbers::pi / frequency(k), 1e-9);
        const double turns = model_context * frequency(k) / (2 * std::numbers::pi);
        EXPECT_NEAR(pair["trained_turns"].get<double>(), turns, 1e-9);
        EXPECT_EQ(pair["sound_positions"], turns < 1 ? Json(model_context) : Json(nullptr));
    }
}

TEST(CliReach, LinearScalingReachesAsFarAsItsFactor) {
    const Json json = of_model({"--rope-scale", "3"});
    EXPECT_EQ(json["spec"], "rope:theta=500,pairing=adjacent,width=8,scaling=linear,factor=3");
    EXPECT_EQ(json["trained"], "rope:theta=500,pairing=adjacent,width=8");
    EXPECT_EQ(json["sound_positions"], 3 * model_context);
    for (int k = 0; k < pairs; ++k) EXPECT_NEAR(json["pairs"][k]["frequency"].get<double>(), frequency(k) / 3, 1e-12);
    EXPECT_EQ(of_model({"--rope-freq-scale", "0.25"})["sound_positions"], 4 * model_context);
}

// theta' = theta s^(8/6) slows the last pair by s and the pair before it by less. So that pair is the first to reach
// new angles.
TEST(CliReach, NtkReachesLessFarThanItsFactor) {
    const Json json = of_model({"--rope-scaling", "ntk", "--rope-scale", "4"});
    const double theta = 500 * std::pow(4.0, 8.0 / 6);
    double sound = 1e9;
    for (int k = 0; k < pairs; ++k) {
        const double now = std::pow(theta, -k / 4.0);
        EXPECT_NEAR(json["pairs"][k]["frequency"].get<double>(), now, 1e-12);
        if (model_context * frequency(k) < 2 * std::numbers::pi)
            sound = std::min(sound, model_context * frequency(k) / now);
    }
    EXPECT_LT(sound, 4 * model_context - 1);
    EXPECT_EQ(json["sound_positions"], static_cast<int>(sound));
}

TEST(CliReach, YarnTakesAllItsNumbers) {
    EXPECT_EQ(of_model({"--rope-scaling", "yarn", "--rope-scale", "4"})["spec"],
              "rope:theta=500,pairing=adjacent,width=8,scaling=yarn,factor=4,original=64,beta-fast=32,beta-slow=1,"
              "attention=1.138629436111989"); // 0.1 ln 4 + 1
    const Json json =
        of_model({"--rope-scaling", "yarn", "--rope-scale", "4", "--yarn-orig-ctx", "32", "--yarn-beta-fast", "4",
                  "--yarn-beta-slow", "2", "--yarn-attn-factor", "0.5", "--rope-freq-base", "1000"});
    EXPECT_EQ(json["spec"], "rope:theta=1000,pairing=adjacent,width=8,scaling=yarn,factor=4,original=32,beta-fast=4,"
                            "beta-slow=2,attention=0.5693147180559945");
}

// As in llama.cpp: 0 interpolates positions and keeps lengths, and a negative value equals the default.
TEST(CliReach, YarnMixesAsMuchAsItIsTold) {
    const auto yarn = [&](std::vector<std::string> more) {
        std::vector<std::string> words{"--rope-scaling", "yarn", "--rope-scale", "4"};
        words.insert(words.end(), more.begin(), more.end());
        return of_model(words);
    };
    const Json none = yarn({"--yarn-ext-factor", "0"}), linear = of_model({"--rope-scale", "4"});
    EXPECT_EQ(none["spec"], "rope:theta=500,pairing=adjacent,width=8,scaling=yarn,factor=4,original=64,beta-fast=32,"
                            "beta-slow=1,attention=1,extrapolation=0");
    for (int k = 0; k < pairs; ++k) EXPECT_EQ(none["pairs"][k]["frequency"], linear["pairs"][k]["frequency"]);
    EXPECT_EQ(yarn({"--yarn-ext-factor", "0.5"})["spec"],
              "rope:theta=500,pairing=adjacent,width=8,scaling=yarn,factor=4,original=64,beta-fast=32,beta-slow=1,"
              "attention=1.138629436111989,extrapolation=0.5");
    EXPECT_NE(yarn({"--yarn-ext-factor", "0", "--yarn-attn-factor", "0.5"})["spec"].get<std::string>().find(
                  "attention=0.5,extrapolation=0"),
              std::string::npos);
    for (const char* usual : {"1", "-1"}) EXPECT_EQ(yarn({"--yarn-ext-factor", usual})["spec"], yarn({})["spec"]);
}

// A table ends with its rows. ALiBi and no encoding at all have no limit.
TEST(CliReach, OtherEncodingsReachAsFarAsTheirLaw) {
    EXPECT_EQ(of_model({}, "learned")["sound_positions"], model_context);
    EXPECT_EQ(of_model({}, "alibi")["sound_positions"], Json(nullptr));
    EXPECT_EQ(of_model({}, "none")["sound_positions"], Json(nullptr));
    EXPECT_EQ(of_model({}, "none")["pairs"].size(), 0u);
    const std::string text = out_of({"encodings", "-m", model_file("learned")});
    EXPECT_NE(text.find("sound: positions below 64;"), std::string::npos) << text;
}

TEST(CliReach, RopeOptionsAreTheSameAsASpec) {
    const auto logits = [&](std::vector<std::string> more) {
        std::vector<std::string> words{"logits", model_file("random"), "-p", "The old dog", "-q"};
        words.insert(words.end(), more.begin(), more.end());
        return json_of(words);
    };
    const Json plain = logits({});
    const Json scaled = logits({"--rope-scale", "4"});
    EXPECT_EQ(scaled["logits"],
              logits({"--encoding", "rope:theta=500,scaling=linear,factor=4", "--force-encoding"})["logits"]);
    EXPECT_NE(scaled["logits"], plain["logits"]);
    EXPECT_EQ(logits({"--rope-scaling", "none"})["logits"], plain["logits"]);
}

TEST(CliReach, OptionsThatChangeNothingSaySo) {
    const auto said = [&](const std::string& model, std::vector<std::string> more) {
        std::vector<std::string> words{"generate", "-m", model_file(model), "-p", "a", "-n", "1"};
        words.insert(words.end(), more.begin(), more.end());
        const Outcome outcome = run_program(words);
        expect_success(outcome);
        return outcome.err;
    };
    const auto names = [](const std::string& text, const std::string& phrase) {
        return text.find("ordo: warning: " + phrase) != text.npos;
    };
    for (const auto& [model, options, phrase] :
         std::vector<std::tuple<std::string, std::vector<std::string>, std::string>>{
             {"alibi", {"--rope-scale", "4"}, "the options of RoPE change nothing: the encoding is alibi"},
             {"random", {"--rope-scaling", "none"}, "the options of RoPE change nothing: the encoding is rope"},
             {"random", {"--rope-scale", "2", "--yarn-beta-fast", "8"}, "option --yarn-beta-fast changes nothing"},
             {"rope", {"--temp", "0", "--top-k", "5"}, "option --top-k changes nothing at a temperature of 0"},
             {"rope", {"--temp", "0", "--seed", "5"}, "option --seed changes nothing at a temperature of 0"},
             {"rope", {"--repeat-last-n", "5"}, "option --repeat-last-n changes nothing at a --repeat-penalty of 1"},
             {"rope", {"--keep", "2"}, "option --keep changes nothing without --context-shift"},
             {"rope", {"--force-encoding"}, "option --force-encoding changes nothing without --encoding"}}) {
        EXPECT_TRUE(names(said(model, options), phrase)) << phrase;
        std::vector<std::string> quietly = options;
        quietly.push_back("-q");
        EXPECT_EQ(said(model, quietly), "");
    }
    EXPECT_FALSE(names(said("rope", {"--temp", "0"}), ""));
    EXPECT_FALSE(names(said("rope", {"--temp", "1", "--top-k", "5", "--seed", "5"}), ""));
}

TEST(CliReach, GoingBeyondTheTrainedLengthIsSaidBefore) {
    const auto said = [&](std::vector<std::string> words) { return run_program(words).err; };
    const std::string head = "ordo: warning: 100 positions are more than the 64 that the model was trained with; ";
    const std::vector<std::string> generate{"generate", "-p", "a", "-n", "1", "-c", "100"};
    const auto with = [&](std::vector<std::string> more) {
        std::vector<std::string> words = generate;
        words.insert(words.end(), more.begin(), more.end());
        return said(words);
    };
    EXPECT_NE(with({"-m", model_file("random")}).find(head + "those from 64 on are new to it"), std::string::npos);
    EXPECT_NE(with({"-m", model_file("alibi")}).find(head + "the encoding goes on by its law"), std::string::npos);
    EXPECT_NE(
        with({"-m", model_file("random"), "--rope-scale", "2"}).find(head + "the encoding has been stretched to 128"),
        std::string::npos);
    EXPECT_EQ(with({"-m", model_file("random"), "-q"}), "");
    const TempDir dir;
    const auto perplexity = [&](std::size_t letters, const char* lengths) {
        put_file(dir / "text", std::string(letters, 'a'));
        return said({"perplexity", model_file("alibi"), "-f", (dir / "text").string(), "--length", lengths});
    };
    EXPECT_NE(perplexity(150, "50,100").find(head), std::string::npos);
    EXPECT_EQ(perplexity(150, "50"), "");
    EXPECT_EQ(perplexity(50, "50,100"), ""); // no window is that long
    EXPECT_NE(said({"logits", model_file("alibi"), "-p", std::string(99, 'a')}).find(head), std::string::npos);
}

// The options change only their own parameters. They keep the trained encoding by its name, and the YaRN settings of
// the file.
TEST(CliReach, OptionsChangeWhatTheyNameAlone) {
    const auto ppl = [&](std::vector<std::string> more) {
        std::vector<std::string> words{"perplexity", model_file("random"), "--format", "csv",
                                       "-q",         "--rope-scale",       "2"};
        words.insert(words.end(), more.begin(), more.end());
        return out_of(words);
    };
    EXPECT_EQ(ppl({"--encoding", "rope:theta=500"}), ppl({}));
    expect_error(run_program({"perplexity", model_file("random"), "--encoding", "rope", "--rope-scale", "2", "-q"}), 2,
                 "trained with the encoding");
    const TempDir dir;
    std::string text;
    for (int i = 0; i < 500; ++i) text += "word" + std::to_string(i) + " ";
    put_file(dir / "text.txt", text);
    expect_success(
        run_program(words_in("train --byte-tokenizer --encoding rope:scaling=yarn,factor=4,original=8,"
                             "attention=1,truncate=no,theta=100 --layers 1 --dim 16 --heads 1 --ffn 16 --ctx "
                             "16 --batch 1 --tokens 16 -q --out " +
                             (dir / "yarn.safetensors").string() + " " + (dir / "text.txt").string())));
    const auto spec = [&](std::vector<std::string> more) {
        std::vector<std::string> words{"encodings", "-m",   (dir / "yarn.safetensors").string(),
                                       "--format",  "json", "-q"};
        words.insert(words.end(), more.begin(), more.end());
        return json_of(words)["spec"].get<std::string>();
    };
    const std::string own = spec({});
    EXPECT_NE(own.find("attention=1,truncate=no"), std::string::npos) << own;
    EXPECT_EQ(spec({"--rope-scaling", "yarn"}), own);
    for (const char* option : {"--yarn-beta-slow", "--yarn-ext-factor"}) EXPECT_EQ(spec({option, "1"}), own);
    EXPECT_NE(spec({"--yarn-ext-factor", "0.5"}).find("attention=1,extrapolation=0.5,truncate=no"), std::string::npos)
        << spec({"--yarn-ext-factor", "0.5"});
    EXPECT_NE(spec({"--rope-scale", "8"}).find("factor=8,original=8,beta-fast=32,beta-slow=1,attention=1.20794"),
              std::string::npos)
        << spec({"--rope-scale", "8"});
    EXPECT_EQ(spec({"--rope-scaling", "none"}), "rope:theta=100,pairing=adjacent,width=16");
}

// theta' = theta (s L/L0 - (s - 1))^(w/(w-2)), where L is the length of the session.
TEST(CliReach, DynamicScalingIsThatOfTheSession) {
    const Json json = of_model({"--rope-scaling", "dynamic", "--rope-scale", "2", "--ctx", "256"});
    const double theta = 500 * std::pow(2.0 * 256 / 64 - 1, 8.0 / 6);
    for (int k = 0; k < pairs; ++k)
        EXPECT_NEAR(json["pairs"][k]["frequency"].get<double>(), std::pow(theta, -k / 4.0), 1e-9);
    EXPECT_GT(json["sound_positions"].get<int>(), 3 * model_context);
    const std::string said = run_program({"generate", "-m", model_file("random"), "-p", "a", "-n", "1", "-c", "256",
                                          "--rope-scaling", "dynamic", "--rope-scale", "2"})
                                 .err;
    EXPECT_NE(said.find("those from " + std::to_string(json["sound_positions"].get<int>()) + " on"), std::string::npos)
        << said;
}

// Without -c, both make no more room than the trained context, within which dynamic scaling is none.
TEST(CliReach, LogitsOfARoomAreThoseThatGenerateDrawsFrom) {
    const std::string prompt = "a small old dog";
    std::vector<std::vector<float>> found;
    for (const int room : {0, 70, 256}) {
        const Json json = json_of({"logits", "-q", "-m", model_file("random"), "-p", prompt, "-c", std::to_string(room),
                                   "--rope-scaling", "dynamic", "--rope-scale", "2"});
        found.push_back(json["logits"][0].get<std::vector<float>>());
        const ordo::Model model = ordo::Model::load(
            model_file("random"), {.encoding = json["encoding"].get<std::string>(), .force_encoding = true});
        ordo::Continuation::Options options;
        options.session.capacity = room;
        ordo::Continuation continuation(model, prompt, options);
        std::vector<float> drawn;
        continuation.on_draw([&](std::span<const float> logits, ordo::Token) {
            if (drawn.empty()) drawn.assign(logits.begin(), logits.end());
        });
        continuation.step();
        EXPECT_EQ(found.back(), drawn) << room;
    }
    EXPECT_NE(found[0], found[1]);
    EXPECT_NE(found[1], found[2]);
    EXPECT_EQ(json_of({"logits", "-m", model_file("random"), "-p", prompt})["logits"][0].get<std::vector<float>>(),
              found[0]);
}

TEST(CliReach, RefusesOptionsThatContradictEachOther) {
    const std::string model = model_file("random");
    expect_error(run_program({"generate", "-m", model, "-p", "a", "--rope-scale", "2", "--rope-freq-scale", "0.5"}), 2,
                 "found both");
    expect_error(run_program({"generate", "-m", model, "-p", "a", "--rope-scaling", "bent"}), 2, "--rope-scaling");
    expect_error(run_program({"encodings", "rope", "--rope-scale", "2"}), 2, "--model");
}

// ---- A context that shifts ------------------------------------------------------------------------

TEST(CliContextShift, GoesOnPastTheContext) {
    for (const char* encoding : {"rope", "learned", "alibi", "none"}) {
        const Outcome outcome = run_program(
            {"generate", "-p", "Z", "-n", "300", "-c", "20", "--temp", "0", "--context-shift", "--encoding", encoding});
        expect_success(outcome);
        EXPECT_EQ(outcome.out, std::string(301, 'Z') + "\n");
        // The context holds the 2 tokens of the prompt and 18 more. After that, each shift drops 8 of the 16 that are
        // not kept.
        const std::string how =
            std::string(encoding) == "learned" ? "what stayed computed again" : "its keys renumbered";
        EXPECT_NE(outcome.err.find("the context of 20 tokens was shifted " + std::to_string((300 - 1 - 18 + 7) / 8) +
                                   " times, " + how),
                  std::string::npos)
            << outcome.err;
    }
    const Outcome full = run_program({"generate", "-p", "Z", "-n", "-1", "-c", "20", "--temp", "0"});
    EXPECT_NE(full.err.find("stopped by: context full; --context-shift goes on"), std::string::npos);
}

TEST(CliContextShift, TakesNoMoreMemory) {
    if (is_instrumented()) GTEST_SKIP() << "a sanitizer keeps what was freed";
    const auto peak = [&](const char* tokens) {
        return run_program({"generate", "-p", "Z", "-n", tokens, "-c", "32", "--temp", "0", "-q", "--context-shift"})
            .peak_kilobytes;
    };
    // Both runs last long enough to be measured. The peak is the last value seen before the end.
    const long few = peak("2000"), many = peak("20000");
    EXPECT_LT(many, few + 1024);
}

TEST(CliContextShift, SaysWhatItLeavesOut) {
    const Outcome outcome =
        run_program({"generate", "-p", std::string(200, 'a'), "-n", "2", "--temp", "0", "--context-shift"});
    EXPECT_NE(outcome.err.find("warning: 167 of the prompt's 201 tokens are left out"), std::string::npos)
        << outcome.err;
    EXPECT_NE(outcome.err.find("prompt: 34 tokens in"), std::string::npos) << outcome.err;
    expect_error(run_program({"generate", "-p", std::string(200, 'a'), "--context-shift", "--keep", "63", "-q"}), 2,
                 "keep: expected 2 tokens fewer than the 64 of the context, found 63");
    const Outcome full = run_program({"generate", "-p", "Z", "-n", "-1", "-c", "4", "--temp", "0", "--context-shift"});
    EXPECT_NE(full.err.find("context full, of which --keep leaves no room to shift"), std::string::npos) << full.err;
}

TEST(CliContextShift, ALongPromptLosesItsMiddle) {
    const Outcome outcome = run_program({"generate", "-p", std::string(200, 'a'), "-n", "2", "--temp", "0", "-q",
                                         "--context-shift", "--no-display-prompt"});
    expect_success(outcome);
    EXPECT_EQ(outcome.out, "bc\n");
    expect_error(run_program({"generate", "-p", std::string(200, 'a'), "--context-shift", "--keep", "-1"}), 4,
                 "at most 64 tokens, found 201");
}

} // namespace
