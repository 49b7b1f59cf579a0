// SPDX-License-Identifier: MIT
// Runs the engine for engine.js. A message {id, method, args} is answered by {id, result} or {id, error}, after any
// number of {id, event: [...]}.
import createOrdo from './ordo.js';

const LONGEST_TEXT = 1 << 20; // characters, which pass through the engine's stack
const here = (path) => new URL(path, import.meta.url);

async function get(path) {
  const response = await fetch(here(path)).catch((error) => { throw new Error(`${path}: ${error.message}`); });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${response.statusText}`);
  return response;
}

async function begin() {
  if (!globalThis.WebAssembly) throw new Error('expected a browser with WebAssembly, found none');
  return createOrdo({ wasmBinary: await (await get('ordo.wasm')).arrayBuffer() });
}
const engine = begin();
const shipped = get('models.json').then((response) => response.json());
for (const promise of [engine, shipped]) promise.catch(() => {}); // the methods that wait get the error
let ordo; // once `engine` is there

// ---- Calls of the engine ------------------------------------------------------------------------

function call(method, request) {
  const text = JSON.stringify(request);
  if (text.length > LONGEST_TEXT)
    throw new Error(`text: expected at most ${LONGEST_TEXT} characters, found ${text.length}`);
  const answer = JSON.parse(ordo.ccall('ordo_call', 'string', ['string', 'string'], [method, text]));
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer;
}

// The list of numbers that belongs to the last answer, in equal parts.
function numbers(parts) {
  const at = ordo._ordo_numbers() / 4, size = ordo._ordo_number_count() / parts;
  return Array.from({ length: parts }, (_, i) => ordo.HEAPF32.slice(at + i * size, at + (i + 1) * size));
}

// ---- Models -------------------------------------------------------------------------------------

const opened = new Map(); // the name of a file -> a promise of its description

async function read(response, total, onProgress) {
  const bytes = new Uint8Array(total);
  let size = 0;
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (size + value.length > total) throw new Error(`expected ${total} bytes, found more`);
    bytes.set(value, size);
    onProgress(size += value.length, total);
  }
  return bytes.subarray(0, size);
}

function load(file, name, bytes) {
  ordo.FS.writeFile(name, bytes, { canOwn: true });
  try {
    return { ...call('open', { file, path: name }), name: name.replace(/\.[a-z0-9]+$/i, ''), bytes: bytes.length };
  } finally {
    ordo.FS.unlink(name);
  }
}

async function openShipped(file, onProgress) {
  const model = (await shipped).find((each) => each.file === file);
  if (!model) throw new Error(`${file}: expected a shipped model or one that is open`);
  return load(file, file, await read(await get(`weights/${file}`), model.bytes, onProgress));
}

let drops = 0;

function open(file, onProgress = () => {}) {
  if (typeof file !== 'string') {
    const name = file.name.replaceAll('/', '_'), key = `${++drops}: ${name}`; // each dropped file is another one
    const model = file.arrayBuffer().then((buffer) => load(key, name, new Uint8Array(buffer)));
    model.then(() => opened.set(key, model), () => {});
    return model;
  }
  if (!opened.has(file)) {
    opened.set(file, openShipped(file, onProgress));
    opened.get(file).catch(() => opened.delete(file)); // the next call tries again
  }
  return opened.get(file);
}

// ---- Writing ------------------------------------------------------------------------------------

const running = new Set(); // {id, writer, spec, stopped, resolve, reject}
let turning = false;

const pause = () => new Promise((resolve) => {
  const channel = new MessageChannel();
  channel.port1.onmessage = () => { channel.port1.close(); resolve(); };
  channel.port2.postMessage(null);
});

function turn(job) {
  try {
    const { tokens, more } = call('step', { writer: job.writer });
    for (const token of tokens) postMessage({ id: job.id, event: [token] });
    if (more && !job.stopped) return;
    running.delete(job);
    const result = call('finish', { writer: job.writer });
    job.resolve({ ...result, ended: more ? 'stopped' : result.ended, spec: job.spec });
  } catch (error) {
    running.delete(job);
    try {
      call('finish', { writer: job.writer });
    } catch {} // the first error counts
    job.reject(error);
  }
}

// Each running text gets a token in turn. Messages, such as stop, are read about 60 times a second.
async function takeTurns() {
  if (turning) return;
  turning = true;
  for (let rested = performance.now(); running.size > 0;) {
    for (const job of [...running]) turn(job);
    if (performance.now() - rested < 16) continue;
    await pause();
    rested = performance.now();
  }
  turning = false;
}

async function generate(id, file, options) {
  await open(file);
  const { writer, spec } = call('begin', { file, scaling: '', ...options });
  return new Promise((resolve, reject) => {
    running.add({ id, writer, spec, stopped: false, resolve, reject });
    takeTurns();
  });
}

// ---- Messages -----------------------------------------------------------------------------------

const methods = {
  models: () => shipped,
  encodings: () => call('encodings', {}),
  open: (id, file) => open(file, (...event) => postMessage({ id, event })),
  generate,
  stop: async () => { for (const job of running) job.stopped = true; },
  attention: async (_, file, text) => {
    await open(file);
    const answer = call('attention', { file, text }), [weights, scores, plain] = numbers(3);
    return { ...answer, weights, scores, plain };
  },
  next: async (_, file, text, count) => { await open(file); return call('next', { file, text, count }); },
  tokens: async (_, file, text) => { await open(file); return call('tokens', { file, text }); }, // for tests
  logits: async (_, file, text) => { // likewise
    await open(file);
    return { ...call('logits', { file, text }), logits: numbers(1)[0] };
  },
  table: async (_, spec, request) => {
    if (request.file) await open(request.file);
    return { ...call('table', { spec, what: '', file: '', ...request }), values: numbers(1)[0] };
  },
};

onmessage = async ({ data: { id, method, args } }) => {
  try {
    if (method !== 'models') ordo = await engine;
    postMessage({ id, result: await methods[method](id, ...args) });
  } catch (error) {
    const trap = globalThis.WebAssembly && error instanceof WebAssembly.RuntimeError;
    postMessage({ id, error: trap ? `the engine ended: ${error.message}` : error.message });
  }
};
