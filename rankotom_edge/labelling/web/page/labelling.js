// Shows one face after the other, and sends the keys back.

const POLL_MS = 3000; // another page may label, and the program may end
const LOOK_MS = 200; // nobody reads a face in this time: a second tap is not meant for the next one

const byId = (id) => document.getElementById(id);
const answers = new Map(); // the buttons of answers, by key
const page = { state: null, shown: null, seenAt: Infinity, posting: false, turn: 0, timer: 0 };
const pictures = new Map(); // by address: the one in sight and its neighbours

async function ask(path = "", method = "GET") {
  clearTimeout(page.timer);
  const turn = ++page.turn; // an answer to an earlier question is no news
  page.posting = method === "POST";
  let goesOn = true;
  try {
    const answer = await fetch(`/api/labelling${path}`, { method });
    const content = await answer.json();
    if (turn !== page.turn) return;
    if (answer.status === 401) showLoss("The program was started again: open its new link.");
    else if (answer.ok || answer.status === 409) show(content);
    else showLoss(content.error);
    goesOn = answer.status !== 500 && !page.state?.finished;
  } catch {
    if (turn !== page.turn) return;
    showLoss("No connection to the program; trying again. Your labels are kept.");
  }
  page.posting = false;
  if (goesOn) page.timer = setTimeout(ask, POLL_MS);
}

function notice(words) {
  byId("notice").hidden = !words;
  byId("notice").textContent = words;
}

function showLoss(words) {
  document.body.classList.add("lost");
  notice(words);
  for (const button of document.querySelectorAll("button")) button.disabled = true;
}

function show(state) {
  const before = page.state;
  page.state = state;
  document.body.classList.remove("lost");
  notice("");
  if (!answers.size) makeButtons(state);
  for (const button of document.querySelectorAll("button")) button.disabled = false;
  byId("rater").textContent = state.rater;
  byId("bar").max = state.progress.total;
  byId("bar").value = state.progress.done;
  byId("progress-words").textContent = state.progress.words;
  for (const button of answers.values()) {
    button.setAttribute("aria-pressed", button.dataset.name === state.said);
  }
  byId("back").disabled = state.number === 0;
  byId("before").textContent = state.said_before ? `(${state.said_before})` : "";
  const asks = !state.finished && state.number < state.progress.total;
  byId("ask").hidden = !asks;
  byId("face").hidden = !asks;
  byId("finish").hidden = !asks;
  byId("end").hidden = asks;
  if (asks) showFace(state);
  else showEnd(state, before);
}

async function showFace({ run, number, said, said_before, progress }) {
  const address = `/face/${run}/${number}`;
  if (page.shown === address) return;
  page.shown = address;
  page.seenAt = Infinity; // no label for a face that is not there yet
  const picture = load(address);
  const neighbours = [-1, 0, 1].map((step) => `/face/${run}/${number + step}`);
  for (const other of pictures.keys()) if (!neighbours.includes(other)) pictures.delete(other);
  await picture.decode().catch(() => pictures.delete(address));
  if (page.shown !== address) return;
  if (!picture.naturalWidth) {
    page.shown = null;
    return showLoss("The picture did not come; trying again.");
  }
  picture.alt = `Face ${number + 1} of ${progress.total}`;
  picture.style.setProperty("--aspect", picture.naturalWidth / picture.naturalHeight);
  byId("face").replaceChildren(picture);
  byId("face").dataset.number = number;
  page.seenAt = performance.now();
  const kept = said ? `Your answer: ${said}.` : said_before ? `Kept: ${said_before}.` : "";
  byId("announcement").textContent = `${kept} ${picture.alt}.`;
  if (number + 1 < progress.total) load(neighbours[2]);
}

function load(address) {
  if (!pictures.has(address)) pictures.set(address, Object.assign(new Image(), { src: address }));
  return pictures.get(address);
}

function showEnd(state, before) {
  page.shown = null;
  const [title, words] = endWords(state);
  byId("end-title").textContent = title;
  byId("end-words").textContent = words;
  byId("end-buttons").hidden = state.finished;
  if (before?.finished !== state.finished || before?.number !== state.number) byId("end-title").focus();
}

function endWords({ complete, finished, rater, summary }) {
  if (!finished) return [summary, "Go back if you want to change something."];
  return [complete ? `Thank you, ${rater}` : "Finished for now", `${summary} You can close this page.`];
}

function makeButtons({ question, expressions }) {
  byId("question").textContent = question;
  for (const { key, name, colour } of expressions) {
    const button = Object.assign(document.createElement("button"), { type: "button" });
    Object.assign(button.dataset, { key, name });
    button.setAttribute("aria-keyshortcuts", key);
    button.style.setProperty("--colour", colour);
    button.append(name, Object.assign(document.createElement("kbd"), { textContent: key }));
    byId("expressions").append(button);
  }
  for (const button of document.querySelectorAll("[data-key]")) {
    button.addEventListener("click", () => press(button.dataset.key));
    if (button.dataset.name) answers.set(button.dataset.key, button);
  }
}

function press(key) {
  const { state } = page;
  if (!state || state.finished || page.posting || document.body.classList.contains("lost")) return;
  const looked = page.shown && performance.now() - page.seenAt > LOOK_MS;
  if (answers.has(key) && !looked) return;
  ask(`/${state.run}/${state.number}/${key}`, "POST");
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  // Some keyboards need Shift for digits: the place of the key counts.
  const digit = /^(?:Digit|Numpad)(\d)$/.exec(event.code)?.[1];
  const names = { "?": "0", Backspace: "b", Escape: "q", Enter: "enter" };
  const key = names[event.key] ?? digit ?? event.key.toLowerCase();
  if (key === "enter" && (event.target.closest("button") || !page.state?.complete)) return;
  if (!answers.has(key) && !["b", "q", "enter"].includes(key)) return;
  event.preventDefault();
  press(key);
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !page.posting && !page.state?.finished) ask();
});
ask();
