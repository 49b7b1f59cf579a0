// SPDX-License-Identifier: MIT
#include "tools/lab/report/report.h"

namespace ordo::lab {

// The computations come first, separate from the drawing: tests/live compares them with the engine.
const std::string_view live_figures = R"js(
<section id="live">
<h2>Try it yourself</h2>
<p>Move the sliders. Your browser computes these three figures with the formulas of the papers.</p>
<figure class="live">
<figcaption><strong>Sinusoidal.</strong> Each row is added to the word vector at its position. The columns are
pairs of a sine and a cosine: fast waves on the left, slow waves on the right. Purple is -1, orange is 1.
<span id="sin-says"></span></figcaption>
<label>dimensions <input type="range" id="sin-d" min="2" max="128" step="2" value="32"><output></output></label>
<label>base <input type="range" id="sin-base" min="0.5" max="6" step="0.1" value="4"><output></output></label>
<canvas id="sin"></canvas>
</figure>
<figure class="live">
<figcaption><strong>RoPE.</strong> RoPE rotates queries and keys by their positions. The curve is the score of a
query and a key that are equal before the rotation, in a head of 64 dimensions. The other curves slow the rotations
down, so that a model can read longer texts: linear divides all frequencies by the scale, NTK raises theta, and YaRN
keeps the fast pairs of a model trained on 2,048 positions.
<span id="rope-says"></span></figcaption>
<label>theta <input type="range" id="rope-theta" min="2" max="6" step="0.1" value="4"><output></output></label>
<label>scale <input type="range" id="rope-scale" min="1" max="16" step="1" value="4"><output></output></label>
<label>greatest distance
<input type="range" id="rope-most" min="4" max="15" step="1" value="9"><output></output></label>
<canvas id="rope"></canvas>
<div class="key" id="rope-key"></div>
</figure>
<figure class="live">
<figcaption><strong>ALiBi.</strong> ALiBi subtracts slope &times; distance from each score. A softmax over equal
scores then multiplies each attention weight by e<sup>-slope &times; distance</sup>. The last curve has a slope of your
choice. <span id="alibi-says"></span></figcaption>
<label>heads <input type="range" id="alibi-heads" min="1" max="32" step="1" value="8"><output></output></label>
<label>your slope <input type="range" id="alibi-slope" min="0" max="12" step="0.5" value="4"><output></output></label>
<label>greatest distance
<input type="range" id="alibi-most" min="3" max="12" step="1" value="7"><output></output></label>
<canvas id="alibi"></canvas>
<div class="key" id="alibi-key"></div>
</figure>
<script>
"use strict";
// ---- The formulas ----
function sinusoidal(position, column, d, base) { // Vaswani et al. 2017, section 3.5
  const angle = position / Math.pow(base, (column - column % 2) / d);
  return column % 2 ? Math.cos(angle) : Math.sin(angle);
}
// Su et al. 2021; linear: Chen et al. 2023; yarn: Peng et al. 2023
function ropeFrequencies(d, theta, method, scale, trained) {
  if (method === "ntk") theta *= Math.pow(scale, d / (d - 2));
  return Array.from({length: d / 2}, (_, k) => {
    const frequency = Math.pow(theta, -2 * k / d);
    if (method === "linear") return frequency / scale;
    if (method !== "yarn") return frequency;
    // the pair that turns so often in the trained length
    const pairTurning = turns => d * Math.log(trained / (2 * Math.PI * turns)) / (2 * Math.log(theta));
    const low = Math.max(Math.floor(pairTurning(32)), 0), high = Math.min(Math.ceil(pairTurning(1)), d - 1);
    const kept = 1 - Math.min(Math.max((k - low) / Math.max(high - low, 0.001), 0), 1);
    return frequency * (kept + (1 - kept) / scale);
  });
}
function ropeScore(distance, frequencies) {
  return frequencies.reduce((sum, f) => sum + Math.cos(distance * f), 0) / frequencies.length;
}
function alibiSlopes(heads) { // Press et al. 2022, and their code for numbers that are no power of two
  const power = n => Array.from({length: n}, (_, h) => Math.pow(2, -8 * (h + 1) / n));
  const whole = Math.pow(2, Math.floor(Math.log2(heads)));
  return power(whole).concat(power(2 * whole).filter((_, h) => h % 2 === 0).slice(0, heads - whole));
}
// ---- The drawings: palette has the colours of the page's pictures ----
if (typeof document !== "undefined") (() => {
  const $ = id => document.getElementById(id), round = x => x.toLocaleString("en", {maximumSignificantDigits: 4});
  const left = 62, right = 14, top = 10, bottom = 46;
  function sheet(id) {
    const canvas = $(id), ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
    canvas.width = Math.round(box.width * ratio); canvas.height = Math.round(box.height * ratio);
    const pen = canvas.getContext("2d"); pen.scale(ratio, ratio); pen.font = "13px sans-serif"; pen.fillStyle = "#222";
    return [pen, box.width, box.height];
  }
  function input(id, of) { // its value, shown next to it
    const value = of(Number($(id).value)); $(id).nextElementSibling.textContent = " " + round(value); return value;
  }
  function ticks(low, high) { // round numbers
    const rough = (high - low) / 5, power = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = power * [1, 2, 5, 10].find(factor => power * factor >= rough * 0.999), all = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) all.push(i * step);
    return all;
  }
  // The numbers and titles of both axes. y runs from y0 at the bottom to y1 at the top.
  function axes(pen, width, height, x1, y0, y1, xTitle, yTitle, lines) {
    const x = v => left + v / x1 * (width - left - right);
    const y = v => top + (y1 - v) / (y1 - y0) * (height - top - bottom);
    pen.strokeStyle = "#ddd"; pen.fillStyle = "#222"; pen.lineWidth = 1;
    const line = (ax, ay, bx, by) => {
      if (lines) { pen.beginPath(); pen.moveTo(ax, ay); pen.lineTo(bx, by); pen.stroke(); }
    };
    pen.textBaseline = "middle"; pen.textAlign = "right";
    for (const v of ticks(Math.min(y0, y1), Math.max(y0, y1))) {
      line(left, y(v), width - right, y(v)); pen.fillText(round(v), left - 6, y(v));
    }
    pen.textAlign = "center";
    for (const v of ticks(0, x1)) {
      line(x(v), top, x(v), height - bottom);
      pen.fillText(round(v), x(v), height - bottom + 12);
    }
    pen.fillText(xTitle, (left + width - right) / 2, height - 10);
    pen.save(); pen.translate(12, (top + height - bottom) / 2); pen.rotate(-Math.PI / 2);
    pen.fillText(yTitle, 0, 0); pen.restore();
    return [x, y];
  }
  function curves(id, most, low, high, xTitle, yTitle, lines) {
    const [pen, width, height] = sheet(id), colors = palette.lines;
    const [, y] = axes(pen, width, height, most, low, high, xTitle, yTitle, true);
    lines.forEach((line, i) => {
      pen.strokeStyle = colors[i % colors.length]; pen.lineWidth = 2;
      pen.setLineDash(i < colors.length ? [] : [6, 4]); pen.beginPath();
      const columns = width - left - right;
      for (let at = 0; at <= columns; ++at) pen.lineTo(left + at, y(line.of(at / columns * most)));
      pen.stroke();
    });
    $(id + "-key").replaceChildren(...(lines.length > 9 ? lines.slice(-1) : lines).map(line => {
      const i = lines.indexOf(line), name = document.createElement("span"), mark = document.createElement("b");
      mark.style.color = colors[i % colors.length]; mark.textContent = i < colors.length ? "\u2501 " : "\u254d ";
      name.append(mark, line.name);
      return name;
    }));
  }
  function shade(value) { // of -1 to 1
    const colors = palette.diverging, at = (value + 1) / 2 * (colors.length - 1);
    const i = Math.min(Math.floor(at), colors.length - 2);
    return `rgb(${colors[i].map((v, c) => Math.round(v + (at - i) * (colors[i + 1][c] - v))).join()})`;
  }
  function drawSinusoidal() {
    const d = input("sin-d", v => v), base = input("sin-base", v => Math.pow(10, v));
    const [pen, width, height] = sheet("sin"), rows = 128;
    axes(pen, width, height, d, rows, 0, "dimension", "position", false);
    const w = (width - left - right) / d, h = (height - top - bottom) / rows;
    for (let p = 0; p < rows; ++p) for (let c = 0; c < d; ++c) {
      pen.fillStyle = shade(sinusoidal(p, c, d, base));
      pen.fillRect(left + c * w, top + p * h, w + 0.5, h + 0.5);
    }
    const slowest = 2 * Math.PI * Math.pow(base, (d - 2) / d);
    $("sin-says").textContent = `The fastest pair repeats after 6.28 positions, the slowest after ${round(slowest)}.`;
  }
  function drawRope() {
    const theta = input("rope-theta", v => Math.pow(10, v)), scale = input("rope-scale", v => v);
    const most = input("rope-most", v => Math.pow(2, v));
    const methods = [["none", "no scaling"], ["linear", "linear"], ["ntk", "NTK"], ["yarn", "YaRN"]];
    const lines = methods.map(([method, name]) => {
      const frequencies = ropeFrequencies(64, theta, method, scale, 2048);
      return {name, of: distance => ropeScore(distance, frequencies)};
    });
    curves("rope", most, -0.5, 1, "distance in positions", "score / its largest value", lines);
    const turn = 2 * Math.PI * Math.pow(theta, 62 / 64);
    $("rope-says").textContent =
      `The slowest pair turns once in ${round(turn)} positions; with linear scaling, in ${round(turn * scale)}.`;
  }
  function drawAlibi() {
    const heads = input("alibi-heads", v => v), most = input("alibi-most", v => Math.pow(2, v));
    const slopes = alibiSlopes(heads);
    const own = input("alibi-slope", v => Math.pow(2, -v)), decay = m => distance => Math.exp(-m * distance);
    curves("alibi", most, 0, 1, "distance in positions", "factor on the weight",
           slopes.map((m, h) => ({name: `head ${h}: ${round(m)}`, of: decay(m)}))
                 .concat({name: `your slope: ${round(own)}`, of: decay(own)}));
    const half = slopes.map(m => Math.log(2) / m);
    $("alibi-says").textContent =
      `The steepest head halves a weight every ${round(Math.min(...half))} tokens, ` +
      `the flattest every ${round(Math.max(...half))}, and your slope every ${round(Math.log(2) / own)}.`;
  }
  function all() { drawSinusoidal(); drawRope(); drawAlibi(); }
  for (const [start, draw] of [["sin-", drawSinusoidal], ["rope-", drawRope], ["alibi-", drawAlibi]])
    document.querySelectorAll(`input[id^=${start}]`).forEach(slider => slider.addEventListener("input", draw));
  window.addEventListener("resize", all);
  all();
})();
</script>
</section>
)js";

} // namespace ordo::lab
