// SPDX-License-Identifier: MIT
// MPI: A Message-Passing Interface Standard, version 3.1; Debian's libopenmpi-dev. By default, which this file keeps,
// an MPI error ends all ranks.
#include "tools/train/ranks.h"

#include <algorithm>
#include <cstddef>
#include <mpi.h>

namespace ordo::train::ranks {
namespace {

int number = 0, number_of_ranks = 1, number_here = 1;

// Sums in parts, because MPI's counts are ints. The order of a sum depends only on the size and the number of ranks.
template <class T>
void sum_all(std::span<T> values, MPI_Datatype type) {
    if (number_of_ranks == 1) return;
    constexpr std::size_t most = std::size_t{1} << 30;
    for (std::size_t first = 0; first < values.size(); first += most) {
        const std::span<T> part = values.subspan(first, std::min(most, values.size() - first));
        MPI_Allreduce(MPI_IN_PLACE, part.data(), static_cast<int>(part.size()), type, MPI_SUM, MPI_COMM_WORLD);
    }
}

} // namespace

void join() {
    int joined = 0;
    MPI_Initialized(&joined);
    if (joined != 0) return;
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level); // only this thread calls MPI
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    MPI_Comm_size(MPI_COMM_WORLD, &number_of_ranks);
    MPI_Comm here;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &number_here);
    MPI_Comm_free(&here);
}
int rank() {
    return number;
}
int count() {
    return number_of_ranks;
}
void sum(std::span<double> values) {
    sum_all(values, MPI_DOUBLE);
}
double mean(double value, std::span<float> values) {
    sum({&value, 1});
    sum_all(values, MPI_FLOAT);
    for (float& v : values) v /= static_cast<float>(number_of_ranks);
    return value / number_of_ranks;
}
bool any(bool one) {
    double told[] = {one ? 1.0 : 0.0};
    sum(told);
    return told[0] > 0;
}
bool same(std::uint64_t value) {
    std::uint64_t ends[] = {value, ~value}; // the minimum of both gives the minimum and, inverted, the maximum
    if (number_of_ranks > 1) MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    return ends[0] == ~ends[1];
}
int on_this_machine() {
    return number_here;
}
void leave() {
    MPI_Finalize();
}

} // namespace ordo::train::ranks
