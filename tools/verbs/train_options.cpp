// SPDX-License-Identifier: MIT
// The options of ordo train, which is a program of its own: train.cpp.
#include "tools/cli/machine.h"
#include "tools/verbs/programs.h"

namespace ordo::tools {

namespace train_options_file {

constexpr double most_tokens = 1e15;

constexpr Option file_options[] = {
    {Kind::path, "corpus", "FILE", "The text to train on, the same as TEXT. A line <|endoftext|> separates documents."},
    {Kind::path, "val", "FILE",
     "A held-out text of the same form. Default: every 50th document of TEXT, or the end of TEXT if it has fewer; a "
     "larger part of a short text."},
    {Kind::path, "out", "FILE",
     "The file for the weights. Weights of an earlier training are replaced at the end. Any other file is replaced "
     "only with --overwrite."},
    {Kind::choice, "dtype", "TYPE=f16", "f16|bf16|f32: the type of the weights in the file."},
    {Kind::path, "finish", "FILE", "A second text, for the end of the training."},
    {Kind::amount, "finish-tokens", "N", 1, most_tokens,
     "The number of tokens to train on --finish, in whole steps. Default: a fifth of --tokens."},
    {Kind::path, "init", "FILE", "Start from these weights."},
    {Kind::path, "checkpoint", "FILE",
     "Save the state of the training here. An existing file needs --resume or --overwrite."},
    {Kind::integer, "checkpoint-every", "N=100", 1, 1 << 30, "The steps between checkpoints; Ctrl-C saves one too."},
    {"resume", "Continue from the checkpoint. The result is bit-identical. If there is no checkpoint, print that "
               "and start; a --log with rows is refused then."},
    {"overwrite", "Start again, and replace the checkpoint and the log of an earlier training, and the file of --out."},
    {Kind::path, "log", "FILE",
     "Write a CSV of step, tokens, lr, loss, grad_norm, tokens_per_second, validation_loss. A resumed run appends to "
     "it; an existing log needs --resume or --overwrite, and must be of the same run."},
    {Kind::integer, "eval-every", "N=200", 1, 1 << 30,
     "The steps between held-out losses. One also follows the last step."},
    {Kind::amount, "eval-tokens", "N=65536", 1, most_tokens,
     "The number of held-out tokens for each loss, always the same tokens. The last loss uses all of --val."},
    {Kind::choice, "keep", "WHICH=best",
     "best|last: write the weights with the lowest held-out loss, or the weights of the last step."},
};

constexpr Option trunk_options[] = {
    {Kind::text, "encoding", "SPEC",
     "The positional encoding, such as alibi or segment+learned. Default: the architecture's."},
    {Kind::text, "arch", "NAME=ordo",
     "The architecture, whose sizes the options below can change. ordo has 5 layers of width 128, 4 heads, 256 tokens "
     "and a vocabulary of 4096. A wrong NAME lists all."},
    {Kind::integer, "layers", "N", 1, 1'024, "The number of layers."},
    {Kind::integer, "dim", "N", 1, 65'536, "The width of the model."},
    {Kind::integer, "heads", "N", 1, 1'024, "The number of attention heads, which share the width."},
    {Kind::integer, "kv-heads", "N", 1, 1'024,
     "The number of key and value heads, a divisor of --heads. Default: --heads."},
    {Kind::integer, "ffn", "N", 1, 1 << 20, "The width of the feed-forward layer."},
    {Kind::integer, "ctx", "N", 1, 1 << 22, "The context: the tokens in a training sequence."},
    {Kind::integer, "vocab", "N", 257, 1 << 22, "The size of the vocabulary, which is trained on the corpus."},
    {Kind::path, "tokenizer", "FILE", "Take the tokenizer of a weight file, or a tokenizer.json."},
    {"byte-tokenizer", "Use one token for each byte."},
    above({Kind::number, "embedding-scale", "X", 0, 1e6,
           "Multiply the rows of the embedding by X. The square root of --dim makes them as large as sinusoids."}),
    {Kind::choice, "qk-norm", "WHICH",
     "none|head|width: an RMS norm of queries and keys, for each head or for all heads together."},
    {Kind::integers, "window", "N,N,...", 0, 1 << 22,
     "The number of tokens that a query sees, itself included; 0: all. The layers take the numbers in turn, as in "
     "pattern(): 64,0 is a window in every other layer."},
};

constexpr Option start_options[] = {
    {Kind::number, "deviation", "X=0.02", 0, 10,
     "The initial standard deviation of the matrices; 0: one over the square root of the length of a row."},
    {"full-branches", "Start the matrices that write to the residual stream with the full --deviation, without the "
                      "divisor sqrt(2 layers)."},
};

constexpr Option budget_options[] = {
    {Kind::amount, "tokens", "N=8000000", 1, most_tokens, "The number of training tokens, repeats included."},
    {Kind::integer, "batch", "N=16", 1, 65'536, "The number of sequences in a step."},
    above({Kind::number, "lr", "X=0.003", 0, 10, "The peak learning rate."}),
    {Kind::choice, "optimizer", "NAME=adamw",
     "adamw|muon: the optimizer. muon uses Muon for the matrices of the layers, with steps of AdamW's size, and AdamW "
     "for the rest."},
    above({Kind::number, "muon-scale", "X=1", 0, 1e3, "The learning rate of Muon's matrices, as a multiple of --lr."}),
    {Kind::choice, "schedule", "NAME=cosine",
     "cosine|stable: after the warm-up, the learning rate falls along a cosine, or stays and then falls in a straight "
     "line."},
    {Kind::number, "decay", "X=0.2", 0, 1,
     "With --schedule stable: the share of the steps, at the end, in which the learning rate falls."},
    {Kind::number, "min-lr", "X=0.1", 0, 1,
     "The learning rate that the fall would reach one step after the last, as a share of --lr."},
    {Kind::number, "warmup", "X=0.02", 0, 1, "The share of the steps, at the start, in which the learning rate rises."},
    {Kind::integer, "warmup-steps", "N", 0, 1 << 30, "The same as --warmup, as a number of steps; 0: none."},
    {Kind::choice, "products", "TYPE=f32",
     "f32|bf16: the type to which the factors of matrix products are rounded; sums stay f32. bf16 is faster, and needs "
     "a machine with AVX512-BF16."},
    {Kind::number, "weight-decay", "X=0.1", 0, 10, "The weight decay, of matrices only."},
    above({Kind::number, "clip", "X=1.0", 0, 1e6, "The largest norm of the gradient."}),
    {Kind::number, "dropout", "P=0", 0, 0.99,
     "The probability of dropout, on the embedding and on each residual branch."},
    {Kind::integer, "randomised-positions", "L=0", 0, 1 << 22,
     "Train each sequence at a sorted random subset of the positions 0 to L - 1, where L is at least --ctx. Held-out "
     "losses use --ctx positions spread evenly over L. 0: use 0, 1, 2 ..."},
    {Kind::seed, "s,seed", "N=1",
     "The seed of the weights, of the order of the text and of dropout. The result is the same for any number of "
     "threads, bit for bit."},
};

constexpr OptionGroup groups[] = {{"Files", file_options},
                                  {"Model", trunk_options},
                                  {"Start", start_options},
                                  {"Budget", budget_options},
                                  common_group};

} // namespace train_options_file

const Verb train_verb{
    .name = "train",
    .operand = "TEXT",
    .summary = "Train a model on a text",
    .details =
        "A text and --out are required. The optimizer is AdamW by default. Its learning rate rises in a warm-up and "
        "then falls along a cosine. The first Ctrl-C stops the run and saves the checkpoint. Without --checkpoint, it "
        "saves the weights as OUT.partial. A run ends with exit code 1, and leaves --out as it was, if its loss or "
        "weights are not finite or its loss stays above twice the first value. If `make mpi` built the program, "
        "`mpirun -n 4 ordo train ...` splits every batch over 4 processes, which read the same files and sum their "
        "gradients. After Ctrl-C, mpirun allows one second for saving; --mca odls_base_sigkill_timeout changes that.",
    .groups = train_options_file::groups,
    .program = "ordo-train"};

} // namespace ordo::tools
