// SPDX-License-Identifier: MIT
// Loads a model and lets it continue a text, piece by piece.
//   c++ -std=c++20 generate.cpp $(pkg-config --cflags --libs ordo)
#include <ordo/ordo.h>

#include <iostream>

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    try {
        const ordo::Model model = ordo::Model::load(argv[1]);
        ordo::GenerateOptions options;
        options.max_tokens = 48;
        options.sampling.temperature = 0; // always the likeliest token
        ordo::generate(model, argv[2], options, [](std::string_view text) {
            std::cout << text << std::flush;
            return true; // false stops
        });
        std::cout << '\n';
    } catch (const ordo::Error& error) {
        std::cerr << error.what() << '\n';
        return static_cast<int>(error.code);
    }
}
