// SPDX-License-Identifier: MIT
#include "tools/lab/trained/task_runs.h"

namespace ordo::lab {
namespace {

// An example of random length, uniform over the lengths of training.
Example drawn(const Task& task, std::uint64_t seed, std::uint64_t index) {
    const auto count = static_cast<std::uint64_t>(task.trained - task.shortest + 1);
    const int length = task.shortest + static_cast<int>(Random(seed, 0x1e47).below(index, count));
    return task.make(seed, index, length);
}

TaskScore& operator+=(TaskScore& sum, const TaskScore& one) {
    sum.examples += one.examples, sum.exact += one.exact;
    sum.asked += one.asked, sum.right += one.right, sum.ended += one.ended;
    return sum;
}

// The model predicts each token of the answer from the correct tokens before it. All are correct exactly if the
// greedily written answer is: up to its first mistake, that answer is fed the same tokens.
TaskScore ask(Session& session, const Example& example) {
    TaskScore score{.examples = 1, .exact = 1};
    const std::span<const Token> tokens = example.tokens;
    session.rewind(0);
    const std::span<const int> segments = example.segments;
    const TokenRows rows{.segments = segments.first(segments.empty() ? 0 : tokens.size() - 1)};
    session.feed_all(tokens.first(tokens.size() - 1), rows, [&](int first, View logits) {
        for (int row = 0; row < logits.rows; ++row) {
            const auto next = static_cast<std::size_t>(first + row + 1);
            if (!example.scored[next]) continue;
            const float* scores = logits.row(row);
            const auto answer = static_cast<Token>(std::max_element(scores, scores + logits.cols) - scores);
            if (answer != tokens[next]) score.exact = 0;
            if (tokens[next] == end_of_answer) continue;
            ++score.asked;
            score.right += answer == tokens[next];
            score.ended += answer == end_of_answer;
        }
    });
    return score;
}

} // namespace

double TaskRun::beyond() const {
    double sum = 0;
    for (std::size_t i = 1; i < scores.size(); ++i) sum += scores[i].right_share();
    return sum / static_cast<double>(scores.size() - 1);
}

int solved_of(const TaskRuns& runs) {
    return static_cast<int>(std::count_if(runs.begin(), runs.end(), [](const TaskRun& run) { return run.solved(); }));
}

long steps_of(const TaskRuns& runs) {
    Sample steps;
    for (const TaskRun& run : runs) steps.add(run.steps);
    return std::lround(steps.mean());
}

Share share_at(const TaskRuns& runs, std::size_t length, double (TaskScore::*share)() const) {
    Vector shares;
    for (const TaskRun& run : runs) shares.push_back((run.scores[length].*share)());
    if (std::isnan(shares[0])) return {shares[0], {}};
    return share_of(shares, runs[0].scores[length].examples);
}

Share beyond_of(const TaskRuns& runs) {
    Vector shares;
    for (const TaskRun& run : runs) shares.push_back(run.beyond());
    if (std::isnan(shares[0])) return {shares[0], {}};
    return share_of(shares, runs[0].scores[0].examples);
}

int length_of(const Task& task, double times) {
    return static_cast<int>(std::lround(task.trained * times));
}

Recipe recipe_of(const Task& task) {
    const int length = task.tokens(task.trained) - 1;
    Recipe r{.trunk = small_trunk(task.vocab, length, 3),
             .batch = task.batch,
             .length = length,
             .steps = task.steps,
             .lr = 2e-3,
             .solved = 0.02, // nats; every step has new examples, so this is the loss on unseen ones
             .decay = task.steps / 10};
    r.draw_each([&task](std::uint64_t seed, std::uint64_t number, std::span<Token> tokens, std::span<Token> targets) {
        const Example example = drawn(task, seed, number);
        for (std::size_t j = 0; j + 1 < example.tokens.size(); ++j) {
            tokens[j] = example.tokens[j];
            if (example.scored[j + 1]) targets[j] = example.tokens[j + 1];
        }
    });
    if (!task.make(1, 0, task.shortest).segments.empty())
        r.segments = [&task](std::uint64_t seed, std::uint64_t number, std::span<int> segments) {
            const Example example = drawn(task, seed, number);
            std::copy_n(example.segments.begin(), example.tokens.size() - 1, segments.begin());
        };
    return r;
}

TaskScore score(const Model& model, const Task& task, int length, int samples, std::uint64_t seed) {
    const int fed = task.tokens(length) - 1;
    if (fed > model.max_position()) return {};
    Session session = small_session(model, fed);
    TaskScore sum;
    for (int i = 0; i < samples; ++i) {
        // Beyond every index of training, and the same for every model of the seed.
        const std::uint64_t index = (std::uint64_t{1} << 40) + (std::uint64_t(length) << 20) + i;
        sum += ask(session, task.make(seed, index, length));
    }
    return sum;
}

AllRuns train_all(const TaskPlan& plan, std::uint64_t seed, const std::function<void(const std::string&)>& progress) {
    GridPlan study{{}, plan.encodings, plan.seeds};
    for (const Task* task : plan.tasks) {
        study.conditions.push_back(recipe_of(*task));
        study.conditions.back().positions = task->tokens(length_of(*task, plan.times.back()));
    }
    return train_grid<TaskRun>(study, seed, progress, [&](const Model& model, const GridCell& cell) {
        const Task& task = *plan.tasks[cell.condition];
        TaskRun run{.seed = cell.seed, .steps = cell.steps, .scores = {}};
        for (const double times : plan.times)
            run.scores.push_back(score(model, task, length_of(task, times), plan.samples, cell.seed));
        return run;
    });
}

} // namespace ordo::lab
