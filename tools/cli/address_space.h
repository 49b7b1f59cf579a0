// SPDX-License-Identifier: MIT
// OpenBLAS maps 128 MB for each thread, and where the system refuses (ulimit -v) it asks again for
// ever, the first time before main. So the program asks first.
#pragma once

namespace ordo::tools {

// True if OpenBLAS can have its memory for so many threads. Calls nothing that needs the C library
// to be initialised.
bool has_space_for_blas(int threads);

// The threads that OpenBLAS starts with: what the environment says, at most the processors.
int initial_blas_threads(char** environment);

} // namespace ordo::tools
