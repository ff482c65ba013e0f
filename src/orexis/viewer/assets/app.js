/* The page: what is shown now, and what buttons, keys, fingers and time do to it. */

const SPEEDS = [1, 2, 4, 8, 16, 32, 64, 128]; // steps a second
const KEYS = [
  ["Space", "play or pause"],
  ["← →", "one step back or on"],
  ["Shift ← →", "one episode back or on"],
  ["Home, End", "birth, end of the lifetime"],
  ["+ −", "faster, slower"],
  ["R", "reveal what is hidden from the agent"],
  ["V", "one lifetime or both"],
  ["L", "lifetime or training"],
  ["T", "light or dark"],
  ["?", "this help"],
];
const NARROW = window.matchMedia("(max-width: 760px)");
const CALM = window.matchMedia("(prefers-reduced-motion: reduce)");
const DARK = window.matchMedia("(prefers-color-scheme: dark)");

function byId(id) {
  return document.getElementById(id);
}

class App {
  constructor(data) {
    this.data = data;
    this.watched = data.lifetimes === null ? null : new Watched(data.lifetimes);
    this.state = { frame: 0, playing: false, speed: 4, reveal: false, view: "both", tab: "lifetime", sides: [0, 1] };
    byId("title").textContent = data.title;
    byId("subtitle").textContent = data.subtitle;
    this.setTheme(DARK.matches ? "dark" : "light");
    this.training = new TrainingTab(data.training, byId("training"));
    if (this.watched !== null) this.buildLifetime();
    this.buildHelp();
    this.listen();
    this.showTab(this.watched === null ? "training" : "lifetime");
  }

  buildLifetime() {
    const { watched, state } = this;
    const { record } = watched;
    const last = watched.lives.length - 1;
    state.sides = [0, Math.min(1, last)];
    state.view = last === 0 || NARROW.matches ? 0 : "both";
    this.panels = state.sides.slice(0, last + 1).map(() => new WorldPanel(watched, byId("stage")));
    this.charts = [
      new EpisodeChart(byId("charts"), "Extrinsic return of each episode", "extrinsic", watched, (episode) => this.jump(episode)),
      new EpisodeChart(byId("charts"), "Intrinsic return of each episode", "intrinsic", watched, (episode) => this.jump(episode)),
      new EpisodeChart(byId("charts"), "Policy entropy, nats", "entropy", watched, (episode) => this.jump(episode)),
    ];
    const arrows = record.moves === null ? "Below the room" : "Arrows";
    const next = record.moves === null ? "" : "; framed is the one that the agent takes next";
    byId("how-to-read").textContent = `On a cell: what the step that led there was paid. ${arrows}: what each next step would be paid${next}.`;
    byId("slider").max = String(watched.frames - 1);
    byId("episode").max = String(record.num_episodes);
    byId("of-episodes").textContent = `of ${record.num_episodes}`;
    const thinned = byId("thinned");
    thinned.hidden = record.shown.length === record.num_episodes;
    thinned.querySelector("summary").textContent = `${record.shown.length} of ${record.num_episodes} episodes can be watched; the charts below have all of them. Which?`;
    thinned.querySelector("p").textContent = `${record.how_chosen} ${record.shown_in_words}.`;
    for (const speed of SPEEDS) {
      const option = element("option", "", `${speed}/s`, byId("speed"));
      option.value = String(speed);
    }
    for (const id of ["previous-episode", "previous-step", "next-step", "next-episode"]) setIcon(byId(id), id);
    byId("reveal").closest("label").hidden = record.hidden.length === 0;
    this.buildViews();
  }

  buildViews() {
    const box = byId("views");
    box.replaceChildren();
    if (this.panels.length < 2) {
      box.hidden = true;
      return;
    }
    const labels = this.state.sides.map((side) => this.watched.lives[side].label);
    [["both", "Both"], [0, labels[0]], [1, labels[1]]].forEach(([view, label]) => {
      const button = element("button", "", label, box);
      button.type = "button";
      button.setAttribute("aria-pressed", String(this.state.view === view));
      button.addEventListener("click", () => this.change({ view }));
    });
  }

  buildHelp() {
    for (const [key, meaning] of KEYS) {
      const row = element("tr", "", null, byId("keys"));
      element("th", "", key, row).scope = "row";
      element("td", "", meaning, row);
    }
  }

