// SPDX-License-Identifier: MIT
// Teaches a model one sentence, writes the model to a file and reads it again.
//   c++ -std=c++20 fine_tune.cpp $(pkg-config --cflags --libs ordo)
#include <ordo/training.h>

#include <iostream>

int main(int argc, char** argv) {
    if (argc != 4) return 2; // MODEL SENTENCE OUT
    try {
        const ordo::Model model = ordo::Model::load(argv[1]);
        const std::vector<ordo::Token> text = model.encode(argv[2], {.start = true}); // as a prompt begins
        const std::span<const ordo::Token> all(text), tokens = all.first(text.size() - 1), targets = all.subspan(1);

        ordo::Trainer trainer(model, {.length = static_cast<int>(tokens.size())});
        for (int step = 0; step < 12; ++step) std::cout << trainer.step(tokens, targets, 1e-3) << '\n';
        std::cout << trainer.loss(tokens, targets) << '\n';
        trainer.save(argv[3]);
        const ordo::Model tuned = ordo::Model::load(argv[3]);
        std::cout << tuned.metadata("fine_tune.1.steps") << " steps\n";
    } catch (const ordo::Error& error) {
        std::cerr << error.what() << '\n';
        return static_cast<int>(error.code);
    }
}
