// SPDX-License-Identifier: MIT
// Train short, test long: is ALiBi trained at a length as good at twice that length as sinusoids trained there, and how
// much does it save? Press, Smith and Lewis 2022, arXiv 2108.12409, section 4, claim both, and that at equal length it
// is ahead of sinusoids, rotary and T5's bias.
#include "core/memory.h"
#include "core/parallel.h"
#include "io/base_name.h"
#include "io/file.h"
#include "tools/cli/inputs.h"
#include "tools/cli/one_thread.h"
#include "tools/lab/study/grid.h"
#include "tools/lab/trained/letter_source.h"
#include "tools/model/scores.h"
#include "training.h"

#include <ctime>
#include <malloc.h>

namespace ordo::lab {
namespace {

constexpr int full_steps = 3000, rows = 512; // rows: tokens in a step, for every sequence length
constexpr int bucket = 8;                    // positions for each point of the picture

// Nats by position in windows of 2 L, [2 L], mean over the windows, of each seed.
using Costs = std::vector<Vector>;

struct Arm {
    int times;            // in short lengths
    std::size_t encoding; // of `encodings`
};
const std::vector<std::string> encodings{"alibi", "sinusoidal", "rope", "t5"};
constexpr Arm short_alibi{1, 0}, long_sinusoidal{2, 1}, short_sinusoidal{1, 1}, long_alibi{2, 0}, long_rope{2, 2},
    long_t5{2, 3};
constexpr Arm arms[] = {short_alibi, long_sinusoidal, short_sinusoidal, long_alibi, {1, 2}, long_rope, {1, 3}, long_t5};

constexpr std::pair<Arm, Arm> compared[] = {
    {short_alibi, long_sinusoidal}, {short_alibi, long_alibi}, {short_sinusoidal, long_sinusoidal},
    {long_alibi, long_sinusoidal},  {long_alibi, long_rope},   {long_alibi, long_t5},
    {short_alibi, short_sinusoidal}};

struct Plan {
    LetterSource source;
    std::string text; // the training text, for a sentence
    int length = 32;  // L
    int seeds = 3, steps = full_steps, windows = 256, timed = 40;
    bool quick = false;

    bool made() const { return source.vocabulary() == LetterSource::letters; } // whether the texts are made here
    std::string name(const Arm& arm) const {
        return lab::text(encodings[arm.encoding], " trained at ", length * arm.times);
    }
};

Recipe recipe_of(const Plan& plan, int times) {
    const int length = plan.length * times;
    Recipe r{.trunk = small_trunk(plan.source.vocabulary(), length, 2),
             .batch = rows / length,
             .length = length,
             .steps = plan.steps,
             .positions = 2 * plan.length};
    r.draw_each([&, length](std::uint64_t seed, std::uint64_t number, std::span<Token> tokens, auto targets) {
        const std::vector<Token> window = plan.source.window(seed, number, length);
        std::copy_n(window.begin(), length, tokens.begin());
        std::copy_n(window.begin() + 1, length, targets.begin());
    });
    return r;
}

Vector costs_of(const Plan& plan, const Model& model, std::uint64_t seed) {
    const int length = 2 * plan.length;
    Session session = small_session(model, length);
    Vector out(length);
    for (int i = 0; i < plan.windows; ++i) {
        const Vector nll = tools::score_window(session, plan.source.window(seed, i, length, true));
        for (std::size_t at = 0; at < out.size(); ++at) out[at] += nll[at] / plan.windows;
    }
    return out;
}

// ---- The cost of a step -----------------------------------------------------------------------

std::size_t memory_taken() {
    const auto heap = mallinfo2();
    return mapped_bytes() + heap.uordblks + heap.hblkhd;
}

// Time of the calling thread. On a busy machine the wall clock also measures other work.
double processor_seconds() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// A trainer of an arm's model and batch, constructed as usual.
struct TimedTrainer {
    Recipe recipe;
    std::optional<Trainer> trainer;
    std::vector<Token> tokens, targets;
    double bytes = 0;
    Vector milliseconds;

