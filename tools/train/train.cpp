// SPDX-License-Identifier: MIT
#include "tools/train/train.h"

#include "core/blas.h"
#include "core/error.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "model/model_file.h"
#include "text/bpe_trainer.h"
#include "tools/sha256.h"
#include "tools/train/checkpoint.h"
#include "tools/train/data.h"
#include "tools/train/files.h"
#include "tools/train/log.h"
#include "tools/train/progress.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numbers>

namespace ordo::train {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "interrupt() is called by signal handlers");

std::unique_ptr<Tokenizer> make_tokenizer(const Options& o) {
    const std::filesystem::path& file = !o.tokenizer.empty() ? o.tokenizer : o.init;
    if (!file.empty()) {
        const std::string where = printable(file.string());
        if (file.extension() == ".json") return tokenizer_from_json(read_file(file, most_bytes), where);
        const Safetensors weights = Safetensors::open(file);
        const auto json = weights.metadata().find("tokenizer");
        if (json == weights.metadata().end())
            fail(ErrorCode::model, where, ": metadata: expected 'tokenizer', found none");
        return tokenizer_from_json(json->second, where);
    }
    if (o.byte_tokenizer) return make_byte_tokenizer();
    return train_bpe(read_file(o.corpus, most_bytes), o.blueprint.vocab_size);
}

// What shapes do not show, such as the number of heads, has to agree too.
void check_trunk(const Options& o, const Safetensors& file) {
    const std::string where = file.where() + ": blueprint";
    const JsonValue has = parse_json(to_json(read_blueprint(file), true), where);
    const JsonValue wants = parse_json(to_json(o.blueprint, true), where);
    for (const auto& [key, value] : *wants.object())
        if (const std::string wanted = describe(value), found = describe(get_member(has, key, where));
            key != "architecture" && key != "context" && found != wanted)
            fail(ErrorCode::model, where, ": ", key, ": expected the trunk's ", wanted, ", found ", found);
}

// Takes over the tensors of a weight file that have the same name and shape; the rest start fresh.
void load_initial(const Options& o, Parameters& parameters) {
    const Safetensors file = Safetensors::open(o.init);
    check_trunk(o, file);
    for (int i = 0; i < parameters.count(); ++i) {
        const TensorSpec& spec = parameters.specs()[static_cast<std::size_t>(i)];
        const View v = parameters.value(i);
        const TensorInfo* found = file.find(spec.name);
        if (!found && i >= parameters.first_encoding_tensor()) continue; // a new encoding may be put on a trained trunk
        if (!found || found->shape != spec.shape)
            fail(ErrorCode::model, printable(o.init.string()), ": tensor ", spec.name,
                 ": expected the trunk's shape, found ", found ? "another" : "none");
        file.read(*found, {v.data, static_cast<std::size_t>(v.rows) * static_cast<std::size_t>(v.cols)});
    }
}

// Rises over the warm-up, then falls along half a cosine to min_lr (Loshchilov and Hutter 2017).
double learning_rate(const Options& o, std::int64_t step, std::int64_t steps) {
    const auto warmup = std::max<std::int64_t>(1, static_cast<std::int64_t>(o.warmup * static_cast<double>(steps)));
    if (step < warmup) return o.lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
    const double progress =
        static_cast<double>(step - warmup) / static_cast<double>(std::max<std::int64_t>(1, steps - warmup));
    return o.lr * (o.min_lr + (1 - o.min_lr) * 0.5 * (1 + std::cos(std::numbers::pi * progress)));
}

WeightType stored_type(const std::string& dtype) {
    if (dtype == "f32") return WeightType::f32;
    if (dtype == "f16") return WeightType::f16;
    if (dtype == "bf16") return WeightType::bf16;
    fail(ErrorCode::usage, "dtype: expected f32, f16 or bf16, found '", printable(dtype), "'");
}

// The whole of one run.
class Run {
public:
    explicit Run(const Options& options);
    Result train();

private:
    void one_step();
    double held_out(std::int64_t most_tokens);
    void save();
    void write(const Result& result);
    std::string digest() const;
    Metadata record(const Result& result) const;

    Options o_;
    std::unique_ptr<Tokenizer> tokenizer_;
    EncodingStack encodings_;
    Corpus corpus_, validation_;
    std::unique_ptr<Corpus> finish_;
    Parameters parameters_;
    Network network_;
    Optimizer optimizer_;
    Progress progress_;
    State state_;
    Log log_;
    std::int64_t steps_, finish_step_, step_tokens_;
    std::vector<Token> tokens_, targets_;
};

