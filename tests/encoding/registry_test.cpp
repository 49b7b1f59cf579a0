// SPDX-License-Identifier: MIT
// The registry's description of each encoding matches its behaviour, and sums follow their rules.
#include "encoding/base/registry.h"
#include "encoding/base/stack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace ordo {
namespace registry_test {

const Dims dims{24, 3, 8, 2, 64};

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

TEST(Registry, DescribesEveryEncoding) {
    std::set<std::string_view> names;
    for (const EncodingInfo* info : registered_encodings()) {
        SCOPED_TRACE(info->name);
        EXPECT_TRUE(names.insert(info->name).second);
        EXPECT_FALSE(info->summary.empty());
        EXPECT_FALSE(info->paper.empty());
        EXPECT_FALSE(info->formula.empty());
        EXPECT_EQ(&find_encoding(info->name), info);

        for (const TensorSpec& tensor : example_of(*info)->tensors())
            EXPECT_TRUE(tensor.shape.size() == 1 || tensor.shape.size() == 2);
    }
    for (const char* name : {"none", "sinusoidal", "learned", "segment", "rope", "alibi", "rotate-stretch"})
        EXPECT_EQ(names.count(name), 1u) << name;
}

// The properties stated in the papers.
TEST(Registry, SaysWhatEncodingsAre) {
    const std::set<std::string_view> absolute = {"sinusoidal", "learned", "rotate-stretch", "fire"};
    const std::set<std::string_view> untrained = {"none",  "sinusoidal",     "rope",    "xpos",
                                                  "alibi", "rotate-stretch", "sandwich"};
    const std::map<std::string_view, unsigned> moments = {{"none", 0},
                                                          {"sinusoidal", moment_embed},
                                                          {"learned", moment_embed},
                                                          {"segment", moment_embed},
                                                          {"rope", moment_rotate},
                                                          {"xpos", moment_rotate},
                                                          {"alibi", moment_bias},
                                                          {"rotate-stretch", moment_embed},
                                                          {"t5", moment_bias},
                                                          {"kerple", moment_bias},
                                                          {"sandwich", moment_bias},
                                                          {"fire", moment_bias},
                                                          {"forget", moment_observe | moment_bias},
                                                          {"sink", moment_sink},
                                                          {"shaw", moment_bias | moment_mix},
                                                          {"transformer-xl", moment_rotate | moment_bias},
                                                          {"deberta", moment_rotate | moment_bias},
                                                          {"cope", moment_rescore}};
    for (const auto& [name, acting] : moments) {
        SCOPED_TRACE(name);
        const std::unique_ptr<Encoding> made = example_of(find_encoding(name));
        EXPECT_EQ(made->moments(), acting);
        EXPECT_EQ(made->shift_invariant(), !absolute.contains(name));
        EXPECT_EQ(made->tensors().empty(), untrained.contains(name));
    }
}

// The canonical form is the name followed by the parameters in the order of their description. It omits parameters that
// have no effect because another one is at its default. It is its own canonical form, and every key in it is known.
TEST(Registry, SpecsRoundTrip) {
    for (const EncodingInfo* info : registered_encodings()) {
        SCOPED_TRACE(info->name);
        const std::string spec = EncodingStack(info->name, dims).spec();
        const std::vector<Parameter> parameters = parameters_of(*info);
        const std::vector<SpecItem> items = parse_spec(spec);
        ASSERT_EQ(items.size(), 1u);
        EXPECT_EQ(items[0].name, info->name);
        auto at = parameters.begin();
        for (const auto& pair : items[0].values) {
            at = std::find_if(at, parameters.end(), [&](const Parameter& p) { return p.name == pair.first; });
            ASSERT_NE(at, parameters.end()) << pair.first;
            ++at;
        }
        EXPECT_EQ(EncodingStack(spec, dims).spec(), spec);
    }
}

TEST(Registry, NoneIsTheEmptyList) {
    EXPECT_TRUE(make_encodings("", dims).empty());
    EXPECT_TRUE(make_encodings("none", dims).empty());
    EXPECT_EQ(make_encodings("none+rope+none", dims).size(), 1u);
    const EncodingStack stack("none", {});
    EXPECT_EQ(stack.shift_invariant_below(), std::numeric_limits<int>::max());
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

TEST(Registry, MomentsStandInTheOrderOfAPass) {
    const unsigned all =
        moment_embed | moment_rotate | moment_bias | moment_observe | moment_rescore | moment_mix | moment_sink;
    unsigned seen = 0;
    std::set<std::string_view> names;
    for (const MomentInfo& info : moments_of_a_pass) {
        EXPECT_EQ(seen & info.moment, 0u);
        seen |= info.moment;
        EXPECT_TRUE(names.insert(info.name).second);
        EXPECT_FALSE(info.acts_on.empty());
    }
    EXPECT_EQ(seen, all);
}

TEST(Registry, NamesTheEncodingsOfASpecOnceEach) {
    std::string names;
    for (const EncodingInfo* info :
         encodings_named(parse_spec("segment+pattern(rope,none,(rope:width=2+alibi))+alibi")))
        names += std::string(info->name) + " ";
    EXPECT_EQ(names, "segment rope none alibi ");
    EXPECT_THROW(encodings_named(parse_spec("pattern(rope,nothing)")), Error);
}

TEST(Registry, MakesNoListOfAPattern) {
    EXPECT_NE(message("pattern(rope,none)").find("the same encodings in all layers"), std::string::npos);
    EXPECT_EQ(make_encodings("pattern(rope,rope)+alibi", dims).size(), 2u);
}

// ---- Tables of any encoding --------------------------------------------------------------------

// A caller's encoding that acts like a registered one but does not describe any tables.
class Foreign final : public Encoding {
public:
    explicit Foreign(unsigned moments) : moments_(moments) {}
    std::string spec() const override { return "foreign"; }
    unsigned moments() const override { return moments_; }
    int max_position() const override { return 100; }
    void embed(View x, const TokenRows& rows) const override {
        for (int j = 0; j < x.cols; ++j) x.row(0)[j] += static_cast<float>(10 * rows.positions[0] + j);
    }
    void bias(View scores, const Tile& tile) const override {
        for (int j = 0; j < scores.cols; ++j)
            scores.row(0)[j] +=
                static_cast<float>(10000 * tile.layer + 1000 * tile.head + 10 * tile.queries[0] + tile.keys[j]);
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
    EXPECT_EQ(Foreign(moment_bias).table({.length = 1, .start = 3, .layer = 2}).rows[0][0], 20033);
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

// Every registered encoding shows each part that it names, or names the missing tensor or setting.
TEST(EncodingTable, EveryPartOfEveryEncodingIsATableOrAUsageError) {
    for (const EncodingInfo* info : registered_encodings()) {
        const auto encoding = example_of(*info);
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

// An encoding counts the operations of its moments. For unused moments it returns 0.
TEST(Registry, EveryEncodingCountsItsOperations) {
    const Work prefill{.tokens = 4, .query_rows = 12, .key_rows = 12, .pairs = 30, .positions = 4};
    const Work decode{.tokens = 1, .query_rows = 3, .key_rows = 3, .pairs = 30, .positions = 10};
    for (const EncodingInfo* info : registered_encodings())
        for (const Work& work : {prefill, decode}) {
            const EncodingStack stack(info->name, dims);
            double sum = 0;
            for (const auto& encoding : stack.items())
                for (const MomentInfo& moment : moments_of_a_pass) {
                    const double operations = encoding->operations(moment.moment, work).sum();
                    sum += operations;
                    if (!(encoding->moments() & moment.moment)) {
                        EXPECT_EQ(operations, 0) << info->name << " " << moment.name;
                    }
                }
            EXPECT_EQ(sum > 0, example_of(*info)->moments() != 0) << info->name;
        }
}

} // namespace registry_test
} // namespace ordo
