// SPDX-License-Identifier: MIT
// RoPE that rotates values too, with and without the rotation of each head's output back.
#include "tools/lab/study/answers.h"
#include "tools/lab/trained/letters_before.h"

namespace ordo::lab {
namespace values_file {

// rope, which also rotates values by their position j and, with `back`, a head's output by minus its position i: the
// output is then a sum of values rotated by j - i.
class Turned final : public Encoding {
public:
    Turned(const Dims& dims, bool back) : rope_(std::move(make_encodings("rope", dims).front())), back_(back) {}
    std::string spec() const override { return back_ ? "rope-values-back" : "rope-values"; }
    void prepare(int n_positions) override { rope_->prepare(n_positions); }
    bool rotates(Role role) const override { return back_ || role != Role::output; }
    int shift_invariant_below() const override { return back_ ? rope_->shift_invariant_below() : 0; }
    void rotate(View x, const HeadRows& rows) const override { turn(x, rows, rows.role == Role::output); }
    void rotate_backward(View dx, View, const HeadRows& rows, const Gradients&) const override {
        turn(dx, rows, rows.role != Role::output);
    }

private:
    void turn(View x, const HeadRows& rows, bool inverse) const { // which is RoPE's backward pass
        if (inverse)
            rope_->rotate_backward(x, x, rows, {});
        else
            rope_->rotate(x, rows);
    }
    std::unique_ptr<Encoding> rope_;
    bool back_;
};

void register_all() {
    static const bool once = [] {
        for (const bool back : {false, true})
            register_encoding(back ? "rope-values-back" : "rope-values", [back](const Dims& dims, std::string_view) {
                return OwnEncoding(std::make_unique<Turned>(dims, back));
            });
        return true;
    }();
    static_cast<void>(once);
}

constexpr int shifts[] = {0, 100, 1000, 10000};
const Names rotated = {"queries and keys", "values too", "values too, output back"};

Result run(const Request& request) {
    register_all();
    const LettersBefore task{.places = 3, .steps = request.quick ? 400 : 800};
    const GridPlan plan{{task.recipe()}, {"rope", "rope-values", "rope-values-back"}, request.integer("seeds", 3)};
    const auto grid =
        train_grid<Vector>(plan, request.seed, request.progress, [&](const Model& model, const GridCell& cell) {
            Vector right;
            for (const int shift : shifts) right.push_back(task.right(model, cell.seed, task.length, 0, shift));
            return right;
        });
    const auto share = [&](std::size_t e, std::size_t s) {
        Vector values;
        for (const Vector& one : grid[0][e]) values.push_back(one[s]);
        return share_of(values);
    };
    Figures figures{{"rotated", "shift", "right", "low", "high"}, {}, 3};
    for (std::size_t e = 0; e < rotated.size(); ++e)
        for (std::size_t s = 0; s < std::size(shifts); ++s) add_row(figures, rotated[e], shifts[s], share(e, s));
    const auto percent = [&](std::size_t e, std::size_t s) { return fixed_text(100 * share(e, s).mean, 0); };
    const std::size_t far = std::size(shifts) - 1;
    Result result;
    result.answer =
        told("A score multiplies a query with a key, so their rotations leave the distance. Values are summed: a "
             "rotated value carries its position into the sum. Asked for the letter {} places before, models are right "
             "in {} % with rotated queries and keys, {} % with values too, and {} % if the output is rotated back. "
             "With positions that begin at {}: {}, {} and {} %. After the rotation back, a value depends on its "
             "distance alone.",
             task.places, percent(0, 0), percent(1, 0), percent(2, 0), tools::grouped(shifts[far]), percent(0, far),
             percent(1, far), percent(2, far));
    Curves curves = curves_of(rotated, {0, 1, 2, 3}, share, "95 % interval over seeds");
    for (const int shift : shifts) curves.x_names.push_back(text(shift));
    curves.references = {{"guessing", 1.0 / LettersBefore::letters}};
    result.pictures = {{"shares", "Rotated values need the rotation of the output back", "position of the first letter",
                        "share of right letters", curves}};
    result.tables = {{"right", "Share of right letters, by the position at which a text begins", std::move(figures)}};
    result.notes = {
        told("A causal model of one layer and width 64, {} steps of texts of {} random letters out of {}, {} seeds. "
             "Training has positions 0 to {}.",
             task.steps, task.length, LettersBefore::letters, plan.seeds, task.length - 1),
        "Output back: the output of the query at i is rotated by -i, so a value at j arrives rotated by j - i. A model "
        "whose keys are also its values needs this, because its cache holds rotated rows."};
    return result;
}

} // namespace values_file

const Experiment values_experiment{
    .name = "values",
    .summary = "Why does RoPE rotate queries and keys, but not values?",
    .details = "Small models, trained in this run to repeat the letter three places before: RoPE on queries and keys, "
               "on values too, and with each head's output rotated back. Texts then begin at other positions. Su et "
               "al. 2021, arXiv 2104.09864, 3.4.",
    .options = {"seeds"},
    .seconds = {12, 6},
    .run = values_file::run};

} // namespace ordo::lab
