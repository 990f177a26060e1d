
// The landscapes with their particles.
const images = data.grounds.map((ground) => {
  const image = new Image();
  image.addEventListener("load", () => redraw());
  image.src = ground.image;
  return image;
});

// Returns where landscapes of these proportions lie on their canvas, in rows of one or of two, whichever makes them
// larger.
function areasOn(width, height, aspect, count) {
  const font = width > 900 ? 14 : 12;
  const [left, right, bottom, gap] = [3.3 * font, 5.2 * font, 2.9 * font, font];
  const top = (count > 1 ? 1.9 : 0.6) * font;
  const inColumns = (columns) => {
    const rows = Math.ceil(count / columns);
    const widest = (width - left - right - (columns - 1) * gap) / columns;
    const highest = (height - rows * top - bottom) / rows;
    return { columns, across: Math.max(40, Math.min(widest, highest / aspect)) };
  };
  const choices = (count > 1 ? [2, 1] : [1]).map(inColumns);
  const { columns, across } = choices.reduce((best, other) => (other.across > best.across ? other : best));
  const start = left + Math.max(0, (width - left - right - columns * across - (columns - 1) * gap) / 2);
  return Array.from({ length: count }, (_, i) => ({
    x: start + (i % columns) * (across + gap),
    y: top + Math.floor(i / columns) * (across * aspect + top),
    width: across,
    height: across * aspect,
    font,
    isLeft: i % columns === 0,
    isLowest: i + columns >= count,
  }));
}

// How many times larger the landscape is drawn around the particles.
const ZOOM = 6;

// Returns the ranges of x and y that are drawn: the whole landscape, or a part of it around the means of all runs.
function viewOf(shown, isNear) {
  const ground = data.grounds[shown[0].run.ground];
  const means = shown.flatMap(({ run, frame }) => ensemblesOf(run).map(({ mean }) => [mean[0][frame], mean[1][frame]]));
  const near = means.filter(([x, y]) => Number.isFinite(x + y));
  if (!isNear || near.length === 0) return { x: ground.x, y: ground.y };
  const part = ([low, high], axis) => {
    const half = (high - low) / ZOOM / 2;
    const places = near.map((mean) => mean[axis]);
    const middle = (Math.min(...places) + Math.max(...places)) / 2;
    const inside = Math.min(Math.max(middle, low + half), high - half);
    return [inside - half, inside + half];
  };
  return { x: part(ground.x, 0), y: part(ground.y, 1) };
}

// Draws runs side by side, each with its title and at a recorded step, with the same axes and one colour bar.
function drawLandscapes(canvas, shown, isNear) {
  const { context, width, height } = prepared(canvas);
  const first = data.grounds[shown[0].run.ground];
  const aspect = (first.y[1] - first.y[0]) / (first.x[1] - first.x[0]);
  const areas = areasOn(width, height, aspect, shown.length);
  const view = viewOf(shown, isNear);
  context.font = `${areas[0].font}px system-ui, sans-serif`;
  shown.forEach(({ run, frame, title }, i) => {
    drawLandscape(context, run, frame, view, areas[i]);
    if (title) drawTitle(context, title, areas[i]);
  });
  drawColorBar(context, first, barredBy(areas));
}

// Returns the area beside which the colour bar is: from the top of the upper landscapes to the end of the lower ones.
function barredBy(areas) {
  const right = areas.find(({ x }) => x === Math.max(...areas.map(({ x }) => x)));
  const last = areas[areas.length - 1];
  return { ...right, height: last.y + last.height - right.y };
}

// Draws a title above an area, cut where it is too long.
function drawTitle(context, title, { x, y, width, font }) {
  context.fillStyle = color("--text");
  context.textAlign = "center";
  context.textBaseline = "bottom";
  let text = title;
  while (text.length > 1 && context.measureText(text).width > width) text = `${text.slice(0, -2)}…`;
  context.fillText(text, x + width / 2, y - 0.4 * font);
}

