// SPDX-License-Identifier: MIT
// The processes that train one model together, each with its part of every batch. There is one process, unless the
// program was built by `make mpi` and started by mpirun, which numbers the processes from 0. All read the same files.
// Only rank 0 writes files and messages. A rank that ends without leave(), by an error or a signal, ends the others.
#pragma once

#include <cstdint>
#include <span>

namespace ordo::train::ranks {

void join(); // call before anything below; a second call does nothing
int rank();  // the number of this process, 0 .. count() - 1
int count();

// Adds the values of all ranks element by element. All ranks call it with equally many values and get the same bits.
// Repeating a run with the same number of ranks gives the same bits again.
void sum(std::span<double> values);
// The mean over the ranks: `value`'s is returned, and `values` are replaced by theirs.
double mean(double value, std::span<float> values);
// True on all ranks if it is true on at least one.
bool any(bool one);
// True on all ranks if they all have the same value.
bool same(std::uint64_t value);
// The number of ranks that share this machine's memory.
int on_this_machine();
// Called by a rank at the end of its run, when it no longer needs the others. All ranks must call it.
void leave();

} // namespace ordo::train::ranks
