// What stands beside the picture: the cell, the thread, banks and segments, the steps of explain, exports.
const EXPORTS = [["fence", "docs fence", "md"], ["svg", "SVG", "svg"], ["png", "PNG", "png"], ["tikz", "TikZ", "tex"], ["text", "text", "txt"], ["cute", "CuTe", "txt"], ["cpp", "CuTe C++", "cpp"], ["pycute", "pycute", "py"], ["python", "cutepy", "py"], ["latex", "LaTeX", "tex"], ["embed", "embedding", "html"]];

const panels = {
  state: null,
  looked: null,
  steps: null,

  start(state, onchange) {
    this.state = state;
    this.onchange = onchange;
    for (const [format, name] of EXPORTS) $("format").append(element("option", name, { value: format }));
    $("thread").addEventListener("input", () => this.slide("thread"));
    $("value").addEventListener("input", () => this.slide("value"));
    for (const [id, name] of [["lanes", "lanes"], ["element", "element_bytes"], ["access", "access_bytes"]])
      $(id).addEventListener("change", () => {
        state.access[name] = Number($(id).value);
        if (state.access.access_bytes < state.access.element_bytes) state.access.access_bytes = state.access.element_bytes;
        if (name === "lanes") [state.thread, state.value] = [null, null];
        onchange();
      });
    $("better").addEventListener("click", () => this.better());
    $("back").addEventListener("click", () => this.turn(-1));
    $("forward").addEventListener("click", () => this.turn(1));
    $("format").addEventListener("change", () => this.export());
    $("copy").addEventListener("click", async () => copied($("copy"), (await this.exported()) ?? ""));
    $("save").addEventListener("click", () => this.save());
  },

  // What the page shows: every question is about it. An answer about a former expression, view or option is dropped.
  async ask(question, kind = question.ask) {
    const { looked } = this;
    const answer = await python.ask(kind, question);
    return looked === this.looked ? answer : undefined;
  },

  shown() {
    return this.looked?.asked;
  },

  // A new answer of `look` stands: everything that depends on it is asked for again.
  refresh(looked) {
    const { state } = this;
    this.looked = looked;
    const { modes, threads, values, view } = looked;
    const along = modes.length > 1 && view !== "tv" ? state.access.lanes : 0;
    const [first, second] = along ? [modes[along], (threads * values) / modes[along]] : [threads, values];
    for (const [id, count] of [["thread", first], ["value", second]]) $(id).max = String(count - 1);
    if (state.thread >= first) state.thread = null;
    if (state.value >= second) state.value = null;
    $("lanes").value = String(state.access.lanes);
    $("lanes").disabled = looked.view === "tv" || looked.rank < 2;
    $("element").value = String(state.access.element_bytes);
    $("access").value = String(state.access.access_bytes);
    $("threads-are").textContent = looked.view === "tv" ? "The first mode counts threads, the others values." : "The layout as a map of (thread, value) to elements.";
    this.chosen();
    this.thread();
    this.memory();
    this.explain();
    this.export();
  },

  // The sum of the cell under the cursor, below the picture.
  async point(cell) {
    if (!cell) return this.say("");
    const answer = await this.ask({ ask: "cell", ...this.shown(), ...cell, access: this.state.access });
    if (answer && picture.cursor) this.say(answer.error ?? answer.say, answer.error);
  },

  say(text, wrong = false) {
    $("say").classList.toggle("no", Boolean(wrong));
    $("say").textContent = text;
  },

  // The card of the cell that was chosen, which is part of the page's state; its thread is chosen with it.
  async choose(cell) {
    this.state.cell = cell;
    const answer = await this.chosen();
    if (answer?.thread !== undefined) {
      [this.state.thread, this.state.value] = [answer.thread, null];
      this.thread();
    }
    this.onchange(true);
  },

  async chosen() {
    const { cell, access } = this.state;
    const grid = cell && this.looked.grids?.[cell.grid];
    if (!grid || cell.place >= grid.rows * grid.columns) {
      this.state.cell = null;
      $("cell").replaceChildren(element("p", "Click a cell, or press Enter on one.", { class: "hint" }));
      return undefined;
    }
    const answer = await this.ask({ ask: "cell", ...this.shown(), ...cell, access }, "chosen");
    if (!answer || cell !== this.state.cell) return undefined;
    const said = element("p", answer.error ?? answer.say, { class: answer.error ? "sum no" : "sum" });
    $("cell").replaceChildren(said, ...(answer.rows ? [pairs(answer.rows)] : []));
    return answer;
  },

  slide(name) {
    const value = Number($(name).value);
    this.state[name] = value < 0 ? null : value;
    if (name === "value" && this.state.thread === null) this.state.thread = 0;
    this.thread();
    this.onchange(true);
  },

  async thread() {
    const { thread, value, access } = this.state;
    $("thread").value = String(thread ?? 0);
    $("value").value = String(value ?? -1);
    $("thread-is").textContent = thread === null ? "none" : String(thread);
    $("value-is").textContent = value === null ? "all" : String(value);
    const answer = thread === null ? { rows: [], places: [], verdicts: [] } : await this.ask({ ask: "thread", ...this.shown(), thread, value, access });
    if (!answer || thread !== this.state.thread || value !== this.state.value) return;
    picture.marked = answer.places ?? [];
    picture.mark();
    $("touched").hidden = !answer.rows?.length;
    $("touched").replaceChildren(...(answer.rows?.length ? [table(["value", "coordinate", "offset", "address", "bank"], answer.rows)] : []));
    $("verdicts").replaceChildren(...(answer.error ? [answer.error] : answer.verdicts).map((line) => element("li", line, { class: line.includes("not one") ? "no" : "yes" })));
  },

  async memory() {
    $("found").replaceChildren();
    const answer = await this.ask({ ask: "memory", text: this.shown().text, access: this.state.access });
    if (answer) $("memory").replaceChildren(...(answer.rows ?? [["accesses", answer.error]]).flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
  },

  async better() {
    $("found").replaceChildren(element("p", "Looking…", { class: "hint" }));
    const answer = await this.ask({ ask: "found", text: this.shown().text, access: this.state.access });
    if (!answer) return;
    if (answer.error) return $("found").replaceChildren(element("p", answer.error));
    $("found").replaceChildren(
      ...answer.found.map(([kind, text, why]) => {
        const line = element("p", `${kind}: `);
        const use = element("button", kind === "nothing" ? "" : "Use", { "aria-label": `Use ${text}` });
        use.addEventListener("click", () => this.go(text));
        line.append(element("code", text), element("small", why), ...(kind === "nothing" ? [] : [use]));
        return line;
      }),
    );
  },

  async explain() {
    const { called } = this.looked;
    const { text } = this.shown();
    $("explaining").hidden = !called;
    if (!called) [this.steps, $("told").textContent, $("step").textContent] = [null, "", ""];
    if (!called || this.steps?.text === text) return;
    const answer = await this.ask({ ask: "told", text });
    if (!answer) return;
    if (answer.error) return void ((this.steps = null), $("told").replaceChildren(element("p", answer.error, { class: "no" })));
    const last = answer.refused ? [`refused: ${answer.refused}`, ""] : [`= ${answer.result}`, answer.result];
    this.steps = { text, at: 0, all: [[answer.call, ""], ...answer.steps, last] };
    this.turn(0);
  },

  async turn(by) {
    const { steps } = this;
    steps.at = Math.min(Math.max(steps.at + by, 0), steps.all.length - 1);
    $("back").disabled = steps.at === 0;
    $("forward").disabled = steps.at === steps.all.length - 1;
    $("step").textContent = `${steps.at} of ${steps.all.length - 1}`;
    const [line, layout] = steps.all[steps.at];
    $("told").replaceChildren(element("p", line));
    if (!layout) return;
    const drawn = await this.ask({ ask: "look", text: layout, view: "grid" }, "step");
    if (!drawn?.svg || this.steps !== steps || steps.all[steps.at][1] !== layout) return;
    const host = element("div", "", { class: "scroll", tabindex: "0", role: "img", "aria-label": drawn.description });
    host.attachShadow({ mode: "open" }).innerHTML = drawn.svg;
    $("told").append(host);
  },

  async export() {
    const format = $("format").value;
    $("copy").disabled = format === "png";
    $("exported").hidden = format === "png";
    const text = format === "png" ? "" : await this.exported();
    if (text !== undefined && format === $("format").value) $("exported").value = text;
  },

  async exported(format = $("format").value) {
    if (format === "embed") return `<iframe src="${element("i", location.href).innerHTML.replaceAll('"', "&quot;")}" title="cutepy explorer" style="width:100%;height:760px;border:0"></iframe>`;
    const answer = await this.ask({ ask: "export", ...this.shown(), format });
    return answer && (answer.text ?? answer.error);
  },

  async save() {
    const format = $("format").value;
    const suffix = EXPORTS.find(([known]) => known === format)[2];
    const text = await this.exported(format === "png" ? "svg" : format);
    if (text === undefined) return;
    const blob = format === "png" ? await png(text) : new Blob([text], { type: "text/plain" });
    const link = element("a", "", { href: URL.createObjectURL(blob), download: `layout.${suffix}` });
    link.click();
  },
};

async function png(svg) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width * 2, image.height * 2];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

async function copied(button, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.body.appendChild(element("textarea", text));
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const before = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = before), 1200);
}

function pairs(rows) {
  const list = document.createElement("dl");
  list.append(...rows.flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
  return list;
}

function table(heads, rows) {
  const made = document.createElement("table");
  const line = (cells, kind) => {
    const row = document.createElement("tr");
    row.append(...cells.map((cell) => element(kind, cell)));
    return row;
  };
  made.append(line(heads, "th"), ...rows.map((row) => line(row, "td")));
  return made;
}
