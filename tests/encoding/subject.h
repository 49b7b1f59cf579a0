// SPDX-License-Identifier: MIT
// Every registered encoding and its parameters, each with its oracle, and rows of numbers as their inputs.
#pragma once

#include "core/random.h"
#include "core/tensor.h"
#include "encoding/base/model_encodings.h"
#include "encoding/base/registry.h"
#include "tests/encoding/accepts.h"
#include "tests/layer_oracles.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>

namespace ordo {

struct EncodingCase {
    std::string spec;
    Dims dims;
    int axes = 1;           // of the positions
    bool at_limits = false; // tensors hold a few values, such as 0 and bounds of parameters, instead of random ones
};

// An odd d_model, numbers of heads that are not powers of two, and a context that holds the positions below.
inline const Dims even_dims{24, 3, 8, 2, 64}, odd_dims{21, 12, 6, 2, 64}, wide_dims{264, 2, 132, 2, 64};

inline std::vector<EncodingCase> registered_cases(const Dims& dims) {
    std::vector<EncodingCase> all;
    for (const EncodingInfo* info : registered_encodings()) all.push_back({std::string(info->name), dims});
    return all;
}

// The encodings that only scale queries, beside a rotation.
inline std::vector<std::string> scaled_rotations() {
    std::vector<std::string> specs;
    for (const EncodingInfo* info : registered_encodings())
        if (example_of(*info)->scales_queries()) specs.push_back("rope+" + std::string(info->name));
    return specs;
}

inline std::vector<std::string> words_of(const std::string& text) {
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), {}};
}

// Parameters and sums that fit heads of 6 and of 8 columns. t5:buckets=36,distance=32: at a distance of 24 a quotient
// of logarithms is 9, and rounds to less. shaw:clip=100 has more vectors than one product, and transformer-xl:width=300
// is wider than a step of its gradient.
inline std::vector<std::string> encoding_variants() {
    return words_of(R"(
        sinusoidal:layout=halves,offset=3 sinusoidal:law=tensor2tensor,scale=1
        sinusoidal:layout=halves,law=tensor2tensor,base=500.5,scale=0.25 rope:pairing=halves rope:theta=500,width=4
        rope:pairing=halves,width=2 rope:scaling=linear,factor=2.5 rope:scaling=ntk,factor=3
        rope:scaling=dynamic,factor=2,original=40,length=77 rope:scaling=yarn,factor=4,original=20,theta=100
        rope:scaling=yarn,factor=4,original=20,theta=100,truncate=no,attention=1
        rope:scaling=yarn,factor=4,original=20,theta=100,extrapolation=0.5
        rope:scaling=llama3,factor=8,original=64,theta=1000
        rope:scaling=longrope,original=40,factor=2,width=6,short=1/1.5/2,long=1/3/4
        rope:scaling=longrope,original=64,factor=2,width=6,short=1/1.5/2,long=1/3/4,factors=long
        rope:scaling=dynamic,factor=2,original=40 rope:keep=0.5,pairing=halves
        xpos:pairing=halves,scale=100,gamma=0.8 xpos:zeta=one,width=4 learned:length=64,offset=2 segment:count=5
        alibi:max=2.5 alibi:power=2 alibi:trained=yes alibi:trained=yes,power=0.5 alibi:scale=0.3
        alibi:penalty=exponential,length=20 alibi:penalty=growing,length=20 rotate-stretch:period=6,step=0.3
        rotate-stretch:period=1 t5:buckets=8,distance=20 t5:buckets=36,distance=32 kerple:kernel=power
        sandwich:width=6,scale=3 fire:threshold=10,width=3 shaw:clip=0 shaw:clip=100 shaw:clip=3,values=no
        transformer-xl:width=10 transformer-xl:width=300 deberta:span=1 deberta:span=4,terms=c2p
        deberta:span=2,terms=p2c deberta:span=6,distance=9 deberta:span=100,terms=p2c
        deberta:span=2,distance=3,order=code cope:positions=1 cope:positions=3 cope:positions=300
        pattern(none,(shaw:clip=3))+rope forget+cope+alibi forget:start=5 sinusoidal:columns=4
        sinusoidal:columns=7,layout=halves dpb:width=5,depth=1 dpb:width=70,distance=linear path:rank=3,kernel=1
        path:rank=5,kernel=4 path+forget wall+alibi pope:theta=50 relative-logits:rank=3,extent=40
        forget+relative-logits:extent=1 log-scale:kind=log-n log-scale:kind=log-n,length=9
        log-scale:kind=llama4,length=5 log-scale:kind=ministral,length=5,factor=0.5 log-scale:kind=inkling,length=5
        log-scale+shaw:clip=3 pope+log-scale stick-breaking+alibi selective-rope:rank=70 selective-rope:rank=3,kernel=1
        selective-rope:kernel=7,theta=100 selective-rope:kind=carope abacus:first=0,last=40,length=64,offset=7
        selective-rope:kind=repo,theta=100 log-scale+selective-rope forget+selective-rope+relative-logits)");
}

