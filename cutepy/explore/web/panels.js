// What stands beside the picture: the cell, the thread, banks and segments, the steps of explain, exports.
const EXPORTS = [["fence", "docs fence", "md"], ["svg", "SVG", "svg"], ["png", "PNG", "png"], ["tikz", "TikZ", "tex"], ["text", "text", "txt"], ["cute", "CuTe", "txt"], ["cpp", "CuTe C++", "cpp"], ["pycute", "pycute", "py"], ["python", "cutepy", "py"], ["latex", "LaTeX", "tex"]];

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
    $("copy").addEventListener("click", async () => copied($("copy"), await this.exported()));
    $("save").addEventListener("click", () => this.save());
  },

  asked() {
    const { text, view } = this.looked ?? this.state;
    return { text, view, options: this.state.options[view] ?? {} };
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
    this.thread();
    this.memory();
    this.explain();
    this.export();
  },

  async cell(cell, chosen) {
    if (!cell) return ($("say").textContent = "");
    const answer = await python.ask("cell", { ask: "cell", ...this.asked(), ...cell, access: this.state.access });
    if (!answer || answer.error || !picture.cursor) return;
    $("say").textContent = answer.say;
    if (!chosen) return;
    $("cell").replaceChildren(element("p", answer.say, { class: "sum" }), ...(answer.rows ? [pairs(answer.rows)] : []));
    if (answer.thread !== undefined) {
      [this.state.thread, this.state.value] = [answer.thread, null];
      this.thread();
      this.onchange(true);
    }
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
    const answer = thread === null ? { rows: [], places: [], verdicts: [] } : await python.ask("thread", { ask: "thread", ...this.asked(), thread, value, access });
    if (!answer) return;
    picture.marked = answer.places ?? [];
    picture.mark();
    $("touched").hidden = !answer.rows?.length;
    $("touched").replaceChildren(...(answer.rows?.length ? [table(["value", "coordinate", "offset", "address", "bank"], answer.rows)] : []));
    $("verdicts").replaceChildren(...(answer.error ? [answer.error] : answer.verdicts).map((line) => element("li", line, { class: line.includes("not one") ? "no" : "yes" })));
  },

  async memory() {
    $("found").replaceChildren();
    const answer = await python.ask("memory", { ask: "memory", text: this.looked.text, access: this.state.access });
    if (answer) $("memory").replaceChildren(...(answer.rows ?? [["accesses", answer.error]]).flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
  },

  async better() {
    $("found").replaceChildren(element("p", "Looking…", { class: "hint" }));
    const answer = await python.ask("found", { ask: "found", text: this.asked().text, access: this.state.access });
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
    const { text, called } = this.looked;
    const calls = Boolean(called);
    $("explaining").hidden = !calls;
    if (!calls || this.steps?.text === text) return;
    const answer = await python.ask("told", { ask: "told", text });
    if (!answer) return;
    $("explaining").hidden = Boolean(answer.error);
    if (answer.error) return;
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
    const drawn = await python.ask("step", { ask: "look", text: layout, view: "grid" });
    if (!drawn?.svg || steps.all[steps.at][1] !== layout) return;
    const host = element("div", "", { class: "scroll", tabindex: "0", role: "img", "aria-label": drawn.description });
    host.attachShadow({ mode: "open" }).innerHTML = drawn.svg;
    $("told").append(host);
  },

  async export() {
    const format = $("format").value;
    $("copy").disabled = format === "png";
    $("exported").hidden = format === "png";
    if (format !== "png") $("exported").value = await this.exported();
  },

  async exported(format = $("format").value) {
    const answer = await python.ask("export", { ask: "export", ...this.asked(), format });
    return answer ? (answer.text ?? answer.error) : $("exported").value;
  },

  async save() {
    const format = $("format").value;
    const suffix = EXPORTS.find(([known]) => known === format)[2];
    const text = await this.exported(format === "png" ? "svg" : format);
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
