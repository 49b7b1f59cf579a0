// SPDX-License-Identifier: MIT
// The position itself, its binary digits, or its fraction of the length, added to the embedding: what goes wrong.
#include "tools/lab/study/answers.h"
#include "tools/lab/trained/letters_before.h"

namespace ordo::lab {
namespace integers_file {

// Adds a number to each column, which depends on the position and on the last position of the text.
class Plain : public Encoding {
public:
    using Value = float (*)(int position, int last, int column);
    Plain(std::string name, Value value) : name_(std::move(name)), value_(value) {}
    std::string spec() const override { return name_; }
    int shift_invariant_below() const override { return 0; }
    void embed(View x, const TokenRows& rows) const override {
        int last = 1;
        for (int i = 0; i < x.rows; ++i) last = std::max(last, rows.positions[i]);
        for (int i = 0; i < x.rows; ++i)
            for (int j = 0; j < x.cols; ++j) x.row(i)[j] += value_(rows.positions[i], last, j);
    }
    void embed_backward(View, View, const TokenRows&, const Gradients&) const override {}

private:
    std::string name_;
    Value value_;
};

struct Kind {
    const char *name, *words;
    Plain::Value value;
};
constexpr int digits = 8;
constexpr Kind kinds[] = {
    {"plain-integer", "the integer", [](int p, int, int j) { return j == 0 ? static_cast<float>(p) : 0; }},
    {"plain-fraction", "the fraction",
     [](int p, int last, int j) { return j == 0 ? static_cast<float>(p) / static_cast<float>(last) : 0; }},
    {"plain-binary", "the digits", [](int p, int, int j) { return j < digits ? static_cast<float>(p >> j & 1) : 0; }}};

void register_all() {
    static const bool once = [] {
        for (const Kind& kind : kinds)
            register_encoding(kind.name, [&kind](const Dims&, std::string_view) {
                return OwnEncoding(std::make_unique<Plain>(kind.name, kind.value));
            });
        return true;
    }();
    static_cast<void>(once);
}

Result run(const Request& request) {
    register_all();
    const LettersBefore task{.places = 3, .steps = request.quick ? 400 : 800};
    const std::array lengths = {task.length, 2 * task.length, 4 * task.length};
    GridPlan plan{{task.recipe()}, {}, request.integer("seeds", 3)};
    for (const Kind& kind : kinds) plan.encodings.emplace_back(kind.name);
    for (const char* usual : {"sinusoidal", "rope", "none"}) plan.encodings.emplace_back(usual);
    const auto grid =
        train_grid<Vector>(plan, request.seed, request.progress, [&](const Model& model, const GridCell& cell) {
            Vector right;
            for (const int length : lengths)
                right.push_back(task.right(model, cell.seed, length, length == task.length ? 0 : length / 2));
            return right;
        });
    const auto share = [&](std::size_t e, std::size_t l) {
        Vector values;
        for (const Vector& run : grid[0][e]) values.push_back(run[l]);
        return share_of(values);
    };
    Figures figures{{"encoding", "length", "right", "low", "high"}, {}, 3};
    for (std::size_t e = 0; e < plan.encodings.size(); ++e)
        for (std::size_t l = 0; l < lengths.size(); ++l) add_row(figures, plan.encodings[e], lengths[l], share(e, l));
    std::string percents;
    for (std::size_t e = 0; e < plan.encodings.size(); ++e)
        append(percents, told("{} {} and {} %", e < std::size(kinds) ? kinds[e].words : in_text(plan.encodings[e]),
                              fixed_text(100 * share(e, 0).mean, 0), fixed_text(100 * share(e, 1).mean, 0)));
    Result result;
    result.answer =
        told("Small models learn to repeat the letter {} places before. These shares "
             "are right, first at the trained length and then in the second half of texts twice as long (guessing: "
             "{} %): {}. The integer grows beyond all that training saw, the step of a fraction depends on the "
             "length, and digits flip all at once.",
             task.places, fixed_text(100.0 / LettersBefore::letters, 1), percents);
    result.pictures = {
        {"shares", "The integer, its digits, its fraction, and the usual encodings, by length", "tokens of the text",
         "share of right letters",
         curves_of(plan.encodings, {lengths.begin(), lengths.end()}, share, "95 % interval over seeds")}};
    std::get<Curves>(result.pictures[0].content).references = {{"guessing", 1.0 / LettersBefore::letters}};
    result.tables = {{"right", "Share of right letters by length", std::move(figures)}};
    result.notes = {
        told("A causal model of one layer and width 64, {} steps of texts of {} random letters out of {}, {} "
             "seeds. At longer texts, only letters in the second half count.",
             task.steps, task.length, LettersBefore::letters, plan.seeds),
        "plain-integer adds p to the first column, plain-fraction p / (n - 1), where n is the length of the "
        "text, and plain-binary the lowest 8 binary digits of p to 8 columns. Embeddings "
        "start with a deviation of 0.07: an integer is far larger."};
    return result;
}

} // namespace integers_file

const Experiment integers_experiment{
    .name = "integers",
    .summary = "Why not add the integer, its digits, or a fraction?",
    .details =
        "Small models, trained in this run to repeat the letter three places before, with the plain position, its "
        "fraction of the length and its binary digits, against sinusoidal, RoPE and none; at the trained length "
        "and at longer texts.",
    .options = {"seeds"},
    .seconds = {40, 12},
    .run = integers_file::run};

} // namespace ordo::lab
