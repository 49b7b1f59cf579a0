// SPDX-License-Identifier: MIT
// Threads share the reading of large tensors, which are read in parts, together with the tokenizer. The result and the
// refusals are the same for any number of threads.
#include "core/parallel.h"
#include "model/model_file.h"
#include "tests/model/small_models.h"
#include "tests/temp_dir.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

// The message of the refusal; empty if there is none.
std::string refusal(const std::filesystem::path& path) {
    try {
        Model::load(path);
        return {};
    } catch (const Error& error) {
        return error.what();
    }
}

TEST(ReadInParts, OnAnyNumberOfThreads) {
    constexpr std::size_t part = Safetensors::part;
    Blueprint b = small_blueprint();
    b.vocab_size = static_cast<int>(part) * 5 / 2 / b.d_model;
    TensorMemory tensors(model_tensors(b, ModelEncodings("none", b.dims())));
    ModelFile file;
    file.blueprint = b;
    file.encoding = "none";
    file.specs.assign(tensors.specs().begin(), tensors.specs().end());
    for (std::size_t i = 0; i < file.specs.size(); ++i) file.values.push_back(tensors.view(i));
    const View embedding = tensors.view("embedding.weight");
    const auto n = static_cast<std::size_t>(embedding.rows) * static_cast<std::size_t>(embedding.cols);
    for (std::size_t i = 0; i < n; ++i) embedding.data[i] = static_cast<float>(i);

    const test::TempDir folder;
    const auto whole = folder / "whole", two_wrong = folder / "two_wrong", all_wrong = folder / "all_wrong";
    write_model(whole, file);
    embedding.data[part + 3] = embedding.data[2 * part] = std::nanf("");
    write_model(two_wrong, file);
    file.tokenizer = "{}";
    write_model(all_wrong, file, {});

    const int before = thread_count();
    for (const int threads : {1, 2, 3, 8}) {
        set_threads(threads);
        const Model model = Model::load(whole);
        const Matrix& read = impl_of(model).weights.embedding();
        ASSERT_EQ(read.rows(), b.vocab_size);
        std::vector<float> row(static_cast<std::size_t>(b.d_model));
        for (std::size_t i = 0; i < n; ++i) {
            if (i % row.size() == 0) read.row(static_cast<int>(i / row.size()), row.data());
            ASSERT_EQ(row[i % row.size()], static_cast<float>(i)) << threads;
        }
        EXPECT_NE(refusal(two_wrong).find("element " + std::to_string(part + 3) + " is nan"), std::string::npos);
        EXPECT_NE(refusal(all_wrong).find("all_wrong: tokenizer: "), std::string::npos) << refusal(all_wrong);
    }
    set_threads(before);
}

} // namespace
} // namespace ordo
