// SPDX-License-Identifier: MIT
// ordo bench: the cost of each encoding.
#include "core/error.h"
#include "core/parallel.h"
#include "io/base_name.h"
#include "layers/cache_format.h"
#include "model/stack.h"
#include "model/tensor_memory.h"
#include "tools/bench/machine.h"
#include "tools/bench/shapes.h"
#include "tools/cli/machine.h"
#include "tools/cli/mistakes.h"
#include "tools/verbs/bench_result.h"
#include "tools/verbs/programs.h"

#include <algorithm>

namespace ordo::tools {

namespace bench_file {

// The model that every encoding runs on, and its name.
struct Trunk {
    std::string name;
    Model model;

    // The type of the layers' weights. The embedding and the head may have other types (type_within()).
    WeightType type() const { return impl_of(model).weights.layers.front().linears.back().weight.type(); }
};

std::string model_file(const Arguments& arguments) {
    const std::string file = arguments.has("model") ? arguments.text("model") : arguments.operand();
    if (arguments.has("model") && arguments.has_operand())
        fail(ErrorCode::usage, "expected one model, found --model and '", printable(arguments.operand()), "'");
    if (file.empty()) return file;
    for (const Option& option : bench_shape_options)
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
    if (arguments.has("dim") || arguments.has("heads")) b.d_head = head_width(arguments, b.d_model, b.n_heads);
    return b;
}

Trunk random_trunk(const Arguments& arguments, const std::string& name, WeightType type) {
    const Blueprint b = shape_of(arguments, name);
    const std::uint64_t most = default_memory_limit();
    const std::uint64_t need = packed_bytes(tensor_list(b), type);
    if (need > most)
        fail(ErrorCode::limit, "shape '", printable(name), "': expected at most ", most, " bytes of weights, found ",
             need);
    return {name, random_model(b, "none", 1, type)};
}

// dtype: for random weights, or if the option was given.
Trunk open_trunk(const Arguments& arguments, const std::string& name, const std::string& dtype) {
    const std::string file = model_file(arguments);
    LoadOptions load;
    if (arguments.has("dtype")) load.dtype = dtype;
    Trunk trunk = file.empty() ? random_trunk(arguments, name, weight_type(dtype))
                               : Trunk{printable(base_name(file)), Model::load(file, load)};
    if (blueprint_of(trunk.model).bidirectional())
        fail(ErrorCode::usage, trunk.name, ": expected a causal model, found one that cannot decode");
    if (trunk.model.has_encoder())
        fail(ErrorCode::usage, trunk.name, ": expected a model that decodes by itself, found one with an encoder");
    return trunk;
}

std::vector<BenchResult> run_load(const Trunk& trunk, const bench::Plan& plan, const bench::Workload& load,
                                  Progress& progress) {
    const auto on_pass = [&](int round, std::string_view encoding) {
        const std::string turn =
            round < 0 ? "warming up" : "round " + std::to_string(round + 1) + "/" + std::to_string(plan.rounds);
        progress.show(trunk.name + " " + load.name() + " t" + std::to_string(load.n_threads) + ", " + turn + ", " +
                      std::string(encoding));
    };
    std::vector<BenchResult> results;
    std::vector<bench::EncodingCost> costs;
    {
        const bench::BusyThreads busy(plan.beside);
        costs = bench::measure(trunk.model, plan, load, on_pass);
    }
    const std::vector<double> none = costs.front().seconds;
    for (bench::EncodingCost& cost : costs) {
        BenchResult r;
        r.trunk = trunk.name;
        r.spec = plan.encodings[results.size()];
        r.type = std::string(name_of(trunk.type()));
        r.parameters = bench::parameter_count(tensor_list(blueprint_of(trunk.model)));
        const bench::WeightSizes sizes = bench::weight_sizes(trunk.model);
        r.bytes = static_cast<std::uint64_t>(sizes.all);
        r.chunk = plan.chunk;
        r.load = load;
        r.beside = plan.beside;
        r.seconds = bench::summarize(cost.seconds);
        r.rate = bench::summarize(bench::rates(load.tokens() * load.n_parallel, cost.seconds));
        r.difference = bench::summarize(bench::paired_percent(cost.seconds, none));
        r.moments_percent = 1e-4 * cost.moment_us.sum() * load.tokens() * load.n_parallel / bench::quantile(none, 0.5);
        r.alone = plan.alone;
        r.reference = results.empty() || plan.alone;
        r.predicted = bench::predict(blueprint_of(trunk.model), sizes, load, plan.chunk);
        r.cost = std::move(cost);
        results.push_back(std::move(r));
    }
    return results;
}

// Runs all loads of a trunk. Loads with the same threads are consecutive; the machine's limits on these threads are
// measured before and after them.
std::vector<BenchResult> run_trunk(const Trunk& trunk, const bench::Plan& plan, std::span<const bench::Workload> loads,
                                   Progress& progress) {
    const auto limits = [&](int threads) {
        progress.show(trunk.name + " t" + std::to_string(threads) + ", limits of the machine");
        return bench::measure_limits(blueprint_of(trunk.model), trunk.type(), threads);
    };
    std::vector<BenchResult> results;
    while (!loads.empty()) {
        const int threads = loads.front().n_threads;
        const auto other = std::find_if(loads.begin(), loads.end(),
                                        [&](const bench::Workload& load) { return load.n_threads != threads; });
        const auto count = static_cast<std::size_t>(other - loads.begin());
        const std::size_t first = results.size();
        const bench::Limits before = limits(threads);
        for (const bench::Workload& load : loads.first(count))
            for (BenchResult& r : run_load(trunk, plan, load, progress)) results.push_back(std::move(r));
        const bench::Limits reached = bench::better(before, limits(threads));
        for (BenchResult& r : std::span(results).subspan(first)) r.limits = reached;
        loads = loads.subspan(count);
    }
    return results;
}

} // namespace bench_file

int run_bench(const Arguments& arguments) {
    const bool quiet = arguments.has("quiet");
    std::vector<std::int64_t> threads{thread_count()};
    if (arguments.has("threads")) threads = arguments.integers("threads");
    std::vector<bench::Workload> loads =
        bench::workloads(arguments.integers("n-prompt"), arguments.integers("n-gen"), arguments.integers("n-depth"),
                         threads, arguments.integers("parallel"));
    for (bench::Workload& load : loads) load.cache = cache_type(arguments.text("cache-type"));
    if (loads.empty()) fail(ErrorCode::usage, "bench: expected tokens to feed, found -p 0 and -n 0");
    const bool file = !bench_file::model_file(arguments).empty();
    const std::vector<std::string> names = bench::split_names(arguments.text("shape"));
    const std::vector<std::string> dtypes = bench::split_names(arguments.text("dtype"));
    for (const std::string& dtype : dtypes) weight_type(dtype); // an unknown type is an error before anything runs
    if (const int busy = bench::other_runnable_tasks(); busy > 0 && !quiet)
        write_message("bench: the machine is not quiet (" + std::to_string(busy) + " other tasks run)");

    std::vector<BenchResult> results;
    Progress progress(quiet);
    for (const std::string& name : names)
        for (const std::string& dtype : dtypes) {
            const bench_file::Trunk trunk = bench_file::open_trunk(arguments, name, dtype);
            std::vector<std::string> lists(arguments.all("encodings").begin(), arguments.all("encodings").end());
            if (lists.empty()) lists.push_back(file ? trunk.model.encoding() : "all");
            const bool alone = arguments.has("alone");
            const bench::Plan plan{alone ? bench::spec_list(lists) : bench::encoding_list(lists),
                                   arguments.integer("repetitions"), arguments.integer("ubatch-size"),
                                   arguments.integer("beside"), alone};
            for (BenchResult& r : bench_file::run_trunk(trunk, plan, loads, progress)) results.push_back(std::move(r));
        }
    write_bench(results, parse_format(arguments.text("format")), quiet, arguments.has("verbose"));
    return 0;
}

} // namespace ordo::tools
