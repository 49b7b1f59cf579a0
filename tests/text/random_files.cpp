// SPDX-License-Identifier: MIT
#include "tests/text/random_files.h"
#include "tests/words.h"

namespace ordo::test {
namespace {

std::string repeated(const std::string& part, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += part;
    return all;
}

// As a JSON string. Bytes that are not UTF-8 stay unchanged, and are to be refused.
std::string json_string(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\', out += c;
        else if (static_cast<unsigned char>(c) < 0x20)
            out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\u0001";
        else
            out += c;
    }
    return out + "\"";
}

const Choices& atoms() {
    static const Choices list =
        words_in("a~b~A~ ~  "
                 "~\n~\t~0~1~.~,~'~\"~\\~_~#~##~\u2581~\u0120~\u00e9~e\u0301~\u0301~\ufb01~\u0130~\u1e9e~\u4e2d~\u6587~"
                 "\U0001f600~\u200d~\u202e~\u00a0~\ufeff~<|endoftext|>~<s>~[UNK]~<0x41>~<0xFF>~<0x0A>",
                 '~');
    return list;
}
std::string letters(Dice& d, int most) {
    std::string text;
    for (int i = 0, n = d.size(most); i < n; ++i) text += d.of(atoms());
    return text;
}

// Of texts alone: a file must be UTF-8.
std::string any_letters(Dice& d, int most) {
    return letters(d, most) + (d.once_in(4) ? d.of({"\xff", "\xe6\x96", "\xf0\x9f", "\xc0\x80"}) : "") + letters(d, 3);
}

// ---- Patterns -------------------------------------------------------------------------------------

std::string pattern(Dice& d, int depth = 0) {
    static const Choices leaves = words_in(
        R"(a~b~.~ ~\s~\S~\w~\W~\d~\p{L}~\p{N}~\P{L}~[ab]~[^a]~[a-z]~[[:alpha:]]~[^\s\p{L}\p{N}]~\b~^~$~\A~\z~\1~\2~\h~\p{Han}~\x{61}~\u0061)",
        '~');
    static const Choices refused{"\\k<x>", "\\X", "\\R", "(?i)", "[a&&b]"};
    static const Choices counts{"*",      "+",    "?",  "{0,2}", "{2,}", "{22}", "{100}",
                                "{1000}", "{,3}", "*+", "++",    "*?",   "{0}"};
    std::string p;
    for (int i = 0, n = 1 + d.below(4); i < n; ++i) {
        std::string part;
        switch (depth < 4 ? d.below(8) : 7) {
        case 0:
            part = "(?:" + pattern(d, depth + 1) + "|" + pattern(d, depth + 1) + ")";
            break;
        case 1:
            part = "(" + pattern(d, depth + 1) + ")";
            break;
        case 2:
            part = "(?" + d.of({"=", "!", "<=", "<!", ">", "<x>", "i:"}) + pattern(d, depth + 1) + ")";
            break;
        case 3:
            part = "(?:" + pattern(d, depth + 1) + ")";
            break;
        default:
            part = d.once_in(40) ? d.of(refused) : d.of(leaves);
        }
        p += part + (d.once_in(2) ? d.of(counts) : "");
    }
    return d.once_in(200) ? repeated("(", 300) + p + repeated(")", 300) : d.once_in(200) ? repeated(p, 2000) : p;
}
std::string pattern_member(Dice& d) {
    static const Choices known{"(?:a|a){22}[bc]",  "(a+)+$",   "(a|aa)+$",     "(.*)\\1{2}x", "(?:a?){30}a{30}",
                               "\\s+(?!\\S)|\\s+", "(x+x+)+y", "(?=(a+))\\1b", "(.+)+\\d",    "([a-zA-Z]+)*1"};
    if (d.once_in(3)) return R"({"String":)" + json_string(d.once_in(8) ? "" : letters(d, 40)) + "}";
    return R"({"Regex":)" + json_string(d.once_in(3) ? d.of(known) : pattern(d)) + "}";
}

// ---- Components -----------------------------------------------------------------------------------

std::string boolean(Dice& d) {
    return d.once_in(2) ? "true" : "false";
}
std::string replacing(Dice& d) {
    return R"({"type":"Replace","pattern":)" + pattern_member(d) + R"(,"content":)" +
           json_string(d.once_in(10) ? repeated("a", 60'000) : letters(d, 30)) + "}";
}
std::string metaspace(Dice& d) {
    return R"({"type":"Metaspace","replacement":)" + json_string(d.once_in(4) ? letters(d, 2) : "\u2581") +
           R"(,"prepend_scheme":")" + d.of({"always", "first", "never"}) + R"(","split":)" + boolean(d) + "}";
}
std::string strip(Dice& d) {
    return R"({"type":"Strip","content":)" + json_string(d.of(atoms())) + R"(,"start":)" +
           d.of({"0", "1", "3", "1000000000", "-1"}) + R"(,"stop":)" + d.of({"0", "1", "18446744073709551615"}) + "}";
}
std::string byte_level(Dice& d) {
    return R"({"type":"ByteLevel","add_prefix_space":)" + boolean(d) + R"(,"trim_offsets":true,"use_regex":)" +
           boolean(d) + "}";
}

std::string normalizer(Dice& d) {
    switch (d.below(9)) {
    case 0:
        return R"({"type":")" + d.of({"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel"}) +
               "\"}";
    case 1:
        return R"({"type":"BertNormalizer","clean_text":)" + boolean(d) + R"(,"handle_chinese_chars":)" + boolean(d) +
               R"(,"strip_accents":)" + d.of({"null", "true", "false"}) + R"(,"lowercase":)" + boolean(d) + "}";
    case 2:
        return R"({"type":"Strip","strip_left":)" + boolean(d) + R"(,"strip_right":)" + boolean(d) + "}";
    case 3:
        return R"({"type":"Prepend","prepend":)" +
               json_string(d.once_in(10) ? repeated("ab", 30'000) : letters(d, 30)) + "}";
    case 4:
        return R"({"type":"Precompiled","precompiled_charsmap":)" +
               d.of({"null", "\"\"", "\"AAAA\"", "\"BAAAAAQAAAABYQ==\""}) + "}";
    case 5:
        return "null";
    default:
        return replacing(d);
    }
}
std::string pre_tokenizer(Dice& d) {
    switch (d.below(8)) {
    case 0:
        return R"({"type":")" + d.of({"BertPreTokenizer", "WhitespaceSplit", "Whitespace"}) + "\"}";
    case 1:
        return R"({"type":"Digits","individual_digits":)" + boolean(d) + "}";
    case 2:
        return R"({"type":"Punctuation","behavior":"Isolated"})";
    case 3:
        return metaspace(d);
    case 4:
        return byte_level(d);
    case 5:
        return "null";
    default:
        return R"({"type":"Split","pattern":)" + pattern_member(d) + R"(,"behavior":")" +
               d.of({"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}) + R"(","invert":)" +
               boolean(d) + "}";
    }
}
std::string decoder(Dice& d) {
    switch (d.below(8)) {
    case 0:
        return R"({"type":")" + d.of({"ByteFallback", "Fuse", "ByteLevel", "BPEDecoder"}) + "\"}";
    case 1:
        return R"({"type":"WordPiece","prefix":)" + json_string(letters(d, 4)) + R"(,"cleanup":)" + boolean(d) + "}";
    case 2:
        return metaspace(d);
    case 3:
        return strip(d);
    case 4:
        return "null";
    default:
        return replacing(d);
    }
}
std::string post_processor(Dice& d) {
    const auto parts = [&] {
        std::string list;
        for (int i = 0, n = d.size(70); i < n; ++i)
            list += (i > 0 ? "," : "") +
                    d.of({R"({"Sequence":{"id":"A","type_id":0}})", R"({"Sequence":{"id":"B","type_id":1}})",
                          R"({"SpecialToken":{"id":"x","type_id":0}})"});
        return list;
    };
    if (d.once_in(3)) return byte_level(d);
    if (d.once_in(3)) return R"({"type":"BertProcessing","sep":["b",1],"cls":["a",)" + d.of({"0", "7", "-1"}) + "]}";
    return R"({"type":"TemplateProcessing","single":[)" + parts() + R"(],"pair":[)" + parts() +
           R"(],"special_tokens":{"x":{"id":"x","tokens":["a"],"ids":[)" + repeated("0,", d.size(80)) + "0]}}}";
}

template <class Make>
std::string component(Dice& d, const std::string& key, const Make& make, int depth = 0) {
    if (depth == 0 && d.once_in(key == "processors" ? 2 : 4)) return "null";
    if (d.once_in(2) || depth > 1) return make(d);
    std::string list;
    const std::string same = make(d);
    const bool many = same.size() < 200 && d.once_in(20);
    for (int i = 0, n = many ? d.once_in(2) ? 25'000 : 66 : d.below(5); i < n; ++i)
        list += (i > 0 ? "," : "") + (many ? same : component(d, key, make, depth + 1));
    return R"({"type":"Sequence",")" + key + "\":[" + list + "]}";
}

// ---- Models ---------------------------------------------------------------------------------------

std::string added_tokens(Dice& d, int first) {
    std::string list;
    for (int i = 0, n = d.once_in(20) ? 2000 : d.below(4); i < n; ++i)
        list += (i > 0 ? "," : "") + (R"({"id":)" + std::to_string(first + i) + R"(,"content":)") +
                json_string(d.once_in(30) ? repeated("a", 20'000) : letters(d, 6)) + R"(,"single_word":)" + boolean(d) +
                R"(,"lstrip":)" + boolean(d) + R"(,"rstrip":)" + boolean(d) + R"(,"normalized":)" + boolean(d) +
                R"(,"special":)" + boolean(d) + "}";
    return list;
}
std::string model(Dice& d, int& tokens) {
    Choices pieces{"a", "b", " ", "_", "\u2581", "\u0120", "\u00e9", "##a", "[UNK]"};
    for (int i = 0, n = d.size(40); i < n; ++i) pieces.push_back(letters(d, 6));
    for (int i = 2, n = d.once_in(4) ? d.size(600) : 0; i < n; ++i) pieces.push_back(repeated("a", i));
    if (d.once_in(2)) // all bytes, as those tokenizers have them that give back any text
        for (int i = 0; i < 256; ++i) {
            const char* const digits = "0123456789ABCDEF";
            pieces.push_back(std::string("<0x") + digits[i / 16] + digits[i % 16] + ">");
        }
    std::ranges::sort(pieces);
    if (!d.once_in(20)) pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
    tokens = static_cast<int>(pieces.size());
    const std::string fallback = R"("byte_fallback":)" + boolean(d) + ",";
    std::string vocab;
    if (d.once_in(3)) {
        for (const std::string& piece : pieces)
            vocab += (vocab.empty() ? "[" : ",[") + json_string(piece) + ",-" + std::to_string(d.below(20)) + ".5]";
        return R"({"type":"Unigram",)" + fallback + R"("unk_id":)" + d.of({"0", "0", "0", "1", "null", "100000"}) +
               R"(,"vocab":[)" + vocab + "]}";
    }
    const int wrong = d.once_in(30) ? d.below(tokens) : -1;
    for (int i = 0; i < tokens; ++i)
        vocab += (i > 0 ? "," : "") + json_string(pieces[i]) + ":" + std::to_string(i == wrong ? i + 1 : i);
    if (d.once_in(2))
        return R"({"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":)" +
               json_string(d.of({"##", "", "a"})) + R"(,"max_input_chars_per_word":)" + d.of({"100", "1000000", "0"}) +
               R"(,"vocab":{)" + vocab + "}}";
    std::string merges;
    for (int i = 1, n = d.once_in(2) ? d.size(300) : 0; i < n; ++i)
        merges += (merges.empty() ? "\"" : ",\"") + repeated("a", i) + " " +
                  (d.once_in(9) ? "b" : repeated("a", 1 + d.below(i))) + "\"";
    return R"({"type":"BPE",)" + fallback + R"("unk_token":)" + d.of({"null", "\"[UNK]\"", "\"none\""}) +
           R"(,"fuse_unk":)" + boolean(d) + R"(,"ignore_merges":)" + boolean(d) + R"(,"vocab":{)" + vocab +
           R"(},"merges":[)" + merges + "]}";
}

} // namespace

std::string random_tokenizer(Dice& d) {
    int tokens = 0;
    const std::string of_model = model(d, tokens);
    std::string file = R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)" +
                       added_tokens(d, tokens) + R"(],"normalizer":)" + component(d, "normalizers", normalizer) +
                       R"(,"pre_tokenizer":)" + component(d, "pretokenizers", pre_tokenizer) + R"(,"post_processor":)" +
                       component(d, "processors", post_processor) + R"(,"decoder":)" +
                       component(d, "decoders", decoder) + R"(,"model":)" + of_model + "}";
    if (d.once_in(50)) file.resize(d.below(static_cast<int>(file.size())));
    return file;
}
std::string random_text(Dice& d) {
    switch (d.below(4)) {
    case 0:
        return repeated(d.of(atoms()), d.once_in(8) ? 20'000 : d.size(2000));
    case 1:
        return repeated(any_letters(d, 5), d.size(300)) + d.of(atoms());
    default:
        return any_letters(d, 300);
    }
}

// ---- Chat templates -------------------------------------------------------------------------------

std::string random_chat_template(Dice& d) {
    static const Choices parts{"{% for message in messages %}",
                               "{%- for message in messages -%}",
                               "{% endfor %}",
                               "{{ message['content'] }}",
                               "{{ message.content | trim }}",
                               "{{ message['role'] }}",
                               "{% if message['role'] == 'user' %}",
                               "{% elif message['role'] == 'assistant' %}",
                               "{% else %}",
                               "{% endif %}",
                               "{% if add_generation_prompt %}",
                               "{% set x = messages[1:] %}",
                               "{{ raise_exception('no') }}",
                               "{{ bos_token }}",
                               "{{ eos_token }}",
                               "<|im_start|>",
                               "{% set ns = namespace(a=1) %}",
                               "{% set ns.a = ns.a ~ message.content %}",
                               "{{ ns.a | upper | replace('A', 'aa') }}",
                               "{% macro f(x, y='z') %}",
                               "{% endmacro %}",
                               "{{ f(message) }}",
                               "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}",
                               "{{ messages | map(attribute='content') | join('-') }}",
                               "{{ message.content.split('a')[-1:][::-1] | tojson }}",
                               "{% for x in range(9) if x is odd %}",
                               "{% break %}",
                               "{{ (1 + 2) * 3 // 2 % 5 }}",
                               "'",
                               "\"",
                               "{{",
                               "}}",
                               "{%",
                               "%}",
                               "{#",
                               "#}",
                               "~",
                               "+",
                               "loop.first",
                               "namespace(x=1)",
                               "{{ '<|im_start|>' + message['role'] }}",
                               "strftime_now('%d')",
                               "\n",
                               " "};
    std::string all;
    for (int i = 0, n = d.size(60); i < n; ++i) all += d.of(parts);
    if (d.once_in(2))
        all = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
              "'<|im_end|>' + '\\n'}}"
              "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}" +
              (d.once_in(2) ? all : "");
    if (d.once_in(10)) all = repeated(d.of(parts), d.once_in(4) ? 40'000 : 3000) + all;
    if (all.size() < 5000 && d.once_in(20)) all = repeated(all, 100);
    return all;
}

} // namespace ordo::test
