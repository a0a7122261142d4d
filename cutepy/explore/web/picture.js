// The picture: an SVG as Python prints it, or, if it is large, the cells that are seen on a canvas; a cursor and marks.
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const MARGIN = 60;

const picture = {
  drawn: null,
  scale: 1,
  cursor: null,
  marked: [],
  oncell: () => {},
  onchoose: () => {},

  show(drawn) {
    this.drawn = drawn;
    const large = Boolean(drawn?.cells);
    $("canvas").hidden = !large;
    $("figure").hidden = large;
    $("figure").shadowRoot.innerHTML = drawn?.svg ? `<style>svg{display:block;width:100%;height:auto}</style>${drawn.svg}` : "";
    $("stage").setAttribute("aria-label", drawn?.description ?? "No picture");
    $("stage").classList.toggle("large", large);
    this.size();
  },

  size() {
    const { width, height } = this.drawn ?? { width: 0, height: 0 };
    $("sheet").style.width = `${width * this.scale}px`;
    $("sheet").style.height = `${height * this.scale}px`;
    $("marks").setAttribute("viewBox", `0 0 ${width} ${height}`);
    $("scale").textContent = `${Math.round(this.scale * 100)} %`;
    this.mark();
  },

  zoom(factor) {
    const stage = $("stage");
    const [x, y] = [stage.scrollLeft / this.scale, stage.scrollTop / this.scale];
    this.scale = Math.min(3, Math.max(0.25, this.scale * factor));
    this.size();
    stage.scrollTo(x * this.scale, y * this.scale);
  },

  // The cell under a point of the window, as {grid, place}.
  at(event) {
    const box = $("sheet").getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / this.scale, (event.clientY - box.top) / this.scale];
    for (const [grid, g] of (this.drawn?.grids ?? []).entries()) {
      const [column, row] = [Math.floor((x - g.x) / g.wide), Math.floor((y - g.y) / g.high)];
      if (column >= 0 && row >= 0 && column < g.columns && row < g.rows) return { grid, place: this.whole(g, row * g.columns + column) };
    }
    return null;
  },

  // The place where the cell begins that covers a place.
  whole(g, place) {
    for (let start = place - (place % g.columns); start < place; start++) if (start + (g.spans[start] ?? 0) > place) return start;
    return place;
  },

  box({ grid, place }) {
    const g = this.drawn.grids[grid];
    const [row, column] = [Math.floor(place / g.columns), place % g.columns];
    return [g.x + column * g.wide, g.y + row * g.high, g.wide * (g.spans[place] ?? 1), g.high];
  },

  // The cursor goes (rows, columns) further, over the edge into the next grid.
  move(down, right) {
    const grids = this.drawn?.grids ?? [];
    if (!grids.length) return;
    if (!this.cursor) return this.put({ grid: 0, place: 0 }, true);
    let { grid, place } = this.cursor;
    const g = grids[grid];
    let [row, column] = [Math.floor(place / g.columns) + down, (place % g.columns) + (right > 0 ? right - 1 + (g.spans[place] ?? 1) : right)];
    if (column >= g.columns && right === 1 && grid + 1 < grids.length) [grid, column] = [grid + 1, 0];
    else if (column < 0 && right === -1 && grid > 0) [grid, column] = [grid - 1, grids[grid - 1].columns - 1];
    const to = grids[grid];
    [row, column] = [Math.min(Math.max(row, 0), to.rows - 1), Math.min(Math.max(column, 0), to.columns - 1)];
    this.put({ grid, place: this.whole(to, row * to.columns + column) }, true);
  },

  put(cursor, reveal) {
    if (cursor?.grid === this.cursor?.grid && cursor?.place === this.cursor?.place) return;
    this.cursor = cursor;
    this.mark();
    if (cursor && reveal) {
      const [x, y, wide, high] = this.box(cursor).map((n) => n * this.scale);
      const stage = $("stage");
      const into = (start, size, from, room) => (start - MARGIN < from ? start - MARGIN : start + size + MARGIN > from + room ? start + size + MARGIN - room : from);
      stage.scrollTo(into(x, wide, stage.scrollLeft, stage.clientWidth), into(y, high, stage.scrollTop, stage.clientHeight));
    }
    this.oncell(cursor);
  },

  mark() {
    if (!this.drawn) return $("marks").replaceChildren();
    const all = this.marked.flatMap((places, grid) => places.map((place) => [this.box({ grid, place }), "owned"]));
    if (this.cursor) all.push([this.box(this.cursor), "cursor"]);
    this.framed = all;
    if (this.drawn.cells) return this.paint();
    $("marks").replaceChildren(
      ...all.map(([[x, y, width, height], kind]) => {
        const frame = document.createElementNS(SVG, "rect");
        for (const [name, value] of Object.entries({ x: x + 1.5, y: y + 1.5, width: width - 3, height: height - 3, class: kind, rx: 3 })) frame.setAttribute(name, value);
        return frame;
      }),
    );
  },

  paint() {
    cancelAnimationFrame(this.painting);
    this.painting = requestAnimationFrame(() => paintCells(this));
  },
};

