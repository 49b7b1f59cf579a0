// SPDX-License-Identifier: MIT
#include "tests/tools/models.h"

#include "model/model_file.h"
#include "model/stack.h"
#include "model/tensor_memory.h"
#include "tests/temp_dir.h"

#include <cmath>

namespace ordo::test {

namespace {

constexpr int end_of_text = 256, width = 260;

Blueprint small_blueprint(int d_model, int heads) {
    Blueprint b;
    b.vocab_size = 257;
    b.context = model_context;
    b.n_layers = 2;
    b.d_model = d_model;
    b.n_heads = b.n_kv_heads = heads;
    b.d_head = d_model / heads;
    b.d_ff = 32;
    b.tied_head = false;
    return b;
}

void write(const std::filesystem::path& path, const Blueprint& blueprint, const ModelEncodings& encodings,
           TensorMemory& tensors, const Metadata& more = {}) {
    ModelFile file;
    file.blueprint = blueprint;
    file.encoding = encodings.spec();
    file.tokenizer = make_byte_tokenizer()->to_json();
    file.metadata = {{"corpus", "made \x1b[31mup"}, {"seed", "7"}}; // an escape that must not reach a terminal
    file.metadata.insert(more.begin(), more.end());
    file.specs.assign(tensors.specs().begin(), tensors.specs().end());
    for (std::size_t i = 0; i < file.specs.size(); ++i) file.values.push_back(tensors.view(i));
    write_model(path, file);
}

void write_alphabet(const std::filesystem::path& path, const std::string& encoding) {
    const Blueprint blueprint = small_blueprint(width, 2);
    const ModelEncodings encodings(encoding, blueprint.dims());
    TensorMemory tensors(model_tensors(blueprint, encodings));
    for (std::size_t i = 0; i < tensors.specs().size(); ++i)
        if (tensors.specs()[i].initial.a == 1)
            for (float& value : tensors.values(i)) value = 1;
    const View embedding = tensors.view("embedding.weight"), head = tensors.view("head.weight");
    for (int token = 0; token < blueprint.vocab_size; ++token) {
        embedding.row(token)[token] = 1;
        head.row(successor(token))[token] = 0.5f;
    }
    write(path, blueprint, encodings, tensors);
}

void write_random(const std::filesystem::path& path, const std::string& encoding, const Metadata& more = {},
                  int context = 64) {
    Blueprint blueprint = small_blueprint(32, 4);
    blueprint.context = context;
    const ModelEncodings encodings(encoding, blueprint.dims());
    const Model model = random_model(blueprint, encoding, 11);
    TensorMemory tensors(model_tensors(blueprint, encodings));
    for (std::size_t i = 0; i < tensors.specs().size(); ++i) impl_of(model).tensors->read(i, tensors.values(i));
    write(path, blueprint, encodings, tensors, more);
}

} // namespace

double alphabet_logit() {
    return 0.5 / std::sqrt(1.0 / width + 1e-5);
}

int successor(int token) {
    switch (token) {
    case 'x':
        return 0xc3;
    case 0xc3:
        return 0xa9;
    case 0xa9:
        return '!';
    case '!':
        return end_of_text;
    case 'Z':
        return 'Z';
    case end_of_text:
        return 'a';
    default:
        return token + 1;
    }
}

const std::filesystem::path& model_directory() {
    static const TempDir directory;
    static const bool made = [] {
        for (const char* encoding : {"rope", "none", "learned", "alibi"})
            write_alphabet(directory / (std::string(encoding) + ".safetensors"), encoding);
        write_random(directory / "random.safetensors", "rope:theta=500");
        write_random(directory / "segments.safetensors", "segment+learned");
        // An encoding chooses among the files of the parent folder, so this one stays apart.
        std::filesystem::create_directory(directory / "chat");
        const std::string mistral =
            "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ messages[0].content + '\n\n' if "
            "loop.index == 2 "
            "and messages[0].role == 'system' }}{{ m.content }} [/INST]{% elif m.role == 'assistant' %} "
            "{{ m.content.strip() + '</s>' }}{% endif %}{% endfor %}";
        const std::string own =
            "{{ bos_token }}{% if messages[0].role != 'system' %}{{ '<|im_start|>system\nBe.<|im_end|>\n' }}{% endif %}"
            "{% for m in messages if m.content %}{{ '<|im_start|>' + m.role + '\n' + m.content + "
            "'<|im_end|>\n' }}{% endfor %}"
            "{{ '<|im_start|>assistant\n' if add_generation_prompt }}";
        write_random(directory / "chat/mistral.safetensors", "rope:theta=500", {{"chat_template", mistral}});
        write_random(directory / "chat/own.safetensors", "rope:theta=500", {{"chat_template", own}}, 128);
        write_random(directory / "chat/odd.safetensors", "rope:theta=500",
                     {{"chat_template", "Human:\n{{ messages | urlize }}"}});
        const std::string user = "{% for m in messages %}{% if m['role'] == 'user' %}{{ '<|user|>\n' + m['content'] + "
                                 "'<|end|>\n<|assistant|>\n' }}{% endif %}{% endfor %}";
        write_random(directory / "chat/drops.safetensors", "rope:theta=500", {{"chat_template", user}});
        write_random(directory / "chat/refuses.safetensors", "rope:theta=500",
                     {{"chat_template", "{% if messages[0]['role'] == 'system' %}"
                                        "{{ raise_exception('System role not supported') }}{% endif %}" +
                                            user}});
        put_file(directory / "heldout.txt", "abcd\n<|endoftext|>\nabca\n<|endoftext|>\nxyzz\n");
        return true;
    }();
    static_cast<void>(made);
    return directory.path();
}

std::string model_file(const std::string& name) {
    return (model_directory() / (name + ".safetensors")).string();
}

} // namespace ordo::test
