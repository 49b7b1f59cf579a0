// SPDX-License-Identifier: MIT
// Compares the engine of build/web with the program: runs worker.js in node, as a browser's worker would.
//   node engine.mjs WEB PROGRAM MALFORMED [NAME]
// WEB: a copy of build/web with a package.json for modules; MALFORMED: the folder of tests/malformed's files; NAME: runs
// only the tests that have it in their names.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

const [web, program, malformed, only = ''] = process.argv.slice(2);

// ---- A worker's surroundings --------------------------------------------------------------------

const calls = new Map();
let last = 0;
globalThis.importScripts = () => {};
globalThis.self = globalThis;
globalThis.onmessage = null;
globalThis.location = { href: pathToFileURL(`${web}/worker.js`).href };
globalThis.fetch = async (url) => new Response(readFileSync(fileURLToPath(url)));
globalThis.postMessage = (message) => { // copied, as between threads
  const data = structuredClone(message), call = calls.get(data.id);
  if ('event' in data) return call.listen?.(...data.event);
  calls.delete(data.id);
  if ('error' in data) call.reject(new Error(data.error));
  else call.resolve(data.result);
};
await import(pathToFileURL(`${web}/worker.js`));
const call = (method, args = [], listen) => new Promise((resolve, reject) => {
  calls.set(++last, { resolve, reject, listen });
  onmessage({ data: { id: last, method, args } });
});
const error_of = (promise) => promise.then(() => '', (error) => error.message);

// ---- Checks -------------------------------------------------------------------------------------

let passed = 0, failed = 0;
async function test(name, body) {
  if (!name.includes(only)) return;
  try {
    const note = await body();
    passed += 1;
    console.log(`${name}: right${note ? ` (${note})` : ''}`);
  } catch (error) {
    failed += 1;
    console.log(`${name}: ${error.message}`);
  }
}
function expect(found, wanted, what) {
  const [a, b] = [found, wanted].map((value) => JSON.stringify(value));
  if (a !== b) throw new Error(`${what}: expected ${b.slice(0, 300)}, found ${a.slice(0, 300)}`);
}
function expect_near(found, wanted, most, what) {
  expect(found.length, wanted.length, `${what}: size`);
  let worst = 0;
  for (let i = 0; i < wanted.length; ++i) {
    const difference = Math.abs(found[i] - wanted[i]);
    if (!(difference <= worst)) worst = difference;
  }
  if (!(worst <= most)) throw new Error(`${what}: expected a difference of at most ${most}, found ${worst}`);
  return worst;
}

const ordo = (...args) => execFileSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe'] });
const written = (file, prompt, ...options) =>
  ordo('generate', `weights/${file}`, '--quiet', '--no-display-prompt', '-p', prompt, ...options).replace(/\n$/, '');

const models = await call('models');
const text = 'Once upon a time there was a little girl. She had a red ball, and she said: "It\'s mine!" 123 naïve';

for (const { file, encoding, bytes } of models) {
  await test(file, async () => {
    const progress = [];
    const model = await call('open', [file], (...event) => progress.push(event));
    expect([model.encoding, model.bytes, progress.at(-1)], [encoding, bytes, [bytes, bytes]], 'open');
    const info = JSON.parse(ordo('info', `weights/${file}`, '--format', 'json'));
    expect([model.dim, model.layers, model.heads, model.head_dim, model.vocabulary, model.trained, model.parameters],
      [info.blueprint.d_model, info.blueprint.n_layers, info.blueprint.n_heads, info.blueprint.d_head,
        info.blueprint.vocab_size, info.blueprint.context, info.parameters], 'description');
    const here = await call('logits', [file, text]);
    const there = JSON.parse(ordo('logits', `weights/${file}`, '-p', text, '--all'));
    expect(here.tokens, there.tokens, 'tokens');
    const worst = expect_near(here.logits, there.logits.flat(), 1e-4, 'logits');
    const greedy = await call('generate', [file, { prompt: 'Once upon a time', count: 100, temperature: 0 }]);
    expect(greedy.text, written(file, 'Once upon a time', '--temp', '0', '-n', '100'), 'greedy text');
    const { text: sampled } = await call('generate', [file, { prompt: 'The dog', count: 60, temperature: 0.8, seed: 7 }]);
    expect(sampled, written(file, 'The dog', '--temp', '0.8', '--seed', '7', '-n', '60'), 'text of seed 7');
    return `logits within ${worst.toExponential(1)}, ${Math.round(greedy.rate)} tokens/s`;
  });
}

