// SPDX-License-Identifier: MIT
// A folder with two small texts, and a run on them that takes a second.
#pragma once

#include "core/parallel.h"
#include "io/file.h"
#include "tools/train/data.h"
#include "tools/train/train.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace ordo::train {

namespace fs = std::filesystem;

class Training : public testing::Test {
protected:
    void SetUp() override {
        omp_set_num_threads(1);
        dir_ = fs::temp_directory_path() / ("ordo-train-" + std::to_string(::getpid()) + "-" +
                                            testing::UnitTest::GetInstance()->current_test_info()->name());
        fs::create_directories(dir_);
        std::string text;
        for (int i = 0; i < 60; ++i) {
            text += "The cat number " + std::to_string(i) + " sat on the mat and saw " + std::to_string(i * 7 % 13) +
                    " birds.\n";
            if (i % 4 == 3) text += "<|endoftext|>\n";
        }
        std::ofstream(dir_ / "corpus.txt") << text;
        std::ofstream(dir_ / "held.txt") << text.substr(0, 700);
    }
    void TearDown() override {
        omp_set_num_threads(threads_);
        fs::remove_all(dir_);
    }

    Options options(const std::string& name) const {
        Options o;
        o.corpus = dir_ / "corpus.txt";
        o.validation = dir_ / "held.txt";
        o.out = dir_ / (name + ".safetensors");
        o.log = dir_ / (name + ".csv");
        o.overwrite = true; // tests run the same options again
        o.byte_tokenizer = true;
        o.dtype = "f32";
        Blueprint& b = o.blueprint;
        b.context = 24;
        b.n_layers = 2;
        b.d_model = 16;
        b.n_heads = 4;
        b.n_kv_heads = 2;
        b.d_head = 4;
        b.d_ff = 24;
        o.batch = 3;
        o.tokens = 24 * 3 * 12; // twelve steps
        o.checkpoint_every = 5;
        o.eval_every = 6;
        return o;
    }
    static std::string bytes(const fs::path& file) { return read_file(file, std::size_t{1} << 30); }
    // The loss of the written file over all windows of the held-out text, by the engine with its cache and tiles.
    static double engine_loss(const Options& o) {
        const Model model = Model::load(o.out);
        const std::unique_ptr<Tokenizer> tokenizer = make_byte_tokenizer();
        const int length = o.blueprint.context;
        const Corpus held(o.validation, *tokenizer, length);
        std::vector<Token> tokens(static_cast<std::size_t>(length)), targets(tokens.size());
        double total = 0;
        for (std::int64_t w = 0; w < held.windows(); ++w) {
            held.window(w, tokens, targets);
            Session session(model);
            session.feed_all(tokens, TokenRows{}, [&](int first, View logits) {
                for (int i = 0; i < logits.rows; ++i) {
                    double z = 0;
                    for (int j = 0; j < logits.cols; ++j) z += std::exp(static_cast<double>(logits.row(i)[j]));
                    total += std::log(z) - logits.row(i)[targets[first + i]];
                }
            });
        }
        return total / static_cast<double>(held.windows() * length);
    }
    // The log without its speed column.
    static std::string losses(const fs::path& log) {
        std::istringstream in(bytes(log));
        std::string out;
        for (std::string line; std::getline(in, line);) {
            std::istringstream cells(line);
            std::string cell;
            for (int i = 0; std::getline(cells, cell, ','); ++i)
                if (i != 5) out += cell + ",";
            out += "\n";
        }
        return out;
    }

    fs::path dir_;
    int threads_ = omp_get_max_threads();
};

} // namespace ordo::train