// What can be said before anything is read.
Options resolved(Options o) {
    stored_type(o.dtype);
    const auto step_tokens = static_cast<std::int64_t>(o.batch) * o.blueprint.context;
    if (o.batch < 1 || step_tokens < 1 || o.tokens < step_tokens)
        fail(ErrorCode::usage, "tokens: expected at least one step of ", step_tokens, ", found ", o.tokens);
    if (o.finish_tokens != 0 && o.finish.empty())
        fail(ErrorCode::usage, "finish-tokens: expected a finish corpus beside it, found none");
    if (!o.finish.empty() && o.finish_tokens == 0) o.finish_tokens = std::max(step_tokens, o.tokens / 5);
    if (!o.finish.empty() && (o.finish_tokens < step_tokens || o.finish_tokens > o.tokens))
        fail(ErrorCode::usage, "finish-tokens: expected at least one step of ", step_tokens,
             " and at most the budget of ", o.tokens, ", found ", o.finish_tokens);
    check_files(o);
    return o;
}

// The trunk for a tokenizer, if there is memory to train it.
Blueprint fitting_trunk(const Options& o, const Tokenizer& tokenizer) {
    Blueprint b = o.blueprint;
    b.vocab_size = tokenizer.vocab_size();
    check(b, "trunk");
    const EncodingStack encodings(o.encoding, b.dims());
    const auto parameters = static_cast<double>(Parameters::floats(b, encodings)); // and gradients, and two moments
    const double bytes = sizeof(float) * (4 * parameters + Network::floats(b, encodings, o.batch, b.context));
    const std::int64_t step_tokens = static_cast<std::int64_t>(o.batch) * b.context;
    if (bytes > static_cast<double>(default_memory_limit()) || step_tokens > std::numeric_limits<int>::max())
        fail(ErrorCode::limit, "training: steps of ", step_tokens, " tokens take ",
             static_cast<std::uint64_t>(std::min(bytes, 0x1p63)), " bytes, more than the ", default_memory_limit(),
             " that they may; a smaller batch, context or trunk takes less");
    return b;
}

Run::Run(const Options& options)
    : o_(resolved(options)), tokenizer_(make_tokenizer(o_)),
      encodings_(o_.encoding, (o_.blueprint = fitting_trunk(o_, *tokenizer_)).dims()),
      corpus_(o_.corpus, *tokenizer_, o_.blueprint.context),
      validation_(o_.validation, *tokenizer_, o_.blueprint.context), parameters_(o_.blueprint, encodings_),
      network_(o_.blueprint, encodings_, parameters_, o_.batch, o_.blueprint.context), optimizer_(parameters_),
      progress_(o_.progress), step_tokens_(static_cast<std::int64_t>(o_.batch) * o_.blueprint.context),
      tokens_(static_cast<std::size_t>(step_tokens_)), targets_(tokens_.size()) {
    check_blas();
    steps_ = o_.tokens / step_tokens_;
    finish_step_ = steps_ - o_.finish_tokens / step_tokens_;
    if (o_.finish_tokens > 0) finish_ = std::make_unique<Corpus>(o_.finish, *tokenizer_, o_.blueprint.context);
    parameters_.initialise(o_.seed);
    if (!o_.init.empty()) load_initial(o_, parameters_);
    if (o_.resume && std::filesystem::exists(o_.checkpoint))
        state_ = load_checkpoint(o_.checkpoint, digest(), parameters_, optimizer_);
    if (!o_.log.empty()) log_ = Log(o_.log, state_.log_bytes);
}

// What must be equal for a checkpoint to be continued.
std::string Run::digest() const {
    std::ostringstream s;
    s.precision(17);
    s << to_json(o_.blueprint) << '|' << encodings_.spec() << '|' << o_.tokens << '|' << o_.batch << '|' << o_.lr << '|'
      << o_.min_lr << '|' << o_.warmup << '|' << o_.weight_decay << '|' << o_.clip << '|' << o_.dropout << '|'
      << o_.seed << '|' << o_.finish_tokens << '|' << corpus_.sha256() << '|' << (finish_ ? finish_->sha256() : "")
      << '|' << sha256(tokenizer_->to_json());
    return sha256(s.str());
}

void Run::one_step() {
    const bool finishing = state_.step >= finish_step_ && finish_;
    Corpus& corpus = finishing ? *finish_ : corpus_;
    const std::int64_t first = (finishing ? state_.step - finish_step_ : state_.step) * o_.batch;
    const auto length = static_cast<std::size_t>(o_.blueprint.context);
    for (int i = 0; i < o_.batch; ++i) {
        const auto at = static_cast<std::size_t>(i) * length;
        corpus.window(corpus.shuffled(o_.seed, first + i), std::span(tokens_).subspan(at, length),
                      std::span(targets_).subspan(at, length));
    }
    std::fill(parameters_.grads().begin(), parameters_.grads().end(), 0.0f);
    const double loss =
        network_.loss_and_grad(tokens_, targets_, {}, {o_.dropout, o_.seed, static_cast<std::uint64_t>(state_.step)});
    const double lr = learning_rate(o_, state_.step, steps_);
    const double norm = optimizer_.step({lr, o_.weight_decay, o_.clip});
    if (!std::isfinite(loss) || !std::isfinite(norm))
        fail(ErrorCode::failure, "step ", state_.step,
             ": the loss is not finite; the last checkpoint is kept; a lower lr may help");
    state_.step += 1;
    state_.losses.push_back(loss);
    if (state_.losses.size() > 50) state_.losses.erase(state_.losses.begin());
    log_.add(csv_row(state_.step, state_.step * step_tokens_, lr, loss, norm, progress_.tokens_per_second()));
    progress_.show(state_.step, steps_, step_tokens_, loss, state_.validation_loss);
}