await test('sampled text of more seeds and settings', async () => {
  for (const file of ['rope.safetensors', 'storyteller.safetensors'])
    for (const seed of [1, 2, 3]) {
      const options = { prompt: 'Tom and his mom', count: 120, temperature: 1.1, top_k: 0, top_p: 0.9, seed };
      const { text: found } = await call('generate', [file, options]);
      expect(found, written(file, 'Tom and his mom', '--temp', '1.1', '--top-k', '0', '--top-p', '0.9', '--seed', `${seed}`, '-n', '120'), `${file}, seed ${seed}`);
    }
});

await test('text beyond the trained length, and scalings of RoPE', async () => {
  const prompt = 'Once upon a time', rope = 'rope.safetensors';
  for (const [file, scaling, ...options] of [['alibi.safetensors', ''], [rope, ''],
    [rope, 'scaling=linear,factor=2', '--rope-scaling', 'linear', '--rope-scale', '2'],
    [rope, 'scaling=yarn,factor=4', '--rope-scaling', 'yarn', '--rope-scale', '4']]) {
    const tokens = [];
    const { text: found, spec } = await call('generate', [file, { prompt, count: 300, capacity: 400, seed: 3, scaling }], (token) => tokens.push(token));
    expect(found, written(file, prompt, '-n', '300', '-c', '400', '--seed', '3', ...options), `${file} ${scaling}`);
    expect(spec.includes(scaling.split(',')[0]), true, 'spec');
    expect(tokens.map((token) => token.position), tokens.map((_, i) => i), 'positions');
    expect(tokens.every((token) => token.beyond === token.position >= 256), true, 'beyond');
  }
  const learned = await call('generate', ['learned.safetensors', { prompt, count: 400, seed: 2, temperature: 1.5 }]);
  expect(['full', 'end_of_text'].includes(learned.ended), true, `the end of learned: ${learned.ended}`);
  expect(await error_of(call('generate', ['none.safetensors', { prompt, scaling: 'scaling=linear,factor=2' }])) !== '', true, 'a scaling without rope is refused');
});

await test('tokens of a text', async () => {
  const tokens = [];
  const prompt = 'A naïve café 🙂 said "hi".';
  const { text: after, tokens: count } = await call('generate', ['rope.safetensors', { prompt, count: 20, temperature: 0 }], (token) => tokens.push(token));
  expect(tokens.filter((token) => token.prompt).map((token) => token.text).join(''), prompt, 'prompt');
  expect(tokens.filter((token) => !token.prompt).map((token) => token.text).join(''), after, 'text');
  expect(tokens.filter((token) => !token.prompt).length, count, 'count');
  const logits = (await call('logits', ['rope.safetensors', prompt])).logits;
  const probability = (row, id) => {
    const scores = logits.subarray(row * 4096, (row + 1) * 4096), top = Math.max(...scores);
    return Math.exp(scores[id] - top) / scores.reduce((sum, score) => sum + Math.exp(score - top), 0);
  };
  for (const token of tokens.filter((each) => each.prompt && each.position > 0))
    expect_near([token.probability, token.alternatives[0].probability],
      [token.id, token.alternatives[0].id].map((id) => probability(token.position - 1, id)), 1e-5, 'probabilities');
  const [best] = await call('next', ['rope.safetensors', prompt, 3]), first = tokens.find((token) => !token.prompt);
  expect([best.id, best.text], [first.id, first.text], 'next');
});

// A copy of shipped weights with other components in its tokenizer.
function changed(name, components) {
  const bytes = readFileSync('weights/alibi.safetensors'), size = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + size)), length = Buffer.alloc(8);
  header.__metadata__.tokenizer = JSON.stringify({ ...JSON.parse(header.__metadata__.tokenizer), ...components });
  let text = JSON.stringify(header);
  text += ' '.repeat((8 - Buffer.byteLength(text) % 8) % 8);
  length.writeBigUInt64LE(BigInt(Buffer.byteLength(text)));
  const copy = Buffer.concat([length, Buffer.from(text), bytes.subarray(8 + size)]);
  writeFileSync(`${web}/${name}`, copy);
  return Object.assign(new Blob([copy]), { name });
}

