// SPDX-License-Identifier: MIT
// Training a small model from a text file: what `ordo train` does.
#pragma once

#include "model/blueprint.h"

#include <filesystem>

namespace ordo::train {

struct Options {
    std::filesystem::path corpus;     // plain text, documents separated by a line <|endoftext|>
    std::filesystem::path validation; // held-out text of the same form
    std::filesystem::path out;        // the weight file to write
    std::string encoding = "rope";
    Blueprint blueprint; // the trunk; vocab_size is what the tokenizer shall have

    std::int64_t tokens = 8'000'000; // budget: tokens that pass through the model
    int batch = 16;                  // sequences of blueprint.context tokens a step
    double lr = 3e-3;                // peak learning rate
    double min_lr = 0.1;             // what the cosine decays to, as a share of lr
    double warmup = 0.02;            // share of the steps over which lr rises
    double weight_decay = 0.1;       // on matrices, not on vectors (AdamW)
    double clip = 1.0;               // largest global norm of the gradient
    double dropout = 0;              // of the embedding and of each residual branch
    std::uint64_t seed = 1;

    std::filesystem::path finish;    // a second corpus for the last part of the budget
    std::int64_t finish_tokens = 0;  // how much of the budget that part is; 0: a fifth, if there is a finish
    std::filesystem::path init;      // start from the weights of this file
    std::filesystem::path tokenizer; // take this file's tokenizer (a weight file or a tokenizer.json)
    bool byte_tokenizer = false;
    std::filesystem::path checkpoint; // saved every checkpoint_every steps and, after the weights, at the end
    int checkpoint_every = 100;
    bool resume = false; // go on from the checkpoint if it exists
    // CSV: step, tokens, lr, loss, grad_norm, tokens_per_second, validation_loss. A run that goes on cuts the
    // log to its length at the checkpoint, and ends with Error(io) before the first step if that is not there;
    // one whose checkpoint knows of no log starts a new one.
    std::filesystem::path log;
    int eval_every = 200;                           // steps between held-out losses (and at the end)
    std::int64_t eval_tokens = 65'536;              // held-out tokens scored each time
    std::string dtype = "f16";                      // of the file written
    std::string command;                            // the command line, for the metadata (base names only)
    bool progress = false;                          // a progress bar on stderr
    std::function<void(std::int64_t step)> on_step; // called after each step
};

struct Result {
    double train_loss = 0;      // mean of the last 50 steps, nats a token
    double validation_loss = 0; // nats a token, over all of the held-out windows
    std::int64_t tokens = 0;
    bool interrupted = false; // by interrupt(); the checkpoint was saved
};

// Throws Error.
Result run(const Options& options);

// Asks a run to save its checkpoint and stop after the current step; safe in a signal handler.
void interrupt();

} // namespace ordo::train
