// SPDX-License-Identifier: MIT
// On what a figure was taken.
#pragma once

#include <string>

namespace ordo::bench {

std::string cpu_name();     // "Intel(R) Xeon(R) ..., 2 of 2 CPUs"
std::string backend_name(); // the kernels in use and the BLAS: "avx512, OpenBLAS 0.3.21 ... OpenMP"
// Other programs that want the processor now, from /proc/loadavg: runnable tasks beside our own; -1 if
// the system does not say.
int other_runnable_tasks();

} // namespace ordo::bench
