// SPDX-License-Identifier: MIT
// The table of models/README.md lists every key of every published configuration class
// (tests/families/config_classes.json) as read, refused or ignored. The test checks that Ordo does so.
#include "formats/architecture.h"
#include "formats/source.h"
#include "model/blueprint.h"
#include "tests/formats/family_run.h"
#include "tests/temp_dir.h"

#include <gtest/gtest.h>
#include <set>

namespace ordo {
namespace {

namespace fs = std::filesystem;
using test::Json;

struct Keys {
    std::set<std::string> read, ignored;
    std::map<std::string, Json> refused; // with the value that is accepted
};

std::vector<std::string> split(const std::string& text, const std::string& separator) {
    std::vector<std::string> parts;
    std::size_t from = 0;
    for (std::size_t to = 0; (to = text.find(separator, from)) != text.npos; from = to + separator.size())
        parts.push_back(text.substr(from, to - from));
    parts.push_back(text.substr(from));
    return parts;
}

// "`a`, `b: true`"
std::vector<std::string> quoted(const std::string& cell) {
    std::vector<std::string> all;
    const std::vector<std::string> parts = split(cell, "`");
    for (std::size_t i = 1; i < parts.size(); i += 2) all.push_back(parts[i]);
    return all;
}

Keys keys_of(const std::vector<std::string>& cells) {
    Keys keys;
    for (const std::string& key : quoted(cells[2])) keys.read.insert(key);
    for (const std::string& pair : quoted(cells[3])) {
        const std::size_t colon = pair.find(": ");
        keys.refused[pair.substr(0, colon)] = Json::parse(pair.substr(colon + 2));
    }
    for (const std::string& key : quoted(cells[4])) keys.ignored.insert(key);
    return keys;
}

// The rows of the table by model_type. "all" applies to every type.
std::map<std::string, Keys> table() {
    std::map<std::string, Keys> rows;
    const std::string text = test::file_content("models/README.md");
    const std::string start = "| `model_type` | read | refused, if other than | ignored |\n|---|---|---|---|\n";
    const std::size_t at = text.find(start);
    if (at == text.npos) return rows;
    for (const std::string& line : split(text.substr(at + start.size()), "\n")) {
        if (!line.starts_with("| ")) break;
        const std::vector<std::string> cells = split(line, "|");
        const std::string& names = cells.at(1);
        for (const std::string& name : split(names.substr(1, names.size() - 2), ", ")) rows[name] = keys_of(cells);
    }
    return rows;
}

Json classes() {
    return Json::parse(test::file_content("tests/families/config_classes.json"));
}

// A fixture with a modified config.
class Fixture {
public:
    Fixture(const std::string& family, const std::string& model_type)
        : config_(Json::parse(test::file_content(test::family(family) / "config.json"))) {
        config_["model_type"] = model_type;
        fs::copy_file(test::family(family) / "model.safetensors", folder_ / "model.safetensors");
    }
    // The resulting plan, or "refused: " and the reason.
    std::string plan(const Json& changes, const std::vector<std::string>& missing = {}) const {
        Json config = config_;
        for (const std::string& key : missing) config.erase(key);
        for (const auto& [key, value] : changes.items()) config[key] = value;
        test::put_file(folder_ / "config.json", config.dump());
        try {
            const Source source = hugging_face_source(folder_.path());
            return to_json(source.blueprint, true) + source.encoding;
        } catch (const Error& error) {
            return std::string("refused: ") + error.what();
        }
    }
    bool refuses(Json changes, const std::string& key, const Json& value) const {
        changes[key] = value;
        const std::string found = plan(changes);
        return found.starts_with("refused: ") && found.find("'" + key + "'") != found.npos;
    }

private:
    test::TempDir folder_;
    Json config_;
};

// A different value of the same kind.
Json other_than(const Json& value) {
    if (value.is_boolean()) return !value.get<bool>();
    if (value.is_number_integer()) return value.get<int>() + 1;
    if (value.is_number()) return value.get<double>() + 0.5;
    if (value.is_string()) return "another";
    if (value.is_object()) return Json{{"0", {0}}};
    return true;
}

class ConfigKeys : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        const Json each = classes().at(GetParam());
        for (const std::string family : each.at("fixtures"))
            fixtures_.push_back(std::make_unique<Fixture>(family, GetParam()));
        conditions_ = each.at("with").get<std::vector<Json>>();
        conditions_.insert(conditions_.begin(), Json::object());
    }
    // Whether any fixture refuses the value under one of the conditions in which the key matters.
    bool refused(const std::string& key, const Json& value) const {
        for (const auto& fixture : fixtures_)
            for (const Json& condition : conditions_)
                if (fixture->refuses(condition, key, value)) return true;
        return false;
    }