// Mean over windows spread evenly over the held-out text.
double Run::held_out(std::int64_t most_tokens) {
    const auto length = static_cast<std::size_t>(o_.blueprint.context);
    const std::int64_t all = validation_.windows();
    const std::int64_t windows = std::min(all, std::max<std::int64_t>(1, most_tokens / o_.blueprint.context));
    double total = 0;
    for (std::int64_t first = 0; first < windows; first += o_.batch) {
        const std::int64_t n = std::min<std::int64_t>(o_.batch, windows - first);
        std::fill(targets_.begin(), targets_.end(), -1); // rows without a window are not scored
        for (std::int64_t i = 0; i < n; ++i) {
            const std::size_t at = static_cast<std::size_t>(i) * length;
            validation_.window((first + i) * all / windows, std::span(tokens_).subspan(at, length),
                               std::span(targets_).subspan(at, length));
        }
        total += network_.loss(tokens_, targets_) * static_cast<double>(n);
    }
    return total / static_cast<double>(windows);
}

// The log first: a checkpoint may not speak of rows that are not there.
void Run::save() {
    if (log_.is_open()) state_.log_bytes = log_.flush();
    if (!o_.checkpoint.empty()) save_checkpoint(o_.checkpoint, digest(), state_, parameters_, optimizer_);
}

void Run::write(const Result& result) {
    ModelFile file{o_.blueprint, encodings_.spec(),    tokenizer_->to_json(), record(result), {},
                   {},           stored_type(o_.dtype)};
    for (int i = 0; i < parameters_.count(); ++i) {
        file.specs.push_back(parameters_.specs()[static_cast<std::size_t>(i)]);
        file.values.push_back(parameters_.value(i));
    }
    write_model(o_.out, file);
}

Metadata Run::record(const Result& result) const {
    const auto number = [](double v) {
        std::ostringstream s;
        s.precision(6);
        s << v;
        return s.str();
    };
    Metadata m{
        {"corpus", corpus_.name()},
        {"corpus.sha256", corpus_.sha256()},
        {"validation", validation_.name()},
        {"validation.sha256", validation_.sha256()},
        {"command", o_.command},
        {"seed", std::to_string(o_.seed)},
        {"tokens", std::to_string(result.tokens)},
        {"batch", std::to_string(o_.batch)},
        {"lr", number(o_.lr)},
        {"train_loss", number(result.train_loss)},
        {"validation_loss", number(result.validation_loss)},
    };
    if (finish_) {
        m["finish"] = finish_->name();
        m["finish.sha256"] = finish_->sha256();
        m["finish.tokens"] = std::to_string(o_.finish_tokens); // as asked; steps are whole
        m["finish.seen"] = std::to_string((steps_ - finish_step_) * step_tokens_);
    }
    return m;
}

Result Run::train() {
    while (state_.step < steps_) {
        if (interrupted.exchange(false)) {
            save();
            return {0, state_.validation_loss, state_.step * step_tokens_, true};
        }
        one_step();
        if (state_.step % o_.eval_every == 0 && state_.step < steps_) {
            state_.validation_loss = held_out(o_.eval_tokens);
            log_.add(csv_validation(state_.step, state_.step * step_tokens_, state_.validation_loss));
        }
        if (state_.step % o_.checkpoint_every == 0) save();
        if (o_.on_step) o_.on_step(state_.step);
    }
    state_.validation_loss = held_out(std::numeric_limits<std::int64_t>::max());
    double mean = 0;
    for (const double loss : state_.losses) mean += loss / static_cast<double>(state_.losses.size());
    const Result result{mean, state_.validation_loss, state_.step * step_tokens_, false};
    try { // neither the weights nor the checkpoint takes the other with it when it cannot be written
        write(result);
    } catch (const Error&) {
        save();
        throw;
    }
    save();
    // After the checkpoint, so that a run which goes on from there says it once.
    log_.add(csv_validation(state_.step, state_.step * step_tokens_, state_.validation_loss));
    log_.flush();
    return result;
}

} // namespace

Result run(const Options& options) {
    interrupted = false;
    return Run(options).train();
}

void interrupt() {
    interrupted = true;
}

} // namespace ordo::train
