// Pictures that answer: pointing at a cell or moving to it says its sum, choosing one follows it through all panels.
// One script serves all pictures of a page. A picture's data stand in `data-live` around its SVG; see cutepy/draw/live.py.
(() => {
  if (window.cutepyLive) return;
  window.cutepyLive = true;
  const STYLE = `.cutepy-live{position:sticky;left:0;bottom:0;display:flex;flex-wrap:wrap;gap:2px 14px;align-items:center;min-height:1.8em;width:max-content;max-width:100%;padding:2px 4px;box-sizing:border-box;font:13px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;background:Canvas;color:CanvasText}
.cutepy-live output{overflow-wrap:anywhere}.cutepy-live label{display:flex;gap:6px;align-items:center}.cutepy-live input{width:130px}
[data-live] svg:focus-visible{outline:2px solid Highlight;outline-offset:2px}[data-live] svg path:has(title){cursor:pointer}
@media print{.cutepy-live{display:none}}`;
  const leaves = (tree) => (Array.isArray(tree) ? tree.flatMap(leaves) : [tree]);
  const size = (tree) => leaves(tree).reduce((one, other) => one * other, 1);
  const show = (tree) => (Array.isArray(tree) ? `(${tree.map(show).join(",")})` : `${tree}`);

  // The coordinate of an index: the first mode runs fastest.
  function coordinate(index, shape) {
    if (!Array.isArray(shape)) return index;
    return shape.map((mode) => {
      const extent = size(mode);
      const entry = coordinate(index % extent, mode);
      index = Math.floor(index / extent);
      return entry;
    });
  }

  // `1·4 + 2·1 = 6`; with a swizzle its bits after it.
  function sum({ shape, stride, swizzle, offset }, index) {
    const pairs = leaves(coordinate(index, shape)).map((entry, leaf) => [entry, leaves(stride)[leaf]]);
    const total = pairs.reduce((all, [entry, step]) => all + entry * step, 0);
    let text = pairs.length && pairs.length <= 12 ? `${pairs.map((pair) => pair.join("·")).join(" + ")} = ${total}` : `${total}`;
    if (!swizzle) return text;
    const [bits, base, shift] = swizzle;
    const place = total + offset;
    if (offset) text += `, ${offset} + ${total} = ${place}`;
    const [from, to] = shift < 0 ? [base, base - shift] : [base + shift, base];
    const flips = ((place >> from) & ((1 << bits) - 1)) << to;
    const result = place ^ flips;
    const digits = Math.max(place.toString(2).length, flips.toString(2).length);
    const binary = (number) => number.toString(2).padStart(digits, "0");
    return `${text} → S<${swizzle}>: ${binary(place)} ^ ${binary(flips)} = ${binary(result)} = ${result}`;
  }

  class Picture {
    constructor(host) {
      this.svg = host.querySelector("svg");
      this.boxes = JSON.parse(host.dataset.live);
      this.groups = [...this.svg.children].filter((g) => g.firstElementChild?.getAttribute("transform")?.startsWith("scale"));
      this.paths = this.groups.map((g) => {
        const found = new Map();
        for (const path of g.firstElementChild.querySelectorAll("path")) found.set(this.at(path), path);
        return found;
      });
      this.cursor = null;
      this.svg.setAttribute("tabindex", "0");
      const bar = document.createElement("div");
      bar.className = "cutepy-live";
      bar.innerHTML = '<output aria-live="polite"></output><label hidden><span></span><input type="range" min="-1" value="-1"></label>';
      [this.said, this.slider] = [bar.querySelector("output"), bar.querySelector("input")];
      const threads = Math.max(0, ...this.boxes.map(({ threads }) => threads ?? 0));
      const kind = threads ? "thread" : "element";
      const count = threads || Math.max(0, ...this.boxes.map((box, grid) => Math.max(-1, ...[...this.paths[grid].keys()].flatMap((place) => this.links(grid, place))) + 1));
      this.slider.max = String(count - 1);
      this.slider.setAttribute("aria-label", `follow a ${kind}`);
      bar.querySelector("label").hidden = count < 2;
      this.follows = (number) => (bar.querySelector("span").textContent = number < 0 ? `follow a ${kind}` : `${kind} ${number}`);
      this.slider.addEventListener("input", () => this.follow(Number(this.slider.value)));
      this.follows(-1);
      this.svg.after(bar);
    }

    // The number of a cell in its grid, read off its path `M3 5h1...`: column 3, row 5.
    at(path) {
      const [, column, row] = /^M(\d+) (\d+)h/.exec(path.getAttribute("d"));
      const grid = this.groups.findIndex((g) => g.contains(path));
      return Number(row) * this.boxes[grid].columns + Number(column);
    }

    indices(grid, place, name = "indices") {
      const { columns, [name]: found } = this.boxes[grid];
      if (!found) return name === "links" ? this.indices(grid, place) : [];
      if (Array.isArray(found)) return [found[place]].flat().filter((index) => index >= 0);
      return [found.start + Math.floor(place / columns) * found.down + (place % columns) * found.right];
    }

    // What a cell has in common with others: its threads where threads are counted, else its elements.
    links(grid, place) {
      const { threads } = this.boxes[grid];
      return threads ? this.indices(grid, place).map((index) => index % threads) : this.indices(grid, place, "links");
    }

    text(grid, place) {
      const box = this.boxes[grid];
      const title = this.paths[grid].get(place)?.textContent ?? "";
      const [index] = this.indices(grid, place);
      if (box.texts) return box.texts[place];
      if (!box.shape || index === undefined) return title || box.gap || "";
      if (box.hint) return `${title} → ${sum(box, index)}`;
      const found = coordinate(index, box.shape);
      return `${show(Array.isArray(found) ? found : [found])} → index ${index} → ${sum(box, index)}`;
    }

    point(cursor) {
      this.cursor = cursor;
      this.said.textContent = cursor ? this.text(cursor.grid, cursor.place) : "";
      this.mark("cursor", cursor ? this.boxes.map((_box, grid) => (grid === cursor.grid ? [cursor.place] : [])) : [], 1.5);
    }

    choose({ grid, place }) {
      this.point({ grid, place });
      const [link] = this.links(grid, place);
      if (link !== undefined) this.follow(link);
    }

    // Frame every cell of a thread, or of an element, in every panel.
    follow(link) {
      this.slider.value = String(link);
      this.follows(link);
      this.mark("follow", link < 0 ? [] : this.paths.map((paths, grid) => [...paths.keys()].filter((place) => this.links(grid, place).includes(link))), 3);
    }

    mark(name, places, width) {
      this.svg.querySelectorAll(`path[data-mark=${name}]`).forEach((path) => path.remove());
      places.forEach((all, grid) => {
        if (!all.length) return;
        const cells = this.groups[grid].firstElementChild;
        const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
        path.setAttribute("d", all.map((place) => `${this.paths[grid].get(place).getAttribute("d")}z`).join(""));
        for (const [key, value] of Object.entries({ "data-mark": name, fill: "none", "stroke-width": width, class: "m", stroke: "#cf222e", "vector-effect": "non-scaling-stroke", "pointer-events": "none" })) path.setAttribute(key, value);
        cells.append(path);
      });
    }

    // A step through the cells; beyond an edge it goes on in the next panel.
    move(down, right) {
      if (!this.cursor) return this.point({ grid: 0, place: Math.min(...this.paths[0].keys()) });
      let { grid, place } = this.cursor;
      const { columns } = this.boxes[grid];
      const [row, column] = [Math.floor(place / columns) + down, (place % columns) + right];
      if (column >= 0 && column < columns && this.paths[grid].has(row * columns + column)) return this.point({ grid, place: row * columns + column });
      grid += right || down;
      if (this.paths[grid]) this.point({ grid, place: (right || down) > 0 ? Math.min(...this.paths[grid].keys()) : Math.max(...this.paths[grid].keys()) });
    }
  }

  const pictures = new WeakMap();
  function pictureOf(target) {
    const host = target instanceof Element && target.closest("[data-live]");
    if (!host || !host.querySelector("svg")) return null;
    if (!pictures.has(host)) pictures.set(host, new Picture(host));
    return pictures.get(host);
  }
  function cellOf(target) {
    const picture = pictureOf(target);
    const path = picture && target.closest("path");
    const grid = path ? picture.groups.findIndex((g) => g.firstElementChild.contains(path)) : -1;
    return grid < 0 || path.dataset.mark ? [picture, null] : [picture, { grid, place: picture.at(path) }];
  }
  document.addEventListener("pointerover", ({ target, pointerType }) => {
    const [picture, cell] = cellOf(target);
    if (picture && pointerType !== "touch" && (cell || document.activeElement !== picture.svg)) picture.point(cell);
  });
  document.addEventListener("click", ({ target }) => {
    const [picture, cell] = cellOf(target);
    if (cell) picture.choose(cell);
  });
  document.addEventListener("keydown", (event) => {
    const picture = event.target instanceof SVGSVGElement && pictureOf(event.target);
    if (!picture) return;
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (step) picture.move(...step);
    else if ((event.key === "Enter" || event.key === " ") && picture.cursor) picture.choose(picture.cursor);
    else if (event.key === "Escape") (picture.point(null), picture.follow(-1));
    else return;
    event.preventDefault();
  });
  function start() {
    document.head.append(Object.assign(document.createElement("style"), { textContent: STYLE }));
    document.querySelectorAll("[data-live]").forEach(pictureOf);
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
