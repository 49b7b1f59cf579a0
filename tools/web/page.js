// SPDX-License-Identifier: MIT
// The page: opens the views by their addresses, keeps the addresses up to date, and opens dropped files.
import { Engine } from './engine.js';
import { $, $$, add_chip, encoding_of, fill, hide_card, name_encodings, place_of, read, say } from './kit.js';
import * as attention from './attention.js';
import * as encoding from './encoding.js';
import * as order from './order.js';
import * as write from './write.js';

const views = { write, attention, encoding, order };
const first = { write: ['none', 'rope', 'alibi'], attention: ['alibi'], encoding: ['rope'],
  order: ['none', 'sinusoidal', 'rope', 'alibi', 't5', 'cope'] };
const defaults = {}; // of each view's form
const form_of = (view) => $(`#${view} form`), megabytes = (bytes) => (bytes / 1e6).toFixed(1);
let current = '';

// The views' access to this page.
const app = {
  engine: new Engine(), models: [], encodings: [],
  about: (name) => app.encodings.find((encoding) => encoding.name === name),
  named: (list) => app.models.filter(({ name }) => list.split(',').includes(name)),
  // Opens a model, and writes the progress into an element.
  open: (model, node) => app.engine.open(model.file, (loaded, total) => {
    node.textContent = `Loading ${model.name}: ${megabytes(loaded)} of ${megabytes(total)} MB`;
  }),
  // Writes a form's values into the address, and returns them.
  update: (view) => {
    const state = read(form_of(view)), query = new URLSearchParams();
    for (const [key, value] of Object.entries(state)) if (value !== defaults[view][key]) query.set(key, value);
    const address = `#${view}?${query}`.replace(/\?$/, '');
    $(`nav [data-view=${view}]`).href = address;
    if (view === current && address !== location.hash) history.replaceState(null, '', address);
    say(form_of(view));
    return state;
  },
};

const complain = (text) => { Object.assign($('#alert'), { className: '', textContent: text }); };

// Leaves the encodings that a view offers in a state, or none. Returns the other names.
function take_known(form, state) {
  if (!state.e) return [];
  const offered = $$('.chips input', form).map(({ value }) => value), names = state.e.split(',');
  const known = names.filter((name) => offered.includes(name));
  if (known.length) state.e = known.join(','); else delete state.e;
  return names.filter((name) => !known.includes(name));
}

function go() {
  const [name, query] = location.hash.slice(1).split('?'), view = Object.hasOwn(views, name) ? name : 'write';
  const state = Object.fromEntries(new URLSearchParams(query)), moved = current && current !== view;
  const title = $(`#${view} h1`), unknown = take_known(form_of(view), state);
  for (const link of $$('.guide a'))
    if (link.hash === location.hash) link.ariaCurrent = 'step'; else link.removeAttribute('aria-current');
  hide_card();
  if (moved) views[current].leave?.();
  current = view;
  for (const section of $$('main > section')) section.hidden = section.id !== view;
  for (const link of $$('nav [data-view]'))
    if (link.dataset.view === view) link.ariaCurrent = 'page'; else link.removeAttribute('aria-current');
  document.title = `${title.textContent} · Ordo`;
  if (moved) { title.tabIndex = -1; title.focus({ preventScroll: true }); scrollTo(0, 0); }
  if (views[view].prepare) { // makes the controls that depend on the state
    views[view].prepare(state);
    defaults[view] = { ...read(form_of(view)), e: first[view][0] };
  }
  complain([...(unknown.length ? [`No encoding here has the name ${unknown.join(', ').slice(0, 80)}.`] : []),
    ...fill(form_of(view), { ...defaults[view], ...state })].join(' '));
  views[view].enter(app.update(view));
}

async function open_file(file) {
  if (!file) return;
  complain('');
  try {
    const opened = await app.engine.open(file, () => {});
    const model = { ...opened, name: app.named(opened.name).length ? `${opened.name} (yours)` : opened.name };
    app.models.push(model);
    for (const view of ['write', 'attention', 'order']) {
      const box = $('.chips', form_of(view));
      add_chip(box, model, view === current);
      if (box.dataset.most !== '1')
        while ($$(':checked', box).length > box.dataset.most) $(':checked', box).checked = false;
    }
    if (current !== 'encoding') views[current].enter(app.update(current));
  } catch (error) { complain(error.message); }
}

function listen(view) {
  const form = form_of(view);
  let refused = false; // the chip of the next change event
  form.addEventListener('input', (event) => {
    const box = event.target.closest('.chips');
    refused = Boolean(box && box.dataset.most !== '1' && $$(':checked', box).length > box.dataset.most);
    if (refused) {
      event.target.checked = false;
      $(`#${view} .status`).textContent = `At most ${box.dataset.most} encodings at a time: take one away first.`;
    } else views[view].change?.(app.update(view), event.target);
  });
  form.addEventListener('change', ({ target }) => { if (!refused) views[view].settle?.(app.update(view), target); });
  form.addEventListener('submit', (event) => { event.preventDefault(); views[view].enter(app.update(view)); });
  form.addEventListener('keydown', ({ key, ctrlKey, metaKey }) => {
    if (key === 'Enter' && (ctrlKey || metaKey)) form.requestSubmit();
  });
}

async function start() {
  [app.models, app.encodings] = await Promise.all([app.engine.models(), app.engine.encodings()]);
  name_encodings(app.encodings);
  const rank = ({ name, encoding }) => name === 'storyteller' ? 1e3 : place_of(encoding); // the larger model is last
  app.models.sort((a, b) => rank(a) - rank(b));
  const all = app.encodings.map(({ name }) => ({ name, encoding: name }));
  const title = (spec) => app.about(encoding_of(spec))?.summary ?? '';
  for (const view of Object.keys(views)) {
    for (const { name, encoding: spec } of view === 'encoding' ? all : app.models)
      add_chip($('.chips', form_of(view)), { name, encoding: spec, title: title(spec) }, first[view].includes(name));
    views[view].start(app);
    defaults[view] = read(form_of(view));
    listen(view);
  }
  addEventListener('hashchange', go);
  go();
}

// ---- Files ----
addEventListener('dragover', (event) => { event.preventDefault(); $('#drop').hidden = false; });
addEventListener('dragleave', ({ relatedTarget }) => { if (!relatedTarget) $('#drop').hidden = true; });
addEventListener('drop', (event) => {
  event.preventDefault();
  $('#drop').hidden = true;
  open_file(event.dataTransfer.files[0]);
});
$('#file').addEventListener('change', ({ target }) => { open_file(target.files[0]); target.value = ''; });

$('.copy').addEventListener('click', async ({ target }) => { // the address holds everything
  try { await navigator.clipboard.writeText(location.href); target.textContent = 'Copied'; } catch {
    target.textContent = 'Copy the address'; // a page without https has no clipboard
  }
  setTimeout(() => { target.textContent = 'Copy link'; }, 2000);
});

// ---- Pictures follow the width and the theme ----
const redraw = () => views[current]?.redraw?.();
addEventListener('resize', redraw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);

$('#alert').textContent = 'Loading the engine'; // shown if it takes long
start().catch((error) => complain(`The engine did not start: ${error.message}`));
