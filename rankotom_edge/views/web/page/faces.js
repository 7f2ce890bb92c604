// A card per face: the headline, a bar per emotion, the reliability marks. Of four faces or more
// only the headline and its bar are shown, until a card is opened.

const MAX_CARDS = 24; // the picture shows the others of a crowd
const OPEN_UP_TO = 3; // faces whose cards are open by themselves; chosen by eye
// A bar that rounds to zero is folded away, beside other faces. Chosen by eye: it comes back only
// when it can be seen, so that bars do not come and go all the time.
const GONE = 0.006;
const BACK = 0.02;
const FOLD_MS = 2000;

export class Faces {
  constructor(place, empty, more) {
    this.place = place;
    this.empty = empty;
    this.more = more;
    this.cards = new Map();
  }

  setUp({ labels, colours }) {
    this.labels = labels;
    this.colours = colours;
    this.show([], "");
  }

  show(faces, nothing) {
    const shown = faces.slice(0, MAX_CARDS);
    const tracks = new Set(shown.map((face) => face.track));
    for (const [track, card] of this.cards) {
      if (!tracks.has(track)) {
        card.root.remove();
        this.cards.delete(track);
      }
    }
    for (const face of shown) {
      if (!this.cards.has(face.track)) this.cards.set(face.track, this.makeCard(face.track));
      this.fillCard(this.cards.get(face.track), face, faces.length);
    }
    this.empty.hidden = shown.length > 0;
    setText(this.empty, nothing);
    this.more.hidden = faces.length === shown.length;
    setText(this.more, `+${faces.length - shown.length} more faces`);
  }

  makeCard(track) {
    const root = make("article", "card face");
    const head = make("div", "headline");
    const badge = make("span", "track", track);
    const title = make("h3");
    const number = make("span", "number");
    const fold = make("button", "fold");
    fold.type = "button";
    head.append(badge, title, number, fold);
    const detail = make("p", "detail");
    const list = make("ul", "bars");
    const bars = this.labels.map((label, place) => {
      const row = make("li");
      row.dataset.label = label;
      const bar = make("span", "bar");
      bar.ariaHidden = "true";
      const fill = make("div", "fill coloured");
      fill.style.setProperty("--colour", this.colours[place]);
      const mark = make("div", "mark");
      bar.append(fill, mark);
      const percent = make("span", "percent");
      row.append(make("span", "name", label), bar, percent);
      list.append(row);
      return { row, fill, mark, percent, seen: -Infinity };
    });
    const rest = make("p", "rest");
    root.append(head, detail, list, rest);
    this.place.insertBefore(root, this.more);
    const card = { root, badge, title, number, fold, detail, bars, rest, canvas: null, chosen: null };
    fold.addEventListener("click", () => {
      card.chosen = fold.ariaExpanded !== "true";
      foldCard(card, card.chosen, track);
    });
    return card;
  }

  fillCard(card, face, count) {
    const several = count > 1;
    card.root.ariaLabel = several ? `Face ${face.track}` : "The face";
    card.root.classList.toggle("several", several);
    card.root.classList.toggle("unsure", face.verdict === "unsure");
    card.badge.hidden = card.fold.hidden = !several;
    foldCard(card, !several || (card.chosen ?? count <= OPEN_UP_TO), face.track);
    setText(card.title, face.title);
    setText(card.number, face.number);
    setText(card.detail, face.detail);
    const [first, second = first] = face.named.length ? face.named : [face.top];
    const together = face.shares[first] + face.shares[second];
    card.root.style.setProperty("--first", this.colours[first]);
    card.root.style.setProperty("--second", this.colours[second]);
    card.root.style.setProperty("--part", first === second ? 1 : face.shares[first] / together);
    const now = performance.now();
    const zero = [];
    card.bars.forEach((bar, place) => {
      const { row, fill, mark, percent } = bar;
      const share = face.shares[place];
      if (share >= BACK || (share >= GONE && !row.hidden)) bar.seen = now;
      row.hidden = several && now - bar.seen > FOLD_MS;
      if (row.hidden) zero.push(this.labels[place]);
      row.classList.toggle("named", face.named.includes(place));
      row.classList.toggle("top", place === face.top);
      fill.style.setProperty("--share", share);
      setText(percent, face.percents[place]);
      const right = face.right[place];
      mark.hidden = right === null;
      mark.classList.toggle("quiet", place !== face.top);
      if (right !== null) mark.style.setProperty("--right-share", right);
    });
    card.rest.hidden = !zero.length;
    setText(card.rest, `about 0 %: ${zero.join(", ")}`);
    this.showCrop(card, face.crop);
  }

  showCrop(card, crop) {
    if (!crop) {
      card.canvas?.remove();
      card.canvas = null;
      return;
    }
    if (!card.canvas) {
      card.canvas = make("canvas");
      card.canvas.setAttribute("role", "img");
      card.canvas.ariaLabel = "The face as the network sees it";
      card.root.append(card.canvas);
    }
    const { size, channels } = crop;
    const planes = Uint8Array.from(atob(crop.pixels), (letter) => letter.charCodeAt(0));
    const image = new ImageData(size, size);
    for (let pixel = 0; pixel < size * size; pixel += 1) {
      for (let colour = 0; colour < 3; colour += 1) {
        const plane = channels === 1 ? 0 : colour;
        image.data[4 * pixel + colour] = planes[plane * size * size + pixel];
      }
      image.data[4 * pixel + 3] = 255;
    }
    card.canvas.width = card.canvas.height = size;
    card.canvas.getContext("2d").putImageData(image, 0, 0);
  }
}

function foldCard({ root, fold }, open, track) {
  root.classList.toggle("folded", !open);
  fold.ariaExpanded = open;
  fold.ariaLabel = `All bars of face ${track}`;
}

export function make(name, classes = "", words = "") {
  const element = document.createElement(name);
  if (classes) element.className = classes;
  element.textContent = words;
  return element;
}

export function setText(element, words) {
  if (element.textContent !== words) element.textContent = words;
}
