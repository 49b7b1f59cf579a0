// SPDX-License-Identifier: MIT
// The common base of the encodings of list.def. It keeps the sizes, tensors and tables, and derives the canonical spec
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
    std::function<TableRows(const TableRequest&)> rows; // the request has been checked
};

class RegisteredEncoding : public Encoding {
public:
    explicit RegisteredEncoding(const Dims& dims) : dims_(dims) {}
    RegisteredEncoding(const RegisteredEncoding&) = delete;
    RegisteredEncoding& operator=(const RegisteredEncoding&) = delete;

    // Declares the parameters; the members hold the defaults for dims().
    virtual void parameters(Params&) {}
    // Computes the values derived from the parameters, after these have been read. Throws Error(usage) for parameters
    // that exclude each other.
    virtual void ready() {}
    // The main table first. The default is the table of Encoding::table_rows.
    virtual std::vector<NamedTable> tables() const;

    std::string spec() const final { return spec_; }
    unsigned gradients() const override { return moments(); } // each moment has its backward
    // Keeps the tensors.
    void bind(int layer, std::span<const View> tensors) override;
    std::vector<std::string> table_parts() const final;
    TableRows table_rows(const TableRequest& request) const final;

    // Reads the parameters and calls ready(). Throws Error(usage) for a wrong parameter of the item.
    void read(const SpecItem& item) {
        Params reading(item);
        parameters(reading);
        finish(item.name);
    }

protected:
    const Dims& dims() const { return dims_; }
    std::string_view name() const { return name_; }
    // For an encoding whose members have been set instead of read.
    void finish(std::string_view name);

    // If tensors are per layer, each layer in which the encoding acts has a slot. Otherwise all layers share slot 0.
    int slots() const { return per_layer_ ? dims_.layer_count() : 1; }
    int slot(int layer) const { return per_layer_ ? std::max(0, dims_.slot(layer)) : 0; }
    std::span<const View> tensors_of(int slot) const { return bound_[slot]; }
    View tensor(int slot, std::size_t i) const { return bound_[slot][i]; }
    bool stored() const { return stored_; } // whether it has tensors
    bool bound() const;                     // whether it has no tensors, or has them in every slot
    // The slot of the layer of a table request. Throws Error(usage), also where its tensors are missing.
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
