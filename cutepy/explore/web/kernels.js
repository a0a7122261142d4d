// Kernels: the text that Python printed, its proof and report, and a run on the visitor's GPU, held to the interpreter.
const kernels = {
  all: [],

  async start() {
    const packed = document.getElementById("kernels.json")?.textContent;
    if (!packed) return;
    const stream = new Blob([decoded(packed)]).stream().pipeThrough(new DecompressionStream("gzip"));
    this.all = await new Response(stream).json();
    for (const { name } of this.all) $("kernel").append(element("option", name));
    $("kernel").addEventListener("change", () => this.show());
    $("part").addEventListener("change", () => this.show());
    $("run").addEventListener("click", () => this.run());
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
    const expected = new Float32Array(decoded(kernel.result).buffer);
    try {
      const adapter = await navigator.gpu?.requestAdapter();
      if (!adapter) throw new Error("this browser offers no GPU");
      const got = await this.compute(await adapter.requestDevice(), kernel);
      const worst = got.reduce((most, value, place) => Math.max(most, Math.abs(value - expected[place]) / Math.max(1, Math.abs(expected[place]))), 0);
      const verdict = worst === 0 ? "equal to the interpreter's in every bit" : worst < 1e-5 ? `within ${worst.toExponential(1)} of the interpreter's` : `WRONG: ${worst} from the interpreter's`;
      $("ran").textContent = `Ran on ${adapter.info?.description || adapter.info?.architecture || adapter.info?.vendor || "the GPU"}: ${got.length} elements, ${verdict}.`;
    } catch (error) {
      const first = [...expected.slice(0, 4)].map((value) => value.toPrecision(5)).join(", ");
      $("ran").textContent = `Not run: ${error.message}. The interpreter's result begins ${first}.`;
    }
  },

  async compute(device, { wgsl, entry, grid, inputs, params, writes, written }) {
    device.pushErrorScope("validation");
    const { STORAGE, UNIFORM, COPY_DST, COPY_SRC, MAP_READ } = GPUBufferUsage;
    const upload = (text, usage) => {
      const data = decoded(text);
      const buffer = device.createBuffer({ size: Math.max(16, Math.ceil(data.length / 16) * 16), usage: usage | COPY_DST | COPY_SRC });
      device.queue.writeBuffer(buffer, 0, data);
      return buffer;
    };
    const group = (buffers, types) => {
      const layout = device.createBindGroupLayout({ entries: types.map((type, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } })) });
      return { layout, group: device.createBindGroup({ layout, entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })) }) };
    };
    const buffers = inputs.map((text) => upload(text, STORAGE));
    const groups = [group(buffers, writes.map((write) => (write ? "storage" : "read-only-storage")))];
    if (params) groups.push(group([upload(params, UNIFORM)], ["uniform"]));
    const layout = device.createPipelineLayout({ bindGroupLayouts: groups.map((each) => each.layout) });
    const module = device.createShaderModule({ code: wgsl });
    const pipeline = await device.createComputePipelineAsync({ layout, compute: { module, entryPoint: entry } });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    groups.forEach((each, place) => pass.setBindGroup(place, each.group));
    pass.dispatchWorkgroups(...grid);
    pass.end();
    const result = device.createBuffer({ size: buffers[written].size, usage: MAP_READ | COPY_DST });
    encoder.copyBufferToBuffer(buffers[written], 0, result, 0, result.size);
    device.queue.submit([encoder.finish()]);
    const wrong = await device.popErrorScope();
    if (wrong) throw wrong;
    await result.mapAsync(GPUMapMode.READ);
    return new Float32Array(result.getMappedRange().slice(0, decoded(inputs[written]).length));
  },
};

function decoded(text) {
  return Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
}
