// SPDX-License-Identifier: MIT
// ordo bench: what each encoding costs.
#include "bench/machine.h"
#include "bench/overhead.h"
#include "bench/shapes.h"
#include "bench/statistics.h"
#include "core/error.h"
#include "core/parallel.h"
#include "tools/machine.h"
#include "tools/output.h"

#include <cmath>

namespace ordo::tools {

namespace {

constexpr double most_tokens = 1 << 20;

constexpr Option options[] = {
    {.name = "encodings",
     .alias = "encoding",
     .kind = Kind::text,
     .value = "LIST",
     .repeatable = true,
     .help = "specs separated by ; or , or all for every registered encoding; by default all, and with --model "
             "that of the file. none is always measured beside them"},
    {.letter = 'p',
     .name = "n-prompt",
     .kind = Kind::integers,
     .value = "N",
     .fallback = "512",
     .least = 0,
     .most = most_tokens,
     .help = "prefill: tokens fed at once; 0: no prefill"},
    {.letter = 'n',
     .name = "n-gen",
     .kind = Kind::integers,
     .value = "N",
     .fallback = "128",
     .least = 0,
     .most = most_tokens,
     .help = "decode: tokens fed one at a time; 0: no decode"},
    {.letter = 'd',
     .name = "n-depth",
     .kind = Kind::integers,
     .value = "N",
     .fallback = "0",
     .least = 0,
     .most = most_tokens,
     .help = "tokens in the cache before, not timed"},
    {.name = "parallel",
     .kind = Kind::integers,
     .value = "N",
     .fallback = "1",
     .least = 1,
     .most = 1024,
     .help = "decode: sequences that move on together; t/s counts the tokens of all"},
    {.letter = 'r',
     .name = "repetitions",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "5",
     .least = 1,
     .most = 100'000,
     .help = "rounds; in each, every encoding runs once, in another order"},
    {.name = "ubatch-size",
     .kind = Kind::integer,
     .value = "N",
     .fallback = "256",
     .least = 1,
     .most = most_tokens,
     .help = "tokens processed at once in prefill"},
    {.letter = 't',
     .name = "threads",
     .kind = Kind::integers,
     .value = "N",
     .least = 1,
     .most = max_threads,
     .help = "threads; by default OMP_NUM_THREADS or the physical cores"},
    {.name = "format",
     .kind = Kind::choice,
     .value = "FORMAT",
     .fallback = "text",
     .help = "text|md|csv|json: of the figures"},
};
constexpr Option shape_options[] = {
    {.name = "shape",
     .alias = "arch",
     .kind = Kind::text,
     .value = "NAMES",
     .fallback = "ordo",
     .help = "shapes to run with random weights and no file: an architecture, llama15m, llama110m, gpt2-124m, "
             "bloom560m or llama1.1b"},
    {.letter = 'm',
     .name = "model",
     .kind = Kind::path,
     .value = "FILE",
     .help = "run the weights of FILE in the place of random ones"},
    {.name = "dtype",
     .kind = Kind::choice,
     .value = "TYPE",
     .fallback = "f32",
     .help = "f32|f16|bf16|q8_0|q4_0: of the weights in memory; with --model as stored"},
    {.name = "layers", .kind = Kind::integer, .value = "N", .least = 1, .most = 1024, .help = "change a shape: layers"},
    {.name = "dim", .kind = Kind::integer, .value = "N", .least = 1, .most = 65536, .help = "width"},
    {.name = "heads", .kind = Kind::integer, .value = "N", .least = 1, .most = 1024, .help = "query heads"},
    {.name = "kv-heads", .kind = Kind::integer, .value = "N", .least = 1, .most = 1024, .help = "key heads"},
    {.name = "ffn", .kind = Kind::integer, .value = "N", .least = 1, .most = 1 << 20, .help = "feed-forward width"},
    {.name = "vocab", .kind = Kind::integer, .value = "N", .least = 1, .most = 1 << 22, .help = "vocabulary"},
};
// The common ones but --threads, which is a list here.
static_assert(common_options[0].name == "threads");
constexpr OptionGroup groups[] = {
    {"Bench", options}, {"Model", shape_options}, {"Common", std::span(common_options).subspan(1)}};

// What every encoding runs on, and what it is called.
struct Trunk {
    std::string name;
    Model model;

