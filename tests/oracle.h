// SPDX-License-Identifier: MIT
// The oracles of encodings: what each moment does in double precision, one token and one pair of tokens at a time,
// transcribed from the papers. They share no code with engine/encoding, its spec parser included.
//
// An encoding without an oracle fails the tests that need one: what nothing is compared with is not proved. To add
// one, write tests/oracles/NAME.cpp: a class derived from Oracle, and a Registration by the encoding's name. No list
// is edited. (Test objects are linked as they are; in an archive the linker would drop what only registers itself.)
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

using Tensors = std::map<std::string, Matrix>; // by name; rank 1 as one row
using Vector = std::vector<double>;
double dot(const Vector& a, const Vector& b);
// Of row i of a matrix, from column first on, with all of x.
double dot(const Vector& x, const Matrix& m, int i, int first = 0);

// The position of one token: an id for each axis.
using Place = std::vector<int>;
// Axes that are not there are as the first.
inline int on_axis(const Place& at, std::size_t axis) {
    return at[axis < at.size() ? axis : 0];
}
// |i - j| on the first axis.
double distance(const Place& query, const Place& key);

// One attention head of one layer.
struct Head {
    int layer = 0, head = 0; // of the query heads
    double scale = 1;        // that q.k is multiplied by
};
// A query or a key, after rotate(): x [e], where it is, and what observe() made of its token.
struct Side {
    const Vector& x;
    const Place& at;
    const Vector& state;
};

class Oracle {
public:
    virtual ~Oracle() = default;
    // What is done to the embedding x [d] of one token.
    virtual void embed(Vector& /*x*/, const Place&, int /*segment*/) const {}
    // The state of a token, of what its layer's attention reads x [d] and the state of the token before it that is no
    // padding, which is empty for the first.
    virtual Vector observe(const Vector& /*x*/, const Place&, int /*layer*/, const Vector& /*before*/) const {
        return {};
    }
    // What is done to one head's query or key x [e].
    virtual void rotate(Vector& /*x*/, const Place&, Role, int /*layer*/, int /*head*/) const {}
    // What is added to a scaled score.
    virtual double bias(const Head&, const Side& /*query*/, const Side& /*key*/) const { return 0; }
    // What is done to a row of finished scores: of the keys that the query sees, in order.
    virtual void rescore(Vector& /*row*/, const Head&, const Side& /*query*/) const {}
    // What a pair of this weight adds to the head's output [e].
    virtual void mix(Vector& /*out*/, double /*weight*/, const Head&, const Side& /*query*/,
                     const Side& /*key*/) const {}
    // A logit in the denominator of the softmax.
    virtual double sink(int /*layer*/, int /*head*/) const { return -std::numeric_limits<double>::infinity(); }
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

// What an oracle is made of, beside its item.
struct Setting {
    Dims dims;
    const Tensors& tensors; // by the names that files have; they may change between calls
    int length = 0;         // of the session, in tokens
    std::string name;       // of the encoding

    const Matrix& shared(const std::string& tensor) const { return tensors.at("encoding." + name + "." + tensor); }
    const Matrix& of_layer(int layer, const std::string& tensor) const {
        return shared("layers." + std::to_string(layer) + "." + tensor);
    }
};

// At namespace scope in the file of an oracle.
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
    bool complete() const { return missing_.empty(); } // false if one of them does not exist
    std::string advice() const { return missing_ + " has no oracle: add one in tests/oracles"; }
    std::vector<const Oracle*> all() const;            // each once, left to right
    std::vector<const Oracle*> layer(int layer) const; // those that act in a layer, left to right

private:
    using Sum = std::vector<std::size_t>; // indices into items_
    Sum add_sum(const std::string& spec, const Setting& setting);

    std::vector<std::unique_ptr<Oracle>> items_;
    std::vector<std::vector<Sum>> terms_; // a pattern's elements; one element for what is in all layers
    std::string missing_;
};

} // namespace ordo::reference

// Ends a test that an encoding without an oracle came to.
#define ORDO_EXPECT_COMPLETE(oracles)                                                                                  \
    if (!(oracles).complete()) FAIL() << (oracles).advice()
