// SPDX-License-Identifier: MIT
// The encoding itself: the engine's tables as pictures, with sliders for the parameters.
import { $, $$, bar, choice, el, largest, later, mark, number, percent, range, read, slider } from './kit.js';
import { clocks, colour, curves, diverging, heat } from './draw.js';

const section = $('#encoding'), pictures = $('.pictures', section);
const form = $('form', section), status = $('.status', section);
const places = { positions: 'by giving the words positions of its own',
  embed: 'on the words’ numbers, before the first layer', rotate: 'on queries and keys, in each layer',
  bias: 'on the scores, in each layer', rescore: 'on a whole row of scores, in each layer',
  sink: 'in the softmax of each layer', observe: 'by reading the words’ numbers, in each layer',
  shift: 'by mixing the numbers of neighbouring words', mix: 'on the collected values, in each layer' };
// Without a slider: the parameters of rare choices, and those that the view sets itself or does not show.
const hidden = new Set(['width', 'pairing', 'interleaved', 'original', 'offset', 'attention', 'count', 'length',
  'beta-fast', 'beta-slow', 'extrapolation', 'truncate', 'low', 'high', 'short', 'long', 'factors', 'columns',
  'path:rank', 'path:kernel', 'selective-rope:kernel', 'abacus:first', 'abacus:last']);
// What the numbers of a table do to a text, besides what their picture says. first(column): a number of the first row;
// at(row, column).
const effects = {
  sinusoidal: () => 'A word gets the row of its position. The model can hardly tell positions with like rows apart.',
  abacus: () => 'A digit gets the row of its place in its number, counted from its first digit. Other words get row 0.',
  'stick-breaking': (first, at, rows) => `Among words of score 0, the nearest gets ${percent(at(1, 1))} of the ` +
    `weight and the next ${percent(at(2, 1))}. Beyond ${range(rows).findLastIndex((row) => at(row, 1) >= 0.01)} words, ` +
    'none gets 1 %.',
  'rotate-stretch': (first, at) => `Words ${number(2 * Math.PI / at(1, 1))} positions apart get the same angle, and ` +
    'differ in length alone.',
  pope: () => 'A trained shift moves the distance at which each pair’s score is largest. The pictures leave it out.',
  'selective-rope': (first, at, rows) => 'The words decide the angles. The last pair rotates at ' +
    `${percent(at(rows - 1, 1) / at(0, 1))} of the speed of pair 0.`,
  forget: (first) => `Without an input, head 1 keeps ${percent(first('gate'))} of a word’s weight for each word ` +
    'further back.',
  sink: (first) => `In head 1, nothing gets the weight of ${number(Math.exp(first('logit')), 2)} words of score 0.`,
  path: () => 'Beta 0 leaves a query as it is, 1 removes one direction of it, 2 mirrors it.',
  wall: () => 'A number of 0.99 keeps 99 % of a column’s product for each word further back.',
  canon: () => 'The weight tap 0 is for the word itself, tap 1 for the word before it, and so on.',
  cope: () => 'A query that points along a row attends to the word at that count.',
  shaw: () => 'A query that points along a row attends more to the word at that distance.',
  deberta: () => 'A query that points along a row attends more to the word at that distance.',
  'transformer-xl': () => 'The scores compare each query with the waves of a distance.',
  'relative-logits': () => 'Each word mixes these curves of the distance, and adds the mixture to its scores.',
  segment: () => 'All words of a segment get the same row. The row says which text a word is in, not where.',
  learned: () => 'A word gets the row of its position. The model can hardly tell positions with like rows apart.',
  'log-scale': () => 'A larger factor sharpens attention, so that it can choose among more words.',
};
let app, state, about, initial = {}, drawings = [], turn = 0;

const acts = (moment) => about.acts.split('+').includes(moment);
// The shipped model that was trained with the encoding alone, if it has trained numbers: a file opens with its own spec.
const trained_model = () => about.trainable
  ? app.models.find(({ name, encoding }) => name !== 'storyteller' && encoding.split(':')[0] === about.name
    && !encoding.includes('+')) : undefined;
const changes = () => about.parameters.map(({ name }) => name).filter((name) => name in initial &&
  state[name] !== initial[name] && !(name === 'factor' && state.scaling === 'none'));

