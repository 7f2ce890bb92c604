// Draws the timeline and the reliability diagram as SVG.

import { make } from "./faces.js";

const LARGE_BIN = 50; // faces; smaller bins are drawn faintly (LARGE_BIN in calib/metrics.py)

export class Timeline {
  constructor(place) {
    this.place = place;
  }

  setUp({ labels, colours, seconds }) {
    this.length = seconds;
    this.seconds = new Map(); // by number; null if no face was in sight
    this.place.replaceChildren();
    this.rows = labels.map((label, place) => {
      const row = make("div", "lane");
      const name = make("span");
      name.textContent = label;
      const drawing = draw("svg", { viewBox: `0 0 ${seconds} 100`, preserveAspectRatio: "none", role: "img" });
      const path = draw("path", {});
      path.style.setProperty("--colour", colours[place]);
      drawing.append(path);
      row.append(name, drawing);
      this.place.append(row);
      return { label, drawing, path };
    });
  }

  add(seconds) {
    for (const [number, shares] of seconds) this.seconds.set(number, shares);
    const last = Math.max(...this.seconds.keys());
    const first = last - this.length + 1;
    for (const number of this.seconds.keys()) if (number < first) this.seconds.delete(number);
    this.rows.forEach(({ label, drawing, path }, place) => {
      const shares = Array.from({ length: this.length }, (_, at) => this.seconds.get(first + at)?.[place]);
      path.setAttribute("d", area(shares));
      const known = shares.filter((share) => share !== undefined);
      const mean = known.reduce((sum, share) => sum + share, 0) / known.length;
      drawing.ariaLabel = known.length
        ? `${label}: ${Math.round(100 * mean)} % on average`
        : `${label}: no face was in sight`;
    });
  }
}

// One step per second, with a gap where there was no face.
function area(shares) {
  let path = "";
  shares.forEach((share, at) => {
    if (share !== undefined) path += `M${at} 100V${(100 - 100 * share).toFixed(1)}H${at + 1.02}V100Z`;
  });
  return path;
}

export function drawReliability(place, words, legend, { bins, ece, faces }) {
  place.replaceChildren();
  legend.hidden = !bins.length || ece === null;
  if (legend.hidden) {
    words.textContent = "This model does not say.";
    return;
  }
  const [left, top, width, height] = [30, 8, 310, 150];
  const x = (share) => left + share * width;
  const y = (share) => top + height - share * height;
  const drawing = draw("svg", { viewBox: "0 0 350 190", role: "img" });
  drawing.ariaLabel = `Reliability diagram: expected calibration error ${(100 * ece).toFixed(1)} %`;
  for (const share of [0, 0.5, 1]) {
    drawing.append(
      draw("line", { class: "grid", x1: left, x2: left + width, y1: y(share), y2: y(share) }),
      label(left - 6, y(share) + 3.5, "end", 100 * share),
      label(x(share), top + height + 14, "middle", 100 * share),
    );
  }
  for (const { low, high, count, confidence, accuracy } of bins) {
    const few = count < LARGE_BIN ? " few" : "";
    const [lower, upper] = [Math.min(accuracy, confidence), Math.max(accuracy, confidence)];
    const across = { x: x(low) + 0.5, width: x(high) - x(low) - 1 };
    const gap = accuracy < confidence ? "over" : "under";
    drawing.append(
      draw("rect", { class: `right${few}`, ...across, y: y(lower), height: lower * height }),
      draw("rect", { class: `${gap}${few}`, ...across, y: y(upper), height: (upper - lower) * height }),
    );
  }
  drawing.append(
    draw("line", { class: "diagonal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
    label(left + width / 2, top + height + 28, "middle", "% right, by confidence shown"),
  );
  place.append(drawing);
  words.textContent = `ECE ${(100 * ece).toFixed(1)} %, ${faces.toLocaleString("en")} faces`;
}

function draw(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

function label(x, y, anchor, words) {
  const text = draw("text", { x, y, "text-anchor": anchor });
  text.textContent = words;
  return text;
}
