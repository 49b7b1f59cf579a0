// SPDX-License-Identifier: MIT
// Compares every file of generate.cpp with its entry in manifest.csv. ORDO_MALFORMED=DIR keeps the files.
#include "core/random.h"
#include "io/safetensors.h"
#include "model/model_access.h"
#include "tests/malformed/files.h"
#include "tests/sanitizer.h"
#include "tests/temp_dir.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <map>
#include <set>
#include <sstream>

namespace {

using namespace ordo;
using namespace ordo::test;

struct Expectation {
    std::string stage;
    int exit;
    std::string phrase;
};

std::map<std::string, Expectation> read_manifest() {
    std::map<std::string, Expectation> result;
    std::istringstream in(file_content("tests/malformed/manifest.csv"));
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with('#') || line.starts_with("file,")) continue;
        std::istringstream fields(line);
        std::string name, stage, exit, phrase;
        std::getline(fields, name, ',');
        std::getline(fields, stage, ',');
        std::getline(fields, exit, ',');
        std::getline(fields, phrase);
        EXPECT_TRUE(result.emplace(name, Expectation{stage, std::stoi(exit), phrase}).second) << name << " twice";
    }
    return result;
}

// ---- Memory ---------------------------------------------------------------------------------

// Kilobytes of a line of /proc/self/status, such as "VmHWM:", the peak of resident memory.
[[maybe_unused]] long resident(const std::string& name) {
    std::istringstream in(file_content("/proc/self/status"));
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(name)) return std::stol(line.substr(name.size()));
    return 0;
}

bool reset_peak() {
    std::ofstream out("/proc/self/clear_refs");
    out << 5;
    return static_cast<bool>(out.flush());
}

// Runs the body and returns the process's growth in bytes, or -1 if it cannot be measured.
template <class Body>
long growth(const Body& body) {
    if (is_sanitized()) {
        body();
        return -1; // sanitizers keep freed memory
    }
    mallopt(M_MMAP_THRESHOLD, 1 << 17); // else it rises with use, and large memory that is freed stays resident
    malloc_trim(0);                     // freed memory of earlier work must not hide new allocations
    const bool measured = reset_peak();
    const long before = resident("VmRSS:");
    body();
    return measured ? (resident("VmHWM:") - before) * 1024 : -1;
}

// ---- Files ----------------------------------------------------------------------------------

struct Outcome {
    std::string stage = "none";
    int exit = 0;
    std::string message;
};

// Loads the file and feeds two tokens, as far as possible.
Outcome outcome_of(const std::filesystem::path& path) {
    Outcome outcome;
    try {
        outcome.stage = "read";
        Safetensors::open(path);
        outcome.stage = "load";
        const Model model = Model::load(path);
        outcome.stage = "text";
        model.encode("a");
        outcome.stage = "feed";
        Session session(model);
        const Token tokens[] = {0, model.vocab_size() - 1};
        session.feed(tokens);
        outcome.stage = "none";
    } catch (const Error& error) {
        outcome.exit = static_cast<int>(error.code);
        outcome.message = error.what();
    }
    return outcome;
}

void expect_one_printable_line(const std::string& message) {
    for (const char c : message) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << message;
    EXPECT_LT(message.size(), 1000u);
}

TEST(MalformedFiles, AreRefusedAsTheManifestSays) {
    const auto manifest = read_manifest();
    const char* const keep = std::getenv("ORDO_MALFORMED");
    const TempDir dir;
    std::set<std::string> seen;
    long most_growth = -1;
    for (const MalformedFile& file : malformed_files()) {
        SCOPED_TRACE(file.name);
        ASSERT_TRUE(seen.insert(file.name).second);
        ASSERT_TRUE(manifest.contains(file.name));
        const Expectation& expected = manifest.at(file.name);
        const std::filesystem::path path = keep ? std::filesystem::path(keep) / file.name : dir / file.name;
        put_file(path, file.content());
        const auto size = static_cast<long>(std::filesystem::file_size(path));

        Outcome outcome;
        const long grown = growth([&] { outcome = outcome_of(path); });
        EXPECT_EQ(outcome.stage, expected.stage) << outcome.message;
        EXPECT_EQ(outcome.exit, expected.exit) << outcome.message;
        EXPECT_NE(outcome.message.find(expected.phrase), std::string::npos) << outcome.message;
        if (outcome.exit != 0) {
            EXPECT_TRUE(outcome.message.starts_with(path.string() + ": ")) << outcome.message;
        }
        expect_one_printable_line(outcome.message);
        EXPECT_LE(grown, (64l << 20) + 4 * size);
        most_growth = std::max(most_growth, grown);
        if (!keep) std::filesystem::remove(path);
    }
    EXPECT_EQ(seen.size(), manifest.size()) << "the manifest names files that are not written";
    RecordProperty("most_growth", std::to_string(most_growth));
}