inline std::vector<EncodingCase> encoding_cases() {
    std::vector<EncodingCase> all = registered_cases(even_dims);
    for (const EncodingCase& c : registered_cases(odd_dims)) all.push_back(c);
    for (const std::string& spec : encoding_variants())
        for (const Dims& dims : {even_dims, odd_dims}) all.push_back({spec, dims});
    for (const std::string& spec : scaled_rotations()) all.push_back({spec, even_dims});
    for (EncodingCase c : registered_cases(even_dims)) { // queries see later keys
        c.axes = 3;
        all.push_back(c);
        c.dims.mask = Mask::bidirectional;
        c.axes = 1;
        if (accepts(c.spec, c.dims)) all.push_back(c);
    }
    all.push_back({"rope:width=6,sections=1/1/1", odd_dims, 3});
    all.push_back({"rope:pairing=halves,width=8,sections=2/1/1,interleaved=yes", even_dims, 3});
    all.push_back({"rope:width=4,sections=1/1", even_dims, 2});
    // More pairs than a step without a table computes.
    for (const char* spec : {"rope", "rope:pairing=halves", "xpos", "sinusoidal", "shaw:clip=3"})
        all.push_back({spec, wide_dims});
    all.push_back({"rope:sections=30/20/16", wide_dims, 3});
    return all;
}

inline std::vector<EncodingCase> cases_with_limits() {
    std::vector<EncodingCase> all = encoding_cases();
    for (const EncodingInfo* info : registered_encodings())
        all.push_back({std::string(info->name), even_dims, 1, true});
    for (const Dims& dims : {even_dims, odd_dims})
        for (const char* spec : {"kerple:kernel=power", "fire:threshold=40,width=10"})
            all.push_back({spec, dims, 1, true});
    return all;
}

// A text as a part of a test's name.
inline std::string name_of(std::string text) {
    for (char& c : text)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    return text;
}
inline std::string encoding_case_name(const testing::TestParamInfo<EncodingCase>& info) {
    std::string name = name_of(info.param.spec) + "_d" + std::to_string(info.param.dims.d_model);
    if (info.param.axes > 1) name += "_axes" + std::to_string(info.param.axes);
    if (info.param.at_limits) name += "_at_limits";
    return name + (info.param.dims.mask == Mask::bidirectional ? "_bidirectional" : "");
}

// Rows of normally distributed numbers inside a wider block of memory, whose rest must stay unchanged.
class InnerRows {
public:
    InnerRows(int rows, int cols, std::uint64_t seed, double deviation = 1)
        : block_(static_cast<std::size_t>(rows * (cols + 3)), guard), rows_(rows), cols_(cols) {
        const Random random(seed, 7);
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < cols; ++j)
                view().row(i)[j] =
                    static_cast<float>(deviation * random.normal(static_cast<std::uint64_t>(i * cols + j)));
    }
    View view() { return {block_.data() + 1, rows_, cols_, cols_ + 3}; }
    View rows(int first, int count) { return rows_of(view(), first, count); }
    std::vector<double> row(int i) { return {view().row(i), view().row(i) + cols_}; }
    std::vector<float> values() {
        std::vector<float> out;
        for (int i = 0; i < rows_; ++i) out.insert(out.end(), view().row(i), view().row(i) + cols_);
        return out;
    }
    std::vector<std::vector<double>> all() {
        std::vector<std::vector<double>> out;
        for (int i = 0; i < rows_; ++i) out.push_back(row(i));
        return out;
    }
    void fill(float value) {
        for (int i = 0; i < rows_; ++i) std::fill_n(view().row(i), cols_, value);
    }
    bool guarded() {
        for (int i = 0; i < rows_; ++i) {
            const float* row = view().row(i);
            if (row[-1] != guard || row[cols_] != guard || row[cols_ + 1] != guard) return false;
        }
        return true;
    }

