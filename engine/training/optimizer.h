// SPDX-License-Identifier: MIT
#pragma once

#include "training/muon.h"
#include "training/parameters.h"

namespace ordo {

struct StepSize {
    double lr, weight_decay, clip;
    double muon_lr = 0; // of Muon's matrices
};

// AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101). The decay applies to matrices only. Matrices may use Muon
// instead: its steps are scaled to the size of AdamW's, 0.2 sqrt(max(rows, columns)), with the same decay (Liu et al.
// 2025, arXiv 2502.16982).
class Optimizer {
public:
    static constexpr double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
    static constexpr double momentum = 0.95; // of Muon, which uses Nesterov momentum

    explicit Optimizer(Parameters& parameters, std::vector<MatrixRows> muon = {});
    // From this call on, Muon's products round to bf16. Only if PairProducts::available().
    void multiply_pairs();
    // Updates the parameters from their gradients, which are scaled down if their global norm exceeds clip. Returns the
    // norm before scaling. Changes nothing if it is not finite.
    double step(const StepSize& size);

    Parameters& parameters() { return parameters_; }
    std::span<float> gradient_averages() { return m_; }
    std::span<float> square_averages() { return v_; }
    std::int64_t steps = 0;

private:
    void adamw(int tensor, const StepSize& size, float scale);
    void muon(const MatrixRows& matrix, Orthogonaliser& orthogonalise, const StepSize& size, float scale);
    bool is_muons(int tensor) const;
    std::ptrdiff_t offset(int tensor) const { return parameters_.value(tensor).data - parameters_.values().data(); }

    Parameters& parameters_;
    std::vector<MatrixRows> muon_;
    // Of each thread: in all, the memory of at most two copies of the parameters, or one thread's.
    std::vector<Orthogonaliser> orthogonalise_;
    Buffer<float> m_, v_; // averages of gradients, or Muon's momentum; averages of their squares
};

} // namespace ordo
