// SPDX-License-Identifier: MIT
// RoPE scaling: frequencies for contexts longer than the trained one. w_k = theta^(-2k/width) is the frequency of pair
// k, s a factor, L0 (original) the trained context in tokens, L the length. Under dynamic, L is the length of the
// session. Under longrope it is the length of the text: the session computes all keys again when the text passes L0.
//   linear    w_k / s: positions are interpolated. Chen et al. 2023, arXiv 2306.15595
//   ntk       theta' = theta s^(width/(width-2)), so that the slowest pair is divided by s, and the fastest by 1.
//             bloc97 2023, r/LocalLLaMA, "NTK-Aware Scaled RoPE"
//   dynamic   theta' = theta (s L/L0 - (s - 1))^(width/(width-2)) for L > L0. emozilla 2023; Hugging Face's "dynamic"
//   yarn      w_k (1 - r_k) + w_k/s r_k. The ramp r_k goes from pairs with beta_fast rotations in L0 to those with
//             beta_slow: c(b) = width ln(L0/(2 pi b))/(2 ln theta). Queries and keys are scaled by 0.1 ln s + 1.
//             Peng et al. 2023, arXiv 2309.00071, section 3. With an extrapolation e below 1, llama.cpp's ext_factor,
//             w_k m_k + w_k/s (1 - m_k), m_k = e (1 - r_k); at e = 0 it is linear, and lengths stay
//   llama3    by wavelength l = 2 pi/w: w for l below L0/high, w/s for l above L0/low, in between a blend.
//             Grattafiori et al. 2024, arXiv 2407.21783, and Meta's code
//   longrope  w_k / short_k for L <= L0, else w_k / long_k; queries and keys are scaled by sqrt(1 + ln s/ln L0).
//             Ding et al. 2024, arXiv 2402.13753; Phi-3's code
#pragma once

#include "encoding/base/params.h"

namespace ordo {

struct RopeScaling {
    enum class Law { none, linear, ntk, dynamic, yarn, llama3, longrope };
    Law law = Law::none;
    double factor = 1;
    int original = 0;  // L0
    int length = 0;    // L, at least L0: the model's context until at_length(). Under longrope it is L0 or L0 + 1
    bool told = false; // the spec gives the length, so no session changes it
    double beta_fast = 32, beta_slow = 1;            // yarn
    double extrapolation = 1;                        // yarn
    bool truncate = true;                            // yarn: the ramp begins and ends at whole pairs
    double low = 1, high = 4;                        // llama3
    std::vector<double> short_factors, long_factors; // longrope: of each pair
    double attention = 1;                            // factor of cosines and sines

    // Declares the parameters of the scaling, which follow the width in a spec; none writes nothing. Throws
    // Error(usage).
    void parameters(Params& p, const Dims& dims, double theta, int width);
    // Reads the scaling of an item alone. Throws Error(usage).
    static RopeScaling read(const SpecItem& item, const Dims& dims, double theta, int width);

    std::vector<double> frequencies(double theta, int width) const;
    // The scaling in a session of this capacity, for a text of this length. Unchanged if the spec gives the length.
    RopeScaling at_length(int capacity, int text) const;
    bool by_text() const { return law == Law::longrope && !told && short_factors != long_factors; }

private:
    void begin(const Dims& dims, double theta, int width);
    void end(const Params& p, int width);
};

// The factor of queries and keys under yarn, if the spec does not give one.
double yarn_attention(double factor, double extrapolation = 1);

} // namespace ordo