    // Of the layers' weights; the embedding's and the head's may differ (type_within()).
    WeightType type() const { return model.impl().weights.blocks.front().feed_forward.in.weight.type(); }
};

std::string model_file(const Arguments& arguments) {
    const std::string file = arguments.has("model") ? arguments.text("model") : arguments.operand();
    if (arguments.has("model") && arguments.has_operand())
        fail(ErrorCode::usage, "expected one model, found --model and '", printable(arguments.operand()), "'");
    if (file.empty()) return file;
    for (const Option& option : shape_options)
        if (option.name != "model" && option.name != "dtype" && arguments.has(option.name))
            fail(ErrorCode::usage, "option --", option.name, ": a model file has a shape of its own");
    return file;
}

Blueprint shape_of(const Arguments& arguments, std::string_view name) {
    Blueprint b = bench::shape(name);
    const auto change = [&](std::string_view option, int& field) {
        if (arguments.has(option)) field = arguments.integer(option);
    };
    change("layers", b.n_layers);
    change("dim", b.d_model);
    change("ffn", b.d_ff);
    change("vocab", b.vocab_size);
    change("heads", b.n_heads);
    if (arguments.has("heads")) b.n_kv_heads = b.n_heads;
    change("kv-heads", b.n_kv_heads);
    if (arguments.has("dim") || arguments.has("heads")) {
        if (b.d_model % b.n_heads != 0)
            fail(ErrorCode::usage, "shape '", printable(name), "': expected a width that ", b.n_heads,
                 " heads divide, found ", b.d_model);
        b.d_head = b.d_model / b.n_heads;
    }
    return b;
}

Trunk random_trunk(const Arguments& arguments, const std::string& name) {
    const Blueprint b = shape_of(arguments, name);
    const std::uint64_t most = default_memory_limit();
    const std::uint64_t need = packed_bytes(tensor_list(b), weight_type(arguments.text("dtype")));
    if (need > most)
        fail(ErrorCode::limit, "shape '", printable(name), "': expected at most ", most, " bytes of weights, found ",
             need);
    return {name, random_model(b, "none", 1, weight_type(arguments.text("dtype")))};
}

Trunk open_trunk(const Arguments& arguments, const std::string& name) {
    const std::string file = model_file(arguments);
    LoadOptions load;
    if (arguments.has("dtype")) load.dtype = arguments.text("dtype");
    Trunk trunk = file.empty() ? random_trunk(arguments, name)
                               : Trunk{std::filesystem::path(file).filename().string(), Model::load(file, load)};
    if (trunk.model.impl().blueprint.mask == Mask::bidirectional)
        fail(ErrorCode::usage, printable(trunk.name), ": expected a causal model, found one that cannot decode");
    return trunk;
}

Cell whole(std::size_t value) {
    return static_cast<std::int64_t>(value);
}
Cell nanoseconds(double seconds) {
    return static_cast<std::int64_t>(std::llround(seconds * 1e9));
}
Cell rounded(double value, int decimals) {
    const double unit = std::pow(10, decimals);
    return std::round(value * unit) / unit;
}
Cell kibibytes(std::size_t bytes) {
    return rounded(static_cast<double>(bytes) / 1024, 1);
}
std::string range(double low, double high, int decimals) {
    return fixed_text(low, decimals) + ".." + fixed_text(high, decimals);
}

// All that was measured of one encoding in one load. spec: as it was asked for.
struct Result {
    std::string trunk, spec, type; // type: of the trunk's weights
    std::size_t parameters, bytes; // of the trunk
    int chunk;
    bench::Workload load;
    bench::EncodingCost cost;
    bench::Summary seconds, rate, difference; // difference: to none in the same round, percent of time
    double stage_percent;                     // the encoding's own calls, as a share of none's pass
    bool reference;                           // this is none

