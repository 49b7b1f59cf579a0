// SPDX-License-Identifier: MIT
// The engine for the page: a worker computes, and each method returns a Promise. An Error has Ordo's own sentence.

export class Engine {
  #worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
  #calls = new Map(); // id -> {resolve, reject, onEvent}
  #last = 0;
  #failure = null; // of the worker, which then answers no call

  constructor() {
    this.#worker.onmessage = ({ data }) => {
      const call = this.#calls.get(data.id);
      if (!call) return;
      if ('event' in data) return call.onEvent?.(...data.event);
      this.#calls.delete(data.id);
      if ('error' in data) call.reject(new Error(data.error));
      else call.resolve(data.result);
    };
    this.#worker.onerror = (event) => {
      const reason = event.message || 'it, or ordo.js, did not load as text/javascript';
      this.#failure = new Error(`worker.js: ${reason}`);
      for (const call of this.#calls.values()) call.reject(this.#failure);
      this.#calls.clear();
    };
  }

  #call(method, args, onEvent) {
    return new Promise((resolve, reject) => {
      if (this.#failure) return reject(this.#failure);
      this.#calls.set(++this.#last, { resolve, reject, onEvent });
      this.#worker.postMessage({ id: this.#last, method, args });
    });
  }

  // The shipped files: [{file, name, encoding, bytes}].
  models() { return this.#call('models', []); }

  // The encodings of the registry: [{name, summary, formula, paper, acts, trainable, cost, tables, parameters}]. acts:
  // the moments at which it acts, such as 'rotate' or 'bias+rescore'; cost: the operations that it adds to a pass over
  // 256 tokens through the layers of the shipped models, in percent; tables: the names for table()'s `what`, the main
  // one first; parameters: [{name, help, default, min, max, integer, words}]. default is a text. A parameter with words
  // (a list) is one of them, without min and max. A parameter without words, min and max is a list of numbers.
  encodings() { return this.#call('encodings', []); }

  // Opens `file` of models(), or a File that the reader dropped. onProgress(loadedBytes, totalBytes).
  // -> {file, name, encoding, dim, layers, heads, head_dim, vocabulary, trained, reach, parameters, bytes}. trained:
  // the context in tokens. reach: the number of positions that the encoding has, null for no limit. The model stays
  // open. The other methods take the `file` of this result, and open a shipped file themselves.
  open(file, onProgress) { return this.#call('open', [file], onProgress); }

  // Continues a prompt. scaling: '' or keys of RoPE, such as 'scaling=yarn,factor=4'. Each option but the prompt may be
  // missing; temperature, top_k, top_p and min_p then are the model's own. The text is that of `ordo generate -c
  // CAPACITY`; capacity: the tokens of prompt and text together, by default as many as asked for. ignore_end: true does
  // not stop at the end of the text (--ignore-eos).
  // onToken({text, id, probability, position, beyond, prompt, alternatives: [{text, id, probability}]}). The tokens of
  // the prompt come first, with prompt: true; the probabilities are the model's, at temperature 1, null for the first
  // token. beyond: the position is beyond the trained context.
  // -> {text, tokens, seconds, rate, ended, spec}. tokens: the number of new tokens; rate: new tokens per second of
  // this model's own time; ended: 'max_tokens', 'end_of_text', 'full' or 'stopped'; spec: the encoding in use.
  generate(file, options, onToken) { return this.#call('generate', [file, options], onToken); }

  // Ends the running generate() calls after their next token.
  stop() { return this.#call('stop', []); }

  // One pass over a text, after the start token: {tokens: [text], layers, heads, adds, weights, scores, plain}. The
  // last three are Float32Arrays [layers * heads * n * n], with a row for each query. A masked entry is 0 in weights,
  // and NaN in the others. weights: the softmax of scores. plain: the products of queries and keys, scaled, before the
  // encoding acts in this layer. adds: 'bias', 'rotation', 'input' or 'nothing'. For 'input', plain has the scores of a
  // second pass of the same weights without the encoding.
  attention(file, text) { return this.#call('attention', [file, text]); }

  // The k most probable next tokens: [{text, id, probability}].
  next(file, text, k) { return this.#call('next', [file, text, k]); }

  // The engine's own table of an encoding, as `ordo table` prints it: {kind, spec, columns: [name], rows, values}.
  // request: {rows, start, heads, dim, head, layer, what, file}, each optional. rows: the number of positions; start:
  // the first; what: one of the encoding's tables; file: a model, whose trained numbers are shown if spec is ''. kind:
  // the name of the table. values: a Float32Array [rows * columns.length].
  table(spec, request) { return this.#call('table', [spec, request]); }
}
