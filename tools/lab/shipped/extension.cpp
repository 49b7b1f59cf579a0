// SPDX-License-Identifier: MIT
// Rotary weights beyond their trained length: the gain from scaled frequencies without training.
#include "tools/lab/shipped/extension_costs.h"

namespace ordo::lab {
namespace extension_file {

using namespace extension;

// The costs of the last tokens with the factor of the length.
const Costs& last_of(const Extension& one, std::size_t method, int multiple) {
    return one.fitted.at({method, multiple}).last;
}

const char* better_or_not(const Mean& more) {
    if (more.mean == 0 && more.half == 0) return "the same";
    return worded(above(more.interval(), 0), "worse", "better", "undecided");
}

void add_rows(Figures& figures, const Extension& one) {
    for (const auto& [name, all] : {std::pair{"of the length", &one.fitted}, {"8", &one.greatest}})
        for (std::size_t m = 0; m < std::size(methods); ++m) {
            if (all == &one.greatest && !methods[m].takes_factor) continue; // the same curve
            for (const int multiple : multiples) {
                const AtLength &here = all->at({m, multiple}), &plain = all->at({none, multiple});
                const Mean more = m == none ? Mean{NAN, NAN} : paired(here.last, plain.last);
                add_row(figures, one.file.name, methods[m].name, methods[m].takes_factor ? name : "-", multiple,
                        std::exp(here.last.mean()), std::exp(here.whole.mean()), more,
                        m == none ? "-" : better_or_not(more));
            }
        }
}

// The perplexity of the last tokens, for each factor and length.
void add_factors(Figures& figures, const Extension& one) {
    for (std::size_t m = 0; m < std::size(methods); ++m)
        for (const auto& [factor, costs] : one.by_factor) {
            if (!costs.contains({m, multiples[0]})) continue;
            Vector row;
            for (const int multiple : multiples) row.push_back(std::exp(costs.at({m, multiple}).last.mean()));
            add_row(figures, one.file.name, methods[m].name, factor, row);
        }
}

// What the table of factors says to do.
std::string advice_of(const Extension& one) {
    const auto last = [&](std::size_t m) -> const Costs& { return last_of(one, m, most_multiple); };
    std::size_t best = linear;
    for (std::size_t m = 0; m < std::size(methods); ++m)
        if (methods[m].takes_factor && last(m).mean() < last(best).mean()) best = m;
    std::string level; // methods that cost no more beyond chance
    for (std::size_t m = 0; m < std::size(methods); ++m)
        if (methods[m].takes_factor && above(paired(last(m), last(best)).interval(), 0) != Verdict::held)
            append(level, methods[m].name, " or ");
    const Mean early = paired(one.greatest.at({best, 1}).last, last_of(one, none, 1));
    return told(
        "Scale by the length of the text over the trained length, with {}, and for long texts alone: texts of the "
        "trained length cost {}{} nats a token more under {} with factor {} ({}).",
        level, figure(early.mean, 2), margin(early.half), methods[best].name, most_multiple, better_or_not(early));
}

// The extra cost of the last tokens under a growing cache, over angles of the whole length.
Picture add_caches(Figures& figures, const Extension& one, const Text& held, const Request& request) {
    Curves curves{.references = {{"one set of angles", 0}}, .log_x = true, .interval = "95 % interval"};
    Series& curve = curves.add("keys as cached", Series::Style::line_points);
    const std::vector<tools::Document> documents =
        long_documents(held, Model::load(one.file.file), request.quick ? 3 : 1000);
    for (const int multiple : {2, 4, most_multiple}) {
        request.progress(told("{} with a cache of dynamic at {}x", one.file.name, multiple));
        const int length = multiple * one.file.context;
        const Model growing = load_growing(one.file, length);
        const Mean more =
            paired(measure(growing, documents, one.file.context, length).last, last_of(one, dynamic, multiple));
        add_row(figures, one.file.name, multiple, more, better_or_not(more));
        curve.add(multiple, more.mean, more.mean - more.half, more.mean + more.half);
    }
    return {"cached-keys", "Dynamic NTK with a cache: keys keep the angle of an earlier length",
            told("length of the text, in trained lengths of {} tokens", one.file.context),
            "extra nats per token, over one set of angles", curves};
}

Picture picture_of(const Extension& one, bool fitted) {
    Curves curves{.log_x = true, .log_y = true};
    Names names;
    for (std::size_t m = 0; m < std::size(methods); ++m) {
        names.emplace_back(m == none ? "no scaling" : methods[m].name);
        Series& curve = curves.add(names.back(), Series::Style::line_points);
        for (const int multiple : multiples)
            curve.add(multiple, std::exp((fitted ? one.fitted : one.greatest).at({m, multiple}).last.mean()));
    }
    return {one.file.name + (fitted ? "-fitted" : "-factor-8"),
            told("{}, scaled by {}: perplexity at {}x {}", one.file.name,
                 fitted ? "the length of the window" : "8 at every length", most_multiple,
                 ends_of(names, [&](std::size_t m) { return curves.series[m].y.back(); })),
            told("window, in trained lengths of {} tokens", one.file.context),
            told("perplexity of the last {} tokens", one.file.context / 2), curves};
}

void judge(const std::vector<Extension>& all, Result& result) {
    Expectations expectations;
    // The first costs more than the second.
    const auto expect = [&](const char* sentence, std::initializer_list<int> at, const auto& over, const auto& under) {
        Judgement& cases = expectations.expect(sentence);
        for (const Extension& one : all)
            for (const int multiple : at)
                cases.add(above(paired(over(one, multiple), under(one, multiple)).interval(), 0),
                          told("{} at {}x", one.file.name, multiple));
    };
    const auto fitted = [](std::size_t method) {
        return [method](const Extension& one, int multiple) { return last_of(one, method, multiple); };
    };
    const auto unscaled = [](const Extension& one, int) { return last_of(one, none, 1); };
    const std::initializer_list<int> longer = {2, 4, 8};
    expect("Without scaling the last tokens cost more at 2, 4 and 8 times the trained length than at it.", longer,
           fitted(none), unscaled);
    expect("ntk with the factor of the length costs less than linear, at each length beyond the trained one: it keeps "
           "the fast pairs, on which the weights rely (bloc97 2023).",
           longer, fitted(linear), fitted(ntk));
    expect("yarn with the factor of the length costs less than linear, at each length beyond the trained one (Peng et "
           "al. 2023).",
           longer, fitted(linear), fitted(yarn));
    const auto by_8 = [](const Extension& one, int multiple) { return one.greatest.at({linear, multiple}).last; };
    expect("At the trained length itself, linear scaling by 8 costs more than no scaling.", {1}, by_8, unscaled);
    expect("Without training, p-RoPE costs more than no scaling at the trained length: training gave its slowest pairs "
           "a position.",
           {1}, fitted(p_rope), unscaled);
    expectations.write_to(result);
}

// The methods at a length, the lowest perplexity first.
std::string ranking_of(const Extension& one, int multiple) {
    Vector means;
    for (std::size_t m = 0; m < std::size(methods); ++m) means.push_back(last_of(one, m, multiple).mean());
    const std::vector<std::size_t> order = ranked(means);
    std::string ranking;
    for (const std::size_t m : order)
        append(ranking, told("{} with {}", figure(std::exp(means[m]), 4), methods[m].name));
    const Mean ahead = paired(last_of(one, order[1], multiple), last_of(one, order[0], multiple));
    return told("At {}x, the last tokens of {} have a perplexity of {}. {} {} ahead of {}: {}{} nats.", multiple,
                one.file.name, ranking, methods[order[0]].name,
                above(ahead.interval(), 0) == Verdict::held ? "is" : "is not surely", methods[order[1]].name,
                figure(ahead.mean, 2), margin(ahead.half, 2));
}

Result run(const Request& request) {
    const Text held = held_out(request);
    Result result;
    Figures &factors =
                result.table("factors", "Perplexity of the last tokens by method and factor, at 1 to 8 trained lengths",
                             {"model", "method", "factor", "1x", "2x", "4x", "8x"}, 1),
            &caches =
                result.table("caches", "Dynamic NTK with keys that were cached at earlier lengths: the extra cost",
                             {"model", "of_trained", "nats_more", "half", "verdict"}, 3),
            &lengths = result.table(
                "lengths", "Perplexity by length and method, and the extra cost of the last tokens over no scaling",
                {"model", "method", "factor", "of_trained", "ppl_last", "ppl_whole", "nats_over_none", "half",
                 "verdict"},
                3);
    std::vector<Extension> all;
    for (const Trained& file : rotary_models(request)) {
        const Extension& one = all.emplace_back(measure_file(file, held, request));
        add_rows(lengths, one);
        add_factors(factors, one);
        for (const bool fitted : {true, false}) result.pictures.push_back(picture_of(one, fitted));
        for (const int multiple : {2, 8}) result.found.push_back(ranking_of(one, multiple));
    }
    judge(all, result);
    result.pictures.push_back(add_caches(caches, all[0], held, request));
    result.answer = told("Without scaling, perplexity rises from {} to {} at {} times the trained length. {} {}",
                         figure(std::exp(last_of(all[0], none, 1).mean())),
                         figure(std::exp(last_of(all[0], none, most_multiple).mean())), most_multiple,
                         ranking_of(all[0], most_multiple), advice_of(all[0]));
    result.notes = {
        told("factor: \"of the length\" is the window over the trained length, and 8 is the same at every length. "
             "dynamic (factor 2) follows the length by itself. p-rope (keep=0.75: the slowest quarter of the pairs "
             "does not rotate) has no factor. Text: {}.",
             held.name),
        "ppl_last is of the same tokens at every length, each with at least half a trained length before it. ppl_whole "
        "is of disjoint windows; at short lengths, more of their tokens have little text before them.",
        told("half is the half-width of the 95 % interval of the difference on the same tokens, Student's over {} "
             "documents. One model and one text say nothing about others.",
             last_of(all[0], none, 1).sums.size())};
    return result;
}

} // namespace extension_file

const Experiment extension_experiment{
    .name = "extension",
    .summary = "How far does scaling RoPE help without training?",
    .details =
        "Perplexity of the shipped RoPE weights at 1 to 8 times their trained length: without scaling, and with "
        "linear, ntk, yarn, Llama 3's scaling, dynamic and p-RoPE, on the same tokens, with intervals over documents. "
        "Chen et al. 2023, arXiv 2306.15595; bloc97 2023; Peng et al. 2023, arXiv 2309.00071; Barbero et al. 2024, "
        "arXiv 2410.06205.",
    .options = {"model", "corpus"},
    .seconds = {70, 25},
    .run = extension_file::run};

} // namespace ordo::lab
