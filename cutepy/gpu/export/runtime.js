// What launches the functions of this module. `functions` and `texts` stand before it, as lists, whose order
// cutepy/gpu/export/es_module.py says. Sizes and other whole numbers are BigInts in formulas, so all arithmetic is exact.
// The usages of buffers, by WebGPU's numbers: 140 is STORAGE|COPY_SRC|COPY_DST, 9 MAP_READ|COPY_DST, 72 UNIFORM|COPY_DST.
const ARRAYS = [Float32Array, Int32Array, Uint32Array]; // that hold a number of the types f, i, u
const up = (n) => Math.ceil(Number(n) / 16 || 1) * 16;

// The function of that name on a device, the first unless it is named: an async function of buffers by name, numbers by
// name, and perhaps an encoder.
export async function load(device, own = functions[0][0]) {
  const check = (holds, why) => { if (!holds) throw Error(own + ": " + why); };
  const f = functions.find((f) => f[0] == own);
  check(f, "this module has " + functions.map((f) => f[0]));
  const [, memories, numbers, variants] = f;
  const lacks = ([needs, lanes]) => [
    ...needs.filter((need) => !device.features.has(need)),
    ...(lanes > (device.adapterInfo?.subgroupMinSize ?? 0) ? ["subgroups of " + lanes] : []),
  ];
  const way = variants.find((v) => !lacks(v)[0]);
  check(way, "the device lacks " + lacks(variants.at(-1)));
  const [, , limits, facts, all] = way, compiled = [];
  const atMost = (n, limit, what) => check(n <= device.limits[limit], `${what} ${n}, ${limit} is ${device.limits[limit]}`);
  for (const limit in limits) atMost(limits[limit], limit, "it needs");
  let lost;
  device.lost.then((info) => (lost = info.reason));
  for (const [text, entryPoint] of all)
    compiled[text] ??= device.createComputePipelineAsync({
      layout: "auto", compute: { module: device.createShaderModule({ code: texts[text] }), entryPoint },
    });
  const pipelines = await Promise.all(compiled);

  return async (given, values = {}, encoder) => {
    // Every check comes before the first write.
    check(!lost, "the device was lost: " + lost);
    const s = {};
    for (const [name, type, least, most, otherwise] of numbers) {
      const v = values[name] ?? (otherwise && Number(otherwise(s))), whole = most != null;
      check(typeof v == "number" && (!whole || (v % 1 == 0 && least <= v && v <= most)),
        `${name} is ${v}, it takes ${type}` + (whole ? ` from ${least} to ${most}` : ""));
      s[name] = whole ? BigInt(v) : s[name] ?? v;
    }
    for (const [holds, fact] of facts) check(holds(s), fact.replace(/{(.+?)}/g, (_, name) => s[name]));
    const sizes = memories.map(([name, bytes, written, temporary], i) => {
      const x = given[name], array = ArrayBuffer.isView(x), n = array ? x.byteLength : x?.size;
      const size = up(bytes(s)), least = array ? bytes(s) : size;
      atMost(size, "maxStorageBufferBindingSize", name + " takes");
      if (!temporary) {
        check(n >= least, `${name} has ${n} bytes, it needs ${least}`);
        check(!array || !encoder, name + " is an array; an encoder takes GPUBuffers");
        for (const [other, , too] of memories.slice(0, i)) check(given[other] != x || !(too || written), `${other} and ${name} are one, and it is written`);
      }
      return size;
    });
    const launches = all.filter((l) => !l[5] || l[5](s)), grids = launches.map((l) => l[2](s).map(Number));
    for (const n of grids.flat()) check(n > 0 && n < 65536, `a grid of ${n}, not 1 to 65535`);

    device.pushErrorScope("validation");
    const made = [], back = [];
    const make = (size, usage, data) => {
      const buffer = device.createBuffer({ size, usage });
      made.push(buffer);
      if (data) device.queue.writeBuffer(buffer, 0, data);
      return buffer;
    };
    const buffers = memories.map(([name, , written, temporary], i) => {
      const x = given[name], size = sizes[i];
      if (temporary) return make(size, 140);
      if (!ArrayBuffer.isView(x)) return x;
      const data = new Uint8Array(size), mine = new Uint8Array(x.buffer, x.byteOffset, Math.min(x.byteLength, size));
      data.set(mine);
      const buffer = make(size, 140, data);
      if (written) back.push([buffer, mine]);
      return buffer;
    });
    const commands = encoder ?? device.createCommandEncoder(), pass = commands.beginComputePass();
    launches.forEach(([text, , , bound, params], i) => {
      const bind = (at, buffers) => pass.setBindGroup(at, device.createBindGroup({
        layout: pipelines[text].getBindGroupLayout(at),
        entries: buffers.flatMap((buffer, binding) => ({ binding, resource: { buffer } })),
      }));
      pass.setPipeline(pipelines[text]);
      bind(0, bound.map((b) => buffers[b]));
      const words = params.map(([type, value]) => new Uint32Array(ARRAYS[type].of(Number(value(s))).buffer)[0]);
      if (params[0]) bind(1, [make(up(4 * words.length), 72, new Uint32Array(words))]);
      pass.dispatchWorkgroups(...grids[i]);
    });
    pass.end();
    const staged = back.map(([buffer]) => {
      const staging = make(buffer.size, 9);
      commands.copyBufferToBuffer(buffer, 0, staging, 0, buffer.size);
      return staging;
    });
    if (!encoder) device.queue.submit([commands.finish()]);
    const wrong = await device.popErrorScope();
    check(!wrong, wrong?.message);
    if (encoder) return;
    await Promise.all(staged.map((staging) => staging.mapAsync(1))).catch((error) => check(0, error.message));
    back.forEach(([, mine], i) => mine.set(new Uint8Array(staged[i].getMappedRange(), 0, mine.length)));
    made.forEach((buffer) => buffer.destroy());
  };
}

// A device with the features that the functions can use and the adapter has, and with its limits.
export async function open() {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) throw Error("WebGPU is not to be had here");
  const requiredFeatures = [], requiredLimits = {};
  for (const [, , , variants] of functions) for (const [needs, , limits] of variants) {
    requiredFeatures.push(...needs.filter((need) => adapter.features.has(need)));
    for (const k in limits) requiredLimits[k] = adapter.limits[k];
  }
  return adapter.requestDevice({ requiredFeatures, requiredLimits });
}