  listen() {
    const click = (id, action) => byId(id).addEventListener("click", (event) => {
      action();
      if (event.detail > 0) byId(id).blur(); // after a click with the mouse, Space plays again
    });
    click("tab-lifetime", () => this.showTab("lifetime"));
    click("tab-training", () => this.showTab("training"));
    click("theme", () => this.toggleTheme());
    byId("help-button").addEventListener("click", () => byId("help").showModal());
    DARK.addEventListener("change", () => this.setTheme(DARK.matches ? "dark" : "light"));
    document.addEventListener("keydown", (event) => this.press(event));
    window.addEventListener("resize", () => this.resize());
    if (this.watched === null) return;
    click("play", () => this.play(!this.state.playing));
    click("previous-step", () => this.step(-1));
    click("next-step", () => this.step(1));
    click("previous-episode", () => this.stepEpisode(-1));
    click("next-episode", () => this.stepEpisode(1));
    byId("slider").addEventListener("input", () => this.go(Number(byId("slider").value)));
    byId("episode").addEventListener("change", () => this.jump(Number(byId("episode").value) - 1));
    byId("speed").addEventListener("change", () => this.change({ speed: Number(byId("speed").value) }));
    byId("reveal").addEventListener("change", () => this.change({ reveal: byId("reveal").checked }));
    this.listenToFingers();
  }

  /** A tap on the room plays and pauses, a swipe goes to the next or the previous episode. */
  listenToFingers() {
    let from = null;
    byId("stage").addEventListener("pointerdown", (event) => {
      from = event.target.closest("svg.room") === null ? null : [event.clientX, event.clientY];
    });
    byId("stage").addEventListener("pointerup", (event) => {
      if (from === null) return;
      const [right, down] = [event.clientX - from[0], event.clientY - from[1]];
      from = null;
      if (Math.abs(right) > 40 && Math.abs(right) > Math.abs(down)) this.stepEpisode(right < 0 ? 1 : -1);
      else if (Math.hypot(right, down) < 10) this.play(!this.state.playing);
    });
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const kind = event.target.tagName;
    const typing = kind === "SELECT" || (kind === "INPUT" && event.target.type === "number");
    if (typing || ((kind === "BUTTON" || event.target.type === "checkbox") && event.key === " ")) return;
    const forward = event.key === "ArrowRight" || event.key === "ArrowUp";
    const actions = {
      " ": () => this.play(!this.state.playing),
      Home: () => this.go(0),
      End: () => this.go(this.watched.frames - 1),
      "+": () => this.faster(1),
      "=": () => this.faster(1),
      "-": () => this.faster(-1),
      r: () => this.change({ reveal: !this.state.reveal }),
      v: () => this.cycleView(),
    };
    if (event.key.startsWith("Arrow")) {
      actions[event.key] = () => (event.shiftKey ? this.stepEpisode(forward ? 1 : -1) : this.step(forward ? 1 : -1));
    }
    const everywhere = {
      l: () => this.showTab(this.state.tab === "lifetime" ? "training" : "lifetime"),
      t: () => this.toggleTheme(),
      "?": () => byId("help").showModal(),
    };
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const watching = this.watched !== null && this.state.tab === "lifetime";
    const action = everywhere[key] ?? (watching ? actions[key] : undefined);
    if (action === undefined) return;
    event.preventDefault();
    action();
  }

  toggleTheme() {
    this.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  }

  setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    setIcon(byId("theme"), theme === "dark" ? "light" : "dark");
    byId("theme").setAttribute("aria-label", theme === "dark" ? "Light page" : "Dark page");
    if (this.training !== undefined) this.show();
  }

  showTab(tab) {
    if (tab === "lifetime" && this.watched === null) return;
    this.play(false);
    this.state.tab = tab;
    for (const name of ["lifetime", "training"]) {
      byId(name).hidden = name !== tab;
      byId(`tab-${name}`).setAttribute("aria-selected", String(name === tab));
      byId(`tab-${name}`).disabled = name === "lifetime" && this.watched === null;
    }
    this.resize();
  }

  change(changes) {
    Object.assign(this.state, changes);
    if ("view" in changes || "sides" in changes) {
      this.buildViews();
      this.resize();
    } else {
      this.show();
    }
  }

  faster(by) {
    const place = SPEEDS.indexOf(this.state.speed) + by;
    this.change({ speed: SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, place))] });
  }

  cycleView() {
    if (this.panels.length < 2) return;
    const views = ["both", 0, 1];
    this.change({ view: views[(views.indexOf(this.state.view) + 1) % views.length] });
  }

  go(frame, smooth = false) {
    this.state.frame = Math.min(this.watched.frames - 1, Math.max(0, frame));
    this.show(smooth);
  }

  step(by) {
    this.play(false);
    this.go(this.state.frame + by, true);
  }

  stepEpisode(by) {
    const { at, k } = this.watched.locate(this.state.frame);
    const to = by < 0 && k > 0 ? at : at + by;
    this.go(this.watched.begin[Math.min(this.watched.record.shown.length - 1, Math.max(0, to))]);
  }

  jump(episode) {
    if (Number.isFinite(episode)) this.go(this.watched.frameOf(episode));
  }

  play(playing) {
    if (playing === this.state.playing) return;
    if (playing && this.state.frame === this.watched.frames - 1) this.state.frame = 0;
    this.state.playing = playing;
    this.due = performance.now();
    if (playing) requestAnimationFrame((now) => this.tick(now));
    this.show(true);
  }

  /** Goes on by as many steps as are due. */
  tick(now) {
    if (!this.state.playing) return;
    const beat = 1000 / this.state.speed;
    const steps = Math.floor((now - this.due) / beat);
    if (steps > 0) {
      this.due += steps * beat;
      this.go(this.state.frame + steps, true);
      if (this.state.frame === this.watched.frames - 1) this.play(false);
    }
    requestAnimationFrame((later) => this.tick(later));
  }

  resize() {
    if (this.watched !== null && this.state.tab === "lifetime") {
      this.arrange();
      for (const panel of this.panels) panel.measure();
    }
    this.show();
  }

  /** Shows the panels that are wanted. */
  arrange() {
    const { view } = this.state;
    this.panels.forEach((panel, side) => {
      panel.box.hidden = view !== "both" && view !== side;
    });
    byId("stage").classList.toggle("alone", view !== "both");
  }

  visibleLives() {
    const { sides, view } = this.state;
    const chosen = this.panels.length < 2 ? [sides[0]] : view === "both" ? sides : [sides[view]];
    return [...new Set(chosen)].map((side) => this.watched.lives[side]);
  }

  show(smooth = false) {
    if (this.state.tab === "training") this.training.show();
    if (this.state.tab !== "lifetime" || this.watched === null || this.panels === undefined) return;
    const { watched, state } = this;
    const { at, k } = watched.locate(state.frame);
    const slow = state.speed <= 16 || !state.playing;
    document.documentElement.style.setProperty("--stride", `${state.playing ? Math.min(240, 850 / state.speed) : 180}ms`);
    this.panels.forEach((panel, side) => {
      if (panel.box.hidden) return;
      panel.show(watched.lives[state.sides[side]], at, k, {
        reveal: state.reveal,
        smooth: smooth && slow && !CALM.matches,
        choices: watched.lives,
        choose: (number) => this.change({ sides: state.sides.map((old, place) => (place === side ? number : old)) }),
      });
    });
    this.showControls(at, k);
    const lives = this.visibleLives();
    drawLifetimeStrip(byId("lifetime-strip"), watched, lives, state.frame);
    for (const chart of this.charts) chart.show(watched.lives.filter((_, number) => state.sides.includes(number)), at);
  }

  showControls(at, k) {
    const { watched, state } = this;
    const { record } = watched;
    setIcon(byId("play"), state.playing ? "pause" : "play");
    byId("play").setAttribute("aria-label", state.playing ? "Pause" : "Play");
    byId("slider").value = String(state.frame);
    const words = `Episode ${record.shown[at] + 1}, step ${k}`;
    byId("slider").setAttribute("aria-valuetext", words);
    if (document.activeElement !== byId("episode")) byId("episode").value = String(record.shown[at] + 1);
    byId("speed").value = String(state.speed);
    byId("reveal").checked = state.reveal;
    const ends = this.visibleLives().map((life) => {
      const moment = life.moment(at, k);
      const so = moment.ended ? `${watched.outcome(life, at)} after ${moment.length} steps` : `step ${moment.now} of ${moment.length}`;
      return `${life.label}: ${so}`;
    });
    if (!state.playing || k === 0) byId("status").textContent = `Episode ${record.shown[at] + 1} · ${ends.join(" · ")}`;
    const facts = watched.hidden(at).map(([name, pairs]) => `${name}: ${pairs.map(([label, value]) => `${label} ${label ? signed(value, 2) : plain(value)}`.trim()).join(", ")}`);
    byId("hidden").hidden = !state.reveal;
    byId("hidden").textContent = `Hidden from the agent: ${facts.join("; ")}`;
  }
}

globalThis.orexis = new App(JSON.parse(byId("data").textContent));
