// SPDX-License-Identifier: MIT
// A model in several GGUF files, as llama.cpp's gguf-split writes them. NAME-00001-of-00003.gguf has the metadata. Each
// file has its own tensors and the keys split.no, split.count (u16) and split.tensors.count (i32).
#include "formats/gguf/export.h"
#include "tests/formats/family_run.h"
#include "tests/temp_dir.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

GgufValue u16(int value) {
    return {GgufKind::u16, false, {static_cast<char>(value & 0xff), static_cast<char>(value >> 8)}};
}

class GgufParts : public ::testing::Test {
protected:
    std::filesystem::path path(int part) const {
        return dir_ / ("m-0000" + std::to_string(part + 1) + "-of-00003.gguf");
    }
    // Writes parts with a third of the tensors each. `change` modifies the entries of a part.
    void write(const std::function<void(int part, GgufEntries&)>& change = {}) const {
        const Source source = open_source(test::family("llama"));
        const GgufExport whole = gguf_export(source, {});
        const std::size_t n = whole.tensors.size();
        for (int part = 0; part < 3; ++part) {
            const auto i = static_cast<std::size_t>(part);
            GgufEntries entries = part == 0 ? whole.metadata : GgufEntries();
            entries.emplace_back("split.no", u16(part));
            entries.emplace_back("split.count", u16(3));
            entries.emplace_back("split.tensors.count", GgufValue::of(static_cast<std::int32_t>(n)));
            if (change) change(part, entries);
            write_gguf(path(part), entries,
                       {whole.tensors.begin() + static_cast<std::ptrdiff_t>(n * i / 3),
                        whole.tensors.begin() + static_cast<std::ptrdiff_t>(n * (i + 1) / 3)});
        }
    }
    std::string refusal(const std::filesystem::path& file) const {
        try {
            Model::load(file);
        } catch (const Error& error) {
            return error.what();
        }
        return "accepted";
    }
    void expect_refused(const std::filesystem::path& file, const std::string& text) const {
        EXPECT_NE(refusal(file).find(text), std::string::npos) << refusal(file);
    }

    const test::TempDir dir_;
};

TEST_F(GgufParts, AreReadAsOne) {
    write();
    const std::vector<Token> tokens = test::read_cases(test::family("llama")).front().at("tokens");
    // Compares with the same tensors in one file, because a directory's rope takes the columns in another order and
    // rounds differently.
    const Source source = open_source(test::family("llama"));
    const GgufExport whole = gguf_export(source, {});
    write_gguf(dir_ / "whole.gguf", whole.metadata, whole.tensors);
    EXPECT_EQ(test::difference(test::logits_of(Model::load(path(0)), tokens),
                               test::logits_of(Model::load(dir_ / "whole.gguf"), tokens)),
              0);
}

TEST_F(GgufParts, WhatIsMissingIsNamed) {
    write();
    expect_refused(path(1), "'split.no': expected 0, found 1: give the first part, ");
    std::filesystem::copy(path(0), dir_ / "renamed.gguf");
    expect_refused(dir_ / "renamed.gguf", "expected a name that ends in -00001-of-00003.gguf");
    std::filesystem::remove(path(2));
    expect_refused(path(0), "m-00003-of-00003.gguf: No such file");
}

TEST_F(GgufParts, PartsOfAnotherModelAreRefused) {
    write();
    std::filesystem::copy_file(path(1), path(2), std::filesystem::copy_options::overwrite_existing);
    expect_refused(path(0), "m-00003-of-00003.gguf: 'split.no': expected 2, found 1");
    write([](int part, GgufEntries& entries) {
        if (part == 2) entries[1].second = u16(4);
    });
    expect_refused(path(0), "m-00003-of-00003.gguf: 'split.count': expected 3, found 4");
    write([](int part, GgufEntries& entries) {
        if (part == 0) entries.back().second = GgufValue::of(std::int32_t{5});
    });
    expect_refused(path(0), "'split.tensors.count': expected ");
    write([](int part, GgufEntries& entries) {
        if (part == 1) entries.clear();
    });
    expect_refused(path(0), "m-00002-of-00003.gguf: 'split.no': expected 1, found none");
}

} // namespace
} // namespace ordo
