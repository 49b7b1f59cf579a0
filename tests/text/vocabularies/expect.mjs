// SPDX-License-Identifier: MIT
// Writes expected.json of the folders bert and roberta: for each configuration the ids of some texts in the tokenizer's
// frame, by Hugging Face's tokenizers 0.23.2. The parts are those to which transformers 4 converts the two classes.
//   npm install --prefix LIBRARY tokenizers && node tests/text/vocabularies/expect.mjs LIBRARY
import {readFileSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import {resolve} from "node:path";

const t = createRequire(resolve(process.argv[2], "package.json"))("tokenizers");
const path = (name) => new URL(name, import.meta.url).pathname;

async function write(name, configs, texts, make) {
    const out = [];
    for (const config of configs) {
        const tokenizer = await make(config), cases = [];
        for (const text of texts) cases.push([text, (await tokenizer.encode(text)).getIds()]);
        out.push({config, cases, pair: (await tokenizer.encode("hello", "a")).getIds()});
    }
    writeFileSync(path(`${name}/expected.json`), JSON.stringify(out));
}

await write("bert",
    [{}, {do_lower_case: false}, {do_lower_case: true, strip_accents: false},
     {do_lower_case: false, strip_accents: true, tokenize_chinese_chars: false}, {tokenize_chinese_chars: false}],
    ["Hello worlds", "Café über! 你好", "repeated ab [MASK] 你好", "It's\tHELLO", "hello[SEP]world", "x [unused1]"],
    async (config) => {
        const tokenizer = new t.Tokenizer(await t.WordPiece.fromFile(path("bert/vocab.txt"),
            {unkToken: "[UNK]", continuingSubwordPrefix: "##", maxInputCharsPerWord: 100}));
        tokenizer.setNormalizer(t.bertNormalizer({cleanText: true,
            handleChineseChars: config.tokenize_chinese_chars ?? true, stripAccents: config.strip_accents,
            lowercase: config.do_lower_case ?? true}));
        tokenizer.setPreTokenizer(t.bertPreTokenizer());
        tokenizer.setPostProcessor(t.bertProcessing(["[SEP]", 3], ["[CLS]", 2]));
        tokenizer.addSpecialTokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]);
        return tokenizer;
    });

await write("roberta", [{}, {add_prefix_space: true}],
    ["hello world", "a hello <mask> b", " hello", "hello</s>a", "cab!"],
    async (config) => {
        const ids = JSON.parse(readFileSync(path("roberta/vocab.json")));
        const tokenizer = new t.Tokenizer(await t.BPE.fromFile(path("roberta/vocab.json"), path("roberta/merges.txt"), {}));
        const prefix = config.add_prefix_space ?? false;
        tokenizer.setPreTokenizer(t.byteLevelPreTokenizer(prefix));
        tokenizer.setPostProcessor(t.robertaProcessing(["</s>", ids["</s>"]], ["<s>", ids["<s>"]], true, prefix));
        tokenizer.addSpecialTokens(["<s>", "<pad>", "</s>", "<unk>"]);
        tokenizer.addAddedTokens([new t.AddedToken("<mask>", true, {leftStrip: true, normalized: false})]);
        return tokenizer;
    });
