// SPDX-License-Identifier: MIT
// What the registry says of each encoding is what the encoding does, and sums keep their rules.
#include "encoding/registry.h"

#include "core/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace ordo {
namespace {

constexpr Dims dims{24, 3, 8, 2, 64};

std::string message(std::string_view spec, const Dims& of = dims) {
    try {
        make_encodings(spec, of);
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::usage);
        return error.what();
    }
    ADD_FAILURE() << spec << " was not refused";
    return "";
}

// A spec of the name alone.
SpecItem item_of(const EncodingInfo& info) {
    SpecItem item;
    item.name = info.name;
    return item;
}

TEST(Registry, DescribesEveryEncoding) {
    std::set<std::string_view> names;
    for (const EncodingInfo* info : registered_encodings()) {
        SCOPED_TRACE(info->name);
        EXPECT_TRUE(names.insert(info->name).second);
        EXPECT_FALSE(info->summary.empty());
        EXPECT_FALSE(info->paper.empty());
        EXPECT_FALSE(info->formula.empty());
        EXPECT_EQ(&find_encoding(info->name), info);

        const std::unique_ptr<Encoding> made = info->make(item_of(*info), dims);
        EXPECT_EQ(made->moments(), info->moments);
        EXPECT_EQ(made->shift_invariant(), info->shift_invariant);
        const std::vector<TensorSpec> tensors = made->tensors();
        EXPECT_EQ(std::any_of(tensors.begin(), tensors.end(), [](const auto& t) { return t.trainable; }),
                  info->trainable);
        for (const TensorSpec& tensor : tensors) EXPECT_TRUE(tensor.shape.size() == 1 || tensor.shape.size() == 2);
    }
    for (const char* name : {"none", "sinusoidal", "learned", "segment", "rope", "alibi", "rotate-stretch"})
        EXPECT_EQ(names.count(name), 1u) << name;
}

// The canonical form is the name, then every parameter in the order of its description; it is its own
// canonical form; and every key in it is known.
TEST(Registry, SpecsRoundTrip) {
    for (const EncodingInfo* info : registered_encodings()) {
        SCOPED_TRACE(info->name);
        const std::string spec = info->make(item_of(*info), dims)->spec();
        const std::vector<SpecItem> items = parse_spec(spec);
        ASSERT_EQ(items.size(), 1u);
        EXPECT_EQ(items[0].name, info->name);
        ASSERT_EQ(items[0].values.size(), info->parameters.size());
        for (std::size_t i = 0; i < info->parameters.size(); ++i)
            EXPECT_EQ(items[0].values[i].first, info->parameters[i].name);
        EXPECT_EQ(EncodingStack(spec, dims).spec(), spec);
    }
}

TEST(Registry, NoneIsTheEmptyList) {
    EXPECT_TRUE(make_encodings("", dims).empty());
    EXPECT_TRUE(make_encodings("none", dims).empty());
    EXPECT_EQ(make_encodings("none+rope+none", dims).size(), 1u);
    const EncodingStack stack("none", {});
    EXPECT_EQ(stack.spec(), "none");
    EXPECT_EQ(stack.moments(), 0u);
    EXPECT_TRUE(stack.shift_invariant());
    EXPECT_EQ(stack.max_position(), std::numeric_limits<int>::max());
    EXPECT_EQ(stack.max_segment(), std::numeric_limits<int>::max());
}

TEST(Registry, RefusesTwoRotationsAndNamesBoth) {
    EXPECT_NE(message("rope+alibi+rope:theta=5").find("'rope' and 'rope'"), std::string::npos);
}

TEST(Registry, RefusesTwoEncodingsWhoseTensorsWouldCollide) {
    EXPECT_NE(message("learned+learned:length=5").find("'learned'"), std::string::npos);
    EXPECT_NE(message("segment+learned+segment").find("'segment'"), std::string::npos);
    EXPECT_EQ(make_encodings("alibi+alibi", dims).size(), 2u);
}

TEST(Registry, RefusesSizesThatCannotBe) {
    EXPECT_NE(message("rope", {24, 3, 0, 2, 64}).find("d_head"), std::string::npos);
    EXPECT_NE(message("alibi", {24, 0, 8, 2, 64}).find("n_heads"), std::string::npos);
    EXPECT_NE(message("sinusoidal", {-1, 3, 8, 2, 64}).find("d_model"), std::string::npos);
    EXPECT_NE(message("sinusoidal", {2000000000, 3, 8, 2, 64}).find("d_model"), std::string::npos);
    EXPECT_NE(message("learned", {24, 3, 8, 2, 0}).find("length"), std::string::npos);
}

