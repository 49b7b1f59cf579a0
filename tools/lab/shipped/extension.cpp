// SPDX-License-Identifier: MIT
// Rotary weights beyond their trained length: the gain from scaled frequencies without training.
#include "tools/lab/shipped/extrapolation.h"
#include "tools/lab/study/answers.h"

namespace ordo::lab {
namespace {

constexpr int multiples[] = {1, 2, 4, 8}; // of the trained length
constexpr int most_multiple = 8;

// A scaling method: the suffix after the trained spec, followed by the factor if the method takes one.
struct Method {
    const char *name, *suffix;
    bool takes_factor;
};
constexpr Method methods[] = {
    {"none", "", false},
    {"linear", ",scaling=linear,factor=", true},
    {"ntk", ",scaling=ntk,factor=", true},
    {"yarn", ",scaling=yarn,factor=", true},
    {"dynamic", ",scaling=dynamic,factor=2", false},
    {"p-rope", ",keep=0.75", false},
};
constexpr std::size_t none = 0, linear = 1, ntk = 2, yarn = 3, p_rope = 5;

// Nats of documents: a sum and a count for each document.
struct Costs {
    Vector sums, counts;
    double mean() const { return mean_of_sums(sums, counts).mean; }
};
struct AtLength {
    Costs whole, last;
};
// [method][multiple]. For methods with a factor: `fitted` uses the factor for the length, `greatest` the largest factor
// at every length.
struct Measured {
    Trained file;
    std::map<std::pair<std::size_t, int>, AtLength> fitted, greatest;
};

// The extra cost of `over` compared with `under` on the same tokens.
Mean paired(const Costs& over, const Costs& under) {
    return mean_of_sums(minus(over.sums, under.sums), over.counts);
}

// ---- Measuring --------------------------------------------------------------------------------

Costs by_document(const Vector& values, const std::vector<int>& documents) {
    Costs out;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i == 0 || documents[i] != documents[i - 1]) out.sums.push_back(0), out.counts.push_back(0);
        out.sums.back() += values[i], ++out.counts.back();
    }
    return out;
}

AtLength measure(const Model& model, std::span<const tools::Document> documents, int trained, int length) {
    const WindowPlan plan{.lengths = {trained, most_multiple * trained}, .step = trained, .tail = trained / 2};
    const WindowLosses losses = measure_windows(model, documents, plan, length);
    return {by_document(losses.whole, losses.whole_documents), by_document(losses.last, losses.last_documents)};
}

std::string spec_of(const Trained& file, const Method& method, int factor) {
    // A spec without parameters has no colon yet.
    std::string suffix = method.suffix;
    if (method.takes_factor) suffix += std::to_string(factor);
    if (!suffix.empty() && file.encoding.find(':') == std::string::npos) suffix[0] = ':';
    return file.encoding + suffix;
}

Model load(const Trained& file, const Method& method, int factor) {
    LoadOptions options;
    options.encoding = spec_of(file, method, factor);
    options.force_encoding = true;
    return Model::load(file.file, options);
}

Measured measure_file(const Trained& file, const Text& held, const Request& request) {
    Measured out{file, {}, {}};
    std::vector<tools::Document> documents;
    const std::size_t most = request.quick ? 3 : 1000;
    {
        const Model model = Model::load(file.file);
        for (tools::Document& document : documents_of(held, model))
            if (static_cast<int>(document.tokens.size()) >= most_multiple * file.context && documents.size() < most)
                documents.push_back(std::move(document));
    }
    if (documents.size() < 2)
        fail(ErrorCode::usage, held.name, ": expected two documents of ", most_multiple * file.context,
             " tokens or more, found ", documents.size());
    for (std::size_t m = 0; m < std::size(methods); ++m) {
        std::map<int, Model> models; // by factor
        const auto at = [&](int factor, int multiple) {
            request.progress(text(file.name, " with ", methods[m].name, " at ", multiple, "x"));
            if (!models.contains(factor)) models.emplace(factor, load(file, methods[m], factor));
            return measure(models.at(factor), documents, file.context, multiple * file.context);
        };
        for (const int multiple : multiples) {
            out.greatest[{m, multiple}] = at(most_multiple, multiple);
            const bool same = !methods[m].takes_factor || multiple == most_multiple;
            out.fitted[{m, multiple}] = same            ? out.greatest[{m, multiple}]
                                        : multiple == 1 ? out.fitted[{none, 1}] // a factor of 1 scales nothing
                                                        : at(multiple, multiple);
        }
    }
    return out;
}

// ---- Tables and pictures ----------------------------------------------------------------------

const char* better_or_not(const Mean& more) {
    if (more.mean == 0 && more.half == 0) return "the same";
    return worded(above(more.interval(), 0), "worse", "better", "undecided");
}

