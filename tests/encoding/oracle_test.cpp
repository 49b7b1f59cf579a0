// SPDX-License-Identifier: MIT
// Every registered encoding alone, against its oracle: what it computes, its gradient, and that neither
// threads, nor tables, nor the memory around a row change a bit. Whole models are in contract_test.cpp.
#include "core/parallel.h"
#include "core/random.h"
#include "core/tensor.h"
#include "encoding/registry.h"
#include "tests/reference_encodings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ordo {
namespace {

// An odd d_model, head counts that are not powers of two, and a context that the positions below fit in.
constexpr Dims even_dims{24, 3, 8, 2, 64}, odd_dims{21, 12, 6, 2, 64};

struct Case {
    std::string spec;
    Dims dims;
};

std::vector<Case> registered(const Dims& dims) {
    std::vector<Case> all;
    for (const EncodingInfo* info : registered_encodings()) all.push_back({std::string(info->name), dims});
    return all;
}

std::vector<Case> cases() {
    std::vector<Case> all = registered(even_dims);
    for (const Case& c : registered(odd_dims)) all.push_back(c);
    for (const char* spec :
         {"sinusoidal:layout=halves,offset=3", "sinusoidal:law=tensor2tensor,scale=1", "rope:pairing=halves",
          "sinusoidal:layout=halves,law=tensor2tensor,base=500.5,scale=0.25", "rope:theta=500,width=4",
          "rope:pairing=halves,width=2", "learned:length=64,offset=2", "segment:count=5", "alibi:max=2.5",
          "alibi:power=2", "rotate-stretch:period=6,step=0.3", "rotate-stretch:period=1"})
        for (const Dims& dims : {even_dims, odd_dims}) all.push_back({spec, dims});
    return all;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
    std::string name;
    for (const char c : info.param.spec) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return name + "_d" + std::to_string(info.param.dims.d_model);
}

// One encoding, its tensors filled with random numbers, and its oracle with the same.
struct Subject {
    explicit Subject(const Case& c, int n_positions = 16) : dims(c.dims), stack(c.spec, c.dims) {
        std::vector<View> views;
        for (const TensorSpec& tensor : stack.tensors()) {
            const int rows = tensor.shape.size() == 2 ? static_cast<int>(tensor.shape[0]) : 1;
            const int cols = static_cast<int>(tensor.shape.back());
            storage.emplace_back(rows, cols);
            reference::Matrix& exact = tensors[tensor.name] = reference::Matrix(rows, cols);
            for (std::size_t i = 0; i < storage.back().size(); ++i) {
                const double value = Random(1, storage.size()).normal(i);
                exact.values[i] = storage.back().data()[i] = static_cast<float>(value);
            }
        }
        for (Tensor& tensor : storage) views.push_back(tensor.view());
        stack.bind(views);
        stack.prepare(n_positions);
        oracles = std::make_unique<reference::Oracles>(stack.spec(), dims, tensors);
    }

    // Repeats, gaps, none at the start; past the prepared ones; far ones, where the encoding reaches.
    std::vector<int> positions() const {
        std::vector<int> out = {3, 0, 1, 1, 7, 15, 16, 36, 37, 63};
        for (const int far : {100, 4095, 1000003})
            if (far < stack.max_position()) out.push_back(far);
        return out;
    }
    std::vector<int> segments(std::size_t n) const {
        std::vector<int> out;
        for (std::size_t i = 0; i < n; ++i) out.push_back(static_cast<int>(i) % std::min(stack.max_segment(), 5));
        return out;
    }

