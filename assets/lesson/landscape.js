
// The landscape with its particles.
const images = data.grounds.map((ground) => {
  const image = new Image();
  image.addEventListener("load", () => redraw());
  image.src = ground.image;
  return image;
});

// Returns where the landscape lies on its canvas.
function frameOn(width, height, ground) {
  const font = width > 900 ? 14 : 12;
  const [left, right, top, bottom] = [3.3 * font, 5.2 * font, 0.6 * font, 2.9 * font];
  const aspect = (ground.y[1] - ground.y[0]) / (ground.x[1] - ground.x[0]);
  const across = Math.max(40, Math.min(width - left - right, (height - top - bottom) / aspect));
  return { x: left + Math.max(0, (width - left - right - across) / 2), y: top, width: across, height: across * aspect, font };
}

// How many times larger the landscape is drawn around the particles.
const ZOOM = 6;

// Returns the ranges of x and y that are drawn: the whole landscape, or a part of it around the means.
function viewOf(run, frame, isNear) {
  const ground = data.grounds[run.ground];
  const means = ensemblesOf(run).map(({ mean }) => [mean[0][frame], mean[1][frame]]);
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

function drawLandscape(canvas, run, frame, isNear) {
  const { context, width, height } = prepared(canvas);
  const ground = data.grounds[run.ground];
  const area = frameOn(width, height, ground);
  const view = viewOf(run, frame, isNear);
  const scale = area.width / (view.x[1] - view.x[0]);
  const at = (x, y) => [area.x + (x - view.x[0]) * scale, area.y + (view.y[1] - y) * scale];
  context.font = `${area.font}px system-ui, sans-serif`;
  context.save();
  context.beginPath();
  context.rect(area.x, area.y, area.width, area.height);
  context.clip();
  drawGround(context, run.ground, at);
  if (ground.u) drawAxes(context, ground, area, at);
  drawCross(context, at(...data.start));
  const ensembles = ensemblesOf(run);
  const size = Math.max(1.6, area.width / 320);
  ensembles.forEach((ensemble, i) => drawParticles(context, ensemble, data.optimizers[i], run, frame, at, size));
  const means = longestFirst(ensembles, frame);
  if (data.mean_path) {
    for (const { mean, look } of means) drawPath(context, mean, 0, frame, at, look.color, size);
  }
  for (const { mean, look } of means) {
    const [x, y] = at(mean[0][frame], mean[1][frame]);
    if (Number.isFinite(x + y)) drawMarker(context, look, x, y, 2.6 * size, "#000");
  }
  context.restore();
  drawFrame(context, view, area, at);
  drawColorBar(context, ground, area);
}

// Returns the means, those furthest from the start first: a longer path drawn later would hide a shorter one.
function longestFirst(ensembles, frame) {
  const reach = ({ mean }) => Math.hypot(mean[0][frame] - data.start[0], mean[1][frame] - data.start[1]) || 0;
  const means = ensembles.map(({ mean }, i) => ({ mean, look: data.optimizers[i] }));
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

// Draws the frame with the axes x and y.
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
    context.fillText(label, x, bottom + 6);
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const { value, label } of ticks(view.y, area.height / (4 * font))) {
    const y = at(0, value)[1];
    context.moveTo(area.x, y);
    context.lineTo(area.x - 4, y);
    context.fillText(label, area.x - 7, y);
  }
  context.stroke();
  context.textAlign = "center";
  context.textBaseline = "top";
  context.fillText("x", area.x + area.width / 2, bottom + 6 + 1.1 * font);
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.fillText("y", area.x - 3.2 * font, area.y + area.height / 2);
}

// Draws the colour bar at the right of the landscape.
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