void add_rows(Figures& figures, const Measured& one) {
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

Picture picture_of(const Measured& one, bool fitted) {
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

// ---- Expectations ------------------------------------------------------------------------------

void judge(const std::vector<Measured>& all, Result& result) {
    Expectations expectations;
    const auto expect = [&](const char* sentence, std::initializer_list<int> at, const auto& verdict) {
        Judgement& cases = expectations.expect(sentence);
        for (const Measured& one : all)
            for (const int multiple : at) cases.add(verdict(one, multiple), told("{} at {}x", one.file.name, multiple));
    };
    const auto cheaper = [](std::size_t method) { // than linear
        return [method](const Measured& one, int multiple) {
            return below(
                paired(one.fitted.at({method, multiple}).last, one.fitted.at({linear, multiple}).last).interval(), 0);
        };
    };
    const auto dearer = [](const AtLength& over, const AtLength& under) {
        return above(paired(over.last, under.last).interval(), 0);
    };
    expect("Without scaling the last tokens cost more at 2, 4 and 8 times the trained length than at it.", {2, 4, 8},
           [&](const Measured& one, int multiple) {
               return dearer(one.fitted.at({none, multiple}), one.fitted.at({none, 1}));
           });
    expect("ntk with the factor of the length costs less than linear, at each length beyond the trained one: it keeps "
           "the fast pairs, on which the weights rely (bloc97 2023).",
           {2, 4, 8}, cheaper(ntk));
    expect("yarn with the factor of the length costs less than linear, at each length beyond the trained one (Peng et "
           "al. 2023).",
           {2, 4, 8}, cheaper(yarn));
    expect("At the trained length itself, linear scaling by 8 costs more than no scaling.", {1},
           [&](const Measured& one, int) {
               return dearer(one.greatest.at({linear, 1}), one.fitted.at({none, 1}));
           });
    expect("Without training, p-RoPE costs more than no scaling at the trained length: training gave its slowest pairs "
           "a position.",
           {1}, [&](const Measured& one, int) {
               return dearer(one.fitted.at({p_rope, 1}), one.fitted.at({none, 1}));
           });
    expectations.write_to(result);
}

// The methods at a length, the best first.
std::string ranking_of(const Measured& one, int multiple) {
    const auto last = [&](std::size_t m) -> const Costs& { return one.fitted.at({m, multiple}).last; };
    Vector means;
    for (std::size_t m = 0; m < std::size(methods); ++m) means.push_back(last(m).mean());
    const std::vector<std::size_t> order = ranked(means);
    std::string ranking;
    for (const std::size_t m : order) append(ranking, told("{} {}", methods[m].name, figure(std::exp(means[m]), 4)));
    const Mean ahead = paired(last(order[1]), last(order[0]));
    return told("{} at {}x, perplexity of the last tokens: {}. The first is ahead of the second by {}{} nats ({}).",
                one.file.name, multiple, ranking, figure(ahead.mean, 2), margin(ahead.half, 2),
                name_of(above(ahead.interval(), 0)));
}

// ---- The experiment ---------------------------------------------------------------------------

std::vector<Trained> rotary_models(const Request& request) {
    std::vector<Trained> out;
    for (Trained& file : trained_models(request)) {
        const bool plain = (file.encoding == "rope" || file.encoding.starts_with("rope:")) &&
                           file.encoding.find_first_of("+(;") == std::string::npos &&
                           file.encoding.find("scaling=") == std::string::npos &&
                           file.encoding.find("keep=") == std::string::npos;
        if (plain)
            out.push_back(std::move(file));
        else if (request.arguments.has("model"))
            fail(ErrorCode::usage, "lab: extension: ", file.name,
                 ": expected weights trained with rope, unscaled, found ", file.encoding);
    }
    if (out.empty()) fail(ErrorCode::io, "lab: extension: no weights trained with rope found; give --model FILE");
    return out;
}

Result run(const Request& request) {
    const Text held = held_out(request);
    Result result;
    std::vector<Measured> all;
    Figures figures{
        {"model", "method", "factor", "of_trained", "ppl_last", "ppl_whole", "nats_over_none", "half", "verdict"},
        {},
        3};
    for (const Trained& file : rotary_models(request)) {
        all.push_back(measure_file(file, held, request));
        add_rows(figures, all.back());
        for (const bool fitted : {true, false}) result.pictures.push_back(picture_of(all.back(), fitted));
        for (const int multiple : {2, 8}) result.found.push_back(ranking_of(all.back(), multiple));
    }
    judge(all, result);
    result.answer = told("Without scaling, perplexity rises from {} to {} at {} times the trained length. {}",
                         figure(std::exp(all[0].fitted.at({none, 1}).last.mean())),
                         figure(std::exp(all[0].fitted.at({none, most_multiple}).last.mean())), most_multiple,
                         ranking_of(all[0], most_multiple));
    result.tables = {{"lengths",
                      "Perplexity by length and method, and the extra cost of the last tokens over no scaling",
                      std::move(figures)}};
    result.notes = {
        told("Only the frequencies change; the weights stay. factor: \"of the length\" is the window over the trained "
             "length, and 8 is the same at every length. dynamic (factor 2) follows the length by itself. p-rope "
             "(keep=0.75: the slowest quarter of the pairs does not rotate) has no factor. Text: {}.",
             held.name),
        "ppl_last is of the same tokens at every length, before the same ends, each with at least half a trained "
        "length before it. ppl_whole is of disjoint windows; at short lengths, more of their tokens have little text "
        "before them.",
        told("half is half of the 95 % interval of the difference on the same tokens, Student's over the {} documents "
             "that are long enough; the result is undecided if it contains zero. One trained model and one text say "
             "nothing about others.",
             all[0].fitted.begin()->second.last.sums.size())};
    return result;
}

} // namespace

const Experiment extension_experiment{
    .name = "extension",
    .summary = "How far does scaling RoPE's frequencies help without training?",
    .details =
        "Perplexity of the shipped RoPE weights at 1 to 8 times their trained length: without scaling, and with "
        "linear, ntk, yarn, dynamic and p-RoPE, on the same tokens, with intervals over documents. Chen et al. 2023, "
        "arXiv 2306.15595; bloc97 2023; Peng et al. 2023, arXiv 2309.00071; Barbero et al. 2024, arXiv 2410.06205.",
    .options = {"model", "corpus"},
    .seconds = {40, 15},
    .run = run};

} // namespace ordo::lab
