// SPDX-License-Identifier: MIT
// The parts that all views share: elements, forms as addresses, numbers in words, and the marks of the encodings.

export const $ = (query, root = document) => root.querySelector(query);
export const $$ = (query, root = document) => [...root.querySelectorAll(query)];

// Names with a hyphen, and names that are no property, become attributes.
export function el(name, properties = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties))
    if (key in node) node[key] = value; else node.setAttribute(key, value);
  node.append(...children);
  return node;
}
// A bar of this share of its place.
export function bar(share, className = 'bar') {
  const inner = el('i');
  inner.style.width = `${100 * Math.min(1, share)}%`;
  return el('span', { className }, inner);
}

// ---- Numbers ----
export const range = (n) => Array.from({ length: n }, (_, i) => i);
export const largest = (values) => values.reduce((most, v) => Math.max(most, Number.isFinite(v) ? Math.abs(v) : 0), 0);
export function number(value, digits = 3) {
  if (!Number.isFinite(value)) return value < 0 ? '−∞' : '–';
  const rounded = Number(value.toPrecision(Math.abs(value) < 1e5 ? digits : 6));
  return rounded.toLocaleString('en', { maximumSignificantDigits: 6 }).replace('-', '−');
}
export const signed = (value) => Math.abs(value) < 0.005 ? '0' : (value > 0 ? '+' : '−') + Math.abs(value).toFixed(2);
export function percent(p) {
  if (p < 0.0001) return p > 0 ? '< 0.01 %' : '0 %';
  return `${p >= 0.1 ? Math.round(p * 100) : (p * 100).toFixed(p >= 0.01 ? 1 : 2)} %`;
}
export const is_special = (token) => /^<\|.*\|>$/.test(token); // such as the token that starts a text
export const visible = (token) => token.replace(/\n/g, '↵').trim() || '␣'; // a token as a word

// ---- Forms: every control with a name is a part of the address ----
const real = (input) => input.dataset.log ? String(Number((10 ** input.value).toPrecision(3))) : input.value;
const is_box = ({ type }) => type === 'checkbox' || type === 'radio';

export function read(form) { // checked boxes of one name are joined by commas
  const state = {};
  for (const input of form.elements) {
    if (!input.name) continue;
    if (!is_box(input)) state[input.name] = real(input);
    else state[input.name] = [state[input.name], input.checked && input.value].filter(Boolean).join(',');
  }
  return state;
}

// Returns a sentence for each value that a control cannot take.
export function fill(form, state) {
  const refused = [], plain = (input, place) => number(input.dataset.log ? 10 ** place : Number(place), 6);
  for (const input of form.elements) {
    const value = state[input.name];
    if (value === undefined) continue;
    let expected = '';
    if (is_box(input)) input.checked = value.split(',').includes(input.value);
    else if (input.tagName === 'SELECT') {
      const words = [...input.options].map((option) => option.value);
      if (words.includes(value)) input.value = value; else expected = `one of ${words.join(', ')}`;
    } else if (input.type === 'range') {
      const place = input.dataset.log ? Math.log10(value) : Number(value || NaN), slack = (input.max - input.min) / 1e3;
      if (Number.isFinite(place)) input.value = place;
      if (!(place >= input.min - slack && place <= Number(input.max) + slack))
        expected = `a number from ${plain(input, input.min)} to ${plain(input, input.max)}`;
    } else input.value = input.maxLength > 0 ? value.slice(0, input.maxLength) : value;
    if (expected) refused.push(`${input.name}: expected ${expected}, found ${value.slice(0, 40)}. ` +
      `The page uses ${input.type === 'range' ? plain(input, input.value) : input.value}.`);
  }
  say(form);
  return refused;
}

// Shows a control and its label only where it can act.
export function offer(control, acts) {
  for (const part of [control, ...control.labels]) part.hidden = !acts;
}

// Writes the value of each slider into the <output> of its label.
export function say(form) {
  for (const input of $$('input[type=range]', form)) {
    const text = `${number(Number(real(input)), 4)} ${input.dataset.unit ?? ''}`.trim();
    $('output', input.labels[0]).textContent = text;
    input.setAttribute('aria-valuetext', text);
    input.style.setProperty('--at', (input.value - input.min) / (input.max - input.min));
  }
}