    std::vector<std::unique_ptr<Fixture>> fixtures_;
    std::vector<Json> conditions_;
};

TEST_P(ConfigKeys, AreReadRefusedOrIgnoredAsTheTableSays) {
    const std::map<std::string, Keys> rows = table();
    ASSERT_TRUE(rows.contains("all"));
    ASSERT_TRUE(rows.contains(GetParam())) << "no row in models/README.md";
    const Keys& own = rows.at(GetParam());
    const Keys& all = rows.at("all");
    const Json fields = classes().at(GetParam()).at("fields");
    for (const auto& [key, usual] : fields.items()) {
        SCOPED_TRACE(key);
        const bool read = own.read.contains(key), refuses = own.refused.contains(key) || all.refused.contains(key),
                   ignored = own.ignored.contains(key) || (all.ignored.contains(key) && !read);
        EXPECT_EQ(read + refuses + ignored, 1)
            << "expected in one column of the table, found in " << read + refuses + ignored;
        // A key that is read is checked, so a value of a wrong kind is refused.
        EXPECT_TRUE(!read || refused(key, Json{{"not", "such"}}) || refused(key, 0.25)) << "is not read";
        const Json works = own.refused.contains(key) ? own.refused.at(key) : usual;
        EXPECT_TRUE(!refuses || refused(key, other_than(works))) << "is not refused";
        EXPECT_TRUE(!ignored || fixtures_[0]->plan({{key, other_than(usual)}}) == fixtures_[0]->plan(Json::object()))
            << "is not ignored";
    }
    for (const auto& [key, works] : all.refused) EXPECT_TRUE(refused(key, other_than(works))) << key;
    EXPECT_FALSE(fixtures_[0]->plan({{"a_key_of_nobody", 7}}).starts_with("refused"));
}

// A key that the file omits has the default of its class. If it has none here, the error names it.
TEST_P(ConfigKeys, HaveTheDefaultsOfTheirClassIfTheyAreMissing) {
    const std::multimap<std::string, std::string> older = {{"hidden_size", "n_embed"},
                                                           {"n_head", "num_attention_heads"},
                                                           {"n_positions", "n_ctx"},
                                                           {"hidden_activation", "hidden_act"}};
    const Keys own = table().at(GetParam());
    const Json fields = classes().at(GetParam()).at("fields");
    for (const auto& [key, usual] : fields.items()) {
        if (!own.read.contains(key)) continue;
        if (GetParam() == "mt5" && (key == "tie_word_embeddings" || key == "scale_decoder_outputs"))
            continue; // the head in the file decides (models/t5.cpp)
        SCOPED_TRACE(key);
        std::vector<std::string> names = {key};
        for (auto [at, end] = older.equal_range(key); at != end; ++at) names.push_back(at->second);
        const auto refused = [&key = key](const std::string& plan) {
            return plan.starts_with("refused: ") &&
                   (plan.find("'" + key + "'") != plan.npos || plan.ends_with("is missing"));
        };
        for (const auto& fixture : fixtures_)
            for (const Json& condition : conditions_) {
                if (condition.contains(key)) continue;
                const std::string missing = fixture->plan(condition, names);
                Json changes = condition;
                changes[key] = usual;
                if (const std::string with = fixture->plan(changes, names); !refused(missing) && !refused(with)) {
                    EXPECT_EQ(with, missing);
                }
            }
    }
}

INSTANTIATE_TEST_SUITE_P(Classes, ConfigKeys, ::testing::ValuesIn([] {
                             std::vector<std::string> names;
                             const Json all = classes();
                             for (const auto& [name, each] : all.items()) names.push_back(name);
                             return names;
                         }()),
                         [](const auto& each) {
                             std::string name = each.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

// Every family has a configuration class to compare with, and the README counts them.
TEST(ConfigClasses, AreThereForEveryModelType) {
    const Json all = classes();
    // Falcon's old types, a wrapper of gemma3_text, and two whose published code is their own.
    const std::set<std::string> older = {"RefinedWeb", "RefinedWebModel", "gemma3", "nomic_bert", "minicpm"};
    int types = 0;
    for (const Architecture& each : architectures())
        for (const std::string_view type : each.hugging_face.model_types) {
            EXPECT_TRUE(all.contains(std::string(type)) || older.contains(std::string(type))) << type;
            ++types;
        }
    const std::string count = "[" + std::to_string(types) + " model types](models/README.md)";
    EXPECT_NE(test::file_content("README.md").find(count), std::string::npos) << count;
}

} // namespace
} // namespace ordo
