// SPDX-License-Identifier: MIT
// The machine on which a figure was measured.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace ordo::bench {

// From Linux's /proc/cpuinfo: a name or, on ARM64, which has none, two numbers. Without commas.
std::string cpu_model(std::istream& info);
std::string cpu_name();      // "Intel(R) Xeon(R) ..., 2 of 2 CPUs"
std::string processor();     // it decides the last bits of sums: "AMD EPYC with avx512bf16 kernels"
std::string memory_size();   // of the machine: "7.8 GB"
std::string system_name();   // "Debian GNU/Linux 12 (bookworm), Linux 6.1.0 x86_64"
std::string compiler_name(); // of this program: "g++ 12.2.0"
std::string backend_name();  // the kernels in use and the BLAS: "avx512, OpenBLAS 0.3.21 ... OpenMP"
// Threads that only keep processors busy, until the object is destroyed.
class BusyThreads {
public:
    explicit BusyThreads(int count);
    ~BusyThreads();
    BusyThreads(const BusyThreads&) = delete;
    BusyThreads& operator=(const BusyThreads&) = delete;

private:
    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;
};

// Runnable tasks of other programs, from /proc/loadavg; -1 if unknown.
int other_runnable_tasks();

} // namespace ordo::bench
