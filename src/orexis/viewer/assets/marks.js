/* Elements, icons and canvases. Text is only ever set as text. */

const SVG = "http://www.w3.org/2000/svg";

/** Returns a new SVG element with attributes. */
function mark(name, attributes = {}, parent = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (parent !== null) parent.append(made);
  return made;
}

/** Returns a new HTML element with a class and text. */
function element(name, className = "", text = null, parent = null) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== null) made.textContent = text;
  if (parent !== null) parent.append(made);
  return made;
}

const ICONS = {
  play: "M8 5.5v13l11-6.5z",
  pause: "M7 5.5h3.6v13H7zM13.4 5.5H17v13h-3.6z",
  "previous-step": "M15.5 6.5v11L7.5 12z",
  "next-step": "M8.5 6.5v11l8-5.5z",
  "previous-episode": "M6 6.5h2.2v11H6zM18 6.5v11L9.5 12z",
  "next-episode": "M15.8 6.5H18v11h-2.2zM6 6.5v11l8.5-5.5z",
  light: "M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM11.2 2h1.6v3h-1.6zM11.2 19h1.6v3h-1.6zM2 11.2h3v1.6H2zM19 11.2h3v1.6h-3zM4.4 5.5l1.1-1.1 2.1 2.1-1.1 1.1zM16.4 17.5l1.1-1.1 2.1 2.1-1.1 1.1zM4.4 18.5l2.1-2.1 1.1 1.1-2.1 2.1zM16.4 6.5l2.1-2.1 1.1 1.1-2.1 2.1z",
  dark: "M20 14.6A8.2 8.2 0 0 1 9.4 4a8.2 8.2 0 1 0 10.6 10.6z",
};

/** Gives a button an icon. */
function setIcon(button, name) {
  const icon = mark("svg", { viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" });
  mark("path", { d: ICONS[name] }, icon);
  button.replaceChildren(icon);
}

/** Returns the colours of the theme by the names of their variables. */
function themeColors() {
  const style = getComputedStyle(document.documentElement);
  const names = ["ink", "soft", "faint", "line", "paper", "card", "plus", "minus", "band", "alarm"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** Returns a colour of a source as the theme shows it: dark ones are lightened on a dark page. */
function sourceColor(color) {
  if (document.documentElement.dataset.theme !== "dark") return color;
  const parts = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
  return `rgb(${parts.map((part) => Math.round(part + (255 - part) * 0.38)).join(" ")})`;
}

/** Adds a number with a dot in the colour of whose it is. */
function addValue(parent, text, color) {
  const value = element("span", "value", null, parent);
  element("span", "dot", null, value).style.background = sourceColor(color);
  value.append(text);
}

/** Returns a cleared drawing context of a canvas as large as its box, in CSS pixels. */
function openCanvas(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  return { context, width, height };
}

/** Draws a line through [x, y] points; null breaks it. */
function drawLine(context, points) {
  context.beginPath();
  let down = false;
  for (const point of points) {
    if (point === null) {
      down = false;
    } else if (down) {
      context.lineTo(point[0], point[1]);
    } else {
      context.moveTo(point[0], point[1]);
      down = true;
    }
  }
  context.stroke();
}

/** Returns round numbers that divide a range, at most about `count`. */
function ticks(low, high, count = 4) {
  const span = high - low || 1;
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-6; value += step) {
    found.push(Math.abs(value) < step * 1e-6 ? 0 : value);
  }
  return found;
}
