// SPDX-License-Identifier: MIT
// Which tokens the heads attend to: maps for a prompt, and scores of each head (Olsson et al. 2022, "In-context
// Learning and Induction Heads", arXiv 2209.11895).
#include "tools/lab/shipped/attention_scores.h"
#include "tools/lab/shipped/weight_files.h"

namespace ordo::lab {
namespace attention_file {

constexpr const char* usual_prompt = "The old dog Tom ran to the tree. Lily was happy. The old dog Tom ran";
constexpr double most_of_it = 0.5, tenth_of_it = 0.1; // of a head's weight; an induction head has a tenth or more

struct Measured {
    Trained file;
    HeadScores scores;
};

void add_heads(Figures& figures, const Measured& one) {
    const HeadScores& s = one.scores;
    for (int head = 0; head < s.count(); ++head)
        for (const HeadKind kind : head_kinds) {
            const double control = mean_of(s.control[kind][head]).mean;
            add_row(figures, one.file.name, head / s.heads, head % s.heads, name_of(kind),
                    share_of(s.score[kind][head]), control, s.uniform[kind]);
        }
}

// A row for each model, a column for each head.
Picture scores_picture(const std::vector<Measured>& all, HeadKind kind) {
    const bool plain = kind == HeadKind::previous;
    HeatMap map{.value_label = plain ? "attention weight" : "attention weight, less the control's", .diverging = false};
    int heads = 0, layers = 0;
    for (const Measured& one : all)
        heads = std::max(heads, one.scores.heads), layers = std::max(layers, one.scores.layers);
    Mean most{-HUGE_VAL, 0};
    std::string name;
    for (const Measured& one : all) {
        Vector& row = map.values.emplace_back(layers * heads, std::nan(""));
        map.y_names.push_back(one.file.name);
        for (int head = 0; head < one.scores.count(); ++head) {
            const Mean score = mean_of(over_control(one.scores, kind, head));
            row[head / one.scores.heads * heads + head % one.scores.heads] = score.mean;
            if (score.mean > most.mean) most = score, name = head_name(one.scores, head) + " of " + one.file.name;
        }
    }
    for (int i = 0; i < layers * heads; ++i)
        map.x_names.push_back(i % heads == 0 ? text("layer ", i / heads) : std::string());
    return {text(name_of(kind), "-heads"),
            told("The strongest {} head: {}, {} {}{}", name_of(kind), name, map.value_label, figure(most.mean, 2),
                 margin(most.half)),
            told("head, {} of each layer", heads), "weights", map};
}

// All maps in one picture: a row of maps for each layer, a column for each head.
Picture tiles_of(const std::string& name, const HeadScores& shape, const std::vector<AttentionMap>& maps,
                 const std::string& title) {
    const std::size_t n = maps[0].size(), heads = shape.heads, layers = shape.layers, tile = n + 1; // and a line
    HeatMap map{.value_label = "attention weight", .diverging = false, .square = true};
    map.values.assign(layers * tile - 1, Vector(heads * tile - 1, std::nan("")));
    map.x_names.resize(heads * tile - 1);
    map.y_names.resize(layers * tile - 1);
    for (std::size_t i = 0; i < maps.size(); ++i)
        for (std::size_t q = 0; q < n; ++q)
            std::copy(maps[i][q].begin(), maps[i][q].end(),
                      map.values[i / heads * tile + q].begin() + static_cast<std::ptrdiff_t>(i % heads * tile));
    for (std::size_t head = 0; head < heads; ++head) map.x_names[head * tile + n / 2] = text("head ", head);
    for (std::size_t layer = 0; layer < layers; ++layer) map.y_names[layer * tile + n / 2] = text("layer ", layer);
    return {"maps-" + name, title, "key: the tokens of the prompt, for each head", "query: the same tokens",
            std::move(map)};
}

void judge(const std::vector<Measured>& all, Result& result) {
    Figures table{
        {"model", "kind", "layer", "head", "score", "low", "high", "over_control", "half", "most_of_weight"}, {}, 3};
    Expectations expectations;
    Judgement& previous = expectations.expect(
        "Every encoding except `none` has a head that gives most of its weight to the token before.");
    Judgement& repeats = expectations.expect("Random tokens cost less the second time: every model copies from its "
                                             "context to some degree, because its training text repeats names.");
    Figures gains{{"model", "nats_less", "half", "verdict"}, {}, 3};
    std::size_t before = 0, induction = 0, undecided = 0;
    for (const Measured& one : all) {
        for (const HeadKind kind : head_kinds) {
            const Best best = best_of(one.scores, kind);
            const Verdict verdict = above(best.score.interval, most_of_it);
            const int heads = one.scores.heads;
            add_row(table, one.file.name, name_of(kind), best.head / heads, best.head % heads, best.score, best.over,
                    name_of(verdict));
            if (kind == HeadKind::previous) before += verdict == Verdict::held;
            if (kind == HeadKind::induction) {
                const Verdict both = std::max(above(best.score.interval, tenth_of_it), above(best.over.interval(), 0));
                induction += both == Verdict::held, undecided += both == Verdict::undecided;
            }
            if (kind == HeadKind::previous && one.file.encoding != "none") previous.add(verdict, one.file.name);
        }
        const Mean gain = mean_of(one.scores.gain);
        const Verdict cheaper = above(gain.interval(), 0);
        add_row(gains, one.file.name, gain, name_of(cheaper));
        repeats.add(cheaper, one.file.name);
    }
    result.answer =
        told("In {} of {} models, one head gives most of its attention weight to the token before. {} of {} have an "
             "induction head, which attends to the token after an earlier copy of the current one (a tenth of its "
             "weight or more); {} are undecided.",
             before, all.size(), induction, all.size(), undecided);
    expectations.write_to(result);
    result.tables.insert(
        result.tables.begin(),
        {{"best", "The best head of each kind, chosen on half of the sequences and measured on the others",
          std::move(table)},
         {"repetition", "How much less random tokens cost the second time, in nats per token", std::move(gains)}});
}

// The best head of each kind over all models, on the prompt.
struct Shown {
    double score = -HUGE_VAL;
    std::optional<Picture> picture;
};

void show(const Measured& one, const Model& model, const std::vector<Token>& tokens, OfKinds<Shown>& shown,
          Result& result) {
    const std::vector<AttentionMap> maps = attention_maps(model, tokens);
    const Best before = best_of(one.scores, HeadKind::previous);
    result.pictures.push_back(
        tiles_of(one.file.name, one.scores, maps,
                 told("{}, all heads. {} attends most to the token before (weight {} on random tokens)", one.file.name,
                      head_name(one.scores, before.head), figure(before.score.mean, 2))));
    std::vector<std::string> labels;
    for (const Token token : tokens) labels.push_back(label_of(model, token));
    for (const HeadKind kind : head_kinds) {
        const Best best = best_of(one.scores, kind);
        Shown& slot = shown[kind];
        if (best.over.mean <= slot.score) continue;
        slot.score = best.over.mean;
        HeatMap map{.values = maps[best.head],
                    .blank = "masked",
                    .value_label = "attention weight",
                    .x_names = labels,
                    .y_names = labels,
                    .diverging = false,
                    .square = true};
        slot.picture = {text("prompt-", name_of(kind)),
                        told("The strongest {} head on a sentence: {}, {}", name_of(kind), one.file.name,
                             head_name(one.scores, best.head)),
                        "key", "query", std::move(map)};
    }
}

Result run(const Request& request) {
    const auto prompts = request.arguments.all("prompt");
    if (prompts.size() > 1)
        fail(ErrorCode::usage, "option --prompt: expected one for this experiment, found ", prompts.size());
    const std::string prompt(prompts.empty() ? usual_prompt : prompts[0]);
    const RepetitionPlan plan{.sequences = request.quick ? 32 : 128};
    Result result;
    std::vector<Measured> all;
    Figures heads{{"model", "layer", "head", "kind", "score", "low", "high", "control", "uniform"}, {}, 4};
    OfKinds<Shown> shown;
    for (const Trained& file : trained_models(request)) {
        const Model model = Model::load(file.file);
        all.push_back({file, head_scores(model, plan, request.seed, [&] { request.progress(file.name); })});
        add_heads(heads, all.back());
        std::vector<Token> tokens = model.encode(prompt);
        if (model.start_of_text() >= 0) tokens.insert(tokens.begin(), model.start_of_text());
        show(all.back(), model, tokens, shown, result);
    }
    result.tables = {{"heads", "The scores of every head, with 95 % intervals over the sequences", std::move(heads)}};
    judge(all, result);
    std::vector<Picture> first;
    for (Shown& slot : shown) first.push_back(std::move(*slot.picture));
    for (const HeadKind kind : head_kinds) first.push_back(scores_picture(all, kind));
    result.pictures.insert(result.pictures.begin(), std::make_move_iterator(first.begin()),
                           std::make_move_iterator(first.end()));
    result.notes = {
        told("Scores: {} sequences of {} to {} different random tokens, each repeated once. previous-token is the mean "
             "weight on the token before, duplicate-token on the earlier copy of the token, and induction on the token "
             "after that copy (prefix matching in Olsson et al. 2022). uniform is the score of equal attention to all "
             "tokens. control is the score of the same queries and keys if the first half has other tokens.",
             plan.sequences, plan.shortest, plan.longest),
        "The best head of each kind is chosen on every second sequence and measured on the others. Intervals are over "
        "sequences: Wilson's for scores, Student's for differences. One file says nothing about other seeds.",
        told("The maps show a pass over \"{}\". --prompt and --model show others.", prompt)};
    return result;
}

} // namespace attention_file

const Experiment attention_experiment{
    .name = "attention",
    .summary = "To which tokens does each head attend?",
    .details = "Attention maps of every shipped weight file for a prompt, a tile for each head, and scores as "
               "previous-token, duplicate-token and induction heads on repeated random tokens, with intervals and a "
               "control without repetition. Olsson et al. 2022, arXiv 2209.11895.",
    .options = {"model", "prompt"},
    .seconds = {15, 5},
    .run = attention_file::run};

} // namespace ordo::lab
