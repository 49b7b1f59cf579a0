// SPDX-License-Identifier: MIT
// Write: one prompt, continued by up to six models side by side.
import { $, bar, el, encoding_of, hide_card, is_special, mark, number, percent } from './kit.js';
import { offer, range, rove, show_card, visible } from './kit.js';
import { colour, curves } from './draw.js';

const section = $('#write'), status = $('.status', section), form = $('form', section), stop = $('.stop', section);
const panels = new Map(); // by the key of their run
let app, turn = 0, writing = false;

const scales = ({ encoding }) => encoding_of(encoding) === 'rope' && !encoding.startsWith('pattern');
// RoPE's scaling acts if a model has RoPE, and a factor if there is a scaling.
function offer_scaling(state) {
  const acts = app.named(state.e).some(scales);
  offer(form.elements.scaling, acts);
  offer(form.elements.factor, acts && state.scaling !== 'none');
}

// The texts to write. A model with RoPE writes a second one if a scaling is chosen.
function runs(state) {
  const options = { prompt: state.p, count: Number(state.n), temperature: Number(state.t), seed: Number(state.s),
    scaling: '', ignore_end: state.end === 'on' }, [chosen] = form.elements.scaling.selectedOptions;
  const scaling = `scaling=${state.scaling},factor=${state.factor}`;
  return app.named(state.e).flatMap((model) => [{ model, options, title: model.name },
    ...(state.scaling !== 'none' && scales(model) ? [{ model, options: { ...options, scaling },
      title: `${model.name}, ${chosen.text} × ${state.factor}` }] : [])])
    .map((run) => ({ ...run, key: JSON.stringify([run.model.file, run.title, run.options]) }));
}

function make_panel({ model, title }) {
  const node = $('#panel').content.firstElementChild.cloneNode(true), story = $('.story', node);
  const panel = { node, story, note: $('.note', node), tokens: [] }, about = app.about(encoding_of(model.encoding));
  node.ariaLabel = `The text of ${title}`;
  $('h2', node).append(mark(model.name, model.encoding, node), title);
  $('.summary', node).textContent = about ? `It ${about.summary}.` : model.encoding;
  rove(story, '[data-i]', (span) => details(panel, span));
  story.addEventListener('focusout', hide_card);
  story.addEventListener('pointerover', ({ target }) => { if (target.dataset.i) details(panel, target); });
  story.addEventListener('pointerleave', hide_card);
  return panel;
}

function details({ tokens, node }, span) {
  const { text, position, probability, prompt, beyond, alternatives } = tokens[span.dataset.i];
  const of = `${prompt ? ', of your beginning' : ''}${beyond ? ', beyond the trained length' : ''}`;
  const row = (other) => el('div', { className: other.text === text ? 'row this' : 'row' },
    el('code', {}, visible(other.text)), bar(other.probability), percent(other.probability));
  const had = probability === null ? '' : ` had ${percent(probability)}`;
  const title = el('p', {}, el('b', {}, visible(text)), had, el('small', {}, `token ${position + 1}${of}`));
  const card = el('div', {}, title, ...(alternatives ?? []).slice(0, 6).map(row));
  card.style.setProperty('--mark', node.style.getPropertyValue('--mark'));
  show_card(span, card);
}

// Appends a token, and a mark before the first token beyond the trained length.
function add(panel, token, trained) {
  const i = panel.tokens.push(token) - 1, { story } = panel;
  if (token.beyond && !$('.past', story))
    story.append(el('span', { className: 'past' }, `${trained} tokens: the trained length ends here`));
  if (is_special(token.text)) return;
  const text = story.lastChild?.className === 'past' ? token.text.trimStart() : token.text;
  const span = el('span', { className: token.prompt ? 'given' : 'made', tabIndex: $('[data-i]', story) ? -1 : 0,
    'aria-describedby': 'card' }, text);
  span.dataset.i = i;
  const shade = Math.log(token.probability) / Math.log(0.002); // 0 for certain, 1 for 0.2 %
  if (!token.prompt) span.style.setProperty('--shade', Math.min(1, shade).toFixed(3));
  story.append(span);
}

const endings = { stopped: 'Stopped after ', end_of_text: 'The story ends after ', full: 'No position is left after ' };

async function fill_panel(panel, { model, options }) {
  const { node, note, story } = panel;
  try {
    const { file, trained } = await app.open(model, note);
    if (panel.dropped) return;
    let total = 0; // tokens of the prompt and the text
    note.textContent = 'Writing';
    const result = await app.engine.generate(file, options, (token) => {
      if (panel.dropped) return;
      if (token.prompt) total = token.position + 1 + options.count;
      node.style.setProperty('--trained', `${100 * trained / total}%`);
      $('.progress', node).classList.toggle('long', total > trained);
      $('.progress i', node).style.width = `${Math.min(100, 100 * (token.position + 1) / total)}%`;
      add(panel, token, trained);
    });
    const words = story.textContent.trim().slice(0, 160).replace(/\s\S*$/, '');
    $('.speed', node).textContent = `${number(result.rate)} tokens/s`;
    note.replaceChildren(`${endings[result.ended] ?? ''}${result.tokens} tokens · `,
      el('a', { href: `#attention?${new URLSearchParams({ t: words, e: model.name })}` }, 'see its attention'));
    panel.finished = result.ended !== 'stopped';
  } catch (error) {
    note.classList.add('error');
    note.textContent = error.message;
  }
}

