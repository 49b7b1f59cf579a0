// SPDX-License-Identifier: MIT
// Writes FOLDER/NAME/expected.json for each FOLDER/NAME/tokenizer.json: for each text of strings.json, the ids in the
// tokenizer's frame and the decoded text, both from Hugging Face's tokenizers.
//   npm install --prefix LIBRARY tokenizers && node tests/text/tokenizers/expect.mjs LIBRARY FOLDER
import {existsSync, readFileSync, readdirSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import {join, resolve} from "node:path";

const [library, folder] = process.argv.slice(2);
const {Tokenizer} = createRequire(resolve(library, "package.json"))("tokenizers");
const strings = JSON.parse(readFileSync(new URL("strings.json", import.meta.url)));
for (const name of readdirSync(folder).sort()) {
    const file = join(folder, name, "tokenizer.json");
    if (!existsSync(file)) continue;
    try {
        const tokenizer = Tokenizer.fromFile(file);
        tokenizer.disableTruncation();
        tokenizer.disablePadding();
        const answers = [];
        for (const text of strings) {
            const ids = (await tokenizer.encode(text)).getIds();
            answers.push({ids, decoded: await tokenizer.decode(ids, true)});
        }
        writeFileSync(join(folder, name, "expected.json"), JSON.stringify(answers));
    } catch (error) {
        console.log(`${name}: ${error.message}`);
    }
}
