// SPDX-License-Identifier: MIT
// bench_products: the inner loops alone, with data in the first cache, as shares of the machine's limits.
#include "bench/programs/frame.h"
#include "core/error.h"
#include "core/tensor.h"
#include "core/timer.h"
#include "kernels/kernels.h"
#include "layers/matrix.h"
#include "tools/bench/statistics.h"
#include "tools/terminal/output.h"

#include <algorithm>
#include <cmath>

namespace {

using namespace ordo;
using namespace ordo::tools;

constexpr Option options[] = {
    {Kind::integers, "rows", "LIST=1,48", 1, 4096, "rows of activations"},
    {Kind::integers, "cols", "LIST=768", 256, 65536, "columns, in whole blocks of 256"},
    {Kind::integer, "panels", "N=1", 1, 65536, "panels of 32 outputs"},
    {Kind::integer, "r,repetitions", "N=9", 1, 1000, "rounds of both, in turns; the medians are shown"},
};
constexpr OptionGroup groups[] = {{"Products", options}, common_group};

struct Product {
    WeightType type;
    QuantProduct ByteLoops::*quantised; // null: floats or pairs
    Peak (*peak)(const Kernels&);
};
Peak floats(const Kernels& set) {
    return set.peak_floats;
}
Peak pairs(const Kernels& set) {
    return set.peak_pairs;
}
Peak bytes(const Kernels& set) {
    return set.peak_bytes;
}
constexpr Product products[] = {{WeightType::f32, nullptr, floats},
                                {WeightType::bf16, nullptr, pairs},
                                {WeightType::q8_0, &ByteLoops::product_q8_0, bytes},
                                {WeightType::q4_0, &ByteLoops::product_q4_0, bytes},
                                {WeightType::q4_K, &ByteLoops::product_q4_K, bytes},
                                {WeightType::q5_K, &ByteLoops::product_q5_K, bytes},
                                {WeightType::q6_K, &ByteLoops::product_q6_K, bytes}};

// GFLOP/s of many calls, enough for 2 ms.
template <class Work>
double rate(double operations, const Work& work) {
    const Clock::time_point start = Clock::now();
    double seconds = 0;
    int calls = 0;
    for (; seconds < 2e-3; seconds = seconds_since(start))
        for (int i = 0; i < 4; ++i, ++calls) work();
    return operations * calls / seconds / 1e9;
}

// One panel of weights by some rows. Every byte is 0x2c, so that no number is subnormal.
class Load {
public:
    Load(const Product& product, int rows, int k, int outputs)
        : product_(product), rows_(rows), k_(k), outputs_(outputs),
          weights_(filled(Matrix::bytes(product.type, outputs, k))), values_(filled(sizeof(float) * at(rows) * at(k))),
          scales_(at(rows) * at(k) / 32, 0.5f), sums_(scales_.size(), 32 * 0x2c), y_(at(rows) * at(outputs)) {}
    double products_rate() {
        return rate(2.0 * rows_ * outputs_ * k_, [&] { multiply(); });
    }

private:
    static std::size_t at(int n) { return static_cast<std::size_t>(n); }
    static Buffer<std::byte> filled(std::uint64_t size) {
        Buffer<std::byte> memory(size);
        std::fill_n(memory.data(), size, std::byte{0x2c});
        return memory;
    }
    void multiply() {
        const Kernels& set = kernels();
        const auto panel_bytes = static_cast<std::ptrdiff_t>(weights_.size()) / (outputs_ / panel_outputs);
        const auto* const values = values_.data();
        if (product_.quantised) {
            const auto* const levels = reinterpret_cast<const signed char*>(values);
            const QuantRows x{levels, scales_.data(), sums_.data(), sums_.data(), k_};
            (set.*product_.quantised)(rows_, outputs_, k_, weights_.data(), panel_bytes, x, y_.data(), outputs_);
        } else if (product_.type == WeightType::bf16 && set.product_bf16_pairs) {
            set.product_bf16_pairs(rows_, outputs_, k_, weights_.data(), panel_bytes,
                                   reinterpret_cast<const std::uint16_t*>(values), k_, y_.data(), outputs_, false);
        } else {
            (product_.type == WeightType::bf16 ? set.product_bf16 : set.product_f32)(
                rows_, outputs_, k_, weights_.data(), panel_bytes, reinterpret_cast<const float*>(values), k_,
                y_.data(), outputs_);
        }
    }

    const Product& product_;
    int rows_, k_, outputs_;
    Buffer<std::byte> weights_, values_;
    std::vector<float> scales_;
    std::vector<int> sums_;
    std::vector<float> y_;
};

int run(const Arguments& arguments) {
    Figures figures{{"type", "rows", "cols", "gflops", "limit_gflops", "percent_of_limit"}, {}, -1};
    for (const Product& product : products)
        for (const std::int64_t k : arguments.integers("cols"))
            for (const std::int64_t rows : arguments.integers("rows")) {
                if (k % 256 != 0) fail(ErrorCode::usage, "--cols: expected a multiple of 256, found ", k);
                Load load(product, static_cast<int>(rows), static_cast<int>(k),
                          panel_outputs * arguments.integer("panels"));
                const Peak peak = product.peak(kernels());
                constexpr int steps = 1 << 12;
                std::vector<double> reached, limits;
                for (int round = 0; round < arguments.integer("repetitions"); ++round) {
                    limits.push_back(rate(2.0 * peak.products * steps, [&] { peak.run(steps, 1, 1); }));
                    reached.push_back(load.products_rate());
                }
                const double gflops = bench::quantile(reached, 0.5), limit = bench::quantile(limits, 0.5);
                figures.rows.push_back({std::string(name_of(product.type)), rows, k, std::round(gflops),
                                        std::round(limit), std::round(100 * gflops / limit)});
            }
    write_out(render(figures, Format::text));
    return 0;
}

constexpr Verb verb{.name = "bench_products",
                    .operand = {},
                    .summary = "the inner loops of products on one thread, as shares of the machine's limits",
                    .details = "One panel of 32 outputs by some rows, with all data in a near cache: without memory, "
                               "other layers and threads. The limit multiplies numbers in registers.",
                    .groups = groups,
                    .run = run};

} // namespace

int main(int argc, char** argv) {
    return ordo::bench::run_program(verb, argc, argv);
}