private:
    static constexpr float guard = 12345;
    std::vector<float> block_;
    int rows_, cols_;
};

// Positions of a sequence [n, axes], and the number of its last tokens that are queries.
struct Placing {
    std::string name;
    std::vector<int> ids;
    int queries;
};

// A stack's tensors, filled with random numbers, and copies of them for its oracle.
struct Subject {
    explicit Subject(const EncodingCase& c, int n_positions = 16) : dims(c.dims), axes(c.axes), stack(c.spec, c.dims) {
        for (const TensorSpec& tensor : stack.tensors()) {
            const int rows = tensor.shape.size() == 2 ? static_cast<int>(tensor.shape[0]) : 1;
            const int cols = static_cast<int>(tensor.shape.back());
            storage.emplace_back(rows, cols);
            reference::Matrix& exact = tensors[tensor.name] = reference::Matrix(rows, cols);
            for (std::size_t i = 0; i < storage.back().size(); ++i) {
                const double limits[] = {0, 1, -1, 0.5, 2.5, -0.25, 3, 0.005};
                const Random random(55, storage.size()); // FIRE's c and l are negative, KERPLE's r2 on all sides
                const double value = c.at_limits ? limits[random.below(i, std::size(limits))] : random.normal(i);
                exact.values[i] = storage.back().data()[i] = static_cast<float>(value);
            }
        }
        std::vector<View> views;
        for (Tensor& tensor : storage) views.push_back(tensor.view());
        stack.bind(views);
        stack.prepare(n_positions);
        oracles = std::make_unique<reference::Oracles>(stack.spec(), dims, tensors);
    }

    // Repeats, gaps, and no start at 0; beyond the prepared positions; and far away, past the integers of a float, if
    // the encoding reaches there. [n, axes]
    std::vector<int> positions() const {
        std::vector<int> first = {3, 0, 1, 1, 7, 15, 16, 36, 37, 63};
        for (const int far : {100, 4095, 16777217, 16777218})
            if (far < stack.limits().given() && bounded(far)) first.push_back(far);
        return on_axes(first);
    }
    // Longer sequences, for moments that act on pairs: a text, a single query, gaps, no order, growing gaps, a text
    // beyond the prepared positions, the largest positions, and one of them among small ones.
    std::vector<Placing> placings() const {
        std::vector<int> text, gaps, mixed, far, late, outlier;
        for (int i = 0; i < 129; ++i) { // a batch of dpb's distances ends in one
            text.push_back(5 + i);
            gaps.push_back(3 * i + i % 2);
            mixed.push_back(37 * i % 90);
            far.push_back(i < 75 ? i : 40 * i * i);
            late.push_back(4000 + i);
            outlier.push_back(i < 99 ? 20 + i : i == 105 ? 2147483646 : i - 99);
        }
        return {{"mixed", positions(), static_cast<int>(positions().size()) / axes - 2},
                {"text", on_axes(text), 30},
                {"one", on_axes(text), 1},
                {"gaps", on_axes(gaps), 30},
                {"disorder", on_axes(mixed), 30},
                {"far", on_axes(far), 30},
                {"late", on_axes(late), 30},
                {"far, endless", on_axes({0, 1, 1999999990, 1999999999, 2000000000}), 2},
                {"far, beside near", on_axes(outlier), 30}};
    }
    std::vector<int> segments(std::size_t n) const {
        std::vector<int> out;
        for (std::size_t i = 0; i < n; ++i) out.push_back(static_cast<int>(i) % std::min(stack.limits().segments, 5));
        return out;
    }
    // Zeros in the shape of the tensors.
    std::vector<Tensor> zeros() const {
        std::vector<Tensor> out;
        for (const Tensor& tensor : storage) out.emplace_back(tensor.rows(), tensor.cols());
        return out;
    }
    bool sees(int query, int key) const { return dims.mask == Mask::bidirectional || key <= query; }
    // Sets the entries [queries, keys] that the mask hides from the queries from `first` on.
    void hide(InnerRows& of, int first, float value = 0) const {
        for (int i = 0; i < of.view().rows; ++i)
            for (int j = 0; j < of.view().cols; ++j)
                if (!sees(first + i, j)) of.view().row(i)[j] = value;
    }

