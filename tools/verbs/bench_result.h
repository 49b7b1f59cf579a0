// SPDX-License-Identifier: MIT
// The results of `ordo bench`, and their tables.
#pragma once

#include "tools/bench/limits.h"
#include "tools/bench/overhead.h"
#include "tools/bench/predict.h"
#include "tools/bench/statistics.h"
#include "tools/terminal/output.h"

namespace ordo::tools {

// All measurements of one encoding in one load.
struct BenchResult {
    std::string trunk, spec, type;         // spec: as given; type: of the trunk's weights
    std::size_t parameters = 0, bytes = 0; // of the trunk
    int chunk = 0, beside = 0;             // beside: busy threads
    bench::Workload load;
    bench::EncodingCost cost;
    bench::Summary seconds{}, rate{}, difference{}; // difference: to none in the same round, percent of time
    double moments_percent = 0;                     // the encoding's own calls, as a percentage of none's pass
    bool reference = false;                         // compared with nothing, as none is
    bool alone = false;                             // without the time of the encoding's own calls
    bench::Cost predicted;                          // of none
    bench::Limits limits;                           // of the machine on the load's threads

    double flops() const { return predicted.flops / seconds.median; } // per second
    double bytes_read() const { return predicted.bytes / seconds.median; }
    double percent_of_stream() const { return 100 * bytes_read() / limits.stream; }
    double percent_of_sgemm() const { return 100 * flops() / limits.sgemm; }
    double percent_of_products() const { return 100 * flops() / limits.products(weight_type(type)); }
    // The time of the encoding's calls, divided by the predicted time of their operations; 0 for none.
    double moments_of_predicted() const {
        const double at_rate = cost.predicted_us();
        return at_rate > 0 ? cost.moment_us.sum() / at_rate : 0;
    }
    bool decode() const { return load.n_gen > 0; }
};

// Writes the tables to stdout, with notes below tables for people.
void write_bench(std::span<const BenchResult> results, Format format, bool quiet, bool verbose);

} // namespace ordo::tools
