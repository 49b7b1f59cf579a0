// SPDX-License-Identifier: MIT
// Models trained at a length and at twice that length, and their costs in windows of the longer one.
#pragma once

#include "tools/lab/study/grid.h"
#include "tools/lab/study/prelude.h"
#include "tools/lab/trained/letter_source.h"

namespace ordo::lab::train_short {

inline constexpr int rows = 512; // tokens in a step, for every sequence length
inline constexpr int bucket = 8; // positions for each point of the picture

// Nats by position in windows of 2 L, [2 L], mean over the windows, of each seed.
using Costs = std::vector<Vector>;

struct Arm {
    int times;            // in short lengths
    std::size_t encoding; // of `encodings`
};
inline const std::vector<std::string> encodings{"alibi", "sinusoidal", "rope", "t5"};
inline constexpr Arm short_alibi{1, 0}, long_sinusoidal{2, 1}, short_sinusoidal{1, 1}, long_alibi{2, 0},
    long_rope{2, 2}, long_t5{2, 3};
inline constexpr Arm arms[] = {short_alibi, long_sinusoidal, short_sinusoidal, long_alibi,
                               {1, 2},      long_rope,       {1, 3},           long_t5};

inline constexpr std::pair<Arm, Arm> compared[] = {
    {short_alibi, long_sinusoidal}, {short_alibi, long_alibi}, {short_sinusoidal, long_sinusoidal},
    {long_alibi, long_sinusoidal},  {long_alibi, long_rope},   {long_alibi, long_t5},
    {short_alibi, short_sinusoidal}};

struct ShortPlan {
    LetterSource source;
    std::string text; // the training text, for a sentence
    int length = 32;  // L
    int seeds = 3, steps = 3000, windows = 256, timed = 40;
    bool quick = false;

    bool made() const { return source.vocabulary() == LetterSource::letters; } // whether the texts are made here
    std::string name(const Arm& arm) const {
        return lab::text(encodings[arm.encoding], " trained at ", length * arm.times);
    }
};

ShortPlan short_plan(const Request& request);
// times: the length of the sequences, in short lengths.
Recipe short_recipe(const ShortPlan& plan, int times);

// A model that costs less has learnt most of a text's table: two thirds of the way from guessing to its entropy.
double learnt_below();

// The costs of all arms, and their differences, paired by seed.
struct ShortStudy {
    const ShortPlan& plan;
    Grid<Vector> grid; // [times - 1][encoding][seed]

    ShortStudy(const ShortPlan& the_plan, const Request& request);
    const Costs& costs(const Arm& arm) const { return grid[arm.times - 1][arm.encoding]; }
    Vector means(const Arm& arm) const {
        Vector out;
        for (const Vector& nats : costs(arm)) out.push_back(sample_of(nats).mean());
        return out;
    }
    Mean difference(const Arm& a, const Arm& b) const { return mean_of(minus(means(a), means(b))); }
    // Whether a seed has learnt the texts, up to its trained length. For the bytes of a file the learnable part is
    // unknown, and the answer is true.
    bool learnt(const Arm& arm, std::span<const double> nats) const {
        const auto trained = static_cast<std::size_t>(plan.length * arm.times);
        return !plan.made() || sample_of(nats.first(trained)).mean() < learnt_below();
    }
    // Whether a costs less than b, if every seed of both has learnt the texts; undecided for --quick, which trains
    // less.
    Verdict less(const Arm& a, const Arm& b) const {
        for (const Arm& arm : {a, b})
            for (const Vector& nats : costs(arm))
                if (!learnt(arm, nats)) return Verdict::untested;
        return plan.quick ? Verdict::undecided : below(difference(a, b).interval(), 0);
    }
    const char* word(const Arm& a, const Arm& b) const {
        const Verdict verdict = less(a, b);
        return verdict == Verdict::untested ? "not learnt" : worded(verdict, "less", "more", "undecided");
    }
    // "alibi trained at 64 less sinusoidal trained at 128, nats a letter in windows of 128: -0.12 +- 0.03 (less)"
    std::string sentence(const Arm& a, const Arm& b) const {
        const Mean d = difference(a, b);
        return told("{} less {}, nats a letter in windows of {}: {}{} ({})", plan.name(a), plan.name(b),
                    2 * plan.length, figure(d.mean, 2), margin(d.half), word(a, b));
    }
};

// Of a training step of short_alibi and of long_sinusoidal, in turns, so that other load on the machine affects both:
// medians of processor time on one thread, and the memory of a trainer after its first step.
struct StepCosts {
    double milliseconds[2], mebibytes[2];
    Mean log_ratio; // of the first time over the second, over pairs of consecutive steps
};
StepCosts measure_steps(const ShortPlan& plan, const Request& request);

} // namespace ordo::lab::train_short
