// The page: what is asked for, kept in its address; views as tabs; everything wired together.
const EXAMPLES = {
  "One layout": ["(8,8):(8,1)", "((2,2),(4,2)):((1,8),(2,16))", "(2,4,3):(4,1,8)", "((4,2),8):((1,16),4)"],
  "Operations": ["zipped_divide((8,8):(8,1), (4,4))", "composition((6,2):(8,2), (4,3):(3,1))", "coalesce((2,(1,6)):(1,(6,2)))", "complement((2,2):(1,4), 16)", "blocked_product((2,5):(5,1), (3,4):(1,3))", "raked_product((2,5):(5,1), (3,4):(1,3))", "right_inverse((4,8):(8,1))"],
  "Threads and values": ["((4,8),(2,2)):((32,1),(16,8))|tv|over=(16,8)", "((8,4),(4,1)):((4,128),(1,1))|tv|over=(32,16)"],
  "Banks and swizzles": ["(32,32):(32,1)|banks", "S<5,0,5> o 0 o (32,32):(32,1)|banks", "S<3,0,3> o 0 o (8,8):(8,1)|swizzle", "(8,64):(64,1)|banks|element_bytes=2"],
  "Named lines": ["A = (8,8):(8,1)\nB = S<3,0,3> o 0 o A|compare", "tv = ((4,8),(2,2)):((32,1),(16,8))\nA = (16,8):(8,1)\ncomposition(A, tv)", "A = (4,8):(8,1)\nB = (4,8):(1,4)|compare"],
  "Questions": ["conflict_free((32,32), [(32,32):(1,32), (32,32):(32,1)])", "bank_conflicts((32,32):(128,1))", "widest_copy((128,64), (128,64), 256)", "convert((4,2):(2,1), (4,2):(1,4))"],
  "Large": ["(64,64):(64,1)", "((16,32),(32,16)):((1,512),(16,16384))"],
};
const TITLES = { steps: "Steps", grid: "Offsets", tv: "Threads", tiles: "Tiles", memory: "Memory", banks: "Banks", swizzle: "Swizzle", tree: "Tree", compare: "Side by side" };
const FIELDS = { tiles: [["tiler", "tile"], ["tile", "show tile"], ["threads", "its threads"]], tv: [["over", "over the tile"]], memory: [["width", "offsets a row"]], banks: [["element_bytes", "bytes an element"], ["banks", "banks"]], grid: [["highlight", "frame"]] };
const HINTS = { tiler: "(4,4)", tile: "none", threads: "none", over: "(16,8)", width: "16", element_bytes: "4", banks: "32", highlight: "(1,_)", palette: "#e41a1c #37b" };
const OWN = ["e", "view", "thread", "value", "cell", "bytes", "access", "lanes", "puzzle"]; // of the address; options of these names have o. before them
const THEMES = { auto: ["◐", "as the system"], light: ["☀", "light"], dark: ["☾", "dark"] };

