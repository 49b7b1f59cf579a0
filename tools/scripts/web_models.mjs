// SPDX-License-Identifier: MIT
// Prints models.json for build/web: the weight files of a folder, by the records in their headers.
//   node web_models.mjs FOLDER
import { readdirSync, readFileSync, statSync } from 'node:fs';

const [, , folder] = process.argv;
const models = readdirSync(folder).filter((file) => file.endsWith('.safetensors')).sort().map((file) => {
  const bytes = readFileSync(`${folder}/${file}`), size = Number(bytes.readBigUInt64LE(0));
  const { __metadata__: record } = JSON.parse(bytes.subarray(8, 8 + size));
  return { file, name: file.replace('.safetensors', ''), encoding: record.encoding, bytes: statSync(`${folder}/${file}`).size };
});
console.log(JSON.stringify(models, null, 1));
