// SPDX-License-Identifier: MIT
#include "tools/train/train.h"

#include "core/blas.h"
#include "core/error.h"
#include "model/model_file.h"
#include "tools/train/checkpoint.h"
#include "tools/train/data.h"
#include "tools/train/files.h"
#include "tools/train/progress.h"
#include "tools/train/ranks.h"
#include "tools/train/record.h"
#include "tools/train/setup.h"
#include "tools/train/sha256.h"
#include "training/randomised.h"
#include "training/schedule.h"
#include "training/step.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <numbers>
#include <optional>

namespace ordo::train {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "interrupt() is called by signal handlers");

// Exchanges two blocks of numbers while the object lives.
class Exchange {
public:
    Exchange(std::span<float> a, std::span<float> b) : a_(a), b_(b) {
        std::swap_ranges(a_.begin(), a_.end(), b_.begin());
    }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;
    ~Exchange() { std::swap_ranges(a_.begin(), a_.end(), b_.begin()); }

private:
    std::span<float> a_, b_;
};

class Run {
public:
    explicit Run(const Options& options);
    Result train();

private:
    Schedule schedule() const;
    void one_step();
    bool evaluation_is_due() const;
    bool evaluate();
    std::int64_t windows_of(std::int64_t most_tokens) const;
    std::optional<double> held_out(std::int64_t most_tokens);
    [[noreturn]] void diverged(std::string_view what) const;
    double loss_limit() const;
    std::int64_t steps_above_limit() const;
    void check_loss(std::int64_t patience) const;
    void check_ranks();
    void check_weights();
    double mean_of_last_losses() const;
    Result stop();
    Result finish();
    bool score_kept(Result& result);
    void warn_of_rise() const;
    bool keeps_earlier() const { return o_.keep == Keep::best && state_.best_step < state_.step; }
    Floats floats();
    void save();
    void write(const Result& result, const std::filesystem::path& file);
    Sources sources() const { return {corpus_, validation_, finish_.get(), init_sha256_, tokenizer_->to_json()}; }
    RunConditions conditions() const { return conditions_of_run(o_, sources(), encodings_.spec()); }
    Metadata record(const Result& result) const;

    Options o_;
    std::unique_ptr<Tokenizer> tokenizer_;
    ModelEncodings encodings_;
    Corpus corpus_, validation_;
    std::unique_ptr<Corpus> finish_;
    Parameters parameters_;
    Network network_;
    Optimizer optimizer_;
    Buffer<float> best_; // the parameters with the lowest held-out loss; empty with Keep::last
    TrainingProgress progress_;
    State state_;
    Log log_;
    std::int64_t steps_, finish_step_, step_tokens_;
    int share_, first_of_share_; // this rank's sequences of each step: their number and the first of them
    std::vector<Token> tokens_, targets_;
    std::vector<int> positions_; // empty if they are not randomised
    std::string init_sha256_;
    std::int64_t tokens_before_ = 0; // the number of tokens that the initial weights were trained on
};

Run::Run(const Options& options)
    : o_(resolved(options)), tokenizer_(make_tokenizer(o_)),
      encodings_(o_.encoding, (o_.blueprint = fitting_trunk(o_, *tokenizer_)).dims()),
      corpus_(o_.corpus, *tokenizer_, o_.blueprint.context, o_.validation.empty() ? Part::most : Part::all,
              o_.on_warning),
      validation_(o_.validation.empty() ? o_.corpus : o_.validation, *tokenizer_, o_.blueprint.context,
                  o_.validation.empty() ? Part::held_out : Part::all, o_.on_warning),
      parameters_(o_.blueprint, encodings_), network_(o_.blueprint, encodings_, parameters_, o_.batch / ranks::count(),
                                                      o_.blueprint.context, {1, o_.randomised_positions}),
      optimizer_(parameters_, o_.method == Method::muon ? hidden_matrices(o_.blueprint) : std::vector<MatrixRows>()),
      best_(o_.keep == Keep::best ? parameters_.size() : 0), progress_(o_.progress),
      step_tokens_(static_cast<std::int64_t>(o_.batch) * o_.blueprint.context), share_(o_.batch / ranks::count()),
      first_of_share_(ranks::rank() * share_), tokens_(static_cast<std::size_t>(step_tokens_ / ranks::count())),
      targets_(tokens_.size()), positions_(o_.randomised_positions > 0 ? tokens_.size() : 0) {
    check_blas();
    if (o_.bf16_products) multiply_pairs(network_, optimizer_);
    steps_ = o_.tokens / step_tokens_;
    finish_step_ = steps_ - o_.finish_tokens / step_tokens_;
    if (o_.finish_tokens > 0)
        finish_ = std::make_unique<Corpus>(o_.finish, *tokenizer_, o_.blueprint.context, Part::all, o_.on_warning);
    parameters_.initialise(o_.seed, o_.initial);
    if (!o_.init.empty()) {
        load_initial(o_, parameters_);
        init_sha256_ = sha256(read_file(o_.init, std::numeric_limits<std::size_t>::max() / 2));
        tokens_before_ = tokens_seen(o_.init);
    }
    if (o_.resume && std::filesystem::exists(o_.checkpoint)) {
        state_ = load_checkpoint(o_.checkpoint, conditions(), steps_, floats());
        optimizer_.steps = state_.step;
        if (state_.evaluated > 0) progress_.know(state_.validation_loss);
    }
    check_ranks(); // after all ranks have read the files that are written from now on
    if (ranks::rank() == 0) log_ = open_log(o_, state_.log_bytes);
}

