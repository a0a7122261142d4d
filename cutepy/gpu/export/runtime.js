// What launches the functions of this module. `functions` and `texts` stand before it. See cutepy/gpu/export/describe.py.
const STORAGE = 0x8c, STAGING = 9, UNIFORM = 0x48; // WebGPU's usages: STORAGE|COPY_SRC|COPY_DST, MAP_READ|COPY_DST, UNIFORM|COPY_DST
const RANGES = { u32: [0, 2 ** 32 - 1], i32: [-(2 ** 31), 2 ** 31 - 1] };
const up = (n) => Math.max(16, Math.ceil(n / 16) * 16);

// An async function of buffers by name, numbers by name, and perhaps an encoder.
async function prepare(device, f) {
  const check = (holds, why) => { if (!holds) throw Error(f.name + ": " + why); };
  const lacks = (v) => [
    ...v.needs.filter((need) => !device.features.has(need)),
    ...(v.lanes > (device.adapterInfo?.subgroupMinSize ?? 0) ? ["subgroups of " + v.lanes] : []),
  ];
  const way = f.variants.find((v) => !lacks(v)[0]);
  check(way, "the device lacks " + lacks(f.variants.at(-1)));
  const atMost = (n, limit, what) => check(n <= device.limits[limit], `${what} ${n}, ${limit} is ${device.limits[limit]}`);
  for (const limit in way.limits) atMost(way.limits[limit], limit, "it needs");
  let lost;
  device.lost.then((info) => (lost = info.reason));
  const layout = (types) => device.createBindGroupLayout({
    entries: types.map((type, binding) => ({ binding, visibility: 4, buffer: { type } })),
  });
  const modules = texts.map((code) => device.createShaderModule({ code }));
  const launches = await Promise.all(way.launches.map(async (l) => {
    const layouts = [layout(l.access.map((a) => (a == "read" ? "read-only-storage" : "storage")))];
    if (l.params[0]) layouts.push(layout(["uniform"]));
    const pipeline = await device.createComputePipelineAsync({
      layout: device.createPipelineLayout({ bindGroupLayouts: layouts }),
      compute: { module: modules[l.text], entryPoint: l.entry },
    });
    return { ...l, layouts, pipeline };
  }));

  return async (given, numbers = {}, encoder) => {
    // Every check comes before the first write.
    check(!lost, "the device was lost: " + lost);
    for (const { name, type } of f.numbers) {
      const v = numbers[name], [low, high] = RANGES[type] ?? [];
      check(typeof v == "number" && (low == null || (v % 1 == 0 && low <= v && v <= high)), `${name} is ${v}, it takes ${type}`);
    }
    for (const [holds, fact] of f.facts) check(holds(numbers), `'${fact}' was stated, and it has ${JSON.stringify(numbers)}`);
    f.buffers.forEach((b, i) => {
      const x = given[b.name], own = ArrayBuffer.isView(x), n = own ? x.byteLength : x?.size, least = b.bytes(numbers);
      if (b.temporary) return;
      check(n >= (own ? least : up(least)), `${b.name} has ${n} bytes, it needs ${own ? least : up(least)}`);
      check(!own || !encoder, b.name + " is an array; an encoder takes GPUBuffers");
      f.buffers.slice(0, i).forEach((a) => check(given[a.name] != x || !(a.written || b.written), `${a.name} and ${b.name} are one, and it is written`));
    });
    const grids = launches.map((l) => l.grid(numbers));
    atMost(Math.max(...grids.flat()), "maxComputeWorkgroupsPerDimension", "a grid of");

    const made = [], back = [];
    const make = (size, usage, data) => {
      const buffer = device.createBuffer({ size, usage });
      made.push(buffer);
      if (data) device.queue.writeBuffer(buffer, 0, data);
      return buffer;
    };
    const commands = encoder ?? device.createCommandEncoder();
    const bind = (at, layout, buffers) => pass.setBindGroup(at, device.createBindGroup({
      layout, entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
    }));
    const buffers = f.buffers.map((b) => {
      const x = given[b.name], size = up(b.bytes(numbers));
      if (!b.temporary && !ArrayBuffer.isView(x)) return x;
      const data = new Uint8Array(size), mine = x && new Uint8Array(x.buffer, x.byteOffset, Math.min(x.byteLength, size));
      if (x) data.set(mine);
      const buffer = make(size, STORAGE, x && data);
      if (x && b.written) back.push([buffer, mine]);
      return buffer;
    });
    const pass = commands.beginComputePass();
    launches.forEach((l, i) => {
      const data = new DataView(new ArrayBuffer(up(4 * l.params.length)));
      l.params.forEach(([type, value], at) => data[{ u: "setUint32", i: "setInt32", f: "setFloat32" }[type[0]]](4 * at, value(numbers), true));
      pass.setPipeline(l.pipeline);
      bind(0, l.layouts[0], l.buffers.map((b) => buffers[b]));
      if (l.params[0]) bind(1, l.layouts[1], [make(data.byteLength, UNIFORM, data.buffer)]);
      pass.dispatchWorkgroups(...grids[i]);
    });
    pass.end();
    const staged = back.map(([buffer]) => {
      const staging = make(buffer.size, STAGING);
      commands.copyBufferToBuffer(buffer, 0, staging, 0, buffer.size);
      return staging;
    });
    if (encoder) return;
    device.queue.submit([commands.finish()]);
    await Promise.all(staged.map((staging) => staging.mapAsync(1)));
    back.forEach(([, mine], i) => mine.set(new Uint8Array(staged[i].getMappedRange(), 0, mine.length)));
    made.forEach((buffer) => buffer.destroy());
  };
}

// A function of this module on a device: the first, unless it is named.
export async function load(device, name = functions[0].name) {
  const f = functions.find((f) => f.name == name);
  if (!f) throw Error(`no ${name} here, but ` + functions.map((f) => f.name));
  return prepare(device, f);
}

// A device with the features that the functions can use and the adapter has, and with its limits.
export async function open() {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) throw Error("WebGPU is not to be had here");
  const variants = functions.flatMap((f) => f.variants), requiredLimits = {};
  for (const { limits } of variants) for (const k in limits) requiredLimits[k] = adapter.limits[k];
  return adapter.requestDevice({
    requiredFeatures: variants.flatMap((v) => v.needs).filter((need) => adapter.features.has(need)), requiredLimits,
  });
}
