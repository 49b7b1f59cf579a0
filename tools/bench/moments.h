// SPDX-License-Identifier: MIT
// A pass's calls of an encoding: their measured time, and the rates for comparison.
#pragma once

#include "model/model_access.h"
#include "tools/bench/predict.h"

namespace ordo::bench {

// Adds up the time of the encodings' calls by moment. If the threads of a team make calls in parallel, each call counts
// as a fraction of the team. Sums are then the mean over its threads: elapsed time if all of them make calls, and less
// for OBSERVE of a single token, a call of one thread. Reading the clock takes as long as a short call. The constructor
// measures that time with empty calls, and sums exclude it.
class MomentClock final : public MomentTimer {
public:
    MomentClock(); // for the current number of threads
    void reset();
    PerMoment seconds() const;
    std::int64_t calls(Moment moment) const;

    void add(Moment moment, Clock::duration time) override;

private:
    struct alignas(64) Slot { // for a thread
        PerMoment seconds, shares;
        std::array<std::int64_t, PerMoment::count> calls{};
    };

    std::vector<Slot> slots_;
    double cost_ = 0; // of reading the clock, in seconds
};

// Encodings that change nothing and take as long as a pass takes for a product and for a sum: the yardsticks for
// operations of encodings. For every tile, one multiplies the queries with its own keys, from a cache like the
// session's. The other adds a row of zeros to every row of scores.
OwnEncoding product_encoding(const Blueprint& blueprint, int tokens, CacheType type);
OwnEncoding sum_encoding(int tokens);

// The same model with its encodings' calls timed; they are the calls of the engine's own pass. The model and the clock
// must outlive the result. A sink is not timed: its exponential is part of the softmax.
Model timed(const Model& model, MomentClock& clock);
// The same with another encoding in place of the model's.
Model timed(const Model& model, OwnEncoding encoding, MomentClock& clock);

} // namespace ordo::bench
