// SPDX-License-Identifier: MIT
// Tests the page in headless Chromium: each view at two widths, light and dark, and a reader's actions.
//   node browser.mjs FOLDER [URL]    FOLDER: build/web, which this program serves unless a URL is given
import { createServer } from 'node:http';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { extname, join, normalize, resolve } from 'node:path';
import { Chromium, find_chromium } from './chromium.mjs';

const [folder, address] = process.argv.slice(2), pictures = process.env.PICTURES; // a folder for screenshots
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm',
  '.json': 'application/json', '.svg': 'image/svg+xml' };
let spoil = () => null; // another answer for a path: [status, type, text]
const server = createServer(({ url }, answer) => {
  const path = decodeURIComponent(new URL(url, 'http://localhost').pathname);
  const file = join(folder, normalize(path === '/' ? '/index.html' : path));
  try {
    if (!statSync(file).isFile()) throw new Error('no file');
    const spoilt = spoil(path, () => readFileSync(file, 'utf8'));
    if (spoilt) return void answer.writeHead(spoilt[0], { 'content-type': spoilt[1] }).end(spoilt[2]);
    answer.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' });
    answer.end(readFileSync(file));
  } catch { answer.writeHead(404).end(); }
});
const program = find_chromium();
if (!program) { console.log('skipped: no chromium here'); process.exit(0); }
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const base = address ?? `http://127.0.0.1:${server.address().port}/`;

let passed = 0, failed = 0;
function check(name, found, expected = true) {
  if (JSON.stringify(found) === JSON.stringify(expected)) return void ++passed;
  ++failed;
  console.log(`FAILED: ${name}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`);
}

// A view is ready when its own words are there.
const ready = {
  write: `/^Finished/.test(document.querySelector('#write .status').textContent)`,
  proof: `/^Up to/.test(document.querySelector('.proof .said').textContent)`,
  attention: `document.querySelectorAll('#attention tbody tr').length > 2`,
  encoding: `document.querySelectorAll('#encoding canvas').length > 2 &&
    !document.querySelector('.pictures[aria-busy=true]')`,
  order: `/^In this pair, the order changes/.test(document.querySelector('#order .status').textContent)`,
};

// Runs in the page: the faults of the view that is shown.
function faults() {
  const found = [], { clientWidth: width, scrollWidth } = document.documentElement;
  const view = document.querySelector('main > section:not([hidden])');
  if (scrollWidth > width) found.push(`the page is ${scrollWidth} wide`);
  for (const part of document.querySelectorAll('body *')) {
    const box = part.getBoundingClientRect(), hidden = part.closest('.sr, .skip, [hidden], .wide table');
    if (!hidden && box.width && box.right > width + 1)
      found.push(`too wide: ${part.tagName} ${part.className} ${part.textContent.slice(0, 40)}`);
  }
  for (const frame of view.querySelectorAll('.wide'))
    if (frame.scrollWidth > frame.clientWidth) found.push(`a table of ${frame.scrollWidth} in ${frame.clientWidth}`);
  for (const control of view.querySelectorAll('input:not([type=hidden]), textarea, select'))
    if (!control.labels?.length || !control.labels[0].textContent.trim()) found.push(`no label: ${control.name}`);
  for (const button of view.querySelectorAll('button, [role=radio]'))
    if (!(button.ariaLabel ?? button.textContent).trim()) found.push('a button without a name');
  for (const canvas of view.querySelectorAll(':not([hidden]) > canvas')) {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    if (!data.some((value) => value)) found.push('an empty canvas');
    if (canvas.getAttribute('role') === 'img' && !canvas.ariaLabel) found.push('a picture without words');
  }
  if (document.querySelectorAll('section:not([hidden]) h1').length !== 1) found.push('not one h1');
  return found;
}

const chromium = new Chromium(program);
const $ = (query) => `document.querySelector(${JSON.stringify(query)})`;
const all = (query) => `[...document.querySelectorAll(${JSON.stringify(query)})]`;
const text = (query) => `${$(query)}.textContent`, words = (query) => `${all(query)}.map((part) => part.textContent)`;
const set = (query, value) => `{ const control = ${$(query)}; control.value = ${JSON.stringify(value)};
  for (const type of ['input', 'change']) control.dispatchEvent(new Event(type, { bubbles: true })); }`;

