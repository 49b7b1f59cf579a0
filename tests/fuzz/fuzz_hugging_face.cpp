// SPDX-License-Identifier: MIT
// Any texts as the config.json, generation_config.json, model.safetensors.index.json and tokenizer_config.json of a
// directory, separated by a byte 30. The result is an Error of one line, or a plan whose encodings can be made.
#include "formats/source.h"
#include "io/safetensors.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <unistd.h>

namespace {

using namespace ordo;
namespace fs = std::filesystem;

constexpr char separator = 30;
constexpr const char* names[] = {"config.json", "generation_config.json", "model.safetensors.index.json",
                                 "tokenizer_config.json"};

void put(const fs::path& path, std::string_view text) {
    std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

// One folder for each process, deleted at its end.
struct Folder {
    const fs::path path = fs::temp_directory_path() / ("ordo-fuzz-" + std::to_string(::getpid()));
    Folder() {
        fs::create_directory(path);
        put(path / "tokenizer.json", make_byte_tokenizer()->to_json());
    }
    ~Folder() { fs::remove_all(path); }
};

void look_at(const Source& source) {
    try {
        source.trained_encodings();
        source.specs();
    } catch (const std::bad_alloc&) { // tables as long as the claimed context
    }
    if (source.text) source.text();
    if (const auto chat = source.metadata.find("chat_template"); chat != source.metadata.end())
        ChatTemplate(chat->second, {}, "fuzz");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Folder folder;
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    fs::remove(folder.path / "model.safetensors");
    for (const char* name : names) {
        const std::string_view text = rest.substr(0, rest.find(separator));
        rest.remove_prefix(std::min(rest.size(), text.size() + 1));
        if (text.empty())
            fs::remove(folder.path / name);
        else
            put(folder.path / name, text);
    }
    if (!fs::exists(folder.path / names[2]))
        put(folder.path / "model.safetensors", std::string("\2\0\0\0\0\0\0\0{}", 10));
    try {
        look_at(hugging_face_source(folder.path));
    } catch (const Error& error) {
        const std::string_view what = error.what();
        if (what.size() >= 2000 || what.find('\n') != what.npos) std::abort();
    }
    return 0;
}
