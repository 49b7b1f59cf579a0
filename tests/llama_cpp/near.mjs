// SPDX-License-Identifier: MIT
// Checks that Ordo would choose llama.cpp's tokens too, or prefers its own by at most a margin.
//   node near.mjs LOGITS.json FIRST MARGIN    `ordo logits --all` of the tokens; llama.cpp chose those from FIRST on
import {readFileSync} from "node:fs";

const [file, first, margin] = process.argv.slice(2);
const {tokens, logits} = JSON.parse(readFileSync(file));
let far = 0;
for (let i = Number(first); i < tokens.length; ++i) {
    const row = logits[i - 1], best = row.indexOf(Math.max(...row));
    if (row[best] - row[tokens[i]] <= Number(margin)) continue;
    console.log(`token ${i}: llama.cpp has ${tokens[i]}, of logit ${row[tokens[i]]}; expected ${best}, of ${row[best]}`);
    ++far;
}
process.exit(far || tokens.length <= Number(first) ? 1 : 0);
