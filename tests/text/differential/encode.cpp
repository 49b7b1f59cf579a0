// SPDX-License-Identifier: MIT
// The program that tests/text/differential/run.sh compares with Hugging Face's library. It reads one text a line from
// the standard input, as a JSON string. For each text it writes a line of the ids in the tokenizer's frame, a bar, and
// the decoded text.
//   encode TOKENIZER.JSON [again]     again: write the tokenizer as JSON and read that instead
#include "core/error.h"
#include "io/json_writer.h"
#include "text/tokenizer.h"

#include <fstream>
#include <iostream>
#include <iterator>

int main(int argc, char** argv) try {
    using namespace ordo;
    if (argc < 2) fail(ErrorCode::usage, "expected a tokenizer.json");
    std::ifstream file(argv[1], std::ios::binary);
    const std::string json{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    auto tokenizer = tokenizer_from_json(json, argv[1]);
    if (argc > 2) tokenizer = tokenizer_from_json(tokenizer->to_json(), "again");
    for (std::string line; std::getline(std::cin, line);) {
        const JsonValue text = parse_json(line, "standard input");
        const std::vector<Token> ids = encode_framed(*tokenizer, *text.string(), true);
        std::string decoded;
        bool first = true;
        for (const Token id : ids) {
            std::cout << id << ' ';
            if (tokenizer->is_special(id)) continue;
            tokenizer->append(id, decoded, first);
            first = false;
        }
        std::cout << "| " << json_quoted(decoded) << '\n';
    }
    return 0;
} catch (const ordo::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