async function test(name, width, dark, run, spoils = false) {
  const page = await chromium.page(width, 900, dark);
  try { await run(page); } catch (error) {
    check(name, error.message, 'no error');
    console.log(await page.evaluate(`${text('main > section:not([hidden])')}.replace(/\\s+/g, ' ').slice(-800)`));
  }
  if (!spoils) check(`${name}: the console`, page.errors, []);
  const others = page.requests.filter((url) => !/^(data|blob|about|file):/.test(url) && !url.startsWith(base));
  check(`${name}: requests to other machines`, others, []);
  await page.close();
}

try {
  for (const width of [1280, 390])
    for (const dark of [false, true])
      await test(`${width} px, ${dark ? 'dark' : 'light'}`, width, dark, async (page) => {
        await page.open(base);
        for (const view of ['write', 'attention', 'encoding', 'order']) {
          // The bare address opens on writing; with #write, the guide's last step would be open too.
          if (view !== 'write') await page.evaluate(`location.hash = '#${view}'`);
          await page.until(ready[view], 60);
          if (view === 'write') {
            await page.until(ready.proof, 120);
            const means = `${text('.proof .said')}.match(/[\\d.]+(?= for)/g).map(Number)`;
            // ordo perplexity --by-position on the same tokens orders the two models alike
            const [rope, alibi, rope_after, alibi_after] = await page.evaluate(means);
            check('the proof', Math.abs(rope - alibi) < 0.2 && rope_after > alibi_after + 0.5);
            const mark = `${all('.reads .past')}.map((mark) => mark.nextElementSibling.dataset.i)`;
            check('its story, read twice', await page.evaluate(mark), ['255', '255']);
            const end = await page.evaluate(`${$('.proof')}.getBoundingClientRect().bottom`);
            check(`it comes first, ${Math.round(end)}`, end < (width > 900 ? 800 : 1250));
            check('the guide', await page.evaluate(`${all('.guide a')}.length`), 5);
          }
          check(`${view}, ${width} px, ${dark ? 'dark' : 'light'}`, await page.evaluate(`(${faults})()`), []);
          const file = `${view}-${width}-${dark ? 'dark' : 'light'}.png`;
          if (pictures) writeFileSync(join(pictures, file), await page.picture());
        }
      });

  for (const [width, dark] of [[1280, false], [390, true]])
    await test(`questions, ${width} px`, width, dark, async (page) => {
      await page.open(`${base}questions.html`);
      await page.until(`${all('main img')}.length && ${all('main img')}.every(({ complete }) => complete)`);
      check('twenty questions and answers, all pictures and no Markdown', await page.evaluate(`[${all('h2')}.length,
        ${all('h2 + blockquote')}.length,
        ${all('main img')}.filter((picture) => !picture.naturalWidth).map(({ src }) => src),
        /\\*\\*|\\]\\(|\`|<!--|^#/m.test(${text('main')})]`), [20, 20, [], false]);
      check('their faults', await page.evaluate(`(${faults})()`), []);
      if (pictures) writeFileSync(join(pictures, `questions-${width}-${dark ? 'dark' : 'light'}.png`), await page.picture());
      const links = await page.evaluate(`${all('main a')}.map(({ href }) => href).filter((href) => href.includes('/#'))`);
      check('links into the views', links.length >= 12);
      if (width === 390) return;
      await page.open(`${base}#encoding`);
      await page.until(ready.encoding, 60);
      for (const hash of links.map((link) => link.slice(link.indexOf('#')))) { // the page drops values that are usual
        const [view, query] = hash.split('?'), wanted = new URLSearchParams(query);
        await page.evaluate(`location.hash = '${hash}'`);
        await page.until(`!${$(`section${view}`)}.hidden`);
        check(`${hash}: known`, await page.evaluate(text('#alert')), '');
        for (const [key, value] of new URLSearchParams((await page.evaluate('location.hash')).split('?')[1]))
          check(`${hash}: ${key}`, value, wanted.get(key));
        check(`${hash}: encodings`, (await page.evaluate(`${all(`${view} .chips :checked`)}.map(({ value }) => value)`)).sort(),
          wanted.get('e').split(',').sort());
      }
    });

  await test('writing', 1280, false, async (page) => {
    await page.open(`${base}#write?e=alibi&n=20`);
    await page.until(ready.write, 60);
    await page.evaluate(`${$('#write-p')}.select(), ${$('#write-p')}.focus()`);
    await page.type('The old dog');
    await page.press('Enter', 2); // Ctrl
    await page.until(`${text('#write .story')}.startsWith('The old dog') && ${ready.write}`);
    check('the words of a story', await page.evaluate(`${text('#write .story')}.split(' ').length > 10`));
    check('the address has the beginning', await page.evaluate('location.hash'), '#write?p=The+old+dog&n=20&e=alibi');
    await page.evaluate(`${$('#write .made')}.previousElementSibling.focus()`);
    await page.press('ArrowRight');
    const card = `[!${$('#card')}.hidden, /had .* %/.test(${text('#card')}), document.activeElement.className]`;
    check('the card of a token', await page.evaluate(card), [true, true, 'made']);
    await page.press('Escape');
    check('Escape closes the card', await page.evaluate(`${$('#card')}.hidden`));
    const story = await page.evaluate(text('#write .story'));
    await page.open('about:blank');
    await page.open(`${base}#write?p=The+old+dog&n=20&e=alibi`);
    await page.until(ready.write, 60);
    check('the address restores the story', await page.evaluate(text('#write .story')), story);
  });

  await test('the trained length', 390, false, async (page) => {
    await page.open(`${base}#write?e=alibi&n=300&end=on`);
    await page.until(ready.write, 90);
    const marks = `${all('.past')}.map((mark) => [mark.textContent, mark.nextElementSibling.dataset.i])`;
    check('the mark', await page.evaluate(marks), [['256 tokens: the trained length ends here', '256']]);
    await page.evaluate(set('#write-scaling', 'linear'));
    await page.evaluate(`${$('#write [value=rope]')}.click()`);
    await page.until(`document.querySelectorAll('#write .panel').length === 3 && ${ready.write}`, 90);
    check('RoPE, and RoPE with scaling', await page.evaluate(words('#write .panel h2')), ['rope', 'rope, linear × 2', 'alibi']);
    check('scaling changes the text', await page.evaluate(`new Set(${words('.story')}).size`), 3);
    await page.evaluate(set('#write-n', '600'));
    await page.until(`!${$('.stop')}.disabled && ${text('.story')}.length > 40`);
    await page.evaluate(`${$('.stop')}.click()`);
    await page.until(`${$('.stop')}.disabled`);
    check('Stop', await page.evaluate(`/^Stopped after/.test(${text('#write .note')})`));
  });

  await test('attention', 1280, false, async (page) => {
    await page.open(`${base}#attention?e=rope&l=2&h=3&q=4`);
    await page.until(ready.attention, 60);
    const head = $('.strip [aria-checked=true]');
    const chosen = `[${head}.ariaLabel, ${text('#attention caption')}.replace(/“.*”/, '')]`;
    check('the address restores it', await page.evaluate(chosen), ['layer 3, head 4', 'From , word 5']);
    await page.evaluate(`${head}.focus()`);
    await page.press('ArrowRight');
    check('the next head by the keyboard', await page.evaluate(chosen), ['layer 4, head 1', 'From , word 5']);
    await page.evaluate(`${$('.sentence .attends')}.focus()`);
    await page.press('ArrowRight');
    check('the next word by the keyboard', await page.evaluate(chosen), ['layer 4, head 1', 'From , word 6']);
    check('its address', await page.evaluate('location.hash'), '#attention?e=rope&l=3&q=5');
    const added = words('#attention tbody td:nth-child(3)');
    check('RoPE changes scores', await page.evaluate(`${added}.some((value) => value !== '0')`));
    await page.evaluate(`location.hash = '#attention?e=none'`);
    await page.until(`/^none has/.test(${text('#attention .status')})`);
    check('none changes no score', await page.evaluate(`${added}.every((value) => value === '0')`));
    await page.evaluate(set('#attention-t', 'word '.repeat(80)));
    await page.until(`/first 45 words/.test(${text('#attention .status')})`);
  });

  await test('the encodings', 390, true, async (page) => {
    await page.open(`${base}#encoding`);
    await page.until(ready.encoding, 60);
    const names = await page.evaluate(words('#encoding .chip'));
    check('the number of encodings', names.length >= 18);
    const seen = `${all('.pictures canvas')}.map((canvas) => canvas.toDataURL()).join() + ${text('.pictures')}`;
    const sliders = `${all('#encoding .dial:not([hidden]) input[type=range]')}.map(({ name }) => name)`;
    for (const name of names) {
      await page.evaluate(`location.hash = '#encoding?e=${name}'`);
      await page.until(`${text('.facts h2')} === '${name}' && ${$('.pictures')}.ariaBusy === 'false'`, 60);
      check(`${name}: faults`, await page.evaluate(`(${faults})()`), []);
      const said = { t5: 'These are the numbers of the trained model t5.', rope: '',
        sink: 'Training begins with these numbers.' };
      if (name in said) check(`${name}: the source`, await page.evaluate(text('#encoding .status')), said[name]);
      check(`${name}: pictures`, await page.evaluate(`${$('.pictures :is(canvas, .list)')} !== null`), name !== 'none');
      for (const slider of await page.evaluate(sliders)) {
        if (['factor', 'head', 'layer', 'distance'].includes(slider)) continue; // may be without effect
        await page.evaluate(`window.before = ${seen}`);
        await page.evaluate(`{ const control = ${$(`#encoding [name="${slider}"]`)};
          control.value = control.value === control.max ? control.min : control.max;
          control.dispatchEvent(new Event('input', { bubbles: true })); }`);
        const changed = await page.until(`window.before !== ${seen}`, 20).then(() => true, () => false);
        check(`${name}: ${slider} changes the picture`, changed);
      }
    }
  });

  await test('order', 1280, true, async (page) => {
    await page.open(`${base}#order?e=rope`);
    await page.until(`document.querySelectorAll('#order tbody tr').length === 6`, 60);
    check('the order changes the next word', await page.evaluate(`/^[1-9]/.test(${text('.change b')})`));
    await page.evaluate(set('#order-b', await page.evaluate(`${$('#order-a')}.value`)));
    await page.until(`/^Both sentences are the same/.test(${text('#order .status')})`);
    check('the same order changes nothing', await page.evaluate(text('.change b')), '0 %');
    await page.evaluate(set('#order-b', 'The cat bit the dog. The'));
    await page.until(`/more than their order: man, cat/.test(${text('#order .status')})`);
  });

  // What cannot start says so, after three seconds at most.
  const no = /^The engine did not start/, never = /^The page has not started yet.*web server.*WebAssembly/s;
  for (const [name, wrong, told] of [
    ['a script of another type', (path, read) => path.endsWith('.js') && [200, 'text/plain', read()], never],
    ['a worker of another type', (path, read) => path === '/worker.js' && [200, 'text/plain', read()], no],
    ['no worker', (path) => path === '/worker.js' && [404, 'text/plain', ''], no],
    ['no engine', (path) => path === '/ordo.js' && [404, 'text/plain', ''], no],
    ['an engine that is a page', (path) => path === '/ordo.wasm' && [200, 'text/html', '<html>'], no],
    ['no WebAssembly', (path, read) => path === '/worker.js' &&
      [200, 'text/javascript', `delete globalThis.WebAssembly;${read()}`], /not start.*with WebAssembly, found none/]])
    if (!address) await test(name, 1280, false, async (page) => {
      spoil = wrong;
      await page.open(base);
      await page.until(`${told}.test(${$('#alert')}.innerText)`); // innerText has what is visible
      spoil = () => null;
    }, true);
  await test('a page without a server', 1280, false, async (page) => {
    await page.open(`file://${resolve(folder)}/index.html`);
    await page.until(`${never}.test(${$('#alert')}.innerText)`);
  }, true);

  await test('odd addresses', 1280, false, async (page) => {
    const at = async (hash, ready) => {
      await page.open('about:blank');
      await page.open(base + hash);
      await page.until(ready, 60);
    };
    for (const hash of ['#toString', '#__proto__']) await at(`${hash}?e=none&n=20`, `!${$('#write')}.hidden`);
    await at('#attention?e=alibi&l=-5&h=abc', ready.attention);
    check('the first head', await page.evaluate(text('#attention .which')), 'Layer 1, head 1');
    check('what a head can be', await page.evaluate(`/h: expected a whole number from 0 to 3, found abc/.test(${text('#attention .status')})`));
    const places = `new Set(${all('#attention tbody .meter')}.map((bar) => bar.getBoundingClientRect().left)).size`;
    check('the bars begin at one place', await page.evaluate(places), 1);
    await at('#encoding?e=rope&theta=abc', ready.encoding);
    check('theta', await page.evaluate(`Math.round(10 ** ${$('#encoding [name=theta]')}.value)`), 10000);
    check('what theta can be', await page.evaluate(text('#alert')),
      'theta: expected a number from 10 to 1,000,000, found abc. The page uses 10,000.');
    check('a factor without a scaling', await page.evaluate(`${$('#encoding [name=factor]')}.parentNode.hidden`));
    await at('#encoding?e=foo', `/has the name foo/.test(${text('#alert')})`);
    await at(`#write?e=none&n=20&p=${'x'.repeat(1 << 20)}`, `${$('#write-p')}.value.length === 2000`);
    await at('#write?e=alibi&n=20', ready.write);
    const dials = `[${$('#write-scaling')}.hidden, ${$('#write-factor')}.hidden]`;
    check('no scaling without RoPE', await page.evaluate(dials), [true, true]);
    await page.evaluate(`${$('#write [value=rope]')}.click()`);
    check('no factor without a scaling', await page.evaluate(dials), [false, true]);
  });

  await test('a seventh chip', 1280, false, async (page) => {
    await page.open(`${base}#write?e=none,rope,alibi,t5,sinusoidal,learned&n=600&end=on`);
    await page.until(`!${$('.stop')}.disabled && ${text('.story')}.length > 40`, 60);
    await page.evaluate(`${$('.stop')}.click()`);
    await page.until(`/^Stopped: /.test(${text('#write .status')})`);
    await page.evaluate(`${$('#write [value=cope]')}.click()`);
    const still = `[/^At most 6/.test(${text('#write .status')}), ${$('.stop')}.disabled]`;
    check('it restarts nothing', await page.evaluate(still), [true, true]);
    check('it is not chosen', await page.evaluate(`${$('#write [value=cope]')}.checked`), false);
  });

  await test('files', 1280, false, async (page) => {
    await page.open(`${base}#write?e=none&n=20`);
    await page.until(ready.write, 60);
    const drop = (name, bytes) => page.evaluate(`(async () => {
      const files = new DataTransfer();
      files.items.add(new File([${bytes}], '${name}'));
      dispatchEvent(new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true })); })()`);
    await drop('hostile.safetensors', 'new Uint8Array(4096).fill(255)');
    await page.until(`${text('#alert')} !== ''`);
    check('an error in words', await page.evaluate(text('#alert')),
      'hostile.safetensors: header length is 18446744073709551615, but only 4088 bytes follow');
    await drop('cut.safetensors', `(await (await fetch('weights/alibi.safetensors')).arrayBuffer()).slice(0, 100000)`);
    await page.until(`${text('#alert')}.startsWith('cut.safetensors: ')`);
    await drop('mine.safetensors', `await (await fetch('weights/alibi.safetensors')).arrayBuffer()`);
    await page.until(`document.querySelectorAll('#write .panel').length === 2 && ${ready.write}`, 60);
    const writers = `[${text('#alert')}, ...${words('#write .panel h2')}]`;
    check('a file of the reader writes', await page.evaluate(writers), ['', 'none', 'mine']);
  });
} finally {
  await chromium.close();
  server.close();
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
