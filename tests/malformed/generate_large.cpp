// SPDX-License-Identifier: MIT
// Small files that request much memory.
#include "tests/malformed/generate_model.h"
#include "tests/malformed/model_parts.h"

namespace ordo::test {
namespace {

// Weights of 0.1 in the file's shapes, and no tokenizer.
Parts plain_model(const Blueprint& b, const std::string& dtype) {
    Parts parts;
    parts.metadata = {{"ordo.format", "1"}, {"encoding", "none"}, {"blueprint", to_json(b)}};
    for (const TensorSpec& spec : tensor_list(b))
        parts.tensors.push_back(
            {spec.name, dtype, spec.shape, encoded(dtype, std::vector<float>(elements_of(spec.shape), 0.1f))});
    return parts;
}

Blueprint sized(int vocab_size, int d_model, int d_ff, int n_layers) {
    Blueprint b;
    b.vocab_size = vocab_size;
    b.context = 16;
    b.n_layers = n_layers;
    b.d_model = d_model;
    b.n_heads = b.n_kv_heads = 1;
    b.d_head = 2;
    b.d_ff = d_ff;
    b.gated = false;
    return b;
}

std::string repeated(const std::string& part, int n, const std::string& between) {
    std::string text = part;
    for (int i = 1; i < n; ++i) text += between + part;
    return text;
}

} // namespace

void add_large_files(std::vector<MalformedFile>& files) {
    // A table of all positions for each item of the sum. All tables together would take 700 MB.
    const auto add_sum = [&](const std::string& name, const std::string& item, int n) {
        files.push_back({"m07-sum-of-" + std::to_string(n) + "-" + name + ".safetensors", [item, n] {
                             Blueprint b = sized(8'192, 64, 8, 1);
                             b.context = 1 << 22;
                             Parts parts = plain_model(b, "F32");
                             parts.metadata["encoding"] = repeated(item, n, "+");
                             return parts.file();
                         }});
    };
    for (const char* item : {"sinusoidal", "rope", "alibi"}) add_sum(item, item, 340);
    add_sum("sinusoidal", "sinusoidal", 55);
    add_sum("sandwich", "sandwich:width=16384", 130);
    // Rows for each of 4 million positions, as wide as a head, which is a thousand times wider than the model.
    files.push_back({"m07-heads-wider-than-the-model.safetensors", [] {
                         Blueprint b = sized(1 << 20, 1, 8, 1);
                         b.context = 1 << 22;
                         b.d_head = 1024;
                         Parts parts = plain_model(b, "F16");
                         parts.metadata["encoding"] = "rope";
                         return parts.file();
                     }});
    // Panels of 32 rows for a matrix of one row: 64 MiB a layer.
    for (const char* dtype : {"F16", "BF16"})
        files.push_back({"m07-rows-of-a-million-" + std::string(dtype) + ".safetensors",
                         [dtype] { return plain_model(sized(5, 1, 1 << 20, 4), dtype).file(); }});
    const auto add = [&](const std::string& name, const auto& change) {
        files.push_back({name + ".safetensors", [change] {
                             Parts parts = valid_model();
                             change(parts);
                             return parts.file();
                         }});
    };
    const auto add_tokens = [&](const std::string& name, int n, const std::string& item) {
        add("m07-tokenizer-of-" + name,
            [=](Parts& p) { p.metadata["tokenizer"] = "{\"added_tokens\":[" + repeated(item, n, ",") + "]}"; });
    };
    add_tokens("a-million-objects", 1'000'000, "{}");
    add_tokens("a-million-arrays", 1'000'000, "[]");
    add_tokens("a-million-members", 1'000'000, "{\"\":0}");
    add_tokens("a-million-strings", 1'000'000, "\"\"");
    add_tokens("600000-long-strings", 600'000, "\"sixteen letters.\""); // just within the limit of a tree
    add_tokens("600000-objects", 600'000, "{}");
    // A tokenizer member that multiplies its input or never ends.
    const auto with_tokenizer = [&](const std::string& name, const auto& change) {
        add("t1-" + name, [change](Parts& p) {
            Json json = Json::parse(p.metadata["tokenizer"]);
            change(json);
            p.metadata["tokenizer"] = json.dump();
        });
    };
    const auto sequence = [](const char* key, const Json& part, int n) {
        return Json{{"type", "Sequence"}, {key, std::vector<Json>(static_cast<std::size_t>(n), part)}};
    };
    const Json doubling = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(20, 'a')}};
    with_tokenizer("25000-pre-tokenizers", [=](Json& t) {
        t["pre_tokenizer"] = sequence("pretokenizers", Json{{"type", "WhitespaceSplit"}}, 25'000);
    });
    with_tokenizer("10000-decoders", [=](Json& t) {
        t["decoder"] = sequence("decoders", Json{{"type", "Fuse"}}, 10'000);
    });
    with_tokenizer("decoders-that-lengthen", [=](Json& t) { t["decoder"] = sequence("decoders", doubling, 8); });
    with_tokenizer("added-token-that-lengthens", [=](Json& t) {
        t["normalizer"] = {{"type", "Prepend"}, {"prepend", std::string(1'000'000, 'a')}};
        t["added_tokens"][0]["normalized"] = true;
    });
    with_tokenizer("template-that-lengthens", [=](Json& t) {
        const std::vector<Json> parts(10'000, Json{{"SpecialToken", {{"id", "x"}, {"type_id", 0}}}});
        const Json x = {{"id", "x"}, {"tokens", {"a"}}, {"ids", std::vector<int>(10'000)}};
        t["post_processor"] = {
            {"type", "TemplateProcessing"}, {"single", parts}, {"pair", parts}, {"special_tokens", {{"x", x}}}};
    });
    with_tokenizer("null-components", [=](Json& t) {
        t["normalizer"] = sequence("normalizers", nullptr, 2);
        t["normalizer"]["normalizers"][0] = {{"type", "Precompiled"}, {"precompiled_charsmap", nullptr}};
    });
    add("m07-tensors-of-rank-64", [](Parts& p) {
        const std::vector<std::int64_t> shape(64, 1);
        for (int i = 0; i < 50'000; ++i) p.tensors.push_back({"x" + std::to_string(i), "U8", shape, "x"});
    });
    add("m07-sixty-thousand-notes", [](Parts& p) {
        for (int i = 0; i < 60'000; ++i) p.metadata["note " + std::to_string(i)] = std::to_string(i);
    });
}

} // namespace ordo::test
