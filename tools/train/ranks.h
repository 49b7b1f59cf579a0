// SPDX-License-Identifier: MIT
// The processes that train one model together, each on its share of every batch: one, unless the program was built by
// `make mpi` and started by mpirun, which numbers them from 0. All read the same files; rank 0 alone writes and speaks.
// A rank that ends without leave(), by an error or a signal, ends the others.
#pragma once

#include <cstdint>
#include <span>

namespace ordo::train::ranks {

void join(); // before anything below; a second call does nothing
int rank();  // of this process, 0 .. count() - 1
int count();

// Adds up what all ranks have at the same place; all of them call it with as many values, and get the same bits, at
// each repetition with as many ranks too.
void sum(std::span<double> values);
// The mean over the ranks: of `value`, which is returned, and of `values`, in place.
double mean(double value, std::span<float> values);
// True on all if it is on one.
bool any(bool one);
// True on all if all have the same.
bool same(std::uint64_t value);
// How many of the ranks share this machine's memory.
int on_this_machine();
// Called by a rank whose run has come to its end, when it needs the others no more; they too must come to it.
void leave();

} // namespace ordo::train::ranks
