// SPDX-License-Identifier: MIT
// A model that others trained, in the legacy layout of llama2.c, must give the text that llama2.c gives.
#include "model/model.h"
#include "tests/temp_dir.h"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <iostream>

namespace ordo {
namespace {

namespace fs = std::filesystem;

fs::path folder() {
    const char* set = std::getenv("ORDO_CONFORMANCE");
    return fs::path(set != nullptr ? set : "../shared/conformance") / "stories260K";
}

// Numbers one after the other, as they lie in memory.
class Stream {
public:
    explicit Stream(std::string bytes) : bytes_(std::move(bytes)) {}
    template <class T>
    T next() {
        T value;
        std::memcpy(&value, text(sizeof value).data(), sizeof value);
        return value;
    }
    std::string text(std::size_t size) {
        at_ += size;
        return bytes_.substr(at_ - size, size);
    }
    bool done() const { return at_ >= bytes_.size(); }

private:
    std::string bytes_;
    std::size_t at_ = 0;
};

Model convert(Stream file) {
    Blueprint b;
    b.architecture = "llama";
    b.d_model = file.next<int>();
    b.d_ff = file.next<int>();
    b.n_layers = file.next<int>();
    b.n_heads = file.next<int>();
    b.n_kv_heads = file.next<int>();
    b.vocab_size = file.next<int>(); // above 0: the head is the embedding
    b.context = file.next<int>();
    b.d_head = b.d_model / b.n_heads;

    EncodingStack encodings("rope:theta=10000,pairing=adjacent", b.dims());
    TensorBlock tensors(model_tensors(b, encodings));
    const auto read = [&](const std::string& name, int first_row, int rows) {
        const View v = tensors.view(name);
        for (int i = first_row; i < first_row + rows; ++i)
            for (int j = 0; j < v.cols; ++j) v.row(i)[j] = file.next<float>();
    };
    const auto each_layer = [&](const std::string& name, int first_row, int rows) {
        for (int i = 0; i < b.n_layers; ++i) read("layers." + std::to_string(i) + "." + name, first_row, rows);
    };
    const int q = b.n_heads * b.d_head, kv = b.n_kv_heads * b.d_head;
    read("embedding.weight", 0, b.vocab_size);
    each_layer("attention_norm.weight", 0, 1);
    each_layer("attention.qkv.weight", 0, q);
    each_layer("attention.qkv.weight", q, kv);
    each_layer("attention.qkv.weight", q + kv, kv);
    each_layer("attention.out.weight", 0, b.d_model);
    each_layer("feed_forward_norm.weight", 0, 1);
    each_layer("feed_forward.in.weight", 0, b.d_ff);      // w1, the gate
    each_layer("feed_forward.out.weight", 0, b.d_model);  // w2
    each_layer("feed_forward.in.weight", b.d_ff, b.d_ff); // w3
    read("final_norm.weight", 0, 1);
    return make_model("stories260K", b, std::move(encodings), std::move(tensors), nullptr, {}, b.context);
}

std::vector<std::string> read_pieces(Stream file) {
    file.next<int>(); // the longest
    std::vector<std::string> pieces;
    while (!file.done()) {
        file.next<float>(); // the score
        const int length = file.next<int>();
        pieces.push_back(file.text(static_cast<std::size_t>(length)));
    }
    return pieces;
}

// As llama2.c prints it: no space after the first token, <0x0A> as the byte.
std::string piece_text(const std::string& piece, bool first) {
    if (piece.size() == 6 && piece.starts_with("<0x"))
        return {static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16))};
    return first && piece.starts_with(' ') ? piece.substr(1) : piece;
}

TEST(Stories260K, GreedyTextIsThatOfLlama2c) {
    const fs::path from = folder();
    if (!fs::exists(from / "stories260K.bin")) {
        std::cerr << "SKIPPED: no conformance data in " << from << "; set ORDO_CONFORMANCE\n";
        GTEST_SKIP();
    }
    const Model model = convert(Stream(test::file_content(from / "stories260K.bin")));
    const std::vector<std::string> pieces = read_pieces(Stream(test::file_content(from / "tok512.bin")));
    ASSERT_EQ(pieces.size(), 512u);

    constexpr Token start_of_sequence = 1;
    constexpr int steps = 200;
    Session session(model);
    Sampling greedy;
    greedy.temperature = 0;
    Sampler sampler(greedy, model.vocab_size());
    Token token = start_of_sequence;
    std::string text;
    for (std::uint64_t i = 0; i < steps; ++i) {
        const Token next = sampler.sample(session.feed({&token, 1}), {}, i);
        if (next == start_of_sequence) break;
        text += piece_text(pieces[static_cast<std::size_t>(next)], token == start_of_sequence);
        token = next;
    }
    EXPECT_EQ(text + "\n", test::file_content(from / "greedy_200.txt")); // llama2.c ends its output with a newline
}

} // namespace
} // namespace ordo
