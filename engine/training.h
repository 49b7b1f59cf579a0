// SPDX-License-Identifier: MIT
// Training a model through the library: fine-tuning the weights of one that is loaded, step by step.
//
//   ordo::Model model = ordo::Model::load("weights/rope.safetensors");
//   ordo::Trainer trainer(model, {.batch = 4, .length = 64});
//   for (...) trainer.step(tokens, targets, 1e-4); // [4 * 64] of each
//   trainer.save("my-rope.safetensors");
//
// Threads, errors and global state are as ordo.h says. The bits are the same for any number of threads.
#pragma once

#include "ordo.h"

#pragma GCC visibility push(default)

namespace ordo {

struct TrainingOptions {
    int batch = 1;             // sequences of a step
    int length = 0;            // tokens of each; 0: the trained context
    double weight_decay = 0.1; // of matrices, not of vectors, as a share of the learning rate
    double clip = 1;           // largest global norm of the gradient; longer ones are scaled down to it
    double dropout = 0;        // of the embedding and of each residual branch, [0, 1); in step() alone
    std::uint64_t seed = 1;    // of the dropout
    int axes = 1;              // ids that each position has
    // Muon (Jordan et al. 2024) for the matrices of the layers in the place of AdamW, its steps scaled to the size of AdamW's (Liu
    // et al. 2025, arXiv 2502.16982): its learning rate as a multiple of lr, such as 1; 0: AdamW for all.
    double muon = 0;
    int input = 0; // tokens of each input of an encoder, if the model has one; 0: its trained context
};

// A copy of a model's weights in f32 that is trained by AdamW (Loshchilov and Hutter 2019; beta 0.9 and 0.95), or Muon, whatever
// type the model holds them in, with gradients, the averages of AdamW and activations: at least 16 bytes a parameter. It belongs to
// one thread at a time, and does not need the model any more once it is made. Calls of one that was moved from throw
// Error(usage).
//   Every call takes batch * length tokens, sequence after sequence; targets says what shall follow each of them (in a causal
// model the token after it, in a bidirectional one the token that stands masked there), and a target < 0 is not
// scored. So a text that is shorter than length is filled up with any token that has such a target. rows: segments, one for each
// token, or none: all are of segment 0; positions, likewise, or none: 0 .. length - 1 in each sequence. input: of a model with an
// encoder alone, for each sequence as many tokens as the options say; one that is shorter is filled up with tokens < 0.
class Trainer {
public:
    // Throws Error(usage) for an option out of its range, an encoding that has no gradient, by name, and one of the caller's own,
    // which cannot be made a second time; Error(limit) for a length that the encoding does not reach, and for memory.
    explicit Trainer(const Model& model, const TrainingOptions& options = {});
    Trainer(Trainer&&) noexcept;
    Trainer& operator=(Trainer&&) noexcept;
    ~Trainer();

    // One step with the learning rate lr. Returns the loss before it: the mean of -log p(target) over the targets that
    // are scored, in nats, with dropout if there is any. Throws Error(usage) for another number of tokens, targets,
    // segments or positions than batch * length, or of the input's, no target, more axes than the options say, and an lr that is not a finite number
    // >= 0; Error(limit) for a token, target, segment or position out of range; Error(failure) if the loss or the
    // gradient is not finite. The weights are then as before the call.
    double step(std::span<const Token> tokens, std::span<const Token> targets, double lr, const TokenRows& rows = {},
                std::span<const Token> input = {});
    // The same loss without dropout, and without a step.
    double loss(std::span<const Token> tokens, std::span<const Token> targets, const TokenRows& rows = {},
                std::span<const Token> input = {});

    std::int64_t steps() const; // taken so far

    // A model of its own with the weights as they are now, in f32, and the tokenizer of the one that it began with. Its metadata are
    // that model's, but for the losses, which were other weights'; "fine_tune.N.KEY" says what was done here, N
    // being 1 the first time. Throws Error(failure) for a weight that is not finite.
    Model model() const;
    // The same as a file, replaced as a whole or not at all. dtype, of the matrices: f32, f16, bf16, q8_0, q4_0; beside a half,
    // vectors are halves too. Throws Error(failure) likewise, and for a weight that the dtype cannot hold, Error(usage) for another
    // dtype, Error(io).
    void save(const std::filesystem::path& file, std::string_view dtype = "f16") const;

    struct Impl;

private:
    std::unique_ptr<Impl> impl_;
};

} // namespace ordo

#pragma GCC visibility pop
