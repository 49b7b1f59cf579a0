// SPDX-License-Identifier: MIT
// Measures the page's engine in headless Chromium: the seconds from an empty cache to the first new token, and tokens
// per second, the best of five texts of 200 tokens.
//   node measure.mjs URL    of build/web on a server: python3 -m http.server -d build/web
import { Chromium, find_chromium } from './chromium.mjs';

const base = process.argv[2];
const chromium = new Chromium(find_chromium());
const page = await chromium.page(1280, 900, false);
await page.open(new URL('models.json', base).href); // a page of the same origin, without the views
await page.until('document.readyState === "complete"');
const figures = await page.evaluate(`(async () => {
  const start = performance.now(), { Engine } = await import('/engine.js'), engine = new Engine();
  const write = async (file, count = 200) => {
    let first = 0;
    const note = (token) => { if (!token.prompt) first ||= performance.now(); };
    const begin = performance.now();
    const { tokens, rate } = await engine.generate(file, { prompt: 'Once upon a time', count, ignore_end: true }, note);
    return { first: (first - start) / 1000, rate, wall: 1000 * tokens / (performance.now() - begin) };
  };
  const { first } = await write('rope.safetensors', 1), lines = ['first token: ' + first.toFixed(2) + ' s'];
  for (const file of ['rope.safetensors', 'alibi.safetensors', 'storyteller.safetensors']) {
    let rate = 0, wall = 0;
    for (let i = 0; i < 5; ++i) {
      const now = await write(file);
      rate = Math.max(rate, now.rate);
      wall = Math.max(wall, now.wall);
    }
    lines.push(file + ': ' + Math.round(rate) + ' tokens/s of decoding, ' + Math.round(wall) + ' with all else');
  }
  return lines.join('\\n');
})()`);
console.log(figures);
await chromium.close();
