// Questions to Python. Of the questions of one kind that wait, only the newest is asked, and none whose answer is kept:
// a question holds all that its answer depends on.
const KEPT = { answers: 500, length: 20_000 };

const python = {
  waiting: new Map(),
  kept: new Map(),
  asking: null,
  ready: false,
  onstatus: () => {},
  onrest: () => {},

  start() {
    this.stop();
    this.onstatus("Python is starting");
    const source = document.getElementById("worker").textContent;
    this.worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    this.worker.onmessage = ({ data }) => this.hear(data);
    this.worker.onerror = (event) => this.hear({ broken: event.message ?? "a worker cannot be started here" });
    this.sent = 0;
    this.send();
  },

  // The packed files that the page has so far: Python starts while the rest is on the line. What another follows is whole.
  send() {
    const parts = document.querySelectorAll("[data-file]");
    const whole = parts.length - (document.readyState === "loading");
    for (; this.sent < whole; this.sent++) {
      const { textContent: text, dataset: { file } } = parts[this.sent];
      this.worker.postMessage({ file, text, last: parts[this.sent + 1]?.dataset.file !== file });
    }
  },

  stop() {
    this.worker?.terminate();
    this.ready = false;
    this.asking = null;
  },

  hear(data) {
    if (data.broken !== undefined) return this.onstatus(`Python could not be started: ${data.broken}`, true);
    if (data.ready) {
      this.ready = true;
      performance.mark("python-ready");
    } else {
      const asked = this.asking;
      this.asking = null;
      clearTimeout(this.patience);
      for (const [number, { answered, text }] of asked.entries()) {
        const answer = JSON.parse(data.answers[number]);
        if (answer.bug) this.bug = answer.error;
        else this.keep(text, data.answers[number]);
        answered(answer);
      }
    }
    this.onstatus(this.bug ? `Internal error, please report it: ${this.bug}` : "", Boolean(this.bug));
    this.next();
    if (!this.asking) this.onrest();
  },

  // The answer to a question; undefined if a newer one of its kind came before it was asked.
  ask(kind, question) {
    if (kind === "look") this.bug = "";
    this.waiting.get(kind)?.answered(undefined);
    const answer = new Promise((answered) => this.waiting.set(kind, { question, answered }));
    this.next();
    return answer;
  },

  // The newest look, else the oldest other; what is asked by hand goes all together. Before Python is ready, all that is kept.
  next() {
    if (this.asking || !this.waiting.size) return;
    const first = this.waiting.has("look") ? "look" : this.waiting.keys().next().value;
    const kinds = [...this.waiting.keys()].filter((kind) => !this.ready || kind === first || (typeof kind === "symbol" && typeof first === "symbol"));
    const asked = [];
    for (const kind of kinds) {
      const { question, answered } = this.waiting.get(kind);
      const text = JSON.stringify(question);
      const known = this.kept.get(text);
      if (known === undefined && !this.ready) continue;
      this.waiting.delete(kind);
      if (known === undefined) asked.push({ text, answered });
      else answered(JSON.parse(known));
    }
    if (!asked.length) return this.ready ? this.next() : undefined;
    this.asking = asked;
    this.patience = setTimeout(() => this.onstatus("Working…", false, true), 700);
    this.worker.postMessage({ questions: asked.map(({ text }) => text) });
  },

  // The newest answers that are not long: the same cell or thread is asked about again and again.
  keep(text, answer) {
    if (answer.length > KEPT.length) return;
    this.kept.set(text, answer);
    if (this.kept.size > KEPT.answers) this.kept.delete(this.kept.keys().next().value);
  },
};

new MutationObserver(() => python.worker && python.send()).observe(document.body, { childList: true });
addEventListener("DOMContentLoaded", () => python.worker && python.send());
globalThis.cutepy = (question) => python.ask(Symbol("asked by hand"), question);