Schedule Run::schedule() const {
    const auto share = [&](double of_steps) {
        return static_cast<std::int64_t>(of_steps * static_cast<double>(steps_));
    };
    Schedule s{.peak = o_.lr, .least = o_.min_lr, .steps = steps_};
    s.warmup = o_.warmup_steps >= 0 ? o_.warmup_steps : share(o_.warmup);
    if (o_.fall == Fall::stable) s.decay = std::max<std::int64_t>(1, share(o_.decay));
    return s;
}

void Run::diverged(std::string_view what) const {
    fail(ErrorCode::failure, "step ", state_.step, ": ", what,
         "; the training has diverged and writes no weights; a lower lr may help");
}

// Twice the initial loss or the loss of uniform guessing, whichever is larger.
double Run::loss_limit() const {
    return 2 * std::max(state_.first_loss, std::log(static_cast<double>(o_.blueprint.vocab_size)));
}

std::int64_t Run::steps_above_limit() const {
    const auto below =
        std::find_if(state_.losses.rbegin(), state_.losses.rend(), [&](double loss) { return loss <= loss_limit(); });
    return below - state_.losses.rbegin();
}

// Finite weights may still be useless. A loss may also jump up and recover.
void Run::check_loss(std::int64_t patience) const {
    if (steps_above_limit() > patience)
        diverged(joined<4>("the loss is ", state_.losses.back(), " and has been above ", loss_limit(), " for ",
                           steps_above_limit(), " steps"));
}

// Averaging would hide differences between ranks: other files, another version, or kernels that round differently.
void Run::check_ranks() {
    if (ranks::count() == 1 || ranks::same(digest_of(conditions(), state_.step, parameters_.values()))) return;
    fail(ErrorCode::failure, "step ", state_.step, ": expected ranks with the same files, version and processors");
}

void Run::check_weights() {
    check_ranks();
    if (first_not_finite(parameters_.values()) == parameters_.size()) return;
    for (int i = 0; i < parameters_.count(); ++i) {
        const View v = parameters_.value(i);
        const auto n = static_cast<std::size_t>(v.rows) * static_cast<std::size_t>(v.cols);
        if (first_not_finite({v.data, n}) < n) diverged("tensor " + parameters_.specs()[i].name + " is not finite");
    }
}

void Run::one_step() {
    const bool finishing = state_.step >= finish_step_ && finish_;
    Corpus& corpus = finishing ? *finish_ : corpus_;
    const std::int64_t first = (finishing ? state_.step - finish_step_ : state_.step) * o_.batch + first_of_share_;
    const auto length = static_cast<std::size_t>(o_.blueprint.context);
    for (int i = 0; i < share_; ++i) {
        const auto at = static_cast<std::size_t>(i) * length;
        corpus.window(corpus.shuffled(o_.seed, first + i), std::span(tokens_).subspan(at, length),
                      std::span(targets_).subspan(at, length));
        if (!positions_.empty())
            randomised_positions(o_.seed, static_cast<std::uint64_t>(state_.step * o_.batch + first_of_share_ + i),
                                 o_.randomised_positions, std::span(positions_).subspan(at, length));
    }
    const Dropout dropout{o_.dropout, o_.seed + (static_cast<std::uint64_t>(ranks::rank()) << 32),
                          static_cast<std::uint64_t>(state_.step)};
    const double lr = schedule()(state_.step);
    const auto [loss, norm] = take_step(network_, optimizer_, {tokens_, targets_, {}, positions_},
                                        {lr, o_.weight_decay, o_.clip, lr * o_.muon_scale}, dropout, ranks::mean);
    state_.step += 1;
    if (!std::isfinite(loss)) diverged("the loss is not finite");
    if (!std::isfinite(norm)) diverged("the gradient is not finite");
    state_.losses.push_back(loss);
    if (state_.step == 1) state_.first_loss = loss;
    if (state_.losses.size() > State::kept_losses) state_.losses.erase(state_.losses.begin());
    check_loss(20);
    log_.add(csv_row(state_.step, state_.step * step_tokens_, lr, loss, norm, progress_.tokens_per_second()));
    progress_.step(state_.step, steps_, step_tokens_, loss);
}

