/* One lifetime's panel: the room, the agent in it, what was paid, what would be paid, and the numbers below. */

const CELL = 100; // units of the drawing
const AGENT_RADIUS = 25;
const TRACK = 12; // steps that the line behind the agent is long
const SHAPES = {
  K: "M-26 0a13 13 0 1 0 25.2-4.5H27v9h-5v9h-8v-9h-6v7h-8v-7h-.8A13 13 0 0 0-26 0zm7 0a6 6 0 1 1 12 0 6 6 0 0 1-12 0z",
  "*": "M0-30 8.2-10 30-8.6 13.2 5.2 18.6 26.6 0 15-18.6 26.6-13.2 5.2-30-8.6-8.2-10z",
};
const HELD = "M-13 0a6.5 6.5 0 1 0 12.6-2.2H13v4.4h-2.5V7h-4V2.2h-3V6h-4V2.2A6.5 6.5 0 0 0-13 0zm3.5 0a3 3 0 1 1 6 0 3 3 0 0 1-6 0z";

class WorldPanel {
  constructor(watched, parent) {
    this.watched = watched;
    this.last = null;
    this.box = element("article", "panel", null, parent);
    this.head = element("header", "panel-head", null, this.box);
    const body = element("div", "panel-body", null, this.box);
    this.svg = mark("svg", { class: "room", role: "img" }, body);
    this.facts = element("dl", "facts", null, body);
    this.others = element("div", "others", null, this.box);
    this.strip = element("canvas", "episode-strip", null, this.box);
    this.strip.setAttribute("role", "img");
    this.layers = {};
    for (const name of ["floor", "paid", "things", "trail", "numbers", "arrows", "agent"]) {
      this.layers[name] = mark("g", { class: name }, this.svg);
    }
    this.agent = mark("g", { class: "walker" }, this.layers.agent);
    this.measure();
  }

  /** Chooses the size of the signs by the size of the room on the screen: numbers stay readable. */
  measure() {
    const { width, height } = this.watched.record;
    let [side, top] = [30, 20];
    for (let round = 0; round < 2; round += 1) {
      const pixels = (this.svg.clientWidth || 400) / (width * CELL + 2 * side);
      this.font = Math.min(30, Math.max(15, 10.5 / pixels));
      this.short = this.font > 20;
      this.tag = { width: (this.short ? 2.9 : 3.5) * this.font, height: 1.4 * this.font, tip: 0.5 * this.font };
      side = this.reach(0, 1) + this.tag.width / 2 + this.tag.tip - CELL / 2 + 3;
      top = this.reach(1, 0) + this.tag.height / 2 + this.tag.tip - CELL / 2 + 3;
    }
    const box = [-side, -top, width * CELL + 2 * side, height * CELL + 2 * top];
    this.svg.setAttribute("viewBox", box.map((number) => number.toFixed(1)).join(" "));
    this.sceneShown = null;
  }

  /** Returns how far from the agent's middle the arrow of a move stands. */
  reach(_, right) {
    if (right === 0) return CELL / 2 + this.tag.height / 2 + 2; // below the number of the agent's own cell
    return AGENT_RADIUS + this.tag.width / 2 + 5;
  }

  number(value) {
    const text = signed(value, 2);
    return this.short ? text.replace(/^([+−])0\./, "$1.") : text;
  }

  middle(cell) {
    const { width } = this.watched.record;
    return [((cell % width) + 0.5) * CELL, (Math.floor(cell / width) + 0.5) * CELL];
  }

  /** Shows moment k of the episode in place `at`. */
  show(life, at, k, options) {
    const moment = life.moment(at, k);
    this.drawHead(life, options);
    this.drawScene(moment, at, options.reveal);
    this.drawWalk(life, at, k, moment);
    this.drawAgent(life, moment, at, options.smooth);
    this.drawArrows(life, moment);
    this.drawFacts(life, moment, at);
    this.svg.setAttribute("aria-label", this.describe(life, moment, at));
    this.last = { life, at, moment };
  }

  drawHead(life, options) {
    if (this.titled === life && this.themed === document.documentElement.dataset.theme) return;
    this.titled = life;
    this.themed = document.documentElement.dataset.theme;
    this.box.style.setProperty("--source", sourceColor(life.source.color));
    const swatch = element("span", "swatch");
    const title = element("h2", "", life.label);
    this.head.replaceChildren(swatch, title);
    if (options.choices.length > 2) {
      const select = element("select", "", null, this.head);
      select.setAttribute("aria-label", "Whose lifetime");
      options.choices.forEach((choice, number) => {
        const option = element("option", "", choice.source.name, select);
        option.value = String(number);
        option.selected = choice === life;
      });
      select.addEventListener("change", () => options.choose(Number(select.value)));
    } else if (life.source.name !== life.label) {
      element("code", "", life.source.name, this.head);
    }
  }

