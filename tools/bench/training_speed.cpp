// SPDX-License-Identifier: MIT
#include "tools/bench/training_speed.h"

#include "core/error.h"
#include "core/random.h"
#include "core/timer.h"
#include "encoding/base/model_encodings.h"
#include "tools/bench/predict.h"
#include "tools/bench/shapes.h"
#include "training/step.h"

#include <algorithm>

namespace ordo::bench {
namespace {

constexpr int network_head_rows = 512; // rows of Network's logits
constexpr int cube = 2048;

// y [n, out] = x w^T, dx = dy w, dw += dy^T x with w [out, in].
void add_linear(std::vector<Product>& products, const std::string& name, int rows, int out, int in, int count) {
    products.push_back({name + " y", rows, out, in, Transpose::no, Transpose::yes, false, count});
    products.push_back({name + " dx", rows, in, out, Transpose::no, Transpose::no, false, count});
    products.push_back({name + " dw", out, in, rows, Transpose::yes, Transpose::no, true, count});
}

void fill(std::span<float> values) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 31) * 0.01f - 0.15f;
}

// Multiplies matrices of a product's shapes, in memory that all products share.
class Multiplier {
public:
    explicit Multiplier(std::span<const Product> products) {
        std::size_t a = 0, b = 0, c = 0;
        for (const Product& p : products) {
            a = std::max(a, floats(p.m, p.k));
            b = std::max(b, floats(p.k, p.n));
            c = std::max(c, floats(p.m, p.n));
        }
        a_ = Buffer<float>(a);
        b_ = Buffer<float>(b);
        c_ = Buffer<float>(c);
        fill(a_);
        fill(b_);
    }

    double seconds(const Product& p) {
        const bool ta = p.ta == Transpose::yes, tb = p.tb == Transpose::yes;
        const View a = view(a_.data(), ta ? p.k : p.m, ta ? p.m : p.k),
                   b = view(b_.data(), tb ? p.n : p.k, tb ? p.k : p.n), c = view(c_.data(), p.m, p.n);
        return seconds_of([&] { gemm(a, p.ta, b, p.tb, c, p.accumulate ? 1.0f : 0.0f); });
    }

    // FLOP/s over all products, each weighted by its count.
    double rate(std::span<const Product> products) {
        double flops = 0, time = 0;
        for (const Product& p : products) {
            flops += p.count * p.flops();
            time += p.count * seconds(p);
        }
        return flops / time;
    }

private:
    static std::size_t floats(int rows, int cols) {
        return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
    }

    Buffer<float> a_, b_, c_;
};

// A trunk in training on random tokens.
class Trainee {
public:
    explicit Trainee(const TrainingPlan& plan)
        : encodings_(plan.encoding, plan.blueprint.dims()), parameters_(plan.blueprint, encodings_),
          network_(plan.blueprint, encodings_, parameters_, plan.batch, plan.blueprint.context),
          optimizer_(parameters_) {
        check_reach(encodings_, plan.blueprint.context);
        const Random random(1, 0x70e5);
        tokens_.resize(static_cast<std::size_t>(plan.batch) * static_cast<std::size_t>(plan.blueprint.context) + 1);
        for (std::size_t i = 0; i < tokens_.size(); ++i)
            tokens_[i] = static_cast<Token>(random.below(i, static_cast<std::uint64_t>(plan.blueprint.vocab_size)));
        parameters_.initialise(1);
    }

    std::size_t parameters() const { return parameter_count(parameters_.specs()); }

    void step() {
        const std::size_t n = tokens_.size() - 1;
        (void)take_step(network_, optimizer_, {std::span(tokens_).first(n), std::span(tokens_).subspan(1)},
                        {1e-3, 0.1, 1.0});
    }

private:
    ModelEncodings encodings_;
    Parameters parameters_;
    Network network_;
    Optimizer optimizer_;
    std::vector<Token> tokens_;
};

} // namespace

std::vector<Product> training_products(const Blueprint& b, int rows, int head_rows) {
    std::vector<Product> products;
    const std::vector<Program> programs = compile(b).layers;
    for (std::size_t i = 0; i < programs.size(); ++i) {
        const int layers = (b.n_layers - static_cast<int>(i) - 1) / static_cast<int>(programs.size()) + 1;
        for (const LinearSpec& w : programs[i].linears) add_linear(products, w.name, rows, w.rows, w.cols, layers);
    }
    if (const int width = b.embedding_width; width != 0) {
        add_linear(products, "embedding_projection", rows, b.d_model, width, 1);
        add_linear(products, "head_projection", rows, width, b.d_model, 1);
    }
    add_linear(products, "head", head_rows, b.vocab_size, b.embedding_cols(), rows / head_rows);
    return products;
}

// For a mixture of experts, counts the experts that one token uses.
double layer_parameters(const Program& program) {
    double n = 0;
    for (const LinearSpec& w : program.linears) {
        const bool expert = w.name.starts_with("feed_forward.experts.");
        const double share = expert ? static_cast<double>(program.plan.experts_used) / program.plan.experts : 1;
        n += share * w.rows * w.cols;
    }
    return n;
}

double matmul_parameters(const Blueprint& b) {
    const StackProgram stack = compile(b);
    double n = static_cast<double>(b.embedding_cols()) * b.vocab_size + 2.0 * b.embedding_width * b.d_model;
    for (int i = 0; i < b.n_layers; ++i) n += layer_parameters(stack.layer(i));
    return n;
}

double step_flops(const Blueprint& b, int batch, int length) {
    const double tokens = static_cast<double>(batch) * length;
    const double attention = 6 * 2.0 * b.d_head * pairs_seen(b, 0, length) * b.n_heads * batch;
    return 6 * matmul_parameters(b) * tokens + attention;
}

TrainingResult measure_training(const TrainingPlan& plan) {
    check(plan.blueprint, "trunk");
    check_blas();
    const int rows = plan.batch * plan.blueprint.context, head_rows = std::min(rows, network_head_rows);
    if (rows % head_rows != 0)
        fail(ErrorCode::usage, "batch x context: expected a multiple of ", head_rows, " tokens, found ", rows);
    const std::vector<Product> products = training_products(plan.blueprint, rows, head_rows);
    const Product whole{"cube", cube, cube, cube, Transpose::no, Transpose::yes, false, 1};
    Multiplier trunk(products), square({&whole, 1});
    Trainee trainee(plan);

    TrainingResult result;
    result.parameters = trainee.parameters();
    result.tokens = rows;
    result.flops = step_flops(plan.blueprint, plan.batch, plan.blueprint.context);
    for (int round = -1; round < plan.rounds; ++round) { // the first one warms up
        const double step = seconds_of([&] { trainee.step(); });
        const double at_trunk = trunk.rate(products), at_cube = whole.flops() / square.seconds(whole);
        if (round < 0) continue;
        result.step.push_back(step);
        result.trunk_sgemm.push_back(at_trunk);
        result.cube_sgemm.push_back(at_cube);
    }
    return result;
}

} // namespace ordo::bench
