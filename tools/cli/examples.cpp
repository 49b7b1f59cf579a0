// SPDX-License-Identifier: MIT
// The examples of every --help, of the man page and of cli.md.
#include "tools/cli/options.h"

namespace ordo::tools {

namespace {

constexpr Example list[] = {
    {"generate", "generate -p 'Once upon a time' -n 200 -s 1",
     "Write a story with the shipped weights, the same story every time."},
    {"generate", "generate -p 'Once upon a time' --encodings none,rope,alibi", "Compare three encodings side by side."},
    {"generate", "generate -m gpt2/ -p 'The capital of France is' --temp 0",
     "Run a Hugging Face directory, always with the likeliest token."},
    {"generate", "generate -m model.gguf -i", "Continue each text that you type."},
    {"generate", "generate -p 'The old dog' -n -1 --ignore-eos --context-shift",
     "Write a text without an end, in a cache of fixed size."},
    {"tokenize", "tokenize -p 'Hello, world'", "Print the ids of a text."},
    {"tokenize", "tokenize --decode '1 2 3'", "Print the text of three ids."},
    {"logits", "logits -p 'Once upon a' --all", "Print the scores of every token after each token of a text, as JSON."},
    {"logits", "logits -p 'Once upon a' --encoding rope --shift 100",
     "Move the text by 100 positions. The logits of rope stay, up to rounding; the logits of learned change."},
    {"encodings", "encodings", "List all encodings."},
    {"encodings", "encodings rope:theta=500000", "Explain one: its formula, its parameters and the full spec."},
    {"encodings", "encodings -m model.gguf", "Show the encoding of each layer of a model, and its range."},
    {"table", "table rope --len 8 --dim 16", "Print the angles, cosines and sines of eight positions, as CSV."},
    {"table", "table alibi --slopes --heads 8", "Print the slopes of eight heads."},
    {"info", "info model.gguf", "Show the shape, encoding, tensors, tokenizer and record of a model file."},
    {"perplexity", "perplexity --encoding alibi --length 128,256,512",
     "Measure the loss on the shipped text in short and long windows."},
    {"perplexity", "perplexity -m model.gguf -f text.txt --by-position",
     "Measure the loss on your own text, by position in the window."},
    {"train", "train text.txt --encoding alibi --out alibi.safetensors", "Train a small model on a text."},
    {"train", "train text.txt --val held.txt --out rope.safetensors --checkpoint rope.run --resume",
     "Train with another held-out text, and continue after an interruption."},
    {"bench", "bench --encodings rope,alibi -p 512 -n 128", "Measure the cost of two encodings, compared with none."},
    {"bench", "bench --shape llama15m --dtype q8_0 -d 0,1024 -t 1,2",
     "Run a known shape with random weights at all combinations."},
    {"convert", "convert gpt2/ gpt2.safetensors --dtype q8_0",
     "Write a Hugging Face directory as one file of a quarter of the size."},
    {"convert", "convert weights/rope.safetensors rope.gguf --dtype q8_0", "Write a file for llama.cpp."},
    {"lab", "lab", "List the experiments."},
    {"lab", "lab compare -m a1.safetensors -m a2.safetensors -m b1.safetensors -m b2.safetensors",
     "Test whether one encoding is better than another by more than chance."},
    {"lab", "lab report out --quick", "Run all experiments, and write a page with pictures: out/index.html."},
    {"fill", "fill -m bert/ -p 'The [MASK] sat on the mat.'", "Print the likeliest words in the place of [MASK]."},
    {"embed", "embed -m bert/ -p 'A sentence.' --format json", "Print a vector that stands for a text."},
    {"translate", "translate -m marian/ -p 'A short text.'", "Translate a text."},
};

} // namespace

std::span<const Example> examples() {
    return list;
}

} // namespace ordo::tools
