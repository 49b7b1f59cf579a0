// SPDX-License-Identifier: MIT
// Drives a headless Chromium through the pipe of its devtools protocol.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export function find_chromium() {
  for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
    const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
    if (found) return found;
  }
  return null;
}

export class Chromium {
  #last = 0;
  #calls = new Map();
  #heard = []; // {method, listen}
  #profile = mkdtempSync(join(tmpdir(), 'ordo-web-'));

  constructor(program) {
    const options = ['--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--disable-dev-shm-usage',
      '--remote-debugging-pipe', `--user-data-dir=${this.#profile}`, 'about:blank'];
    this.process = spawn(program, options, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], detached: true });
    let rest = '';
    this.process.stdio[4].setEncoding('utf8').on('data', (text) => {
      const messages = (rest + text).split('\0');
      rest = messages.pop();
      for (const message of messages) this.#receive(JSON.parse(message));
    });
  }

  #receive({ id, result, error, method, params, sessionId }) {
    if (id) {
      const { resolve, reject } = this.#calls.get(id);
      this.#calls.delete(id);
      if (error) reject(new Error(error.message)); else resolve(result);
    }
    for (const heard of this.#heard) if (heard.method === method && heard.session === sessionId) heard.listen(params);
  }

  send(method, params = {}, sessionId) {
    return new Promise((resolve, reject) => {
      this.#calls.set(++this.#last, { resolve, reject });
      this.process.stdio[3].write(`${JSON.stringify({ id: this.#last, method, params, sessionId })}\0`);
    });
  }

  // A page of this width. errors collects all that the console and the page complain about.
  async page(width, height, dark) {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId: session } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const send = (method, params) => this.send(method, params, session), errors = [], requests = [];
    const on = (method, listen) => this.#heard.push({ method, session, listen });
    on('Runtime.exceptionThrown', ({ exceptionDetails: { text, exception } }) =>
      errors.push(exception?.description ?? text));
    on('Runtime.consoleAPICalled', ({ type, args }) => {
      if (/error|warning/.test(type)) errors.push(args.map(({ value, description }) => value ?? description).join(' '));
    });
    on('Log.entryAdded', ({ entry: { level, text, url = '' } }) => {
      if (/error|warning/.test(level)) errors.push(`${text} ${url}`);
    });
    on('Network.requestWillBeSent', ({ request }) => requests.push(request.url));
    for (const domain of ['Runtime', 'Log', 'Page', 'Network']) await send(`${domain}.enable`);
    await send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 500 });
    const features = [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }];
    await send('Emulation.setEmulatedMedia', { features });
    const evaluate = async (expression) => {
      const options = { expression, awaitPromise: true, returnByValue: true };
      const { result, exceptionDetails: thrown } = await send('Runtime.evaluate', options);
      if (thrown) throw new Error(thrown.exception?.description ?? thrown.text);
      return result.value;
    };
    return { evaluate, errors, requests,
      open: (url) => send('Page.navigate', { url }),
      // Waits until the expression is true.
      until: async (expression, seconds = 30) => {
        for (const end = Date.now() + 1000 * seconds; Date.now() < end; await pause(50))
          if (await evaluate(`Boolean(${expression})`).catch(() => false)) return; // not yet loaded counts as false
        throw new Error(`expected within ${seconds} s: ${expression}`);
      },
      type: async (text) => { await send('Input.insertText', { text }); },
      press: async (key, modifiers = 0) => {
        const windowsVirtualKeyCode = { Enter: 13, ArrowRight: 39, Escape: 27 }[key];
        for (const type of ['rawKeyDown', 'keyUp'])
          await send('Input.dispatchKeyEvent', { type, key, code: key, modifiers, windowsVirtualKeyCode });
      },
      picture: async () => {
        const { cssContentSize } = await send('Page.getLayoutMetrics');
        const clip = { x: 0, y: 0, width, height: Math.ceil(cssContentSize.height), scale: 1 };
        const { data } = await send('Page.captureScreenshot', { captureBeyondViewport: true, clip });
        return Buffer.from(data, 'base64');
      },
      close: () => this.send('Target.closeTarget', { targetId }) };
  }

  async close() {
    const ended = new Promise((done) => this.process.once('exit', done));
    await Promise.race([this.send('Browser.close').then(() => ended), pause(5000)]);
    try { process.kill(-this.process.pid); } catch { /* has ended */ }
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 9, retryDelay: 300 });
  }
}
