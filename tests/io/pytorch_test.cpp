// SPDX-License-Identifier: MIT
// PyTorch's files. Files written by Python's own zipfile and pickle can be read (tests/families has such files and the
// results of their weights). Everything else is refused by name.
#include "io/pickle.h"
#include "io/pytorch.h"
#include "model/model_file.h"
#include "tests/io/zip_bytes.h"
#include "tests/temp_dir.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

namespace ordo {
namespace {

using namespace std::string_literals;
using test::little;
using test::zip_of;
using test::ZipFields;

// ---- Opcodes (Python's pickletools)

std::string text(const std::string& s) {
    return "X" + little(s.size(), 4) + s;
}
std::string integer(std::uint32_t n) {
    return "J" + little(n, 4);
}
std::string name(const std::string& module, const std::string& which) {
    return "c" + module + "\n" + which + "\n";
}
std::string tuple(const std::string& items) {
    return "(" + items + "t";
}
std::string storage(const std::string& type, std::uint32_t elements, const std::string& key = "0") {
    return tuple(text("storage") + name("torch", type) + text(key) + text("cpu") + integer(elements)) + "Q";
}
std::string tensor(const std::string& of, std::uint32_t offset, const std::string& shape, const std::string& strides) {
    return name("torch._utils", "_rebuild_tensor_v2") +
           tuple(of + integer(offset) + tuple(shape) + tuple(strides) + "\x89" + name("collections", "OrderedDict") +
                 ")R") +
           "R";
}
std::string pickle(const std::string& items) {
    return "\x80\x02}(" + items + "u.";
}

std::string archive(const std::string& pickled, const ZipFields& fields = {}, const std::string& order = "little") {
    return zip_of({{"m/data.pkl", pickled}, {"m/byteorder", order}, {"m/data/0", std::string(24, '\x01')}}, fields);
}

const std::string good =
    pickle(text("a") + tensor(storage("FloatStorage", 6), 0, integer(2) + integer(3), integer(3) + integer(1)));

PytorchFile parse_zip(const std::string& bytes) {
    return PytorchFile::parse(std::as_bytes(std::span(bytes)), "file");
}

void expect_refused(const std::string& bytes, const std::string& phrase) {
    try {
        parse_zip(bytes);
        ADD_FAILURE() << "is read; expected '" << phrase << "'";
    } catch (const Error& error) {
        const std::string what = error.what();
        EXPECT_EQ(error.code, ErrorCode::model) << what;
        EXPECT_NE(what.find(phrase), std::string::npos) << what;
        EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    }
}
void expect_pickle_refused(const std::string& pickled, const std::string& phrase) {
    expect_refused(archive(pickled), phrase);
}

// ---- Files

TEST(Pytorch, ReadsWhatPythonWrote) {
    const PytorchFile file = PytorchFile::open("tests/families/gpt-neo-bin/pytorch_model.bin");
    std::map<std::string, PytorchTensor> by_name;
    for (const PytorchTensor& each : file.tensors()) by_name[each.name] = each;
    EXPECT_EQ(by_name.size(), file.tensors().size());
    const PytorchTensor &embedding = by_name.at("transformer.wte.weight"), &head = by_name.at("lm_head.weight");
    EXPECT_EQ(embedding.dtype, "F32");
    EXPECT_EQ(embedding.shape, (std::vector<std::int64_t>{64, 16}));
    EXPECT_EQ(embedding.offset, head.offset) << "one storage";
    EXPECT_EQ(embedding.offset % 64, 0u);
    EXPECT_EQ(by_name.at("transformer.ln_f.bias").offset - by_name.at("transformer.ln_f.weight").offset, 64u);
    EXPECT_EQ(by_name.at("transformer.wpe.weight").strides, (std::vector<std::int64_t>{1, 40}));
}

TEST(Pytorch, GathersElementsWithStrides) {
    const std::string twelve = zip_of(
        {{"m/data.pkl",
          pickle(text("a") + tensor(storage("ByteStorage", 12), 1, integer(3) + integer(2), integer(2) + integer(6)))},
         {"m/data/0", "abcdefghijkl"}});
    const PytorchFile file = parse_zip(twelve);
    const std::vector<std::byte> bytes = file.gathered(file.tensors()[0]);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "bhdjfl");
}

// Files that PyTorch wrote (tests/io/pytorch/make.py): in the format before 1.6, and with levels around the tensors.
TEST(Pytorch, ReadsTheFormatBefore16AndLevels) {
    for (const char* name : {"old.bin", "proto4.bin", "old-level.bin", "levels.bin"}) {
        SCOPED_TRACE(name);
        const PytorchFile file = PytorchFile::open(std::string("tests/io/pytorch/") + name);
        std::map<std::string, PytorchTensor> by_name;
        for (const PytorchTensor& each : file.tensors()) by_name[each.name] = each;
        ASSERT_EQ(by_name.size(), 7U);
        const auto values = [&]<class T>(const char* tensor, T) {
            const PytorchTensor& found = by_name.at(tensor);
            std::vector<T> all(found.elements);
            if (found.strides.empty())
                file.read_at(found.offset, std::as_writable_bytes(std::span(all)));
            else
                std::memcpy(all.data(), file.gathered(found).data(), found.bytes);
            return all;
        };
        std::vector<float> counting;
        for (int i = 0; i < 12; ++i) counting.push_back(static_cast<float>(i) / 8);
        EXPECT_EQ(values("a", 0.f), counting);
        EXPECT_EQ(values("row", 0.f), std::vector<float>(counting.begin() + 4, counting.end()));
        EXPECT_EQ(values("t", 0.f)[1], 0.5f); // transposed: a[1][0]
        EXPECT_EQ(values("d", 0.0), (std::vector<double>{0.1, 1.0 / 3}));
        EXPECT_EQ(values("n", std::int64_t{}), std::vector<std::int64_t>{7});
        EXPECT_EQ(values("p", 0.f), (std::vector<float>{1, 1}));
        EXPECT_EQ(by_name.at("half").dtype, "F16");
    }
}

TEST(Pytorch, RefusesOldFilesThatAreCutShortOrSpoiled) {
    std::ifstream stream("tests/io/pytorch/old.bin", std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(stream)), {});
    ASSERT_EQ(parse_zip(whole).tensors().size(), 7u);
    for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_THROW(parse_zip(whole.substr(0, n)), Error) << n;
    for (std::size_t byte = 0; byte < whole.size(); ++byte) { // any outcome but a crash
        std::string spoiled = whole;
        spoiled[byte] = static_cast<char>(spoiled[byte] ^ 0x55);
        try {
            parse_zip(spoiled);
        } catch (const Error&) {
        }
    }
    // After the magic number and the version, 21 bytes: the machine, and no state dictionary.
    expect_refused(whole.substr(0, 21) + "\x80\x02}." + pickle(text("a") + "N"), "'a': expected a tensor");
}