function parameter({ name, help, words, min, max, integer, default: text }) {
  const value = text === 'context' ? 256 : Number(text);
  if (hidden.has(name) || hidden.has(`${about.name}:${name}`)) return [];
  if (words?.length) return [choice(name, name, words.filter((word) => word !== 'longrope'), text, help)];
  if (!text || !Number.isFinite(value) || !(max > min)) return [];
  const log = value >= 1000 && !integer, most = Math.min(max, value * (log ? 100 : name === 'factor' ? 16 : 4) || 1);
  const step = integer ? 1 : 10 ** Math.floor(Math.log10(most / 10));
  const least = log ? value / 1000 : Math.max(0, Math.ceil(min / step) * step);
  return [slider(name, name, { min: least, max: most, step, value, log, help })];
}

// Makes the sliders of the encoding in an address.
export function prepare({ e }) {
  about = app.about(e) ?? app.about('rope');
  const model = trained_model(), place = acts('rotate') || acts('embed'), dials = about.parameters.flatMap(parameter);
  const add = (wanted, ...args) => { if (wanted) dials.push(slider(...args)); };
  if (about.tables.length > 1) dials.push(choice('what', 'numbers', about.tables, about.tables[0],
    'of these tables, the pictures show one'));
  add((place && about.name !== 'segment') || acts('bias'), 'rows', 'positions',
    { min: 8, max: 512, step: 8, value: acts('rotate') ? 128 : 64 });
  add(place && !model, 'dim', 'width', { min: 4, max: acts('rotate') ? 64 : 128, step: 4, value: 32, unit: 'numbers' });
  add(acts('rotate'), 'at', 'clocks at position', { min: 0, max: 127, value: 5 });
  add(about.acts && !place && !model, 'heads', 'heads', { min: 1, max: 16, value: 8 });
  add(acts('bias') && !place, 'head', 'head of the map', { min: 1, max: model ? 4 : 16, value: 1 });
  add(model && !acts('embed'), 'layer', 'layer', { min: 1, max: 5, value: 1 });
  $('.dials', form).replaceChildren(...dials);
  initial = read(form);
}

function facts(spec) {
  const line = (term, ...value) => el('div', {}, el('dt', {}, term), el('dd', {}, ...value));
  const paper = about.paper.split(/(arXiv \d{4}\.\d{4,5}|github\.com\/\S+)/).map((part) => /^(arXiv|github)/.test(part)
    ? el('a', { href: `https://${part.replace('arXiv ', 'arxiv.org/abs/')}` }, part) : part);
  $('.facts', section).replaceChildren(el('h2', {}, mark(about.name, about.name, section), about.name),
    el('p', { className: 'idea' }, `It ${about.summary}.`), el('dl', {}, line('Formula', el('pre', {}, about.formula)),
      line('Acts', about.acts.split('+').map((moment) => places[moment] ?? 'nowhere').join('; ')),
      line('Paper', ...paper), line('Operations', `${number(about.cost)} % of those of the layers, over 256 tokens`),
      line('In Ordo', el('code', {}, `--encoding ${spec}`))));
}

// Appends a picture of index.html's template. values fill its caption.
function picture(name, values, draw) {
  const figure = $(`[data-picture=${name}]`, $('#pictures').content).cloneNode(true), canvas = $('canvas', figure);
  for (const slot of $$('[data-value]', figure)) slot.textContent = values[slot.dataset.value];
  canvas.ariaLabel = $('figcaption', figure).textContent.replace(/\s+/g, ' ').trim();
  pictures.append(figure);
  drawings.push(() => draw(canvas, colour('--mark', section)));
}

// A table's numbers by row and column, and its number of rows.
const parts = ({ values, columns }) => ({ at: (row, col) => values[row * columns.length + col],
  rows: values.length / columns.length });

// RoPE's scalings: how fast each pair rotates, as a share of its speed without a scaling.
async function draw_scalings(request) {
  const factor = state.scaling === 'none' ? 4 : Number(state.factor), scalings = ['linear', 'ntk', 'yarn', 'llama3'];
  const speeds = (scaling) => app.engine.table('', { ...request,
    spec: `rope:theta=${state.theta},${scaling}`, what: 'frequency' });
  const [plain, ...scaled] = await Promise.all(['scaling=none', ...scalings.map((name) =>
    `scaling=${name},factor=${factor}${/yarn|llama3/.test(name) ? ',original=256' : ''}`)].map(speeds));
  const lines = scaled.map((table, i) => ({ name: scalings[i], points: range(parts(table).rows)
    .map((k) => [k, parts(table).at(k, 1) / parts(plain).at(k, 1)]) }));
  picture('scalings', { factor: number(factor) }, (canvas) => curves(canvas,
    lines.map((line, i) => ({ ...line, tint: colour(`--c${i}`) })), 'pair', 'share of the speed'));
}

