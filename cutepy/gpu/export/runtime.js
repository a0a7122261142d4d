// What launches the functions of this module. The lists T of texts and F of functions stand before it, in the order that
// cutepy/gpu/export/es_module.py says. Sizes and other whole numbers are BigInts in a plan, so all arithmetic is exact.
// The usages of buffers, by WebGPU's numbers: 140 is STORAGE|COPY_SRC|COPY_DST, 9 MAP_READ|COPY_DST, 72 UNIFORM|COPY_DST.

// The function of that name on a device, the first unless it is named: an async function of buffers by name, numbers by
// name, and perhaps an encoder.
export async function load(device, own = F[0][0]) {
  let lost, lack;
  const fail = (why) => { if (why) throw Error(own + ": " + why); };
  const [, memories, numbers, variants] = F.find((f) => f[0] == own) ?? fail("this module has " + F.map((f) => f[0]));
  device?.lost?.then((info) => (lost = "the device was lost: " + info.reason)) ?? fail("give load a GPUDevice");
  // A need is a feature, or a limit and what it has to be at least.
  const [, texts, plan] = variants.find((v) => v[0].every(([name, least, has = device.limits[name] ?? device.adapterInfo?.[name]]) =>
    device.features.has(name) || least <= has || (lack = name + (has ? ` ${least}, it has ${has}` : ""), 0))) ?? fail("the device lacks " + lack);
  const pipelines = await Promise.all(texts.map((text) => device.createComputePipelineAsync({
    layout: "auto", compute: { module: device.createShaderModule({ code: T[text] }) },
  })));

  return async (given = {}, values = {}, encoder) => {
    // Every check comes before the first write. `made` are buffers of this call, `back` what it gives back.
    fail(lost);
    for (const key in { ...given, ...values }) [...memories, ...numbers].some((one) => one[0] == key) || fail("it takes no " + key);
    const made = [], back = [], [why, bytes, planned] = plan(numbers.map(
      // What a call leaves out and has no least number is undefined, and the plan knows what it is then.
      ([name, least, most = 2147483647, v = values[name], from = least ?? 0, float = isNaN(from)]) => (v ?? least) == null ? void 0 : (
        v?.toFixed && (float || v % 1 == 0 && v >= from && v <= most) ||
          fail(`${name} is ${v} (${typeof v}), it takes ` + (float ? least : `integers ${from} to ${most}`)), float ? v : BigInt(v)),
    ));
    fail(why);
    const launches = planned.filter((launch) => launch && launch[1].map((n) => n > 0 && n < 65536 || fail(`a grid of ${launch[1]}, not 1 to 65535`)));
    const make = (usage, size, data, buffer = device.createBuffer({ usage, size: Math.ceil(size / 16 || 1) * 16, mappedAtCreation: !!data })) => {
      made.push(buffer);
      if (data) {
        new data.constructor(buffer.getMappedRange()).set(data);
        buffer.unmap();
      }
      return buffer;
    };
    const makers = memories.map((
      [name, written, type = "Float32", gaps, x = given[name], kind = x?.constructor.name, n = x?.byteLength ?? x?.size],
      i, _, needs = bytes[i], kinds = (encoder ? "" : type + "Array or ") + "GPUBuffer of whole 16s",
    ) => name ? (
      kinds.includes(kind) && (x.size ? n - n % 16 >= needs : n == needs || n > needs && (gaps || JSON.stringify(values).includes(`"${name}.`))) ||
        fail(`${name} is ${x ? `${kind} of ${n} bytes` : x}, it takes ${needs} in ${kinds}`),
      written && memories.map(([other]) => other != name && given[other] == x && fail(`${other} and ${name} are one, and it is written`)),
      x.size ? () => x : () => {
        const buffer = make(140, n, x);
        if (written) back.push([x, buffer, make(9, n)]);
        return buffer;
      }) : () => make(140, needs));

    device.pushErrorScope("validation");
    const buffers = makers.map((make) => make()), commands = encoder ?? device.createCommandEncoder(), pass = commands.beginComputePass();
    launches.map(([at, grid, params, bound]) => {
      pass.setPipeline(pipelines[at]);
      [bound?.map((b) => buffers[b]) ?? buffers, params && [make(72, 4 * params.length, Uint32Array.from(params, Number))]].map((group, i) => group && pass.setBindGroup(i, device.createBindGroup({
        layout: pipelines[at].getBindGroupLayout(i),
        entries: group.flatMap((buffer, binding) => ({ binding, resource: { buffer } })),
      })));
      pass.dispatchWorkgroups(...grid.map(Number));
    });
    pass.end();
    back.map(([, buffer, staging]) => commands.copyBufferToBuffer(buffer, 0, staging, 0, staging.size));
    if (!encoder) device.queue.submit([commands.finish()]);
    fail((await device.popErrorScope())?.message);
    for (const [, , staging] of back) await staging.mapAsync(1);
    back.map(([x, , staging]) => x.set(new x.constructor(staging.getMappedRange(), 0, x.length)));
    if (!encoder) made.map((buffer) => buffer.destroy());
  };
}

// A device with all features and limits of the adapter.
export async function open() {
  const adapter = await navigator.gpu?.requestAdapter(), requiredLimits = {};
  if (!adapter) throw Error("no WebGPU here");
  for (const name in adapter.limits) requiredLimits[name] = adapter.limits[name];
  return adapter.requestDevice({ requiredFeatures: [...adapter.features], requiredLimits });
}