    TimedTrainer(const Plan& plan, const Arm& arm, std::uint64_t seed, Meter& meter)
        : recipe(recipe_of(plan, arm.times)), tokens(rows), targets(rows) {
        recipe.steps = 0;
        const Model model = small_model(recipe, encodings[arm.encoding], seed, meter);
        const std::size_t before = memory_taken();
        trainer.emplace(model, TrainingOptions{.batch = recipe.batch, .length = recipe.length});
        step(0);
        bytes = static_cast<double>(memory_taken() - before);
        milliseconds.clear(); // the first step also fills caches
    }
    void step(int number) {
        recipe.draw(1, number, tokens, targets);
        const double start = processor_seconds();
        trainer->step(tokens, targets, 1e-3);
        milliseconds.push_back(1e3 * (processor_seconds() - start));
    }
};

// Of alibi at L, and of sinusoidal at 2 L.
struct StepCosts {
    double milliseconds[2]; // medians
    double mebibytes[2];
    Mean log_ratio; // of the first time over the second, over pairs of consecutive steps

    Verdict faster() const { return below(log_ratio.interval(), 0); }
};

double median(Vector values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Alternates the two, so that other load on the machine affects both.
StepCosts measure_steps(const Plan& plan, const Request& request) {
    const tools::OneThread alone; // the models are also trained on one thread
    Meter meter(1, "", request.progress);
    TimedTrainer a(plan, short_alibi, request.seed, meter), b(plan, long_sinusoidal, request.seed, meter);
    Vector ratios;
    for (int i = 1; i <= plan.timed; ++i) {
        request.progress(text("step ", i, " of ", plan.timed));
        a.step(i), b.step(i);
        ratios.push_back(std::log(a.milliseconds.back() / b.milliseconds.back()));
    }
    return {{median(a.milliseconds), median(b.milliseconds)}, {a.bytes / 1048576, b.bytes / 1048576}, mean_of(ratios)};
}

// ---- Comparisons ------------------------------------------------------------------------------

Vector means_of(const Costs& seeds) {
    Vector out;
    for (const Vector& costs : seeds) out.push_back(sample_of(costs).mean());
    return out;
}

// A model that costs less has learnt most of a text's table: two thirds of the way from guessing to its entropy.
double learnt_below() {
    const double guessing = std::log(LetterSource::letters);
    return guessing - 2 * (guessing - LetterSource::entropy()) / 3;
}

// The costs of all arms, and their differences, paired by seed.
struct Study {
    const Plan& plan;
    Grid<Vector> grid; // [times - 1][encoding][seed]

    Study(const Plan& the_plan, const Request& request) : plan(the_plan) {
        const GridPlan cells{{recipe_of(plan, 1), recipe_of(plan, 2)}, encodings, plan.seeds};
        grid = train_grid<Vector>(cells, request.seed, request.progress, [&](const Model& model, const GridCell&) {
            return costs_of(plan, model, request.seed);
        });
    }
    const Costs& costs(const Arm& arm) const { return grid[arm.times - 1][arm.encoding]; }
    double mean(const Arm& arm) const { return sample_of(means_of(costs(arm))).mean(); }
    Mean difference(const Arm& a, const Arm& b) const { return mean_of(minus(means_of(costs(a)), means_of(costs(b)))); }
    // Whether a costs less than b, if both have learnt the texts; undecided for --quick, which trains less.
    Verdict less(const Arm& a, const Arm& b) const {
        if (!unlearnt({a, b}).empty()) return Verdict::untested;
        return plan.quick ? Verdict::undecided : below(difference(a, b).interval(), 0);
    }
    // "In windows of 128, alibi trained at 64 costs 0.12 +- 0.03 nats a letter less than sinusoidal trained at 128"
    std::string sentence(const Arm& a, const Arm& b) const {
        const Mean d = difference(a, b);
        const std::string size = text(figure(std::abs(d.mean), 2), margin(d.half), " nats a letter ");
        const std::string head = text("In windows of ", 2 * plan.length, ", ");
        if (less(a, b) == Verdict::untested)
            return text(head, plan.name(a), " is not compared with ", plan.name(b), ": ", unlearnt({a, b}));
        if (const Verdict verdict = less(a, b); verdict != Verdict::undecided)
            return text(head, plan.name(a), " costs ", size, worded(verdict, "less", "more", ""), " than ",
                        plan.name(b));
        return text(head, "it is undecided whether ", plan.name(a), " costs less than ", plan.name(b), " (", size,
                    d.mean < 0 ? "less" : "more", plan.quick ? "; --quick trains too little to decide)" : ")");
    }
    // Whether a seed has learnt the texts, up to its trained length. For the bytes of a file the learnable part is
    // unknown, and the answer is true.
    bool learnt(const Arm& arm, std::span<const double> nats) const {
        const auto trained = static_cast<std::size_t>(plan.length * arm.times);
        return !plan.made() || sample_of(nats.first(trained)).mean() < learnt_below();
    }
    int learnt(const Arm& arm) const {
        return static_cast<int>(
            std::ranges::count_if(costs(arm), [&](const Vector& nats) { return learnt(arm, nats); }));
    }
    // The arms that have not, in words: "sinusoidal trained at 128 has learnt the texts in 1 of 5 seeds".
    std::string unlearnt(const std::vector<Arm>& all) const {
        std::string out;
        for (const Arm& arm : all)
            if (learnt(arm) < plan.seeds)
                append(out,
                       text(plan.name(arm), " has learnt the texts in ", learnt(arm), " of ", plan.seeds, " seeds"));
        return out;
    }
};

// ---- Tables, pictures, sentences --------------------------------------------------------------

Figures runs_of(const Study& study) {
    Figures figures{{"model", "trained_at", "seed", "nats_at_2l", "first_half", "second_half", "learnt"}, {}, 4};
    const auto mean = [](std::span<const double> costs) { return sample_of(costs).mean(); };
    const auto half = static_cast<std::size_t>(study.plan.length);
    for (const Arm& arm : arms)
        for (std::size_t seed = 0; seed < study.costs(arm).size(); ++seed) {
            const std::span<const double> costs = study.costs(arm)[seed];
            add_row(figures, encodings[arm.encoding], study.plan.length * arm.times, seed, mean(costs),
                    mean(costs.first(half)), mean(costs.last(half)), study.learnt(arm, costs));
        }
    return figures;
}

Figures pairs_of(const Study& study) {
    Figures figures{{"model", "against", "nats_more", "half", "verdict"}, {}, 4};
    for (const auto& [a, b] : compared) {
        const Verdict verdict = study.less(a, b);
        add_row(figures, study.plan.name(a), study.plan.name(b), study.difference(a, b),
                verdict == Verdict::untested ? "not learnt" : worded(verdict, "less", "more", "undecided"));
    }
    return figures;
}

Figures table_of(const Plan& plan, const StepCosts& steps) {
    Figures figures{{"model", "milliseconds", "mebibytes"}, {}, 2};
    for (const std::size_t i : {0, 1}) add_row(figures, plan.name(arms[i]), steps.milliseconds[i], steps.mebibytes[i]);
    return figures;
}

Picture picture_of(const Study& study) {
    const Plan& plan = study.plan;
    Curves curves;
    for (const Arm& arm : arms) {
        Series& curve = curves.add(plan.name(arm), Series::Style::line_points);
        for (int at = 0; at < 2 * plan.length; at += bucket) {
            Sample sample;
            for (const Vector& costs : study.costs(arm))
                for (int i = at; i < at + bucket; ++i) sample.add(costs[i]);
            curve.add(at + bucket / 2.0, sample.mean());
        }
    }
    if (plan.made()) curves.references = {{"the best possible", LetterSource::entropy()}};
    return {
        "by-position", study.sentence(short_alibi, long_sinusoidal),
        text("position in windows of ", 2 * plan.length, " (trained up to ", plan.length, " or ", 2 * plan.length, ")"),
        "nats a letter", std::move(curves)};
}

// The time and memory of a step, for a sentence.
std::string step_sentence(const Plan& plan, const StepCosts& steps) {
    const auto percent = [](double log) { return figure(100 * (std::exp(log) - 1), 2); };
    return text("A step of ", rows, " tokens takes ", figure(steps.milliseconds[0]),
                " ms of processor time with ALiBi at ", plan.length, " and ", figure(steps.milliseconds[1]),
                " ms with sinusoids at ", 2 * plan.length, " (", percent(steps.log_ratio.mean), " %, ",
                percent(steps.log_ratio.low()), " to ", percent(steps.log_ratio.high()),
                "): ", worded(steps.faster(), "ALiBi is faster", "ALiBi is slower", "it is undecided which is faster"),
                ". Training takes ", figure(steps.mebibytes[0]), " and ", figure(steps.mebibytes[1]), " MiB (",
                figure(100 * (steps.mebibytes[0] / steps.mebibytes[1] - 1), 2), " %).");
}

// How little so few seeds tell: ". Of all 7 comparisons, 5 seeds decide 1".
std::string decided(const Study& study) {
    int count = 0;
    for (const auto& [a, b] : compared)
        count += study.less(a, b) == Verdict::held || study.less(a, b) == Verdict::missed;
    return text(". Of all ", std::size(compared), " comparisons, ", counted(study.plan.seeds, "seed"),
                study.plan.seeds == 1 ? " decides " : " decide ", count, " (5 % each, without correction)");
}

std::string answer_of(const Study& study, const StepCosts& steps) {
    const bool quick = study.plan.quick;
    const Verdict less = study.less(short_alibi, long_sinusoidal);
    const std::string verdict = less == Verdict::untested
                                    ? text(", which says nothing: ", study.unlearnt({short_alibi, long_sinusoidal}))
                                    : worded(less, ": ALiBi is better", ": sinusoids are better",
                                             ": chance alone could explain the difference");
    return text(quick ? "After a twentieth of the training, " : "In windows of twice its trained length, ",
                study.plan.name(short_alibi), " tokens costs ", figure(study.mean(short_alibi)), " nats a letter, and ",
                study.plan.name(long_sinusoidal), " costs ", figure(study.mean(long_sinusoidal)),
                quick ? "; a full run decides which is better" : verdict, quick ? std::string() : decided(study),
                ". A step of ALiBi takes ", figure(steps.milliseconds[0], 2), " ms in place of ",
                figure(steps.milliseconds[1], 2), ".");
}

// The outcome of each expectation. Models that have not learnt the texts are no baseline.
Expectations expectations_of(const Study& study, const StepCosts& steps) {
    Expectations all;
    const std::string least = text(" (", figure(learnt_below()), " nats a letter or less; guessing costs ",
                                   figure(std::log(LetterSource::letters)), ")");
    const auto expect = [&](const char* sentence, const std::vector<Arm>& of) { // the first, less than each other
        Judgement& cases = all.expect(sentence, ": " + study.unlearnt(of) + least);
        for (const Arm& other : std::span(of).subspan(1)) cases.add(study.less(of[0], other), study.plan.name(other));
    };
    expect("ALiBi trained at L costs less in windows of 2 L than sinusoids trained at 2 L.",
           {short_alibi, long_sinusoidal});
    expect("Sinusoids trained at 2 L cost less there than sinusoids trained at L: they do not extrapolate.",
           {long_sinusoidal, short_sinusoidal});
    expect("Trained at 2 L, ALiBi costs less than sinusoids, RoPE and T5's bias.",
           {long_alibi, long_sinusoidal, long_rope, long_t5});
    Judgement& cheaper = all.expect("With the same number of tokens in a step, training ALiBi at L takes less time and "
                                    "less memory than training sinusoids at 2 L.");
    cheaper.add(steps.faster(), "time");
    cheaper.add(steps.mebibytes[0] < steps.mebibytes[1] ? Verdict::held : Verdict::missed, "memory");
    return all;
}

// ---- The experiment ---------------------------------------------------------------------------

Plan plan_of(const Request& request) {
    Plan plan;
    plan.quick = request.quick;
    plan.length = request.only("length", 32, 256);
    if (plan.length < bucket || rows % (2 * plan.length) != 0)
        fail(ErrorCode::usage, "option --length: expected a power of two from ", bucket, " to ", rows / 2,
             " for this experiment, found ", plan.length);
    if (request.quick) plan.steps = full_steps / 20, plan.windows = 32, plan.timed = 15;
    plan.seeds = request.integer("seeds", request.quick ? 3 : 5);
    plan.text = "made texts";
    if (request.arguments.has("corpus")) {
        const std::filesystem::path file = request.arguments.text("corpus");
        plan.text = printable(base_name(file));
        plan.source =
            LetterSource(tools::read_corpus(file.string(), std::size_t{1} << 30, request.arguments.has("quiet")),
                         plan.text, 2 * plan.length);
    }
    return plan;
}

Result run(const Request& request) {
    const Plan plan = plan_of(request);
    Result result;
    const StepCosts steps = measure_steps(plan, request);
    const Study study(plan, request);
    result.answer = answer_of(study, steps);
    for (const auto& [a, b] : compared)
        result.found.push_back(text(study.sentence(a, b), " (", counted(plan.seeds, "seed"), ")."));
    result.found.push_back(step_sentence(plan, steps));
    expectations_of(study, steps).write_to(result);
    result.tables = {{"runs", text("Nats a letter in windows of ", 2 * plan.length, ", of each run"), runs_of(study)},
                     {"pairs", study.sentence(short_alibi, long_sinusoidal) + "; differences in cost, paired by seed",
                      pairs_of(study)},
                     {"steps",
                      text("A step of training, ", rows, " tokens on one thread: median processor time, memory"),
                      table_of(plan, steps)}};
    result.pictures = {picture_of(study)};
    result.notes = {
        text("L is ", plan.length, ". Every model: 2 layers, d_model 64, 4 heads of 16; AdamW, ", plan.steps,
             " steps of ", rows, " tokens, in sequences of L or 2 L; ", plan.seeds, " seeds; measured on ",
             plan.windows,
             " windows of 2 L, the same for all. The verdicts are for this budget: an encoding that learns slowly may "
             "not have learnt to use the earlier text. A model is compared only if each of its seeds has learnt the "
             "texts: up to its trained length, it is two thirds of the way from guessing to the best possible."),
        plan.made() ? text("The training texts are generated, with ", LetterSource::letters,
                           " letters. Each text has its own table of the letter that follows each letter in ",
                           100 * LetterSource::regular,
                           " % of cases. The cost falls along a text for a model that finds this table in it. No "
                           "natural text is like that; --corpus trains on the bytes of one, without its last tenth.")
                    : text("The training text is the bytes of ", plan.text, "; its last tenth is for the measurement."),
        text("Differences are paired by seed, with Student's 95 % intervals over the seeds. A result is undecided if "
             "the interval contains zero",
             plan.quick ? ", and always with --quick, which trains a twentieth of the steps." : "."),
        "Steps of both kinds alternate, with the same number of tokens, and are measured in processor time; the "
        "interval is over pairs of steps. Memory is the memory of the library's trainer after its first step: weights, "
        "gradients, the optimiser's averages and activations. The engine never holds a matrix of all queries by all "
        "keys."};
    return result;
}

} // namespace

const Experiment train_short_experiment{
    .name = "train-short",
    .summary = "Is ALiBi, trained on short texts, as good as sinusoids trained on texts twice as long?",
    .details = "Small models trained in this run: ALiBi, sinusoids, RoPE and T5's bias, each at L and at 2 L, with the "
               "same number of tokens in a step, all measured in windows of 2 L; time and memory of a training step. "
               "The claim is "
               "from Press, Smith and Lewis 2022, arXiv 2108.12409.",
    .options = {"seeds", "corpus", "length"},
    .seconds = {300, 15},
    .run = run};

} // namespace ordo::lab