TEST(Registry, StackNamesBindsAndLimits) {
    EncodingStack stack("segment:count=3+learned:length=10,offset=2+alibi", dims);
    EXPECT_EQ(stack.moments(), moment_embed | moment_bias);
    EXPECT_FALSE(stack.shift_invariant());
    EXPECT_EQ(stack.max_position(), 10);
    EXPECT_EQ(stack.max_segment(), 3);
    const std::vector<TensorSpec> tensors = stack.tensors();
    ASSERT_EQ(tensors.size(), 2u);
    EXPECT_EQ(tensors[0].name, "encoding.segment.weight");
    EXPECT_EQ(tensors[0].shape, (std::vector<std::int64_t>{3, 24}));
    EXPECT_EQ(tensors[1].name, "encoding.learned.weight");
    EXPECT_EQ(tensors[1].shape, (std::vector<std::int64_t>{12, 24}));

    Tensor segment(3, 24), learned(12, 24), x(1, 24);
    segment.view().row(1)[5] = 1;
    learned.view().row(4 + 2)[5] = 20; // position 4
    stack.bind(std::vector<View>{segment.view(), learned.view()});
    const int position = 4, of = 1;
    stack.embed(x.view(), {Positions(&position, 1), std::span(&of, 1)});
    EXPECT_EQ(x.data()[5], 21);
    EXPECT_EQ(x.data()[6], 0);

    EXPECT_THROW(stack.bind(std::vector<View>{segment.view()}), Error);
    EXPECT_THROW(stack.bind(std::vector<View>{segment.view(), learned.view(), x.view()}), Error);
}

// ---- Tables of any encoding --------------------------------------------------------------------

// An encoding of somebody else's, which shows what it does without a word about tables.
class Foreign final : public Encoding {
public:
    explicit Foreign(unsigned moments) : moments_(moments) {}
    std::string spec() const override { return "foreign"; }
    unsigned moments() const override { return moments_; }
    int max_position() const override { return 100; }
    void embed(View x, const TokenRows& rows) const override {
        for (int j = 0; j < x.cols; ++j) x.row(0)[j] += static_cast<float>(10 * rows.positions[0] + j);
    }
    void bias(View scores, int, int head, Positions queries, Positions keys) const override {
        for (int j = 0; j < scores.cols; ++j)
            scores.row(0)[j] += static_cast<float>(1000 * head + 10 * queries[0] + keys[static_cast<std::size_t>(j)]);
    }

private:
    unsigned moments_;
};

TEST(EncodingTable, DefaultShowsWhatEmbedAdds) {
    const Table table = Foreign(moment_embed).table({.length = 2, .start = 7, .head = 0, .width = 3, .part = ""});
    EXPECT_EQ(table.header, (std::vector<std::string>{"dim0", "dim1", "dim2"}));
    EXPECT_EQ(table.rows, (std::vector<std::vector<double>>{{70, 71, 72}, {80, 81, 82}}));
}

TEST(EncodingTable, DefaultShowsTheCausalBias) {
    const double hidden = -std::numeric_limits<double>::infinity();
    const Table table = Foreign(moment_bias).table({.length = 2, .start = 7, .head = 1, .width = 3, .part = "table"});
    EXPECT_EQ(table.header, (std::vector<std::string>{"key7", "key8"}));
    EXPECT_EQ(table.rows, (std::vector<std::vector<double>>{{1077, hidden}, {1087, 1088}}));
    EXPECT_THROW(Foreign(moment_rotate).table({}), Error);
}

TEST(EncodingTable, RefusesRequestsThatCannotBe) {
    const Foreign foreign(moment_embed);
    const auto code = [&](const TableRequest& request) {
        try {
            foreign.table(request);
        } catch (const Error& error) {
            return error.code;
        }
        return ErrorCode::io;
    };
    EXPECT_EQ(code({.length = 0}), ErrorCode::usage);
    EXPECT_EQ(code({.length = -5}), ErrorCode::usage);
    EXPECT_EQ(code({.start = -1}), ErrorCode::usage);
    EXPECT_EQ(code({.width = 0}), ErrorCode::usage);
    EXPECT_EQ(code({.part = "tabel"}), ErrorCode::usage);
    EXPECT_EQ(code({.length = 8, .start = 93}), ErrorCode::limit);
    EXPECT_EQ(code({.length = 2, .start = std::numeric_limits<int>::max()}), ErrorCode::limit);
    EXPECT_EQ(code({.length = 90, .width = 1 << 30}), ErrorCode::limit);
    EXPECT_EQ(code({.length = 8, .start = 92}), ErrorCode::io) << "the last row is in reach";
}

// Whatever is registered answers for each part that it names, or says what it lacks.
TEST(EncodingTable, EveryPartOfEveryEncodingIsATableOrAUsageError) {
    for (const EncodingInfo* info : registered_encodings()) {
        const auto encoding = info->make(item_of(*info), dims);
        for (const std::string& part : encoding->table_parts()) {
            SCOPED_TRACE(std::string(info->name) + " " + part);
            try {
                const Table table = encoding->table({.length = 5, .start = 2, .part = part});
                EXPECT_FALSE(table.rows.empty());
                for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.header.size());
            } catch (const Error& error) {
                EXPECT_EQ(error.code, ErrorCode::usage) << error.what();
            }
        }
    }
}

} // namespace
} // namespace ordo