// ---- The held-out text --------------------------------------------------------------------------

std::int64_t Run::windows_of(std::int64_t most_tokens) const {
    return std::min(validation_.windows(), std::max<std::int64_t>(1, most_tokens / o_.blueprint.context));
}

// The mean over windows spread evenly over the held-out text. Nothing if interrupt() came first.
std::optional<double> Run::held_out(std::int64_t most_tokens) {
    const auto length = static_cast<std::size_t>(o_.blueprint.context);
    const std::int64_t all = validation_.windows(), windows = windows_of(most_tokens);
    double total = 0;
    for (std::size_t at = 0; at < positions_.size(); at += length)
        even_positions(o_.randomised_positions, std::span(positions_).subspan(at, length));
    for (std::int64_t first = 0; first < windows; first += o_.batch) {
        if (ranks::any(interrupted)) return std::nullopt;
        progress_.evaluating(first, windows);
        const std::int64_t mine = first + first_of_share_, n = std::min<std::int64_t>(share_, windows - mine);
        if (n <= 0) continue;
        std::fill(targets_.begin(), targets_.end(), -1); // rows without a window are not scored
        for (std::int64_t i = 0; i < n; ++i) {
            const std::size_t at = static_cast<std::size_t>(i) * length;
            validation_.window((mine + i) * all / windows, std::span(tokens_).subspan(at, length),
                               std::span(targets_).subspan(at, length));
        }
        total += network_.loss({tokens_, targets_, {}, positions_}) * static_cast<double>(n);
    }
    ranks::sum({&total, 1});
    return total / static_cast<double>(windows);
}

// After every eval_every steps and after the last step, unless it was done before a checkpoint.
bool Run::evaluation_is_due() const {
    return state_.step > state_.evaluated && (state_.step % o_.eval_every == 0 || state_.step == steps_);
}

// False if interrupt() came first. Then the resumed run makes up for it.
bool Run::evaluate() {
    check_weights();
    const std::optional<double> loss = held_out(o_.eval_tokens);
    if (!loss) return false;
    if (!std::isfinite(*loss)) diverged("the held-out loss is not finite");
    state_.evaluated = state_.step;
    state_.validation_loss = *loss;
    if (state_.best_step == 0 || *loss < state_.best_loss) {
        state_.best_step = state_.step;
        state_.best_loss = *loss;
        if (best_.size() > 0) std::copy(parameters_.values().begin(), parameters_.values().end(), best_.begin());
    }
    log_.add(csv_validation(state_.step, state_.step * step_tokens_, *loss));
    progress_.evaluated(state_.step, steps_, state_.losses.back(), *loss);
    return true;
}

// ---- Files --------------------------------------------------------------------------------------

Floats Run::floats() {
    return {parameters_.values(), optimizer_.gradient_averages(), optimizer_.square_averages(), best_};
}

// The log comes first: a checkpoint must not refer to rows that do not exist.
void Run::save() {
    check_weights();
    if (ranks::rank() > 0) return;
    if (log_.is_open()) state_.log_bytes = log_.flush();
    if (!o_.checkpoint.empty()) save_checkpoint(o_.checkpoint, conditions(), state_, floats());
}

void Run::write(const Result& result, const std::filesystem::path& file_name) {
    if (ranks::rank() > 0) return;
    ModelFile file{o_.blueprint, encodings_.spec(),    tokenizer_->to_json(), record(result), {},
                   {},           stored_type(o_.dtype)};
    for (int i = 0; i < parameters_.count(); ++i) {
        file.specs.push_back(parameters_.specs()[i]);
        file.values.push_back(parameters_.value(i));
    }
    write_model(file_name, file);
}

