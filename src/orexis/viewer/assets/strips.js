/* Rewards over time, and what each episode brought: canvases that follow the moment. */

const LEFT = 46; // room for the axis of a chart

/** Draws the steps of one episode as bars with their numbers; those still to come are pale. */
function drawEpisodeStrip(canvas, life, at, now) {
  const { context, width, height } = openCanvas(canvas);
  const colors = themeColors();
  const visits = life.walk(at, life.lengths[at]);
  const middle = Math.round(height / 2);
  const room = Math.min(58, width / Math.max(visits.length, 1));
  const all = room > 36; // every bar has room for its number
  context.fillStyle = colors.line;
  context.fillRect(0, middle, width, 1);
  visits.forEach(({ paid }, step) => {
    const x = step * room;
    const size = Math.max(1.5, life.strength(paid) * (middle - 16));
    const current = step === now - 1;
    context.globalAlpha = step < now ? 1 : 0.3;
    context.fillStyle = paid === 0 ? colors.faint : paid > 0 ? colors.plus : colors.minus;
    context.fillRect(x, paid >= 0 ? middle - size : middle + 1, Math.max(1, room - Math.min(3, room / 4)), size);
    context.fillStyle = colors.ink;
    if (current) context.fillRect(x, paid >= 0 ? middle + 2 : middle - 3, Math.max(2, room - 3), 2);
    if (all || current) {
      const text = signed(paid, 2);
      const left = all ? x + (room - 3) / 2 : Math.min(x, width - context.measureText(text).width);
      context.textAlign = all ? "center" : "left";
      context.fillText(text, left, paid >= 0 ? middle - size - 4 : middle + size + 12);
    }
  });
  context.globalAlpha = 1;
  canvas.setAttribute("aria-label", `Paid step by step: ${visits.map(({ paid }) => signed(paid, 2)).join(", ")}`);
}

/** Returns what the frames that share a pixel column were paid above and below zero in the mean, from 0 to 1. */
function columnsOf(watched, life, width) {
  const up = new Float32Array(width);
  const down = new Float32Array(width);
  const count = new Uint32Array(width);
  for (let at = 0; at < life.lengths.length; at += 1) {
    for (let step = 0; step < life.lengths[at]; step += 1) {
      const x = Math.min(width - 1, Math.floor(((watched.begin[at] + step + 1) / watched.frames) * width));
      const paid = life.paid(life.stepBegin[at] + step);
      count[x] += 1;
      if (paid > 0) up[x] += paid;
      else down[x] -= paid;
    }
  }
  const means = (sums) => sums.map((sum, x) => sum / Math.max(1, count[x]));
  const [ups, downs] = [means(up), means(down)];
  const strong = strongPayment([...ups, ...downs]);
  return { up: ups.map((mean) => Math.min(1, mean / strong)), down: downs.map((mean) => Math.min(1, mean / strong)) };
}

/** Draws the whole lifetime, a lane for each source; the moment is the upright line. */
function drawLifetimeStrip(canvas, watched, lives, frame) {
  const lane = 46;
  const axis = 18;
  canvas.style.height = `${lives.length * lane + axis}px`;
  const { context, width } = openCanvas(canvas);
  const colors = themeColors();
  lives.forEach((life, number) => {
    const middle = number * lane + lane / 2;
    const { up, down } = columnsOf(watched, life, Math.max(1, Math.floor(width)));
    const bar = Math.max(1, Math.min(5, (width / watched.frames) * 0.8));
    context.fillStyle = colors.line;
    context.fillRect(0, middle, width, 1);
    for (let x = 0; x < up.length; x += 1) {
      if (up[x] > 0) {
        context.fillStyle = colors.plus;
        const size = up[x] * (lane / 2 - 4);
        context.fillRect(x, middle - size, bar, size);
      }
      if (down[x] > 0) {
        context.fillStyle = colors.minus;
        context.fillRect(x, middle + 1, bar, down[x] * (lane / 2 - 4));
      }
    }
    context.fillStyle = sourceColor(life.source.color);
    context.fillRect(0, number * lane + 6, 3, lane - 12);
  });
  drawEpisodeTicks(context, watched, width, lives.length * lane, colors);
  const x = (frame / Math.max(1, watched.frames - 1)) * (width - 2) + 1;
  context.fillStyle = colors.ink;
  context.fillRect(x - 1, 0, 2, lives.length * lane);
  context.beginPath();
  context.moveTo(x - 5, 0);
  context.lineTo(x + 5, 0);
  context.lineTo(x, 7);
  context.fill();
}

