// SPDX-License-Identifier: MIT
// llama.cpp's greedy continuations, by npm's prebuilt node-llama-cpp.
//   node greedy.mjs DIR text MODEL.gguf PROMPT COUNT     prints the text that follows.
//   node greedy.mjs DIR ids MODEL.gguf PROMPT COUNT      prints the ids of both, and the number of the prompt's.
//   node greedy.mjs DIR tokens MODEL.gguf EXPECTED.json  checks the greedy tokens of EXPECTED.json's cases.
// DIR is where `npm install node-llama-cpp` ran.
import {readFileSync} from "node:fs";
import path from "node:path";
import {pathToFileURL} from "node:url";

const [directory, kind, file, prompt, count] = process.argv.slice(2);
const module = path.join(path.resolve(directory), "node_modules/node-llama-cpp/dist/index.js");
const {getLlama, LlamaLogLevel} = await import(pathToFileURL(module));

const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.error, progressLogs: false, maxThreads: 1});
const model = await llama.loadModel({modelPath: path.resolve(file)});

async function continuation(tokens, length) {
    const context = await model.createContext({contextSize: tokens.length + length, threads: 1, flashAttention: false});
    const next = [];
    for await (const token of context.getSequence().evaluate(tokens, {temperature: 0, yieldEogToken: true})) {
        next.push(token);
        if (next.length >= length) break;
    }
    await context.dispose();
    return next;
}

if (kind === "text" || kind === "ids") {
    const tokens = Array.from(model.tokenize(prompt, false));
    if (model.tokens.shouldPrependBosToken) tokens.unshift(model.tokens.bos);
    const next = await continuation(tokens, Number(count));
    process.stdout.write(kind === "text" ? model.detokenize(next, false, tokens) : `${[...tokens, ...next]} ${tokens.length}\n`);
    process.exit(0);
}

let failed = 0;
for (const {tokens, greedy} of JSON.parse(readFileSync(prompt)).cases) {
    if (!greedy) continue;
    const found = await continuation(tokens, greedy.length);
    if (found.join() === greedy.join()) continue;
    console.log(`after ${tokens}: expected ${greedy}, found ${found}`);
    ++failed;
}
process.exit(failed ? 1 : 0);