Metadata Run::record(const Result& result) const {
    Metadata m = recipe(o_, sources());
    m["command"] = o_.command;
    if (!o_.processor.empty()) m["processor"] = o_.processor;
    m["tokens"] = std::to_string(result.tokens);
    if (tokens_before_ > 0) m["init.tokens"] = std::to_string(tokens_before_);
    m["train_loss"] = joined(result.train_loss);
    m["validation_loss"] = joined(result.validation_loss);
    m["keep"] = o_.keep == Keep::best ? "best" : "last";
    m["kept.tokens"] = std::to_string(result.kept_tokens);
    if (o_.keep == Keep::best) { // the settings that determine which weights are best
        m["keep.every"] = std::to_string(o_.eval_every);
        m["keep.windows"] = std::to_string(windows_of(o_.eval_tokens));
    }
    if (finish_) m["finish.seen"] = std::to_string((steps_ - finish_step_) * step_tokens_);
    return m;
}

// ---- The run ------------------------------------------------------------------------------------

Result Run::train() {
    if (!o_.checkpoint.empty() && !std::filesystem::exists(o_.checkpoint)) { // before the log has rows
        if (o_.on_step) o_.on_step(state_.step);
        save();
    }
    if (evaluation_is_due() && !evaluate()) return stop();
    while (state_.step < steps_) {
        if (ranks::any(interrupted)) return stop();
        one_step();
        if (o_.on_step) o_.on_step(state_.step);
        if (evaluation_is_due() && !evaluate()) return stop();
        if (state_.step % o_.checkpoint_every == 0) save();
    }
    return finish();
}

double Run::mean_of_last_losses() const {
    double mean = 0;
    for (const double loss : state_.losses) mean += loss / static_cast<double>(state_.losses.size());
    return mean;
}

Result Run::stop() {
    interrupted = false;
    save();
    const std::int64_t seen = state_.step * step_tokens_;
    Result result{mean_of_last_losses(), state_.validation_loss, 0, seen, seen, true, {}};
    if (!o_.checkpoint.empty() || state_.step == 0) return result;
    write(result, result.partial = o_.out.string() + ".partial");
    return result;
}

Result Run::finish() {
    if (!keeps_earlier()) check_loss(0);
    warn_of_rise();
    Result result{.tokens = steps_ * step_tokens_};
    result.train_loss = mean_of_last_losses();
    result.kept_tokens = (keeps_earlier() ? state_.best_step : steps_) * step_tokens_;
    std::exception_ptr not_written;
    bool scored = false;
    { // the kept weights take the place of the last ones
        const Exchange kept(keeps_earlier() ? parameters_.values() : std::span<float>(), best_);
        check_weights();
        scored = score_kept(result);
        try {
            if (scored) write(result, o_.out);
        } catch (const Error&) {
            not_written = std::current_exception();
        }
    }
    if (!scored) return stop();
    result.bits_per_byte = result.validation_loss / std::numbers::ln2 * static_cast<double>(validation_.tokens()) /
                           static_cast<double>(validation_.text_bytes());
    save(); // if one of the weights and the checkpoint cannot be written, the other still is
    if (not_written) std::rethrow_exception(not_written);
    return result;
}

// Covers the whole held-out text. False if interrupt() came first.
bool Run::score_kept(Result& result) {
    if (windows_of(o_.eval_tokens) == validation_.windows()) { // that evaluation covered the whole text
        result.validation_loss = keeps_earlier() ? state_.best_loss : state_.validation_loss;
        return true;
    }
    const std::optional<double> loss = held_out(std::numeric_limits<std::int64_t>::max());
    if (!loss) return false;
    if (!std::isfinite(*loss)) diverged("the held-out loss is not finite");
    result.validation_loss = *loss;
    return true;
}

void Run::warn_of_rise() const {
    if (o_.on_warning && state_.best_step != steps_)
        o_.on_warning(joined<4>("the held-out loss rose from ", state_.best_loss, " at step ", state_.best_step, " to ",
                                state_.validation_loss, " at the last step, ", steps_, "; the weights of step ",
                                keeps_earlier() ? state_.best_step : steps_, " are kept"));
}

} // namespace

Result run(const Options& options) {
    interrupted = false;
    Options mine = options;
    if (ranks::rank() > 0) mine.progress = false, mine.on_warning = {};
    return Run(mine).train();
}

void interrupt() {
    interrupted = true;
}

} // namespace ordo::train
