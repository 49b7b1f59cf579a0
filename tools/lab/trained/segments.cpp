// SPDX-License-Identifier: MIT
// An encoding of segments: two parts of a text that disagree, and a question about one of them.
#include "tools/lab/trained/task_runs.h"

namespace ordo::lab {
namespace segments_file {

Result run(const Request& request) {
    constexpr double chance = 0.5, bound = 0.6;
    const TaskPlan plan{{&segment_task()},
                        request.encodings("none;rope;segment;segment+rope"),
                        {1, 1.25, 1.5, 2},
                        request.integer("seeds", request.quick ? 2 : 5),
                        256};
    const AllRuns all = train_all(plan, request.seed, request.progress);
    Expectations expectations;
    Judgement& with = expectations.expect(told(
        "With `segment`, a model answers at least {} of the questions from the part that is asked.", solved_share));
    Judgement& without = expectations.expect(
        told("Without it, no model answers {} of them: it can find the two answers, but not which one is asked for.",
             bound));
    std::string shares;
    for (std::size_t e = 0; e < plan.encodings.size(); ++e) {
        const Share right = right_at(all[0][e], 0);
        const std::string name = told("{} {} %", in_text(plan.encodings[e]), fixed_text(100 * right.mean, 0));
        append(shares, name);
        if (plan.encodings[e].find("segment") != std::string::npos)
            with.add(above(right.interval, solved_share), name);
        else
            without.add(below(right.interval, bound), name);
    }
    Result result;
    result.answer = told("It tells parts of a text apart. Asked about one of two parts that disagree, models answer "
                         "from that part in: {}. Without segments, half is the best.",
                         shares);
    result.found = {solvers_of(plan, 0, all[0])};
    expectations.write_to(result);
    result.pictures = {picture_of(plan, 0, all[0])};
    result.pictures[0].title =
        told("Answers from the part that is asked for, {} keys in each: {}", segment_task().trained, shares);
    std::get<Curves>(result.pictures[0].content).references = {{"one of the two parts, by chance", chance}};
    result.tables = {table_of(plan, 0, all[0])};
    result.notes = {told("An example: {}. The facts of two parts stand in a random order, and only their segments tell "
                         "the parts apart: ' marks the second. The last key asks for its digit in the part of its "
                         "segment.",
                         text_of(segment_task().make(1, 0, 2))),
                    told("Every model gets the segments; only `segment` adds something for them. Models and training "
                         "are those of `ordo lab tasks`: at most {} steps of {} questions, {} seeds; {} questions of "
                         "each number of keys. More than {} keys were not trained.",
                         segment_task().steps, segment_task().batch, plan.seeds, plan.samples, segment_task().trained)};
    return result;
}

} // namespace segments_file

const Experiment segments_experiment{
    .name = "segments",
    .summary = "What does an encoding of segments add?",
    .details = "Small models read two parts of a text that disagree, with a segment for each token, and answer a "
               "question about one of the parts, with and without `segment` (Devlin et al. 2019, arXiv 1810.04805), "
               "alone and together with RoPE. 5 seeds; --encodings names other encodings.",
    .options = {"seeds", "encodings"},
    .seconds = {30, 12},
    .run = segments_file::run};

} // namespace ordo::lab
