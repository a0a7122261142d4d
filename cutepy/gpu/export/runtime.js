// What launches the functions of this module. The lists T of texts and F of functions stand before it, in the order that
// cutepy/gpu/export/es_module.py says. Sizes and other whole numbers are BigInts in a plan, so all arithmetic is exact.
// The usages of buffers, by WebGPU's numbers: 140 is STORAGE|COPY_SRC|COPY_DST, 9 MAP_READ|COPY_DST, 72 UNIFORM|COPY_DST.

// The function of that name on a device, the first unless it is named: an async function of buffers by name, numbers by
// name, and perhaps an encoder.
export async function load(device, own = F[0][0]) {
  const fail = (why) => { throw Error(own + ": " + why); };
  const [, memories, numbers, variants] = F.find(([name]) => name == own) ?? fail("this module has " + F.map(([name]) => name));
  // A need is a feature, or a limit and what it has to be at least.
  const lacks = ([needs]) => needs.flatMap((need) => {
    const [name, least] = need.split(" "), has = device.limits[name] ?? device.adapterInfo?.[name];
    return device.features.has(name) || least <= has ? [] : need + (has ? ", it has " + has : "");
  });
  const [, own_texts, plan] = variants.find((v) => !lacks(v)[0]) ?? fail("the device lacks " + lacks(variants.at(-1)));
  let lost;
  device.lost.then((info) => (lost = info.reason));
  const pipelines = await Promise.all(own_texts.map((text) => device.createComputePipelineAsync({
    layout: "auto", compute: { module: device.createShaderModule({ code: T[text] }) },
  })));

  return async (given, values = {}, encoder) => {
    // Every check comes before the first write. `made` are buffers of this call, `back` what it gives back.
    if (lost) fail("the device was lost: " + lost);
    const made = [], back = [], [why, bytes, planned] = plan(numbers.map(([name, least, most = 2147483647]) => {
      const v = values[name], float = least == "f32";
      if (v == null && least == null) return; // the plan knows what it is then
      (float ? v?.toFixed : v % 1 == 0 && v >= (least ?? 0) && v <= most) ||
        fail(`${name} is ${v}, it takes ` + (float ? least : `integers from ${least ?? 0} to ${most}`));
      return float ? v : BigInt(v);
    }));
    if (why) fail(why);
    const launches = planned.filter((launch) => launch && launch[1].map((n) => n > 0 && n < 65536 || fail(`a grid of ${n}, not 1 to 65535`)));
    const make = (size, usage, data, buffer = device.createBuffer({ size, usage })) => {
      made.push(buffer);
      if (data) device.queue.writeBuffer(buffer, 0, data);
      return buffer;
    };
    const makers = memories.map(([name, written, temporary], i) => {
      const x = given[name], n = x?.byteLength ?? x?.size, size = Math.ceil(Number(bytes[i]) / 16 || 1) * 16, least = x?.buffer ? bytes[i] : size;
      if (temporary) return () => make(size, 140);
      n >= least || fail(`${name} has ${n} bytes, it needs ${least}`);
      memories.map(([other, too], j) => j < i && given[other] == x && (too || written) && fail(`${other} and ${name} are one, and it is written`));
      if (!x.buffer) return () => x;
      if (encoder) fail(name + " is an array; an encoder takes GPUBuffers");
      return () => {
        const data = new Uint8Array(size), mine = new Uint8Array(x.buffer, x.byteOffset, Math.min(n, size));
        data.set(mine);
        const buffer = make(size, 140, data);
        if (written) back.push([mine, buffer, make(size, 9)]);
        return buffer;
      };
    });

    device.pushErrorScope("validation");
    const buffers = makers.map((make) => make()), commands = encoder ?? device.createCommandEncoder(), pass = commands.beginComputePass();
    for (const [at, grid, params, bound] of launches) {
      const bind = (group, buffers) => pass.setBindGroup(group, device.createBindGroup({
        layout: pipelines[at].getBindGroupLayout(group),
        entries: buffers.flatMap((buffer, binding) => ({ binding, resource: { buffer } })),
      }));
      pass.setPipeline(pipelines[at]);
      bind(0, bound?.map((b) => buffers[b]) ?? buffers);
      if (params) bind(1, [make(4 * params.length, 72, Uint32Array.from(params, Number))]);
      pass.dispatchWorkgroups(...grid.map(Number));
    }
    pass.end();
    for (const [, buffer, staging] of back) commands.copyBufferToBuffer(buffer, 0, staging, 0, staging.size);
    if (!encoder) device.queue.submit([commands.finish()]);
    const wrong = await device.popErrorScope();
    if (wrong) fail(wrong.message);
    await Promise.all(back.map(([, , staging]) => staging.mapAsync(1)));
    back.map(([mine, , staging]) => mine.set(new Uint8Array(staging.getMappedRange(), 0, mine.length)));
    if (!encoder) made.map((buffer) => buffer.destroy());
  };
}

// A device with the adapter's limits, and with its features that kernels can use.
export async function open() {
  const adapter = await navigator.gpu?.requestAdapter(), requiredLimits = {};
  if (!adapter) throw Error("no WebGPU here");
  for (const name in adapter.limits) requiredLimits[name] = adapter.limits[name];
  return adapter.requestDevice({ requiredFeatures: ["subgroups", "shader-f16"].filter((name) => adapter.features.has(name)), requiredLimits });
}