// ---- Truncated and changed anywhere ---------------------------------------------------------

// Well formed, with a tensor of each kind that the reader knows.
std::string small_valid_file() {
    const std::string header =
        R"({"__metadata__":{"k":"v\n\u00e9"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
        R"("b":{"dtype":"BF16","shape":[],"data_offsets":[8,10]},"c":{"dtype":"F16","shape":[1],)"
        R"("data_offsets":[10,12]},"d":{"dtype":"I8","shape":[0],"data_offsets":[12,12]}})";
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size() & 0xff);
    length[1] = static_cast<char>(header.size() >> 8);
    return length + header + "0123456789ab";
}

// True if the bytes are a valid file. Every value of it must then be readable.
bool survives(const std::string& bytes) {
    // A copy of exactly this size, so that the address sanitizer finds a read beyond it.
    const std::vector<std::byte> exact(reinterpret_cast<const std::byte*>(bytes.data()),
                                       reinterpret_cast<const std::byte*>(bytes.data()) + bytes.size());
    try {
        const Safetensors file = Safetensors::parse(exact, "mem");
        std::uint64_t total = 0;
        for (const TensorInfo& tensor : file.tensors()) {
            std::vector<std::byte> raw(tensor.bytes);
            file.read_raw(tensor, raw);
            total += tensor.bytes;
            std::vector<float> values(tensor.bytes <= bytes.size() ? tensor.elements : 0);
            if (tensor.dtype == "F32" || tensor.dtype == "F16" || tensor.dtype == "BF16") file.read(tensor, values);
        }
        EXPECT_LT(total, bytes.size());
        return true;
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::model) << error.what();
        expect_one_printable_line(error.what());
        return false;
    }
}

TEST(MalformedFiles, EveryPrefixOfAValidFileIsRefused) {
    const std::string valid = small_valid_file();
    ASSERT_TRUE(survives(valid));
    for (std::size_t n = 0; n < valid.size(); ++n) EXPECT_FALSE(survives(valid.substr(0, n))) << n;
    EXPECT_FALSE(survives(valid + '\0'));
}

TEST(MalformedFiles, AnyChangedByteIsRefusedOrRead) {
    const std::string valid = small_valid_file();
    const std::string replacements("\0\t\n \"\\-0129:,[]{}/ae\x7f\x80\xc3\xff", 24);
    int read = 0, refused = 0;
    for (std::size_t at = 0; at < valid.size(); ++at) {
        const auto change = [&](char byte) {
            std::string changed = valid;
            changed[at] = byte;
            (survives(changed) ? read : refused)++;
        };
        for (const char byte : replacements) change(byte);
        for (int bit = 0; bit < 8; ++bit) change(static_cast<char>(valid[at] ^ (1 << bit)));
    }
    EXPECT_GT(read, 33 * 12);     // the data and the names
    EXPECT_GT(refused, 33 * 100); // the rest
}

TEST(MalformedFiles, ShuffledPiecesAreRefusedOrRead) {
    const std::string valid = small_valid_file();
    const Random random(5, 0);
    std::uint64_t draw = 0;
    for (int round = 0; round < 8'000; ++round) {
        std::string changed = valid;
        for (std::uint64_t edits = 1 + random.below(draw++, 4); edits > 0; --edits) {
            const auto from = random.below(draw++, changed.size()), n = random.below(draw++, 12);
            const auto to = random.below(draw++, changed.size());
            if (random.below(draw++, 2) != 0)
                changed.insert(to, changed.substr(from, n));
            else
                changed.erase(to, n);
            if (changed.size() < 16) changed = valid;
        }
        // Half of them get a matching length. Otherwise most would fail on the length alone.
        const std::size_t header = changed.size() - 8 - std::min<std::size_t>(changed.size() - 8, 12);
        if (round % 2 == 0) changed.replace(0, 2, {static_cast<char>(header & 0xff), static_cast<char>(header >> 8)});
        survives(changed);
    }
}

} // namespace
