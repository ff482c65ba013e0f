/* The second tab: every number that training logged, with its meaning and where it is healthy; runs laid over each other. */

const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]];

class TrainingTab {
  constructor(training, parent) {
    this.training = training;
    this.charts = [];
    this.hover = null;
    if (training.runs.length === 0) {
      element("p", "empty", "There are no training curves here: only a run folder has them. Name one, for example orexis view runs/random-abc-seed0.", parent);
      return;
    }
    this.legend = element("ul", "legend", null, parent);
    this.grid = element("div", "curves", null, parent);
    for (const column of training.columns) this.addCard(column);
  }

  addCard(column) {
    const card = element("figure", "curve", null, this.grid);
    const head = element("figcaption", "", null, card);
    element("code", "", column.name, head);
    const value = element("span", "values", "", head);
    const canvas = element("canvas", "", null, card);
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${column.name}: ${column.meaning}`);
    element("p", "meaning", column.meaning, card);
    if (column.healthy !== "") {
      const healthy = element("p", "healthy", null, card);
      element("strong", "", `Healthy on ${this.training.healthy_on}: `, healthy);
      healthy.append(column.healthy);
    }
    const limits = this.training.runs[0].limits[column.name];
    if (limits !== undefined) element("p", "healthy", this.warning(limits), card);
    const move = (event) => this.point(event.offsetX, canvas.clientWidth);
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerdown", move);
    canvas.addEventListener("pointerleave", () => this.point(null, 1));
    this.charts.push({ column, canvas, value });
  }

  /** Tells where `orexis train` warns of the first run. */
  warning([low, high]) {
    const borders = [];
    if (low !== null) borders.push(low === 0 ? "at 0" : `below ${plain(low)}`);
    if (high !== null) borders.push(`above ${plain(high)}`);
    return `Training warns ${borders.join(" and ")}.`;
  }

  point(x, width) {
    this.hover = x === null ? null : Math.min(1, Math.max(0, (x - LEFT) / Math.max(1, width - LEFT - 6)));
    this.show();
  }

  lastUpdate() {
    return Math.max(1, ...this.training.runs.map((run) => run.columns.update.at(-1) ?? 1));
  }

  show() {
    if (this.legend === undefined) return;
    this.legend.replaceChildren();
    this.training.runs.forEach((run, number) => {
      const item = element("li", "", null, this.legend);
      const line = mark("svg", { viewBox: "0 0 34 8", "aria-hidden": "true" }, item);
      const stroke = mark("path", { d: "M1 4H33", "stroke-dasharray": DASHES[number % DASHES.length].join(" ") }, line);
      stroke.style.stroke = sourceColor(run.color);
      element("code", "", run.name, item);
    });
    for (const chart of this.charts) this.draw(chart);
  }

  /** Returns the row of a run that is nearest to where the pointer is; the last one if it is nowhere. */
  rowOf(run) {
    const updates = run.columns.update;
    if (this.hover === null) return updates.length - 1;
    const wanted = this.hover * this.lastUpdate();
    let best = 0;
    updates.forEach((update, row) => {
      if (Math.abs(update - wanted) < Math.abs(updates[best] - wanted)) best = row;
    });
    return best;
  }

  draw({ column, canvas, value }) {
    const { context, width, height } = openCanvas(canvas);
    const colors = themeColors();
    const runs = this.training.runs.filter((run) => column.name in run.columns);
    const values = runs.flatMap((run) => run.columns[column.name]).filter((number) => number !== null);
    const last = this.lastUpdate();
    const low = values.reduce((a, b) => Math.min(a, b), values.length ? Infinity : 0);
    const high = values.reduce((a, b) => Math.max(a, b), values.length ? -Infinity : 1);
    const decades = low > 0 && high / low > 1000; // an outlier would hide all the rest: the scale is in powers of ten
    const rise = decades ? Math.log10 : (number) => number;
    const slack = high > low ? 0.06 * (high - low) : Math.abs(high) * 0.1 || 0.5;
    const [bottom, top] = decades ? [low / 1.5, high * 1.5] : [low === 0 ? 0 : low - slack, high + slack];
    const x = (update) => LEFT + (update / last) * (width - LEFT - 6);
    const y = (number) => height - 16 - ((rise(number) - rise(bottom)) / (rise(top) - rise(bottom))) * (height - 24);
    const inside = (number) => Math.min(height - 16, Math.max(8, y(number)));
    if (column.band !== null) {
      context.fillStyle = colors.band;
      context.fillRect(LEFT, inside(column.band[1]), width - LEFT, Math.max(1.5, inside(column.band[0]) - inside(column.band[1])));
    }
    const marks = decades ? ticks(rise(bottom), rise(top), 3).filter(Number.isInteger).map((power) => 10 ** power) : ticks(bottom, top, 3);
    drawScale(context, marks, y, width, colors);
    runs.forEach((run) => this.drawRun(context, run, column, { x, y, bottom, top, width, colors }));
    context.textAlign = "left";
    context.fillStyle = colors.soft;
    context.fillText("0", LEFT, height - 3);
    context.textAlign = "right";
    context.fillText(`update ${last.toLocaleString("en")}`, width - 2, height - 3);
    if (this.hover !== null) {
      context.fillStyle = colors.ink;
      context.fillRect(x(this.hover * last), 6, 1, height - 20);
    }
    value.replaceChildren();
    for (const run of runs) {
      addValue(value, plain(run.columns[column.name][this.rowOf(run)]), run.color);
    }
  }

  drawRun(context, run, column, { x, y, bottom, top, width, colors }) {
    const points = run.columns.update.map((update, row) => {
      const number = run.columns[column.name][row];
      return number === null ? null : [x(update), y(number)];
    });
    const solid = points.filter((point) => point !== null);
    const sparse = solid.length < points.length;
    context.strokeStyle = sourceColor(run.color);
    context.fillStyle = sourceColor(run.color);
    context.lineWidth = 1.5;
    context.setLineDash(DASHES[this.training.runs.indexOf(run) % DASHES.length]);
    drawLine(context, sparse ? solid : points);
    context.setLineDash([]);
    if (sparse && solid.length < 60) for (const [left, up] of solid) context.fillRect(left - 2, up - 2, 4, 4);
    for (const limit of run.limits[column.name] ?? []) {
      if (limit === null || limit < bottom || limit > top) continue;
      context.strokeStyle = colors.alarm;
      context.setLineDash([3, 4]);
      drawLine(context, [[LEFT, y(limit)], [width, y(limit)]]);
      context.setLineDash([]);
    }
  }
}
