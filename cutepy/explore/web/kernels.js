// Kernels: the text that Python printed, its proof and report, and a run on the visitor's GPU, held to the interpreter.
const kernels = {
  all: [],

  async start() {
    const packed = [...document.querySelectorAll('[data-file="kernels.json"]')].map((part) => part.textContent).join("");
    if (!packed) return;
    const stream = new Blob([decoded(packed)]).stream().pipeThrough(new DecompressionStream("gzip"));
    this.all = await new Response(stream).json();
    for (const { name } of this.all) $("kernel").append(element("option", name));
    $("kernel").addEventListener("change", () => this.show());
    $("part").addEventListener("change", () => this.show());
    $("run").addEventListener("click", () => this.run());
    $("save-kernel").addEventListener("click", () => this.save());
    $("kernels").hidden = false;
    this.show();
  },

  chosen() {
    return this.all.find(({ name }) => name === $("kernel").value);
  },

  show() {
    const kernel = this.chosen();
    $("about-kernel").textContent = `${kernel.about} Here ${kernel.sizes}.`;
    $("kernel-text").textContent = kernel[$("part").value];
    $("ran").textContent = "";
  },

  async run() {
    const kernel = this.chosen();
    $("ran").textContent = "Running…";
    const floats = (bytes) => (bytes.at ? new Float32Array(decoded(bytes).buffer) : new Float32Array(bytes / 4));
    const [[name, expected]] = Object.entries(kernel.wanted).map(([name, bytes]) => [name, floats(bytes)]);
    const url = URL.createObjectURL(new Blob([kernel.module], { type: "text/javascript" }));
    try {
      const { load, open } = await import(url), device = await open();
      const given = Object.fromEntries(Object.entries(kernel.given).map(([name, bytes]) => [name, floats(bytes)]));
      await (await load(device))(given, kernel.numbers);
      const got = given[name], on = device.adapterInfo;
      const worst = got.reduce((most, value, place) => Math.max(most, Math.abs(value - expected[place]) / Math.max(1, Math.abs(expected[place]))), 0);
      const verdict = worst === 0 ? "equal to the interpreter's in every bit" : worst < 1e-5 ? `within ${worst.toExponential(1)} of the interpreter's` : `WRONG: ${worst} from the interpreter's`;
      $("ran").textContent = `Ran on ${on?.description || on?.architecture || on?.vendor || "the GPU"}: ${got.length} elements, ${verdict}.`;
    } catch (error) {
      const first = [...expected.slice(0, 4)].map((value) => value.toPrecision(5)).join(", ");
      $("ran").textContent = `Not run: ${error.message}. The interpreter's result begins ${first}.`;
    } finally {
      URL.revokeObjectURL(url);
    }
  },

  save() {
    const { name, module } = this.chosen(), url = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
    element("a", "", { href: url, download: `${name}.js` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  },
};

function decoded(text) {
  return Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
}
