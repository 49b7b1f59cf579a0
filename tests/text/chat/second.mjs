// SPDX-License-Identifier: MIT
// Compares a file of reference.py with @huggingface/jinja: node second.mjs MODULE FILE, where MODULE is that package's
// dist/index.js. Prints the number of equal texts, and the templates that differ.
import fs from "fs";

const { Template } = await import(fs.realpathSync(process.argv[2]));
const noon = new Date(2024, 6, 26, 12).getTime();
globalThis.Date = class extends Date {
    constructor(...given) {
        super(...(given.length ? given : [noon]));
    }
};

let equal = 0,
    count = 0;
const differ = new Map();
for (const [name, of] of Object.entries(JSON.parse(fs.readFileSync(process.argv[3], "utf8"))))
    for (const { messages: turns, answer, text } of of.cases) {
        const messages = turns.map(([role, content]) => ({ role, content }));
        let written, why;
        try {
            const input = { messages, tools: null, documents: null, add_generation_prompt: answer, ...of.tokens };
            written = new Template(of.template).render(input);
        } catch (error) {
            why = error.message;
        }
        ++count;
        if (written === text) ++equal;
        else differ.set(name, why ?? "another text");
    }
console.log(`${equal} of ${count} texts are equal; ${differ.size} templates differ`);
for (const [name, why] of differ) console.log(`${name}: ${why}`);
