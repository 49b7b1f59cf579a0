// SPDX-License-Identifier: MIT
// Tokenizers in the shapes of published models, trained on a generated text: [name, tokenizer.json] each.
import {execFileSync} from "node:child_process";
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";

const gpt2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const tail = "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const llama3 = `${contractions}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*${tail}`;
const qwen2 = `${contractions}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*${tail}`;
const upper = "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}", lower = "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}";
const gpt4o = `[^\\r\\n\\p{L}\\p{N}]?[${upper}]*[${lower}]+${contractions}?|[^\\r\\n\\p{L}\\p{N}]?[${upper}]+[${lower}]*` +
    `${contractions}?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*${tail}`;
const bloom = " ?[^(\\s|[.,!?…。，、।۔،])]+";

const byteLevel = (use_regex = true, add_prefix_space = false) =>
    ({type: "ByteLevel", add_prefix_space, trim_offsets: true, use_regex});
const split = (Regex, behavior = "Isolated", invert = false) => ({type: "Split", pattern: {Regex}, behavior, invert});
const cuts = (...pretokenizers) => ({type: "Sequence", pretokenizers});
const all = (...normalizers) => ({type: "Sequence", normalizers});
const replace = (text, content) => ({type: "Replace", pattern: {String: text}, content});
const spaces = {type: "Replace", pattern: {Regex: " {2,}"}, content: " "};
const metaspace = (prepend_scheme, split = true) => ({type: "Metaspace", replacement: "▁", prepend_scheme, split});
const bert = (options = {}) => ({type: "BertNormalizer", clean_text: true, handle_chinese_chars: true,
                                 strip_accents: null, lowercase: true, ...options});

// ---- Vocabularies -----------------------------------------------------------------------------