  drawScene(moment, at, reveal) {
    const { record } = this.watched;
    const shown = `${moment.scene} ${reveal} ${moment.cell} ${at}`;
    if (this.sceneShown === shown) return;
    this.sceneShown = shown;
    const signs = Array.from((reveal ? record.revealed : record.scenes)[moment.scene]);
    const worth = new Map(reveal ? this.watched.hidden(at).flatMap(([, pairs]) => pairs.filter(([label]) => label !== "")) : []);
    this.layers.floor.replaceChildren();
    this.layers.things.replaceChildren();
    signs.forEach((sign, cell) => {
      const [x, y] = this.middle(cell);
      const tile = { x: x - 48, y: y - 48, width: 96, height: 96, rx: 10 };
      mark("rect", { class: sign === "#" ? "wall" : "free", ...tile }, this.layers.floor);
      if (sign !== "#" && sign !== ".") this.drawThing(sign, x, y, cell === moment.cell, worth.get(sign));
    });
  }

  /** Draws what lies in a cell, small and in its corner where the agent stands on it. */
  drawThing(sign, x, y, covered, worth) {
    const scale = covered ? 0.42 : 1;
    const shift = covered ? 27 : 0;
    const group = mark("g", { class: "thing", transform: `translate(${x - shift} ${y - shift}) scale(${scale})` }, this.layers.things);
    if (SHAPES[sign]) {
      mark("path", { d: SHAPES[sign], class: sign === "*" ? "goal" : "key", "fill-rule": "evenodd", transform: "scale(1.25)" }, group);
      return;
    }
    mark("rect", { x: -34, y: -34, width: 68, height: 68, rx: 14, class: "object" }, group);
    const raised = worth !== undefined && !covered;
    const letter = mark("text", { y: raised ? -7 : 1, class: "letter", "font-size": raised ? 36 : 42 }, group);
    letter.textContent = sign;
    if (raised) {
      const value = mark("text", { y: 22, class: "worth", "font-size": Math.min(this.font, 24) }, group);
      value.textContent = this.number(worth);
    }
  }

  /** Tints the cells of this episode's walk by what the last step into each was paid, with the number. */
  drawWalk(life, at, k, moment) {
    const above = moment.would === null || this.watched.record.moves === null ? NaN : moment.cell - this.watched.record.width;
    const visits = life.walk(at, k);
    const layers = [this.layers.paid, this.layers.numbers, this.layers.trail];
    for (const layer of layers) layer.replaceChildren();
    const latest = new Map();
    visits.forEach((visit, number) => {
      if (visit.cell >= 0) latest.set(visit.cell, { ...visit, number });
    });
    for (const [cell, { paid, number }] of latest) {
      const [x, y] = this.middle(cell);
      const strength = life.strength(paid) ** 0.7;
      const now = number === visits.length - 1;
      const tint = { x: x - 48, y: y - 48, width: 96, height: 96, rx: 10, class: paid < 0 ? "minus" : "plus" };
      mark("rect", { ...tint, "fill-opacity": paid === 0 ? 0 : (0.1 + 0.6 * strength).toFixed(3) }, this.layers.paid);
      const text = mark(
        "text",
        { x: x - 44, y: y + (cell === above ? -1 : 1) * (47 - this.font / 2), class: now ? "number now" : "number", "font-size": this.font, "data-cell": cell },
        this.layers.numbers,
      );
      text.textContent = this.number(paid);
    }
    const walked = [life.source.moments.cell[life.momentBegin[at]], ...visits.map((visit) => visit.cell)];
    const cells = walked.slice(-TRACK - 1).filter((cell) => cell >= 0);
    const points = cells.map((cell) => this.middle(cell).join(",")).join(" ");
    mark("polyline", { points, class: "track" }, this.layers.trail);
  }

  drawAgent(life, moment, at, smooth) {
    this.svg.dataset.cell = String(moment.cell);
    this.agent.classList.toggle("gone", moment.cell < 0);
    if (moment.cell < 0) return;
    const near = this.last !== null && this.last.at === at && this.last.life === life;
    this.agent.classList.toggle("smooth", Boolean(smooth && near));
    if (this.signShown !== moment.sign) {
      this.signShown = moment.sign;
      const holding = moment.sign === "&";
      this.agent.replaceChildren();
      mark("circle", { r: AGENT_RADIUS, class: "body" }, this.agent);
      if (holding) mark("path", { d: HELD, class: "held", "fill-rule": "evenodd", transform: "scale(1.25)" }, this.agent);
      else for (const eye of [-8, 8]) mark("circle", { cx: eye, cy: -4, r: 4, class: "eye" }, this.agent);
    }
    const [x, y] = this.middle(moment.cell);
    this.agent.style.transform = `translate(${x}px, ${y}px)`;
  }

