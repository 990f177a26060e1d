
// The plots that a step of the lesson names.
const PLOT = { left: 52, right: 8, top: 6, bottom: 22 };

// Returns the vertical range of a metric up to a recorded step: that of the means, and of the deviations around them
// unless these need far more room.
function rangeOf(run, metric, last) {
  const means = [Infinity, -Infinity];
  const bands = [Infinity, -Infinity];
  const extend = (range, value) => {
    if (Number.isFinite(value)) [range[0], range[1]] = [Math.min(range[0], value), Math.max(range[1], value)];
  };
  for (const { metrics } of ensemblesOf(run)) {
    const { mean, std } = metrics[metric];
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
function axesOf(width, height, run, step, metric) {
  const area = { x: PLOT.left, y: PLOT.top, width: width - PLOT.left - PLOT.right, height: height - PLOT.top - PLOT.bottom };
  const range = rangeOf(run, metric, frameOf(run, step.to));
  const across = (value) => area.x + (step.to ? value / step.to : 0) * area.width;
  const up = (value) => area.y + (1 - (value - range[0]) / (range[1] - range[0])) * area.height;
  return { area, range, across, up };
}

function drawPlot(canvas, run, step, metric, frame) {
  const { context, width, height } = prepared(canvas);
  const { area, range, across, up } = axesOf(width, height, run, step, metric);
  drawGrid(context, area, range, across, up, step);
  context.save();
  context.beginPath();
  context.rect(area.x, area.y, area.width, area.height);
  context.clip();
  const last = frameOf(run, step.to);
  const x = (i) => across(stepOf(run, i));
  ensemblesOf(run).forEach(({ metrics }, i) => {
    const { mean, std } = metrics[metric];
    const stroke = curveColor(data.optimizers[i]);
    context.setLineDash(hidesAnother(run, metric, i, last, range) ? [7, 5] : []);
    drawBand(context, mean, std, frame, x, up, stroke);
    for (const [from, to, alpha] of [[0, last, 0.3], [0, frame, 1]]) {
      context.beginPath();
      trace(context, [mean.map((_, i) => i), mean], from, to, (i, value) => [x(i), up(value)]);
      context.globalAlpha = alpha;
      context.strokeStyle = stroke;
      context.lineWidth = 1.6;
      context.lineJoin = "round";
      context.stroke();
    }
    context.globalAlpha = 1;
  });
  context.setLineDash([]);
  drawMarks(context, area, across, step);
  context.strokeStyle = color("--weak");
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x(frame), area.y);
  context.lineTo(x(frame), area.y + area.height);
  context.stroke();
  context.restore();
  ensemblesOf(run).forEach(({ metrics }, i) => {
    const value = metrics[metric].mean[frame];
    const y = up(value);
    if (y >= area.y && y <= area.y + area.height) drawMarker(context, data.optimizers[i], x(frame), y, 4, color("--text"));
  });
}

// Returns whether an optimizer's curve would hide an earlier one: most of both is the same line.
function hidesAnother(run, metric, index, last, [low, high]) {
  const own = ensemblesOf(run)[index].metrics[metric].mean;
  return ensemblesOf(run).slice(0, index).some(({ metrics }) => {
    const other = metrics[metric].mean;
    let alike = 0;
    for (let i = 0; i <= last; i++) alike += Math.abs(own[i] - other[i]) < 0.015 * (high - low);
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