const strings = JSON.parse(readFileSync('tests/text/tokenizers/strings.json', 'utf8'))
  .filter((each) => each && !each.includes('\0')); // no argument holds a NUL
await test('the tokenizer on strings.json', async () => {
  for (const string of strings)
    expect(await call('tokens', ['alibi.safetensors', string]),
      JSON.parse(ordo('logits', 'weights/alibi.safetensors', '-p', string)).tokens, JSON.stringify(string));
  return `${strings.length} strings`;
});

await test('Unicode and texts to replace on strings.json', async () => {
  const all = strings.join('\n');
  for (const normalizer of [
    ...['NFC', 'NFD', 'NFKC', 'NFKD', 'Lowercase'].map((type) => ({ type })),
    { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: true, lowercase: true },
    { type: 'Replace', pattern: { String: 'o' }, content: '(.*)' },
    { type: 'Sequence', normalizers: [{ type: 'NFD' }, { type: 'StripAccents' }, { type: 'Replace', pattern: { String: '. -' }, content: '+' }] }]) {
    const file = changed('changed.safetensors', { normalizer });
    const { file: key } = await call('open', [file]);
    expect(await call('tokens', [key, all]),
      JSON.parse(ordo('logits', `${web}/changed.safetensors`, '-p', all)).tokens, JSON.stringify(normalizer));
  }
  const pre_tokenizer = { type: 'Split', pattern: { Regex: '\\s++|\\d' }, behavior: 'Isolated', invert: false };
  const message = await error_of(call('open', [changed('refused.safetensors', { pre_tokenizer })]));
  expect(message.includes('{White_Space}++|'), true, `the pattern in "${message}"`);
});

await test('six texts at once, and stop', async () => {
  const files = models.slice(0, 6).map((model) => model.file), options = { prompt: 'One day', count: 80, seed: 5 };
  const alone = [];
  for (const file of files) alone.push((await call('generate', [file, options])).text);
  const order = [];
  const together = await Promise.all(files.map((file) => call('generate', [file, options], () => order.push(file))));
  expect(together.map((each) => each.text), alone, 'texts');
  expect(new Set(order.slice(-100)).size > 1, true, 'turns');
  let seen = 0;
  const stopped = call('generate', ['rope.safetensors', { prompt: 'One day', count: 100000, temperature: 2 }], () => { if (++seen === 10) call('stop'); });
  expect((await stopped).ended, 'stopped', 'ended');
});

await test('attention', async () => {
  const story = 'Tom saw a big dog. The dog ran to Tom.';
  const look = async (file) => {
    const seen = await call('attention', [file, story]);
    const n = seen.tokens.length, at = (layer, head, query, key) => ((layer * seen.heads + head) * n + query) * n + key;
    expect([seen.weights.length, seen.scores.length, seen.plain.length], Array(3).fill(seen.layers * seen.heads * n * n), `${file}: sizes`);
    expect([seen.tokens[0], seen.tokens.slice(1).join('')], ['<|endoftext|>', story], `${file}: tokens`);
    for (let row = 0; row < seen.layers * seen.heads * n; ++row) {
      const weights = seen.weights.subarray(row * n, (row + 1) * n), scores = seen.scores.subarray(row * n, row * n + row % n + 1);
      const sum = scores.reduce((all, score) => all + Math.exp(score), 0);
      expect_near(weights, Array.from(weights, (_, key) => (key <= row % n ? Math.exp(scores[key]) / sum : 0)), 1e-5, `${file}: softmax`);
    }
    return { ...seen, n, at };
  };
  // ALiBi's published slopes for 4 heads: 1/4, 1/16, 1/64, 1/256.
  const alibi = await look('alibi.safetensors');
  expect(alibi.adds, 'bias', 'alibi adds');
  for (let head = 0; head < 4; ++head)
    for (let query = 0; query < alibi.n; ++query)
      for (let key = 0; key <= query; ++key) {
        const i = alibi.at(2, head, query, key);
        expect_near([alibi.scores[i] - alibi.plain[i]], [-(query - key) * 0.25 ** (head + 1)], 1e-4, 'bias of alibi');
      }
  // A rotation changes no product at distance 0, and nothing at position 0; others it does.
  for (const file of ['rope.safetensors', 'storyteller.safetensors', 'xpos.safetensors']) {
    const rope = await look(file);
    expect(rope.adds, 'rotation', `${file} adds`);
    let most = 0;
    for (let map = 0; map < rope.layers * rope.heads; ++map)
      for (let query = 0; query < rope.n; ++query) {
        const same = rope.at(0, map, query, query), other = rope.at(0, map, query, 0);
        expect_near([rope.scores[same]], [rope.plain[same]], 1e-3, `${file}: distance 0`);
        most = Math.max(most, Math.abs(rope.scores[other] - rope.plain[other]));
      }
    expect(most > 0.1, true, `${file}: the rotation changes scores`);
  }
  for (const [file, adds] of [['none.safetensors', 'nothing'], ['sinusoidal.safetensors', 'input'], ['learned.safetensors', 'input'], ['t5.safetensors', 'bias'], ['shaw.safetensors', 'bias'], ['cope.safetensors', 'bias'], ['forget.safetensors', 'bias']])
    expect((await look(file)).adds, adds, `${file} adds`);
});

