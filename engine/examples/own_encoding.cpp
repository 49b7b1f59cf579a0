// SPDX-License-Identifier: MIT
// An encoding of your own, put into a model in the place of the one it was trained with. This
// one is the rotation of Su et al. 2021 written again, so that the text must stay the same.
#include <ordo/ordo.h>

#include <cmath>
#include <iostream>

class MyRotation : public ordo::Encoding {
public:
    std::string spec() const override { return "my-rotation"; }
    void rotate(ordo::View x, const ordo::HeadRows& rows) const override {
        const int d_head = x.cols / rows.n_heads;
        for (int i = 0; i < x.rows; ++i) {
            for (int j = 0; j < x.cols; j += 2) { // pair j of a head turns by position * 10000^(-j / d_head)
                const double angle = rows.positions[i] * std::pow(10000.0, -double(j % d_head) / d_head);
                const double a = x.row(i)[j], b = x.row(i)[j + 1];
                x.row(i)[j] = float(a * std::cos(angle) - b * std::sin(angle));
                x.row(i)[j + 1] = float(a * std::sin(angle) + b * std::cos(angle));
            }
        }
    }
};

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const auto model = ordo::Model::load(argv[1], std::make_unique<MyRotation>());
    ordo::GenerateOptions options;
    options.max_tokens = 48;
    options.sampling.temperature = 0;
    std::cout << ordo::generate(model, argv[2], options).text << '\n' << model.encoding() << '\n';
}
