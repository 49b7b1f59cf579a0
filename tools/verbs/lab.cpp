// SPDX-License-Identifier: MIT
// ordo lab: its options. The experiments are in a separate program, ordo-lab.
#include "tools/cli/machine.h"

namespace ordo::tools {

namespace lab_file {

constexpr Option options[] = {
    {Kind::seed, "s,seed", "N=1", "The seed of all random numbers."},
    {"quick", "Take less time, with fewer seeds, lengths and tokens."},
    {Kind::choice, "format", "FORMAT=text",
     "text|md|csv|json: the output. csv has the tables and the numbers of the pictures, each after a line # NAME: "
     "TITLE if there are several; json has everything."},
    {"all", "Also print long tables and every picture, which are only named otherwise."},
    {Kind::path, "out", "DIR", "Also write every picture there as SVG, and every table and picture as CSV."},
};
constexpr Option some_options[] = {
    {Kind::integer, "seeds", "N", 1, 1000, "The number of repetitions with seeds that follow --seed."},
    repeatable({Kind::text, "p,prompt", "TEXT", "A sentence instead of the built-in sentences."}),
    {Kind::path, "corpus", "FILE", "A text instead of the usual text."},
    repeatable({Kind::path, "m,model", "FILE",
                "A model of any format instead of all shipped models. A folder without config.json stands for all "
                "weights in it."}),
    repeatable({Kind::text, "encodings,encoding", "LIST",
                "Specs separated by commas or semicolons, or all. none is always shown too."}),
    {Kind::integers, "length", "N,N,...", 1, 1 << 22, "The lengths, in tokens."},
    {Kind::text, "tasks", "NAME,...",
     "Some of copy, reverse, recall, parity, addition (the five by default), last-parity, flip-flop, permutation, "
     "long-addition, indirect."},
    {"alone", "Run the encodings of --encodings without none."},
    {Kind::text, "train", "OPTIONS", "For jobs: options for every ordo train, such as '--tokens 12000000 --batch 8'."},
    {Kind::integer, "dim", "D", 1, 65'536, "The width of the model."},
    {Kind::integer, "heads", "H", 1, 1'024, "The number of heads."},
};
constexpr OptionGroup groups[] = {{"Every experiment", options}, {"Some experiments", some_options}, common_group};

} // namespace lab_file

extern const Verb lab_verb;
const Verb lab_verb{
    .name = "lab",
    .operand = "NAME DIR",
    .summary = "Run experiments on positional encodings",
    .details = "Without NAME, the experiments are listed, with their options and their time on two cores. ordo lab "
               "NAME --help explains one. An experiment prints its answer, the findings, pictures, and short tables. "
               "ordo lab report DIR runs all of them and writes DIR/index.html, a page whose long tables are files in "
               "DIR/data, DIR/report.md, DIR/pictures and DIR/data; it takes --seed and --quick. Ctrl-C stops it and "
               "leaves the finished part in DIR/index.partial.html and DIR/report.partial.md. ordo lab jobs DIR prints "
               "a sweep over --encodings and --seeds as one command a line, training on --corpus or the tasks of "
               "--tasks: for GNU parallel (ordo lab jobs DIR ... | parallel) or Slurm (sed -n ${SLURM_ARRAY_TASK_ID}p "
               "JOBS | sh). ordo lab compare --model DIR joins their results.",
    .groups = lab_file::groups,
    .program = "ordo-lab"};

} // namespace ordo::tools