async function draw_rotation(table, request) { // position, pair, angle, cos, sin, and of xpos the scale
  const { at, rows: all } = parts(table), pairs = range(all).findIndex((row) => at(row, 0) !== at(0, 0));
  const rows = all / pairs, position = Math.min(rows - 1, Number(state.at));
  const value = (row, pair, name) => {
    const column = table.columns.indexOf(name);
    return column < 0 ? 1 : at(row * pairs + pair, column);
  };
  const hands = range(pairs).map((k) => ({ angle: value(position, k, 'angle'), length: value(position, k, 'scale'),
    name: number(2 * Math.PI / value(1, k, 'angle')) }));
  const score = (d) => range(pairs).reduce((sum, k) => sum + value(d, k, 'cos') * value(d, k, 'scale'), 0) / pairs;
  const points = range(rows).map((d) => [d, score(d)]);
  picture('clocks', { position }, (canvas, tint) => clocks(canvas, hands, tint));
  picture('score', {}, (canvas, tint) => curves(canvas, [{ points, tint }], 'distance in positions', 'share'));
  picture('cosines', {}, (canvas) =>
    heat(canvas, rows, pairs, (r, k) => value(r, k, 'cos'), diverging(1), 'pair', 'position'));
  if (about.name === 'rope') await draw_scalings(request);
  const far = Math.min(16, rows - 1);
  return `A score at distance 1 is ${number(100 * score(1))} % of that at distance 0, if the query equals the key. ` +
    `At distance ${far} it is ${number(100 * score(far))} %.`;
}

async function draw_bias(table, request) {
  const { at, rows } = parts(table), heads = range(Number(state.heads ?? 4)), most = largest(table.values);
  const all = await Promise.all(heads.map((head) => app.engine.table(request.spec, { ...request, head })));
  const line = (head, tint) => ({ tint, ...(head === request.head ? { width: 4 } : { width: 1.5, alpha: 0.5 }),
    points: range(rows).map((d) => [d, parts(all[head]).at(rows - 1, rows - 1 - d)]) });
  const masked = (row, col) => col > row ? NaN : at(row, col);
  picture('bias', {}, (canvas, tint) =>
    curves(canvas, heads.map((head) => line(head, tint)), 'distance in positions', 'added to the score'));
  picture('map', { head: request.head + 1 }, (canvas) =>
    heat(canvas, rows, rows, masked, diverging(most), 'key', 'query', { height: Math.min(440, canvas.clientWidth) }));
  const far = Math.min(16, rows - 1), kept = (d) => percent(Math.exp(at(far, far - d) - at(far, far)));
  return `In head ${request.head + 1}, a word 1 position back gets ${kept(1)} of the weight of the word itself, if ` +
    `their scores are equal. A word ${far} positions back gets ${kept(far)}.`;
}

function draw_rows(table) { // a row for each position, or for each distance
  const { at, rows } = parts(table), skip = table.columns[0] === 'distance' ? 1 : 0;
  const axis = skip ? 'distance' : { cope: 'count', segment: 'segment', abacus: 'place' }[about.name] ?? 'position';
  const cols = table.columns.length - skip, first = skip ? at(0, 0) : 0, value = (row, col) => at(row, skip + col);
  const most = largest(range(rows * cols).map((i) => value(Math.floor(i / cols), i % cols)));
  const some = [...new Set([0, 0.25, 0.5, 0.75].map((share) => 2 * Math.floor(share * cols / 2)))];
  const line = (col, i, tint) => ({ tint, width: 4 - i, alpha: 1 - 0.2 * i,
    points: range(rows).map((row) => [first + row, value(row, col)]) });
  picture('rows', { axis, low: number(-most), high: number(most) }, (canvas) =>
    heat(canvas, rows, cols, value, diverging(most), 'column', axis, { height: 380, first }));
  picture('columns', { some: some.join(', ') }, (canvas, tint) =>
    curves(canvas, some.map((col, i) => line(col, i, tint)), axis, 'value', { height: 380 }));
  const dot = (a, b) => range(cols).reduce((sum, col) => sum + value(a, col) * value(b, col), 0);
  const alike = (d) => range(rows - d).reduce((sum, row) =>
    sum + dot(row, row + d) / Math.sqrt(dot(row, row) * dot(row + d, row + d)) / (rows - d), 0);
  if (rows <= 16 || !/^dim/.test(table.columns[skip]) || !Number.isFinite(alike(1))) return '';
  return `The rows of neighbouring ${axis}s have a cosine of ${number(alike(1), 2)}, on average. For those 16 apart it ` +
    `is ${number(alike(16), 2)}. At 1, two rows have the same direction.`;
}

