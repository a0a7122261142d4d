// Questions to Python. Of the questions of one kind that wait, only the newest is asked.
const python = {
  waiting: new Map(),
  asking: null,
  ready: false,
  onstatus: () => {},

  start() {
    this.stop();
    this.onstatus("Python is starting");
    const files = {};
    for (const file of document.querySelectorAll('script[type="application/octet-stream"]')) files[file.id] = file.textContent;
    const source = document.getElementById("worker").textContent;
    this.worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    this.worker.onmessage = ({ data }) => this.hear(data);
    this.worker.onerror = (event) => this.hear({ broken: event.message ?? "a worker cannot be started here" });
    this.worker.postMessage({ files });
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
      const { answered } = this.asking;
      const answer = JSON.parse(data.answer);
      this.asking = null;
      clearTimeout(this.patience);
      if (answer.bug) this.bug = answer.error;
      answered(answer);
    }
    this.onstatus(this.bug ? `Internal error, please report it: ${this.bug}` : "", Boolean(this.bug));
    this.next();
  },

  // The answer to a question; undefined if a newer one of its kind came before it was asked.
  ask(kind, question) {
    if (kind === "look") this.bug = "";
    this.waiting.get(kind)?.answered(undefined);
    const answer = new Promise((answered) => this.waiting.set(kind, { question, answered }));
    this.next();
    return answer;
  },

  next() {
    if (!this.ready || this.asking || !this.waiting.size) return;
    const kind = this.waiting.has("look") ? "look" : this.waiting.keys().next().value;
    const asked = this.waiting.get(kind);
    this.waiting.delete(kind);
    this.asking = asked;
    this.patience = setTimeout(() => this.onstatus("Working…", false, true), 700);
    this.worker.postMessage({ question: JSON.stringify(asked.question) });
  },
};

globalThis.cutepy = (question) => python.ask(Symbol("asked by hand"), question);
