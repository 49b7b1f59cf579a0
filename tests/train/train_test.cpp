// SPDX-License-Identifier: MIT
// The guarantees of a training run: the same bits for any number of threads and after a resume, the loss that the
// engine computes for the same file, and errors that name their cause.
#include "tests/kernels/sets.h"
#include "tests/train/small_run.h"
#include "training/network.h"

#include <cmath>
#include <numeric>

namespace ordo::train {
namespace {

TEST_F(Training, SameBitsForAnyNumberOfThreads) {
    std::string first;
    for (const int threads : {1, 2, 3, 4, 8}) {
        omp_set_num_threads(threads);
        Options o = options("run");
        o.dropout = 0.1;
        run(o);
        const std::string now = bytes(o.out) + losses(o.log);
        if (first.empty()) first = now;
        EXPECT_TRUE(now == first) << threads << " threads";
    }
}

// Sizes at which every loop is split among threads: rows for copies, norms and two strips of their sums. One tensor has
// elements for four strips of AdamW, all tensors for eight strips of the norm, and a position's gradient has enough
// columns.
TEST_F(Training, SameBitsForAnyNumberOfThreadsWhereEveryLoopIsShared) {
    Options o = options("large");
    Blueprint& b = o.blueprint;
    b.context = 128;
    b.d_model = 128;
    b.d_head = 32;
    b.d_ff = 272;
    b.n_layers = 1;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.attention_bias(true), b.ffn_bias = true;
    o.encoding = "segment+learned";
    o.dropout = 0.1;
    o.batch = 5;
    o.tokens = 2 * 640; // two steps
    ASSERT_GE(o.batch * b.context, 600);
    ASSERT_GT(2 * b.d_ff * b.d_model, 1 << 16);
    std::string first;
    for (const int threads : {1, 2, 3}) {
        omp_set_num_threads(threads);
        run(o);
        const std::string now = bytes(o.out) + losses(o.log);
        if (first.empty()) first = now;
        EXPECT_TRUE(now == first) << threads << " threads";
    }
}

TEST_F(Training, AnotherSeedOrEncodingGivesOtherWeights) {
    Options o = options("run");
    run(o);
    const std::string first = bytes(o.out);
    o.seed = 2;
    run(o);
    EXPECT_NE(bytes(o.out), first);
}

TEST_F(Training, ResumesBitForBit) {
    Options whole = options("whole");
    whole.checkpoint = dir_ / "whole.checkpoint";
    whole.encoding = "segment+learned";
    const Result expected = run(whole);

    Options parts = whole;
    parts.out = dir_ / "parts.safetensors";
    parts.log = dir_ / "parts.csv";
    parts.checkpoint = dir_ / "parts.checkpoint";
    parts.resume = true;
    parts.overwrite = false;
    parts.on_step = [](std::int64_t step) {
        if (step == 4) interrupt(); // saved after step 4, between two regular checkpoints
    };
    Result part = run(parts);
    ASSERT_TRUE(part.interrupted);
    EXPECT_FALSE(fs::exists(parts.out));
    EXPECT_EQ(part.tokens, 4 * 24 * 3);
    parts.on_step = [](std::int64_t step) {
        if (step == 9) interrupt();
    };
    ASSERT_TRUE(run(parts).interrupted);
    parts.on_step = {};
    part = run(parts);
    EXPECT_FALSE(part.interrupted);
    EXPECT_EQ(part.train_loss, expected.train_loss);
    EXPECT_EQ(part.validation_loss, expected.validation_loss);
    EXPECT_TRUE(bytes(parts.out) == bytes(whole.out));
    EXPECT_EQ(losses(parts.log), losses(whole.log));
}

// Muon's momentum is saved in the place of AdamW's, and its products have the same bits on any number of threads.
TEST_F(Training, MuonResumesBitForBitOnAnyNumberOfThreads) {
    Options whole = options("whole");
    whole.method = Method::muon, whole.fall = Fall::stable, whole.decay = 0.5, whole.warmup_steps = 3;
    whole.checkpoint = dir_ / "whole.checkpoint";
    run(whole);
    Options parts = whole;
    parts.out = dir_ / "parts.safetensors", parts.log = dir_ / "parts.csv";
    parts.checkpoint = dir_ / "parts.checkpoint";
    parts.on_step = [](std::int64_t step) {
        if (step == 7) interrupt();
    };
    ASSERT_TRUE(run(parts).interrupted);
    omp_set_num_threads(3);
    parts.on_step = {};
    parts.resume = true, parts.overwrite = false;
    parts.muon_scale = 2;
    EXPECT_THROW(run(parts), Error); // another run
    parts.muon_scale = whole.muon_scale;
    run(parts);
    EXPECT_TRUE(bytes(parts.out) == bytes(whole.out));
    EXPECT_EQ(losses(parts.log), losses(whole.log));
}

// Rounding in both passes gives other bits, nearly the same losses, and the same losses on any number of threads.
TEST_F(Training, Bf16ProductsLearnNearlyTheSame) {
    Options o = options("pairs");
    o.bf16_products = true;
    const Result exact = run(options("exact"));
    for (const Kernels* set : test::tested_kernels()) {
        const test::Selected selected(*set);
        omp_set_num_threads(1);
        if (set->product_bf16_pairs == nullptr) {
            EXPECT_THROW(run(o), Error) << set->name;
            continue;
        }
        const Result rounded = run(o);
        EXPECT_NE(rounded.validation_loss, exact.validation_loss);
        EXPECT_NEAR(rounded.validation_loss, exact.validation_loss, 0.02) << set->name;
        const std::string first = bytes(o.out) + losses(o.log);
        omp_set_num_threads(3);
        run(o);
        EXPECT_TRUE(bytes(o.out) + losses(o.log) == first) << set->name;
    }
}

// The bytes of the documents, without the marks between them. Each token of the byte tokenizer is one byte, except the
// mark's.
TEST_F(Training, BitsPerByteAreTheLossOverTheBytesOfItsTokens) {
    const Options o = options("bytes");
    const Result r = run(o);
    const Corpus held(o.validation, *make_byte_tokenizer(), 24);
    std::string text = bytes(o.validation);
    int marks = 0;
    for (std::size_t at; (at = text.find("<|endoftext|>\n")) != std::string::npos; ++marks) text.erase(at, 14);
    const auto newlines = static_cast<std::size_t>(marks) + (text.ends_with('\n') ? 1 : 0); // after a document
    EXPECT_EQ(held.text_bytes(), text.size() - newlines);
    EXPECT_EQ(static_cast<std::size_t>(held.tokens()), held.text_bytes() + static_cast<std::size_t>(marks) + 1);
    EXPECT_NEAR(r.bits_per_byte,
                r.validation_loss / std::log(2.0) * static_cast<double>(held.tokens()) /
                    static_cast<double>(held.text_bytes()),
                1e-12);
}

TEST_F(Training, RefusesTheCheckpointOfAnotherRun) {
    Options o = options("run");
    o.checkpoint = dir_ / "run.checkpoint";
    run(o);
    o.resume = true;
    o.encoding = "alibi";
    try {
        run(o);
        FAIL();
    } catch (const Error& e) {
        EXPECT_EQ(e.code, ErrorCode::usage);
        EXPECT_NE(std::string(e.what()).find("run.checkpoint"), std::string::npos) << e.what();
    }
}

TEST_F(Training, LossFallsBelowThatOfChance) {
    Options o = options("run");
    o.tokens = 24 * 3 * 150;
    const Result r = run(o);
    EXPECT_LT(r.train_loss, 3.0); // ln 257 = 5.55
    EXPECT_LT(r.validation_loss, 3.2);
}

// The engine, with its cache and tiles, must compute the loss that the trainer reported.
TEST_F(Training, ValidationLossIsWhatTheEngineComputes) {
    for (const char* encoding : {"rope", "alibi", "learned", "rotate-stretch:period=6"}) {
        Options o = options("run");
        o.encoding = encoding;
        const Result r = run(o);
        EXPECT_NEAR(engine_loss(o), r.validation_loss, 1e-5) << encoding;
    }
}

TEST_F(Training, GoesOnFromTheWeightsOfAFile) {
    Options o = options("first");
    o.tokens = 24 * 3 * 60;
    const Result first = run(o);
    Options next = options("second");
    next.init = o.out;
    next.lr = 1e-9; // so small that the loss stays that of the file
    const Result second = run(next);
    EXPECT_NEAR(second.validation_loss, first.validation_loss, 1e-4);
}

TEST_F(Training, RefusesWeightsOfAnotherTrunkWhoseTensorsHaveTheSameShapes) {
    Options o = options("first");
    o.tokens = 24 * 3;
    run(o);
    Options next = options("second");
    next.init = o.out;
    next.blueprint.n_heads *= 2;
    next.blueprint.n_kv_heads *= 2;
    next.blueprint.d_head /= 2;
    try {
        run(next);
        FAIL() << "expected an error";
    } catch (const Error& e) {
        EXPECT_EQ(e.code, ErrorCode::model);
        EXPECT_NE(std::string(e.what()).find("blueprint: n_heads: expected the model's"), std::string::npos)
            << e.what();
    }
    next.blueprint = o.blueprint;
    next.blueprint.context /= 2;
    EXPECT_NO_THROW(run(next));
}

TEST_F(Training, FinishesOnTheSecondCorpus) {
    Options o = options("run");
    o.keep = Keep::last; // the best weights are the earlier ones
    o.tokens = 24 * 3 * 60;
    const Result without = run(o);
    std::ofstream(dir_ / "other.txt") << std::string(2000, 'x');
    o.finish = dir_ / "other.txt";
    o.finish_tokens = 24 * 3 * 30;
    const Result with = run(o);
    EXPECT_GT(with.validation_loss, without.validation_loss + 0.1); // it forgot the facts about cats
}

TEST_F(Training, NamesWhatIsWrong) {
    const auto message = [](const Options& o) -> std::pair<ErrorCode, std::string> {
        try {
            run(o);
        } catch (const Error& e) {
            return {e.code, e.what()};
        }
        return {ErrorCode::failure, "no error"};
    };
    const auto expect = [&](const Options& o, ErrorCode code, const char* phrase) {
        const auto [found, text] = message(o);
        EXPECT_EQ(found, code) << text;
        EXPECT_NE(text.find(phrase), std::string::npos) << text;
    };
    Options o = options("run");
    o.corpus = dir_ / "absent.txt";
    expect(o, ErrorCode::io, "absent.txt");
    o = options("run");
    o.encoding = "ropey";
    expect(o, ErrorCode::usage, "ropey");
    o = options("run");
    o.tokens = 10;
    expect(o, ErrorCode::usage, "tokens");
    o = options("run");
    o.blueprint.context = 4096;
    o.tokens = 1 << 20;
    expect(o, ErrorCode::limit, "corpus.txt");
    o = options("run");
    o.dtype = "f8";
    expect(o, ErrorCode::usage, "f8");
    o = options("run");
    o.finish_tokens = 100;
    expect(o, ErrorCode::usage, "finish");
    EXPECT_FALSE(fs::exists(o.out));
}

TEST_F(Training, WindowsStartWithDocumentsAndShiftTheirTargets) {
    const std::unique_ptr<Tokenizer> tokenizer = make_byte_tokenizer();
    Corpus corpus(dir_ / "corpus.txt", *tokenizer, 24);
    std::vector<Token> tokens(24), targets(24);
    int begins = 0;
    for (std::int64_t w = 0; w < corpus.windows(); ++w) {
        corpus.window(w, tokens, targets);
        EXPECT_TRUE(std::equal(tokens.begin() + 1, tokens.end(), targets.begin()));
        begins += tokens[0] == tokenizer->end_of_text();
    }
    EXPECT_EQ(begins, 15); // documents of four lines each
    // An epoch shows every window once.
    std::vector<std::int64_t> seen(static_cast<std::size_t>(corpus.windows()));
    for (std::int64_t n = 0; n < corpus.windows(); ++n) seen[corpus.shuffled(5, n)] += 1;
    EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), std::int64_t{0}), corpus.windows());
    EXPECT_EQ(*std::max_element(seen.begin(), seen.end()), 1);
    std::vector<std::int64_t> first, second;
    for (std::int64_t n = 0; n < 10; ++n) first.push_back(corpus.shuffled(5, n));
    for (std::int64_t n = 0; n < 10; ++n) second.push_back(corpus.shuffled(5, corpus.windows() + n));
    EXPECT_NE(first, second); // epochs differ
}

} // namespace
} // namespace ordo::train
