// Draws the timeline, and the reliability diagram as SVG.

import { make } from "./faces.js";

const LARGE_BIN = 50; // faces; smaller bins are drawn hollow (LARGE_BIN in calib/metrics.py)
const MAX_LANES = 12; // chosen by eye

export class Timeline {
  constructor(place, legend) {
    this.place = place;
    this.legend = legend;
  }

  setUp({ labels, colours, seconds }) {
    this.labels = labels;
    this.colours = colours;
    this.seconds = seconds;
  }

  // Each run of a lane: first second, length, the emotions of the headline, and whether it was unsure.
  show(lanes) {
    const end = ({ runs }) => runs.at(-1)[0] + runs.at(-1)[1];
    const latest = [...lanes].sort((one, other) => end(other) - end(one)).slice(0, MAX_LANES);
    const shown = lanes.filter((lane) => latest.includes(lane));
    this.place.classList.toggle("single", shown.length < 2);
    this.place.replaceChildren(...shown.map((lane) => this.lane(lane, end(lane) < this.seconds - 1)));
    const runs = shown.flatMap((lane) => lane.runs);
    const seen = new Set(runs.filter((run) => !run[3]).flatMap((run) => run[2]));
    const entries = this.labels.map((label, place) => (seen.has(place) ? this.entry(label, place) : null));
    if (runs.some((run) => run[3])) entries.push(this.entry("unsure", null));
    if (lanes.length > shown.length) entries.push(make("li", "", `+${lanes.length - shown.length} more faces`));
    this.legend.replaceChildren(...entries.filter(Boolean));
  }

  lane({ track, runs }, gone) {
    const row = make("div", gone ? "lane gone" : "lane");
    const band = make("div", "band");
    band.setAttribute("role", "img");
    band.ariaLabel = `Face ${track}: ${this.describe(runs)}`;
    for (const [first, length, emotions, unsure] of runs) {
      const run = make("span", unsure ? "run unsure" : "run coloured");
      run.style.setProperty("--start", first / this.seconds);
      run.style.setProperty("--length", length / this.seconds);
      run.style.setProperty("--colour", this.colours[emotions[0]]);
      run.style.setProperty("--second", this.colours[emotions.at(-1)]);
      band.append(run);
    }
    row.append(make("span", "track", track), band);
    return row;
  }

  describe(runs) {
    const seconds = new Map();
    for (const [, length, emotions, unsure] of runs) {
      const name = unsure ? "unsure" : emotions.map((place) => this.labels[place]).join(" and ");
      seconds.set(name, (seconds.get(name) ?? 0) + length);
    }
    return [...seconds].map(([name, count]) => `${name} ${count} s`).join(", ");
  }

  entry(label, place) {
    const entry = make("li");
    const swatch = make("span", place === null ? "swatch run unsure" : "swatch coloured");
    if (place !== null) swatch.style.setProperty("--colour", this.colours[place]);
    entry.append(swatch, label);
    return entry;
  }
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
  drawing.append(hatching());
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

// "Too sure" is hatched, as in the reports: no colour stands out from the grey bar below it.
function hatching() {
  const pattern = draw("pattern", { id: "hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  pattern.append(draw("rect", { class: "ground", width: 5, height: 5 }), draw("line", { class: "hatch", y2: 5 }));
  return pattern;
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
