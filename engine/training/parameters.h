// SPDX-License-Identifier: MIT
// All tensors of a model in training, contiguous in memory, with a gradient each.
#pragma once

#include "core/tensor.h"
#include "encoding/base/model_encodings.h"
#include "model/model_access.h"

namespace ordo {

// The initial values of a blueprint's matrices, which replace those of the tensors' specs: normal numbers.
struct InitialMatrices {
    double deviation = 0.02;     // 0: one over the root of a row's length
    bool shrink_branches = true; // the projections back into the stream, by 1 / sqrt(2 layers) (Radford et al. 2019)
};

class Parameters {
public:
    Parameters(const Blueprint& blueprint, const ModelEncodings& encodings);
    // The number of floats, computed without allocating.
    static std::uint64_t floats(const Blueprint& blueprint, const ModelEncodings& encodings);

    std::span<const TensorSpec> specs() const {
        return specs_;
    } // model_tensors(): the blueprint's, then the encodings'
    int count() const { return static_cast<int>(specs_.size()); }
    std::size_t size() const { return values_.size(); }
    View value(int i) { return view_of(values_, i); }
    View grad(int i) { return view_of(grads_, i); }
    View value(const std::string& name); // without data if there is no such tensor
    View grad(const std::string& name);
    std::span<float> values() { return values_; }
    std::span<float> grads() { return grads_; }
    int first_encoding_tensor() const { return first_encoding_tensor_; }

    // Sets the initial values from the tensors' specs, with Philox (seed, number of the tensor), and the matrices from
    // `matrices`.
    void initialise(std::uint64_t seed, const InitialMatrices& matrices = {});

private:
    View view_of(Buffer<float>& buffer, int i);
    int find(const std::string& name) const;

    InitialValues initial_of(int i, const InitialMatrices& matrices) const;

    std::vector<TensorSpec> specs_;
    std::vector<std::size_t> offsets_;
    Buffer<float> values_, grads_;
    int first_encoding_tensor_;
};

} // namespace ordo
