// Pictures that answer: pointing at a cell or moving to it says its sum, choosing one follows it through all panels.
// One script serves all pictures of a page. A picture's data stand in `data-live` around its SVG; see cutepy/draw/live.py.
(() => {
  if (window.cutepyLive) return;
  window.cutepyLive = true;
  const STYLE = `.cutepy-live{position:sticky;left:0;bottom:0;display:grid;gap:2px;width:max-content;max-width:100%;padding:2px 4px;box-sizing:border-box;font:13px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;background:Canvas;color:CanvasText}
.cutepy-live output{min-height:1.5em;line-height:1.5;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}.cutepy-live label{display:flex;gap:6px;align-items:center}.cutepy-live input{width:130px}
.cutepy-tip{position:fixed;z-index:9;width:max-content;max-width:min(34em,calc(100vw - 16px));margin:0;padding:3px 7px;border-radius:4px;font:13px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;text-align:left;white-space:pre-line;overflow-wrap:anywhere;pointer-events:none;background:CanvasText;color:Canvas}.cutepy-tip[hidden]{display:none}
[data-live] svg:focus{outline:none}[data-live] svg:focus-visible{outline:2px solid Highlight;outline-offset:-2px}[data-live] [data-cells] path{cursor:pointer}
@media print{.cutepy-live,.cutepy-tip{display:none}}`;
  const [MARGIN, GAP] = [12, 28];
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

  const say = (kind) => `${/^[aeiou]/.test(kind) ? "an" : "a"} ${kind}`;

  // The sum beside the pointer, the finger or the cursor: above its cell, below where there is no room.
  let [bubble, under] = [null, null];
  function tip(text, path) {
    const at = text && path ? path : null;
    if (at === under && (!at || bubble.textContent === text)) return;
    under = at;
    if (bubble) bubble.hidden = !at;
    if (!at) return;
    if (!bubble) {
      bubble = Object.assign(document.createElement("div"), { className: "cutepy-tip" });
      bubble.setAttribute("aria-hidden", "true");
      document.body.append(bubble);
    }
    bubble.textContent = text;
    place();
  }
  function place() {
    if (!under) return;
    const [cell, box] = [under.getBoundingClientRect(), bubble.getBoundingClientRect()];
    const left = Math.min(cell.left, document.documentElement.clientWidth - box.width - 8);
    bubble.style.left = `${Math.max(8, left)}px`;
    bubble.style.top = `${cell.top - box.height - 6 < 0 ? cell.bottom + 6 : cell.top - box.height - 6}px`;
  }

  // The panels of a picture that is wider than its place, in as many rows as they need, the result first.
  class Flow {
    constructor(host, svg, groups, boxes) {
      [this.host, this.svg, this.groups] = [host, svg, groups];
      const results = groups.filter((_g, grid) => boxes[grid].result);
      this.order = [...results, ...groups.filter((g) => !results.includes(g))];
      this.others = [...svg.children].filter((it) => (it.localName === "path" && !it.classList.contains("bg")) || (it.localName === "g" && !groups.includes(it)));
      this.paper = svg.querySelector(":scope > .bg");
      this.first = null;
    }

    // Where everything stands in the picture as it was printed.
    measured() {
      const at = (it) => /translate\(([-\d.]+) ([-\d.]+)\)/.exec(it.getAttribute("transform") ?? "")?.slice(1).map(Number) ?? [0, 0];
      return {
        size: ["width", "height"].map((name) => Number(this.svg.getAttribute(name))),
        groups: new Map(this.groups.map((g) => [g, { at: at(g), box: g.getBBox() }])),
        others: this.others.map((it) => ({ it, at: at(it), box: it.getBBox(), html: it.innerHTML })),
      };
    }

    fit() {
      const wide = this.host.clientWidth;
      if (!wide || this.svg.style.width) return;
      this.first ??= this.measured();
      const narrow = wide < this.first.size[0];
      if (narrow ? wide === this.fitted : !this.fitted) return;
      this.fitted = narrow ? wide : 0;
      if (narrow) this.place(wide);
      else this.restore();
    }

    restore() {
      const { size, groups, others } = this.first;
      for (const [g, { at }] of groups) g.setAttribute("transform", `translate(${at.join(" ")})`);
      for (const { it, at, html } of others) (it.setAttribute("transform", `translate(${at.join(" ")})`), (it.innerHTML = html));
      this.resize(...size);
    }

    resize(width, height) {
      for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) this.svg.setAttribute(name, value);
      this.paper?.setAttribute("d", `M0 0h${width}v${height}H0z`);
    }

    place(wide) {
      this.restore();
      const { groups, others } = this.first;
      const top = Math.min(...[...groups.values()].map(({ at, box }) => at[1] + box.y));
      const above = others.filter(({ at, box }) => at[1] + box.y < top);
      let [y, end] = [MARGIN, 0];
      for (const { it, at, box } of above) y = this.wrap(it, at[0], y - box.y, wide) + 8;
      for (const row of this.rows(wide)) {
        const over = Math.max(...row.map((g) => -groups.get(g).box.y));
        let x = MARGIN;
        for (const g of row) {
          const { box } = groups.get(g);
          g.setAttribute("transform", `translate(${x - box.x} ${y + over})`);
          x += box.width + GAP;
        }
        end = Math.max(end, x - GAP + MARGIN);
        y += over + Math.max(...row.map((g) => groups.get(g).box.y + groups.get(g).box.height)) + GAP;
      }
      y = this.below(others.filter((one) => !above.includes(one)), y - GAP + 12, wide);
      this.resize(Math.max(end, wide), y + MARGIN);
    }

    rows(wide) {
      const rows = [];
      let taken = Infinity;
      for (const g of this.order) {
        const { width } = this.first.groups.get(g).box;
        if (taken + width > wide - MARGIN) [taken, rows[rows.length]] = [MARGIN, []];
        rows.at(-1).push(g);
        taken += width + GAP;
      }
      return rows;
    }

    // The legend, sample by sample with its text, then the notes.
    below(others, y, wide) {
      let [x, high] = [MARGIN, 0];
      const samples = others.filter(({ it }) => it.localName === "path");
      const left = (key) => key.at[0] + key.box.x + key.box.width / 2;
      for (const sample of samples) {
        const { box } = sample;
        const own = [sample, ...others.filter((key) => key.it.classList.contains("k") && Math.abs(left(key) - box.x - box.width / 2) < 2 && Math.abs(key.at[1] - box.y - 12) < 2)];
        if (x + box.width > wide - MARGIN) [x, y] = [MARGIN, y + box.height + 6];
        for (const { it, at } of own) it.setAttribute("transform", `translate(${at[0] + x - box.x} ${at[1] + y - box.y})`);
        [x, high] = [x + box.width, box.height + 10];
      }
      y += high;
      for (const { it, at, box } of others) if (it.localName === "g" && !it.classList.contains("k")) y = this.wrap(it, at[0], y - box.y, wide) + 4;
      return y;
    }

    // A line of text in as many lines as it needs; gives where it ends.
    wrap(it, x, y, wide) {
      it.setAttribute("transform", `translate(${x} ${y})`);
      const text = it.firstElementChild;
      const font = parseFloat(getComputedStyle(text).fontSize);
      const most = Math.max(12, Math.floor((wide - x - MARGIN) / (font * 0.61)));
      if (text.textContent.length <= most) return y + font / 2;
      const lines = [""];
      for (const word of text.textContent.split(/(?<=[ ,])/)) {
        if (lines.at(-1).length + word.trimEnd().length > most && lines.at(-1)) lines.push("");
        lines[lines.length - 1] += word;
      }
      text.replaceChildren(
        ...lines.map((line, number) => {
          const span = document.createElementNS("http://www.w3.org/2000/svg", "tspan");
          for (const [key, value] of Object.entries({ x: text.getAttribute("x"), dy: number ? font * 1.25 : 0 })) span.setAttribute(key, value);
          span.textContent = line.trimEnd();
          return span;
        }),
      );
      return y + font / 2 + (lines.length - 1) * font * 1.25;
    }
  }

  class Picture {
    constructor(host) {
      this.svg = host.querySelector("svg");
      this.boxes = JSON.parse(host.dataset.live);
      this.groups = [...this.svg.children].filter((g) => g.firstElementChild?.getAttribute("transform")?.startsWith("scale"));
      this.titles = new Map(); // what the browser would show after a while; the tip shows more at once
      this.paths = this.groups.map((g) => {
        const found = new Map();
        g.firstElementChild.dataset.cells = "";
        for (const path of g.firstElementChild.querySelectorAll("path")) {
          found.set(this.at(path), path);
          const title = path.querySelector("title");
          if (title) this.titles.set(path, title.textContent);
          title?.remove();
        }
        return found;
      });
      this.cursor = null;
      this.svg.setAttribute("tabindex", "0");
      const bar = document.createElement("div");
      bar.className = "cutepy-live";
      bar.innerHTML = '<output aria-live="polite"></output><label hidden><span></span><input type="range" min="-1" value="-1"></label>';
      [this.said, this.slider] = [bar.querySelector("output"), bar.querySelector("input")];
      const threads = Math.max(0, ...this.boxes.map(({ threads }) => threads ?? 0));
      const linked = this.boxes.some(({ links }) => links);
      const kind = threads ? "thread" : !linked ? "index" : this.boxes.some((box) => box.links && !box.indices) ? "copy" : "index of the result";
      this.linked = this.paths.map((paths, grid) => {
        const found = new Map();
        for (const place of paths.keys()) for (const link of this.links(grid, place)) found.set(link, found.get(link) ?? []).get(link).push(place);
        return found;
      });
      const count = threads || this.linked.reduce((most, found) => Math.max(most, ...found.keys()), -1) + 1;
      this.slider.max = String(count - 1);
      this.slider.setAttribute("aria-label", `follow ${say(kind)}`);
      bar.querySelector("label").hidden = count < 2;
      this.follows = (number) => (bar.querySelector("span").textContent = number < 0 ? `follow ${say(kind)}` : `${kind} ${number}`);
      this.slider.addEventListener("input", () => this.follow(Number(this.slider.value)));
      this.follows(-1);
      this.svg.after(bar);
      this.flow = new Flow(host, this.svg, this.groups, this.boxes);
      new ResizeObserver(() => this.flow.fit()).observe(host);
      this.flow.fit();
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
      const title = this.titles.get(this.paths[grid].get(place)) ?? "";
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
      tip(this.said.textContent, cursor && this.paths[cursor.grid].get(cursor.place));
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
      this.mark("follow", link < 0 ? [] : this.linked.map((found) => found.get(link) ?? []), 3);
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
    return grid < 0 || path.dataset.mark !== undefined ? [picture, null] : [picture, { grid, place: picture.at(path) }];
  }
  document.addEventListener("pointerover", ({ target, pointerType }) => {
    const [picture, cell] = cellOf(target);
    if (picture && pointerType !== "touch" && (cell || document.activeElement !== picture.svg)) picture.point(cell);
  });
  document.addEventListener("click", ({ target }) => {
    const [picture, cell] = cellOf(target);
    if (cell) picture.choose(cell);
    else tip("");
  });
  document.addEventListener("scroll", place, { capture: true, passive: true });
  document.addEventListener("focusout", () => tip(""));
  document.addEventListener("pointerout", ({ relatedTarget }) => cellOf(relatedTarget)[1] || tip(""));
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
