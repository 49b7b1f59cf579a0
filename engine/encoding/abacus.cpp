// SPDX-License-Identifier: MIT
#include "encoding/base/row_table.h"

#include "core/error.h"

namespace ordo {

const EncodingInfo abacus_encoding = {
    .name = "abacus",
    .summary = "adds to each digit a trained row for its place in its number",
    .paper = "McLeish et al. 2024, arXiv 2405.17399",
    .formula = "x_i -> x_i + W[p_i],  p = 1, 2, 3, .. for the digits of a number, 0 for other tokens\n"
               "in training, p + u for digits, u random in 0 .. offset, the same for a whole step",
    .make = abacus_file::make,
};

namespace abacus_file {

// A number is a run of digits, each a token, the least significant first, so that digits of the same power of ten share
// a row. All other tokens have position 0, whose row is trained too. Places that the training never reaches have
// untrained rows: that is what the offset is for (99 in the paper). Outside training it is 0.
class Abacus final : public RowTable {
public:
    using RowTable::RowTable;
    void parameters(Params& p) override {
        p.integer("first", first_, 0, 1 << 24, "the token of the digit 0; 48 where tokens begin with the bytes");
        p.integer("last", last_, 0, 1 << 24, "the token of the digit 9");
        p.integer("length", length_, 2, 1 << 24, "the rows of the table: one more than the digits of a number");
        p.integer("offset", offset_, 0, 1 << 24, "the greatest number that a training step adds to positions");
    }
    void ready() override {
        if (first_ > last_)
            fail(ErrorCode::usage, "abacus: last: expected a token from first (", first_, ") on, found ", last_);
        if (offset_ > length_ - 2)
            fail(ErrorCode::usage, "abacus: offset: expected at most length - 2 (", length_ - 2, "), found ", offset_);
    }
    Limits limits() const override { return {.derived = length_}; }

    void positions(IdView ids, const TextRows& rows) const override {
        int place = rows.before ? *rows.before : 0;
        const int start = 1 + static_cast<int>(rows.draw % static_cast<std::uint64_t>(offset_ + 1));
        for (int i = 0; i < ids.rows; ++i) {
            const bool digit = rows.tokens[i] >= first_ && rows.tokens[i] <= last_;
            *ids.row(i) = place = !digit ? 0 : place == 0 ? start : place + 1;
        }
    }
    std::int64_t n_rows() const override { return length_; }
    int row_of(const TokenRows& rows, std::size_t i) const override { return rows.positions[i]; }
    TableRows shown(View weight, const TableRequest& request) const override {
        return rows_table(weight, request.start, request.length);
    }

private:
    int first_ = '0', last_ = '9', length_ = 100, offset_ = 0;
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Abacus>(dims);
}

} // namespace abacus_file
} // namespace ordo
