// SPDX-License-Identifier: MIT
#include "training/parameters.h"

#include "encoding/base/initial.h"

#include <cmath>

namespace ordo {
namespace {

// The size of one tensor, which starts on a cache line.
std::size_t padded_size(const TensorSpec& spec) {
    std::size_t n = 1;
    for (const std::int64_t size : spec.shape) n *= static_cast<std::size_t>(size);
    return (n + 15) / 16 * 16;
}

} // namespace

std::uint64_t Parameters::floats(const Blueprint& blueprint, const ModelEncodings& encodings) {
    return count_bytes([&] { return Parameters(blueprint, encodings); }) / (2 * sizeof(float));
}

Parameters::Parameters(const Blueprint& blueprint, const ModelEncodings& encodings)
    : specs_(model_tensors(blueprint, encodings)),
      first_encoding_tensor_(static_cast<int>(tensor_list(blueprint).size())) {
    std::size_t total = 0;
    for (const TensorSpec& spec : specs_) {
        offsets_.push_back(total);
        total += padded_size(spec);
    }
    values_ = Buffer<float>(total);
    grads_ = Buffer<float>(total);
}

View Parameters::view_of(Buffer<float>& buffer, int i) {
    if (i < 0) return {};
    const std::vector<std::int64_t>& shape = specs_[i].shape;
    const int rows = shape.size() == 2 ? static_cast<int>(shape[0]) : 1;
    return view(buffer.data() + offsets_[i], rows, static_cast<int>(shape.back()));
}

int Parameters::find(const std::string& name) const {
    for (int i = 0; i < count(); ++i)
        if (specs_[i].name == name) return i;
    return -1;
}

View Parameters::value(const std::string& name) {
    return value(find(name));
}
View Parameters::grad(const std::string& name) {
    return grad(find(name));
}

void Parameters::initialise(std::uint64_t seed, const InitialMatrices& matrices) {
    for (int i = 0; i < count(); ++i) {
        TensorSpec spec = specs_[i];
        spec.initial = initial_of(i, matrices);
        const View v = value(i);
        fill_initial(spec, {v.data, static_cast<std::size_t>(v.rows) * static_cast<std::size_t>(v.cols)}, seed,
                     0x1417 + static_cast<std::uint64_t>(i));
    }
}

// Specs have a deviation of 0.02, or less for the matrices of branches, which are shrunk.
InitialValues Parameters::initial_of(int i, const InitialMatrices& matrices) const {
    const TensorSpec& spec = specs_[i];
    InitialValues initial = spec.initial;
    if (i >= first_encoding_tensor_ || initial.kind != InitialValues::Kind::normal) return initial;
    constexpr double usual = 0.02;
    const double deviation =
        matrices.deviation > 0 ? matrices.deviation : 1 / std::sqrt(static_cast<double>(spec.shape.back()));
    initial.b = static_cast<float>(matrices.shrink_branches ? initial.b * (deviation / usual) : deviation);
    return initial;
}

} // namespace ordo
