// SPDX-License-Identifier: MIT
// Compares the values of the page's live figures with the engine's tables.
//   node compare.mjs ORDO SCRIPT_OF_THE_PAGE
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const [ordo, script] = process.argv.slice(2);
const computed = new Function(
  readFileSync(script, "utf8") + "; return { sinusoidal, ropeFrequencies, ropeScore, alibiSlopes };")();
let passed = 0, failed = 0;
function near(what, found, expected) {
  if (Math.abs(found - expected) <= 1e-6 * Math.max(1, Math.abs(expected))) return void ++passed;
  ++failed;
  console.log(`FAILED: ${what}: the page computes ${found}, the engine ${expected}`);
}
function table(...words) { // rows of numbers, by the names of their columns
  const [head, ...rows] = execFileSync(ordo, ["table", ...words, "--format", "csv"], { encoding: "utf8" }).trim().split("\n");
  return rows.map(row => Object.fromEntries(row.split(",").map((cell, i) => [head.split(",")[i], Number(cell)])));
}

for (const [d, base] of [[8, 10000], [32, 100]])
  for (const [p, row] of table(`sinusoidal:base=${base}`, "--len", "40", "--dim", `${d}`).entries())
    Object.values(row).slice(-d).forEach((value, c) => near(`sinusoidal, row ${p}, column ${c} of ${d}`, computed.sinusoidal(p, c, d, base), value));

const laws = { none: "", linear: ",scaling=linear,factor=4", ntk: ",scaling=ntk,factor=4", yarn: ",scaling=yarn,factor=4,original=2048" };
for (const [law, keys] of Object.entries(laws)) {
  const frequencies = computed.ropeFrequencies(64, 10000, law, 4, 2048);
  const angles = table(`rope:theta=10000${keys}`, "--len", "2", "--dim", "64").filter(row => row.position === 1);
  if (angles.length !== 32) throw new Error(`expected the angles of 32 pairs, found ${angles.length}`);
  angles.forEach((row, k) => near(`rope, ${law}, pair ${k}`, frequencies[k], row.angle));
}
near("a score at distance 0", computed.ropeScore(0, computed.ropeFrequencies(64, 10000, "none")), 1);

for (const heads of [1, 2, 3, 8, 12, 31]) {
  const slopes = table("alibi", "--heads", `${heads}`, "--slopes").map(row => Object.values(row).at(-1));
  if (slopes.length !== heads) throw new Error(`expected ${heads} slopes, found ${slopes.length}`);
  computed.alibiSlopes(heads).forEach((slope, h) => near(`ALiBi, slope ${h} of ${heads}`, slope, slopes[h]));
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
