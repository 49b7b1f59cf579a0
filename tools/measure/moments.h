// SPDX-License-Identifier: MIT
// The calls that a pass makes of an encoding: their measured time, and the rates that it is compared with.
#pragma once

#include "model/model.h"
#include "tools/measure/predict.h"

namespace ordo::bench {

// Adds up the time of encodings' calls by moment. Where the threads of a team make calls side by side, each counts
// for its share of the team, so that sums are of the time that passes. Reading the clock takes as long as a short call;
// the constructor measures that on calls that do nothing, and sums leave it out.
class MomentClock final : public MomentTimer {
public:
    MomentClock(); // of as many threads as there are now
    void reset();
    PerMoment seconds() const;
    std::int64_t calls(Moment moment) const;

    void add(Moment moment, Clock::duration time) override;

private:
    struct alignas(64) Slot { // of a thread
        PerMoment seconds, shares;
        std::array<std::int64_t, PerMoment::count> calls{};
    };

    std::vector<Slot> slots_;
    double cost_ = 0; // of reading the clock, in seconds
};

// What the operations of encodings are compared with: two that change nothing, and take as long as a pass takes for a
// product and for a sum. For every tile one multiplies the queries with keys of its own, out of a cache like the
// session's; the other adds a row of zeros to every row of scores.
std::unique_ptr<Encoding> product_encoding(const Blueprint& blueprint, int tokens, CacheType type);
std::unique_ptr<Encoding> sum_encoding(int tokens);

// The same model, which must outlive the result as the clock must, with its encodings' calls timed: they are the calls
// of the engine's own pass. A sink has no time of its own: its exponential is one of the softmax's.
Model timed(const Model& model, MomentClock& clock);
// The same with others in the place of its encodings.
Model timed(const Model& model, std::unique_ptr<Encoding> encoding, MomentClock& clock);

} // namespace ordo::bench