  /** Draws an arrow for each action: what the next step would be paid; the one that is taken next is framed. */
  drawArrows(life, moment) {
    const { moves } = this.watched.record;
    this.layers.arrows.replaceChildren();
    if (moment.would === null || moves === null || moment.cell < 0) return;
    const [x, y] = this.middle(moment.cell);
    const order = moment.would.map((_, action) => action).sort((a, b) => (a === moment.chosen) - (b === moment.chosen));
    for (const action of order) {
      const [down, right] = moves[action];
      const far = this.reach(down, right);
      this.drawArrow(life, moment, action, x + Math.sign(right) * far, y + Math.sign(down) * (right === 0 ? far : Math.abs(down) * far));
    }
  }

  drawArrow(life, moment, action, x, y) {
    const [down, right] = this.watched.record.moves[action];
    const paid = moment.would[action];
    const { width, height, tip } = this.tag;
    const [w, h] = [width / 2, height / 2];
    const point = { up: `L0 ${-h - tip}`, down: `L0 ${h + tip}`, left: `L${-w - tip} 0`, right: `L${w + tip} 0` };
    const side = right > 0 ? "right" : right < 0 ? "left" : down > 0 ? "down" : "up";
    const edge = (name) => (side === name ? point[name] : "");
    const d = `M${-w} ${-h}${edge("up")}L${w} ${-h}${edge("right")}L${w} ${h}${edge("down")}L${-w} ${h}${edge("left")}Z`;
    const kinds = ["arrow", paid < 0 ? "minus" : paid > 0 ? "plus" : "zero"];
    if (action === moment.chosen) kinds.push("chosen");
    const group = mark("g", { class: kinds.join(" "), transform: `translate(${x} ${y})`, "data-action": action }, this.layers.arrows);
    mark("path", { d, class: "under" }, group);
    const strength = life.strength(paid) ** 0.7;
    mark("path", { d, class: "fill", "fill-opacity": paid === 0 ? 0 : (0.08 + 0.5 * strength).toFixed(3) }, group);
    const text = mark("text", { y: 1, "font-size": this.font }, group);
    text.textContent = this.number(paid);
    mark("title", {}, group).textContent = `${this.watched.record.actions[action]} would be paid ${signed(paid, 4)}`;
  }

  drawFacts(life, moment, at) {
    const visits = life.walk(at, moment.now);
    const sum = (name) => visits.reduce((total, visit) => total + (visit[name] ?? 0), 0);
    const rows = [["this step", signed(moment.paid), "step"]];
    if (!life.source.is_extrinsic) rows.push(["episode, intrinsic", signed(sum("paid"), 2), "intrinsic"]);
    rows.push(["episode, extrinsic", signed(sum("extrinsic"), 2), "extrinsic"]);
    rows.push(["policy entropy", moment.entropy === null ? "–" : moment.entropy.toFixed(2), "entropy"]);
    this.facts.replaceChildren();
    for (const [name, value, key] of rows) {
      const pair = element("div", "", null, this.facts);
      element("dt", "", name, pair);
      element("dd", "", value, pair).dataset.fact = key;
    }
    this.drawOthers(moment, life);
    drawEpisodeStrip(this.strip, life, at, moment.now);
  }

  /** Tells in words what the actions would be paid where they are no directions in the room. */
  drawOthers(moment, life) {
    const { moves, actions } = this.watched.record;
    this.others.replaceChildren();
    if (life.source.steps.would_pay === null) {
      element("p", "note", "What this source would pay for a step not taken is not known: it learns once a rollout.", this.others);
      return;
    }
    if (moment.would === null || (moves !== null && moment.cell >= 0)) return;
    element("p", "note", "The next step would be paid", this.others);
    const list = element("ul", "", null, this.others);
    moment.would.forEach((paid, action) => {
      const taken = action === moment.chosen;
      element("li", taken ? "taken" : "", `${actions[action]}: ${signed(paid)}${taken ? " · taken" : ""}`, list).dataset.action = action;
    });
  }

  describe(life, moment, at) {
    const { width, actions } = this.watched.record;
    const place = moment.cell < 0 ? "" : `, agent in row ${Math.floor(moment.cell / width) + 1}, column ${(moment.cell % width) + 1}`;
    const would = moment.would === null ? "" : `; next would be paid: ${moment.would.map((paid, action) => `${actions[action]} ${signed(paid)}`).join(", ")}`;
    const end = moment.ended ? `; ${this.watched.outcome(life, at)}` : "";
    return `${life.label}: step ${moment.now} of ${moment.length}${place}, paid ${signed(moment.paid)}${end}${would}`;
  }
}
