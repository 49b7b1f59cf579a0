// SPDX-License-Identifier: MIT
// The common part of the encodings of list.def. Sizes, tensors and tables are kept here; the canonical spec follows
// from the parameters.
#pragma once

#include "encoding/base/info.h"
#include "encoding/base/params.h"
#include "encoding/base/table.h"

namespace ordo {

#define ENCODING(x) extern const EncodingInfo x##_encoding;
#include "encoding/list.def"
#undef ENCODING

// A table of `ordo table`.
struct NamedTable {
    std::string name;
    std::function<TableRows(const TableRequest&)> rows; // of a request that has been checked
};

class RegisteredEncoding : public Encoding {
public:
    explicit RegisteredEncoding(const Dims& dims) : dims_(dims) {}
    RegisteredEncoding(const RegisteredEncoding&) = delete;
    RegisteredEncoding& operator=(const RegisteredEncoding&) = delete;

    // Declares the parameters; the members hold the defaults for dims().
    virtual void parameters(Params&) {}
    // Computes what follows from the parameters, once they are read. Throws Error(usage) for parameters that exclude
    // each other.
    virtual void ready() {}
    // The main one first; by default that of Encoding::table_rows.
    virtual std::vector<NamedTable> tables() const;

    std::string spec() const final { return spec_; }
    unsigned gradients() const override { return moments(); } // each has its backward
    // Keeps the tensors.
    void bind(int layer, std::span<const View> tensors) override;
    std::vector<std::string> table_parts() const final;
    TableRows table_rows(const TableRequest& request) const final;

    // Reads the parameters and calls ready(). Throws Error(usage) for a parameter of the item that is wrong.
    void read(const SpecItem& item) {
        Params reading(item);
        parameters(reading);
        finish(item.name);
    }

protected:
    const Dims& dims() const { return dims_; }
    std::string_view name() const { return name_; }
    // For an encoding whose members have been set, not read.
    void finish(std::string_view name);

    // Where tensors are per layer, each layer that the encoding acts in has a slot; otherwise all layers share slot 0.
    int slots() const { return per_layer_ ? dims_.layer_count() : 1; }
    int slot(int layer) const { return per_layer_ ? std::max(0, dims_.slot(layer)) : 0; }
    std::span<const View> tensors_of(int slot) const { return bound_[static_cast<std::size_t>(slot)]; }
    View tensor(int slot, std::size_t i) const { return bound_[static_cast<std::size_t>(slot)][i]; }
    bool stored() const { return stored_; } // it has tensors
    bool bound() const;                     // it has none, or every slot has them
    // The slot of the layer that a table is asked for. Throws Error(usage), also where its tensors are missing.
    int requested_slot(const TableRequest& request) const;

private:
    Dims dims_;
    std::string name_, spec_;
    bool per_layer_ = false, stored_ = false;
    std::vector<std::vector<View>> bound_; // of each slot
};

// For EncodingInfo::make.
template <class T>
std::unique_ptr<RegisteredEncoding> make_registered(const Dims& dims) {
    return std::make_unique<T>(dims);
}

} // namespace ordo
