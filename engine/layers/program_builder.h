// SPDX-License-Identifier: MIT
// Builds a program, tensor by tensor and step by step.
#pragma once

#include "layers/program.h"

#include <cmath>
#include <utility>

namespace ordo {

class ProgramBuilder {
public:
    // in: the input of the program.
    ProgramBuilder(const LayerPlan& plan, const LayerSizes& sizes, const Value& in) {
        program.plan = plan;
        program.sizes = sizes;
        program.values.push_back(in);
    }

    // ---- Tensors: each call returns the index for steps. The order is that of a file.
    // Matrices start from N(0, 0.02). Matrices that write into the residual stream are shrunk by the number of its
    // branches, two or three for each layer (Radford et al. 2019, section 2.3).
    int matrix(const std::string& name, int rows, int cols, bool bias, bool into_stream = false) {
        const double deviation = into_stream ? 0.02 / std::sqrt(branches() * program.sizes.n_layers) : 0.02;
        program.linears.push_back({name, rows, cols, bias, static_cast<float>(deviation)});
        tensor(name + ".weight", {rows, cols}, InitialValues::normal(static_cast<float>(deviation)));
        if (bias) tensor(name + ".bias", {rows}, InitialValues::constant(0));
        return static_cast<int>(program.linears.size()) - 1;
    }
    // A matrix that uses another's weights, with its own bias.
    int shared_matrix(const std::string& name, const std::string& of, int rows, int cols, bool bias) {
        program.linears.push_back({name, rows, cols, bias, 0, of});
        if (bias) tensor(name + ".bias", {rows}, InitialValues::constant(0));
        return static_cast<int>(program.linears.size()) - 1;
    }
    int norm_weights(const std::string& name) { return norm_weights(name, program.sizes.d_model); }
    int norm_weights(const std::string& name, int width) {
        return add_norm({name, width, program.plan.norm == Norm::layer && program.plan.norm_bias});
    }
    int add_norm(NormSpec spec) {
        tensor(spec.name + ".weight", {spec.width}, InitialValues::constant(1));
        if (spec.bias) tensor(spec.name + ".bias", {spec.width}, InitialValues::constant(0));
        program.norms.push_back(std::move(spec));
        return static_cast<int>(program.norms.size()) - 1;
    }
    int vector(const std::string& name, int width) {
        program.vectors.push_back({name, width});
        tensor(name, {width}, InitialValues::constant(0));
        return static_cast<int>(program.vectors.size()) - 1;
    }

    // ---- Steps: each call returns the value that the step writes.
    int norm(int in, int weight, Slot to) {
        return step({Op::norm, in, value(to, program.norms[static_cast<std::size_t>(weight)].width), -1, weight});
    }
    int linear(int in, int weight, Slot to) {
        return step({Op::linear, in, value(to, program.linears[weight].rows), -1, weight});
    }
    int add(int in, int branch) { return step({Op::add, in, value(Slot::stream, program.sizes.d_model), branch}); }
    // The value itself if no encoding shifts at the place.
    int shift(int in, Place place, Slot to, int weight = -1) {
        if (!(places & 1U << static_cast<unsigned>(place))) return in;
        const int width = program.values[static_cast<std::size_t>(in)].width;
        return step({Op::shift, in, value(to, width), -1, weight, static_cast<int>(place)});
    }
    int value(Slot slot, int width) {
        program.values.push_back({slot, width});
        return static_cast<int>(program.values.size()) - 1;
    }
    int step(const Step& s) {
        program.steps.push_back(s);
        return s.out;
    }

    Program program;
    unsigned places = 0; // the bits of those at which encodings shift

private:
    double branches() const { return program.plan.cross_attention ? 3 : 2; } // of a layer
    void tensor(std::string name, std::vector<std::int64_t> shape, InitialValues initial) {
        program.tensors.push_back({.name = std::move(name), .shape = std::move(shape), .initial = std::move(initial)});
    }
};

} // namespace ordo