await test('encodings and tables', async () => {
  const encodings = await call('encodings'), rope = encodings.find((each) => each.name === 'rope');
  expect(encodings.map((each) => each.name), JSON.parse(ordo('encodings', '--format', 'json')).map((each) => each.name), 'names');
  const theta = rope.parameters.find((each) => each.name === 'theta');
  expect([theta.default, theta.min <= 10000, theta.max >= 10000, theta.integer], ['10000', true, true, false], 'theta');
  for (const [spec, options, request] of [
    ['rope:theta=500', ['--dim', '16', '--len', '20'], { rows: 20, dim: 16, heads: 1 }],
    ['sinusoidal', ['--dim', '32', '--len', '40', '--start', '5'], { rows: 40, dim: 32, heads: 1, start: 5 }],
    ['alibi', ['--slopes'], { what: 'slopes', heads: 8 }],
    ['alibi', ['--len', '12', '--head', '3', '--heads', '8'], { rows: 12, head: 3, heads: 8 }]]) {
    const there = JSON.parse(ordo('table', spec, '--format', 'json', ...options));
    const rows = Array.isArray(there) ? there.map((row) => Object.values(row)) : there.rows;
    const here = await call('table', [spec, request]);
    expect([here.columns, here.rows], [Array.isArray(there) ? Object.keys(there[0]) : there.columns, rows.length], spec);
    expect_near(here.values, rows.flat().map((value) => (value === '-inf' ? -Infinity : value)).map(Math.fround), 1e-6, spec);
  }
  const { spec, values } = await call('table', ['', { file: 't5.safetensors', rows: 8 }]);
  expect([spec.startsWith('t5:'), values.some((value) => value !== 0)], [true, true], 't5 as it was trained');
  expect(await error_of(call('table', ['rope:theta=no', {}])),
    'rope: theta: expected a plain decimal number from 0.0001 to 1000000000000, found no', 'a wrong spec');
});

await test('hostile files', async () => {
  const manifest = new Map(readFileSync('tests/malformed/manifest.csv', 'utf8').split('\n')
    .filter((line) => line && !line.startsWith('#') && !line.startsWith('file,'))
    .map((line) => { const [file, stage, exit, ...phrase] = line.split(','); return [file, { stage, exit, phrase: phrase.join(',') }]; }));
  const files = readdirSync(malformed);
  expect(files.length, manifest.size, 'number of files');
  for (const file of files) {
    const { stage, phrase } = manifest.get(file), bytes = readFileSync(`${malformed}/${file}`);
    const dropped = Object.assign(new Blob([bytes]), { name: file });
    const message = await error_of(call('open', [dropped]).then((model) => call('next', [model.file, 'a', 1])));
    if (stage === 'none') expect(message, '', file);
    else if (!message.includes(phrase)) throw new Error(`${file}: expected "${phrase}", found "${message}"`);
  }
  expect(await error_of(call('open', [Object.assign(new Blob(['# A text\n']), { name: 'README.md' })])) !== '', true, 'a text file is refused');
  expect((await call('generate', ['rope.safetensors', { prompt: 'Once', count: 3, temperature: 0 }])).tokens, 3, 'the engine still works');
  return `${files.length} files`;
});

console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
