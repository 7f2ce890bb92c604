// The page: takes what the program tells, lays it out, and sends the keys back.

import { drawReliability, Timeline } from "./charts.js";
import { Faces, make, setText } from "./faces.js";

const AGAIN_MS = 1000; // between two tries to connect
const SILENCE_MS = 7000; // the program says something every two seconds
const SPEAK_MS = 4000; // a screen reader needs time to say what it was told

const at = (id) => document.getElementById(id);
const faces = new Faces(at("faces"), at("empty"));
const timeline = new Timeline(at("lanes"));
const buttons = new Map([...document.querySelectorAll("[data-key]")].map((each) => [each.dataset.key, each]));
const page = { source: null, hello: null, silence: 0, again: 0, left: false, spoken: "", spokenAt: 0 };

function connect() {
  disconnect();
  page.source = new EventSource("/api/live");
  const listen = (name, take) =>
    page.source.addEventListener(name, (event) => {
      clearTimeout(page.silence);
      page.silence = setTimeout(lose, SILENCE_MS);
      take(JSON.parse(event.data));
    });
  listen("hello", introduce);
  listen("seconds", (seconds) => timeline.add(seconds));
  listen("now", show);
  page.source.onerror = lose;
  page.silence = setTimeout(lose, SILENCE_MS);
}

function disconnect() {
  clearTimeout(page.silence);
  clearTimeout(page.again);
  page.source?.close();
  page.source = null;
}

async function lose() {
  disconnect();
  page.again = setTimeout(connect, AGAIN_MS);
  const answer = page.left ? null : await fetch("/healthz").catch(() => null);
  if (page.source) return; // it came back meanwhile
  let words = page.left ? "the program has ended" : "connection lost; trying again";
  if (answer?.status === 401) words = "the program was started anew: open its new link";
  stale(words);
  setConnection("lost", page.left ? "ended" : "not connected");
}

function stale(words) {
  document.body.classList.add("stale");
  showMessage({ words, attention: true });
  for (const button of buttons.values()) button.disabled = !isOwn(button.dataset.key);
  speak(words);
}

function introduce(hello) {
  page.hello = hello;
  page.left = false;
  faces.introduce(hello);
  timeline.introduce(hello);
  drawReliability(at("diagram"), at("figures"), at("legend"), hello);
  document.querySelector("main").classList.toggle("no-video", !hello.video);
  at("stage").hidden = !hello.video;
  if (hello.video) at("picture").src = `/video?${Date.now()}`;
  setText(at("mark-note"), `The mark on a bar: ${hello.marker}.`);
  at("keys").replaceChildren(
    ...Object.entries(hello.keys).flatMap(([key, words]) => {
      const [term, meaning] = [make("dt"), make("dd")];
      term.textContent = key;
      meaning.textContent = words;
      return [term, meaning];
    }),
  );
  for (const [key, button] of buttons) {
    button.hidden = !(key in hello.keys);
    button.title = hello.keys[key] ?? "";
    button.disabled = false;
  }
}

function show({ faces: seen = [], message = null, status = null, controls = null, size = null }) {
  document.body.classList.toggle("stale", Boolean(message?.attention));
  faces.show(seen, message?.attention && page.hello.video ? "no reading" : (message?.words ?? ""));
  showMessage(message);
  if (size) at("stage").style.setProperty("--aspect", `${size[0]} / ${size[1]}`);
  if (status) showStatus(status);
  if (controls) showControls(controls, status);
  showState(message, status, controls);
  const told = seen.length ? seen.map((face) => tellFace(face, seen.length)).join("; ") : message?.words;
  speak(told ?? "");
}

const tellFace = ({ track, title, detail, verdict }, count) =>
  (count > 1 ? `face ${track}: ` : "") + (verdict === "unsure" ? `${title}, ${withoutNumbers(detail)}` : title);

// A reason such as "43 % sure" changes at every frame, and is no news.
const withoutNumbers = (words) => (/\d/.test(words) ? "too little confidence" : words);

function showMessage(message) {
  // "no face" stands where the faces would; the picture is covered only when it is not live.
  const covers = message && (message.attention || !at("picture").naturalWidth);
  at("message").hidden = !covers;
  at("message").classList.toggle("attention", Boolean(message?.attention));
  if (covers) setText(at("message"), message.words);
}

function showStatus(status) {
  const facts = [status.source, status.fps, status.latency, status.model, status.dropped];
  setText(at("facts"), facts.filter(Boolean).join(" · "));
  at("still").hidden = !status.still;
  setText(at("still"), status.still ?? "");
  showDrift(status.drift);
  const drifted = status.drift?.kind === "drifted" ? status.drift.words : "";
  const stillWords = page.hello.video ? "" : status.still; // which has no picture to stand on
  const strip = status.notice ?? (drifted || stillWords || "");
  at("strip").hidden = !strip;
  at("strip").classList.toggle("attention", Boolean(strip) && !status.notice);
  setText(at("strip"), strip);
}

function showState(message, status, controls) {
  if (message?.attention) setConnection("lost", "not live");
  else if (status?.recording) setConnection("recording", "recording");
  else if (controls?.paused) setConnection("waiting", "paused");
  else setConnection("live", "live");
}

function showDrift(drift) {
  at("drift").hidden = !drift;
  if (!drift) return;
  at("drift").dataset.kind = drift.kind;
  setText(at("drift"), drift.words);
}

function showControls(controls, status) {
  const pressed = {
    space: controls.paused,
    r: Boolean(status?.recording),
    b: !controls.smoothed,
    c: controls.evidence,
    v: controls.crop,
  };
  for (const [key, on] of Object.entries(pressed)) buttons.get(key).setAttribute("aria-pressed", on);
}

function setConnection(state, words) {
  at("connection").dataset.state = state;
  setText(at("connection"), words);
}

function speak(words) {
  const now = Date.now();
  if (words === page.spoken || now - page.spokenAt < SPEAK_MS) return;
  page.spoken = words;
  page.spokenAt = now;
  at("spoken").textContent = words;
}

const isOwn = (key) => (page.hello?.own_keys ?? []).includes(key);

function press(key) {
  if (key === "m") {
    const on = at("reliability").hidden;
    at("reliability").hidden = !on;
    buttons.get("m").setAttribute("aria-pressed", on);
  } else if (key === "h") {
    at("help").showModal();
  } else if (key === "q") {
    at("leave").showModal();
  } else {
    send(key);
  }
}

function send(key) {
  return fetch(`/api/keys/${key}`, { method: "POST" }).catch(() => null); // the stream tells that it is lost
}

for (const [key, button] of buttons) button.addEventListener("click", () => press(key));
for (const button of document.querySelectorAll("[data-close]")) {
  button.addEventListener("click", () => button.closest("dialog").close());
}
at("leave-now").addEventListener("click", () => {
  page.left = true;
  at("leave").close();
  send("q");
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (document.querySelector("dialog[open]")) return;
  const key = event.key === " " ? "space" : event.key.toLowerCase();
  const button = buttons.get(key);
  if (!button || button.hidden || button.disabled) return;
  if (key === "space" && event.target.closest("button")) return; // it presses that button
  event.preventDefault();
  press(key);
});
// A page that nobody sees takes no pictures.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    disconnect();
    at("picture").removeAttribute("src");
  } else {
    connect();
  }
});
if (!document.hidden) connect();