TEST(Pytorch, ReadsZip64) {
    const std::string bytes = archive(good, {.zip64 = true});
    const PytorchFile file = parse_zip(bytes);
    ASSERT_EQ(file.tensors().size(), 1u);
    EXPECT_EQ(bytes.substr(file.tensors()[0].offset, 24), std::string(24, '\x01'));
    EXPECT_TRUE(file.tensors()[0].strides.empty());
}

TEST(Pytorch, RefusesOtherFilesByName) {
    expect_refused("\x80\x02K\x01.", "expected a zip archive of PyTorch's, found a Python pickle");
    expect_refused("GGUF\3\0\0\0"s, "found a GGUF file");
    expect_refused("", "found an empty file");
    expect_refused("PK\3\4"s + std::string(60, '\0'), "its directory at the end of the file");
    expect_refused(zip_of({{"word/document.xml", "<a/>"}}), "with one data.pkl, found 0");
    expect_refused(archive(good, {}, "big"), "byteorder: expected little, found big");
}

TEST(Pytorch, RefusesArchivesThatAreNotStored) {
    expect_refused(archive(good, {.method = 8}), "found compressed data (method 8)");
    expect_refused(archive(good, {.flags = 1}), "found encrypted data");
    expect_refused(archive(good, {.disk = 1}), "split");
    expect_refused(archive(good, {.shift = 7}), "expected its header at 7");
    expect_refused(archive(good, {.claim = 1000}), "in front of the directory");
    expect_refused(archive(good, {.more = 1}), "entry 3 is cut short");
    expect_refused(archive(good, {.more = 60'000}), "entries, found 60003");
    expect_refused(archive(good, {.other_name = "m/data.pkx"}), "expected a header of its name");
    expect_refused(zip_of({{"m/data.pkl", good}, {"m/data.pkl", good}}), "expected once, found twice");
    const std::string inner = zip_of({{"m/data/1", std::string(40, 'a')}}); // an entry whose data are another entry
    const std::string outer = zip_of({{"m/data.pkl", good}, {"m/data/0", inner}, {"m/data/1", std::string(40, 'b')}});
    const std::size_t at = outer.find(inner), entry = outer.rfind("PK\x01\x02");
    expect_refused(outer.substr(0, entry + 42) + little(at, 4) + outer.substr(entry + 46),
                   "zip entry 'm/data/0': expected its data before entry 'm/data/1'");
    expect_refused(archive(good, {.zip64 = true, .claim = ~std::uint64_t{0} - 100}), "zip entry");
}

// ---- Pickles

TEST(Pytorch, ExecutesNothing) {
    for (const auto& [module, which] :
         std::vector<std::pair<std::string, std::string>>{{"os", "system"},
                                                          {"posix", "system"},
                                                          {"builtins", "eval"},
                                                          {"torch", "load"},
                                                          {"torch._utils", "OrderedDict"}}) {
        const std::string found = "found the name '" + module + "." + which + "', which is never loaded";
        expect_pickle_refused("\x80\x02" + name(module, which) + tuple(text("echo")) + "R.", found);
        expect_pickle_refused("\x80\x04" + text(module) + text(which) + "\x93.", found);
    }
    expect_pickle_refused(pickle(text("a") + name("torch", "FloatStorage") + tuple(integer(4)) + "R"),
                          "a call of 'FloatStorage'");
}

TEST(Pytorch, RefusesEveryOtherOpcode) {
    const std::string known = "(NJKMGXTU.)]}taesuqrhjcQRb\x80\x85\x86\x87\x88\x89\x8a\x8c\x93\x94\x95";
    for (int opcode = 0; opcode < 256; ++opcode) {
        const std::string one(1, static_cast<char>(opcode));
        if (known.find(one) == known.npos)
            expect_pickle_refused("\x80\x02" + one + std::string(40, 'a'), "found the opcode 0x");
    }
}

TEST(Pytorch, RefusesWhatIsNoStateDictionary) {
    expect_pickle_refused(pickle(text("a") + "N"), "'a': expected a tensor, found None");
    expect_pickle_refused(pickle(text("model") + "}"), "'model': expected a tensor, found a dictionary");
    expect_pickle_refused("\x80\x02" + text("a") + ".", "expected a dictionary, found a text 'a'");
    expect_pickle_refused("\x80\x02.", "expected one value at its end, found 0");
    expect_pickle_refused("\x80\x02}", "expected 1 bytes at 3, found 0");
    expect_pickle_refused(pickle(integer(1) + "N"), "expected a text, found a whole number");
    expect_pickle_refused("\x80\x02h\x05.", "remembered as 5");
    expect_pickle_refused("\x80\x02}r\xff\xff\xff\xff.", "values of at most");
    expect_pickle_refused("\x80\x09.", "protocol");
    expect_pickle_refused("\x80\x02" + std::string(2'000'000, '('), "values of at most");
    expect_pickle_refused("\x80\x02" + std::string(300'000, ']') + std::string(299'999, 'a') + ".",
                          "expected a dictionary, found a list");
}

// Few bytes must not describe much memory.
TEST(Pytorch, CountsTheBytesOfAPicklesValues) {
    std::string sizes;
    for (int i = 0; i < 64; ++i) sizes += integer(1);
    const std::string rebuild = name("torch._utils", "_rebuild_tensor_v2");
    // Each tensor repeats 64 sizes and strides by reference.
    std::string many =
        text("a") + rebuild + "(" + storage("FloatStorage", 6) + "q\x01K" + '\0' + tuple(sizes) + "q\x02h\x02\x89)tR";
    for (int i = 0; i < 30'000; ++i) many += text(std::to_string(i)) + rebuild + "(h\x01K" + '\0' + "h\x02h\x02\x89)tR";
    expect_pickle_refused(pickle(many), "values of at most");
}

TEST(Pytorch, RefusesTensorsThatLeaveTheirStorage) {
    const std::string six = storage("FloatStorage", 6);
    const auto refused = [&](const std::string& made, const std::string& phrase) {
        expect_pickle_refused(pickle(text("a") + made), "tensor 'a': " + phrase);
    };
    refused(tensor(six, 0, integer(7), integer(1)), "expected no more elements than its storage has");
    refused(tensor(six, 0, integer(6) + integer(6), integer(0) + integer(0)), "expected no more elements");
    refused(tensor(six, 1, integer(6), integer(1)), "expected elements within its storage");
    refused(tensor(six, 0, integer(2) + integer(2), integer(5) + integer(1)), "expected elements within its storage");
    refused(tensor(six, 0, integer(6), integer(static_cast<std::uint32_t>(-1))),
            "expected whole numbers from 0 on, found -1");
    refused(tensor(six, 0, integer(6), ""), "expected 1 strides, found 0");
    refused(tensor(storage("FloatStorage", 5), 0, integer(5), integer(1)), "expected a storage of 5 elements of F32");
    refused(tensor(storage("FloatStorage", 6, "../0"), 0, integer(6), integer(1)), "expected its storage, data/../0");
}

// Tensors may share a storage, as tied weights do, but a small file must not describe a large model.
TEST(Pytorch, CountsSharedElements) {
    constexpr std::uint32_t width = 256, inner = 512, vocabulary = 16;
    const test::TempDir folder;
    test::put_file(folder / "config.json", R"({"model_type": "llama", "hidden_size": 256, "intermediate_size": 512,
        "num_attention_heads": 4, "num_hidden_layers": 1, "vocab_size": 16, "max_position_embeddings": 32})");
    // Each tensor has a storage of its own, or all share the first.
    const auto error_of = [&](bool shared, bool transposed) -> std::string {
        std::string items;
        std::vector<std::pair<std::string, std::string>> entries = {{"m/data.pkl", ""}};
        const auto add = [&](const std::string& tensor_name, std::uint32_t rows, std::uint32_t cols) {
            const std::string key = std::to_string(shared ? 0 : entries.size());
            const std::uint32_t elements = shared ? width * inner : rows * cols;
            if (entries.size() == 1 || !shared)
                entries.emplace_back("m/data/" + key, std::string(std::size_t{4} * elements, '\0'));
            const std::string sizes = cols == 1 ? integer(rows) : integer(rows) + integer(cols);
            items += text(tensor_name) + tensor(storage("FloatStorage", elements, key), 0, sizes,
                                                cols == 1    ? integer(1)
                                                : transposed ? integer(1) + integer(rows)
                                                             : integer(cols) + integer(1));
        };
        add("model.embed_tokens.weight", vocabulary, width);
        add("lm_head.weight", vocabulary, width);
        add("model.norm.weight", width, 1);
        for (const char* const norm : {"input_layernorm", "post_attention_layernorm"})
            add("model.layers.0."s + norm + ".weight", width, 1);
        for (const char* const which : {"q", "k", "v", "o"})
            add("model.layers.0.self_attn."s + which + "_proj.weight", width, width);
        add("model.layers.0.mlp.gate_proj.weight", inner, width);
        add("model.layers.0.mlp.up_proj.weight", inner, width);
        add("model.layers.0.mlp.down_proj.weight", width, inner);
        entries.front().second = pickle(items);
        test::put_file(folder / "pytorch_model.bin", zip_of(entries));
        try {
            Model::load(folder.path());
            return "none";
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::model);
            return error.what();
        }
    };
    for (const bool transposed : {false, true}) {
        EXPECT_EQ(error_of(false, transposed), "none");
        EXPECT_NE(error_of(true, transposed).find("tensors that share elements: expected at most"), std::string::npos);
    }
}

TEST(Pytorch, RefusesEveryFileThatIsCutShort) {
    const std::string whole = archive(good);
    ASSERT_EQ(parse_zip(whole).tensors().size(), 1u);
    for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_THROW(parse_zip(whole.substr(0, n)), Error) << n;
    for (std::size_t n = 0; n < good.size(); ++n) EXPECT_THROW(parse_zip(archive(good.substr(0, n))), Error) << n;
}

} // namespace
} // namespace ordo