function dial(control, text, help) {
  const label = el('label', { htmlFor: control.id }, text, ' ', control.type === 'range' ? el('output') : '');
  return el('div', { className: 'dial' }, label, control, el('small', {}, help));
}
export function slider(name, text, { min, max, step = 1, value, unit = '', log = false, help = '' }) {
  const input = el('input', { id: `s-${name}`, name, type: 'range' }), scale = log ? Math.log10 : Number;
  Object.assign(input, { min: scale(min), max: scale(max), step: log ? 'any' : step, value: scale(value) });
  Object.assign(input.dataset, log ? { log, unit } : { unit });
  return dial(input, text, help);
}
export function choice(name, text, words, value, help = '') {
  const select = el('select', { id: `s-${name}`, name }, ...words.map((word) => el('option', { value: word }, word)));
  select.value = value;
  return dial(select, text, help);
}

// ---- Encodings and their marks: the colours and shapes of the lab's pictures (tools/lab/drawing/looks.cpp) ----
const shapes = ['M8 2.5a5.5 5.5 0 1 0 .01 0z', 'M3 3h10v10H3z', 'M8 2l6.5 11.5h-13z', 'M8 14L1.5 2.5h13z',
  'M8 1l6.5 7L8 15 1.5 8z', 'M8 1.5l6.7 4.9-2.6 7.8H3.9L1.3 6.4z'];
const variants = { 'rope-none': 1, 'rotate-stretch-6': 1, storyteller: 2 };
let names = [];
export const name_encodings = (encodings) => { names = encodings.map(({ name }) => name); };

// The name of the encoding that a spec begins with.
export function encoding_of(spec) {
  const text = spec.replace(/^(pattern)?\(+/, '');
  return names.find((name) => text.startsWith(name) && !/^[a-z0-9-]/i.test(text.slice(name.length))) ?? '';
}
export const place_of = (spec) => names.indexOf(encoding_of(spec));

// An icon. The parent's --mark becomes its colour.
export function mark(name, spec, parent) {
  const at = Math.max(0, place_of(spec)), shape = (at + 3 * (variants[name] ?? 0)) % 11;
  const [svg, path] = ['svg', 'path'].map((tag) => document.createElementNS('http://www.w3.org/2000/svg', tag));
  parent.style.setProperty('--mark', `var(--c${(at + 6) % 7})`);
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('class', shape > 5 ? 'mark open' : 'mark');
  svg.setAttribute('aria-hidden', 'true');
  path.setAttribute('d', shapes[shape % 6]);
  svg.append(path);
  return svg;
}

// A check box, or a radio button where one is the most, for {name, encoding}.
export function add_chip(box, { name, encoding, title = '' }, checked) {
  const type = box.dataset.most === '1' ? 'radio' : 'checkbox', label = el('label', { className: 'chip', title });
  label.append(el('input', { type, name: 'e', value: name, checked }), mark(name, encoding, label), name);
  box.append(label);
}

// ---- Focus that the arrow keys move among the children that `pick` selects; show(child) on focus ----
export function rove(box, pick, show) {
  box.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -1e9, End: 1e9 }[event.key];
    const all = $$(pick, box), at = all.indexOf(document.activeElement);
    if (!step || at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = all[Math.max(0, Math.min(all.length - 1, at + step))];
    all[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
  box.addEventListener('focusin', ({ target }) => { if (target.matches(pick)) show(target); });
}

// ---- The card: details of the thing under the pointer or the focus ----
const card = $('#card');
export function show_card(anchor, ...children) { // anchor: an element, or a rectangle of the window
  card.replaceChildren(...children);
  card.hidden = false;
  const box = anchor.getClientRects?.()[0] ?? anchor, below = box.bottom + 8 + card.offsetHeight < innerHeight;
  const most = document.documentElement.clientWidth - card.offsetWidth - 8;
  card.style.left = `${Math.max(8, Math.min(box.left + scrollX, most))}px`;
  card.style.top = `${scrollY + (below ? box.bottom + 8 : box.top - card.offsetHeight - 8)}px`;
}
export const hide_card = () => { card.hidden = true; };
addEventListener('keydown', ({ key }) => { if (key === 'Escape') hide_card(); });

// A function that calls `run` when its own calls have paused for `wait` milliseconds.
export const later = (run, wait, timer = 0) => (...values) =>
  void (clearTimeout(timer), timer = setTimeout(() => run(...values), wait));
