// SPDX-License-Identifier: MIT
// The common base of the encodings of list.def. It keeps the sizes, tensors and tables, and derives the canonical spec
// from the parameters.
#pragma once

#include "encoding/base/info.h"
#include "encoding/base/params.h"
#include "encoding/base/table.h"

#include <cmath>

namespace ordo {

#define ENCODING(x)                                                                                                    \
    extern const EncodingInfo x##_encoding;                                                                            \
    namespace x##_file {                                                                                               \
        std::unique_ptr<RegisteredEncoding> make(const Dims&);                                                         \
    }
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
    // For base classes: builds what parameters and tensors() determine, after ready().
    virtual void build() {}
    // The main table first. The default is the table of Encoding::table_rows.
    virtual std::vector<NamedTable> tables() const;

    std::string spec() const final { return spec_; }
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
    int heads() const { return dims_.n_heads; }
    int kv_heads() const { return dims_.n_kv_heads > 0 ? dims_.n_kv_heads : dims_.n_heads; }
    int group(int head) const { return head / (heads() / kv_heads()); } // the key/value head of a query head
    std::string_view name() const { return name_; }
    // Declares an even number of columns, from 2 to `most`.
    static void even(Params& p, std::string_view name, int& member, int most, std::string_view meaning,
                     std::string_view fallback);
    // For an encoding whose members have been set instead of read.
    void finish(std::string_view name);

    // If tensors are per layer, each layer in which the encoding acts has a slot. Otherwise all layers share slot 0.
    int slots() const { return per_layer_ ? dims_.layer_count() : 1; }
    int slot(int layer) const { return per_layer_ ? std::max(0, dims_.slot(layer)) : 0; }
    std::span<const View> tensors_of(int slot) const { return bound_[slot]; }
    View tensor(int slot, std::size_t i) const { return bound_[slot][i]; }
    // The number of a head in a tensor [n_heads] of a slot.
    float at(int slot, std::size_t i, int head) const { return tensor(slot, i).row(0)[head]; }
    // A tensor of each layer.
    static TensorSpec per_layer(std::string name, std::vector<std::int64_t> shape, InitialValues initial = {}) {
        return {.name = std::move(name), .shape = std::move(shape), .initial = std::move(initial), .per_layer = true};
    }
    TensorSpec per_head(std::string name, InitialValues initial) const {
        return per_layer(std::move(name), {heads()}, std::move(initial));
    }
    // Uniform within 1 / sqrt(inputs), as in torch.nn.Linear and Conv1d.
    static InitialValues linear(int inputs) {
        const auto most = static_cast<float>(1 / std::sqrt(inputs));
        return InitialValues::uniform(-most, most);
    }
    bool stored() const { return stored_; } // whether it has tensors
    bool bound() const;                     // whether it has no tensors, or has them in every slot
    // The slot of the layer of a table request. Throws Error(usage), also where its tensors are missing.
    int requested_slot(const TableRequest& request) const;

    // Kinds of tables. A function writes the numbers of a row after its first ones: the position, the position and the
    // pair, the pair, or the head, which are in `out` already.
    using Row = std::span<double>;
    static NamedTable by_position(std::string name, const std::vector<std::string>& header,
                                  const std::function<void(int position, Row out)>& fill);
    static NamedTable by_position_and_pair(std::string name, const std::vector<std::string>& header, int pairs,
                                           const std::function<void(int position, int pair, Row out)>& fill);
    static NamedTable by_pair(std::string name, const std::vector<std::string>& header, int pairs,
                              const std::function<void(int pair, Row out)>& fill);
    NamedTable by_head(std::string name, const std::vector<std::string>& header,
                       const std::function<void(int slot, int head, Row out)>& fill) const;
    // All rows of the i-th tensor. The names of columns begin with `word`.
    NamedTable rows_of_tensor(std::string name, std::size_t i, std::string_view word = "dim") const;

private:
    Dims dims_;
    std::string name_, spec_;
    bool per_layer_ = false, stored_ = false;
    std::vector<std::vector<View>> bound_; // of each slot
};

// For the make() of a file.
template <class T>
std::unique_ptr<RegisteredEncoding> make_registered(const Dims& dims) {
    return with_moments(std::make_unique<T>(dims));
}

} // namespace ordo
