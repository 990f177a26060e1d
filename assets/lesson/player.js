
// The player: which step of the lesson is shown, where its run is, and the controls.
const by = (id) => document.getElementById(id);
const SPEEDS = [15, 30, 60, 120, 240, 500, 1000];
const state = { index: 0, at: 0, isPlaying: false, speed: 120, before: null, isDrawn: false };

const present = () => data.steps[state.index];
const run = () => data.runs[present().run];
// The simulations that a step shows: its own, and those beside it.
const panesOf = (step) => [step, ...(step.beside ?? [])];
const letterOf = ({ title }) => title.split(":")[0];

// Shows a step of the lesson, where its run is at `at`.
function show(index, at, plays) {
  const isOther = state.index !== index || !by("text").textContent;
  state.index = index;
  state.at = Math.min(Math.max(at ?? present().from, 0), present().to);
  if (isOther) {
    write();
    by("lesson").scrollTop = 0;
  }
  play(plays && state.at < present().to);
  writeAddress();
  redraw();
}

// Writes where the reader is into the address: the step, and that of the run unless it plays or is where it begins.
// Browsers refuse many changes in a short time, as by a drag.
function writeAddress() {
  clearTimeout(state.address);
  state.address = setTimeout(() => {
    const at = Math.floor(state.at);
    const place = state.isPlaying || at === present().from ? "" : `:${at}`;
    try {
      history.replaceState(null, "", `#${state.index + 1}${place}`);
    } catch {
      // Some browsers refuse a new address for a file on a disk.
    }
  }, 200);
}

// Writes everything that stays while the run plays.
function write() {
  const step = present();
  by("number").textContent = `${state.index + 1} / ${data.steps.length}`;
  by("previous").disabled = state.index === 0;
  by("next").disabled = state.index + 1 === data.steps.length;
  by("section").textContent = sectionOf(state.index) ?? "";
  by("text").textContent = step.text;
  by("notes").hidden = !step.notes;
  by("notes").querySelector("p").textContent = step.notes;
  by("scrubber").max = step.to;
  // On a narrow screen two landscapes are below each other, and more in two rows of two.
  by("landscape").parentElement.style.setProperty("--rows", panesOf(step).length === 2 ? 2 : 1);
  writeMarks(step);
  writeSettings(step, data.steps[state.index - 1]);
  writeRule(step);
  writeFigure(step);
  writeLegend(step);
  writePlots(step);
  writeRules(step);
}

// Returns the name of the section in which a step is.
function sectionOf(index) {
  return data.steps.slice(0, index + 1).findLast(({ section }) => section)?.section;
}

// Writes the marks above the scrubber. A click goes to a mark's step.
function writeMarks(step) {
  const marks = step.marks.filter(([at]) => at <= step.to).map(([at, words]) => {
    const button = element("button", { title: `Step ${at}: ${words}`, onclick: () => show(state.index, at, false) }, "▼");
    button.setAttribute("aria-label", `Step ${at}: ${words}`);
    button.style.left = `${(100 * at) / (step.to || 1)}%`;
    return button;
  });
  by("marks").replaceChildren(...marks);
}

// Writes the update rule that the step is about.
function writeRule(step) {
  const shown = step.formula === null ? [] : [ruleOf(step.optimizers[step.formula], null)];
  by("rule").replaceChildren(...shown);
}

function writeFigure(step) {
  const figure = data.figures[step.figure];
  by("figure").hidden = !figure;
  if (!figure) return;
  by("figure").querySelector("figcaption").textContent = figure.title;
  Object.assign(by("figure").querySelector("img"), { src: figure.image, alt: figure.words });
}

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  Object.assign(made, attributes);
  made.append(...children);
  return made;
}

// Returns words as parts of a sentence, those that are new since the previous step marked.
function marked(words, before) {
  return words.flatMap((text, i) => {
    const isNew = before && !before.includes(text);
    const unbroken = text.replaceAll(" = ", "\u00a0=\u00a0");
    return [i ? ", " : "", isNew ? element("span", { className: "changed" }, unbroken) : unbroken];
  });
}

function writeSettings(step, before) {
  const noise = marked([step.noise], before && [before.noise]);
  const optimizers = step.optimizers.flatMap(({ name, settings }, i) => {
    const isNew = (words) => before && !before.optimizers[i].settings.includes(words);
    const changed = settings.filter(isNew);
    return changed.length ? [` ${name}: `, ...marked(changed, []), "."] : [];
  });
  const beside = panesOf(step).slice(1).flatMap((pane) => [element("br"), ...differences(pane, step)]);
  const own = [...marked(step.landscape, before?.landscape), ". Noise ", ...noise, ".", ...optimizers];
  by("settings").replaceChildren(...own, ...beside);
}