/** Draws numbers of episodes below a strip, as many as there is room for. */
function drawEpisodeTicks(context, watched, width, y, colors) {
  const { shown } = watched.record;
  context.textAlign = "left";
  let free = 0;
  shown.forEach((episode, at) => {
    const x = (watched.begin[at] / watched.frames) * width;
    if (x < free || x > width - 24) return;
    context.fillStyle = colors.faint;
    context.fillRect(x, y, 1, 5);
    context.fillStyle = colors.soft;
    const text = free === 0 ? `episode ${episode + 1}` : String(episode + 1);
    context.fillText(text, x + 3, y + 14);
    free = x + context.measureText(text).width + 26;
  });
}

/** A number for each episode of each lifetime, with the current episode marked; a click goes there. */
class EpisodeChart {
  constructor(parent, title, column, watched, jump) {
    this.watched = watched;
    this.column = column;
    this.box = element("figure", "chart", null, parent);
    this.caption = element("figcaption", "", null, this.box);
    element("span", "", title, this.caption);
    this.value = element("span", "values", "", this.caption);
    this.canvas = element("canvas", "", null, this.box);
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", title);
    this.canvas.addEventListener("click", (event) => {
      const share = (event.offsetX - LEFT) / Math.max(1, this.canvas.clientWidth - LEFT - 6);
      jump(Math.round(Math.min(1, Math.max(0, share)) * (watched.record.num_episodes - 1)));
    });
  }

  show(lives, at) {
    const { record } = this.watched;
    const { context, width, height } = openCanvas(this.canvas);
    const colors = themeColors();
    const drawn = lives.filter((life) => this.column !== "intrinsic" || !life.source.is_extrinsic);
    const values = drawn.flatMap((life) => life.source.episodes[this.column]).filter((value) => value !== null);
    const low = values.reduce((a, b) => Math.min(a, b), 0);
    const high = values.reduce((a, b) => Math.max(a, b), this.column === "entropy" ? record.most_entropy : Math.max(0, low + 0.1));
    const last = Math.max(1, record.num_episodes - 1);
    const x = (episode) => LEFT + (episode / last) * (width - LEFT - 6);
    const y = (value) => height - 8 - ((value - low) / (high - low)) * (height - 18);
    drawScale(context, ticks(low, high, 3), y, width, colors);
    for (const life of drawn) this.drawLife(context, life, x, y);
    context.fillStyle = colors.ink;
    context.fillRect(x(record.shown[at]) - 0.5, 2, 1, height - 8);
    this.value.replaceChildren();
    for (const life of drawn) {
      const value = life.source.episodes[this.column][record.shown[at]];
      addValue(this.value, this.column === "entropy" ? plain(value) : signed(value, 2), life.source.color);
    }
  }

  drawLife(context, life, x, y) {
    const values = life.source.episodes[this.column];
    const reach = Math.floor(values.length / 60);
    const points = values.map((value, episode) => (value === null ? null : [x(episode), y(value)]));
    context.strokeStyle = sourceColor(life.source.color);
    context.setLineDash(life.source.is_extrinsic ? [5, 3] : []);
    context.lineWidth = 1;
    if (reach > 0) {
      context.globalAlpha = 0.22;
      drawLine(context, points);
      context.globalAlpha = 1;
    }
    context.lineWidth = 1.8;
    drawLine(context, reach > 0 ? runningMean(values, reach).map((value, episode) => [x(episode), y(value)]) : points);
    context.setLineDash([]);
  }
}

/** Draws the upright axis of a chart and its lines. */
function drawScale(context, marks, y, width, colors) {
  context.textAlign = "right";
  for (const tick of marks) {
    context.fillStyle = colors.line;
    context.fillRect(LEFT, Math.round(y(tick)), width - LEFT, 1);
    context.fillStyle = colors.soft;
    context.fillText(plain(tick), LEFT - 6, y(tick) + 4);
  }
}

/** Returns the mean of each value and its neighbours up to `reach` away; null counts for nothing. */
function runningMean(values, reach) {
  return values.map((_, number) => {
    const near = values.slice(Math.max(0, number - reach), number + reach + 1).filter((value) => value !== null);
    return near.length ? near.reduce((a, b) => a + b, 0) / near.length : 0;
  });
}
