// SPDX-License-Identifier: MIT
#include "tools/verbs/bench_result.h"

#include "layers/cache_format.h"
#include "tools/bench/machine.h"
#include "tools/terminal/wide_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

namespace ordo::tools {
namespace bench_result_file {

Cell whole(std::size_t value) {
    return static_cast<std::int64_t>(value);
}
Cell whole(double value) {
    return static_cast<std::int64_t>(std::llround(value));
}
Cell nanoseconds(double seconds) {
    return whole(seconds * 1e9);
}
Cell rounded(double value, int decimals) {
    const double unit = std::pow(10, decimals);
    return std::round(value * unit) / unit;
}
Cell giga(double value) {
    return rounded(1e-9 * value, 3);
}
Cell kibibytes(std::size_t bytes) {
    return rounded(static_cast<double>(bytes) / 1024, 1);
}
std::string range(double low, double high, int decimals) {
    return fixed_text(low, decimals) + ".." + fixed_text(high, decimals);
}

const std::vector<std::string> record_columns = [] {
    std::istringstream names(
        "cpu_info backends model_type type model_size model_n_params n_ubatch n_threads n_prompt n_gen n_depth "
        "n_parallel n_beside type_k type_v encoding repetitions avg_ns stddev_ns avg_ts stddev_ts min_ts median_ts "
        "max_ts diff_q1 diff_median diff_q3 moments_percent embed_us observe_us rotate_us bias_us rescore_us mix_us "
        "shift_us "
        "moments_flops product_gflops sum_gflops predicted_us moments_of_predicted table_bytes parameter_bytes "
        "predicted_flops predicted_bytes gflops gbs stream_gbs sgemm_gflops percent_of_stream percent_of_sgemm "
        "limit_f32_gflops limit_bf16_gflops limit_bytes_gflops percent_of_limit");
    return std::vector<std::string>{std::istream_iterator<std::string>(names), {}};
}();

std::vector<Cell> record(const BenchResult& r) {
    const bench::EncodingCost& cost = r.cost;
    return {bench::cpu_name(),
            bench::backend_name(),
            r.trunk,
            r.type,
            whole(r.bytes),
            whole(r.parameters),
            std::int64_t{r.chunk},
            std::int64_t{r.load.n_threads},
            std::int64_t{r.load.n_prompt},
            std::int64_t{r.load.n_gen},
            std::int64_t{r.load.n_depth},
            std::int64_t{r.load.n_parallel},
            std::int64_t{r.beside},
            std::string(name_of(r.load.cache)),
            std::string(name_of(r.load.cache)),
            cost.encoding,
            whole(cost.seconds.size()),
            nanoseconds(r.seconds.mean),
            nanoseconds(r.seconds.deviation),
            rounded(r.rate.mean, 3),
            rounded(r.rate.deviation, 3),
            rounded(r.rate.min, 3),
            rounded(r.rate.median, 3),
            rounded(r.rate.max, 3),
            rounded(r.difference.first_quartile, 3),
            rounded(r.difference.median, 3),
            rounded(r.difference.third_quartile, 3),
            rounded(r.moments_percent, 4),
            rounded(cost.moment_us[moment_embed], 5),
            rounded(cost.moment_us[moment_observe], 5),
            rounded(cost.moment_us[moment_rotate], 5),
            rounded(cost.moment_us[moment_bias], 5),
            rounded(cost.moment_us[moment_rescore], 5),
            rounded(cost.moment_us[moment_mix], 5),
            rounded(cost.moment_us[moment_shift], 5),
            whole(cost.moment_operations.sum()),
            giga(cost.rates.product),
            giga(cost.rates.sum),
            rounded(cost.predicted_us(), 5),
            r.moments_of_predicted() > 0 ? rounded(r.moments_of_predicted(), 3) : Cell{},
            whole(cost.bytes.tables),
            whole(cost.bytes.parameters),
            whole(r.predicted.flops),
            whole(r.predicted.bytes),
            giga(r.flops()),
            giga(r.bytes_read()),
            giga(r.limits.stream),
            giga(r.limits.sgemm),
            r.decode() ? rounded(r.percent_of_stream(), 2) : Cell{},
            r.decode() ? Cell{} : rounded(r.percent_of_sgemm(), 2),
            giga(r.limits.floats),
            giga(r.limits.pairs),
            giga(r.limits.bytes),
            rounded(r.decode() ? r.percent_of_stream() : r.percent_of_products(), 2)};
}

// The columns, without those that --alone does not measure.
std::vector<Cell> measured(const BenchResult& r) {
    std::vector<Cell> cells = record(r);
    const auto place = [&](std::string_view column) {
        return cells.begin() +
               (std::find(record_columns.begin(), record_columns.end(), column) - record_columns.begin());
    };
    if (r.alone) std::fill(place("diff_q1"), place("table_bytes"), Cell{});
    return cells;
}

const std::vector<std::string> line_columns = {"model",    "type",    "test",   "threads",   "encoding",  "t/s",
                                               "min..max", "limit %", "diff %", "quartiles", "moments %", "us/token",
                                               "kflop",    "x pred.", "tables", "params"};

std::vector<Cell> line(const BenchResult& r) {
    std::vector<Cell> cells{r.trunk,
                            r.type,
                            r.load.name() + (r.beside > 0 ? " beside " + std::to_string(r.beside) : ""),
                            std::int64_t{r.load.n_threads},
                            r.spec,
                            rounded(r.rate.median, 0),
                            range(r.rate.min, r.rate.max, 0),
                            rounded(r.decode() ? r.percent_of_stream() : r.percent_of_products(), 1)};
    if (r.reference) {
        cells.resize(line_columns.size());
    } else {
        const bench::Summary& difference = r.difference;
        cells.insert(cells.end(),
                     {rounded(difference.median, 1), range(difference.first_quartile, difference.third_quartile, 1),
                      rounded(r.moments_percent, 2), rounded(r.cost.moment_us.sum(), 3),
                      rounded(1e-3 * r.cost.moment_operations.sum(), 1),
                      r.moments_of_predicted() > 0 ? rounded(r.moments_of_predicted(), 2) : Cell{},
                      kibibytes(r.cost.bytes.tables), kibibytes(r.cost.bytes.parameters)});
    }
    return cells;
}

// The columns of the short table: the cost of each encoding, and the columns that tell rows apart, if they differ. The
// long one has all. A column of costs without values is left out of both.
constexpr std::string_view short_columns[] = {"model", "test", "encoding", "t/s"},
                           cost_columns[] = {"diff %", "us/token", "kflop", "tables", "params"},
                           telling_columns[] = {"type", "threads"};

bool is_shown(const Figures& figures, std::size_t column, bool all) {
    const auto is_one_of = [&](const auto& names) {
        return std::find(std::begin(names), std::end(names), figures.columns[column]) != std::end(names);
    };
    const auto any = [&](const auto& is_it) { return std::any_of(figures.rows.begin(), figures.rows.end(), is_it); };
    return is_one_of(short_columns) ||
           ((all || is_one_of(cost_columns)) && any([&](const auto& row) { return row[column] != Cell{}; })) ||
           (is_one_of(telling_columns) &&
            any([&](const auto& row) { return row[column] != figures.rows.front()[column]; }));
}

Figures shown(const Figures& figures, bool all) {
    Figures few{{}, {}, figures.decimals};
    few.rows.resize(figures.rows.size());
    for (std::size_t i = 0; i < figures.columns.size(); ++i) {
        if (!is_shown(figures, i, all)) continue;
        few.columns.push_back(figures.columns[i]);
        for (std::size_t r = 0; r < figures.rows.size(); ++r) few.rows[r].push_back(figures.rows[r][i]);
    }
    return few;
}

// One note per line. A narrow terminal wraps them.
constexpr std::string_view speed_note = "t/s: tokens per second, median.\n";

constexpr std::string_view limit_notes =
    "limit % in decoding: the bytes that must be read, of a stream of reads in the same run on as many threads.\n"
    "limit % in prefill: the operations of products, of a loop that only multiplies numbers of the weights' type in "
    "registers.\n";

constexpr std::string_view short_notes =
    "diff %: time compared with none's in the same round, median; all took turns on the same weights; differences "
    "below about 3 % drown in noise.\n"
    "us/token: the time of an encoding's own calls; kflop: 1,000 operations a token predicted for them; tables, "
    "params: "
    "KiB that it computes, and that it trains. -v, --format csv or json: more.\n";

constexpr std::string_view notes =
    "diff %: time compared with none's in the same round, median and quartiles; all took turns on the same weights; "
    "below about 3 % they drown in noise.\n"
    "moments %: what they should be, the encoding's own calls (us/token) timed within passes and divided by none's.\n"
    "kflop: 1,000 operations a token that they are for.\n"
    "x pred.: their time, divided by what these would take at the rates of products and of sums in the same pass.\n"
    "tables, params: KiB that the encoding computes, and that it trains.\n";

// "limits: llama15m t2: stream 31.2 GB/s, sgemm 240, f32 500, bf16 990, bytes 1980 GFLOP/s": a line for each trunk and
// thread count.
std::string limit_lines(std::span<const BenchResult> results) {
    std::string out, before;
    for (const BenchResult& r : results) {
        const std::string at = r.trunk + " t" + std::to_string(r.load.n_threads);
        if (std::exchange(before, at) == at) continue;
        const auto giga = [](double value) { return fixed_text(1e-9 * value, 1); };
        out += "limits: " + at + ": stream " + giga(r.limits.stream) + " GB/s, sgemm " + giga(r.limits.sgemm) +
               ", f32 " + giga(r.limits.floats) + ", bf16 " + giga(r.limits.pairs) + ", bytes " + giga(r.limits.bytes) +
               " GFLOP/s\n";
    }
    return out;
}

} // namespace bench_result_file

void write_bench(std::span<const BenchResult> results, Format format, bool quiet, bool verbose) {
    const bool people = format == Format::text || format == Format::md;
    Figures figures{people ? bench_result_file::line_columns : bench_result_file::record_columns, {}, -1};
    for (const BenchResult& r : results)
        figures.rows.push_back(people ? bench_result_file::line(r) : bench_result_file::measured(r));
    const bool compared =
        std::any_of(results.begin(), results.end(), [](const BenchResult& r) { return !r.reference; });
    if (people) figures = bench_result_file::shown(figures, verbose);
    std::string out = format == Format::text ? for_stdout(figures) : render(figures, format);
    std::string below = "\n" + std::string(bench_result_file::speed_note);
    if (verbose) below += bench_result_file::limit_notes;
    if (compared) below += verbose ? bench_result_file::notes : bench_result_file::short_notes;
    below += bench_result_file::limit_lines(results) + bench::cpu_name() + "; " + bench::backend_name() + "\n";
    if (people) out += format == Format::text ? for_stdout(below) : below;
    write_out(out);
    if (!people && !quiet && compared)
        write_message("bench: differences of whole passes below about 3 % drown in noise");
}

} // namespace ordo::tools
