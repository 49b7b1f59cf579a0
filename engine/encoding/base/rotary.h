// SPDX-License-Identifier: MIT
// Encodings that rotate pairs of columns of queries and keys, by angles that grow with the position. Such an encoding
// defines turns(), the rotation of its pairs.
#pragma once

#include "encoding/base/registered.h"
#include "encoding/base/rotation.h"

#include <optional>

namespace ordo {

class Rotary : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;

    // ---- The formula -------------------------------------------------------------------------
    virtual PairTurns turns(Role role) const = 0;
    virtual bool roles_differ() const { return false; } // whether keys rotate differently from queries

    // ---- Derived from the formula ------------------------------------------------------------
    void build() override;
    void prepare(int n_positions) override;
    void rotate(View x, const HeadRows& rows) const override {
        of(rows.role).apply(x, rows.n_heads, rows.positions, false);
    }
    // The transpose of a rotation is the rotation back.
    void rotate_backward(View dx, View, const HeadRows& rows, const Gradients&) const override {
        of(rows.role).apply(dx, rows.n_heads, rows.positions, true);
    }
    bool can_move_keys() const override { return true; }
    void move_keys(View keys, const HeadRows& rows, int by) const override {
        of(Role::key).move(keys, rows.n_heads, by);
    }
    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_rotate ? 6 * turning_pairs() * (work.query_rows + work.key_rows) : 0};
    }

protected:
    // Each parameter has its own function, because their canonical order differs by encoding.
    void theta_parameter(Params& p) {
        p.number("theta", theta_, 0.0001, 1e12, "base of the frequencies; a larger base slows the slow pairs");
    }
    // Throws Error(usage) for an odd width.
    void pair_parameters(Params& p);

    const Rotation& of(Role role) const { return role == Role::key && keys_ ? *keys_ : *queries_; }
    const Rotation& rotation() const { return *queries_; }
    virtual double turning_pairs() const { return width_ / 2.0; }
    // A row for each position and pair: the angle, its cosine and sine. The gain has a column of its own if it grows.
    NamedTable angle_table() const;
    // A row for each pair: its frequency, and one more number, if there is a name for it.
    NamedTable frequency_table(std::string column = {}, std::function<double(int pair)> number = {}) const;

    double theta_ = 10000;
    Pairing pairing_ = Pairing::adjacent;
    int width_ = dims().d_head;

private:
    std::optional<Rotation> queries_, keys_; // keys_: only if keys rotate differently
};

} // namespace ordo
