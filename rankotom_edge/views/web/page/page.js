// Shows what the program sends, and sends the keys back.

import { drawReliability, Timeline } from "./charts.js";
import { Faces, make, setText } from "./faces.js";

const RECONNECT_MS = 1000;
const SILENCE_MS = 7000; // the program sends something at least every two seconds
const CROWD = 8; // faces in three minutes, above which their cards take two columns; chosen by eye
const SPEAK_MS = 4000; // a screen reader needs time to read out the last words

const byId = (id) => document.getElementById(id);
const faces = new Faces(byId("faces"), byId("empty"), byId("more"));
const timeline = new Timeline(byId("lanes"), byId("lane-legend"));
const buttons = new Map([...document.querySelectorAll("[data-key]")].map((each) => [each.dataset.key, each]));
const page = { source: null, hello: null, silence: 0, retry: 0, quit: false, spoken: "", spokenAt: 0 };

function connect() {
  disconnect();
  page.source = new EventSource("/api/live");
  const listen = (name, take) =>
    page.source.addEventListener(name, (event) => {
      clearTimeout(page.silence);
      page.silence = setTimeout(handleLoss, SILENCE_MS);
      take(JSON.parse(event.data));
    });
  listen("hello", setUp);
  listen("timeline", showTimeline);
  listen("now", show);
  page.source.onerror = handleLoss;
  page.silence = setTimeout(handleLoss, SILENCE_MS);
}

function disconnect() {
  clearTimeout(page.silence);
  clearTimeout(page.retry);
  page.source?.close();
  page.source = null;
}

async function handleLoss() {
  disconnect();
  page.retry = setTimeout(connect, RECONNECT_MS);
  const answer = page.quit ? null : await fetch("/healthz").catch(() => null);
  if (page.source) return; // reconnected in the meantime
  let words = page.quit ? "the program has ended" : "connection lost; trying again";
  if (answer?.status === 401) words = "the program was restarted: open its new link";
  showStale(words);
  setConnection("lost", page.quit ? "ended" : "not connected");
}

function showStale(words) {
  document.body.classList.add("stale");
  faces.show([], "no reading");
  showMessage({ words, attention: true });
  for (const button of buttons.values()) button.disabled = !isOwn(button.dataset.key);
  speak(words);
}

function setUp(hello) {
  page.hello = hello;
  page.quit = false;
  faces.setUp(hello);
  timeline.setUp(hello);
  drawReliability(byId("diagram"), byId("calibration"), byId("legend"), hello);
  document.querySelector("main").classList.toggle("no-video", !hello.video);
  byId("live-picture").hidden = !hello.video;
  if (hello.video) byId("picture").src = `/video?${Date.now()}`;
  setText(byId("mark-note"), `The mark on a bar: ${hello.marker}.`);
  byId("keys").replaceChildren(
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
  if (size) byId("live-picture").style.setProperty("--aspect", `${size[0]} / ${size[1]}`);
  if (status) showStatus(status);
  if (controls) showControls(controls, status);
  showState(message, status, controls);
  const words = seen.length ? seen.map((face) => describeFace(face, seen.length)).join("; ") : message?.words;
  speak(words ?? "");
}

const describeFace = ({ track, title, detail, verdict }, count) =>
  (count > 1 ? `face ${track}: ` : "") + (verdict === "unsure" ? `${title}, ${withoutNumbers(detail)}` : title);

// A reason with a number ("43 % sure") changes at every frame: a screen reader would never stop.
const withoutNumbers = (words) => (/\d/.test(words) ? "too little confidence" : words);

// It stands where there is room: under a wide picture or for several faces beside their cards.
function showTimeline(lanes) {
  timeline.show(lanes);
  byId("timeline").hidden = !lanes.length;
  document.querySelector("main").classList.toggle("crowd", lanes.length > CROWD);
  const { naturalWidth: width, naturalHeight: height } = byId("picture");
  const below = page.hello.video && (lanes.length > 1 || width > 1.5 * height);
  const column = byId(below ? "scene" : "numbers");
  if (byId("timeline").parentElement !== column) column.insertBefore(byId("timeline"), below ? null : byId("reliability"));
}

function showMessage(message) {
  // The picture is covered only while it is not live; "no face" is shown in place of the faces.
  const covers = message && (message.attention || !byId("picture").naturalWidth);
  byId("message").hidden = !covers;
  byId("message").classList.toggle("attention", Boolean(message?.attention));
  if (covers) setText(byId("message"), message.words);
}

function showStatus(status) {
  const parts = [status.source, status.fps, status.latency, status.model, status.dropped];
  setText(byId("status"), parts.filter(Boolean).join(" · "));
  byId("still").hidden = !status.still;
  setText(byId("still"), status.still ?? "");
  showDrift(status.drift);
  const drifted = status.drift?.kind === "drifted" ? status.drift.words : "";
  const stillWords = page.hello.video ? "" : status.still; // with video it is shown on the picture
  const notice = status.notice ?? (drifted || stillWords || "");
  byId("notice").hidden = !notice;
  byId("notice").classList.toggle("attention", Boolean(notice) && !status.notice);
  setText(byId("notice"), notice);
}

function showState(message, status, controls) {
  if (message?.attention) setConnection("lost", "not live");
  else if (status?.recording) setConnection("recording", "recording");
  else if (controls?.paused) setConnection("waiting", "paused");
  else setConnection("live", "live");
}

function showDrift(drift) {
  byId("drift").hidden = !drift;
  if (!drift) return;
  byId("drift").dataset.kind = drift.kind;
  setText(byId("drift"), drift.kind === "steady" ? `confidence is ${drift.words}` : drift.words);
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
  byId("connection").dataset.state = state;
  setText(byId("connection"), words);
}

function speak(words) {
  const now = Date.now();
  if (words === page.spoken || now - page.spokenAt < SPEAK_MS) return;
  page.spoken = words;
  page.spokenAt = now;
  byId("announcement").textContent = words;
}

const isOwn = (key) => (page.hello?.own_keys ?? []).includes(key);

function press(key) {
  if (key === "m") {
    const on = byId("reliability").hidden;
    byId("reliability").hidden = !on;
    buttons.get("m").setAttribute("aria-pressed", on);
  } else if (key === "h") {
    byId("help").showModal();
  } else if (key === "q") {
    byId("quit").showModal();
  } else {
    send(key);
  }
}

function send(key) {
  return fetch(`/api/keys/${key}`, { method: "POST" }).catch(() => null); // a lost connection shows in the stream
}

for (const [key, button] of buttons) button.addEventListener("click", () => press(key));
for (const button of document.querySelectorAll("[data-close]")) {
  button.addEventListener("click", () => button.closest("dialog").close());
}
byId("quit-now").addEventListener("click", () => {
  page.quit = true;
  byId("quit").close();
  send("q");
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (document.querySelector("dialog[open]")) return;
  const key = event.key === " " ? "space" : event.key.toLowerCase();
  const button = buttons.get(key);
  if (!button || button.hidden || button.disabled) return;
  if (key === "space" && event.target.closest("button")) return; // space presses that button
  event.preventDefault();
  press(key);
});
// A hidden page receives no pictures.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    disconnect();
    byId("picture").removeAttribute("src");
  } else {
    connect();
  }
});
if (!document.hidden) connect();
