// SPDX-License-Identifier: MIT
// The C interface: numbers of a text.
#include "c/c_interface.h"

using namespace ordo::c;

ptrdiff_t ordo_score(const ordo_model* model, const char* text, size_t length, ordo_token_score* out, size_t capacity) {
    return guarded<ptrdiff_t>(-1, [&] {
        std::vector<ordo_token_score> scores;
        for (const ordo::TokenScore& one : ordo::score(not_null(model, "model").model, text_of(text, length)))
            scores.push_back({one.token, one.log_probability});
        return copy_out(scores, out, capacity);
    });
}

ptrdiff_t ordo_embed(const ordo_model* model, const char* text, size_t length, int32_t pooling, int32_t normalised,
                     float* out, size_t capacity) {
    return guarded<ptrdiff_t>(-1, [&] {
        const ordo::EmbedOptions options{static_cast<ordo::Pooling>(pooling), normalised != 0};
        return copy_out(ordo::embed(not_null(model, "model").model, text_of(text, length), options), out, capacity);
    });
}

ptrdiff_t ordo_fill(const ordo_model* model, const char* text, size_t length, int32_t candidates, ordo_candidate* out,
                    size_t capacity) {
    return guarded<ptrdiff_t>(-1, [&] {
        std::vector<ordo_candidate> all;
        const ordo::FilledText filled = ordo::fill(not_null(model, "model").model, text_of(text, length), candidates);
        for (const ordo::Blank& blank : filled.blanks)
            for (const ordo::Candidate& one : blank.best) all.push_back({blank.index, one.token, one.probability});
        return copy_out(all, out, capacity);
    });
}
