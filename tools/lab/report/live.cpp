// SPDX-License-Identifier: MIT
#include "tools/lab/report/live.h"

namespace ordo::lab {

// The computations come first, separate from the drawing: tests/live compares them with the engine.
const std::string_view live_figures = R"js(
<section id="live">
<h2>Try it</h2>
<p>Computed in this page, by the formulas of the papers.</p>
<figure class="live">
<label>width d <input type="range" id="sin-d" min="2" max="128" step="2" value="32"><output></output></label>
<label>base <input type="range" id="sin-base" min="0.5" max="6" step="0.1" value="4"><output></output></label>
<canvas id="sin"></canvas>
<figcaption><strong>Sinusoidal</strong>: a row for each position from 0 to 127, a column for each dimension; sin and cos of
position / base<sup>2k/d</sup> take turns, from -1 (purple) to 1 (orange). <span id="sin-says"></span></figcaption>
</figure>
<figure class="live">
<label>theta <input type="range" id="rope-theta" min="2" max="6" step="0.1" value="4"><output></output></label>
<label>scale <input type="range" id="rope-scale" min="1" max="16" step="1" value="4"><output></output></label>
<label>up to distance <input type="range" id="rope-most" min="4" max="15" step="1" value="12"><output></output></label>
<canvas id="rope"></canvas>
<div class="key" id="rope-key"></div>
<figcaption><strong>RoPE</strong>: the score of a query and a key that are all ones, against their distance, in a head of 64 dimensions:
the mean of cos(distance &times; frequency). Without scaling, and stretched by the scale: linearly, by NTK's larger theta, and by YaRN for a
model that was trained on 2,048 positions. <span id="rope-says"></span></figcaption>
</figure>
<figure class="live">
<label>heads <input type="range" id="alibi-heads" min="1" max="32" step="1" value="8"><output></output></label>
<label>slope of a head of its own, 2^-x, x = <input type="range" id="alibi-slope" min="0" max="12" step="0.5" value="4"><output></output></label>
<label>up to distance <input type="range" id="alibi-most" min="3" max="12" step="1" value="7"><output></output></label>
<canvas id="alibi"></canvas>
<div class="key" id="alibi-key"></div>
<figcaption><strong>ALiBi</strong>: what a softmax over equal scores leaves of a key's weight, exp(-slope &times; distance), for every head and for a slope of one's own.
<span id="alibi-says"></span></figcaption>
</figure>
<script>
"use strict";
// ---- What is computed ----
function sinusoidal(position, column, d, base) { // Vaswani et al. 2017, section 3.5
  const angle = position / Math.pow(base, (column - column % 2) / d);
  return column % 2 ? Math.cos(angle) : Math.sin(angle);
}
function ropeFrequencies(d, theta, law, scale, trained) { // Su et al. 2021; linear: Chen et al. 2023; yarn: Peng et al. 2023
  if (law === "ntk") theta *= Math.pow(scale, d / (d - 2));
  return Array.from({length: d / 2}, (_, k) => {
    const frequency = Math.pow(theta, -2 * k / d);
    if (law === "linear") return frequency / scale;
    if (law !== "yarn") return frequency;
    const pairTurning = turns => d * Math.log(trained / (2 * Math.PI * turns)) / (2 * Math.log(theta)); // so often over what was trained
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
// ---- What is drawn ----
if (typeof document !== "undefined") (() => {
  const $ = id => document.getElementById(id), round = x => Number(x.toPrecision(3)).toLocaleString("en");
  const colors = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#888888"];
  function sheet(id) {
    const canvas = $(id), ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
    canvas.width = Math.round(box.width * ratio); canvas.height = Math.round(box.height * ratio);
    const pen = canvas.getContext("2d"); pen.scale(ratio, ratio); pen.font = "13px sans-serif";
    const style = getComputedStyle(document.body); pen.ink = style.color;
    return [pen, box.width, box.height];
  }
  function input(id, of) { // its value, shown beside it
    const value = of(Number($(id).value)); $(id).nextElementSibling.textContent = " " + round(value); return value;
  }
  function curves(id, most, low, high, lines) {
    const [pen, width, height] = sheet(id), left = 46, right = 10, top = 10, bottom = 24;
    const x = d => left + d / most * (width - left - right), y = v => top + (high - v) / (high - low) * (height - top - bottom);
    pen.fillStyle = pen.ink; pen.strokeStyle = "#8885"; pen.textAlign = "right"; pen.textBaseline = "middle";
    for (let i = 0; i <= 4; ++i) {
      const v = low + (high - low) * i / 4, d = most * i / 4;
      pen.beginPath(); pen.moveTo(left, y(v)); pen.lineTo(width - right, y(v)); pen.stroke();
      pen.fillText(round(v), left - 6, y(v)); pen.fillText(round(d), i ? x(d) : left + 8, height - bottom / 2);
    }
    lines.forEach((line, i) => {
      pen.strokeStyle = colors[i % colors.length]; pen.lineWidth = 2; pen.setLineDash(i < colors.length ? [] : [6, 4]); pen.beginPath();
      for (let at = 0; at <= width - left - right; ++at) {
        const d = at / (width - left - right) * most;
        pen.lineTo(left + at, y(line.of(d)));
      }
      pen.stroke();
    });
    $(id + "-key").replaceChildren(...(lines.length > 8 ? [] : lines).map((line, i) => {
      const name = document.createElement("span");
      name.style.color = colors[i % colors.length]; name.textContent = (i < colors.length ? "\u2501 " : "\u254d ") + line.name;
      return name;
    }));
  }
  function drawSinusoidal() {
    const d = input("sin-d", v => v), base = input("sin-base", v => Math.pow(10, v)), [pen, width, height] = sheet("sin"), rows = 128;
    for (let p = 0; p < rows; ++p) for (let c = 0; c < d; ++c) {
      const v = sinusoidal(p, c, d, base), fade = Math.round(255 - 200 * Math.abs(v));
      pen.fillStyle = v < 0 ? `rgb(${fade},${Math.max(fade - 20, 0)},${255 - Math.round(90 * -v)})` : `rgb(255,${Math.round(255 - 110 * v)},${fade})`;
      pen.fillRect(c * width / d, p * height / rows, width / d + 1, height / rows + 1);
    }
    const slowest = 2 * Math.PI * Math.pow(base, (d - 2) / d);
    $("sin-says").textContent = `The slowest pair repeats after ${round(slowest)} positions, the fastest after 6.28.`;
  }
  function drawRope() {
    const theta = input("rope-theta", v => Math.pow(10, v)), scale = input("rope-scale", v => v), most = input("rope-most", v => Math.pow(2, v));
    const lines = [["none", "as trained"], ["linear", "linear"], ["ntk", "NTK"], ["yarn", "YaRN"]].map(([law, name]) => {
      const frequencies = ropeFrequencies(64, theta, law, scale, 2048);
      return {name, of: distance => ropeScore(distance, frequencies)};
    });
    curves("rope", most, -0.5, 1, lines);
    const turn = 2 * Math.PI * Math.pow(theta, 62 / 64);
    $("rope-says").textContent = `The slowest pair turns once in ${round(turn)} positions, stretched linearly in ${round(turn * scale)}.`;
  }
  function drawAlibi() {
    const heads = input("alibi-heads", v => v), most = input("alibi-most", v => Math.pow(2, v)), slopes = alibiSlopes(heads);
    const own = Math.pow(2, -input("alibi-slope", v => v)), decay = m => distance => Math.exp(-m * distance);
    curves("alibi", most, 0, 1, slopes.map((m, h) => ({name: `head ${h}: ${round(m)}`, of: decay(m)})).concat({name: `slope ${round(own)}`, of: decay(own)}));
    const half = slopes.map(m => Math.log(2) / m);
    $("alibi-says").textContent = `The heads' weights are halved every ${round(Math.min(...half))} to ${round(Math.max(...half))} tokens, at a slope of ${round(own)} every ${round(Math.log(2) / own)}.`;
  }
  function all() { drawSinusoidal(); drawRope(); drawAlibi(); }
  for (const [start, draw] of [["sin-", drawSinusoidal], ["rope-", drawRope], ["alibi-", drawAlibi]])
    document.querySelectorAll(`input[id^=${start}]`).forEach(slider => slider.addEventListener("input", draw));
  window.addEventListener("resize", all);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
  all();
})();
</script>
</section>
)js";

} // namespace ordo::lab
