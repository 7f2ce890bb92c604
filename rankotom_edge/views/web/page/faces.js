// A card per face: the headline, a bar per emotion, the reliability marks.

const MAX_CARDS = 12; // the picture shows the others of a crowd

export class Faces {
  constructor(place, empty) {
    this.place = place;
    this.empty = empty;
    this.cards = new Map();
  }

  setUp({ labels, colours }) {
    this.labels = labels;
    this.colours = colours;
    this.clear();
  }

  clear() {
    for (const card of this.cards.values()) card.root.remove();
    this.cards.clear();
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
      this.fillCard(this.cards.get(face.track), face, faces.length > 1);
    }
    this.empty.hidden = shown.length > 0;
    setText(this.empty, nothing);
  }

  makeCard(track) {
    const root = make("article", "card face");
    const head = make("div", "headline");
    const badge = make("span", "track");
    badge.textContent = track;
    const title = make("h3");
    const number = make("span", "number");
    head.append(badge, title, number);
    const detail = make("p", "detail");
    const list = make("ul", "bars");
    const bars = this.labels.map((label, place) => {
      const row = make("li");
      row.dataset.label = label;
      const name = make("span");
      name.textContent = label;
      const bar = make("span", "bar");
      bar.ariaHidden = "true";
      const fill = make("div", "fill");
      fill.style.setProperty("--colour", this.colours[place]);
      const mark = make("div", "mark");
      bar.append(fill, mark);
      const percent = make("span", "percent");
      row.append(name, bar, percent);
      list.append(row);
      return { row, fill, mark, percent };
    });
    root.append(head, detail, list);
    this.place.append(root);
    return { root, badge, title, number, detail, bars, canvas: null };
  }

  fillCard(card, face, several) {
    card.root.ariaLabel = several ? `Face ${face.track}` : "The face";
    card.root.classList.toggle("unsure", face.verdict === "unsure");
    card.badge.hidden = !several;
    setText(card.title, face.title);
    setText(card.number, face.number);
    setText(card.detail, face.detail);
    const [first, second = first] = face.named.length ? face.named : [face.top];
    const together = face.shares[first] + face.shares[second];
    card.root.style.setProperty("--first", this.colours[first]);
    card.root.style.setProperty("--second", this.colours[second]);
    card.root.style.setProperty("--part", first === second ? 1 : face.shares[first] / together);
    card.bars.forEach(({ row, fill, mark, percent }, place) => {
      row.classList.toggle("named", face.named.includes(place));
      fill.style.setProperty("--share", face.shares[place]);
      setText(percent, face.percents[place]);
      const right = face.right[place];
      mark.hidden = right === null;
      mark.classList.toggle("quiet", place !== face.top);
      if (right !== null) mark.style.setProperty("--right-share", right);
    });
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

export function make(name, classes = "") {
  const element = document.createElement(name);
  if (classes) element.className = classes;
  return element;
}

export function setText(element, words) {
  if (element.textContent !== words) element.textContent = words;
}
