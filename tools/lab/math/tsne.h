// SPDX-License-Identifier: MIT
// t-SNE: places high-dimensional points on a plane and keeps neighbours near each other.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace ordo::lab {

// The exact algorithm of van der Maaten and Hinton 2008, "Visualizing Data using t-SNE". It uses every pair of points,
// which suits hundreds of points. The same seed gives the same map on one machine.
std::vector<std::array<double, 2>> tsne(const std::vector<std::vector<double>>& points, double perplexity,
                                        std::uint64_t seed, int iterations = 1000);

// The probabilities p(j | i) of point i with entropy ln(perplexity). distances: squared, from i to each j.
std::vector<double> neighbour_probabilities(const std::vector<double>& distances, std::size_t i, double perplexity);

} // namespace ordo::lab