    Dims dims;
    EncodingStack stack;
    std::vector<Tensor> storage;
    reference::Tensors tensors;
    std::unique_ptr<reference::Oracles> oracles;
};

// Rows of normal numbers as part of a wider block of memory, whose rest nobody may touch.
class Rows {
public:
    Rows(int rows, int cols, std::uint64_t seed)
        : block_(static_cast<std::size_t>(rows * (cols + 3)), guard), rows_(rows), cols_(cols) {
        const Random random(seed, 7);
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < cols; ++j)
                view().row(i)[j] = static_cast<float>(random.normal(static_cast<std::uint64_t>(i * cols + j)));
    }
    View view() { return {block_.data() + 1, rows_, cols_, cols_ + 3}; }
    std::vector<double> row(int i) { return {view().row(i), view().row(i) + cols_}; }
    std::vector<float> values() {
        std::vector<float> out;
        for (int i = 0; i < rows_; ++i) out.insert(out.end(), view().row(i), view().row(i) + cols_);
        return out;
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

// 16 roundings of a float, of the largest number in the row.
void expect_row(const std::vector<double>& found, const std::vector<double>& expected, const std::string& what) {
    double size = 1;
    for (const double value : expected) size = std::max(size, std::abs(value));
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t j = 0; j < found.size(); ++j)
        EXPECT_NEAR(found[j], expected[j], 1e-6 * size) << what << ", column " << j;
}

// The oracle's rotation of a whole row, head by head.
std::vector<double> rotated(const reference::PositionList& oracles, std::vector<double> row, int n_heads, int position,
                            Role role) {
    const std::size_t e = row.size() / static_cast<std::size_t>(n_heads);
    for (std::size_t first = 0; first < row.size(); first += e) {
        const auto begin = row.begin() + static_cast<std::ptrdiff_t>(first);
        std::vector<double> head(begin, begin + static_cast<std::ptrdiff_t>(e));
        for (const auto* oracle : oracles) oracle->rotate(head, position, role, 1);
        std::copy(head.begin(), head.end(), begin);
    }
    return row;
}

class EncodingOracle : public testing::TestWithParam<Case> {
protected:
    void SetUp() override { ORDO_EXPECT_COMPLETE(*subject.oracles); }
    Subject subject{GetParam()};
    const EncodingStack& stack = subject.stack;
    std::vector<int> at = subject.positions();
    int n = static_cast<int>(at.size());
    std::vector<int> segments = subject.segments(at.size());
};

TEST_P(EncodingOracle, Embeds) {
    Rows x(n, subject.dims.d_model, 3), before = x;
    stack.embed(x.view(), {at, segments});
    for (int i = 0; i < n; ++i) {
        const auto row = static_cast<std::size_t>(i);
        std::vector<double> expected = before.row(i);
        for (const auto* oracle : subject.oracles->list()) oracle->embed(expected, at[row], segments[row]);
        expect_row(x.row(i), expected, "position " + std::to_string(at[row]));
    }
    EXPECT_TRUE(x.guarded());
}

TEST_P(EncodingOracle, EmbedsWithoutSegmentsAsSegmentZero) {
    Rows x(n, subject.dims.d_model, 3), y = x;
    const std::vector<int> zeros(at.size(), 0);
    stack.embed(x.view(), {at, {}});
    stack.embed(y.view(), {at, zeros});
    EXPECT_EQ(x.values(), y.values());
}

TEST_P(EncodingOracle, Rotates) {
    for (const Role role : {Role::query, Role::key}) {
        Rows x(n, subject.dims.n_heads * subject.dims.d_head, 4), before = x;
        stack.rotate(x.view(), subject.dims.n_heads, at, role, 1);
        for (int i = 0; i < n; ++i) {
            const int position = at[static_cast<std::size_t>(i)];
            expect_row(x.row(i), rotated(subject.oracles->list(), before.row(i), subject.dims.n_heads, position, role),
                       "position " + std::to_string(position));
        }
        EXPECT_TRUE(x.guarded());
    }
}

// A tile whose keys lie before, at and after its queries.
TEST_P(EncodingOracle, Biases) {
    const std::vector<int> queries = {at.begin() + 2, at.end()};
    for (int head = 0; head < subject.dims.n_heads; ++head) {
        Rows scores(static_cast<int>(queries.size()), n, 5), before = scores;
        stack.bias(scores.view(), 1, head, queries, at);
        for (std::size_t i = 0; i < queries.size(); ++i) {
            std::vector<double> expected = before.row(static_cast<int>(i));
            for (std::size_t j = 0; j < at.size(); ++j)
                for (const auto* oracle : subject.oracles->list())
                    expected[j] += oracle->bias(1, head, queries[i], at[j]);
            expect_row(scores.row(static_cast<int>(i)), expected, "head " + std::to_string(head));
        }
        EXPECT_TRUE(scores.guarded());
    }
}

// ---- Gradients ----------------------------------------------------------------------------------
// Of sum(w * y) for random w, by central differences of the oracle.

constexpr double step = 1e-4;

// A float knows a small number beside great ones only to the great ones' rounding.
void expect_gradients(const std::vector<double>& found, const std::vector<double>& expected, const std::string& what) {
    double most = 1;
    for (const double value : expected) most = std::max(most, std::abs(value));
    for (std::size_t j = 0; j < found.size(); ++j)
        EXPECT_NEAR(found[j], expected[j], 1e-3 * std::max(std::abs(expected[j]), 0.01 * most)) << what << ", " << j;
}

// Of a function of x, at x.
template <class Loss>
std::vector<double> central_differences(const Loss& loss, std::vector<double> x) {
    std::vector<double> out;
    for (double& value : x) {
        const double kept = value;
        value = kept + step;
        const double up = loss(x);
        value = kept - step;
        out.push_back((up - loss(x)) / (2 * step));
        value = kept;
    }
    return out;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
    return sum;
}

TEST_P(EncodingOracle, EmbedGradientOfTheInput) {
    Rows x(n, subject.dims.d_model, 3), w(n, subject.dims.d_model, 6), dx = w;
    std::vector<Tensor> grads;
    std::vector<View> views;
    for (Tensor& tensor : subject.storage) grads.emplace_back(tensor.rows(), tensor.cols());
    for (Tensor& grad : grads) views.push_back(grad.view());
    for (const auto& item : stack.items()) item->embed_backward(dx.view(), x.view(), {at, segments}, views);
    for (int i = 0; i < n; ++i) {
        const auto row = static_cast<std::size_t>(i);
        const auto loss = [&](std::vector<double> y) {
            for (const auto* oracle : subject.oracles->list()) oracle->embed(y, at[row], segments[row]);
            return dot(y, w.row(i));
        };
        expect_gradients(dx.row(i), central_differences(loss, x.row(i)), "position " + std::to_string(at[row]));
    }
    EXPECT_TRUE(dx.guarded());
}

TEST_P(EncodingOracle, EmbedGradientOfTheTensorsIsAdded) {
    if (subject.storage.empty()) return; // nothing is trained
    Rows x(n, subject.dims.d_model, 3), w(n, subject.dims.d_model, 6), dx = w;
    std::vector<Tensor> grads;
    std::vector<View> views;
    for (Tensor& tensor : subject.storage) {
        grads.emplace_back(tensor.rows(), tensor.cols());
        for (std::size_t i = 0; i < grads.back().size(); ++i) grads.back().data()[i] = 2;
    }
    for (Tensor& grad : grads) views.push_back(grad.view());
    ASSERT_EQ(stack.items().size(), 1u);
    stack.items()[0]->embed_backward(dx.view(), x.view(), {at, segments}, views);

    const auto loss = [&] {
        double sum = 0;
        for (int i = 0; i < n; ++i) {
            const auto row = static_cast<std::size_t>(i);
            std::vector<double> y = x.row(i);
            for (const auto* oracle : subject.oracles->list()) oracle->embed(y, at[row], segments[row]);
            sum += dot(y, w.row(i));
        }
        return sum;
    };
    const std::vector<TensorSpec> specs = stack.tensors();
    for (std::size_t t = 0; t < specs.size(); ++t) {
        std::vector<double>& values = subject.tensors.at(specs[t].name).values;
        std::vector<double> found, expected;
        for (std::size_t i = 0; i < values.size(); i += 5) { // every fifth: 5 divides no width here
            const auto of_one = [&](const std::vector<double>& value) {
                values[i] = value[0];
                return loss();
            };
            const double kept = values[i];
            expected.push_back(central_differences(of_one, {kept})[0]);
            values[i] = kept;
            found.push_back(grads[t].data()[i] - 2.0);
        }
        expect_gradients(found, expected, specs[t].name);
    }
}

TEST_P(EncodingOracle, RotateGradient) {
    const int n_heads = subject.dims.n_heads;
    for (const Role role : {Role::query, Role::key}) {
        Rows x(n, n_heads * subject.dims.d_head, 4), w(n, n_heads * subject.dims.d_head, 6), dx = w;
        stack.rotate_backward(dx.view(), n_heads, at, role, 1);
        for (int i = 0; i < n; ++i) {
            const int position = at[static_cast<std::size_t>(i)];
            const auto loss = [&](const std::vector<double>& y) {
                return dot(rotated(subject.oracles->list(), y, n_heads, position, role), w.row(i));
            };
            expect_gradients(dx.row(i), central_differences(loss, x.row(i)), "position " + std::to_string(position));
        }
        EXPECT_TRUE(dx.guarded());
    }
}

INSTANTIATE_TEST_SUITE_P(All, EncodingOracle, testing::ValuesIn(cases()), case_name);

// ---- Bits -----------------------------------------------------------------------------------------

// What an encoding is given for everything that it can do, on n rows.
struct Work {
    Work(const Subject& subject, int n, int first_position)
        : x(n, subject.dims.d_model, 3), dx(n, subject.dims.d_model, 6),
          q(n, subject.dims.n_heads * subject.dims.d_head, 4), dq(n, subject.dims.n_heads * subject.dims.d_head, 8),
          scores(16, n, 5) {
        const int reach = std::min(subject.stack.max_position(), 5000);
        for (int i = 0; i < n; ++i) at.push_back((first_position + 3 * i) % reach);
        segments = subject.segments(at.size());
    }
    std::vector<int> at, segments;
    Rows x, dx, q, dq, scores;
};

// Everything that it computes, as one list of numbers.
std::vector<float> everything(Subject& subject, Work work) {
    const EncodingStack& stack = subject.stack;
    const TokenRows rows{work.at, work.segments};
    std::vector<Tensor> grads;
    std::vector<View> views;
    for (const Tensor& tensor : subject.storage) grads.emplace_back(tensor.rows(), tensor.cols());
    for (Tensor& grad : grads) views.push_back(grad.view());
    for (const auto& item : stack.items()) item->embed_backward(work.dx.view(), work.x.view(), rows, views);
    stack.embed(work.x.view(), rows);
    stack.rotate(work.q.view(), subject.dims.n_heads, work.at, Role::query, 0);
    stack.rotate_backward(work.dq.view(), subject.dims.n_heads, work.at, Role::key, 0);
    stack.bias(work.scores.view(), 0, 1, Positions(work.at).first(16), work.at);

    std::vector<float> all;
    for (Rows* block : {&work.x, &work.dx, &work.q, &work.dq, &work.scores}) {
        const std::vector<float> values = block->values();
        all.insert(all.end(), values.begin(), values.end());
    }
    for (Tensor& grad : grads) all.insert(all.end(), grad.data(), grad.data() + grad.size());
    return all;
}

class EncodingThreads : public testing::TestWithParam<Case> {};

TEST_P(EncodingThreads, ChangeNoBit) {
    Case wide = GetParam();
    wide.dims.d_model *= 8; // enough that the work is split, by rows and by columns
    wide.dims.n_heads *= 8;
    Subject subject(wide, 700);
    const Work work(subject, 420, 0);
    const int before = thread_count();
    set_threads(1);
    const std::vector<float> one = everything(subject, work);
    for (const int threads : {2, 3, 4, 8}) {
        set_threads(threads);
        EXPECT_TRUE(everything(subject, work) == one) << threads << " threads";
    }
    set_threads(before);
}

INSTANTIATE_TEST_SUITE_P(All, EncodingThreads, testing::ValuesIn(registered(odd_dims)), case_name);

class EncodingTables : public testing::TestWithParam<Case> {};

TEST_P(EncodingTables, ChangeNoBit) {
    Subject none(GetParam(), 0), some(GetParam(), 40), all(GetParam(), 5000);
    const Work work(none, 64, 5);
    const std::vector<float> expected = everything(none, work);
    EXPECT_TRUE(everything(some, work) == expected);
    EXPECT_TRUE(everything(all, work) == expected);
    some.stack.prepare(5000); // tables grow
    some.stack.prepare(10);   // and do not shrink
    EXPECT_TRUE(everything(some, work) == expected);
}

INSTANTIATE_TEST_SUITE_P(All, EncodingTables, testing::ValuesIn(cases()), case_name);

} // namespace
} // namespace ordo