// Returns in what a simulation differs from a step's own, after its letter.
function differences(pane, own) {
  const landscape = pane.landscape.filter((words) => !own.landscape.includes(words));
  const noise = pane.noise === own.noise ? [] : [`noise ${pane.noise}`];
  const optimizers = pane.optimizers.flatMap(({ name, settings }, i) => {
    const usual = own.optimizers[i];
    const others = settings.filter((words) => !usual?.settings.includes(words));
    const isSame = usual?.name === name && !others.length;
    return isSame ? [] : [[name, ...others.filter((words) => !name.includes(words))].join(" ")];
  });
  const all = [...landscape, ...noise, ...optimizers];
  return all.length ? [`${letterOf(pane)}: `, ...marked(all, []), "."] : [`${pane.title}.`];
}

// Writes the legend: for each of the simulations side by side its title and its optimizers.
function writeLegend(step) {
  const heads = step.show.map((metric) => element("th", { scope: "col" }, run().metrics[metric].name));
  const head = element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "means"), ...heads));
  const key = (className) => {
    const canvas = element("canvas", { className });
    canvas.setAttribute("aria-hidden", "true");
    return canvas;
  };
  const bodies = panesOf(step).map(({ title, optimizers }) => {
    const rows = optimizers.map(({ name }) => {
      const values = step.show.map(() => element("td"));
      return element("tr", {}, element("th", { scope: "row" }, key("mark"), name), ...values);
    });
    const heading = { colSpan: 1 + step.show.length, scope: "rowgroup" };
    const titled = title ? [element("tr", {}, element("th", heading, key("line"), title))] : [];
    return element("tbody", {}, ...titled, ...rows);
  });
  by("legend").replaceChildren(head, ...bodies);
}

function writePlots(step) {
  const plots = step.show.map((metric) => {
    const { title, explanation } = run().metrics[metric];
    const canvas = element("canvas", { className: "plot" });
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `Plot of ${title} over the steps`);
    const seek = (event) => {
      if (event.buttons) show(state.index, stepUnder(canvas, event, step), false);
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      seek(event);
    });
    canvas.addEventListener("pointermove", seek);
    return element("div", {}, element("h3", { title: explanation }, title), canvas);
  });
  by("plots").replaceChildren(...plots);
}

// Writes the update rules of a step's own simulation, and those beside it that differ.
function writeRules(step) {
  const before = data.steps[state.index - 1];
  const own = step.optimizers.map((optimizer, i) => ruleOf(optimizer, before?.optimizers[i].settings));
  const isOwn = (other) => step.optimizers.some((optimizer) => JSON.stringify(optimizer) === JSON.stringify(other));
  const beside = panesOf(step).slice(1).flatMap((pane) =>
    pane.optimizers
      .filter((optimizer) => !isOwn(optimizer))
      .map((optimizer) => ruleOf({ ...optimizer, name: `${optimizer.name} (${letterOf(pane)})` }, null)),
  );
  by("rules").replaceChildren(...own, ...beside);
}

// Returns the update rule of an optimizer, with its settings, those that are new since the previous step marked.
function ruleOf({ name, settings, formulas }, before) {
  const lines = formulas.flatMap(([rule, meaning]) => [element("dt", {}, rule), element("dd", {}, meaning)]);
  const words = element("p", { className: "settings" }, ...marked(settings, before));
  return element("div", { className: "rule" }, element("h3", {}, name), words, element("dl", {}, ...lines));
}

// Draws at the next opportunity.
function redraw() {
  if (state.isDrawn) return;
  state.isDrawn = true;
  requestAnimationFrame(draw);
}

function draw(now) {
  state.isDrawn = false;
  if (state.isPlaying) {
    state.at = Math.min(state.at + (state.before === null ? 0 : (now - state.before) * 1e-3 * state.speed), present().to);
    state.before = now;
    if (state.at >= present().to) {
      play(false);
      writeAddress();
    }
  }
  const shown = panesOf(present()).map(({ run, title, show }) => {
    const shownRun = data.runs[run];
    return { run: shownRun, frame: frameOf(shownRun, Math.floor(state.at)), title, show };
  });
  const step = stepOf(run(), shown[0].frame);
  drawLandscapes(by("landscape"), shown, by("follow").checked);
  by("landscape").setAttribute("aria-label", labelOf(shown, step));
  const plots = by("plots").querySelectorAll("canvas");
  plots.forEach((plot, i) => drawPlot(plot, shown, present(), i));
  drawLegend(shown);
  by("scrubber").value = step;
  by("step").textContent = `step ${step} of ${present().to}`;
  if (state.isPlaying) redraw();
}

// Returns the words for the picture of the landscapes.
function labelOf(shown, step) {
  if (shown.length === 1) return `The particles on the landscape at step ${step}`;
  return `The particles side by side at step ${step}; ${shown.map(({ title }) => title).join("; ")}`;
}

