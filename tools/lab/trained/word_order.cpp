// SPDX-License-Identifier: MIT
// Does a model know word order? The three questions of Ben Kurzion's "Investigating Transformer Positional Encodings",
// with causal attention and correct gradients. Baselines, without which the answers mean nothing, accompany them.
// A fourth question needs word order for its answer.
#include "io/base_name.h"
#include "io/file.h"
#include "tools/lab/claims/study.h"
#include "tools/lab/lab.h"
#include "tools/lab/math/numbers.h"
#include "tools/lab/study/judgement.h"
#include "tools/lab/trained/word_verdicts.h"

#include <algorithm>
#include <cmath>

namespace ordo::lab {

namespace {

using tools::Cell;
using tools::fixed_text;

// ---- Training ---------------------------------------------------------------------------------

struct Plan {
    WordCorpus corpus;
    Prompts prompts;
    int seeds, corpus_steps, chase_steps;
};

Plan plan_of(const Request& request) {
    Plan plan;
    if (request.arguments.has("corpus")) {
        const std::string file = request.arguments.text("corpus");
        plan.corpus = parse_corpus(read_file(file, std::size_t{1} << 20), base_name(file));
    } else {
        plan.corpus = built_in_corpus();
    }
    plan.prompts = prompts_of(plan.corpus);
    plan.seeds = request.integer("seeds", request.quick ? 3 : 10);
    // Enough steps for a model to learn the corpus by heart.
    plan.corpus_steps = 120 + 4 * static_cast<int>(plan.corpus.sentences.size());
    plan.chase_steps = 350;
    return plan;
}

// Each condition fills one of the two.
struct Asked {
    Answers answers;
    Chase chase;
};

std::vector<WordRow> train_all(const Plan& plan, const Request& request) {
    const Recipe by_heart = corpus_recipe(plan.corpus, plan.corpus_steps);
    GridPlan study{{by_heart, by_heart},
                   {by_heart.length, by_heart.length},
                   request.encodings("all;rotate-stretch:period=6"),
                   plan.seeds};
    study.conditions[0].steps = 0; // untrained
    for (const int layers : layer_counts) {
        study.conditions.push_back(chase_recipe(layers, plan.chase_steps));
        study.positions.push_back(study.conditions.back().length);
    }
    const auto grid =
        train_grid<Asked>(study, request.seed, request.progress, [&](const Model& model, const GridCell& cell) {
            return cell.condition < 2 ? Asked{answers_of(plan.corpus, plan.prompts, model), {}}
                                      : Asked{{}, ask_chase(model, cell.seed)};
        });
    std::vector<WordRow> rows;
    for (std::size_t e = 0; e < study.encodings.size(); ++e) {
        const std::string& spec = study.encodings[e];
        WordRow& row = rows.emplace_back();
        row.encoding = spec, row.silent = says_nothing_of_position(spec, by_heart.trunk.dims());
        for (const Asked& one : grid[0][e]) row.untrained.push_back(one.answers);
        for (const Asked& one : grid[1][e]) row.trained.push_back(one.answers);
        for (std::size_t d = 0; d < depths; ++d)
            for (const Asked& one : grid[2 + d][e]) row.chase[d].push_back(one.chase);
    }
    return rows;
}

// ---- Tables and pictures ----------------------------------------------------------------------

WordLines lines_of(const Plan& plan, const std::vector<WordRow>& rows) {
    WordLines lines{answers_of(plan.corpus, plan.prompts, uniform(plan.corpus)),
                    answers_of(plan.corpus, plan.prompts, unigram(plan.corpus)),
                    answers_of(plan.corpus, plan.prompts),
                    {}};
    for (const WordRow& row : rows)
        lines.untrained.insert(lines.untrained.end(), row.untrained.begin(), row.untrained.end());
    return lines;
}

void add_cells(std::vector<Cell>& cells, const Share& share) {
    for (const double value : {share.mean, share.interval.low, share.interval.high}) cells.emplace_back(known(value));
}

void add_columns(std::vector<std::string>& columns, const std::string& name, const std::string& suffix = "") {
    for (const char* part : {"", "_low", "_high"}) columns.push_back(name + part + suffix);
}

NamedFigures table_of(const char* name, const char* title, std::initializer_list<Field> fields,
                      const std::vector<WordRow>& rows, const WordLines& lines) {
    NamedFigures out{name, title, {{"model"}, {}, 4}};
    for (const Field& field : fields) add_columns(out.figures.columns, field.name);
    const auto add = [&](const std::string& label, const std::vector<Answers>& answers) {
        std::vector<Cell> cells;
        cells.reserve(out.figures.columns.size());
        cells.emplace_back(label);
        for (const Field& field : fields) add_cells(cells, over_seeds(answers, field));
        out.figures.rows.push_back(std::move(cells));
    };
    for (const WordRow& row : rows) add(row.encoding, row.trained);
    add("(untrained)", lines.untrained);
    add("(uniform)", {lines.uniform});
    add("(unigram)", {lines.unigram});
    add("(corpus by heart)", {lines.conditional});
    return out;
}

// A point for each encoding. A question that this corpus cannot ask has no picture.
void add_picture(std::vector<Picture>& pictures, const char* name, std::string title, const Field& field,
                 const std::vector<WordRow>& rows, const WordLines& lines) {
    const bool distance = field.largest == largest_distance;
    Curves curves;
    curves.interval = "95 % interval over the seeds";
    for (const WordRow& row : rows) {
        const Share share = over_seeds(row.trained, field);
        if (std::isnan(share.mean)) return;
        Series& series = curves.series.emplace_back();
        series.label = row.encoding;
        series.style = Series::Style::points;
        series.x = {static_cast<double>(curves.series.size()) - 1};
        curves.x_names.push_back(row.encoding);
        series.y = {share.mean};
        if (share.interval.known()) {
            series.low = {share.interval.low};
            series.high = {share.interval.high};
        }
    }
    const auto add = [&curves](const char* label, double y) {
        if (!std::isnan(y)) curves.references.push_back({label, y});
    };
    add("corpus by heart", lines.conditional.*field.value);
    add("unigram", lines.unigram.*field.value);
    add("uniform", lines.uniform.*field.value);
    add("untrained", over_seeds(lines.untrained, field).mean);
    if (distance) add("largest possible", largest_distance);
    title += ": " + extremes_of(curves);
    if (!std::isnan(lines.unigram.*field.value)) title += ", unigram " + figure(lines.unigram.*field.value, 2);
    pictures.push_back(
        {name, std::move(title), "encoding", distance ? "Jensen-Shannon distance" : "P(food)", std::move(curves)});
}

// "0.53 to 1.00": the smallest and the largest proportion of correct answers.
std::string accuracies_of(const std::vector<WordRow>& rows, std::size_t depth) {
    double least = 1, most = 0;
    for (const WordRow& row : rows) {
        const double mean = accuracy_of(row.chase[depth]).mean;
        least = std::min(least, mean), most = std::max(most, mean);
    }
    return fixed_text(least, 2) + " to " + fixed_text(most, 2);
}

NamedFigures chase_table(const std::vector<WordRow>& rows) {
    NamedFigures out{"order",
                     text("Who hunts, who is hunted: one layer has ", accuracies_of(rows, 0), " right, two have ",
                          accuracies_of(rows, 1),
                          "; share of right answers on pairs kept back, and the largest change of a word's probability "
                          "when the two animals change places"),
                     {{"model"}, {}, 4}};
    for (const int layers : layer_counts) {
        add_columns(out.figures.columns, "accuracy", "_" + std::to_string(layers));
        out.figures.columns.push_back("most_change_" + std::to_string(layers));
    }
    for (const WordRow& row : rows) {
        std::vector<Cell> cells;
        cells.reserve(out.figures.columns.size());
        cells.emplace_back(row.encoding);
        for (const auto& chase : row.chase) {
            double change = 0;
            for (const Chase& c : chase) change = std::max(change, c.change);
            add_cells(cells, accuracy_of(chase));
            cells.emplace_back(change);
        }
        out.figures.rows.push_back(std::move(cells));
    }
    return out;
}

// ---- Findings ---------------------------------------------------------------------------------

// "0.1 to 0.2"; "-" if this corpus cannot ask the question.
std::string number_of(double value, int decimals) {
    return std::isnan(value) ? "-" : fixed_text(value, decimals);
}
std::string range_text(const std::vector<WordRow>& rows, const Field& field, int decimals) {
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (const WordRow& row : rows) {
        const double mean = over_seeds(row.trained, field).mean;
        least = std::min(least, mean);
        most = std::max(most, mean);
    }
    return least > most ? "-" : fixed_text(least, decimals) + " to " + fixed_text(most, decimals);
}

std::vector<std::string> notes_of(const Plan& plan, const std::vector<WordRow>& rows, const WordLines& lines) {
    std::vector<std::string> notes{
        "js_food_is and js_good_is: distance of the model's next word after the prompt from the words that follow "
        "\"is\" anywhere in the corpus; js_to_conditional: from those that follow in sentences that begin so. "
        "Distances are square roots of the Jensen-Shannon divergence in nats and at most sqrt(ln 2) = 0.8326. _low, "
        "_high: 95 % confidence interval of the mean over " +
            std::to_string(plan.seeds) +
            (plan.seeds == 1
                 ? " seed: none."
                 : " seeds, within what is possible (Wilson's, of nats Student's). What an interval does not "
                   "decide is called undecided."),
        "js_food_is cannot rank encodings: a model that predicts nothing but what follows \"is\", deaf to \"food\", "
        "would have 0, and one that knows each sentence stands at the line of the corpus.",
        "js_good_is cannot rank them either: if no sentence begins with \"good is\" nothing in training says what "
        "follows, a great distance is as likely a sign of noise as of insight, and an untrained network has one for "
        "free.",
        lines.conditional.food_next == 0
            ? "p_food_next: the corpus goes on with another word, so the right answer is 0, not a high one; "
              "p_right_next and p_food_in_place ask for what is there."
            : "p_food_next: P(food) in this corpus is " + number_of(lines.conditional.food_next, 4) +
                  " there (-: no sentence begins so); p_right_next and p_food_in_place ask for what is there.",
        study_data::beside(),
        "order: what ends in _1 is of models of one layer, in _2 of two; most_change is the largest over all seeds.",
        "Each model is made of the engine's own layers: attention of eight heads and a gated feed-forward layer, "
        "d_model 64, "
        "trained for " +
            std::to_string(plan.corpus_steps) + " steps (" + std::to_string(plan.chase_steps) +
            " on the question of order) and asked through the engine's own inference. The published one has attention "
            "alone, of 16 heads on 128."};
    if (std::any_of(rows.begin(), rows.end(), [](const WordRow& row) { return row.encoding == "segment"; }))
        notes.emplace_back("A sentence has one segment, so that segment adds the same to each word: it stands here as "
                           "a second `none` with another start.");
    return notes;
}

Result run(const Request& request) {
    const Plan plan = plan_of(request);
    const std::vector<WordRow> rows = train_all(plan, request);
    const WordLines lines = lines_of(plan, rows);
    Result result;
    result.tables = {
        table_of("published", "The three questions as they were published", {food_is, good_is, food_next}, rows, lines),
        table_of("fuller", "What the corpus itself has in these places", {truth, right_next, in_place, loss}, rows,
                 lines),
        chase_table(rows)};
    add_picture(result.pictures, "food-is", "After \"food is\": distance from the words that follow \"is\"", food_is,
                rows, lines);
    add_picture(result.pictures, "good-is",
                std::string("After \"good is\"") +
                    (std::isnan(lines.conditional.good_is) ? ", which begins no sentence of the corpus" : "") +
                    ": distance from the words that follow \"is\"",
                good_is, rows, lines);
    add_picture(result.pictures, "carbohydrates-are",
                std::string("P(food) right after \"carbohydrates are\", ") +
                    (std::isnan(lines.conditional.food_next) ? "which begins no sentence of the corpus"
                                                             : "beside what the corpus has there"),
                food_next, rows, lines);
    if (const std::string missing = missing_words(plan.corpus); !missing.empty())
        result.found.push_back("The corpus lacks " + missing +
                               ": what needs these words was skipped. The question of "
                               "order has sentences of its own.");
    const auto untrained = [&lines](const Field& field) {
        return number_of(over_seeds(lines.untrained, field).mean, 3);
    };
    if (!plan.prompts.food_is.empty())
        result.found.push_back("After \"food is\" all models stand at " + range_text(rows, food_is, 3) +
                               ", the corpus known by heart at " + number_of(lines.conditional.food_is, 3) +
                               ", an untrained network at " + untrained(food_is) + ".");
    if (!plan.prompts.good_is.empty())
        result.found.push_back("After \"good is\" all models stand at " + range_text(rows, good_is, 3) +
                               ", an untrained network at " + untrained(good_is) + ".");
    if (!plan.prompts.carbohydrates_are.empty() && plan.prompts.food >= 0)
        result.found.push_back("P(food) right after \"carbohydrates are\" is " + range_text(rows, food_next, 4) +
                               " (chance " + number_of(lines.uniform.food_next, 4) + "), and where the corpus has it " +
                               range_text(rows, in_place, 4) + ".");
    expectations_of(rows, lines).write_to(result);
    result.notes = notes_of(plan, rows, lines);
    return result;
}

constexpr std::string_view options[] = {"seeds", "corpus", "encodings"};

} // namespace

extern const Experiment word_order_experiment;
const Experiment word_order_experiment = {
    .name = "word-order",
    .summary = "what can three questions about the next word tell, and which encodings tell the order of words?",
    .details = "For each encoding and seed a model of one layer learns twenty sentences (--corpus for others: a "
               "sentence a line; what needs words that it lacks is skipped) and is asked for the next word after "
               "\"food is\", \"good is\" and \"carbohydrates "
               "are\", as in Ben Kurzion, Investigating Transformer Positional Encodings "
               "(github.com/benkurzion/Transformer), beside what guessing, word counts, an untrained network and the "
               "corpus itself answer. Then models of one and two layers learn \"cat chases mouse hunter cat\" and "
               "\"... prey mouse\" over ordered pairs of ten animals and are asked about pairs that they never saw.",
    .options = options,
    .seconds = 280,
    .quick_seconds = 85,
    .run = run};

} // namespace ordo::lab
