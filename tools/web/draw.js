// SPDX-License-Identifier: MIT
// Drawings on a canvas in the colours of the theme.
import { number } from './kit.js';

const font = (size) => `${size}px "Helvetica Neue", Helvetica, "Segoe UI", Arial, sans-serif`;
export const colour = (name, of = document.documentElement) => getComputedStyle(of).getPropertyValue(name).trim();
const channels = (name, of) => colour(name, of).match(/[0-9a-f]{2}/gi).map((two) => parseInt(two, 16)); // of #rrggbb
const mix = (a, b, part) => a.map((value, i) => Math.round(value + (b[i] - value) * part));

// Functions from values to colours. From 0 to `most`, or to -most.
export function diverging(most) {
  const paper = channels('--sheet'), low = channels('--low'), high = channels('--high');
  return (value) => mix(paper, value < 0 ? low : high, Math.min(1, Math.abs(value) / (most || 1)));
}
// From 0 to 1, in the colour of an element's mark.
export function rising(of) {
  const paper = channels('--sheet'), full = channels('--mark', of);
  return (value) => mix(paper, full, Math.max(0, value) ** 0.7);
}

function sheet(canvas, height) {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, pen = canvas.getContext('2d');
  Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
  canvas.style.height = `${height}px`;
  pen.scale(ratio, ratio);
  pen.font = font(12);
  Object.assign(pen, { fillStyle: colour('--dim'), strokeStyle: colour('--line'), textBaseline: 'middle' });
  return [pen, width];
}

function turned(pen, text, x, y, most) {
  pen.save();
  pen.translate(x, y);
  pen.rotate(-Math.PI / 2);
  pen.fillText(text, 0, 0, most);
  pen.restore();
}

function cells(pen, rows, cols, at, shade, x, y, width, height) { // NaN: no cell
  const image = new ImageData(cols, rows), small = new OffscreenCanvas(cols, rows);
  for (let i = 0; i < rows * cols; ++i) {
    const value = at(Math.floor(i / cols), i % cols);
    if (Number.isFinite(value)) image.data.set([...shade(value), 255], 4 * i);
  }
  small.getContext('2d').putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(small, x, y, width, height);
}

export function thumbnail(canvas, n, at, shade) {
  const [pen, width] = sheet(canvas, canvas.clientWidth);
  cells(pen, n, n, at, shade, 0, 0, width, width);
}

// A map of n words. row and col: the marked cell, or -1. Returns a function from a point to a cell, or null.
export function word_map(canvas, words, at, shade, row, col) {
  const n = words.length, left = 66, top = 62, size = (canvas.clientWidth - left - 2) / n;
  const [pen] = sheet(canvas, top + size * n + 2), letters = font(Math.min(12, Math.max(9, size * 0.95)));
  const every = Math.ceil(9 / size); // dense words are dropped
  cells(pen, n, n, at, shade, left, top, size * n, size * n);
  for (let i = 0; i < n; ++i) {
    if (i % every && i !== row && i !== col) continue;
    const centre = size * (i + 0.5);
    pen.font = i === row || i === col ? `bold ${letters}` : letters;
    pen.textAlign = 'right';
    pen.fillStyle = colour(i === row ? '--ink' : '--dim');
    pen.fillText(words[i], left - 5, top + centre, left - 6);
    pen.textAlign = 'left';
    pen.fillStyle = colour(i === col ? '--ink' : '--dim');
    turned(pen, words[i], left + centre, top - 5, top - 6);
  }
  Object.assign(pen, { strokeStyle: colour('--ink'), lineWidth: 1.5 });
  pen.strokeRect(left, top + size * row, size * (row + 1), size);
  if (col >= 0) pen.strokeRect(left + size * col, top + size * row, size, size);
  return (x, y) => {
    const r = Math.floor((y - top) / size), c = Math.floor((x - left) / size);
    return r >= 0 && r < n && c >= 0 && c <= r ? { row: r, col: c } : null;
  };
}

function ticks(low, high, count) { // round numbers
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough)), all = [];
  const step = power * [1, 2, 5, 10].find((factor) => power * factor >= rough * 0.999);
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) all.push(i * step);
  return all;
}

