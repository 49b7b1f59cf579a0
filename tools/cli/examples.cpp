// SPDX-License-Identifier: MIT
// The examples of every --help, of the man page and of cli.md.
#include "tools/cli/options.h"

namespace ordo::tools {

namespace {

constexpr Example list[] = {
    {"generate", "generate -p 'Once upon a time' -n 200 -s 1",
     "a story by the shipped weights, the same one every time"},
    {"generate", "generate -p 'Once upon a time' --encodings 'none;rope;alibi'",
     "the same model trained with three encodings, side by side"},
    {"generate", "generate -m gpt2/ -p 'The capital of France is' --temp 0",
     "a Hugging Face directory, always the likeliest token"},
    {"generate", "generate -m model.gguf -i", "continue what is typed, again and again"},
    {"generate", "generate -m model.gguf -p Hello --encodings 'rope;alibi'",
     "what a model says under an encoding that it was not trained with"},
    {"generate", "generate -p 'The old dog' -n -1 --ignore-eos --context-shift",
     "a text without an end, in a cache of fixed size"},
    {"tokenize", "tokenize -p 'Hello, world'", "the ids of a text"},
    {"tokenize", "tokenize --decode '1 2 3'", "and back"},
    {"logits", "logits -p 'Once upon a' --all", "the scores of every token after each token of a text, as JSON"},
    {"logits", "logits -p 'Once upon a' --encoding rope", "the scores of the next token; and"},
    {"logits", "logits -p 'Once upon a' --encoding rope --shift 100",
     "of the same text 100 positions later: under rope they stay, up to rounding; under learned they change"},
    {"encodings", "encodings", "a list of all of them"},
    {"encodings", "encodings rope:theta=500000", "one explained: formula, parameters, what the spec means in full"},
    {"encodings", "encodings -m model.gguf", "what acts in each layer of a model, and how far it reaches"},
    {"table", "table rope --len 8 --dim 16", "angles, cosines and sines of eight positions, as CSV"},
    {"table", "table alibi --slopes --heads 8", "the slopes of eight heads"},
    {"info", "info model.gguf", "what a model file holds: shape, encoding, tensors, tokenizer, record"},
    {"perplexity", "perplexity --encoding alibi --length 128,256,512",
     "the loss on the shipped text in short and long windows"},
    {"perplexity", "perplexity -m model.gguf -f text.txt --by-position",
     "on a text of your own, by position in the window"},
    {"train", "train text.txt --encoding alibi --out alibi.safetensors", "a small model from a text"},
    {"train", "train text.txt --val held.txt --out rope.safetensors --checkpoint rope.run --resume",
     "the same with another held-out text, going on where an interruption left it"},
    {"bench", "bench --encodings 'rope;alibi' -p 512 -n 128", "what two encodings cost, beside none"},
    {"bench", "bench --shape llama15m --dtype q8_0 -d 0,1024 -t 1,2",
     "a known shape with random weights, lists crossed"},
    {"convert", "convert gpt2/ gpt2.safetensors --dtype q8_0",
     "a Hugging Face directory as one file of a quarter of the size"},
    {"convert", "convert weights/rope.safetensors rope.gguf --dtype q8_0", "a file for llama.cpp"},
    {"lab", "lab", "a list of the experiments"},
    {"lab", "lab compare -m a1.safetensors -m a2.safetensors -m b1.safetensors -m b2.safetensors",
     "whether one encoding is better than another by more than chance"},
    {"lab", "lab report out --quick", "all of them, with pictures, as a page: out/index.html"},
    {"fill", "fill -m bert/ -p 'The [MASK] sat on the mat.'", "the likeliest words in the place of [MASK]"},
    {"embed", "embed -m bert/ -p 'A sentence.' --format json", "a vector that stands for a text"},
    {"translate", "translate -m marian/ -p 'A short text.'", "a translation of a text"},
};

} // namespace

std::span<const Example> examples() {
    return list;
}

} // namespace ordo::tools
