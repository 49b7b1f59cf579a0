// SPDX-License-Identifier: MIT
// Several texts on several threads, as a server has them: each thread has a session and a team of its own. The
// teams are as large as leaves a processor for each of their threads; the texts are the same for any size.
//   c++ -std=c++20 -fopenmp threads.cpp $(pkg-config --cflags --libs ordo)
#include <ordo/ordo.h>

#include <omp.h>

#include <algorithm>
#include <iostream>
#include <thread>

int main(int argc, char** argv) {
    if (argc < 3) return 2; // MODEL PROMPT ...
    try {
        const ordo::Model model = ordo::Model::load(argv[1]); // shared by all
        const int n = argc - 2;
        const int team = std::max(1, omp_get_num_procs() / n);
        std::vector<std::string> texts(static_cast<std::size_t>(n));
        std::vector<std::thread> threads;
        for (int i = 0; i < n; ++i)
            threads.emplace_back([&, i] {
                std::string& text = texts[static_cast<std::size_t>(i)];
                try {
                    omp_set_num_threads(team); // of the calls that this thread makes
                    ordo::GenerateOptions options;
                    options.max_tokens = 48;
                    options.sampling.temperature = 0;
                    text = ordo::generate(model, argv[i + 2], options).text;
                } catch (const ordo::Error& error) {
                    text = error.what();
                }
            });
        for (std::thread& thread : threads) thread.join();
        for (const std::string& text : texts) std::cout << text << '\n';
    } catch (const ordo::Error& error) {
        std::cerr << error.what() << '\n';
        return static_cast<int>(error.code);
    }
}
