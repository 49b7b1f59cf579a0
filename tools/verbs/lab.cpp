// SPDX-License-Identifier: MIT
// ordo lab: its options. The experiments are in a separate program, ordo-lab.
#include "tools/cli/machine.h"

namespace ordo::tools {

namespace lab_file {

constexpr Option options[] = {
    {.letter = 's',
     .name = "seed",
     .kind = Kind::seed,
     .value = "N",
     .fallback = "1",
     .help = "The seed of all random numbers."},
    {.name = "quick", .help = "Take less time, with fewer seeds, lengths and tokens."},
    {.name = "format",
     .kind = Kind::choice,
     .value = "FORMAT",
     .fallback = "text",
     .help = "text|md|csv|json: the output. csv has the tables and the numbers of the pictures, each after a line # "
             "NAME: TITLE if there are several; json has everything."},
    {.name = "all", .help = "Also print long tables and every picture, which are only named otherwise."},
    {.name = "out",
     .kind = Kind::path,
     .value = "DIR",
     .help = "Also write every picture there as SVG, and every table and picture as CSV."},
};
constexpr Option some_options[] = {
    {.name = "seeds",
     .kind = Kind::integer,
     .value = "N",
     .least = 1,
     .most = 1000,
     .help = "The number of repetitions with seeds that follow --seed."},
    {.letter = 'p',
     .name = "prompt",
     .kind = Kind::text,
     .value = "TEXT",
     .repeatable = true,
     .help = "A sentence instead of the built-in sentences."},
    {.name = "corpus", .kind = Kind::path, .value = "FILE", .help = "A text instead of the usual text."},
    {.letter = 'm',
     .name = "model",
     .kind = Kind::path,
     .value = "FILE",
     .repeatable = true,
     .help = "A model of any format instead of all shipped models. A folder without config.json stands for all weights "
             "in it."},
    {.name = "encodings",
     .alias = "encoding",
     .kind = Kind::text,
     .value = "LIST",
     .repeatable = true,
     .help = "Specs separated by commas or semicolons, or all. none is always shown too."},
    {.name = "length",
     .kind = Kind::integers,
     .value = "N,N,...",
     .least = 1,
     .most = 1 << 22,
     .help = "The lengths, in tokens."},
    {.name = "tasks",
     .kind = Kind::text,
     .value = "NAME,...",
     .help = "Some of copy, reverse, recall, parity, addition."},
    {.name = "alone", .help = "Run the encodings of --encodings without none."},
    {.name = "train",
     .kind = Kind::text,
     .value = "OPTIONS",
     .help = "For jobs: options for every ordo train, such as '--tokens 12000000 --batch 8'."},
    {.name = "dim", .kind = Kind::integer, .value = "D", .least = 1, .most = 65'536, .help = "The width of the model."},
    {.name = "heads", .kind = Kind::integer, .value = "H", .least = 1, .most = 1'024, .help = "The number of heads."},
};
constexpr OptionGroup groups[] = {{"Every experiment", options}, {"Some experiments", some_options}, common_group};

} // namespace lab_file

extern const Verb lab_verb;
const Verb lab_verb{
    .name = "lab",
    .operand = "NAME DIR",
    .summary = "Run experiments on published claims about positional encodings",
    .details = "Without NAME, the experiments are listed, with their options and their time on two cores. ordo lab "
               "NAME --help explains one. An experiment prints its answer, the findings, pictures, and short tables. "
               "ordo lab report DIR runs all of them and writes DIR/index.html, a page whose long tables are files in "
               "DIR/data, "
               "DIR/report.md, DIR/pictures and DIR/data; it takes --seed and --quick. Ctrl-C stops it and leaves the "
               "finished part in DIR/index.partial.html and DIR/report.partial.md. ordo lab jobs DIR prints a sweep "
               "over --encodings and --seeds as one command a line, training on --corpus or the tasks of --tasks: for "
               "GNU parallel (ordo lab jobs DIR ... | parallel) or Slurm (sed -n ${SLURM_ARRAY_TASK_ID}p JOBS | sh). "
               "ordo lab compare --model DIR joins their results.",
    .groups = lab_file::groups,
    .program = "ordo-lab"};

} // namespace ordo::tools