// Returns the scales of x and y, and the place of the picture. y1 is on top.
function axes(pen, width, height, [x0, x1], [y0, y1], x_title, y_title, lines, { top = 10, right = 12 } = {}) {
  const left = 58, bottom = 44, w = width - left - right, h = height - top - bottom;
  const x = (v) => left + (v - x0) / (x1 - x0 || 1) * w, y = (v) => top + (y1 - v) / (y1 - y0 || 1) * h;
  pen.textAlign = 'right';
  for (const v of ticks(Math.min(y0, y1), Math.max(y0, y1), 5)) {
    if (lines) pen.strokeRect(left, y(v), w, 0);
    pen.fillText(number(v), left - 7, y(v));
  }
  pen.textAlign = 'center';
  for (const v of ticks(x0, x1, width < 500 ? 4 : 6)) pen.fillText(number(v), x(v), height - bottom + 13);
  pen.fillText(x_title, left + w / 2, height - 9);
  turned(pen, y_title, 11, top + h / 2);
  return [x, y, left, top, w, h];
}

// A map of numbers, the first row on top.
export function heat(canvas, rows, cols, at, shade, x_title, y_title, { height = 320, first = 0 } = {}) {
  const [pen, width] = sheet(canvas, height);
  const [, , left, top, w, h] = axes(pen, width, height, [0, cols], [first + rows, first], x_title, y_title, false);
  cells(pen, rows, cols, at, shade, left, top, w, h);
  pen.strokeRect(left, top, w, h);
}

// lines: [{points: [[x, y]], tint}], and if wanted width, alpha, dots and a name at the right. mark: the trained length,
// named above the plot. No line crosses a name.
export function curves(canvas, lines, x_title, y_title, { height = 320, mark } = {}) {
  const [pen, width] = sheet(canvas, height), range = (i) => {
    const all = lines.flatMap(({ points }) => points.map((point) => point[i])).filter(Number.isFinite);
    return [Math.min(...all), Math.max(...all)];
  };
  const [y0, y1] = range(1), flat = y0 === y1 ? 1 : 0, top = mark ? 24 : 10, names = [];
  const right = 12 + Math.max(...lines.map(({ name }) => name ? pen.measureText(name).width : 0));
  const [x, y] = axes(pen, width, height, range(0), [y0 - flat, y1 + flat], x_title, y_title, true, { top, right });
  if (mark) {
    Object.assign(pen, { textAlign: 'center', fillStyle: colour('--past') });
    pen.fillRect(x(mark), top, 1.5, height - top - 44);
    pen.fillText(`trained on ${mark} tokens`, x(mark), 12);
  }
  for (const { points, tint, width: lineWidth = 2, alpha: globalAlpha = 1, dots, name } of lines) {
    const shown = points.filter(([, v]) => Number.isFinite(v)).map(([px, py]) => [x(px), y(py)]);
    Object.assign(pen, { strokeStyle: tint, fillStyle: tint, lineWidth, globalAlpha, lineJoin: 'round' });
    pen.beginPath();
    for (const point of shown) pen.lineTo(...point);
    pen.stroke();
    if (dots) for (const [px, py] of shown) pen.fillRect(px - 2.5, py - 2.5, 5, 5);
    if (name) names.push([shown.at(-1)[1], name, tint]);
  }
  names.sort(([a], [b]) => b - a).reduce((low, [at, name, fillStyle]) => { // from the lowest, without overlaps
    Object.assign(pen, { textAlign: 'left', fillStyle, globalAlpha: 1 });
    pen.fillText(name, width - right + 6, Math.min(at, low));
    return Math.min(at, low) - 14;
  }, height);
}

// A clock for each of hands: [{angle, length, name}].
export function clocks(canvas, hands, tint) {
  const per_row = Math.max(4, Math.floor(canvas.clientWidth / 68)), size = canvas.clientWidth / per_row;
  const radius = size * 0.42, [pen] = sheet(canvas, Math.ceil(hands.length / per_row) * (size + 16));
  hands.forEach(({ angle, length, name }, i) => {
    const x = size * (i % per_row + 0.5), y = Math.floor(i / per_row) * (size + 16) + size / 2;
    const turn = angle % (2 * Math.PI), reach = radius * Math.min(1, length);
    pen.textAlign = 'center';
    Object.assign(pen, { fillStyle: colour('--dim'), strokeStyle: colour('--line'), lineWidth: 1.5 });
    pen.fillText(name, x, y + radius + 12);
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.stroke();
    Object.assign(pen, { fillStyle: tint, strokeStyle: tint, lineWidth: 2.5, lineCap: 'round', globalAlpha: 0.18 });
    pen.beginPath();
    pen.moveTo(x, y);
    pen.arc(x, y, reach, 0, -turn, true);
    pen.fill();
    pen.globalAlpha = 1;
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x + reach * Math.cos(turn), y - reach * Math.sin(turn));
    pen.stroke();
  });
}