    std::vector<Cell> record() const;
    std::vector<Cell> line() const;
};

const std::vector<std::string> record_columns = {
    "cpu_info",      "backends",    "model_type", "type",      "model_size",  "model_n_params",
    "n_ubatch",      "n_threads",   "n_prompt",   "n_gen",     "n_depth",     "n_parallel",
    "encoding",      "repetitions", "avg_ns",     "stddev_ns", "avg_ts",      "stddev_ts",
    "min_ts",        "median_ts",   "max_ts",     "diff_q1",   "diff_median", "diff_q3",
    "stage_percent", "embed_us",    "rotate_us",  "bias_us",   "table_bytes", "parameter_bytes"};

std::vector<Cell> Result::record() const {
    return {bench::cpu_name(),
            bench::backend_name(),
            trunk,
            type,
            whole(bytes),
            whole(parameters),
            std::int64_t{chunk},
            std::int64_t{load.n_threads},
            std::int64_t{load.n_prompt},
            std::int64_t{load.n_gen},
            std::int64_t{load.n_depth},
            std::int64_t{load.n_parallel},
            cost.encoding,
            whole(cost.seconds.size()),
            nanoseconds(seconds.mean),
            nanoseconds(seconds.deviation),
            rounded(rate.mean, 3),
            rounded(rate.deviation, 3),
            rounded(rate.min, 3),
            rounded(rate.median, 3),
            rounded(rate.max, 3),
            rounded(difference.first_quartile, 3),
            rounded(difference.median, 3),
            rounded(difference.third_quartile, 3),
            rounded(stage_percent, 4),
            rounded(cost.stages.embed, 5),
            rounded(cost.stages.rotate, 5),
            rounded(cost.stages.bias, 5),
            whole(cost.bytes.tables),
            whole(cost.bytes.parameters)};
}

const std::vector<std::string> line_columns = {"model",    "type",     "test",   "threads",   "encoding",
                                               "t/s",      "min..max", "diff %", "quartiles", "stage %",
                                               "us/token", "tables",   "params"};

std::vector<Cell> Result::line() const {
    std::vector<Cell> cells{trunk,
                            type,
                            load.name(),
                            std::int64_t{load.n_threads},
                            spec,
                            rounded(rate.median, 0),
                            range(rate.min, rate.max, 0)};
    if (reference) {
        cells.resize(line_columns.size());
    } else {
        cells.insert(cells.end(),
                     {rounded(difference.median, 1), range(difference.first_quartile, difference.third_quartile, 1),
                      rounded(stage_percent, 2), rounded(cost.stages.sum(), 3), kibibytes(cost.bytes.tables),
                      kibibytes(cost.bytes.parameters)});
    }
    return cells;
}

std::vector<Result> run_load(const Trunk& trunk, const bench::Plan& plan, const bench::Workload& load,
                             Progress& progress) {
    const auto on_pass = [&](int round, std::string_view encoding) {
        progress.show(trunk.name + " " + load.name() + " t" + std::to_string(load.n_threads) + ", round " +
                      std::to_string(round + 1) + "/" + std::to_string(plan.rounds) + ", " + std::string(encoding));
    };
    std::vector<Result> results;
    std::vector<bench::EncodingCost> costs = bench::measure(trunk.model, plan, load, on_pass);
    const std::vector<double> none = costs.front().seconds;
    for (bench::EncodingCost& cost : costs) {
        Result r;
        r.trunk = trunk.name;
        r.spec = plan.encodings[results.size()];
        r.type = std::string(name_of(trunk.type()));
        r.parameters = bench::parameter_count(tensor_list(trunk.model.impl().blueprint));
        r.bytes = packed_bytes(tensor_list(trunk.model.impl().blueprint), trunk.type());
        r.chunk = plan.chunk;
        r.load = load;
        r.seconds = bench::summarize(cost.seconds);
        r.rate = bench::summarize(bench::rates(load.tokens() * load.n_parallel, cost.seconds));
        r.difference = bench::summarize(bench::paired_percent(cost.seconds, none));
        r.stage_percent = 1e-4 * cost.stages.sum() * load.tokens() * load.n_parallel / bench::quantile(none, 0.5);
        r.reference = results.empty();
        r.cost = std::move(cost);
        results.push_back(std::move(r));
    }
    return results;
}

constexpr std::string_view notes =
    "t/s: tokens per second, median; all encodings took turns on the same weights, in another order each round.\n"
    "diff %: time compared with none's in the same round, median and quartiles. Differences of whole passes below\n"
    "about 3 % drown in noise. stage %: what they should be, the encoding's own calls (us/token) timed alone and\n"
    "divided by none's pass. tables, params: KiB that the encoding computes, and that it trains.\n";

void write(const std::vector<Result>& results, Format format, bool quiet) {
    const bool people = format == Format::text || format == Format::md;
    Figures figures{people ? line_columns : record_columns, {}, -1};
    for (const Result& r : results) figures.rows.push_back(people ? r.line() : r.record());
    std::string out = render(figures, format);
    if (people) out += "\n" + std::string(notes) + bench::cpu_name() + "; " + bench::backend_name() + "\n";
    write_out(out);
    if (!people && !quiet) write_message("bench: differences of whole passes below about 3 % drown in noise");
}

int run(const Arguments& arguments) {
    const bool quiet = arguments.has("quiet");
    std::vector<std::int64_t> threads{thread_count()};
    if (arguments.has("threads")) threads = arguments.integers("threads");
    const std::vector<bench::Workload> loads =
        bench::workloads(arguments.integers("n-prompt"), arguments.integers("n-gen"), arguments.integers("n-depth"),
                         threads, arguments.integers("parallel"));
    if (loads.empty()) fail(ErrorCode::usage, "bench: expected tokens to feed, found -p 0 and -n 0");
    const bool file = !model_file(arguments).empty();
    const std::vector<std::string> names = bench::split_names(arguments.text("shape"));
    if (const int busy = bench::other_runnable_tasks(); busy > 0 && !quiet)
        write_message("bench: the machine is not quiet (" + std::to_string(busy) + " other tasks run)");

    std::vector<Result> results;
    Progress progress(quiet);
    for (const std::string& name : names) {
        const Trunk trunk = open_trunk(arguments, name);
        std::vector<std::string> lists(arguments.all("encodings").begin(), arguments.all("encodings").end());
        if (lists.empty()) lists.push_back(file ? trunk.model.encoding() : "all");
        const bench::Plan plan{bench::encoding_list(lists), arguments.integer("repetitions"),
                               arguments.integer("ubatch-size")};
        for (const bench::Workload& load : loads)
            for (Result& r : run_load(trunk, plan, load, progress)) results.push_back(std::move(r));
    }
    write(results, parse_format(arguments.text("format")), quiet);
    return 0;
}

} // namespace

extern const Verb bench_verb;
const Verb bench_verb{
    .name = "bench",
    .operand = "MODEL",
    .summary = "what each positional encoding costs",
    .details = "Lists are crossed: -p 512 -n 128 -d 0,1024 -t 1,2 makes eight tests. Columns are llama-bench's where "
               "they mean the same.",
    .groups = groups,
    .run = run};

} // namespace ordo::tools
