// SPDX-License-Identifier: MIT
// Attention: the scores of each layer and head without the encoding, the change by it, and the weights.
import { $, $$, bar, el, hide_card, is_special, later, percent } from './kit.js';
import { largest, range, rove, show_card, signed, visible } from './kit.js';
import { diverging, rising, thumbnail, word_map } from './draw.js';

const most_words = 45; // of a readable map
const section = $('#attention'), maps = $$('.maps canvas', section);
const [form, status, result] = ['form', '.status', '.result'].map((query) => $(query, section));
const [strip, sentence] = ['.strip', '.sentence'].map((query) => $(query, section));
let app, state, found = null, words = [], asked = '', cell_at = [];

// Functions of a row and a column of one layer and head: the score without the encoding, the change by it, the weight.
function numbers(layer = Number(state.l), head = Number(state.h)) {
  const n = words.length, start = (layer * found.heads + head) * n * n;
  const at = (get) => (row, col) => col > row ? NaN : get(start + row * n + col);
  return [at((i) => found.plain[i]), at((i) => found.scores[i] - found.plain[i]), at((i) => found.weights[i])];
}

const query = () => Math.min(words.length - 1, state.q === '' ? Infinity : Math.max(0, Math.floor(state.q) || 0));

function draw_strip() {
  strip.replaceChildren();
  for (let layer = 0; layer < found.layers; ++layer) {
    const group = el('div', { className: 'layer' }, el('span', {}, `layer ${layer + 1}`));
    strip.append(group);
    for (let head = 0; head < found.heads; ++head) {
      const title = `layer ${layer + 1}, head ${head + 1}`, canvas = el('canvas');
      const button = el('button', { type: 'button', role: 'radio', title, ariaLabel: title }, canvas);
      Object.assign(button.dataset, { layer, head });
      group.append(button);
      thumbnail(canvas, words.length, numbers(layer, head)[2], rising(section));
    }
  }
}

function draw_maps(col = -1, row = query()) {
  const all = numbers(), n = words.length;
  const most = largest(all.slice(0, 2).flatMap((at) => range(n * n).map((i) => at(Math.floor(i / n), i % n))));
  const shades = [diverging(most), diverging(most), rising(section)];
  cell_at = all.map((at, i) => word_map(maps[i], words, at, shades[i], row, col));
  $('.which', section).textContent = `Layer ${Number(state.l) + 1}, head ${Number(state.h) + 1}`;
  $$('.maps figcaption span', section).forEach((node, i) => {
    node.textContent = i < 2 ? `scores, purple ${signed(-most)} to orange ${signed(most)}: +1 makes a word 2.7 times as ` +
      'important' : 'weights, 0 to 100 %';
  });
}

function draw_reading() {
  const [plain, added, weight] = numbers(), q = query();
  [...sentence.children].forEach((span, i) => {
    span.style.setProperty('--shade', i <= q ? (weight(q, i) ** 0.7).toFixed(3) : 0);
    span.className = i === q ? 'attends' : i > q ? 'later' : '';
    span.tabIndex = i === q ? 0 : -1;
    span.ariaChecked = i === q;
  });
  $('caption', section).textContent = `From “${words[q]}”, word ${q + 1}`;
  const distance = (k) => el('small', {}, k === q ? 'itself' : `${q - k} back`);
  const row = (k) => el('tr', {}, el('th', { scope: 'row' }, words[k], distance(k)),
    el('td', {}, signed(plain(q, k))), el('td', {}, signed(added(q, k))),
    el('td', {}, bar(weight(q, k), 'meter'), el('span', { className: 'figure' }, percent(weight(q, k)))));
  const order = range(q + 1).sort((a, b) => weight(q, b) - weight(q, a));
  $('tbody', section).replaceChildren(...order.slice(0, 6).map(row));
}

