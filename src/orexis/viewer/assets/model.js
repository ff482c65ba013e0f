/* What the page knows: the data island decoded, and the time line that all lifetimes share. */

/** Returns a number with its sign, a real minus, and so many digits; "0" for nothing. */
function signed(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return "0";
  return (value > 0 ? "+" : "−") + text;
}

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** Returns a number for people: few digits, a real minus. */
function plain(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  let text = String(Number(size.toPrecision(3)));
  if (size >= 1e15 || (size !== 0 && size < 0.001)) text = Number(size.toPrecision(2)).toExponential().replace("e+", "e").replace("-", "−");
  else if (size >= 1e4) text = COMPACT.format(size);
  return (value < 0 ? "−" : "") + text;
}

/** Returns the size that all but the strongest payments stay below: what colours and bars are measured by. */
function strongPayment(payments) {
  const sizes = payments.map((paid) => Math.abs(paid ?? 0)).filter((size) => size > 0).sort((a, b) => a - b);
  return sizes.length === 0 ? 1 : sizes[Math.floor(0.97 * (sizes.length - 1))];
}

/** One lifetime under one source. Episodes are counted as places in `record.shown`. */
class Life {
  constructor(record, source) {
    this.source = source;
    this.label = source.label;
    this.unit = record.unit;
    this.lengths = record.shown.map((episode) => source.episodes.length[episode]);
    this.stepBegin = [0];
    this.momentBegin = [0];
    for (const length of this.lengths) {
      this.stepBegin.push(this.stepBegin.at(-1) + length);
      this.momentBegin.push(this.momentBegin.at(-1) + length + 1);
    }
    this.strong = strongPayment(source.steps.intrinsic) / this.unit;
  }

  /** How strong a payment is, from 0 to 1. */
  strength(paid) {
    return Math.min(1, Math.abs(paid) / this.strong);
  }

  /** What step number `step` was paid by the source. */
  paid(step) {
    return (this.source.steps.intrinsic[step] ?? 0) / this.unit;
  }

  /** All that there is to know at moment k of the episode in place `at`; a shorter episode waits at its end. */
  moment(at, k) {
    const length = this.lengths[at];
    const now = Math.min(k, length);
    const place = this.momentBegin[at] + now;
    const steps = this.source.steps;
    const last = now > 0 ? this.stepBegin[at] + now - 1 : null;
    const next = now < length ? this.stepBegin[at] + now : null;
    const would = next === null || steps.would_pay === null ? null : steps.would_pay.map((column) => column[next] / this.unit);
    return {
      length,
      now,
      ended: next === null,
      scene: this.source.moments.scene[place],
      cell: this.source.moments.cell[place],
      sign: this.source.moments.sign[place],
      action: last === null ? null : steps.action[last],
      paid: last === null ? null : this.paid(last),
      extrinsic: last === null ? null : steps.extrinsic[last],
      entropy: next === null ? (last === null ? null : steps.entropy[last] / this.unit) : steps.entropy[next] / this.unit,
      chosen: next === null ? null : steps.action[next],
      would,
    };
  }

  /** What the steps of an episode up to moment k were paid, and to which cells they led. */
  walk(at, k) {
    const now = Math.min(k, this.lengths[at]);
    const visits = [];
    for (let step = 0; step < now; step += 1) {
      const index = this.stepBegin[at] + step;
      visits.push({
        cell: this.source.moments.cell[this.momentBegin[at] + step + 1],
        paid: this.paid(index),
        extrinsic: this.source.steps.extrinsic[index],
      });
    }
    return visits;
  }
}

/** The lifetime that is watched: frames 0, 1, 2, … are the moments of the shown episodes, one after the other. */
class Watched {
  constructor(record) {
    this.record = record;
    this.lives = record.sources.map((source) => new Life(record, source));
    this.begin = [0];
    record.shown.forEach((_, at) => {
      const longest = Math.max(...this.lives.map((life) => life.lengths[at]));
      this.begin.push(this.begin.at(-1) + longest + 1);
    });
    this.frames = this.begin.at(-1);
    this.placeOfFrame = new Uint32Array(this.frames);
    for (let at = 0; at < record.shown.length; at += 1) this.placeOfFrame.fill(at, this.begin[at], this.begin[at + 1]);
  }

  /** Returns the episode's place and the moment in it of a frame. */
  locate(frame) {
    const at = this.placeOfFrame[frame];
    return { at, k: frame - this.begin[at] };
  }

  /** Returns the frame of moment k of an episode, by its number from 0; of the nearest shown one if it is not shown. */
  frameOf(episode, k = 0) {
    const distances = this.record.shown.map((shown) => Math.abs(shown - episode));
    const at = distances.indexOf(Math.min(...distances));
    return Math.min(this.begin[at] + k, this.begin[at + 1] - 1);
  }

  outcome(life, at) {
    const name = this.record.outcomes[life.source.episodes.outcome[this.record.shown[at]]];
    return name === undefined ? "time is up" : `reached ${name}`;
  }

  /** Returns the hidden parameters in an episode, as [name, [[label, value], …]]. */
  hidden(at) {
    return this.record.hidden.map(({ name, labels, values }) => {
      const row = values[values.length === 1 ? 0 : at];
      return [name, row.map((value, number) => [labels === null ? "" : labels[number], value])];
    });
  }
}
