// SPDX-License-Identifier: MIT
// The common part of the encodings of list.def: sizes, and parameters from which the canonical spec follows.
#pragma once

#include "encoding/base/info.h"
#include "encoding/base/params.h"
#include "encoding/base/table.h"

namespace ordo {

#define ENCODING(x) extern const EncodingInfo x##_encoding;
#include "encoding/list.def"
#undef ENCODING

class RegisteredEncoding : public Encoding {
public:
    explicit RegisteredEncoding(const Dims& dims) : dims_(dims) {}
    RegisteredEncoding(const RegisteredEncoding&) = delete;
    RegisteredEncoding& operator=(const RegisteredEncoding&) = delete;

    // Declares the parameters; the members hold the defaults for dims().
    virtual void parameters(Params&) {}
    // What follows from the parameters, called once they are read. Throws Error(usage) for some that do not go
    // together.
    virtual void ready() {}

    std::string spec() const final { return spec_; }
    unsigned gradients() const override { return moments(); } // each has its backward
    // Reads the parameters and calls ready(). Throws Error(usage) for a parameter of the item that is wrong.
    void read(const SpecItem& item) {
        Params reading(item);
        parameters(reading);
        finish(item.name);
    }

protected:
    const Dims& dims() const { return dims_; }
    std::string_view name() const { return name_; }
    // For one whose members have been set, not read.
    void finish(std::string_view name) {
        name_ = name;
        ready();
        SpecWriter spec(name_);
        Params writing(spec);
        parameters(writing);
        spec_ = spec.text();
    }

private:
    Dims dims_;
    std::string name_, spec_;
};

// For EncodingInfo::make.
template <class T>
std::unique_ptr<RegisteredEncoding> make_registered(const Dims& dims) {
    return std::make_unique<T>(dims);
}

} // namespace ordo