function drawLandscape(context, run, frame, view, area) {
  const ground = data.grounds[run.ground];
  const [scale, start] = [area.width / (view.x[1] - view.x[0]), run.start ?? data.start];
  const at = (x, y) => [area.x + (x - view.x[0]) * scale, area.y + (view.y[1] - y) * scale];
  context.save();
  context.beginPath();
  context.rect(area.x, area.y, area.width, area.height);
  context.clip();
  drawGround(context, run.ground, at);
  if (ground.u) drawAxes(context, ground, area, at);
  drawCross(context, at(...start));
  const ensembles = ensemblesOf(run);
  const size = Math.max(1.6, area.width / 320);
  ensembles.forEach((ensemble, i) => drawParticles(context, ensemble, looksOf(run)[i], run, frame, at, size));
  const means = longestFirst(run, frame, start);
  if (data.mean_path) {
    for (const { mean, look } of means) drawPath(context, mean, 0, frame, at, look.color, size);
  }
  for (const { mean, look } of means) {
    const [x, y] = at(mean[0][frame], mean[1][frame]);
    if (Number.isFinite(x + y)) drawMarker(context, look, x, y, 2.6 * size, "#000");
  }
  context.restore();
  drawFrame(context, view, area, at);
}

// Returns the means, those furthest from the start first: a longer path drawn later would hide a shorter one.
function longestFirst(run, frame, start) {
  const reach = ({ mean }) => Math.hypot(mean[0][frame] - start[0], mean[1][frame] - start[1]) || 0;
  const means = ensemblesOf(run).map(({ mean }, i) => ({ mean, look: looksOf(run)[i] }));
  return means.sort((one, other) => reach(other) - reach(one));
}

function drawGround(context, index, at) {
  const image = images[index];
  const { x: xs, y: ys, contours } = data.grounds[index];
  const [left, top] = at(xs[0], ys[1]);
  const [right, bottom] = at(xs[1], ys[0]);
  context.imageSmoothingEnabled = true;
  context.imageSmoothingQuality = "high";
  if (image.complete && image.naturalWidth) context.drawImage(image, left, top, right - left, bottom - top);
  const scale = (right - left) / 4000;
  context.globalAlpha = 0.3;
  context.lineWidth = 1;
  for (const { is_dark, lines } of contours) {
    context.beginPath();
    for (const line of lines) {
      for (let i = 0; i < line.length; i += 2) {
        const [x, y] = [left + line[i] * scale, top + line[i + 1] * scale];
        if (i === 0) context.moveTo(x, y);
        else context.lineTo(x, y);
      }
    }
    context.strokeStyle = is_dark ? "#000" : "#fff";
    context.stroke();
  }
  context.globalAlpha = 1;
}

// Draws the axes of u and v through the origin.
function drawAxes(context, ground, area, at) {
  const [ux, uy] = ground.u;
  const far = 2 * (ground.x[1] - ground.x[0]) + Math.abs(ground.x[0]) + Math.abs(ground.y[0]);
  context.strokeStyle = context.fillStyle = "#fff";
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const [name, dx, dy] of [["u", ux, uy], ["v", -uy, ux]]) {
    context.globalAlpha = 0.7;
    context.setLineDash([5, 4]);
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(...at(-far * dx, -far * dy));
    context.lineTo(...at(far * dx, far * dy));
    context.stroke();
    context.setLineDash([]);
    // The label stands where the axis leaves the frame, beside it.
    const [ox, oy] = at(0, 0);
    const along = [
      dx > 0 ? (area.x + area.width - ox) / dx : (area.x - ox) / dx,
      dy > 0 ? (oy - area.y) / dy : (oy - area.y - area.height) / dy,
    ];
    const reach = Math.min(...along.filter((value) => value > 0 && Number.isFinite(value))) - 1.4 * area.font;
    const [x, y] = [ox + reach * dx - 0.9 * area.font * dy, oy - reach * dy - 0.9 * area.font * dx];
    const isIn = (value, from, length) => value > from - area.font && value < from + length + area.font;
    const inside = (value, from, length) => Math.min(Math.max(value, from + area.font), from + length - area.font);
    context.globalAlpha = 0.95;
    if (reach > 0 && isIn(x, area.x, area.width) && isIn(y, area.y, area.height)) {
      context.fillText(name, inside(x, area.x, area.width), inside(y, area.y, area.height));
    }
  }
  context.globalAlpha = 1;
}

// Draws the cross of the start.
function drawCross(context, [x, y]) {
  for (const [stroke, width] of [["#000", 3], ["#fff", 1.4]]) {
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(x + 4 * dx, y + 4 * dy);
      context.lineTo(x + 10 * dx, y + 10 * dy);
    }
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.stroke();
  }
}

