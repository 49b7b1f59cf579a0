// SPDX-License-Identifier: MIT
#include "tools/opening/scores.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ordo::tools {

namespace {

constexpr int first_bucket = 16;

} // namespace

void Tally::add(double nll, int n_bytes) {
    ++tokens;
    bytes += n_bytes;
    sum += nll;
    squares += nll * nll;
}

double Tally::standard_error() const {
    const auto n = static_cast<double>(tokens);
    return n < 2 ? std::numeric_limits<double>::quiet_NaN()
                 : std::sqrt(std::max(0.0, squares / n - mean() * mean()) / (n - 1));
}

std::size_t bucket_of(int position) {
    return static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(position / first_bucket)));
}

std::string bucket_name(std::size_t bucket, int longest) {
    const int from = bucket == 0 ? 1 : first_bucket << (bucket - 1), to = std::min(longest, first_bucket << bucket) - 1;
    return std::to_string(from) + "-" + std::to_string(to);
}

std::vector<double> score_window(Session& session, std::span<const Token> window) {
    session.rewind(0);
    return score_continuation(session, window);
}

} // namespace ordo::tools
