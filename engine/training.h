// SPDX-License-Identifier: MIT
// Fine-tuning of a loaded model through the library, step by step.
//
//   ordo::Model model = ordo::Model::load("weights/rope.safetensors");
//   ordo::Trainer trainer(model, {.batch = 4, .length = 64});
//   for (...) trainer.step(tokens, targets, 1e-4); // [4 * 64] of each
//   trainer.save("my-rope.safetensors");
//
// ordo.h describes threads, errors and global state. The bits are the same for any number of threads.
#pragma once

#include "ordo.h"

#pragma GCC visibility push(default)

namespace ordo {

struct TrainingOptions {
    int batch = 1;             // sequences of a step
    int length = 0;            // tokens of each; 0: the trained context
    double weight_decay = 0.1; // of matrices, not of vectors, as a share of the learning rate
    double clip = 1;           // largest global norm of the gradient; longer gradients are scaled down to it
    double dropout = 0;        // of the embedding and of each residual branch, [0, 1); in step() only
    std::uint64_t seed = 1;    // of the dropout
    int axes = 1;              // ids of each position
    // Muon (Jordan et al. 2024) for the matrices of the layers instead of AdamW, with steps scaled to the size of
    // AdamW's (Liu et al. 2025, arXiv 2502.16982). The value is its learning rate as a multiple of lr, such as 1; 0:
    // only AdamW.
    double muon = 0;
    int input = 0; // tokens of each encoder input, if the model has an encoder; 0: its trained context
};

// Trains a copy of a model's weights with AdamW (Loshchilov and Hutter 2019; beta 0.9 and 0.95) or Muon. The copy is
// f32 for any type of the model's weights. With gradients, AdamW's running averages and activations, it takes at least
// 16 bytes per parameter. A Trainer belongs to one thread at a time. After construction it no longer needs the model.
// Calls on a moved-from Trainer throw Error(usage).
//   Every call takes batch * length tokens, sequence after sequence, and a target for each: the next token in a causal
// model, the masked token in a bidirectional model. A target < 0 is not scored; use such targets to pad a text that is
// shorter than length. rows has a segment for each token, or none (segment 0), and a position for each token, or none
// (0 .. length - 1 in each sequence). input is for a model with an encoder: as many tokens for each sequence as
// TrainingOptions::input says, with tokens < 0 as padding.
class Trainer {
public:
    // Throws Error(usage) for an option out of range, for an encoding without a gradient (the error names it), and for
    // an encoding of the caller's that register_encoding() has not made known. Throws Error(limit) if the encoding does
    // not reach the length, or if memory is too small.
    explicit Trainer(const Model& model, const TrainingOptions& options = {});
    Trainer(Trainer&&) noexcept;
    Trainer& operator=(Trainer&&) noexcept;
    ~Trainer();

    // Takes one step with the learning rate lr. Returns the loss before the step: the mean of -log p(target) over the
    // scored targets, in nats, with dropout if it is on. Throws Error(usage) if the number of tokens, targets, segments
    // or positions is not batch * length, if the input has a wrong length, if no target is scored, if positions have
    // more axes than the options say, or if lr is not a finite number >= 0. Throws Error(limit) for a token, target,
    // segment or position out of range, Error(failure) if the loss or the gradient is not finite. After an error the
    // weights are as before the call.
    double step(std::span<const Token> tokens, std::span<const Token> targets, double lr, const TokenRows& rows = {},
                std::span<const Token> input = {});
    // Returns the loss without dropout, and takes no step.
    double loss(std::span<const Token> tokens, std::span<const Token> targets, const TokenRows& rows = {},
                std::span<const Token> input = {});

    std::int64_t steps() const; // taken so far

    // A new model with the current weights in f32 and the tokenizer of the original model. It has the metadata of the
    // original model except the losses, and "fine_tune.N.KEY" for this training, where N is 1 the first time. Throws
    // Error(failure) for a weight that is not finite.
    Model model() const;
    // Writes that model to a file, which is replaced as a whole or not at all. dtype is the type of the matrices: f32,
    // f16, bf16, q8_0, q4_0; with f16 or bf16, vectors have this type too. Throws Error(failure) for a weight that is
    // not finite or that the dtype cannot hold, Error(usage) for another dtype, Error(io).
    void save(const std::filesystem::path& file, std::string_view dtype = "f16") const;

    struct Impl;

private:
    std::unique_ptr<Impl> impl_;
};

} // namespace ordo

#pragma GCC visibility pop