// ---- The proof: how surprised two models are by each token of one unseen story ----
const readers = ['rope', 'alibi'], proof = $('.proof', section), step = 64, length = 768; // in tokens
const losses = []; // of each reader that has read: the sum and the count of each step
let proven = null; // a Promise of the proof, once a bare address has asked for it

const mean = (sums) => sums.reduce((all, [sum]) => all + sum, 0) / sums.reduce((all, [, count]) => all + count, 0);
export function redraw() {
  if (!losses.length || proof.hidden) return;
  curves($('canvas', proof), losses.map((sums, i) => ({ name: readers[i],
    tint: colour('--mark', $(`[value=${readers[i]}]`, form).parentNode),
    points: sums.map((one, k) => [(k + 0.5) * step, mean([one])]) })),
  'position in tokens', 'loss, nats per token', { height: 250, mark: 256 });
}

async function prove() {
  const story = (await (await fetch('heldout.txt')).text()).split('<|endoftext|>').find((text) => text.length > 9000);
  const all = readers.map((name) => app.named(name)[0]);
  const panels = all.map((model) => make_panel({ model, title: model.name }));
  $('.reads', proof).replaceChildren(...panels.map(({ node }) => node));
  for (const [i, panel] of panels.entries()) { // each is drawn once it has read
    const { file, trained } = await app.open(all[i], panel.note), sums = range(length / step).map(() => [0, 0]);
    await app.engine.generate(file, { prompt: story.trim().slice(0, 3000), count: 1 }, (token) => {
      const one = sums[Math.floor(token.position / step)];
      if (!one || !token.prompt || !token.probability) return;
      one[0] -= Math.log(token.probability);
      ++one[1];
      add(panel, { ...token, prompt: false }, trained);
    });
    losses.push(sums);
    redraw();
    panel.story.scrollTop = panel.story.scrollHeight; // where they differ most
  }
  const said = (...part) =>
    losses.map((sums, i) => `${number(mean(sums.slice(...part)))} for ${readers[i]}`).join(' and ');
  const choice = number(Math.exp(mean(losses[0].slice(256 / step))), 2);
  $('.said', proof).textContent = `Up to the trained length, the mean loss is ${said(0, 256 / step)}. After it, the ` +
    `loss is ${said(256 / step)}. Then ${readers[0]} is as unsure as in a choice among ${choice} words. The ` +
    'two texts show their end: a stronger shade is a larger surprise.';
  $('canvas', proof).ariaLabel = $('.said', proof).textContent;
}

// The view opens on the proof if its address is bare.
export function enter(state) {
  if (/^(#write)?$/.test(location.hash)) {
    proof.hidden = false;
    proven ??= prove().catch(() => { proof.hidden = true; proven = null; losses.length = 0; });
  }
  return write(state);
}

// Keeps the finished texts that are wanted again, and writes the others.
async function write(state) {
  offer_scaling(state);
  redraw(); // the width may have changed under another view
  const wanted = runs(state), now = [...panels.values()], is_wanted = (key) => wanted.some((run) => run.key === key);
  if (writing && panels.size === wanted.length && [...panels.keys()].every(is_wanted)) return;
  const mine = ++turn;
  await proven;
  if (mine !== turn || section.hidden) return;
  for (const panel of now) panel.dropped = !panel.finished;
  if (now.some(({ running }) => running)) { // stop() ends all of them
    await stop_all();
    await Promise.all(now.map(({ running }) => running));
    if (mine !== turn) return;
  }
  for (const [key, { finished }] of panels) if (!finished || !is_wanted(key)) panels.delete(key);
  const fresh = wanted.filter(({ key }) => !panels.has(key));
  for (const run of fresh) panels.set(run.key, make_panel(run));
  $('.panels', section).replaceChildren(...wanted.map(({ key }) => panels.get(key).node));
  if (!wanted.length) status.textContent = 'Choose an encoding.';
  if (!fresh.length) return;
  const begin = performance.now();
  writing = true;
  stop.disabled = false;
  status.textContent = fresh.length === 1 ? 'One model writes.' : `${fresh.length} models write.`;
  await Promise.all(fresh.map((run) => {
    const panel = panels.get(run.key);
    return panel.running = fill_panel(panel, run).finally(() => { panel.running = null; });
  }));
  if (mine !== turn) return;
  const whole = writing;
  writing = false;
  stop.disabled = true;
  const made = fresh.flatMap(({ key }) => panels.get(key).tokens).filter(({ prompt }) => !prompt).length;
  status.textContent = `${whole ? 'Finished' : 'Stopped'}: ${number(made, 6)} tokens in ` +
    `${number((performance.now() - begin) / 1000)} s.` +
    (whole ? ' The same beginning and seed give the same text again.' : '');
}

function stop_all() {
  writing = false;
  return app.engine.stop();
}

export function start(page) {
  app = page;
  stop.addEventListener('click', stop_all);
  $('.up', section).addEventListener('click', () => scrollTo(0, 0));
}
export function change(state) { offer_scaling(state); }
export function settle(state, control) { if (control.tagName !== 'TEXTAREA') write(state); }
export const leave = stop_all;
