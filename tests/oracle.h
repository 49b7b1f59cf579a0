// SPDX-License-Identifier: MIT
// The oracles of encodings: the effect of each moment in double precision, for one token and one pair of tokens at a
// time, transcribed from the papers. They share no code with engine/encoding, not even its spec parser.
//
// An encoding without an oracle fails the tests that need one, because nothing else proves its results. To add one,
// write tests/oracles/NAME.cpp: a class derived from Oracle, and a Registration with the encoding's name. No list
// changes. (The test objects are linked directly. From an archive, the linker would drop an object that only registers
// itself.)
#pragma once

#include "ordo.h"

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ordo::reference {

struct Matrix {
    Matrix() = default;
    Matrix(int n_rows, int n_cols)
        : rows(n_rows), cols(n_cols), values(static_cast<std::size_t>(n_rows) * static_cast<std::size_t>(n_cols)) {}
    double& at(int i, int j) {
        return values[static_cast<std::size_t>(i) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(j)];
    }
    double at(int i, int j) const {
        return values[static_cast<std::size_t>(i) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(j)];
    }
    int rows = 0, cols = 0;
    std::vector<double> values;
};

using Tensors = std::map<std::string, Matrix>; // by name; a rank 1 tensor is one row
using Vector = std::vector<double>;
double dot(const Vector& a, const Vector& b);
// The dot product of x with row i of a matrix, from column `first` on.
double dot(const Vector& x, const Matrix& m, int i, int first = 0);

// The position of one token: an id for each axis.
using Place = std::vector<int>;
// Missing axes equal the first.
inline int on_axis(const Place& at, std::size_t axis) {
    return at[axis < at.size() ? axis : 0];
}
// |i - j| on the first axis.
double distance(const Place& query, const Place& key);

// One attention head of one layer.
struct Head {
    int layer = 0, head = 0; // of the query heads
    double scale = 1;        // the factor of q.k
};
// A query or a key after rotate(): x [e], its position, and the state that observe() returned for its token.
struct Side {
    const Vector& x;
    const Place& at;
    const Vector& state;
};

// A row of scores: a query and the keys that it sees, in order.
struct ScoreRow {
    Head of;
    Side query;
    std::vector<Side> keys;
    std::size_t own = 0; // the key of the query's own token
};
// The place of the rows that a token is mixed with: the embedding, the normalised input of a part of a layer, or the
// queries, keys and values of all heads.
enum class Stage { embedding, attention, qkv, feed_forward };

class Oracle {
public:
    virtual ~Oracle() = default;
    // The position ids of a text, if the encoding derives them from the tokens. Otherwise empty.
    virtual std::vector<int> positions(const std::vector<Token>& /*tokens*/) const { return {}; }
    // Changes the embedding x [d] of one token.
    virtual void embed(Vector& /*x*/, const Place&, int /*segment*/) const {}
    // The state of a token, from the layer's attention input x [d] and the state of the previous token that is not
    // padding. For the first token that state is empty.
    virtual Vector observe(const Vector& /*x*/, const Place&, int /*layer*/, const Vector& /*before*/) const {
        return {};
    }
    // Mixes the rows [d] of one sequence with the rows before them.
    virtual void shift(std::vector<Vector>& /*rows*/, Stage, int /*layer*/) const {}
    // True if rotate() only multiplies queries. It then acts after those of other encodings.
    virtual bool scales_queries() const { return false; }
    // The roles in which rows are rotated.
    virtual bool rotates(Role role) const { return role == Role::query || role == Role::key; }
    // Changes one head's query, key, value or output x [e].
    virtual void rotate(Vector& /*x*/, const Place&, Role, int /*layer*/, int /*head*/) const {}
    // The same for an encoding that reads the state of the token.
    virtual void rotate_with(Vector& x, const Place& at, const Vector& /*state*/, Role role, int layer,
                             int head) const {
        rotate(x, at, role, layer, head);
    }
    // Returns the number that is added to a scaled score.
    virtual double bias(const Head&, const Side& /*query*/, const Side& /*key*/) const { return 0; }
    // Changes a row of finished scores, for the keys visible to the query, in order.
    virtual void rescore(Vector& /*row*/, const Head&, const Side& /*query*/) const {}
    // The same for an encoding that reads the keys or their states.
    virtual void rescore_row(Vector& row, const ScoreRow& at) const { rescore(row, at.of, at.query); }
    // Adds the contribution of a pair with this weight to the head's output [e].
    virtual void mix(Vector& /*out*/, double /*weight*/, const Head&, const Side& /*query*/,
                     const Side& /*key*/) const {}
    // A logit in the denominator of the softmax.
    virtual double sink(int /*layer*/, int /*head*/) const { return -std::numeric_limits<double>::infinity(); }
    // The same for a logit of a row, whose scores are those before rescore_row().
    virtual double sink_of(const ScoreRow& at, const Vector& /*scores*/) const { return sink(at.of.layer, at.of.head); }
};

// One item of a canonical spec: "rope:theta=10000,pairing=adjacent,width=32,sections=8/4/4".
class Item {
public:
    explicit Item(const std::string& text);
    const std::string& name() const { return name_; }
    bool has(const std::string& key) const { return values_.count(key) != 0; }
    const std::string& word(const std::string& key) const; // throws std::out_of_range
    double number(const std::string& key) const;
    double number(const std::string& key, double fallback) const { return has(key) ? number(key) : fallback; }
    int integer(const std::string& key) const { return static_cast<int>(number(key)); }
    Vector list(const std::string& key) const;
    bool is(const std::string& key, const std::string& value) const { return has(key) && word(key) == value; }

private:
    std::string name_;
    std::map<std::string, std::string> values_;
};

// The inputs of an oracle, besides its item.
struct Setting {
    Dims dims;
    const Tensors& tensors; // by their names in files; they may change between calls
    int length = 0;         // of the session, in tokens
    std::string name;       // of the encoding

    const Matrix& shared(std::string_view tensor) const { return find("", tensor); }
    const Matrix& of_layer(int layer, std::string_view tensor) const {
        return find("layers." + std::to_string(layer) + ".", tensor);
    }

private:
    // Oracles ask for each pair of tokens: no memory is taken.
    const Matrix& find(std::string_view of, std::string_view tensor) const {
        thread_local std::string key;
        key.assign("encoding.").append(name).append(".").append(of).append(tensor);
        return tensors.at(key);
    }
};

// Declared at namespace scope in an oracle's file.
class Registration {
public:
    using Make = std::unique_ptr<Oracle> (*)(const Item&, const Setting&);
    Registration(const std::string& name, Make make);
};

// The oracles of a whole canonical spec: a sum of items and patterns.
class Oracles {
public:
    // length: of the session, in tokens; 0: the trained context.
    Oracles(const std::string& spec, const Dims& dims, const Tensors& tensors, int length = 0);
    bool complete() const { return missing_.empty(); } // false if an oracle is missing
    std::string advice() const { return missing_ + " has no oracle: add one in tests/oracles"; }
    std::vector<const Oracle*> all() const;            // each once, left to right
    std::vector<const Oracle*> layer(int layer) const; // the oracles of a layer, left to right

private:
    using Sum = std::vector<std::size_t>; // indices into items_
    Sum add_sum(const std::string& spec, const Setting& setting);

    std::vector<std::unique_ptr<Oracle>> items_;
    std::vector<std::vector<Sum>> terms_; // the elements of a pattern; a single element acts in all layers
    std::string missing_;
};

} // namespace ordo::reference

// Ends a test whose encoding has no oracle.
#define ORDO_EXPECT_COMPLETE(oracles)                                                                                  \
    if (!(oracles).complete()) FAIL() << (oracles).advice()