function draw_spiral(table) { // position, angle, scale
  const { at, rows } = parts(table);
  const points = range(rows).map((r) => [at(r, 2) * Math.cos(at(r, 1)), at(r, 2) * Math.sin(at(r, 1))]);
  picture('spiral', {}, (canvas, tint) => curves(canvas, [{ points, tint, dots: true, width: 1 }],
    'first number of a pair', 'second number', { height: canvas.clientWidth - 16 }));
}

function draw_list(table) { // few columns, of which the first names the rows
  const { at, rows } = parts(table), [first, ...others] = table.columns, from = first === 'head' ? 1 : 0;
  others.forEach((name, c) => {
    const points = range(rows).map((r) => [at(r, 0), at(r, c + 1)]), most = largest(points.map(([, v]) => v)) || 1;
    const line = ([x, v]) => el('tr', {}, el('th', { scope: 'row' }, `${first} ${number(x + from)}`),
      el('td', {}, bar(Math.abs(v) / most, 'meter'), el('span', { className: 'figure' }, number(v))));
    if (rows > 16) picture('list', { name }, (canvas, tint) => curves(canvas, [{ points, tint }], first, name));
    else pictures.append(el('table', { className: 'list' }, el('caption', {}, name), ...points.map(line)));
  });
}

async function update() {
  const mine = ++turn, model = trained_model(), parameters = changes().map((name) => `${name}=${state[name]}`).join();
  const spec = about.name + (parameters && `:${parameters}`);
  const request = { spec, rows: Number(state.rows ?? 8), what: state.what ?? '' };
  facts(spec);
  pictures.ariaBusy = true;
  try {
    if (!about.acts) throw new Error('There are no numbers. Only the mask tells the order.');
    if (state.dim) Object.assign(request, { dim: Number(state.dim), heads: 1 });
    if (state.heads) Object.assign(request, { dim: 8 * state.heads, heads: Number(state.heads) });
    if (state.head) request.head = Math.min(state.head, state.heads ?? 4) - 1;
    if (state.layer) request.layer = state.layer - 1;
    if (model && !parameters) request.file = (await app.open(model, status)).file;
    const table = await app.engine.table(spec, request), [first, second] = table.columns;
    if (mine !== turn) return;
    pictures.style.minHeight = `${pictures.offsetHeight}px`; // so that the page does not jump
    pictures.replaceChildren();
    drawings = [];
    const [draw, used] = second === 'pair' ? [draw_rotation, 'rows dim at'] // and the sliders that the table depends on
      : /^key\d/.test(first) ? [draw_bias, 'rows heads head layer'] : second === 'angle' ? [draw_spiral, 'rows']
        : /^dim\d/.test(first) ? [draw_rows, 'rows dim layer'] : /^(dim|curve)\d/.test(second) ? [draw_rows, 'dim layer']
          : [draw_list, { head: 'heads layer', pair: 'dim' }[first] ?? 'rows layer'];
    for (const name of ['rows', 'dim', 'at', 'heads', 'head', 'layer']) {
      const control = $(`[name=${name}]`, form);
      if (control) control.parentNode.hidden = !used.split(' ').includes(name);
    }
    const factor = $('[name=factor]', form); // RoPE's, which needs a scaling
    if (factor && state.scaling) factor.parentNode.hidden = state.scaling === 'none';
    const value = (column) => table.values[table.columns.indexOf(column)], { at, rows } = parts(table);
    const main = (state.what ?? about.tables[0]) === about.tables[0] && effects[about.name]?.(value, at, rows);
    const said = await draw(table, request);
    if (mine !== turn) return;
    $('.effect', section).textContent = [main, said].filter(Boolean).join(' ');
    redraw();
    status.textContent = request.file ? `These are the numbers of the trained model ${model.name}.`
      : about.trainable ? 'Training begins with these numbers.' : '';
  } catch (error) {
    if (mine !== turn) return;
    drawings = [];
    $('.effect', section).textContent = '';
    pictures.replaceChildren(el('p', { className: 'idea' }, error.message));
    status.textContent = '';
  }
  pictures.style.minHeight = '';
  pictures.ariaBusy = false;
}

const update_soon = later(update, 30);
export function start(page) { app = page; prepare({}); }
export function enter(now) { state = now; update(); }
export function change(now, control) {
  state = now;
  if (control.name === 'e') location.hash = `#encoding?e=${control.value}`; // page.js calls prepare()
  else update_soon();
}
export function redraw() { for (const draw of drawings) draw(); }
