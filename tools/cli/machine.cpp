// SPDX-License-Identifier: MIT
#include "tools/cli/machine.h"

#include "core/blas.h"
#include "core/error.h"
#include "core/parallel.h"
#include "io/control_group.h"
#include "kernels/kernels.h"
#include "model/model_access.h"
#include "tools/bench/shapes.h"
#include "tools/terminal/output.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sched.h>
#include <set>
#include <system_error>
#include <thread>

namespace ordo::tools {

namespace {

// OMP_NUM_THREADS, if it is a number or a list, of which the first number counts; otherwise 0.
int threads_of_environment() {
    const char* text = std::getenv("OMP_NUM_THREADS");
    int value = 0;
    if (!text) return 0;
    const std::string_view all(text);
    const std::string_view first = all.substr(0, all.find(','));
    const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), value);
    return error == std::errc{} && end == first.data() + first.size() && value > 0 ? value : 0;
}

int default_threads() {
    const int wanted = threads_of_environment();
    // Threads beyond the machine's hardware threads would only wait for each other.
    const int logical = std::max({1, static_cast<int>(std::thread::hardware_concurrency()), omp_get_num_procs()});
    return wanted > 0 ? std::min(wanted, logical) : physical_cores();
}

} // namespace

int physical_cores(const std::filesystem::path& root) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
    std::set<std::string> cores; // each core as the list of its hardware threads
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed)) continue;
        const std::string number = std::to_string(cpu);
        std::ifstream file(root / ("sys/devices/system/cpu/cpu" + number + "/topology/thread_siblings_list"));
        std::string siblings;
        cores.insert(file >> siblings ? siblings : "cpu" + number);
    }
    // OpenMP has bound this thread to the first of its places (OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY), and binds
    // each further thread to one of them.
    const int count = std::max(static_cast<int>(cores.size()), omp_get_num_places());
    const double quota = std::min(group_limits(root).processors + 0.5, double{max_threads});
    return std::clamp(count, 1, std::max(1, static_cast<int>(quota)));
}

void apply_common(const Arguments& arguments) {
    int threads = default_threads();
    if (arguments.offers("threads") && arguments.has("threads")) { // some verbs take a list
        const std::vector<std::int64_t> list = arguments.integers("threads");
        threads = static_cast<int>(*std::max_element(list.begin(), list.end()));
    }
    set_threads(threads);
    select_kernels(arguments.offers("isa") ? arguments.text("isa") : "auto");
    if (arguments.has("verbose")) write_message("threads: " + std::to_string(threads) + ", kernels: " + kernels().name);
}

void choose_threads(const Arguments& arguments, const Model& model) {
    constexpr std::size_t small = std::size_t{1} << 22; // parameters
    if (arguments.has("threads") || threads_of_environment() > 0) return;
    if (bench::parameter_count(tensor_list(blueprint_of(model))) < small) set_threads(1);
}

std::string version_text() {
    std::string sets;
    for (const Kernels* set : available_kernels()) sets += (sets.empty() ? "" : ", ") + std::string(set->name);
    return "ordo " + std::string(version()) + "\nBLAS: " + blas_description() + "\nkernels: " + kernels().name +
           " (this machine runs " + sets + ")\nOpenMP: " + std::to_string(_OPENMP) + ", " +
           std::to_string(default_threads()) + " threads by default\n";
}

} // namespace ordo::tools
