// SPDX-License-Identifier: MIT
// Several texts at once: each has a session, and a Batch reads the weights once for all of them.
//   c++ -std=c++20 batch.cpp $(pkg-config --cflags --libs ordo)
#include <ordo/ordo.h>

#include <algorithm>
#include <iostream>

int main(int argc, char** argv) {
    if (argc < 3) return 2; // MODEL PROMPT ...
    try {
        const ordo::Model model = ordo::Model::load(argv[1]);
        const int n = argc - 2;
        ordo::Batch batch(model, n);
        std::vector<ordo::Session> sessions;
        std::vector<ordo::Session*> all;
        std::vector<ordo::Token> next;
        std::vector<std::vector<ordo::Token>> texts;
        const auto likeliest = [](std::span<const float> logits) {
            return static_cast<ordo::Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
        };
        sessions.reserve(static_cast<std::size_t>(n));
        for (int i = 0; i < n; ++i) {
            sessions.emplace_back(model);
            next.push_back(likeliest(sessions.back().feed(model.encode(argv[i + 2], {.start = true}))));
            texts.push_back({next.back()});
        }
        for (ordo::Session& session : sessions) all.push_back(&session);

        for (int step = 1; step < 48; ++step) {
            const ordo::View logits = batch.feed(all, next); // [n, vocab_size]
            for (int i = 0; i < n; ++i) {
                next[static_cast<std::size_t>(i)] =
                    likeliest({logits.row(i), static_cast<std::size_t>(model.vocab_size())});
                texts[static_cast<std::size_t>(i)].push_back(next[static_cast<std::size_t>(i)]);
            }
        }
        for (const std::vector<ordo::Token>& text : texts) std::cout << model.decode(text) << '\n';
    } catch (const ordo::Error& error) {
        std::cerr << error.what() << '\n';
        return static_cast<int>(error.code);
    }
}
