// SPDX-License-Identifier: MIT
// The record of a run: in its file, in comparisons, and with randomised positions.
#include "tools/train/record.h"

#include "io/safetensors.h"
#include "ops/pair_products.h"
#include "tests/train/small_run.h"
#include "tools/train/sha256.h"
#include "training/randomised.h"

namespace ordo::train {
namespace {

class Record : public Training {
protected:
    Metadata record_of(const std::string& name, const std::function<void(Options&)>& change = {}) {
        Options o = options(name);
        o.tokens = 24 * 3 * 2; // two steps
        if (change) change(o);
        run(o);
        return Safetensors::open(o.out).metadata();
    }
};

TEST_F(Record, HasTheWholeRecipe) {
    const Metadata m = record_of("run", [](Options& o) {
        o.lr = 0.00125, o.min_lr = 0.25, o.warmup = 0.5, o.weight_decay = 0.07, o.clip = 0.3, o.dropout = 0.1;
        o.seed = 12, o.randomised_positions = 77, o.keep = Keep::last;
    });
    const std::pair<const char*, std::string> expected[] = {{"recipe.format", "2"},
                                                            {"batch", "3"},
                                                            {"lr", "0.00125"},
                                                            {"recipe.min_lr", "0.25"},
                                                            {"recipe.warmup", "0.5"},
                                                            {"recipe.weight_decay", "0.07"},
                                                            {"recipe.clip", "0.3"},
                                                            {"recipe.dropout", "0.1"},
                                                            {"recipe.context", "24"},
                                                            {"recipe.randomised_positions", "77"},
                                                            {"recipe.initial", "random"},
                                                            {"recipe.optimizer", "adamw"},
                                                            {"recipe.tokenizer.sha256", sha256(m.at("tokenizer"))},
                                                            {"seed", "12"},
                                                            {"tokens", "144"},
                                                            {"keep", "last"},
                                                            {"corpus.sha256", sha256(bytes(dir_ / "corpus.txt"))},
                                                            {"validation.sha256", sha256(bytes(dir_ / "held.txt"))}};
    for (const auto& [key, value] : expected) EXPECT_EQ(m.contains(key) ? m.at(key) : "(none)", value) << key;
}

TEST_F(Record, NamesTheFileThatItStartedFrom) {
    const Metadata first = record_of("first");
    const std::string digest = sha256(bytes(options("first").out));
    const Metadata m = record_of("second", [&](Options& o) { o.init = options("first").out; });
    EXPECT_EQ(m.at("init"), "first.safetensors");
    EXPECT_EQ(m.at("recipe.initial"), digest);
    EXPECT_EQ(differing_condition(first, m), "recipe.initial");
}

// Each part of the recipe is a condition, whatever the command line says. The seed, the encoding and options that do
// not affect the weights are not conditions.
TEST_F(Record, ConditionsAreThoseOfTheRecipe) {
    const auto with = [](const std::function<void(Options&)>& change) {
        return [change](Options& o) {
            o.command = "ordo train";
            o.keep = Keep::last;
            if (change) change(o);
        };
    };
    const Metadata base = record_of("base", with({}));
    const std::pair<const char*, std::function<void(Options&)>> conditions[] = {
        {"lr", [](Options& o) { o.lr = 1e-3; }},
        {"batch", [](Options& o) { o.batch = 2; }},
        {"recipe.min_lr", [](Options& o) { o.min_lr = 0.2; }},
        {"recipe.warmup", [](Options& o) { o.warmup = 0.6; }},
        {"recipe.weight_decay", [](Options& o) { o.weight_decay = 0.2; }},
        {"recipe.clip", [](Options& o) { o.clip = 0.5; }},
        {"recipe.optimizer", [](Options& o) { o.method = Method::muon; }},
        {"recipe.products", [](Options& o) { o.bf16_products = PairProducts::available(); }},
        {"recipe.schedule", [](Options& o) { o.fall = Fall::stable; }},
        {"recipe.warmup", [](Options& o) { o.warmup_steps = 2; }},
        {"recipe.initial.deviation", [](Options& o) { o.initial.deviation = 0; }},
        {"recipe.initial.branches", [](Options& o) { o.initial.shrink_branches = false; }},
        {"recipe.dropout", [](Options& o) { o.dropout = 0.2; }},
        {"recipe.randomised_positions", [](Options& o) { o.randomised_positions = 64; }},
        {"keep", [](Options& o) { o.keep = Keep::best; }},
        {"tokens", [](Options& o) { o.tokens *= 2; }},
        {"corpus.sha256", [this](Options& o) { o.corpus = dir_ / "held.txt"; }},
    };
    for (const auto& [key, change] : conditions) {
        if (key == std::string_view("recipe.products") && !PairProducts::available()) continue;
        EXPECT_EQ(differing_condition(base, record_of("other", with(change))), key);
    }
    const Metadata same = record_of("same", with([](Options& o) {
                                        o.command = "ordo train --clip 0.5 by another name";
                                        o.encoding = "alibi", o.seed = 2, o.eval_every = 1;
                                        o.checkpoint = o.out.parent_path() / "same.checkpoint";
                                    }));
    EXPECT_EQ(differing_condition(base, same), "");
    // Weights that were trained further cannot be compared either.
    Metadata tuned = base;
    tuned["fine_tune.1.steps"] = "3";
    EXPECT_EQ(differing_condition(base, tuned), "fine_tune.1.steps");
}

TEST_F(Record, TheScalesOfAMethodAreConditionsToo) {
    const auto with = [](double muon_scale, double decay) {
        return [=](Options& o) {
            o.method = Method::muon, o.fall = Fall::stable;
            o.muon_scale = muon_scale, o.decay = decay;
        };
    };
    const Metadata base = record_of("base", with(2, 0.5));
    EXPECT_EQ(base.at("recipe.optimizer.scale"), "2");
    EXPECT_EQ(base.at("recipe.optimizer.momentum"), "0.95");
    EXPECT_EQ(differing_condition(base, record_of("scale", with(3, 0.5))), "recipe.optimizer.scale");
    EXPECT_EQ(differing_condition(base, record_of("decay", with(2, 1))), "recipe.schedule.decay");
}

TEST_F(Record, FilesFromBeforeItAreComparedByTheirCommands) {
    Metadata before{{"tokens", "8"},
                    {"lr", "0.1"},
                    {"batch", "2"},
                    {"corpus.sha256", "c"},
                    {"command", "ordo train --clip 0.5 --encoding rope --seed 1"}};
    Metadata other = before;
    other["command"] = "ordo train --clip 0.5 --encoding none --seed 2 --log x";
    EXPECT_EQ(differing_condition(before, other), "");
    other["command"] = "ordo train --clip 0.6 --encoding none --seed 2 --log x";
    EXPECT_EQ(differing_condition(before, other), "command");
    other["lr"] = "0.2";
    EXPECT_EQ(differing_condition(before, other), "lr");
    // A newer file records more than an older one. Only their common conditions and their commands can be compared.
    Metadata after = before;
    after["recipe.format"] = "1", after["recipe.clip"] = "0.5";
    EXPECT_EQ(differing_condition(before, after), "");
}

// ---- Randomised positions -----------------------------------------------------------------------

TEST_F(Record, RandomisedPositionsAreTrainedOnAndScoredAtTheirMean) {
    Options o = options("randomised");
    o.randomised_positions = 100;
    o.keep = Keep::last;
    const Result result = run(o);
    // The engine computes the same weights with its cache, at even positions.
    const Model model = Model::load(o.out);
    const std::unique_ptr<Tokenizer> tokenizer = make_byte_tokenizer();
    const Corpus held(o.validation, *tokenizer, 24);
    std::vector<Token> tokens(24), targets(24);
    std::vector<int> even(24);
    even_positions(100, even);
    double total = 0, crowded = 0;
    for (std::int64_t w = 0; w < held.windows(); ++w) {
        held.window(w, tokens, targets);
        for (double* sum : {&total, &crowded}) {
            Session session(model);
            const TokenRows rows = sum == &total ? TokenRows{even, {}} : TokenRows{};
            session.feed_all(tokens, rows, [&](int first, View logits) {
                for (int i = 0; i < logits.rows; ++i) {
                    double z = 0;
                    for (int j = 0; j < logits.cols; ++j) z += std::exp(static_cast<double>(logits.row(i)[j]));
                    *sum += std::log(z) - logits.row(i)[targets[first + i]];
                }
            });
        }
    }
    EXPECT_NEAR(result.validation_loss, total / static_cast<double>(held.windows() * 24), 1e-4);
    EXPECT_NE(total, crowded);
    Options plain = options("plain");
    plain.keep = Keep::last;
    run(plain);
    EXPECT_NE(bytes(plain.out), bytes(o.out));
}

TEST_F(Record, ARunWithRandomisedPositionsGoesOnWithTheSame) {
    const auto with = [this](const std::string& name) {
        Options o = options(name);
        o.randomised_positions = 50;
        o.checkpoint = dir_ / "checkpoint";
        o.log.clear();
        o.command = "the same";
        return o;
    };
    const Options whole = with("whole");
    run(whole);
    fs::remove(dir_ / "checkpoint");
    Options half = with("half");
    half.on_step = [](std::int64_t step) {
        if (step == 7) interrupt();
    };
    ASSERT_TRUE(run(half).interrupted);
    half.on_step = {};
    half.resume = true;
    half.overwrite = false;
    Options other = half;
    other.randomised_positions = 51;
    EXPECT_THROW(run(other), Error);
    run(half);
    EXPECT_EQ(bytes(half.out), bytes(whole.out));
}

TEST_F(Record, RandomisedPositionsThatCannotBeAreRefused) {
    const auto refuses = [this](const char* encoding, int below, std::string_view part) {
        Options o = options("refused");
        o.encoding = encoding;
        o.randomised_positions = below;
        try {
            run(o);
            ADD_FAILURE() << part;
        } catch (const Error& error) {
            EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
        }
    };
    refuses("rope", 23, "randomised-positions: expected 0, or at least the context of 24, found 23");
    refuses("learned", 25, "expected positions for 25 tokens, found 24");
}

} // namespace
} // namespace ordo::train