function drawLegend(shown) {
  const bodies = by("legend").querySelectorAll("tbody");
  shown.forEach(({ run, frame, title, show }, place) => {
    const rows = [...bodies[place].querySelectorAll("tr")];
    if (title) drawKey(rows.shift().querySelector("canvas"), place);
    ensemblesOf(run).forEach(({ metrics }, i) => {
      const { context, width, height } = prepared(rows[i].querySelector("canvas"));
      drawMarker(context, looksOf(run)[i], width / 2, height / 2, 0.33 * width, color("--text"));
      const cells = rows[i].querySelectorAll("td");
      show.forEach((metric, column) => {
        cells[column].textContent = metric === null ? "" : number(metrics[metric].mean[frame]);
      });
    });
  });
}

// Draws the line of the curves of one of the simulations side by side.
function drawKey(canvas, place) {
  const { context, width, height } = prepared(canvas);
  context.setLineDash(DASHES[place].map((length) => length * CURVE));
  context.strokeStyle = color("--text");
  context.lineWidth = CURVE;
  context.beginPath();
  context.moveTo(0, height / 2);
  context.lineTo(width, height / 2);
  context.stroke();
}

function play(isPlaying) {
  state.isPlaying = isPlaying;
  state.before = null;
  by("play").textContent = isPlaying ? "Pause" : "Play";
  redraw();
}

function togglePlay() {
  if (!state.isPlaying && state.at >= present().to) state.at = present().from < present().to ? present().from : 0;
  play(!state.isPlaying);
  writeAddress();
}

// Goes to a step of the lesson; it plays if the lesson asks for it and the reader does not ask for less motion.
function goTo(index) {
  if (index < 0 || index >= data.steps.length) return;
  const isCalm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  show(index, undefined, data.steps[index].play && !isCalm);
}

// Shows the step of the address, such as #3 or, with the step of the run, #3:500.
function goToAddress() {
  const [, index, at] = /^#(\d+)(?::(\d+))?$/.exec(location.hash) ?? [null, "1"];
  show(Math.min(Math.max(Number(index), 1), data.steps.length) - 1, at && Number(at), false);
}

// Returns what a key does on a control or beside one; nothing where the control has the key for itself.
function actionOf(event) {
  const isOn = (names) => event.target.closest(names) !== null;
  const seek = (step) => () => show(state.index, step, false);
  const size = (event.shiftKey ? 10 : 1) * run().stride;
  switch (event.key) {
    case "PageDown":
      return () => goTo(state.index + 1);
    case "PageUp":
      return () => goTo(state.index - 1);
    case " ":
      return isOn("button, select, summary, a") ? null : togglePlay;
    case "ArrowRight":
      return isOn("select") ? null : seek(state.at + size);
    case "ArrowLeft":
      return isOn("select") ? null : seek(state.at - size);
    case "f":
      return () => by("follow").click();
    case "Home":
      return isOn("select") ? null : seek(0);
    case "End":
      return isOn("select") ? null : seek(present().to);
    default:
      return null;
  }
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || by("contents").open) return;
  const action = actionOf(event);
  if (action) {
    event.preventDefault();
    action();
  }
}

function begin() {
  by("title").textContent = data.title;
  by("description").textContent = data.description;
  by("footer").textContent = data.footer;
  by("preset").href = `data:text/plain;charset=utf-8,${encodeURIComponent(data.preset)}`;
  for (const speed of SPEEDS) {
    by("speed").append(element("option", { value: speed, selected: speed === state.speed }, `${speed} steps/s`));
  }
  data.steps.forEach(({ section, text }, i) => {
    if (section) by("list").append(element("li", {}, element("h3", {}, section)));
    const sentence = /^.*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text;
    const button = element("button", { onclick: () => (by("contents").close(), goTo(i)) }, `${i + 1}  ${sentence}`);
    by("list").append(element("li", {}, button));
  });
  by("contents-button").addEventListener("click", () => {
    by("list").querySelectorAll("button").forEach((button, i) => {
      if (i === state.index) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    });
    by("contents").showModal();
  });
  by("close").addEventListener("click", () => by("contents").close());
  by("previous").addEventListener("click", () => goTo(state.index - 1));
  by("next").addEventListener("click", () => goTo(state.index + 1));
  by("play").addEventListener("click", togglePlay);
  by("scrubber").addEventListener("input", (event) => show(state.index, Number(event.target.value), false));
  by("follow").addEventListener("change", redraw);
  by("speed").addEventListener("change", (event) => (state.speed = Number(event.target.value)));
  document.addEventListener("keydown", pressed);
  darkScheme.addEventListener("change", redraw);
  window.addEventListener("resize", redraw);
  window.addEventListener("hashchange", goToAddress);
  by("formulas").addEventListener("toggle", redraw);
  goToAddress();
}

window.addEventListener("error", (event) => {
  by("notice").hidden = false;
  by("notice").textContent = `This page cannot be shown: ${event.message}. Use a current browser, or ask for the file again.`;
});
begin();