// Draws the particles of an optimizer with their trails.
function drawParticles(context, { particles }, look, run, frame, at, size) {
  const first = Math.max(0, frame - Math.round(data.trail_steps / run.stride));
  context.beginPath();
  for (const path of particles) trace(context, path, first, frame, at);
  context.globalAlpha = 0.35;
  context.strokeStyle = look.color;
  context.lineWidth = 0.5 * size;
  context.stroke();
  context.globalAlpha = 0.9;
  context.beginPath();
  for (const [xs, ys] of particles) {
    const [x, y] = at(xs[frame], ys[frame]);
    if (!Number.isFinite(x + y)) continue;
    context.moveTo(x + size, y);
    context.arc(x, y, size, 0, 2 * Math.PI);
  }
  context.fillStyle = look.color;
  context.fill();
  context.strokeStyle = "#0009";
  context.lineWidth = 0.6;
  context.stroke();
  context.globalAlpha = 1;
}

// Adds a path to the canvas, with gaps where positions are not recorded.
function trace(context, [xs, ys], first, last, at) {
  let isDown = false;
  for (let i = first; i <= last; i++) {
    const [x, y] = at(xs[i], ys[i]);
    if (!Number.isFinite(x + y)) isDown = false;
    else if (isDown) context.lineTo(x, y);
    else {
      context.moveTo(x, y);
      isDown = true;
    }
  }
}

function drawPath(context, path, first, last, at, stroke, size) {
  context.beginPath();
  trace(context, path, first, last, at);
  context.lineJoin = "round";
  for (const [style, width] of [["#000", 1.5 * size], [stroke, 0.8 * size]]) {
    context.strokeStyle = style;
    context.lineWidth = width;
    context.stroke();
  }
}

// Draws the frame with the axes x and y, those with labels that are at the edge of all landscapes.
function drawFrame(context, view, area, at) {
  const { font } = area;
  context.strokeStyle = color("--weak");
  context.fillStyle = color("--text");
  context.lineWidth = 1;
  context.strokeRect(area.x, area.y, area.width, area.height);
  const [right, bottom] = [area.x + area.width, area.y + area.height];
  context.textAlign = "center";
  context.textBaseline = "top";
  context.beginPath();
  for (const { value, label } of ticks(view.x, area.width / (5 * font))) {
    const [x] = at(value, 0);
    context.moveTo(x, bottom);
    context.lineTo(x, bottom + 4);
    if (area.isLowest) context.fillText(label, x, bottom + 6);
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const { value, label } of ticks(view.y, area.height / (4 * font))) {
    const y = at(0, value)[1];
    context.moveTo(area.x, y);
    context.lineTo(area.x - 4, y);
    if (area.isLeft) context.fillText(label, area.x - 7, y);
  }
  context.stroke();
  if (area.isLowest) {
    context.textAlign = "center";
    context.textBaseline = "top";
    context.fillText("x", area.x + area.width / 2, bottom + 6 + 1.1 * font);
  }
  if (area.isLeft) {
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.fillText("y", area.x - 3.2 * font, area.y + area.height / 2);
  }
}

// Draws the colour bar at the right of an area.
function drawColorBar(context, { bar, contours }, { x, y, width, height, font }) {
  const [left, across] = [x + width + 0.8 * font, font];
  const gradient = context.createLinearGradient(0, y + height, 0, y);
  bar.colors.forEach((stop, i) => gradient.addColorStop(i / (bar.colors.length - 1), stop));
  context.fillStyle = gradient;
  const top = y + 1.5 * font;
  const length = height - 1.5 * font;
  context.fillRect(left, top, across, length);
  context.globalAlpha = 0.3;
  for (const { is_dark, at } of contours) {
    context.fillStyle = is_dark ? "#000" : "#fff";
    context.fillRect(left, top + (1 - at) * length, across, 1);
  }
  context.globalAlpha = 1;
  context.strokeStyle = color("--weak");
  context.strokeRect(left, top, across, length);
  context.fillStyle = color("--text");
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const [part, label] of bar.ticks) context.fillText(label, left + across + 5, top + (1 - part) * length);
  context.textBaseline = "top";
  context.fillText("loss L", left, y - 1);
}
