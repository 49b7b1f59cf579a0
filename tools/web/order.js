// SPDX-License-Identifier: MIT
// Order: the next words after the same words in two orders, under each encoding.
import { $, bar, el, later, mark, percent, visible } from './kit.js';

const section = $('#order'), status = $('.status', section), list = $('.panels', section);
const shown = 6, compared = 1000; // tokens
let app, turn = 0;

const words_of = (text) => text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];

// change: half of the sum of the differences of two distributions. top: the tokens that are likeliest in one of them.
function compare(first, second) {
  const both = new Map();
  for (const [side, tokens] of [first, second].entries())
    for (const { id, text, probability } of tokens) {
      if (!both.has(id)) both.set(id, { text, p: [0, 0] });
      both.get(id).p[side] = probability;
    }
  const all = [...both.values()].sort((a, b) => Math.max(...b.p) - Math.max(...a.p));
  return { change: all.reduce((sum, { p }) => sum + Math.abs(p[0] - p[1]), 0) / 2, top: all.slice(0, shown) };
}

function make_panel(model, { change, top }) {
  const panel = el('article', { className: 'panel', ariaLabel: model.name });
  const most = Math.max(...top.flatMap(({ p }) => p));
  const heads = ['first order', 'next word', 'second order'].map((text) => el('th', { scope: 'col' }, text));
  const row = ({ text, p: [a, b] }) => el('tr', {}, el('td', {}, percent(a), bar(a / most)),
    el('th', { scope: 'row' }, visible(text)), el('td', {}, bar(b / most), percent(b)));
  panel.append(el('header', {}, el('h2', {}, mark(model.name, model.encoding, panel), model.name)),
    el('p', { className: 'change' }, el('b', {}, percent(change)), ' of the probability moves'),
    el('table', {}, el('thead', {}, el('tr', { className: 'sr' }, ...heads)), el('tbody', {}, ...top.map(row))));
  return panel;
}

export async function enter({ e, a, b }) {
  const mine = ++turn, panels = [], changes = [];
  for (const model of a.trim() && b.trim() ? app.named(e) : []) {
    try {
      const { file } = await app.open(model, status), next = (text) => app.engine.next(file, text, compared);
      const answer = compare(await next(a), await next(b));
      panels.push(make_panel(model, answer));
      changes.push([answer.change, model.name]);
    } catch (error) {
      const note = el('p', { className: 'note error' }, error.message);
      panels.push(el('article', { className: 'panel' }, el('h2', {}, model.name), note));
    }
    if (mine !== turn) return;
    list.replaceChildren(...panels, ...[...list.children].slice(panels.length)); // the old numbers stay until then
  }
  list.replaceChildren(...panels);
  changes.sort((one, other) => other[0] - one[0]);
  const count = (text, word) => words_of(text).filter((other) => other === word).length;
  const others = [...new Set(words_of(`${a} ${b}`))].filter((word) => count(a, word) !== count(b, word));
  status.textContent = !panels.length ? 'Write both sentences, and choose an encoding.'
    : others.length ? `The sentences differ in more than their order: ${others.join(', ')}.`
      : a.trim() === b.trim() ? 'Both sentences are the same. Swap two words in one of them.'
        : changes.length < 2 ? ''
          : `In this pair, the order changes ${changes[0][1]} most, and ${changes.at(-1)[1]} least.`;
}

export function start(page) { app = page; }
export const change = later(enter, 350);