// Writes values into the address, and draws what depends on them: l and h, the layer and the head; q, the row.
function choose(values) {
  for (const [key, value] of Object.entries(values)) form.elements[key].value = value;
  state = app.update('attention');
  for (const button of $$('button', strip)) {
    button.ariaChecked = button.dataset.layer === state.l && button.dataset.head === state.h;
    button.tabIndex = button.ariaChecked === 'true' ? 0 : -1;
  }
  draw_maps();
  draw_reading();
}

function show() {
  result.hidden = false;
  draw_strip();
  sentence.replaceChildren(...found.tokens.map((text, i) => {
    const span = el('span', { role: 'radio' }, is_special(text) ? el('small', {}, 'start ') : text);
    span.dataset.i = i;
    return span;
  }));
  status.textContent = found.about;
  const within = (key, count) => {
    const taken = Math.max(0, Math.min(Math.floor(state[key]) || 0, count - 1));
    if (state[key] && state[key] !== String(taken))
      status.textContent += ` ${key}: expected a whole number from 0 to ${count - 1}, found ${state[key].slice(0, 40)}.`;
    return taken;
  };
  choose({ l: within('l', found.layers), h: within('h', found.heads) });
}

async function compute() {
  const [model] = app.named(state.e), all = state.t.trim().split(/\s+/), text = all.slice(0, most_words).join(' ');
  const key = `${state.e} ${text}`;
  if (key === asked) return found && show();
  asked = key;
  found = null;
  try {
    if (!model || !text) throw new Error(model ? 'Write a text.' : 'Choose an encoding.');
    const answer = await app.engine.attention((await app.open(model, status)).file, text);
    if (key !== asked) return;
    found = answer;
    words = found.tokens.map((token) => is_special(token) ? 'start' : visible(token));
    section.style.setProperty('--mark', $(':checked', form).closest('label').style.getPropertyValue('--mark'));
    for (const note of $$('.adds', section)) note.hidden = note.dataset.adds !== found.adds;
    found.about = `${model.name} has ${found.layers} layers with ${found.heads} heads each.` +
      (all.length > most_words ? ` The maps show the first ${most_words} words.` : '');
    show();
  } catch (error) {
    if (key !== asked) return;
    result.hidden = true;
    status.textContent = error.message;
  }
}

export function start(page) {
  app = page;
  const pick = ({ dataset }) => choose({ l: dataset.layer, h: dataset.head });
  strip.addEventListener('click', ({ target }) => { if (target.closest('button')) pick(target.closest('button')); });
  rove(strip, 'button', (button) => { if (button.ariaChecked !== 'true') pick(button); });
  sentence.addEventListener('click', ({ target }) => { if (target.dataset.i) choose({ q: target.dataset.i }); });
  rove(sentence, '[data-i]', ({ dataset }) => { if (Number(dataset.i) !== query()) choose({ q: dataset.i }); });
  maps.forEach((canvas, i) => {
    canvas.addEventListener('pointermove', ({ offsetX, offsetY, clientX, clientY }) => {
      const cell = cell_at[i](offsetX, offsetY);
      if (!cell) return hide_card();
      draw_maps(cell.col, cell.row);
      const [plain, added, weight] = numbers().map((at) => at(cell.row, cell.col));
      show_card({ left: clientX + 12, top: clientY - 8, bottom: clientY + 12 },
        el('p', {}, el('b', {}, words[cell.row]), ' attends to ', el('b', {}, words[cell.col])),
        el('p', {}, `words alone ${signed(plain)}, encoding ${signed(added)}, attention ${percent(weight)}`));
    });
    canvas.addEventListener('pointerleave', () => { hide_card(); draw_maps(); });
    canvas.addEventListener('click', ({ offsetX, offsetY }) => {
      const cell = cell_at[i](offsetX, offsetY);
      if (cell) choose({ q: cell.row });
    });
  });
}

const compute_soon = later(compute, 350);
export function enter(now) { state = now; compute(); }
export function change(now, control) {
  if (control.name === 't') form.elements.q.value = ''; // another text: its last word attends
  state = app.update('attention');
  compute_soon();
}
export function redraw() { if (found) show(); }
