// SPDX-License-Identifier: MIT
// Files that are well formed but are not a model, or a model with odd weights. Each is a small valid model with one
// change.
#include "tests/malformed/generate_model.h"

#include "tests/malformed/model_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ordo::test {
namespace {

using namespace std::string_literals;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

using Files = std::vector<MalformedFile>;

template <class Change>
void add(Files& files, const std::string& name, const Change& change) {
    files.push_back({name + ".safetensors", [change] {
                         Parts parts = valid_model();
                         change(parts);
                         return parts.file();
                     }});
}

const std::string embedding = "embedding.weight", last_norm = "final_norm.weight",
                  some_norm = "layers.1.attention_norm.weight", some_matrix = "layers.1.attention.qkv.weight",
                  down = "layers.0.feed_forward.out.weight";

void add_tensors(Files& files) {
    const auto stored_as = [](const std::string& dtype, std::size_t bits) {
        return [=](Parts& p) {
            StoredPart& t = p.tensor(embedding);
            t.dtype = dtype;
            t.data.assign(elements_of(t.shape) * bits / 8, '\0');
        };
    };
    for (const auto& [dtype, bits] :
         {std::pair("F8_E4M3", 8), std::pair("F4", 4), std::pair("I64", 64), std::pair("F64", 64)})
        add(files, "s15-needed-is-"s + dtype, stored_as(dtype, static_cast<std::size_t>(bits)));
    add(files, "s15-extra-is-F8", [](Parts& p) { p.tensors.push_back({"extra", "F8_E5M2", {3}, "abc"}); });
    add(files, "s26-needed-is-empty", [](Parts& p) { p.tensor(embedding) = {embedding, "F32", {0, 8}, ""}; });
    add(files, "s26-extra-is-empty", [](Parts& p) { p.tensors.push_back({"extra", "F32", {4, 0, 4}, ""}); });
    add(files, "s27-needed-is-rank-0", [](Parts& p) { p.tensor(embedding) = {embedding, "F32", {}, "\0\0\0\0"s}; });
    add(files, "s27-needed-is-rank-1", [](Parts& p) { p.tensor(embedding).shape = {257 * 8}; });
    add(files, "s27-needed-is-rank-3", [](Parts& p) { p.tensor(embedding).shape = {1, 257, 8}; });
    add(files, "s28-no-embedding", [](Parts& p) { p.remove(embedding); });
    add(files, "s28-no-last-norm", [](Parts& p) { p.remove(last_norm); });
    add(files, "s28-no-tensors", [](Parts& p) { p.tensors.clear(); });
    add(files, "s28-other-name", [](Parts& p) { p.tensor(some_matrix).name += "s"; });
    add(files, "s29-extra", [](Parts& p) { p.tensors.push_back({"extra \xc3\xa9", "F32", {1}, "abcd"}); });
    add(files, "s30-embedding-transposed", [](Parts& p) { p.tensor(embedding).shape = {8, 257}; });
    add(files, "s30-qkv-transposed", [](Parts& p) { p.tensor(some_matrix).shape = {8, 16}; });
    add(files, "s30-one-row-less", [](Parts& p) {
        p.tensor(embedding).shape = {256, 8};
        p.tensor(embedding).data.resize(256 * 8 * 4);
    });
    for (const std::size_t remainder : {1, 4})
        add(files, "s32-header-of-8n+" + std::to_string(remainder), [=](Parts& p) { p.header_remainder = remainder; });
}

void add_weights(Files& files) {
    add(files, "w1-all-nan", [](Parts& p) { p.set_all("F32", not_a_number); });
    add(files, "w1-one-nan", [](Parts& p) { p.set_element(some_matrix, 127, not_a_number); });
    add(files, "w1-first-is-minus-infinity", [](Parts& p) { p.set_element(embedding, 0, -infinity); });
    add(files, "w1-infinite-norm", [](Parts& p) { p.set_element(some_norm, 7, infinity); });
    add(files, "w1-f16-infinity", [](Parts& p) { p.set_values(some_norm, "F16", infinity); });
    add(files, "w1-bf16-nan", [](Parts& p) { p.set_values(last_norm, "BF16", not_a_number); });
    add(files, "w2-all-zero", [](Parts& p) { p.set_all("F32", 0.0f); });
    add(files, "w3-f16-subnormals", [](Parts& p) { p.set_all("F16", 0x1p-24f); });
    add(files, "w3-f32-subnormals", [](Parts& p) { p.set_all("F32", 0x1p-149f); });
    add(files, "w3-minus-zero", [](Parts& p) { p.set_all("BF16", -0.0f); });
    add(files, "w4-all-1e38", [](Parts& p) { p.set_all("F32", 1e38f); });
    add(files, "w4-embedding-1e38", [](Parts& p) { p.set_values(embedding, "F32", 1e38f); });
    add(files, "w4-qkv-1e38", [](Parts& p) { p.set_values(some_matrix, "F32", 1e38f); });
    add(files, "w4-down-1e38", [](Parts& p) { p.set_values(down, "F32", 1e38f); });
    add(files, "w4-last-norm-1e38", [](Parts& p) {
        p.set_values(last_norm, "F32", 1e38f);
        p.set_values(embedding, "F32", 100.0f);
    });
}

// Blocks of 32 weights as bytes (Q): a scale in f16, then 32 bytes for q8_0 or 16 for q4_0.
void add_blocks(Files& files) {
    const auto add_wide = [&](const std::string& name, const auto& change) {
        files.push_back({name + ".safetensors", [change] {
                             Parts parts = valid_model(true, 32);
                             change(parts);
                             return parts.file();
                         }});
    };
    // Rows of one block with the given bytes, except the scale.
    const auto blocks = [](Parts& p, const std::string& name, std::size_t row, float scale) {
        StoredPart& t = p.tensor(name);
        const std::string block = encoded("F16", {&scale, 1}) + std::string(row - 2, '\x11');
        t.data.clear();
        for (std::int64_t i = 0; i < t.shape[0]; ++i) t.data += block;
        t.dtype = "U8";
        t.shape[1] = static_cast<std::int64_t>(row);
    };
    add_wide("q0-valid-q8_0", [=](Parts& p) { blocks(p, some_matrix, 34, 0.01f); });
    add_wide("q0-valid-q4_0", [=](Parts& p) { blocks(p, some_matrix, 18, 0.01f); });
    add_wide("q0-zero-scale", [=](Parts& p) { blocks(p, some_matrix, 18, 0); });
    for (const std::size_t row : {17, 19, 33, 35, 36})
        add_wide("q1-rows-of-" + std::to_string(row), [=](Parts& p) { blocks(p, embedding, row, 0.01f); });
    add_wide("q1-a-byte-for-each-weight", [=](Parts& p) { blocks(p, embedding, 32, 0.01f); });
    add_wide("q1-one-byte-less", [=](Parts& p) {
        blocks(p, embedding, 34, 0.01f);
        p.tensor(embedding).data.pop_back();
    });
    add_wide("q1-one-row-more", [=](Parts& p) {
        blocks(p, embedding, 34, 0.01f);
        p.tensor(embedding).data += std::string(34, '\0');
        p.tensor(embedding).shape[0] += 1;
    });
    add_wide("q2-matrix-of-rank-1", [=](Parts& p) {
        blocks(p, embedding, 34, 0.01f);
        p.tensor(embedding).shape = {257 * 34};
    });
    add_wide("q2-norm-of-rank-1", [](Parts& p) {
        p.tensor(last_norm) = {last_norm, "U8", {34}, std::string(34, '\0')};
    });
    add_wide("q2-norm-of-as-many-bytes", [](Parts& p) {
        p.tensor(last_norm) = {last_norm, "U8", {32}, std::string(32, '\0')};
    });
    add_wide("q2-rows-that-32-does-not-divide", [=](Parts& p) { blocks(p, down, 12, 0.01f); });
    add_wide("q3-q4_0-infinite-scale", [=](Parts& p) { blocks(p, some_matrix, 18, infinity); });
    add_wide("q3-q4_0-nan-scale", [=](Parts& p) { blocks(p, some_matrix, 18, not_a_number); });
    add_wide("q3-q8_0-infinite-scale", [=](Parts& p) { blocks(p, embedding, 34, -infinity); });
    add_wide("q3-q8_0-nan-scale", [=](Parts& p) { blocks(p, embedding, 34, not_a_number); });
    add_wide("q4-encoding-in-blocks", [=](Parts& p) {
        p.metadata["encoding"] = "learned";
        p.tensors.push_back({"encoding.learned.weight", "U8", {16, 32}, ""});
        blocks(p, "encoding.learned.weight", 34, 0.01f);
    });
}

void add_blueprints(Files& files) {
    add(files, "m01-no-metadata", [](Parts& p) { p.metadata.clear(); });
    add(files, "m01-other-format", [](Parts& p) { p.metadata["ordo.format"] = "2"; });
    add(files, "m01-format-escape", [](Parts& p) { p.metadata["ordo.format"] = "\x1b[2J1\n"; });
    add(files, "m02-no-blueprint", [](Parts& p) { p.metadata.erase("blueprint"); });
    for (const auto& [name, text] :
         {std::pair("empty", ""s), std::pair("not-json", "d_model=8"s), std::pair("an-array", "[]"s),
          std::pair("cut", "{\"d_model\":"s), std::pair("deep", std::string(100'000, '[')),
          std::pair("a-key-twice", "{\"d_model\":8,\"d_model\":8}"s)})
        add(files, "m02-blueprint-is-"s + name, [text = text](Parts& p) { p.metadata["blueprint"] = text; });
    const auto field = [&](const char* name, const char* key, const Json& value) {
        add(files, name, [=](Parts& p) { p.set_blueprint(key, value); });
    };
    field("m03-no-heads", "n_heads", 0);
    field("m03-heads-minus-1", "n_heads", -1);
    field("m03-kv-heads-3", "n_kv_heads", 3);
    field("m03-kv-heads-0", "n_kv_heads", 0);
    field("m03-no-layers", "n_layers", 0);
    field("m03-layers-10^9", "n_layers", 1'000'000'000);
    field("m03-layers-1024", "n_layers", 1024);
    field("m03-vocab-2^40", "vocab_size", std::int64_t{1} << 40);
    field("m03-vocab-2^22", "vocab_size", 1 << 22);
    field("m03-context-2^40", "context", std::int64_t{1} << 40);
    field("m03-d_model-8.0", "d_model", 8.0);
    field("m03-d_model-string", "d_model", "8");
    field("m03-eps-minus-1", "norm_eps", -1);
    field("m03-activation-escape", "activation", "\x1b[31mtanh");
    field("m03-unknown-field", "rope_theta", 10000);
    field("m03-odd-head", "d_head", 3);
    add(files, "m03-missing-field", [](Parts& p) {
        Json json = Json::parse(p.metadata["blueprint"]);
        json.erase("d_ff");
        p.metadata["blueprint"] = json.dump();
    });
}

// 2^bits texts with the same libstdc++ string hash (MurmurHash64A) for any seed. The hash mixes each 8 bytes
// separately, w -> (w m ^ w m >> 47) m, before it adds them to its state. The mixed values of these two words differ
// only in the highest bit. So two copies of the first word and two of the second leave the same state.
std::vector<std::string> colliding_texts(int bits) {
    const std::string one = "w4wXÍĘ", other = "w44r^sl'";
    std::vector<std::string> texts{""};
    for (int bit = 0; bit < bits; ++bit) {
        const std::size_t n = texts.size();
        for (std::size_t i = 0; i < n; ++i) {
            texts.push_back(texts[i] + other + other);
            texts[i] += one + one;
        }
    }
    return texts;
}

void add_text_sides(Files& files) {
    add(files, "m04-no-encoding", [](Parts& p) { p.metadata.erase("encoding"); });
    for (const auto& [name, spec] :
         {std::pair("unknown", "rpoe"s), std::pair("escape", "\x1b[31m"s), std::pair("unknown-key", "rope:period=36"s),
          std::pair("odd-width", "rope:width=3"s), std::pair("wide", "rope:width=6"s),
          std::pair("theta-0", "rope:theta=0"s), std::pair("long", std::string(5000, 'a')),
          std::pair("without-its-tensor", "learned"s)})
        add(files, "m04-encoding-"s + name, [spec = spec](Parts& p) { p.metadata["encoding"] = spec; });
    add(files, "m05-no-tokenizer", [](Parts& p) { p.metadata.erase("tokenizer"); });
    for (const auto& [name, text] : {std::pair("empty", ""s), std::pair("not-json", "bytes"s),
                                     std::pair("cut", "{\"version\":"s), std::pair("deep", std::string(100'000, '['))})
        add(files, "m05-tokenizer-"s + name, [text = text](Parts& p) { p.metadata["tokenizer"] = text; });
    add(files, "m05-tokenizer-larger", [](Parts& p) {
        p.set_blueprint("vocab_size", 256);
        p.tensor(embedding).shape = {256, 8};
        p.tensor(embedding).data.resize(256 * 32);
    });
    // The largest content that the caps allow, for the bound on memory: a large text, and a text that a tree makes
    // larger.
    add(files, "m06-tokenizer-15-MiB-of-spaces",
        [](Parts& p) { p.metadata["tokenizer"] = std::string(15 << 20, ' '); });
    add(files, "m06-tokenizer-of-a-million-keys", [](Parts& p) {
        std::string text = "{";
        for (int i = 0; i < 1'000'000; ++i) text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":0";
        p.metadata["tokenizer"] = text + "}";
    });
    add(files, "m06-tokenizer-whose-spellings-collide", [](Parts& p) {
        Json json = Json::parse(p.metadata["tokenizer"]);
        for (const std::string& text : colliding_texts(15)) {
            const auto id = json["model"]["vocab"].size();
            json["model"]["vocab"][text] = id;
        }
        p.metadata["tokenizer"] = json.dump();
    });
    add(files, "m06-blueprint-of-three-million-zeros", [](Parts& p) {
        std::string text = "[0";
        for (int i = 0; i < 3'000'000; ++i) text += ",0";
        p.metadata["blueprint"] = text + "]";
    });
}

} // namespace

void add_model_files(Files& files) {
    add(files, "v0-valid", [](Parts&) {});
    files.push_back({"v0-valid-small.safetensors", [] { return valid_model(false).file(); }});
    add_tensors(files);
    add_weights(files);
    add_blocks(files);
    add_blueprints(files);
    add_text_sides(files);
    add_large_files(files);
}

} // namespace ordo::test
