// SPDX-License-Identifier: MIT
// Encodes and decodes generated texts with Hugging Face's library and with Ordo, and reports each difference.
//   compare.mjs ENCODE LIBRARY TEXTS [SEED [NAME]]     NAME: test only this shape
import {spawnSync} from "node:child_process";
import {mkdtempSync, rmSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {families} from "./tokenizers.mjs";

const [encode, library, count, seed = "1", only] = process.argv.slice(2);
const {Tokenizer} = createRequire(import.meta.url)(library);

// ---- Texts ------------------------------------------------------------------------------------

let state = BigInt(seed);
function below(n) { // Knuth's MMIX
    state = state * 6364136223846793005n + 1442695040888963407n & (1n << 64n) - 1n;
    return Number((state >> 33n) % BigInt(n));
}
const pick = list => list[below(list.length)];
const words = ("the cat sat on a mat and New words were said by them there is nothing like it Hello World don't I'll we're " +
    "you've he'd it's CAN'T naïve café Übergröße été straße ЁЖИК нещо на Български Σίσυφος ὈΔΥΣΣΕΎΣ İstanbul ıslak ﬁne ﬂat ½ ² ³ ①② Ⅷ ½kg " +
    "你好 世界 日本語 カタカナ ひらがな 한국어 각하 สวัสดี नमस्ते কি বাংলা العربية ١٢٣ עברית ქართული Հայերեն ᄒ ﷺ Å Å ﬀ ﾊﾝｶｸ ｆｕｌｌ ㍿ ™ © 12345 3.14 007 1,000 word wordy the end").split(" ");
const marks = ["\u0301", "\u0323", "\u0308", "\u20dd", "\u064b", "\u093e", "\u200d", "\u200c", "\ufe0f"];
const spaces = [" ", " ", " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", "\u00a0", "\u3000", "\u2028", "\u200b", "\u0085", "\v", "\ufeff"];
const signs = ["'", "\"", "`", "``", "''", ".", ",", "!", "?", "...", "…", "。", "、", "-", "--", "—", "_", "$", "+", "<", ">", "=", "^", "~", "|", "(", ")", "[", "]",
    "{", "}", "/", "\\", "@", "#", "%", "&", "*", ":", ";", "€", "£", "°", "😀", "👩‍👩‍👧", "🇩🇪", "🦙", "▁", "Ġ", "##", "<0x41>", "\u0000", "\u0007", "\u007f", "\u00ad", "\ue000"];
const specials = ["<|endoftext|>", "<|user|>", "<mask>", "<s>", "</s>", "<unk>", "<pad>", "<extra>", "[CLS]", "[SEP]", "[MASK]", "[UNK]", "<|endof", "[CL"];
// Characters of blocks that Unicode completed long ago, so that all versions agree on them.
const blocks = [[0x20, 0x7e], [0xa0, 0x24f], [0x250, 0x2ff], [0x300, 0x36f], [0x391, 0x3a1], [0x3a3, 0x3ff], [0x400, 0x482], [0x48a, 0x4ff], [0x5d0, 0x5ea],
    [0x621, 0x652], [0x905, 0x939], [0xe01, 0xe3a], [0x1100, 0x1112], [0x1161, 0x1175], [0x1e00, 0x1eff], [0x2010, 0x2027], [0x2030, 0x205e], [0x2460, 0x24ff],
    [0x2500, 0x25ff], [0x3041, 0x3096], [0x30a1, 0x30fa], [0x4e00, 0x4eff], [0xac00, 0xacff], [0xf900, 0xf9ff], [0xff01, 0xff5e], [0x1d400, 0x1d454]];
function any() {
    const [first, last] = pick(blocks);
    return String.fromCodePoint(first + below(last - first + 1));
}
function text() {
    let out = "";
    for (let n = below(pick([4, 12, 40])) + 1; n > 0; --n) {
        const kind = below(20);
        if (kind < 9) out += pick(words) + (below(3) ? pick(spaces) : "");
        else if (kind < 12) out += pick(signs);
        else if (kind < 14) out += pick(spaces);
        else if (kind < 15) out += pick(marks);
        else if (kind < 17) out += any() + any();
        else if (kind < 18) out += pick(specials);
        else out += below(1000);
    }
    return out;
}

// ---- Comparison -------------------------------------------------------------------------------

async function expected(json, texts) {
    const tokenizer = Tokenizer.fromString(json);
    const lines = [];
    for (const t of texts) {
        const ids = (await tokenizer.encode(t)).getIds();
        lines.push(ids.map(id => id + " ").join("") + "| " + JSON.stringify(await tokenizer.decode(ids, true)));
    }
    return lines;
}

const plain = line => { // ids and text apart from how the text is quoted
    const bar = line.indexOf("| ");
    return [line.slice(0, bar), JSON.parse(line.slice(bar + 2))];
};

const folder = mkdtempSync(join(tmpdir(), "tokenizers-"));
let mismatches = 0;
const learned = Array.from({length: 400}, text).filter(t => !t.includes("\u0000"));
for (const [name, object] of families(learned)) {
    if (only && name !== only) continue;
    const json = JSON.stringify(object), file = join(folder, name + ".json"), texts = Array.from({length: Number(count)}, text);
    writeFileSync(file, json);
    const want = await expected(json, texts);
    let wrong = 0;
    for (const more of [[], ["again"]]) {
        const run = spawnSync(encode, [file, ...more], {input: texts.map(t => JSON.stringify(t)).join("\n") + "\n", maxBuffer: 1 << 30});
        if (run.status !== 0) {
            console.log(`${name}: ${run.stderr}`);
            ++wrong;
            break;
        }
        const got = run.stdout.toString().split("\n");
        for (let i = 0; i < texts.length; ++i) {
            const [ids, back] = plain(got[i]), [wantIds, wantBack] = plain(want[i]);
            if (ids === wantIds && back === wantBack) continue;
            if (wrong++ < 3)
                console.log(`${name}: ${JSON.stringify(texts[i])}\n  expected ${wantIds} ${JSON.stringify(wantBack)}\n  found    ${ids} ${JSON.stringify(back)}`);
        }
    }
    console.log(`${name}: ${texts.length} texts, ${wrong} mismatches`);
    mismatches += wrong;
}
rmSync(folder, {recursive: true});
console.log(`${mismatches} mismatches`);
process.exit(mismatches > 0 ? 1 : 0);
