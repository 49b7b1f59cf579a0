// SPDX-License-Identifier: MIT
// E15: a process that forks and then generates. tests/model has the rest of that family: sessions in many threads,
// sessions moved between threads, and callbacks that throw or cancel.
// With GNU OpenMP, the child of a multi-threaded process has no team and would wait for one forever. So the engine
// stays on the thread that forked. A new thread of the child has its own team.
#include "ordo.h"

#include "core/parallel.h"
#include "tests/tools/models.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

using namespace ordo;
using namespace ordo::test;

std::string generated(const Model& model) {
    GenerateOptions options;
    options.max_tokens = 5;
    options.sampling.temperature = 0;
    return generate(model, "a", options).text;
}

// Runs the body in a child, which must report success within a minute.
template <class Body>
void expect_in_child(const Body& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        ::_exit(body() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(LibraryFork, AChildGeneratesWithItsParentsModel) {
    const int threads = thread_count();
    set_threads(2);
    const Model model = Model::load(model_file("rope"));
    EXPECT_EQ(generated(model), "bcdef");
    expect_in_child([&] {
        if (generated(model) != "bcdef" || generated(Model::load(model_file("alibi"))) != "bcdef") return false;
        bool same = false;
        std::thread([&] {
            set_threads(2);
            same = generated(model) == "bcdef";
        }).join();
        return same;
    });
    EXPECT_EQ(generated(model), "bcdef"); // the parent is unchanged
    set_threads(threads);
}

} // namespace