// Draw what of a large picture is seen. The canvas is as large as the stage and stays in its corner.
function paintCells({ drawn, scale, framed }) {
  const [stage, canvas] = [$("stage"), $("canvas")];
  $("marks").replaceChildren();
  const ratio = devicePixelRatio || 1;
  const [wide, high] = [stage.clientWidth, stage.clientHeight];
  if (canvas.width !== Math.round(wide * ratio) || canvas.height !== Math.round(high * ratio)) {
    [canvas.width, canvas.height] = [Math.round(wide * ratio), Math.round(high * ratio)];
    [canvas.style.width, canvas.style.height] = [`${wide}px`, `${high}px`];
  }
  const page = getComputedStyle(document.documentElement);
  const color = (name) => page.getPropertyValue(name).trim();
  const pen = canvas.getContext("2d", { alpha: false });
  const seen = { left: stage.scrollLeft / scale, top: stage.scrollTop / scale };
  [seen.right, seen.bottom] = [seen.left + wide / scale, seen.top + high / scale];
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.fillStyle = color("--card");
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.setTransform(scale * ratio, 0, 0, scale * ratio, -seen.left * scale * ratio, -seen.top * scale * ratio);
  const say = (text, x, y, font, fill, align) => {
    [pen.font, pen.fillStyle, pen.textAlign] = [`${font}px ${color("--mono")}`, color(fill), align];
    pen.fillText(text, x, y);
  };
  const paints = drawn.paints.map(([light, dark]) => (page.colorScheme === "dark" ? dark : light));
  paintTexts(say, 0, 0, drawn.texts, seen);
  for (const [x, y, width, height, paint] of drawn.samples) {
    pen.fillStyle = paints[paint];
    pen.fillRect(x, y, width, height);
  }
  drawn.grids.forEach((grid, number) => paintGrid(pen, grid, drawn.cells[number], { seen, paints, color, say, scale }));
  for (const [[x, y, width, height], kind] of framed ?? []) {
    [pen.strokeStyle, pen.lineWidth] = [color(kind === "cursor" ? "--accent" : "--mark"), 3];
    pen.strokeRect(x + 1.5, y + 1.5, width - 3, height - 3);
  }
}

function paintGrid(pen, grid, cells, { seen, paints, color, say, scale }) {
  const { x, y, wide, high, rows, columns } = grid;
  const [left, top] = [Math.max(0, Math.floor((seen.left - x) / wide)), Math.max(0, Math.floor((seen.top - y) / high))];
  const right = Math.min(columns, Math.ceil((seen.right - x) / wide));
  const bottom = Math.min(rows, Math.ceil((seen.bottom - y) / high));
  const middle = y + high / 2 + 4.5;
  for (let row = top; row < bottom; row++)
    for (let column = left; column < right; column++) {
      pen.fillStyle = paints[cells.paints[row * columns + column]];
      pen.fillRect(x + column * wide, y + row * high, wide + 0.5, high + 0.5);
    }
  if (scale >= 0.5)
    for (let row = top; row < bottom; row++)
      for (let column = left; column < right; column++) {
        const lines = cells.labels[row * columns + column].split("\n");
        lines.forEach((text, k) => say(text, x + (column + 0.5) * wide, middle + row * high + (k - (lines.length - 1) / 2) * 16, 13, "--label", "center"));
      }
  pen.beginPath();
  for (let row = Math.max(top, 1); row < bottom; row++) line(pen, x + left * wide, y + row * high, x + right * wide, y + row * high);
  for (let column = Math.max(left, 1); column < right; column++) line(pen, x + column * wide, y + top * high, x + column * wide, y + bottom * high);
  [pen.strokeStyle, pen.lineWidth] = [color("--line"), 0.6];
  pen.stroke();
  const widths = { hole: [0.7], rule: [0.6, 1.2, 2, 3], frame: [1.2], group: [2], mark: [3] };
  for (const [kind, weight, x0, y0, x1, y1] of cells.strokes) {
    if (kind === "rule" && !weight) continue;
    [pen.lineWidth, pen.strokeStyle] = [widths[kind][weight] ?? 1, color({ mark: "--mark", hole: "--line" }[kind] ?? "--strong")];
    pen.beginPath();
    if (kind === "frame") pen.rect(x, y, columns * wide, rows * high);
    else line(pen, x + x0 * wide, y + y0 * high, x + x1 * wide, y + y1 * high);
    pen.stroke();
  }
  paintTexts(say, x, y, cells.texts, seen);
}

// Texts where Python placed them: heads stand on their middles, those at the side end there, others begin there.
function paintTexts(say, x, y, all, seen) {
  const looks = { head: [11, "--soft", "center"], side: [11, "--soft", "right"], caption: [13, "--ink", "left"], title: [14, "--ink", "left"], note: [11, "--soft", "left"] };
  for (const [kind, left, top, texts] of all)
    for (const [step, text] of texts) {
      const [toX, toY] = kind === "side" ? [x + left, y + top + step] : [x + left + step, y + top];
      if (toX > seen.left - 900 && toX < seen.right + 80 && toY > seen.top - 40 && toY < seen.bottom + 40) say(text, toX, toY, ...looks[kind]);
    }
}

function line(pen, x, y, toX, toY) {
  pen.moveTo(x, y);
  pen.lineTo(toX, toY);
}
