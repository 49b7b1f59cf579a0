// SPDX-License-Identifier: MIT
#include "tools/lab/study/csv.h"
#include "tools/lab/trained/task_runs.h"

namespace ordo::lab {

namespace fs = std::filesystem;

namespace {

// [task][encoding][seed]
using Found = std::map<std::string, std::map<std::string, std::map<std::uint64_t, TaskRun>>>;

struct Reader {
    Found found;
    std::vector<std::string> encodings; // in order of appearance
    std::vector<double> times;          // of the first run
    int examples = 0;                   // of the first run

    void read(const fs::path& file);
    void take(const Csv& csv, const std::string& task, const std::string& encoding, TaskRun run,
              const std::vector<double>& lengths);
};

void check_task(const Csv& csv) {
    const auto named = [&](const Task& task) { return task.name == csv.text(0); };
    if (std::ranges::none_of(tasks(), named))
        csv.refuse(text("expected some of ", task_names(), ", found '", printable(csv.text(0)), "'"));
}

TaskScore score_of(const Csv& csv) {
    const TaskScore score{.examples = csv.number<int>(5),
                          .exact = csv.number<int>(6),
                          .asked = csv.number<int>(7),
                          .right = csv.number<int>(8),
                          .ended = csv.number<int>(9)};
    if (score.exact < 0 || score.exact > score.examples)
        csv.refuse(
            text("expected from 0 to ", score.examples, " exact answers, as there are examples, found ", score.exact));
    if (score.right < 0 || score.ended < 0 || std::int64_t{score.right} + score.ended > score.asked)
        csv.refuse(text("expected symbols that are right or ended to be no more than the ", score.asked,
                        " asked, found ", score.right, " and ", score.ended));
    return score;
}

// The rows of a run are consecutive.
void Reader::read(const fs::path& file) {
    Csv csv(file, {"task", "encoding", "seed", "steps", "times", "examples", "exact", "asked", "right", "ended"});
    std::string task, encoding;
    TaskRun run;
    std::vector<double> lengths;
    while (csv.next()) {
        const auto seed = csv.number<std::uint64_t>(2);
        if (lengths.empty() || csv.text(0) != task || csv.text(1) != encoding || seed != run.seed) {
            if (!lengths.empty()) take(csv, task, encoding, std::move(run), lengths);
            task = csv.text(0), encoding = csv.text(1);
            check_task(csv);
            run = {.seed = seed, .steps = csv.number<int>(3), .scores = {}};
            lengths.clear();
        }
        if (csv.number<int>(3) != run.steps)
            csv.refuse(text("expected ", run.steps, " steps as at the run's first length, found ", csv.text(3)));
        lengths.push_back(csv.number<double>(4));
        run.scores.push_back(score_of(csv));
    }
    if (lengths.empty()) csv.refuse("expected runs, found none");
    take(csv, task, encoding, std::move(run), lengths);
}

// Several files may contain the same run, such as the run of none that accompanies others.
void Reader::take(const Csv& csv, const std::string& task, const std::string& encoding, TaskRun run,
                  const std::vector<double>& lengths) {
    if (times.empty()) times = lengths, examples = run.scores[0].examples;
    if (lengths != times || lengths[0] != 1 || run.scores[0].examples == 0)
        csv.refuse("expected each run at the same lengths, from the trained one on, found others");
    for (std::size_t i = 0; i < run.scores.size(); ++i) // empty if the encoding lacks positions
        if (const int n = run.scores[i].examples; n != examples && (i == 0 || n != 0))
            csv.refuse(text("expected each run to be asked ", examples, " examples at each length, found ", n));
    if (std::find(encodings.begin(), encodings.end(), encoding) == encodings.end()) encodings.push_back(encoding);
    const auto [at, fresh] = found[task][encoding].emplace(run.seed, run);
    if (!fresh && (at->second.scores != run.scores || at->second.steps != run.steps))
        csv.refuse(text("expected one result of ", task, ", ", printable(encoding), ", seed ", run.seed,
                        ", found another than before"));
}

// The seeds that all encodings have on all tasks.
std::set<std::uint64_t> common_seeds(const Found& found, const std::vector<std::string>& encodings) {
    std::map<std::uint64_t, std::size_t> counts;
    for (const auto& [task, runs] : found)
        for (const std::string& encoding : encodings)
            for (const auto& [seed, run] : runs.at(encoding)) ++counts[seed];
    std::set<std::uint64_t> seeds;
    for (const auto& [seed, count] : counts)
        if (count == found.size() * encodings.size()) seeds.insert(seed);
    return seeds;
}

} // namespace

NamedFigures runs_of_tasks(const TaskPlan& plan, const AllRuns& all) {
    NamedFigures out{
        "runs",
        "Each run: counts of examples and symbols by length",
        {{"task", "encoding", "seed", "steps", "times", "length", "examples", "exact", "asked", "right", "ended"}, {}}};
    for (std::size_t t = 0; t < plan.tasks.size(); ++t)
        for (std::size_t e = 0; e < plan.encodings.size(); ++e)
            for (const TaskRun& run : all[t][e])
                for (std::size_t i = 0; i < plan.times.size(); ++i) {
                    const TaskScore& score = run.scores[i];
                    add_row(out.figures, plan.tasks[t]->name, plan.encodings[e], std::to_string(run.seed), run.steps,
                            plan.times[i], length_of(*plan.tasks[t], plan.times[i]), score.examples, score.exact,
                            score.asked, score.right, score.ended);
                }
    return out;
}

std::vector<fs::path> task_run_files(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code error;
    if (fs::exists(folder / task_runs_file, error)) files.push_back(folder / task_runs_file);
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
        if (fs::exists(entry.path() / task_runs_file, error)) files.push_back(entry.path() / task_runs_file);
    std::sort(files.begin(), files.end());
    return files;
}

GatheredTasks gather_tasks(const std::vector<fs::path>& files) {
    Reader reader;
    for (const fs::path& file : files) reader.read(file);
    GatheredTasks out;
    // The order of a complete run: none first, tasks in their order.
    std::stable_partition(reader.encodings.begin(), reader.encodings.end(),
                          [](const std::string& encoding) { return encoding == "none"; });
    for (const Task& task : tasks())
        if (reader.found.contains(std::string(task.name))) out.plan.tasks.push_back(&task);
    for (const std::string& encoding : reader.encodings) {
        const bool everywhere = std::all_of(reader.found.begin(), reader.found.end(),
                                            [&](const auto& task) { return task.second.contains(encoding); });
        everywhere ? out.plan.encodings.push_back(encoding) : append(out.left_out, printable(encoding));
    }
    const std::set<std::uint64_t> seeds = common_seeds(reader.found, out.plan.encodings);
    std::set<std::uint64_t> others;
    for (const auto& [task, runs] : reader.found)
        for (const auto& [encoding, of_seeds] : runs)
            for (const auto& [seed, run] : of_seeds)
                if (!seeds.contains(seed)) others.insert(seed);
    for (const std::uint64_t seed : others) append(out.left_out, text("seed ", seed));
    if (seeds.empty())
        fail(ErrorCode::usage, printable(files[0].string()), " and ", files.size() - 1,
             " other files: expected a seed that all encodings have on all tasks, found none");
    out.plan.times = reader.times;
    out.plan.seeds = static_cast<int>(seeds.size());
    for (const Task* task : out.plan.tasks) {
        auto& encodings = out.runs.emplace_back();
        for (const std::string& encoding : out.plan.encodings) {
            TaskRuns& runs = encodings.emplace_back();
            for (const std::uint64_t seed : seeds)
                runs.push_back(reader.found[std::string(task->name)][encoding].at(seed));
        }
    }
    out.plan.samples = reader.examples;
    return out;
}

} // namespace ordo::lab
