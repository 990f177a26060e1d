"use strict";

// The lesson's data: numbers are packed as `src/export/lesson_page/page.rs` describes.
const data = JSON.parse(document.getElementById("data").textContent);
const GAP = 0xffff;
const LAST = 0xfffe;

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// Returns a function that reads one series after another.
function seriesReader(bytes) {
  let at = 0;
  return (count, [low, high]) => {
    const values = new Float64Array(count);
    let code = 0;
    for (let i = 0; i < count; i++) {
      let folded = 0;
      let shift = 0;
      let byte;
      do {
        byte = bytes[at++];
        folded |= (byte & 0x7f) << shift;
        shift += 7;
      } while (byte & 0x80);
      code = (code + ((folded >>> 1) ^ -(folded & 1))) & 0xffff;
      values[i] = code === GAP ? NaN : low + (code / LAST) * (high - low);
    }
    return values;
  };
}

// Returns the looks of a run's optimizers.
function looksOf(run) {
  return run.optimizers ?? data.optimizers;
}

// Returns the recorded series of a run, read when they are first needed.
function ensemblesOf(run) {
  if (!run.ensembles) {
    const next = seriesReader(bytesOf(run.data));
    const path = () => run.place.map((range) => next(run.frames, range));
    run.ensembles = looksOf(run).map((_, i) => ({
      mean: path(),
      particles: Array.from({ length: run.particles }, path),
      metrics: run.metrics.map(({ range, first }) => {
        const [mean, std] = range.map((range) => next(run.frames, range));
        [mean[0], std[0]] = first[i].map((value) => value ?? NaN);
        return { mean, std };
      }),
    }));
    run.data = null;
  }
  return run.ensembles;
}

// Returns the index of the recorded step at or before a step.
function frameOf(run, step) {
  return step >= run.end ? run.frames - 1 : Math.floor(step / run.stride);
}

function stepOf(run, frame) {
  return Math.min(frame * run.stride, run.end);
}

// Returns a number with a few significant digits.
function number(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e-3 && size < 1e5) return (size < 999.5 ? value.toPrecision(3) : value.toFixed(0)).replace("-", "−");
  const [digits, exponent] = value.toExponential(2).split("e");
  const raised = [...exponent.replace("+", "")].map((sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign])).join("");
  return `${digits.replace("-", "−")}×10${raised}`;
}

// Returns round numbers in a range, about `count` of them, with their labels.
function ticks([low, high], count) {
  const raw = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5].find((nice) => nice * power >= raw * 0.999) ?? 10);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const all = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) {
    const value = i * step;
    const label = decimals > 5 || Math.abs(value) >= 1e6 ? number(value) : value.toFixed(decimals);
    all.push({ value, label: label.replace(/^-(?=0\.?0*$)/, "").replace("-", "−") });
  }
  return all;
}

// Sizes a canvas for the screen's pixels. Returns its context and its size in CSS pixels.
function prepared(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const size = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

const darkScheme = window.matchMedia("(prefers-color-scheme: dark)");

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function curveColor(look) {
  return look.curve[darkScheme.matches ? 1 : 0];
}

// Draws an optimizer's marker.
function drawMarker(context, look, x, y, radius, edge) {
  const shape = (scale, fill) => {
    context.beginPath();
    if (look.corners) {
      for (const [dx, dy] of look.corners) context.lineTo(x + scale * dx, y + scale * dy);
      context.closePath();
    } else {
      context.arc(x, y, scale, 0, 2 * Math.PI);
    }
    context.fillStyle = fill;
    context.fill();
    context.strokeStyle = edge;
    context.lineWidth = 1;
    context.stroke();
  };
  shape(look.is_open ? 1.2 * radius : radius, look.color);
  if (look.is_open) shape(0.45 * radius, edge);
}
