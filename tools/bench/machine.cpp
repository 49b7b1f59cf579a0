// SPDX-License-Identifier: MIT
#include "tools/bench/machine.h"

#include "core/blas.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

namespace ordo::bench {

std::string cpu_model(std::istream& info) {
    std::map<std::string, std::string> of_first; // values of the first of several processors
    for (std::string line; std::getline(info, line);) {
        const std::size_t key = line.find_last_not_of(" \t", line.find(':') - 1), value = line.find(": ");
        if (value != std::string::npos && key != std::string::npos)
            of_first.emplace(line.substr(0, key + 1), line.substr(value + 2));
    }
    if (of_first.contains("model name")) return of_first["model name"];
    if (!of_first.contains("CPU part")) return "unknown processor";
    return "ARM64 processor of implementer " + of_first["CPU implementer"] + " and part " + of_first["CPU part"];
}

std::string cpu_name() {
    std::ifstream file("/proc/cpuinfo");
    return cpu_model(file) + ", " + std::to_string(std::thread::hardware_concurrency()) + " CPUs";
}

std::string processor() {
    std::ifstream file("/proc/cpuinfo");
    return cpu_model(file) + " with " + kernels().name + " kernels";
}

std::string memory_size() {
    const double pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
    const double bytes = pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
    if (pages <= 0) return "unknown";
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.1f GB", bytes / 1e9);
    return buffer;
}

std::string system_name() {
    std::ifstream file("/etc/os-release"); // PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
    std::string line, name;
    constexpr std::string_view key = "PRETTY_NAME=";
    while (name.empty() && std::getline(file, line))
        if (line.starts_with(key)) name = line.substr(key.size());
    std::erase(name, '"');
    utsname kernel{};
    if (::uname(&kernel) != 0) return name;
    return name + (name.empty() ? "" : ", ") + kernel.sysname + " " + kernel.release + " " + kernel.machine;
}

std::string compiler_name() {
#ifdef __clang__
    return __VERSION__; // includes the compiler's name
#else
    return "g++ " __VERSION__;
#endif
}

std::string backend_name() {
    return std::string(kernels().name) + " kernels, " + blas_description();
}

BusyThreads::BusyThreads(int count) {
    for (int i = 0; i < count; ++i)
        threads_.emplace_back([this] {
            while (!stop_.load(std::memory_order_relaxed)) {
            }
        });
}
BusyThreads::~BusyThreads() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
}

int other_runnable_tasks() {
    std::ifstream file("/proc/loadavg"); // 0.52 0.58 0.59 2/345 6789: runnable tasks, all tasks
    std::string skipped;
    int runnable = 0;
    for (int i = 0; i < 3; ++i) file >> skipped;
    return file >> runnable ? std::max(0, runnable - 1) : -1;
}

} // namespace ordo::bench