const page = {
  state: { text: "", view: "", options: {}, puzzle: null, thread: null, value: null, cell: null, access: {} },
  dark: matchMedia("(prefers-color-scheme: dark)"),
  chosen: "auto",
  past: [],

  theme() {
    return this.chosen === "auto" ? (this.dark.matches ? "dark" : "light") : this.chosen;
  },

  read(first, address = location.hash) {
    const { state } = this;
    clearTimeout(this.writing);
    this.writing = 0;
    const given = new URLSearchParams(address.slice(1));
    const number = (name, other) => (/^\d{1,6}$/.test(given.get(name) ?? "") ? Number(given.get(name)) : other);
    const [, grid, place] = /^(\d{1,6})\.(\d{1,6})$/.exec(given.get("cell") ?? "") ?? [];
    Object.assign(state, { text: first.text, view: first.view, options: first.view ? { [first.view]: first.options } : {} });
    Object.assign(state, { thread: number("thread", null), value: number("value", null), cell: grid ? { grid: Number(grid), place: Number(place) } : null });
    state.puzzle = number("puzzle", null);
    if (given.has("e")) {
      Object.assign(state, { text: given.get("e"), view: given.get("view") ?? "" });
      const named = [...given].filter(([name]) => !OWN.includes(name)).map(([name, value]) => [name.replace(/^o\./, ""), value]);
      state.options = state.view ? { [state.view]: Object.fromEntries(named) } : {};
    }
    state.access = { element_bytes: number("bytes", 4), access_bytes: number("access", number("bytes", 4)), lanes: number("lanes", 0) ? 1 : 0 };
  },

  write() {
    clearTimeout(this.writing);
    this.writing = setTimeout(() => this.address(), 400); // a step of Back is what was done between two rests
  },

  address() {
    const { text, view, options, thread, value, cell, access } = this.state;
    clearTimeout(this.writing);
    this.writing = 0;
    const given = new URLSearchParams({ e: text });
    if (view) given.set("view", view);
    for (const [name, option] of Object.entries(options[view] ?? {})) if (option) given.set(OWN.includes(name) ? `o.${name}` : name, option);
    if (thread !== null) given.set("thread", thread);
    if (value !== null) given.set("value", value);
    if (cell) given.set("cell", `${cell.grid}.${cell.place}`);
    if (access.element_bytes !== 4) given.set("bytes", access.element_bytes);
    if (access.access_bytes !== access.element_bytes) given.set("access", access.access_bytes);
    if (access.lanes) given.set("lanes", "1");
    if (this.state.puzzle !== null) given.set("puzzle", this.state.puzzle);
    const address = `#${given}`;
    if (address === this.at) return;
    if (this.at !== undefined) this.past.push(this.at);
    this.at = address;
    $("undo").disabled = !this.past.length;
    if (address !== location.hash && location.protocol !== "about:") history.pushState(null, "", address);
  },

  // The page as it was before the last action; a browser's own Back goes no further than 50 steps.
  undo() {
    if (this.writing) this.address();
    const before = this.past.pop();
    if (before === undefined) return;
    if (location.protocol !== "about:") history.pushState(null, "", before || "#");
    this.back(before);
  },

  back(address) {
    this.at = address;
    $("undo").disabled = !this.past.length;
    this.read(this.first, address);
    expression.put(this.state.text);
    this.look(true);
  },

  async look(quiet) {
    const { state } = this;
    const { text, view } = state;
    const question = { text, view, options: { ...state.options[view] } };
    const asked = JSON.stringify(question);
    if (!quiet && asked !== this.asked) state.cell = null; // a cell is one of the picture that it was chosen in
    this.asked = asked;
    if (!quiet) this.write();
    this.puzzle(text);
    const looked = await python.ask("look", { ask: "look", ...question });
    if (!looked) return;
    expression.complain(looked);
    document.body.classList.toggle("old", Boolean(looked.error));
    $("last").textContent = looked.error && panels.looked ? `Below: ${panels.looked.asked.text}, the last text that could be read.` : "";
    const options = view && looked.view !== view ? {} : question.options; // a view that gives way takes its options along
    if (!looked.error) this.show({ ...looked, asked: { text, view: looked.view, options } }, asked === this.asked);
    performance.mark("pictured", { detail: looked.text ?? text });
  },

  // The puzzle that the address names: its task, and what the text that stands there is of an answer.
  async puzzle(text) {
    const number = this.state.puzzle;
    $("puzzle").hidden = number === null;
    if (number === null) return;
    const judged = await python.ask("puzzle", { ask: "puzzle", number, text });
    if (!judged || number !== this.state.puzzle) return;
    $("of-puzzle").textContent = judged.error ? "Puzzles" : `Puzzle ${number} of ${judged.count}: ${judged.title}`;
    $("task").textContent = judged.task ?? "";
    $("verdict").textContent = judged.error ?? (judged.solved ? "Right!" : `Not yet: ${judged.hint}`);
    $("verdict").className = judged.solved ? "yes" : "no";
    $("next").hidden = !judged.solved || !judged.next;
    this.following = judged.next;
  },

  show(looked, newest) {
    const { state } = this;
    $("result").textContent = looked.value;
    const named = (looked.lines ?? []).map(([name, text, value]) => [name || "", text === value ? value : `${text} = ${value}`]);
    $("lines").hidden = !named.length;
    $("lines").replaceChildren(...named.flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
    $("facts").replaceChildren(...looked.facts.map((fact) => element("span", fact)));
    if (newest && state.view && looked.view !== state.view) state.view = ""; // the view gave way
    this.tabs(looked);
    if (looked.views.length && newest) this.fields(looked);
    panels.say(looked.refused ?? "", looked.refused);
    [picture.marked, picture.cursor] = [[], null];
    picture.show(looked.grids ? looked : null);
    $("shown").hidden = $("aside").hidden = !looked.views.length;
    clearTimeout(this.details);
    panels.looked = looked;
    this.details = looked.views.length ? setTimeout(() => this.refresh(looked), 100) : 0; // what is typed next comes first
  },

  refresh(looked) {
    this.details = 0;
    panels.refresh(looked);
  },

  // Everything that was asked for stands in the page: no question waits or is being answered, and no details are due.
  idle() {
    return !python.asking && !python.waiting.size && !this.details;
  },

  tabs({ views, view }) {
    const before = this.tabbed;
    this.tabbed = `${views} ${view}`;
    if (this.tabbed === before) return;
    if (views.join() !== [...$("views").children].map((tab) => tab.dataset.view).join())
      $("views").replaceChildren(...views.map((name) => element("button", TITLES[name], { role: "tab", id: `view-${name}`, "data-view": name, "aria-controls": "shown" })));
    for (const tab of $("views").children) {
      tab.setAttribute("aria-selected", String(tab.dataset.view === view));
      tab.tabIndex = tab.dataset.view === view ? 0 : -1;
      if (tab.tabIndex === 0) $("views").scrollLeft = tab.offsetLeft - 60;
    }
  },

  choose(view) {
    this.state.view = view;
    this.look();
  },

  // The fields show the options that the picture was asked for with; what is typed into one is the next question.
  fields({ view, offers, options, asked: { options: given } }) {
    if (view !== this.fielded) this.newFields(view, offers);
    this.fielded = view;
    for (const field of $("options").querySelectorAll("[name]")) {
      const value = given[field.name] ?? (field.tagName === "SELECT" ? field.options[0].value : "");
      if (field.value !== value) field.value = value;
      if (field.tagName === "INPUT") field.placeholder = options?.[field.name] ?? HINTS[field.name];
    }
  },

  newFields(view, [colors, labels]) {
    const fields = [...(FIELDS[view] ?? []), ["palette", "colours"]].map(([name, title]) => {
      return [title, element("input", "", { name, size: 7, spellcheck: "false", autocomplete: "off" })];
    });
    for (const [name, all] of [["color", colors], ["label", labels]]) {
      if (!all.length) continue;
      const select = element("select", "", { name });
      select.append(...all.map((one) => element("option", one)));
      fields.push([name, select]);
    }
    $("options").replaceChildren(
      ...fields.map(([title, input]) => {
        const label = element("label", title);
        label.append(input);
        return label;
      }),
    );
  },

  option({ target }) {
    const { view, options } = panels.looked.asked;
    this.state.view = view;
    const given = (this.state.options[view] = { ...options });
    const usual = target.tagName === "SELECT" && target.selectedIndex === 0;
    if (usual || !target.value.trim()) delete given[target.name];
    else given[target.name] = target.value;
    this.look();
  },

  go(text, view = "", options = {}, puzzle = null) {
    Object.assign(this.state, { text, puzzle, view, options: view ? { [view]: options } : {}, thread: null, value: null, cell: null });
    expression.put(text);
    this.look();
  },

  paint() {
    const [sign, name] = THEMES[this.chosen];
    document.documentElement.dataset.theme = this.theme();
    $("theme").textContent = sign;
    $("theme").setAttribute("aria-label", `Theme: ${name}`);
    $("theme").title = `Theme: ${name}`;
    picture.mark();
  },
};

function wire(first) {
  page.read(first);
  $("expression").value = page.state.text;
  if (!$("figure").shadowRoot) $("figure").attachShadow({ mode: "open" }); // a browser that knows no declarative one
  if (page.state.text !== first.text) [$("figure").shadowRoot, $("result")].forEach((shown) => shown.replaceChildren());
  page.paint();
  $("theme").addEventListener("click", () => {
    const all = Object.keys(THEMES);
    page.chosen = all[(all.indexOf(page.chosen) + 1) % all.length];
    page.paint();
  });
  page.dark.addEventListener("change", () => page.paint());
  python.onstatus = (text, broken, stoppable) => {
    $("status").textContent = text;
    $("status").classList.toggle("no", Boolean(broken));
    $("stop").hidden = !stoppable;
  };
  $("stop").addEventListener("click", () => python.start());
  $("share").addEventListener("click", () => (page.address(), copied($("share"), location.href)));
  for (const [group, all] of Object.entries(EXAMPLES)) {
    const options = element("optgroup", "", { label: group });
    options.append(...all.map((example) => element("option", example.split("|")[0].replaceAll("\n", "; "), { value: example })));
    $("examples").append(options);
  }
  $("examples").addEventListener("change", ({ target }) => {
    const [text, view, option] = target.value.split("|");
    if (text) page.go(text, view, Object.fromEntries(option ? [option.split("=")] : []));
    target.value = "";
  });
  expression.start(first.names);
  expression.oninput = (text) => ((page.state.text = text), page.look());
  panels.start(page.state, (marks) => (marks ? page.write() : page.look()));
  panels.go = (text) => page.go(text);
  [page.first, page.at] = [first, location.hash];
  $("undo").addEventListener("click", () => page.undo());
  $("next").addEventListener("click", () => page.go(page.following, "", {}, page.state.puzzle + 1));
  // popstate comes with the change of the address; before a hashchange, which is queued, `write` could go over the address.
  addEventListener("popstate", () => {
    if (location.hash === page.past.at(-1)) page.past.pop();
    else if (location.hash !== page.at) page.past.push(page.at);
    page.back(location.hash);
  });
  wireViews();
  wirePicture();
  for (const [question, answer] of Object.entries(first.kept)) python.kept.set(question, answer);
  page.look(true);
  addEventListener("load", () => kernels.start());
  requestAnimationFrame(() => setTimeout(() => python.start(), 0));
}

function wireViews() {
  $("views").addEventListener("click", ({ target }) => target.dataset.view && page.choose(target.dataset.view));
  $("views").addEventListener("keydown", (event) => {
    const tabs = [...$("views").children];
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const to = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    to.focus();
    page.choose(to.dataset.view);
    event.preventDefault();
  });
  $("options").addEventListener("input", (event) => page.option(event));
  $("options").addEventListener("submit", (event) => event.preventDefault());
}

function wirePicture() {
  const stage = $("stage");
  picture.oncell = (cell) => panels.point(cell);
  const choose = (cell) => (picture.put(cell), panels.choose(cell));
  stage.addEventListener("pointermove", (event) => event.pointerType !== "touch" && picture.put(picture.at(event)));
  stage.addEventListener("pointerleave", () => document.activeElement === stage || picture.put(null));
  stage.addEventListener("click", (event) => {
    const cell = picture.at(event);
    if (cell) choose(cell);
  });
  stage.addEventListener("scroll", () => picture.drawn?.cells && picture.paint());
  new ResizeObserver(() => picture.drawn?.cells && picture.paint()).observe(stage);
  stage.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-16, 0], PageDown: [16, 0], Home: [0, -1e9], End: [0, 1e9] };
    if (steps[event.key]) picture.move(...steps[event.key]);
    else if ((event.key === "Enter" || event.key === " ") && picture.cursor) choose(picture.cursor);
    else if (event.key === "Escape") {
      [page.state.thread, page.state.value, page.state.cell] = [null, null, null];
      picture.put(null);
      panels.chosen();
      panels.thread();
      page.write();
    } else return;
    event.preventDefault();
  });
  $("smaller").addEventListener("click", () => picture.zoom(1 / 1.25));
  $("larger").addEventListener("click", () => picture.zoom(1.25));
}

cutepy.idle = () => page.idle();
cutepy.onrest = (call) => (python.onrest = call);
wire(JSON.parse($("state").textContent));
