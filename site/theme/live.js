// The page that learns in the browser (docs/browser.md): three agents in the same world, episode by episode.
const AGENTS = { "dqn": "#ea580c", "adam-lmcdqn": "#0284c7", "pathwise-lmcdqn": "#16a34a" };
const EPISODES = 1000, DIGEST_AT = 100, ROW_EVERY = 10, MEAN_OVER = 20;
const WORLDS = {
  "DeepSea": { sizes: [10, 20, 30], best: 0.99, draw: drawSea, settings: ["env.name=deepsea"] },
  "N-Chain": { sizes: [10, 25, 50], best: 10, draw: drawChain, settings: ["env.name=nchain"] },
  "scrambled N-Chain": { sizes: [10, 25, 50], best: 10, draw: drawChain, settings: ["env.name=nchain", "env.scramble=true"] },
};
const SPEEDS = { "slow": 10, "medium": 40, "as fast as it goes": 1e6 }; // episodes per second
const MOST_DUE = 1000; // episodes that a slow machine has left out; it does not catch up with more
const STEPS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]]; // of the color scale

function color(share) {
  const place = Math.min(Math.max(share, 0), 1) * (STEPS.length - 1), i = Math.min(Math.floor(place), STEPS.length - 2);
  return `rgb(${STEPS[i].map((from, c) => Math.round(from + (place - i) * (STEPS[i + 1][c] - from))).join(" ")})`;
}

// ---- One agent

class Panel {
  constructor(agent, library, world, n, seed, place) {
    Object.assign(this, { agent, world, n, returns: [], sum: 0, means: [], first: 0, rows: [], digest: "" });
    this.learner = library.learner([...world.settings, `env.n=${n}`, `agent.name=${agent}`], seed, EPISODES);
    this.canvas = place.querySelector("canvas");
    this.status = place.querySelector("p");
  }

  play() {
    const total = this.learner.play(), { episodes } = this.learner;
    this.returns.push(total);
    this.sum += total - (this.returns[episodes - 1 - MEAN_OVER] ?? 0);
    this.means.push(this.sum / Math.min(episodes, MEAN_OVER));
    if (!this.first && total > this.world.best / 2) this.first = episodes;
    if (episodes % ROW_EVERY == 0) this.rows.push(this.learner.values.slice());
    if (episodes == DIGEST_AT) this.digest = this.learner.digest;
  }

  show() {
    const { episodes, visits } = this.learner, seen = visits.reduce((sum, count) => sum + (count > 0), 0);
    const mean = episodes ? this.means[episodes - 1].toFixed(2) : "none yet";
    const found = this.first ? `first success: episode ${this.first}` : "no success yet";
    this.world.draw(this);
    this.status.innerHTML = `episode ${episodes}, ${seen} states visited<br>mean return: ${mean}<br>${found}` +
      `<br>bits after ${DIGEST_AT}: <code>${this.digest || "not yet"}</code>`;
    this.canvas.setAttribute("aria-label", `Values of ${this.agent} after ${episodes} episodes`);
  }
}

function clear(canvas) {
  const context = canvas.getContext("2d");
  context.fillStyle = "#8884";
  context.clearRect(0, 0, canvas.width, canvas.height);
  return context;
}

// Every cell of the grid: its value where the agent has been; the last dive in white.
function drawSea({ canvas, learner, n, world }) {
  const context = clear(canvas), side = canvas.width / n, { values, visits } = learner;
  for (let cell = 0; cell < n * n; cell++) {
    const row = Math.floor(cell / n), column = cell % n;
    if (column > row) continue; // nothing leads there
    context.fillStyle = visits[cell] ? color(values[cell] / world.best) : "#8883";
    context.fillRect(column * side, row * side, side - 1, side - 1);
  }
  context.strokeStyle = "#fff";
  context.lineWidth = Math.max(2, side / 8);
  context.beginPath();
  for (const cell of learner.path) context.lineTo((cell % n + 0.5) * side, (Math.floor(cell / n) + 0.5) * side);
  context.stroke();
}

// A row of all states every ten episodes, the first one on top.
function drawChain({ canvas, learner, n, world, rows }) {
  const context = clear(canvas), width = canvas.width / n, height = canvas.height / (EPISODES / ROW_EVERY);
  context.fillRect(0, 0, canvas.width, canvas.height);
  rows.forEach((values, row) => values.forEach((value, state) => {
    context.fillStyle = color(value / world.best);
    context.fillRect(state * width, row * height, Math.ceil(width), Math.ceil(height));
  }));
}

