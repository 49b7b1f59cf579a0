// SPDX-License-Identifier: MIT
// Trains a small model from a text file, as `ordo train` does.
#pragma once

#include "model/blueprint.h"
#include "training/parameters.h"

#include <filesystem>
#include <functional>

namespace ordo::train {

// The weights that a run writes: those with the lowest held-out loss, or those of its last step.
enum class Keep { best, last };
enum class Method { adamw, muon };  // of the layers' matrices; AdamW updates all else
enum class Fall { cosine, stable }; // of the learning rate: from the warm-up on, or only over the last steps

struct Options {
    std::filesystem::path corpus;     // plain text, documents separated by a line <|endoftext|>
    std::filesystem::path validation; // held-out text of the same form; empty: a fiftieth of the corpus is held out
    std::filesystem::path out;        // the weight file to write
    std::string encoding = "rope";
    Blueprint blueprint; // the trunk; vocab_size is the tokenizer's size to train

    std::int64_t tokens = 8'000'000; // budget: tokens that pass through the model
    int batch = 16;                  // sequences of blueprint.context tokens a step
    double lr = 3e-3;                // peak learning rate
    Method method = Method::adamw;
    double muon_scale = 1; // the learning rate of Muon's matrices, as a multiple of lr
    Fall fall = Fall::cosine;
    double decay = 0.2;             // the fraction of steps over which lr falls with Fall::stable
    double min_lr = 0.1;            // the learning rate one step after the last, as a fraction of lr
    double warmup = 0.02;           // the fraction of steps over which lr rises
    std::int64_t warmup_steps = -1; // the same in steps; -1: use the fraction
    InitialMatrices initial;
    bool bf16_products = false;   // with weights, of attention forward, and of Muon; else f32
    double weight_decay = 0.1;    // on matrices only, not on vectors (AdamW)
    double clip = 1.0;            // largest global norm of the gradient
    double dropout = 0;           // of the embedding and of each residual branch
    int randomised_positions = 0; // a sequence's are a random subset of 0 .. this - 1; 0: they are 0 .. context - 1
    std::uint64_t seed = 1;

    std::filesystem::path finish;    // a second corpus for the last part of the budget
    std::int64_t finish_tokens = 0;  // the budget of that part; 0: a fifth, if there is a finish
    std::filesystem::path init;      // start from the weights of this file
    std::filesystem::path tokenizer; // take this file's tokenizer (a weight file or a tokenizer.json)
    bool byte_tokenizer = false;
    std::filesystem::path checkpoint; // saved every checkpoint_every steps and, after the weights, at the end
    int checkpoint_every = 100;
    bool resume = false;    // resume from the checkpoint if it exists
    bool overwrite = false; // replace an existing checkpoint and log; otherwise they are refused
    // CSV: step, tokens, lr, loss, grad_norm, tokens_per_second, validation_loss. A resumed run truncates the log to
    // its length at the checkpoint. If the log is missing or shorter, it ends with Error(io) before the first step. A
    // run whose checkpoint has no log, or without a checkpoint, starts a log, and refuses a log with rows.
    std::filesystem::path log;
    int eval_every = 200;              // steps between held-out losses; there is one after the last step too
    std::int64_t eval_tokens = 65'536; // held-out tokens scored each time, always the same
    Keep keep = Keep::best;            // by the held-out losses
    std::string dtype = "f16";         // of the output file
    std::string command;               // the command line, for the metadata (base names only)
    std::string processor;             // of this machine, for the metadata; empty: unknown
    bool progress = false;             // on stderr: a bar on a terminal, else a line for each held-out loss
    std::function<void(std::int64_t step)> on_step; // called after each step, before it is evaluated or saved
    std::function<void(std::string_view text)> on_warning;
};

struct Result {
    double train_loss = 0;              // mean of the last 50 steps, nats a token
    double validation_loss = 0;         // of the written weights, over all held-out windows
    double bits_per_byte = 0;           // the same per byte, by the mean length of a held-out token
    std::int64_t tokens = 0;            // the tokens that passed through the model
    std::int64_t kept_tokens = 0;       // the same, at the step of the written weights
    bool interrupted = false;           // by interrupt(); the checkpoint was saved
    std::filesystem::path partial = {}; // the weights of an interrupted run without a checkpoint: OUT.partial
};

// Throws Error. Numbers that are not finite are never written: if the loss or the weights become so, the run ends with
// Error(failure), and its files stay as they were.
Result run(const Options& options);

// Asks a run to save its checkpoint and stop after the current step, or batch of held-out text. Safe to call in a
// signal handler.
void interrupt();

} // namespace ordo::train
