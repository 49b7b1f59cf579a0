// SPDX-License-Identifier: MIT
// ordo train: the command line of tools/train/.
#include "tools/train/train.h"
#include "formats/architecture.h"
#include "formats/config_values.h"

#include "core/error.h"
#include "formats/source.h"
#include "tools/bench/machine.h"
#include "tools/cli/machine.h"
#include "tools/cli/mistakes.h"
#include "tools/terminal/output.h"
#include "tools/terminal/signals.h"
#include "tools/train/ranks.h"
#include "tools/verbs/programs.h"

#include <chrono>
#include <csignal>
#include <thread>

namespace ordo::tools {

namespace train_file {

const Architecture& find_architecture(const std::string& name) {
    std::string known;
    for (const Architecture& architecture : architectures()) {
        if (!architecture.make().encoder.empty()) continue; // learns from pairs of texts
        if (architecture.name == name) return architecture;
        known += (known.empty() ? "" : ", ") + std::string(architecture.name);
    }
    fail(ErrorCode::usage, "option --arch: expected one of ", known, ", found '", printable(name), "'");
}

QkNorm qk_norm_of(const std::string& name) {
    return name == "head" ? QkNorm::head : name == "width" ? QkNorm::width : QkNorm::none;
}

std::vector<LayerPlan*> plans_of(Blueprint& b) {
    std::vector<LayerPlan*> plans{&b};
    for (LayerPlan& plan : b.pattern) plans.push_back(&plan);
    return plans;
}

void read_method(const Arguments& arguments, train::Options& o) {
    if (arguments.has("warmup") && arguments.has("warmup-steps"))
        fail(ErrorCode::usage, "expected --warmup or --warmup-steps, found both");
    o.method = arguments.text("optimizer") == "muon" ? train::Method::muon : train::Method::adamw;
    o.fall = arguments.text("schedule") == "stable" ? train::Fall::stable : train::Fall::cosine;
    if (arguments.has("muon-scale") && o.method != train::Method::muon)
        fail(ErrorCode::usage, "option --muon-scale: expected --optimizer muon beside it");
    if (arguments.has("decay") && o.fall != train::Fall::stable)
        fail(ErrorCode::usage, "option --decay: expected --schedule stable beside it");
    o.lr = arguments.number("lr");
    o.muon_scale = arguments.number("muon-scale");
    o.decay = arguments.number("decay");
    o.min_lr = arguments.number("min-lr");
    o.warmup = arguments.number("warmup");
    if (arguments.has("warmup-steps")) o.warmup_steps = arguments.integer("warmup-steps");
    o.initial = {arguments.number("deviation"), !arguments.has("full-branches")};
    o.weight_decay = arguments.number("weight-decay");
    o.bf16_products = arguments.text("products") == "bf16";
    o.clip = arguments.number("clip");
    o.dropout = arguments.number("dropout");
}

// Layer i gets number i modulo their count. The first layer's plan becomes the base, as in models that are read.
void set_windows(Blueprint& b, std::span<const std::int64_t> windows) {
    if (windows.size() > static_cast<std::size_t>(b.n_layers))
        fail(ErrorCode::usage, "option --window: expected at most a number for each of the ", b.n_layers,
             " layers, found ", windows.size());
    for (const std::int64_t window : windows)
        if (b.mask == Mask::bidirectional && window != 0 && window % 2 == 0)
            fail(ErrorCode::usage, "option --window: expected 0 or odd numbers for ", b.architecture,
                 ", whose tokens see as many to each side, found ", window);
    std::vector<LayerPlan> plans;
    for (int i = 0; i < b.n_layers; ++i) {
        plans.push_back(b.layer(i));
        plans.back().window = static_cast<int>(windows[static_cast<std::size_t>(i) % windows.size()]);
    }
    plans = to_period(std::move(plans));
    static_cast<LayerPlan&>(b) = plans.front();
    b.pattern.clear();
    if (plans.size() > 1) b.pattern = std::move(plans);
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
    const int d_head = head_width(arguments, b.d_model, b.n_heads);
    if (b.n_heads % b.n_kv_heads != 0)
        fail(ErrorCode::usage, "option --kv-heads: expected a divisor of the ", b.n_heads, " heads, found ",
             b.n_kv_heads);
    if (arguments.has("embedding-scale")) b.embedding_scale = static_cast<float>(arguments.number("embedding-scale"));
    if (arguments.has("qk-norm"))
        for (LayerPlan* plan : plans_of(b)) plan->qk_norm = qk_norm_of(arguments.text("qk-norm"));
    if (arguments.has("window")) set_windows(b, arguments.integers("window"));
    if (arguments.has("dim") || arguments.has("heads")) b.d_head = d_head;
    try {
        check(b, "ordo train");
    } catch (const Error& error) { // the sizes come from the command line, not from a file
        fail(ErrorCode::usage, error.what());
    }
    return b;
}

train::Options read_options(const Arguments& arguments) {
    if (arguments.has("corpus") && arguments.has_operand())
        fail(ErrorCode::usage, "train: expected one text, found '", printable(arguments.text("corpus")), "' and '",
             printable(arguments.operand()), "'");
    if (!arguments.has("corpus") && !arguments.has_operand())
        fail(ErrorCode::usage, "train: expected a text to learn: ordo train TEXT --out FILE");
    if (!arguments.has("out")) fail(ErrorCode::usage, "train: expected --out FILE, the weights to write");
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
    o.corpus = arguments.has_operand() ? arguments.operand() : arguments.text("corpus");
    o.validation = arguments.text("val");
    o.out = arguments.text("out");
    if (names_gguf(o.out))
        fail(ErrorCode::usage, "option --out: expected the name of a safetensors file, found '", printable_path(o.out),
             "'; ordo convert writes a GGUF of it");
    o.encoding = arguments.has("encoding") ? arguments.text("encoding") : std::string(architecture.encoding);
    o.blueprint = read_blueprint(arguments, architecture);
    o.tokens = arguments.integer64("tokens");
    o.batch = arguments.integer("batch");
    read_method(arguments, o);
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
    o.processor = bench::processor();
    o.progress = !arguments.has("quiet");
    if (o.progress) o.on_warning = [](std::string_view text) { write_message("warning: " + std::string(text)); };
    return o;
}

int train_and_tell(const Arguments& arguments) {
    train::Options options = read_options(arguments);
    // Before the first step there is nothing to save, and Ctrl-C ends the program at once.
    options.on_step = [](std::int64_t) { stop_softly(train::interrupt); };
    const train::Result result = train::run(options);
    train::ranks::leave();
    if (train::ranks::rank() > 0) return 0;
    if (result.interrupted) {
        if (!arguments.has("quiet"))
            write_message(!options.checkpoint.empty() ? "interrupted; --resume goes on from the checkpoint"
                          : result.partial.empty()
                              ? "interrupted before the first step; nothing is written"
                              : "interrupted after " + grouped(static_cast<std::uint64_t>(result.tokens)) +
                                    " tokens; the weights are in " + printable_path(result.partial));
        return stop_signal() != 0 ? stop_code() : 128 + SIGTERM; // another rank got the signal
    }
    write_out("tokens: " + std::to_string(result.tokens) + "\ntrain_loss: " + fixed_text(result.train_loss, 4) +
              "\nvalidation_loss: " + fixed_text(result.validation_loss, 4) +
              "\nbits_per_byte: " + fixed_text(result.bits_per_byte, 4) +
              "\nkept_tokens: " + std::to_string(result.kept_tokens) + "\nfile: " + printable_path(options.out) + "\n");
    return 0;
}

} // namespace train_file

int run_train(const Arguments& arguments) {
    train::ranks::join();
    if (train::ranks::rank() == 0) return train_file::train_and_tell(arguments);
    try {
        return train_file::train_and_tell(arguments);
    } catch (...) { // rank 0 usually finds the same error and reports it; meanwhile mpirun ends this rank
        std::this_thread::sleep_for(std::chrono::seconds(10));
        throw;
    }
}

} // namespace ordo::tools
