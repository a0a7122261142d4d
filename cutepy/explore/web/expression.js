// The expression box: an error's place under the text, and the operations that may follow what is typed.
const expression = {
  names: {},
  offered: [],
  chosen: 0,
  oninput: () => {},

  start(names) {
    this.names = names;
    const box = $("expression");
    box.addEventListener("input", () => (this.grow(), this.offer(), this.oninput(box.value)));
    document.addEventListener("selectionchange", () => this.number());
    $("amount").addEventListener("input", () => this.slide(Number($("amount").value)));
    this.grow();
    box.addEventListener("blur", () => this.close());
    $("fixes").addEventListener("click", ({ target }) => {
      if (!target.dataset.fix) return;
      this.put(target.dataset.fix);
      this.oninput(box.value);
      box.focus();
    });
    box.addEventListener("scroll", () => this.point(this.column));
    box.addEventListener("keydown", (event) => this.key(event));
    $("completions").addEventListener("pointerdown", (event) => {
      const item = event.target.closest("li");
      event.preventDefault();
      if (item) this.take(this.offered[Number(item.dataset.place)]);
    });
  },

  complain({ error = "", column, fixes = [], refusal = "" }) {
    $("complaint").textContent = error;
    $("fixes").replaceChildren(...fixes.map((fix) => element("button", fix, { "aria-label": `Write ${fix}`, "data-fix": fix })));
    const drawn = element("div", "", { role: "img", "aria-label": "the counter-example" });
    if (refusal) drawn.attachShadow({ mode: "open" }).innerHTML = refusal;
    $("refusal").replaceChildren(...(refusal ? [drawn] : []));
    $("expression").setAttribute("aria-invalid", String(Boolean(error)));
    this.point(error ? column : undefined);
  },

  // A wave under the character where reading stopped.
  point(column) {
    this.column = column;
    const [box, caret] = [$("expression"), $("caret")];
    caret.hidden = column === undefined;
    if (column === undefined) return;
    const before = box.value.slice(0, column).split("\n");
    caret.style.left = `calc(var(--pad) + ${Array.from(before.at(-1)).length}ch - ${box.scrollLeft}px)`;
    caret.style.top = `calc(var(--pad) + ${before.length * 1.4}em - 2px)`;
  },

  // The box is as tall as its lines.
  grow() {
    const box = $("expression");
    box.rows = Math.min(12, box.value.split("\n").length);
  },

  put(text) {
    $("expression").value = text;
    this.grow();
    this.number();
    this.close(); // completions are offered for what is typed
  },

  // A slider for the number at the cursor; it stays on its number while it is moved.
  number() {
    const box = $("expression");
    if (document.activeElement === $("amount")) return;
    const at = document.activeElement === box ? box.selectionStart : -1;
    const found = at < 0 ? undefined : [...box.value.matchAll(/(?<![\w.])\d{1,9}(?!\w)/g)].find(({ index, 0: digits }) => index <= at && at <= index + digits.length);
    if (!found && at < 0 && this.slid) return;
    this.slid = found && { start: found.index, length: found[0].length };
    $("number").hidden = !found;
    if (!found) return;
    $("amount").max = String(Math.max(16, 2 * Number(found[0])));
    $("amount").value = $("amount-is").textContent = found[0];
    $("amount").setAttribute("aria-label", `the number ${found[0]} at character ${found.index + 1}`);
  },

  slide(value) {
    const box = $("expression");
    if (!this.slid) return;
    const { start, length } = this.slid;
    box.value = `${box.value.slice(0, start)}${value}${box.value.slice(start + length)}`;
    this.slid = { start, length: String(value).length };
    $("amount-is").textContent = String(value);
    this.oninput(box.value);
  },

  word() {
    const box = $("expression");
    const before = box.value.slice(0, box.selectionStart);
    return /(?<![\w)])[A-Za-z_]\w*$/.exec(before)?.[0] ?? "";
  },

  offer() {
    const word = this.word().toLowerCase();
    const all = Object.keys(this.names);
    const first = word ? all.filter((name) => name.startsWith(word)) : [];
    const more = word.length > 1 ? all.filter((name) => !name.startsWith(word) && name.includes(word)) : [];
    this.offered = [...first, ...more];
    this.chosen = 0;
    this.list();
  },

  list() {
    const [box, list] = [$("expression"), $("completions")];
    list.hidden = !this.offered.length;
    list.replaceChildren(
      ...this.offered.map((name, place) => {
        const item = document.createElement("li");
        const [call, law] = this.names[name];
        item.append(element("code", call), element("small", law));
        item.id = `completion-${place}`;
        item.setAttribute("role", "option");
        item.setAttribute("aria-selected", String(place === this.chosen));
        item.dataset.place = place;
        return item;
      }),
    );
    if (list.hidden) return box.removeAttribute("aria-activedescendant");
    box.setAttribute("aria-activedescendant", `completion-${this.chosen}`);
    list.children[this.chosen].scrollIntoView({ block: "nearest" });
  },

  key(event) {
    if (!this.offered.length) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.chosen = (this.chosen + step + this.offered.length) % this.offered.length;
    if (step) this.list();
    else if (event.key === "Enter" || event.key === "Tab") this.take(this.offered[this.chosen]);
    else if (event.key === "Escape") this.close();
    else return;
    event.preventDefault();
  },

  take(name) {
    const box = $("expression");
    const [end, word] = [box.selectionStart, this.word()];
    const called = box.value[end] === "(";
    box.setRangeText(name + (called ? "" : "("), end - word.length, end, "end");
    this.close();
    this.oninput(box.value);
  },

  close() {
    this.offered = [];
    this.list();
  },
};

function element(name, text = "", attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
