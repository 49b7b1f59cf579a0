// SPDX-License-Identifier: MIT
// Does a model know word order? The three questions of Ben Kurzion's "Investigating Transformer Positional Encodings",
// with causal attention and correct gradients. Baselines, without which the answers mean nothing, accompany them.
// A fourth question needs word order for its answer.
#include "io/base_name.h"
#include "io/file.h"
#include "tools/lab/claims/study.h"
#include "tools/lab/trained/word_questions.h"

namespace ordo::lab {
namespace {

using tools::Cell;

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
    GridPlan study{{by_heart, by_heart}, request.encodings("all;rotate-stretch:period=6"), plan.seeds};
    study.conditions[0].steps = 0; // untrained
    for (const int layers : layer_counts) study.conditions.push_back(chase_recipe(layers, plan.chase_steps));
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

NamedFigures table_of(const char* name, const char* title, std::initializer_list<Field> fields,
                      const std::vector<WordRow>& rows, const WordLines& lines) {
    NamedFigures out{name, title, {{"model"}, {}, 4}};
    for (const Field& field : fields)
        for (const char* part : {"", "_low", "_high"}) out.figures.columns.push_back(std::string(field.name) + part);
    const auto add = [&](const std::string& label, const std::vector<Answers>& answers) {
        std::vector<Share> shares;
        for (const Field& field : fields) shares.push_back(over_seeds(answers, field));
        add_row(out.figures, label, shares);
    };
    for (const WordRow& row : rows) add(row.encoding, row.trained);
    add("(untrained)", lines.untrained);
    add("(uniform)", {lines.uniform});
    add("(unigram)", {lines.unigram});
    add("(corpus by heart)", {lines.conditional});
    return out;
}

// "0.53 to 1.00": the smallest and the largest proportion of correct answers.
std::string accuracies_of(const std::vector<WordRow>& rows, std::size_t depth) {
    Sample means;
    for (const WordRow& row : rows) means.add(accuracy_of(row.chase[depth]).mean);
    return fixed_text(means.least(), 2) + " to " + fixed_text(means.most(), 2);
}

// "0.1 to 0.2"; "-" if this corpus cannot ask the question.
std::string number_of(double value, int decimals) {
    return std::isnan(value) ? "-" : fixed_text(value, decimals);
}
std::string range_text(const std::vector<WordRow>& rows, const Field& field, int decimals) {
    Sample means;
    for (const WordRow& row : rows) means.add(over_seeds(row.trained, field).mean);
    return std::isnan(means.mean()) ? "-"
                                    : fixed_text(means.least(), decimals) + " to " + fixed_text(means.most(), decimals);
}

// The share of correct answers on the order of two animals, by encoding, the best with one layer first.
Picture order_picture(std::vector<WordRow> rows) {
    std::stable_sort(rows.begin(), rows.end(), [](const WordRow& a, const WordRow& b) {
        return accuracy_of(a.chase[0]).mean > accuracy_of(b.chase[0]).mean;
    });
    Curves curves;
    curves.interval = "95 % interval over the seeds";
    for (std::size_t d = 0; d < depths; ++d) {
        Series& one = curves.add(d == 0 ? "one layer" : "two layers", Series::Style::points);
        bool known = true;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto [mean, interval] = accuracy_of(rows[i].chase[d]);
            const double beside = 0.15 * (2.0 * static_cast<double>(d) - 1);
            one.add(static_cast<double>(i) + beside, mean, interval.low, interval.high);
            known = known && interval.known();
        }
        if (!known) one.low.clear(), one.high.clear();
    }
    for (const WordRow& row : rows) curves.x_names.push_back(row.encoding);
    curves.references = {{"guessing", 0.5}};
    return {"order-by-encoding",
            text("Who hunts whom? Correct answers with one layer: ", accuracies_of(rows, 0),
                 "; with two layers: ", accuracies_of(rows, 1)),
            "encoding", "share of correct answers", std::move(curves)};
}

// The published distances of all models, and of the baselines. A question that this corpus cannot ask is not shown.
void add_published_picture(std::vector<Picture>& pictures, const std::vector<WordRow>& rows, const WordLines& lines) {
    Curves curves;
    for (const auto& [name, field] : {std::pair{"after \"food is\"", &food_is}, {"after \"good is\"", &good_is}})
        if (!std::isnan(over_seeds(rows[0].trained, *field).mean)) {
            const auto x = static_cast<double>(curves.x_names.size());
            curves.x_names.emplace_back(name);
            std::size_t at = 0;
            const auto add = [&](const char* label, double y) {
                if (at == curves.series.size()) curves.add(label, Series::Style::points);
                if (!std::isnan(y)) curves.series[at].x.push_back(x), curves.series[at].y.push_back(y);
            };
            for (const WordRow& row : rows) add("trained models", over_seeds(row.trained, *field).mean);
            ++at, add("untrained models", over_seeds(lines.untrained, *field).mean);
            ++at, add("even guess", lines.uniform.*field->value);
            ++at, add("word frequencies", lines.unigram.*field->value);
            ++at, add("corpus by heart", lines.conditional.*field->value);
        }
    if (curves.series.empty()) return;
    pictures.push_back({"published-distances",
                        text("The published distances hardly differ between encodings: ",
                             range_text(rows, curves.x_names[0] == "after \"food is\"" ? food_is : good_is, 3), " ",
                             curves.x_names[0]),
                        "prompt", "Jensen-Shannon distance from the words after \"is\"", std::move(curves)});
}

NamedFigures chase_table(const std::vector<WordRow>& rows) {
    NamedFigures out{
        "order",
        text("Who hunts whom: share of correct answers on pairs that were not trained, ", accuracies_of(rows, 0),
             " with one layer and ", accuracies_of(rows, 1),
             " with two, and the largest change of a word's probability when the two animals change places"),
        {{"model", "accuracy_1", "accuracy_low_1", "accuracy_high_1", "most_change_1", "accuracy_2", "accuracy_low_2",
          "accuracy_high_2", "most_change_2"},
         {},
         4}};
    const auto change = [](const std::vector<Chase>& chases) {
        double most = 0;
        for (const Chase& chase : chases) most = std::max(most, chase.change);
        return most;
    };
    for (const WordRow& row : rows)
        add_row(out.figures, row.encoding, accuracy_of(row.chase[0]), change(row.chase[0]), accuracy_of(row.chase[1]),
                change(row.chase[1]));
    return out;
}

// ---- Findings ---------------------------------------------------------------------------------

// The models that are above three answers in four, by their intervals. The expectations judge by the same.
std::string answer_of(const std::vector<WordRow>& rows) {
    const auto told = [&](std::size_t depth) {
        std::string below, undecided;
        std::size_t held = 0;
        for (const WordRow& row : rows) {
            const Verdict verdict = above(accuracy_of(row.chase[depth]).interval, 0.75);
            held += verdict == Verdict::held;
            if (verdict != Verdict::held) append(verdict == Verdict::missed ? below : undecided, in_text(row.encoding));
        }
        return text(held, " of ", rows.size(), " models tell who hunts whom",
                    depth == 0 ? " (more than three answers of four are correct)" : "", listed("; not ", below),
                    listed("; undecided: ", undecided));
    };
    return text("With one layer, ", told(0), ". With two layers, ", told(1),
                ". The three published questions about the next word do not rank encodings.");
}

std::vector<std::string> notes_of(const Plan& plan, const std::vector<WordRow>& rows, const WordLines& lines) {
    std::vector<std::string> notes{
        "js_food_is and js_good_is are the distances of the model's next word after the prompt from the words after "
        "\"is\" anywhere in the corpus. js_to_conditional is the distance from the next words in sentences with the "
        "same beginning. Distances are square roots of the Jensen-Shannon divergence in nats, at most sqrt(ln 2) = "
        "0.8326. _low and _high are the 95 % confidence interval of the mean over " +
            counted(plan.seeds, "seed") +
            (plan.seeds == 1 ? ": none."
                             : ", within the possible range (Wilson's; Student's for nats). If an interval does "
                               "not decide, the result is undecided."),
        "js_food_is cannot rank encodings. A model that ignores \"food\" and predicts the words after \"is\" would "
        "have 0; a model that knows each sentence has the distance of the corpus.",
        "js_good_is cannot rank encodings either. If no sentence begins with \"good is\", training says nothing about "
        "the next word. A large distance can be noise: an untrained network has one, too.",
        lines.conditional.food_next == 0
            ? "p_food_next: the corpus goes on with another word, so the correct answer is 0, not a high one; "
              "p_right_next and p_food_in_place ask for the words of the corpus."
            : "p_food_next: P(food) in this corpus is " + number_of(lines.conditional.food_next, 4) +
                  " there (-: no sentence begins with the prompt); p_right_next and p_food_in_place ask for the words "
                  "of the corpus.",
        study_data::beside(),
        "Table order: columns that end in _1 are of models of one layer, in _2 of two layers; most_change is the "
        "largest over all seeds.",
        "Each model has attention of eight heads and a gated feed-forward layer, d_model 64, trained for " +
            std::to_string(plan.corpus_steps) + " steps (" + std::to_string(plan.chase_steps) +
            " on the question of order). The published model has attention alone, with 16 heads and a width of 128."};
    if (std::any_of(rows.begin(), rows.end(), [](const WordRow& row) { return row.encoding == "segment"; }))
        notes.emplace_back("A sentence has one segment, so segment adds the same to each word: here it is a second "
                           "`none` with other initial weights.");
    return notes;
}

Result run(const Request& request) {
    const Plan plan = plan_of(request);
    const std::vector<WordRow> rows = train_all(plan, request);
    const WordLines lines = lines_of(plan, rows);
    Result result;
    result.tables = {table_of("published", "The three published questions", {food_is, good_is, food_next}, rows, lines),
                     table_of("fuller", "The same places, compared with the corpus itself",
                              {truth, right_next, in_place, loss}, rows, lines),
                     chase_table(rows)};
    result.pictures = {order_picture(rows)};
    add_published_picture(result.pictures, rows, lines);
    result.answer = answer_of(rows);
    if (const std::string missing = missing_words(plan.corpus); !missing.empty())
        result.found.push_back(
            "The corpus lacks " + missing +
            ": the questions with these words were skipped. The question of order has sentences of its own.");
    const auto untrained = [&lines](const Field& field) {
        return number_of(over_seeds(lines.untrained, field).mean, 3);
    };
    if (!plan.prompts.food_is.empty())
        result.found.push_back("After \"food is\" the distance of all models is " + range_text(rows, food_is, 3) +
                               "; the corpus known by heart has " + number_of(lines.conditional.food_is, 3) +
                               ", an untrained network " + untrained(food_is) + ".");
    if (!plan.prompts.good_is.empty())
        result.found.push_back(
            "After \"good is\"" +
            std::string(std::isnan(lines.conditional.good_is) ? ", which begins no sentence of the corpus," : "") +
            " the distance of all models is " + range_text(rows, good_is, 3) + "; an untrained network has " +
            untrained(good_is) + ".");
    if (!plan.prompts.carbohydrates_are.empty() && plan.prompts.food >= 0)
        result.found.push_back("Right after \"carbohydrates are\", P(food) is " + range_text(rows, food_next, 4) +
                               " (chance " + number_of(lines.uniform.food_next, 4) +
                               "); at the place of \"food\" in the corpus it is " + range_text(rows, in_place, 4) +
                               ".");
    expectations_of(rows, lines).write_to(result);
    result.notes = notes_of(plan, rows, lines);
    return result;
}

} // namespace

const Experiment word_order_experiment{
    .name = "word-order",
    .summary = "Which encodings learn the order of words?",
    .details = "Models of one and two layers learn \"cat chases mouse hunter cat\" and \"cat chases mouse prey mouse\" "
               "over ordered pairs of ten animals and answer for pairs that they never saw. For each encoding and "
               "seed, a model of one layer also learns twenty sentences (--corpus for others, a sentence a line) and "
               "predicts the next word after \"food is\", \"good is\" and \"carbohydrates are\", as in Ben Kurzion, "
               "Investigating Transformer Positional Encodings (github.com/benkurzion/Transformer). Guessing, word "
               "counts, an untrained network and the corpus itself are the baselines.",
    .options = {"seeds", "corpus", "encodings"},
    .seconds = {280, 85},
    .run = run};

} // namespace ordo::lab
