// SPDX-License-Identifier: MIT
// On what a figure was taken.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace ordo::bench {

// Of what Linux writes to /proc/cpuinfo: a name or, as ARM64 has none, two numbers.
std::string cpu_model(std::istream& info);
std::string cpu_name();      // "Intel(R) Xeon(R) ..., 2 of 2 CPUs"
std::string memory_size();   // of the machine: "7.8 GB"
std::string system_name();   // "Debian GNU/Linux 12 (bookworm), Linux 6.1.0 x86_64"
std::string compiler_name(); // that the program was built by: "g++ 12.2.0"
std::string backend_name();  // the kernels in use and the BLAS: "avx512, OpenBLAS 0.3.21 ... OpenMP"
// So many threads that do nothing else than to be busy, from here to the end of the object.
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

// Other programs that want the processor now, from /proc/loadavg: runnable tasks beside our own; -1 if
// the system does not say.
int other_runnable_tasks();

} // namespace ordo::bench