// Mean returns over the episodes, one line per agent.
function drawCurves(canvas, panels) {
  const context = clear(canvas), { width, height } = canvas, best = panels[0].world.best;
  const y = (value) => height - 8 - Math.max(0, value / best) * (height - 16);
  context.fillRect(0, y(best), width, 1);
  context.fillRect(0, y(0), width, 1);
  panels.forEach(({ agent, means }, i) => {
    context.strokeStyle = AGENTS[agent];
    context.lineWidth = 3;
    context.setLineDash([[], [12, 6], [3, 5]][i]);
    context.beginPath();
    means.forEach((mean, episode) => context.lineTo(episode / EPISODES * width, y(mean)));
    context.stroke();
  });
}

// ---- The page

const live = document.getElementById("live");
live.innerHTML = `
  <form class="live-choices">
    <label>World <select name="world">${Object.keys(WORLDS).map((name) => `<option>${name}</option>`).join("")}</select></label>
    <label>Size <select name="size"></select></label>
    <label>Seed <input name="seed" type="number" min="0" max="9999" value="1"></label>
    <label>Speed <select name="speed">${Object.keys(SPEEDS).map((name) => `<option>${name}</option>`).join("")}</select></label>
    <button class="md-button md-button--primary" name="run">Start</button>
    <button class="md-button" name="again">Restart</button>
  </form>
  <p class="live-fault" role="alert" hidden></p>
  <div class="live-agents">${Object.entries(AGENTS).map(([agent, line], i) => `
    <section aria-label="${agent}"><h2 style="border-bottom: 4px ${["solid", "dashed", "dotted"][i]} ${line}">${agent}</h2>
    <canvas width="480" height="480" role="img"></canvas><p></p></section>`).join("")}
  </div>
  <h2>Mean return of the last ${MEAN_OVER} episodes</h2>
  <canvas class="live-curves" width="1200" height="240" role="img"
    aria-label="Mean returns of the three agents over ${EPISODES} episodes; the numbers stand below the pictures"></canvas>`;
const form = live.querySelector("form"), { world, size, seed, speed, run, again } = form.elements;
const library = new Langevin(Uint8Array.from(atob(LANGEVIN_WASM), (letter) => letter.charCodeAt(0)));
let panels = [], running = false, due = 0, last = 0;

function offerSizes() {
  size.innerHTML = WORLDS[world.value].sizes.map((n, i) => `<option ${i == 1 ? "selected" : ""}>${n}</option>`).join("");
}

function restart() {
  panels.forEach(({ learner }) => learner.free());
  panels = [];
  due = 0;
  const places = live.querySelectorAll("section");
  panels = Object.keys(AGENTS).map((agent, i) =>
    new Panel(agent, library, WORLDS[world.value], Number(size.value), Number(seed.value), places[i]));
  show();
}

function show() {
  panels.forEach((panel) => panel.show());
  drawCurves(live.querySelector(".live-curves"), panels);
  run.textContent = running ? "Pause" : "Start";
}

const isDone = () => panels[0].learner.episodes == EPISODES;

function frame(now) {
  if (!running) return;
  const passed = Math.max(0, now - last), budget = Math.min(Math.max(passed / 2, 12), 100); // milliseconds
  due = Math.min(due + SPEEDS[speed.value] * passed / 1000, MOST_DUE);
  last = now;
  for (const end = performance.now() + budget; due >= 1 && performance.now() < end && !isDone(); due--)
    panels.forEach((panel) => panel.play());
  running = !isDone();
  show();
  if (running) requestFrame();
}

function start() {
  if (isDone()) restart();
  running = true;
  last = performance.now();
  requestFrame();
}

function requestFrame() { requestAnimationFrame((now) => guarded(() => frame(now))); }

function guarded(action) {
  const fault = live.querySelector(".live-fault");
  fault.hidden = true;
  try { action(); } catch (error) {
    running = false;
    fault.hidden = false;
    fault.textContent = error.message;
  }
}

form.addEventListener("submit", (event) => event.preventDefault());
run.addEventListener("click", () => guarded(() => (running ? running = false : start(), show())));
again.addEventListener("click", () => guarded(restart));
world.addEventListener("change", () => guarded(() => (offerSizes(), restart())));
for (const choice of [size, seed]) choice.addEventListener("change", () => guarded(restart));
speed.value = "medium";
offerSizes();
guarded(restart);
