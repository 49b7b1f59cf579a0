// SPDX-License-Identifier: MIT
#include "tools/train/data.h"

#include "core/error.h"
#include "core/random.h"
#include "io/file.h"
#include "tools/cli/sha256.h"

#include <algorithm>
#include <numeric>

namespace ordo::train {

Corpus::Corpus(const std::filesystem::path& file, const Tokenizer& tokenizer, int length)
    : length_(length), name_(file.filename().string()) {
    const std::string text = read_file(file, most_bytes);
    bytes_ = text.size();
    sha256_ = ordo::sha256(text);
    constexpr std::string_view mark = end_of_text_name;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = text.find(mark, begin);
        const std::size_t next = end == std::string::npos ? text.size() : end + mark.size();
        if (end == std::string::npos) end = text.size();
        while (begin < end && text[begin] == '\n') ++begin; // the lines of the marks are not text
        while (end > begin && text[end - 1] == '\n') --end;
        if (end > begin) {
            text_bytes_ += end - begin;
            const auto first = static_cast<std::int64_t>(tokens_.size());
            tokens_.push_back(tokenizer.end_of_text());
            tokenizer.encode(std::string_view(text).substr(begin, end - begin), false, tokens_);
            const auto last = static_cast<std::int64_t>(tokens_.size());
            for (std::int64_t i = first; i < last; ++i)
                if (const Token id = tokens_[static_cast<std::size_t>(i)]; id < 0 || id >= tokenizer.vocab_size())
                    fail(ErrorCode::model, printable(file.string()), ": token ", i, ": expected an id from 0 to ",
                         tokenizer.vocab_size() - 1, ", found ", id);
            for (std::int64_t start = first; start < last; start += length) starts_.push_back(start);
        }
        begin = next;
    }
    while (!starts_.empty() && starts_.back() + length + 1 > static_cast<std::int64_t>(tokens_.size()))
        starts_.pop_back();
    if (starts_.empty())
        fail(ErrorCode::limit, printable(file.string()), ": expected more than ", length, " tokens, found ",
             tokens_.size());
}

void Corpus::window(std::int64_t i, std::span<Token> tokens, std::span<Token> targets) const {
    const auto* first = tokens_.data() + starts_[static_cast<std::size_t>(i)];
    std::copy_n(first, length_, tokens.begin());
    std::copy_n(first + 1, length_, targets.begin());
}

std::int64_t Corpus::shuffled(std::uint64_t seed, std::int64_t n) {
    const std::int64_t epoch = n / windows();
    if (epoch != epoch_ || seed != order_seed_) {
        order_.resize(starts_.size());
        std::iota(order_.begin(), order_.end(), 0);
        shuffle(std::span(order_), Random(seed, 0xda7a + static_cast<std::uint64_t>(epoch)));
        epoch_ = epoch;
        order_seed_ = seed;
    }
    return order_[static_cast<std::size_t>(n % windows())];
}

} // namespace ordo::train
