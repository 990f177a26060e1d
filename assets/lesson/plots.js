
// The plots that a step of the lesson names.
const PLOT = { left: 52, right: 8, top: 6, bottom: 22 };

// The dashes and gaps of the curves of runs side by side, in widths of a line.
const DASHES = [[], [4, 3], [1, 1.5], [5, 2, 1, 2]];
// The width of a curve and the dashes of one of a single run that would hide another.
const CURVE = 1.6;
const HIDING = [7, 5];

// Returns the curves of a plot of runs side by side. A run whose landscape lacks the metric has none.
function curvesOf(shown, plot) {
  return shown.flatMap(({ run, frame, show }, place) => {
    const metric = show[plot];
    if (metric === null) return [];
    return ensemblesOf(run).map(({ metrics }, i) => ({ run, frame, place, look: looksOf(run)[i], ...metrics[metric] }));
  });
}

// Returns the vertical range of curves up to a step: that of the means, and of the deviations around them unless these
// need far more room.
function rangeOf(curves, to) {
  const means = [Infinity, -Infinity];
  const bands = [Infinity, -Infinity];
  const extend = (range, value) => {
    if (Number.isFinite(value)) [range[0], range[1]] = [Math.min(range[0], value), Math.max(range[1], value)];
  };
  for (const { run, mean, std } of curves) {
    const last = frameOf(run, to);
    for (let i = 0; i <= last; i++) {
      extend(means, mean[i]);
      extend(bands, mean[i] - std[i]);
      extend(bands, mean[i] + std[i]);
    }
  }
  if (means[0] > means[1]) return [0, 1];
  const isWide = bands[1] - bands[0] > 20 * (means[1] - means[0]) && means[1] > means[0];
  const [low, high] = isWide || bands[0] > bands[1] ? means : bands;
  const margin = 0.06 * (high - low) || 0.1 * Math.abs(high) || 1e-3;
  return [low - margin, high + margin];
}

// Returns the area of a plot and its axes.
function axesOf(width, height, curves, step) {
  const area = { x: PLOT.left, y: PLOT.top, width: width - PLOT.left - PLOT.right, height: height - PLOT.top - PLOT.bottom };
  const range = rangeOf(curves, step.to);
  const across = (value) => area.x + (step.to ? value / step.to : 0) * area.width;
  const up = (value) => area.y + (1 - (value - range[0]) / (range[1] - range[0])) * area.height;
  return { area, range, across, up };
}

function drawPlot(canvas, shown, step, plot) {
  const { context, width, height } = prepared(canvas);
  const curves = curvesOf(shown, plot);
  const { area, range, across, up } = axesOf(width, height, curves, step);
  drawGrid(context, area, range, across, up, step);
  context.save();
  context.beginPath();
  context.rect(area.x, area.y, area.width, area.height);
  context.clip();
  curves.forEach((curve, i) => {
    const isHiding = shown.length === 1 && hidesAnother(curves, i, step.to, range);
    context.setLineDash(isHiding ? HIDING : DASHES[curve.place].map((length) => length * CURVE));
    drawCurve(context, curve, step, across, up);
  });
  context.setLineDash([]);
  drawMarks(context, area, across, step);
  context.strokeStyle = color("--weak");
  context.lineWidth = 1;
  context.beginPath();
  const now = across(stepOf(shown[0].run, shown[0].frame));
  context.moveTo(now, area.y);
  context.lineTo(now, area.y + area.height);
  context.stroke();
  context.restore();
  for (const { run, frame, mean, look } of curves) {
    const y = up(mean[frame]);
    if (y >= area.y && y <= area.y + area.height) drawMarker(context, look, across(stepOf(run, frame)), y, 4, color("--text"));
  }
}

// Draws a curve, pale after the present step.
function drawCurve(context, { run, frame, mean, std, look }, step, across, up) {
  const x = (i) => across(stepOf(run, i));
  const stroke = curveColor(look);
  drawBand(context, mean, std, frame, x, up, stroke);
  for (const [to, alpha] of [[frameOf(run, step.to), 0.3], [frame, 1]]) {
    context.beginPath();
    trace(context, [mean.map((_, i) => i), mean], 0, to, (i, value) => [x(i), up(value)]);
    context.globalAlpha = alpha;
    context.strokeStyle = stroke;
    context.lineWidth = CURVE;
    context.lineJoin = "round";
    context.stroke();
  }
  context.globalAlpha = 1;
}

// Returns whether a curve would hide an earlier one of the same run: most of both is the same line.
function hidesAnother(curves, index, to, [low, high]) {
  const { run, mean } = curves[index];
  const last = frameOf(run, to);
  return curves.slice(0, index).some((other) => {
    let alike = 0;
    for (let i = 0; i <= last; i++) alike += Math.abs(mean[i] - other.mean[i]) < 0.015 * (high - low);
    return alike > 0.7 * last;
  });
}

// Draws the named steps of the run, each with its words on the side with more room; neighbours are in different lines.
function drawMarks(context, area, across, step) {
  context.strokeStyle = context.fillStyle = color("--accent");
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "top";
  context.lineWidth = 1;
  context.setLineDash([4, 4]);
  for (const [i, [at, words]] of step.marks.filter(([at]) => at <= step.to).entries()) {
    const x = across(at);
    context.beginPath();
    context.moveTo(x, area.y);
    context.lineTo(x, area.y + area.height);
    context.stroke();
    const isRight = x > area.x + area.width / 2;
    context.textAlign = isRight ? "right" : "left";
    context.fillText(words, isRight ? x - 4 : x + 4, area.y + 3 + 13 * (i % 3));
  }
  context.setLineDash([]);
}

// Draws the deviation over the particles, up to the present step.
function drawBand(context, mean, std, frame, x, up, fill) {
  context.beginPath();
  let first = 0;
  while (first <= frame && !Number.isFinite(mean[first] + std[first])) first++;
  let last = first;
  while (last < frame && Number.isFinite(mean[last + 1] + std[last + 1])) last++;
  for (let i = first; i <= last; i++) context.lineTo(x(i), up(mean[i] + std[i]));
  for (let i = last; i >= first; i--) context.lineTo(x(i), up(mean[i] - std[i]));
  context.globalAlpha = 0.14;
  context.fillStyle = fill;
  context.fill();
  context.globalAlpha = 1;
}

function drawGrid(context, area, range, across, up, step) {
  const [bottom, right] = [area.y + area.height, area.x + area.width];
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = color("--weak");
  context.strokeStyle = color("--grid");
  context.lineWidth = 1;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.beginPath();
  for (const { value, label } of ticks(range, area.height / 34)) {
    context.moveTo(area.x, up(value));
    context.lineTo(right, up(value));
    context.fillText(label, area.x - 6, up(value));
  }
  context.textBaseline = "top";
  for (const { value, label } of ticks([0, step.to || 1], area.width / 80).filter(({ value }) => Number.isInteger(value))) {
    const isLast = across(value) > right - 14;
    context.textAlign = isLast ? "right" : "center";
    context.moveTo(across(value), area.y);
    context.lineTo(across(value), bottom);
    context.fillText(label, isLast ? right + PLOT.right : across(value), bottom + 6);
  }
  context.stroke();
  context.strokeStyle = color("--line");
  context.strokeRect(area.x, area.y, area.width, area.height);
}

// Returns the step under the pointer on a plot.
function stepUnder(canvas, event, step) {
  const box = canvas.getBoundingClientRect();
  const part = (event.clientX - box.left - PLOT.left) / (box.width - PLOT.left - PLOT.right);
  return Math.round(Math.min(Math.max(part, 0), 1) * step.to);
}
