// SPDX-License-Identifier: MIT
#include "bench/machine.h"

#include "core/blas.h"
#include "kernels/kernels.h"

#include <fstream>
#include <thread>

namespace ordo::bench {

std::string cpu_name() {
    std::ifstream file("/proc/cpuinfo");
    std::string line, name = "unknown processor";
    while (std::getline(file, line)) {
        if (!line.starts_with("model name")) continue;
        const std::size_t at = line.find(": ");
        if (at != std::string::npos) name = line.substr(at + 2);
        break;
    }
    return name + ", " + std::to_string(std::thread::hardware_concurrency()) + " CPUs";
}

std::string backend_name() {
    return std::string(kernels().name) + " kernels, " + blas_description();
}

int other_runnable_tasks() {
    std::ifstream file("/proc/loadavg"); // 0.52 0.58 0.59 2/345 6789: tasks that can run, all tasks
    std::string skipped;
    int runnable = 0;
    for (int i = 0; i < 3; ++i) file >> skipped;
    return file >> runnable ? std::max(0, runnable - 1) : -1;
}

} // namespace ordo::bench