const alphabet = (() => {
    const own = b => (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    let next = 256;
    return Array.from({length: 256}, (_, b) => String.fromCodePoint(own(b) ? b : next++));
})();
const spell = text => [...Buffer.from(text)].map(b => alphabet[b]);
const bytePieces = Array.from({length: 256}, (_, b) => `<0x${b.toString(16).toUpperCase().padStart(2, "0")}>`);

// Merges the most frequent pair repeatedly. The result for the same words is cached.
const learned = new Map();
function learn(words, n) {
    if (!learned.has(words)) learned.set(words, merge(words, n));
    return learned.get(words);
}

function merge(words, n) {
    const merges = [];
    while (merges.length < n) {
        const counts = new Map();
        for (const word of words)
            for (let i = 0; i + 1 < word.length; ++i) {
                const key = word[i] + "\n" + word[i + 1];
                counts.set(key, (counts.get(key) ?? 0) + 1);
            }
        const best = [...counts].reduce((a, b) => b[1] > a[1] ? b : a, ["", 1]);
        if (best[1] < 2) break;
        const [left, right] = best[0].split("\n");
        merges.push([left, right]);
        words = words.map(word => {
            const merged = [];
            for (let i = 0; i < word.length; ++i)
                if (word[i] === left && word[i + 1] === right) merged.push(left + right), ++i;
                else merged.push(word[i]);
            return merged;
        });
    }
    return merges;
}

const numbered = tokens => Object.fromEntries([...new Set(tokens)].map((token, id) => [token, id]));

function bpe(symbols, first, words, n, options = {}) {
    const merges = learn(words, n);
    return {type: "BPE", dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null,
            fuse_unk: false, byte_fallback: false, ignore_merges: false,
            vocab: numbered([...first, ...symbols, ...merges.map(m => m.join(""))]), merges, ...options};
}

const idOf = (model, content) => Array.isArray(model.vocab) ? model.vocab.findIndex(v => v[0] === content)
                                                            : model.vocab[content] ?? -1;
const added = (model, id, content, options = {}) => ({
    id: idOf(model, content) < 0 ? id : idOf(model, content), content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...options});

function size(model) { return Array.isArray(model.vocab) ? model.vocab.length : Object.keys(model.vocab).length; }

function tokenizer(model, parts, specials = []) {
    let next = size(model);
    const added_tokens = specials.map(([content, options]) =>
        added(model, idOf(model, content) < 0 ? next++ : 0, content, options)).sort((a, b) => a.id - b.id);
    return {version: "1.0", truncation: null, padding: null, added_tokens, normalizer: null, pre_tokenizer: null,
            post_processor: null, decoder: null, ...parts, model};
}

function template(json, before, after, names = ["A", "B"]) {
    const id = content => json.added_tokens.find(t => t.content === content).id;
    const special = (content, type_id) => ({SpecialToken: {id: content, type_id}});
    const text = (id, type_id) => ({Sequence: {id, type_id}});
    const around = (tokens, type_id) => tokens.map(t => special(t, type_id));
    return {type: "TemplateProcessing",
            single: [...around(before, 0), text(names[0], 0), ...around(after, 0)],
            pair: [...around(before, 0), text(names[0], 0), ...around(after, 0), text(names[1], 1), ...around(after, 1)],
            special_tokens: Object.fromEntries([...before, ...after].map(t => [t, {id: t, ids: [id(t)], tokens: [t]}]))};
}

// ---- Families ---------------------------------------------------------------------------------

function byteFamilies(texts) {
    const words = texts.flatMap(t => [...t.matchAll(new RegExp(gpt2, "gu"))].map(m => spell(m[0])));
    const model = (options, n = 500) => bpe(alphabet, [], words, n, options);
    const specials = [["<|endoftext|>"], ["<|user|>", {rstrip: true}], ["<mask>", {lstrip: true}],
                      ["the end", {special: false, normalized: true}], ["word", {special: false, single_word: true}]];
    const make = (pre_tokenizer, more = {}, options = {}) =>
        tokenizer(model(options), {pre_tokenizer, decoder: byteLevel(), post_processor: byteLevel(), ...more}, specials);
    const framed = json => ({...json, post_processor: {type: "Sequence", processors: [
        byteLevel(), template(json, ["<|endoftext|>"], [])]}});
    const roberta = make(byteLevel(true, true));
    roberta.post_processor = {type: "RobertaProcessing", sep: ["<mask>", roberta.added_tokens[2].id],
                              cls: ["<|endoftext|>", roberta.added_tokens[0].id], trim_offsets: true, add_prefix_space: true};
    return [
        ["gpt2", make(byteLevel())],
        ["roberta", roberta],
        ["llama3", framed(make(cuts(split(llama3), byteLevel(false)), {}, {ignore_merges: true}))],
        ["qwen2", make(cuts(split(qwen2), byteLevel(false)), {normalizer: {type: "NFC"}})],
        ["gpt4o", make(cuts(split(gpt4o, "Removed", true), byteLevel(false)))],
        ["bloom", make(cuts(split(bloom), byteLevel(false)))],
        ["falcon", make(cuts({type: "Punctuation", behavior: "Contiguous"}, byteLevel(),
                             {type: "Digits", individual_digits: false}, split("[0-9][0-9][0-9]")))],
        ["starcoder", make(cuts({type: "Digits", individual_digits: true}, byteLevel()))],
        ["deepseek", make(cuts(split("[\\r\\n]"), split("\\s?\\p{L}+"), split("\\s?\\p{P}+"), split("[一-龥ࠀ-一가-퟿]+"),
                               {type: "Digits", individual_digits: true}, byteLevel(false)))],
        ["words", make(cuts(split("\\b\\w+\\b|\\h{2}", "MergedWithNext"), split("^.|\\W$", "MergedWithPrevious"), byteLevel(false)))],
    ];
}

function sentenceFamilies(texts) {
    const mark = t => "▁" + t.replaceAll(" ", "▁");
    const chars = ["▁", ...new Set(texts.join(""))].filter((c, i) => c !== " " && (i === 0 || c !== "▁")).slice(0, 120);
    const known = new Set(chars);
    const words = texts.flatMap(t => [...mark(t)].map(c => known.has(c) ? c : "\n").join("").split("\n")).map(t => [...t]);
    const llama = options => bpe(chars, ["<unk>", "<s>", "</s>", ...bytePieces], words, 400,
                                 {unk_token: "<unk>", fuse_unk: true, byte_fallback: true, ...options});
    const specials = [["<unk>"], ["<s>"], ["</s>"], ["<extra>", {special: false, normalized: true}]];
    const decoder = {type: "Sequence", decoders: [replace("▁", " "), {type: "ByteFallback"}, {type: "Fuse"},
                                                  {type: "Strip", content: " ", start: 1, stop: 0}]};
    const framed = json => ({...json, post_processor: template(json, ["<s>"], [])});
    const unknowing = {byte_fallback: false, fuse_unk: false};
    return [
        ["llama2", framed(tokenizer(llama(), {normalizer: all({type: "Prepend", prepend: "▁"}, replace(" ", "▁")), decoder},
                                    specials))],
        ["mistral", framed(tokenizer(llama(), {pre_tokenizer: metaspace("first", false), decoder}, specials))],
        ["gemma", tokenizer(llama(), {normalizer: replace(" ", "▁"),
                                      pre_tokenizer: {type: "Split", pattern: {String: " "}, behavior: "MergedWithPrevious", invert: false},
                                      decoder: {type: "Sequence", decoders: [replace("▁", " "), {type: "ByteFallback"}, {type: "Fuse"}]}},
                            specials)],
        ["unknown-chars", tokenizer(llama(unknowing), {pre_tokenizer: metaspace("always"), decoder: metaspace("always")}, specials)],
        ["fused-unknowns", tokenizer(llama({byte_fallback: false}), {pre_tokenizer: metaspace("never"), decoder: metaspace("never")}, specials)],
        ["nmt", tokenizer(llama(), {normalizer: all({type: "Nmt"}, {type: "NFKC"}, spaces, {type: "Strip", strip_left: true, strip_right: false}),
                                    pre_tokenizer: cuts({type: "WhitespaceSplit"}, metaspace("always")), decoder}, specials)],
    ];
}

function substrings(texts, n, longest) {
    const counts = new Map();
    for (const text of texts)
        for (let i = 0; i < text.length; ++i)
            for (let k = 2; k <= longest && i + k <= text.length; ++k) {
                const part = text.slice(i, i + k);
                if (part.isWellFormed()) counts.set(part, (counts.get(part) ?? 0) + 1);
            }
    return [...counts].sort((a, b) => b[1] * b[0].length - a[1] * a[0].length).slice(0, n);
}

function unigramFamilies(texts) {
    const marked = texts.map(t => "▁" + t.replaceAll(" ", "▁"));
    const chars = [...new Set(marked.join(""))].slice(0, 120);
    // Few digits: with many, the library's JSON reader is off by a bit, which would decide between ties.
    const score = x => Number(x.toFixed(3));
    const scored = [...chars.map((c, i) => [c, score(-9 - i / 50)]),
                    ...substrings(marked, 600, 6).map(([p, n], i) => [p, score(-4 - i / 100 - 1 / n)])];
    const own = [["<s>", 0], ["<pad>", 0], ["</s>", 0], ["<unk>", 0]];
    const vocab = [...own, ...scored.filter(([piece]) => !own.some(o => o[0] === piece) && !bytePieces.includes(piece))];
    const specials = [["<s>"], ["<pad>"], ["</s>"], ["<unk>"], ["<mask>", {lstrip: true}]];
    const model = (options = {}) => ({type: "Unigram", unk_id: 3, vocab, byte_fallback: false, ...options});
    const bytes = {vocab: [...vocab, ...bytePieces.map(p => [p, -20])], byte_fallback: true};
    const framed = json => ({...json, post_processor: template(json, ["<s>"], ["</s>"])});
    const families = [
        ["xlm-roberta", framed(tokenizer(model(), {normalizer: all(spaces), pre_tokenizer: metaspace("always"), decoder: metaspace("always")}, specials))],
        ["unigram-bytes", tokenizer(model(bytes), {pre_tokenizer: metaspace("always"),
                                                   decoder: {type: "Sequence", decoders: [{type: "ByteFallback"}, metaspace("always")]}}, specials)],
        ["albert", tokenizer(model(), {normalizer: all(replace("``", "\""), replace("''", "\""), {type: "NFKD"}, {type: "StripAccents"},
                                                       {type: "Lowercase"}, spaces),
                                       pre_tokenizer: cuts({type: "WhitespaceSplit"}, metaspace("always")), decoder: metaspace("always")}, specials)],
    ];
    const trained = sentencePiece(texts);
    if (trained) {
        const t5 = {type: "Unigram", unk_id: trained.pieces.findIndex(p => p[0] === "<unk>"), vocab: trained.pieces};
        const marks = [["<unk>"], ["<s>"], ["</s>"]];
        families.push(["t5", framed(tokenizer(t5, {
            normalizer: all({type: "Precompiled", precompiled_charsmap: trained.charsmap}, spaces),
            pre_tokenizer: cuts({type: "WhitespaceSplit"}, metaspace("always")), decoder: metaspace("always")}, marks))]);
    } else {
        console.log("spm_train is not here (Debian's sentencepiece): T5's shape is left out");
    }
    return families;
}

function wordFamilies(texts) {
    const words = texts.flatMap(t => t.toLowerCase().normalize("NFD").replace(/\p{Mn}/gu, "").match(/[\p{L}\p{N}]+|\p{P}/gu) ?? []);
    const parts = substrings(words, 500, 5).map(p => p[0]), chars = [...new Set(words.join(""))].slice(0, 200);
    const capitals = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
    const vocab = numbered(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ...chars, ...capitals, ...chars.map(c => "##" + c), ...parts,
                            ...parts.map(p => "##" + p)]);
    const model = {type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##", max_input_chars_per_word: 100, vocab};
    const specials = [["[PAD]"], ["[UNK]"], ["[CLS]"], ["[SEP]"], ["[MASK]", {lstrip: true}], ["New", {special: false, normalized: true}]];
    const make = (normalizer, more = {}) => tokenizer(model, {
        normalizer, pre_tokenizer: {type: "BertPreTokenizer"}, decoder: {type: "WordPiece", prefix: "##", cleanup: true},
        post_processor: {type: "BertProcessing", sep: ["[SEP]", 3], cls: ["[CLS]", 2]}, ...more}, specials);
    return [
        ["bert-uncased", make(bert())],
        ["bert-cased", make(bert({lowercase: false}))],
        ["bert-accents", make(bert({strip_accents: false, handle_chinese_chars: false, clean_text: false}),
                              {truncation: {direction: "Right", max_length: 100000, strategy: "LongestFirst", stride: 0}})],
        ["whitespace", make({type: "NFD"}, {pre_tokenizer: {type: "Whitespace"}, decoder: {type: "WordPiece", prefix: "##", cleanup: false}})],
        ["punctuation", make({type: "NFKC"}, {pre_tokenizer: cuts({type: "WhitespaceSplit"}, {type: "Punctuation", behavior: "MergedWithPrevious"}),
                                              decoder: null})],
    ];
}

// A Unigram model with its character map, trained by SentencePiece itself; null if it is not installed.
function sentencePiece(texts) {
    const folder = mkdtempSync(join(tmpdir(), "sp-"));
    try {
        writeFileSync(join(folder, "text"), texts.map(t => t.replaceAll("\n", " ")).join("\n"));
        execFileSync("spm_train", [`--input=${folder}/text`, `--model_prefix=${folder}/m`, "--vocab_size=1500",
                                   "--character_coverage=0.98", "--hard_vocab_limit=false"], {stdio: "ignore"});
        return readModel(readFileSync(join(folder, "m.model")));
    } catch (error) {
        if (error.code === "ENOENT") return null;
        throw error;
    } finally {
        rmSync(folder, {recursive: true});
    }
}

// sentencepiece_model.proto: field 1 a piece (1 its text, 2 its score), field 3 the normaliser (2 its map).
function readModel(bytes) {
    const fields = data => {
        const found = [];
        let at = 0;
        const varint = () => {
            let value = 0, scale = 1;
            for (;; scale *= 128) {
                const byte = data[at++];
                value += (byte & 127) * scale;
                if (byte < 128) return value;
            }
        };
        while (at < data.length) {
            const tag = varint(), kind = tag & 7;
            if (kind === 0) found.push([tag >> 3, varint()]);
            else {
                const length = kind === 2 ? varint() : kind === 5 ? 4 : 8;
                found.push([tag >> 3, data.subarray(at, at += length)]);
            }
        }
        return found;
    };
    const get = (list, n) => list.find(f => f[0] === n)?.[1];
    const top = fields(bytes);
    const pieces = top.filter(f => f[0] === 1).map(f => fields(f[1])).map(p => [get(p, 1).toString(), get(p, 2).readFloatLE(0)]);
    return {pieces, charsmap: get(fields(get(top, 3)), 2).toString("base64")};
}

export function families(texts) {
    return [...byteFamilies(texts), ...sentenceFamilies(texts), ...unigramFamilies(texts), ...wordFamilies(texts)];
}