    Dims dims;
    int axes;
    ModelEncodings stack;
    std::vector<Tensor> storage;
    reference::Tensors tensors;
    std::unique_ptr<reference::Oracles> oracles;

private:
    std::vector<int> on_axes(const std::vector<int>& first) const {
        std::vector<int> ids;
        for (std::size_t i = 0; i < first.size(); ++i)
            for (int axis = 0; axis < axes; ++axis)
                ids.push_back(axis == 0 ? first[i] : (5 * static_cast<int>(i) + axis) % 60);
        return ids;
    }
    // xPos grows with the position until a float overflows. Next to a far distance, biases of DPB lose their digits.
    bool bounded(int position) const {
        if (stack.spec().find("distance=linear") != std::string::npos) return position < 5000;
        double most = 0;
        const reference::Vector nothing(static_cast<std::size_t>(dims.d_model));
        for (const Role role : {Role::query, Role::key}) {
            reference::Vector x(static_cast<std::size_t>(dims.d_head), 1);
            for (const auto* oracle : oracles->all())
                oracle->rotate_with(x, {position}, oracle->observe(nothing, {0}, 0, {}), role, 0, 0);
            for (const double value : x) most = std::max(most, std::abs(value));
        }
        return most < 1e9;
    }
};

// A case, with some positions and segments.
class EncodingTest : public testing::TestWithParam<EncodingCase> {
protected:
    void SetUp() override { ORDO_EXPECT_COMPLETE(*subject.oracles); }
    Positions positions() const { return {at, subject.axes}; }
    Positions positions(int first, int count) const { return positions().subspan(first, count); }

    Subject subject{GetParam()};
    const ModelEncodings& stack = subject.stack;
    std::vector<int> at = subject.positions();
    int n = static_cast<int>(positions().size());
    std::vector<int> segments = subject.segments(positions().size());
};

inline std::vector<View> views_of(std::vector<Tensor>& tensors) {
    std::vector<View> views;
    for (Tensor& tensor : tensors) views.push_back(tensor.view());
    return views;
}

// The queries, keys and states of a sequence, as floats and in the oracle's form. An encoding chooses the form of its
// state. So each side keeps its own state, observed from the same inputs.
struct Seen {
    Seen(const Subject& subject, const LayerOracles& oracles, int layer, Positions positions)
        : encodings(subject.stack.layer(layer)), at(positions), n(static_cast<int>(positions.size())),
          inputs(n, subject.dims.d_model, 14, 0.3), q(n, subject.dims.d_head, 11), k(n, subject.dims.d_head, 12),
          state(n, std::max(encodings.state_floats(), 1), 13), head{layer, 0, 0.4} {
        exact_inputs = inputs.all();
        exact.q = q.all();
        exact.k = k.all();
        observe(oracles);
        if (observes()) encodings.observe(inputs.view(), at, nullptr, state.view());
    }
    bool observes() const { return (encodings.moments() & moment_observe) != 0; }
    void observe(const LayerOracles& oracles) { exact.states = oracles.observe(exact_inputs); }

    // The rows of all tokens for ROTATE.
    HeadRows rows(Role role, int first_head, int n_heads) {
        return {head.layer, first_head, n_heads, role, at, encodings.reads_states() ? state.view() : View{}};
    }
    // A tile of some queries and all keys before `keys`. A part that the encodings do not read has no data.
    Tile tile(int of_head, int first_query, int queries, int keys) {
        head.head = of_head;
        Tile tile{.layer = head.layer, .head = of_head, .scale = static_cast<float>(head.scale)};
        head.scale = static_cast<double>(tile.scale); // as a float: 0.4f
        tile.first_query = first_query;
        tile.queries = at.subspan(first_query, queries);
        tile.keys = at.subspan(0, keys);
        if (encodings.reads() & reads_queries) tile.q = q.rows(first_query, queries);
        if (encodings.reads() & reads_keys) tile.k = k.rows(0, keys);
        if (!observes()) return tile;
        tile.query_state = state.rows(first_query, queries);
        if (encodings.reads() & reads_state) tile.key_state = state.rows(0, keys);
        return tile;
    }

    const LayerEncodings& encodings;
    Positions at;
    int n;
    InnerRows inputs, q, k, state;
    reference::Head head; // for the last tile
    LayerOracles::Vectors exact_inputs;
    LayerOracles::Sequence exact;
};

} // namespace ordo
