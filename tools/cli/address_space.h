// SPDX-License-Identifier: MIT
// OpenBLAS maps 128 MB for each thread, the first time before main. If the system refuses (ulimit -v), it retries
// forever. So the program checks first.
#pragma once

namespace ordo::tools {

// True if OpenBLAS can map its memory for this many threads. Calls no function that needs an initialised C library.
bool has_space_for_blas(int threads);

// The number of threads that OpenBLAS starts: from the environment, at most the processors.
int initial_blas_threads(char** environment);

} // namespace ordo::tools
