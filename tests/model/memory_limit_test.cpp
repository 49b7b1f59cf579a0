// SPDX-License-Identifier: MIT
// A model whose weights exceed the limit is refused before they are read. The error says which type would fit.
#include "core/number.h"
#include "formats/llama2c.h"
#include "io/control_group.h"
#include "model/memory_limit.h"
#include "model/sequence.h"
#include "tests/model/small_models.h"
#include "tests/temp_dir.h"
#include "tests/tools/child.h"
#include "training.h"

#include <cstring>
#include <gtest/gtest.h>

namespace ordo {
namespace {

std::string refusal(const std::filesystem::path& file, const LoadOptions& options) {
    try {
        Model::load(file, options);
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::limit) << error.what();
        return error.what();
    }
    return "accepted";
}

TEST(MemoryLimit, NamesTheWidestTypeThatFits) {
    const test::TempDir dir;
    Blueprint b = small_blueprint();
    b.d_model = 64; // each row is a multiple of a block
    b.d_head = 16;
    b.d_ff = 128;
    const Model model = random_model(b, "rope", 12);
    Trainer(model, {}).save(dir / "m", "f32");
    LoadOptions options;
    std::size_t before = 0;
    for (const WeightType type : {WeightType::f16, WeightType::q8_0, WeightType::q4_0}) {
        const std::string name(name_of(type));
        SCOPED_TRACE(name);
        const std::uint64_t bytes = packed_bytes(tensor_specs(model), type);
        options.dtype.clear();
        options.max_memory = bytes;
        const std::string text = refusal(dir / "m", options);
        EXPECT_TRUE(text.starts_with((dir / "m").string() + ": the weights take ")) << text;
        EXPECT_TRUE(text.ends_with(", more than the " + bytes_text(bytes) + " that may be used; dtype " + name +
                                   " takes " + bytes_text(bytes)))
            << text;
        options.dtype = name;
        EXPECT_NO_THROW(Model::load(dir / "m", options));
        --options.max_memory;
        EXPECT_NE(refusal(dir / "m", options), "accepted");
        before = bytes;
    }
    options.max_memory = before - 1; // of q4_0
    EXPECT_TRUE(refusal(dir / "m", options)
                    .ends_with("; a smaller model is needed: even a file in q4_0 takes " + bytes_text(before)));
}

// A file with more bytes than any machine's memory, which takes no blocks on the disk. The layout of llama2.c is a
// header and floats.
TEST(MemoryLimit, OfThisMachineIsKnownToTheProgram) {
    const test::TempDir dir;
    const std::int32_t header[] = {65536, 1, 1, 1024, 1, 1 << 22, 1};
    std::string start(sizeof header, '\0');
    std::memcpy(start.data(), header, sizeof header);
    test::put_file(dir / "m.bin", start);
    test::put_file(dir / "tokenizer.bin", "");
    const std::uint64_t size = llama2c_header(std::as_bytes(std::span(start)), "m").bytes;
    std::error_code error;
    std::filesystem::resize_file(dir / "m.bin", size, error);
    if (error) GTEST_SKIP() << "no file of " << size << " bytes here: " << error.message();
    if (usable_memory() > size / 8) GTEST_SKIP() << "a machine of " << usable_memory() << " bytes";
    const std::string most = bytes_text(default_memory_limit());
    for (const char* verb : {"generate", "logits", "perplexity"}) {
        std::vector<std::string> words{verb, "-m", (dir / "m.bin").string()};
        if (verb != std::string("perplexity")) words.insert(words.end(), {"-p", "abc"});
        const test::Outcome outcome = test::run_program(words);
        test::expect_error(outcome, 4, "m.bin: the weights take ");
        EXPECT_NE(outcome.err.find("more than the " + most + " that may be used of the " + bytes_text(usable_memory()) +
                                   " there are; a smaller model is needed: even a file in q4_0 takes "),
                  std::string::npos)
            << outcome.err;
        if (!test::is_sanitized()) { // a sanitizer's own memory would count
            EXPECT_LT(outcome.peak_kilobytes, 100'000);
        }
    }
}

// A container of 300 MiB, one level above the process, as in tests/io/control_group_test.cpp.
TEST(MemoryLimit, AGroupHoldsWeightsAndSessionTogether) {
    const test::TempDir dir;
    const std::filesystem::path proc = dir / "proc/self", group = dir / "sys/fs/cgroup/box/run";
    std::filesystem::create_directories(proc);
    std::filesystem::create_directories(group);
    test::put_file(proc / "cgroup", "0::/box/run\n");
    test::put_file(proc / "mountinfo", "30 22 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
    test::put_file(group.parent_path() / "memory.max", "314572800\n");
    const std::uint64_t limit = usable_memory(dir.path()) / 5 * 4;
    EXPECT_EQ(limit, 251'658'240u); // four fifths
    EXPECT_NO_THROW(expect_memory("session: 64 tokens", 51'658'240, 200'000'000, limit));
    const auto message = [&](std::uint64_t bytes, std::uint64_t weights) {
        try {
            expect_memory("session: 64 tokens", bytes, weights, limit);
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::limit); // exit 4
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_EQ(message(51'658'241, 200'000'000), "session: 64 tokens take 49.3 MiB and the weights 190.7 MiB, "
                                                "together more than the 240.0 MiB that may be used");
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max(); // whose sum would wrap around
    EXPECT_NE(message(most, 200'000'000), "accepted");
    EXPECT_NE(message(1, most), "accepted");
}

// Each of the two would fit alone.
TEST(MemoryLimit, SessionsAndBatchesCountTheWeights) {
    Blueprint b = small_blueprint();
    const Model plain = random_model(b, "rope", 12);
    const std::uint64_t weights = weight_bytes(impl_of(plain));
    EXPECT_GE(weights, 4 * (101 * 40 + 2 * (4 * 40 * 40 + 3 * 40 * 52)) + 0u); // embedding and two layers, as floats
    b.context = most_session_tokens;
    b.n_heads = b.n_kv_heads = 1;
    b.n_layers = 16;
    b.d_head = 1024; // 512 GiB of keys and values
    add_encoder(b);
    const Model model = random_model(b, "none", 12);
    const std::string tail = " and the weights " + bytes_text(weight_bytes(impl_of(model))) +
                             ", together more than the " + bytes_text(default_memory_limit()) + " that may be used";
    const auto expect_message = [&](const std::string& begin, const auto& make) {
        try {
            make();
            ADD_FAILURE() << "accepted: " << begin;
        } catch (const Error& error) {
            const std::string text = error.what();
            EXPECT_TRUE(text.starts_with(begin) && text.ends_with(tail)) << text;
        }
    };
    if (usable_memory() > std::uint64_t{1} << 39) GTEST_SKIP() << "a machine of " << usable_memory() << " bytes";
    expect_message("session: encoder: 4194304 tokens take ", [&] { Session(model, {.capacity = 1 << 22}); });
    expect_message("batch: 1000000000 sessions take ", [&] { Batch(model, 1'000'000'000, 1 << 22); });
}

} // namespace
} // namespace ordo
