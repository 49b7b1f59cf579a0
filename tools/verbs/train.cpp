// SPDX-License-Identifier: MIT
// ordo train: the command line of tools/train/.
#include "tools/train/train.h"

#include "core/error.h"
#include "tools/cli/machine.h"
#include "tools/cli/output.h"
#include "tools/cli/signals.h"

#include <algorithm>

namespace ordo::tools {

namespace {

constexpr double most_tokens = 1e15;

constexpr Option file_options[] = {
    {.name = "corpus",
     .kind = Kind::path,
     .value = "FILE",
     .help = "the text to learn, documents separated by a line <|endoftext|>"},
    {.name = "val", .kind = Kind::path, .value = "FILE", .help = "a held-out text of the same form"},
    {.name = "out",
     .kind = Kind::path,
     .value = "FILE",
     .help = "the weights to write; a file of this name is replaced at the end, as a whole"},
    {.name = "dtype",
     .kind = Kind::choice,
     .value = "TYPE",
     .fallback = "f16",
     .help = "f16|bf16|f32: the numbers of the file"},
    {.name = "finish", .kind = Kind::path, .value = "FILE", .help = "a second text for the last part of the budget"},
    {.name = "finish-tokens",
     .kind = Kind::integer,
     .value = "N",
     .least = 1,
     .most = most_tokens,
     .help = "how much of --tokens that part is, in whole steps; by default a fifth"},
    {.name = "init", .kind = Kind::path, .value = "FILE", .help = "start from these weights"},
    {.name = "checkpoint",
     .kind = Kind::path,
     .value = "FILE",
     .help = "where to save the state of the training; one that exists is refused without --resume or --overwrite"},
    {.name = "checkpoint-every",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "100",
     .least = 1,
     .most = 1 << 30,
     .help = "steps between checkpoints; Ctrl-C saves one too"},
    {.name = "resume", .help = "go on from the checkpoint if there is one, bit for bit"},
    {.name = "overwrite", .help = "begin anew, replacing a checkpoint and a log that exist"},
    {.name = "log",
     .kind = Kind::path,
     .value = "FILE",
     .help =
         "CSV of step, tokens, lr, loss, grad_norm, tokens_per_second, validation_loss; a resumed run goes on with it, "
         "a new one refuses one that exists as it does a checkpoint"},
    {.name = "eval-every",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "200",
     .least = 1,
     .most = 1 << 30,
     .help = "steps between held-out losses; the last step has one too"},
    {.name = "eval-tokens",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "65536",
     .least = 1,
     .most = most_tokens,
     .help = "held-out tokens scored each time, the same ones; the figure at the end is of all of --val"},
    {.name = "keep",
     .kind = Kind::choice,
     .value = "WHICH",
     .fallback = "best",
     .help =
         "best|last: the weights to write: those with the lowest of these held-out losses, or those of the last step"},
};

constexpr Option trunk_options[] = {
    {.name = "encoding",
     .kind = Kind::text,
     .value = "SPEC",
     .help = "positional encoding, such as alibi or segment+learned; by default the architecture's"},
    {.name = "arch",
     .kind = Kind::text,
     .value = "NAME",
     .fallback = "ordo",
     .help = "the architecture, whose sizes hold where the options below do not change them; a wrong NAME lists them"},
    {.name = "layers", .kind = Kind::integer, .value = "N", .least = 1, .most = 1'024, .help = "layers"},
    {.name = "dim", .kind = Kind::integer, .value = "N", .least = 1, .most = 65'536, .help = "width"},
    {.name = "heads",
     .kind = Kind::integer,
     .value = "N",
     .least = 1,
     .most = 1'024,
     .help = "attention heads, which share the width"},
    {.name = "kv-heads",
     .kind = Kind::integer,
     .value = "N",
     .least = 1,
     .most = 1'024,
     .help = "key and value heads, a divisor of --heads; by default as many"},
    {.name = "ffn",
     .kind = Kind::integer,
     .value = "N",
     .least = 1,
     .most = 1 << 20,
     .help = "width of the feed-forward layer"},
    {.name = "ctx", .kind = Kind::integer, .value = "N", .least = 1, .most = 1 << 22, .help = "tokens of a sequence"},
    {.name = "vocab",
     .kind = Kind::integer,
     .value = "N",
     .least = 257,
     .most = 1 << 22,
     .help = "entries of the tokenizer that is learned from the corpus"},
    {.name = "tokenizer",
     .kind = Kind::path,
     .value = "FILE",
     .help = "take the tokenizer of a weight file, or a tokenizer.json"},
    {.name = "byte-tokenizer", .help = "a token for each byte"},
};

constexpr Option budget_options[] = {
    {.name = "tokens",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "8000000",
     .least = 1,
     .most = most_tokens,
     .help = "tokens that pass through the model"},
    {.name = "batch",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "16",
     .least = 1,
     .most = 65'536,
     .help = "sequences in a step"},
    {.name = "lr",
     .kind = Kind::number,
     .value = "X",
     .fallback = "0.003",
     .least = 0,
     .most = 10,
     .above = true,
     .help = "peak learning rate of AdamW"},
    {.name = "min-lr",
     .kind = Kind::number,
     .value = "X",
     .fallback = "0.1",
     .least = 0,
     .most = 1,
     .help = "what the cosine decays to, as a share of --lr"},
    {.name = "warmup",
     .kind = Kind::number,
     .value = "X",
     .fallback = "0.02",
     .least = 0,
     .most = 1,
     .help = "share of the steps over which the rate rises"},
    {.name = "weight-decay",
     .kind = Kind::number,
     .value = "X",
     .fallback = "0.1",
     .least = 0,
     .most = 10,
     .help = "of matrices"},
    {.name = "clip",
     .kind = Kind::number,
     .value = "X",
     .fallback = "1.0",
     .least = 0,
     .most = 1e6,
     .above = true,
     .help = "largest norm of the gradient"},
    {.name = "dropout",
     .kind = Kind::number,
     .value = "P",
     .fallback = "0",
     .least = 0,
     .most = 0.99,
     .help = "of the embedding and of each residual branch, in training only"},
    {.name = "randomised-positions",
     .kind = Kind::integer,
     .value = "L",
     .fallback = "0",
     .least = 0,
     .most = 1 << 22,
     .help = "train each sequence at a sorted random subset of the positions 0 to L - 1, L at least --ctx; held-out "
             "losses are at the mean of such subsets, --ctx positions spread evenly over L; 0: at 0, 1, 2 ..."},
    {.letter = 's',
     .name = "seed",
     .kind = Kind::seed,
     .value = "N",
     .fallback = "1",
     .help = "of the weights, the order and the dropout; the same bits whatever the threads"},
};

constexpr OptionGroup groups[] = {
    {"Files", file_options}, {"Trunk", trunk_options}, {"Budget", budget_options}, common_group};

const Architecture& find_architecture(const std::string& name) {
    std::string known;
    for (const Architecture& architecture : architectures()) {
        if (architecture.name == name) return architecture;
        known += (known.empty() ? "" : ", ") + std::string(architecture.name);
    }
    fail(ErrorCode::usage, "option --arch: expected one of ", known, ", found '", printable(name), "'");
}

Blueprint read_blueprint(const Arguments& arguments, const Architecture& architecture) {
    Blueprint b = architecture.make();
    const auto size = [&](const char* option, int& field) {
        if (arguments.has(option)) field = arguments.integer(option);
    };
    size("layers", b.n_layers);
    size("dim", b.d_model);
    size("heads", b.n_heads);
    if (arguments.has("heads")) b.n_kv_heads = b.n_heads;
    size("kv-heads", b.n_kv_heads);
    size("ffn", b.d_ff);
    size("ctx", b.context);
    size("vocab", b.vocab_size);
    if (b.d_model % b.n_heads != 0)
        fail(ErrorCode::usage, "option --heads: expected a divisor of the width ", b.d_model, ", found ", b.n_heads);
    if (b.n_heads % b.n_kv_heads != 0)
        fail(ErrorCode::usage, "option --kv-heads: expected a divisor of the ", b.n_heads, " heads, found ",
             b.n_kv_heads);
    if (arguments.has("dim") || arguments.has("heads")) b.d_head = b.d_model / b.n_heads;
    try {
        check(b, "ordo train");
    } catch (const Error& error) { // the sizes come from the command line, not from a file
        fail(ErrorCode::usage, error.what());
    }
    return b;
}

train::Options read_options(const Arguments& arguments) {
    for (const char* needed : {"corpus", "val", "out"})
        if (!arguments.has(needed)) fail(ErrorCode::usage, "train: expected --", needed, " FILE");
    if (arguments.has("resume") && !arguments.has("checkpoint"))
        fail(ErrorCode::usage, "option --resume: expected --checkpoint FILE beside it");
    if (arguments.has("resume") && arguments.has("overwrite"))
        fail(ErrorCode::usage, "expected --resume or --overwrite, found both");
    if (arguments.has("finish-tokens") && !arguments.has("finish"))
        fail(ErrorCode::usage, "option --finish-tokens: expected --finish FILE beside it");
    if (arguments.has("byte-tokenizer") && arguments.has("tokenizer"))
        fail(ErrorCode::usage, "expected --tokenizer or --byte-tokenizer, found both");
    const Architecture& architecture = find_architecture(arguments.text("arch"));
    train::Options o;
    o.corpus = arguments.text("corpus");
    o.validation = arguments.text("val");
    o.out = arguments.text("out");
    o.encoding = arguments.has("encoding") ? arguments.text("encoding") : std::string(architecture.encoding);
    o.blueprint = read_blueprint(arguments, architecture);
    o.tokens = arguments.integer64("tokens");
    o.batch = arguments.integer("batch");
    o.lr = arguments.number("lr");
    o.min_lr = arguments.number("min-lr");
    o.warmup = arguments.number("warmup");
    o.weight_decay = arguments.number("weight-decay");
    o.clip = arguments.number("clip");
    o.dropout = arguments.number("dropout");
    o.randomised_positions = arguments.integer("randomised-positions");
    o.seed = parse_seed(arguments.text("seed"), "seed");
    o.finish = arguments.text("finish");
    if (arguments.has("finish-tokens")) o.finish_tokens = arguments.integer64("finish-tokens");
    o.init = arguments.text("init");
    o.tokenizer = arguments.text("tokenizer");
    o.byte_tokenizer = arguments.has("byte-tokenizer");
    o.checkpoint = arguments.text("checkpoint");
    o.checkpoint_every = arguments.integer("checkpoint-every");
    o.resume = arguments.has("resume");
    o.overwrite = arguments.has("overwrite");
    o.keep = arguments.text("keep") == "last" ? train::Keep::last : train::Keep::best;
    o.log = arguments.text("log");
    o.eval_every = arguments.integer("eval-every");
    o.eval_tokens = arguments.integer64("eval-tokens");
    o.dtype = arguments.text("dtype");
    o.command = arguments.command();
    o.progress = !arguments.has("quiet");
    if (o.progress) o.on_warning = [](std::string_view text) { write_message("warning: " + std::string(text)); };
    return o;
}

int run(const Arguments& arguments) {
    train::Options options = read_options(arguments);
    // Before the first step there is nothing to save, and Ctrl-C ends the program at once.
    options.on_step = [](std::int64_t) { stop_softly(train::interrupt); };
    const train::Result result = train::run(options);
    if (result.interrupted) {
        if (!arguments.has("quiet"))
            write_message(options.checkpoint.empty() ? "interrupted; there is no --checkpoint to go on from"
                                                     : "interrupted; --resume goes on from the checkpoint");
        return stop_code();
    }
    write_out("tokens: " + std::to_string(result.tokens) + "\ntrain_loss: " + fixed_text(result.train_loss, 4) +
              "\nvalidation_loss: " + fixed_text(result.validation_loss, 4) +
              "\nkept_tokens: " + std::to_string(result.kept_tokens) + "\n");
    return 0;
}

} // namespace

extern const Verb train_verb;
const Verb train_verb{
    .name = "train",
    .operand = "",
    .summary = "trains a model from a text",
    .details =
        "AdamW with warm-up and cosine decay. Needs --corpus, --val and --out. The first Ctrl-C saves the "
        "checkpoint and stops. A run whose loss or weights are not finite, or whose loss stays above twice what it "
        "began with, ends with exit code 1 and leaves --out as it was.",
    .groups = groups,
    .run = run};

} // namespace ordo::tools
