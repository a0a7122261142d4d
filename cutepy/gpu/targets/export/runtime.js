// What launches the functions of this module. F, which stands before it, has the variants of each by its name: a plan, the
// texts, and needs, each a feature or a limit with what it has to be at least. A plan is a function that asks for numbers
// and tells memories, as plans.py beside this file says, and gives why a call is refused, and launches. Sizes and other
// whole numbers are BigInts in a plan, so all arithmetic is exact.
// The usages of buffers, by WebGPU's numbers: 140 is STORAGE|COPY_SRC|COPY_DST, 9 MAP_READ|COPY_DST, 72 UNIFORM|COPY_DST.

// The function of that name on a device, the first unless it is named: an async function of buffers by name, numbers by
// name, and perhaps an encoder.
export async function load(device, own = Object.keys(F)[0]) {
  let lost, lack;
  const fail = (why) => { if (why) throw Error(own + ": " + why); };
  const variants = F[own] ?? fail("this module has " + Object.keys(F));
  device?.lost?.then((info) => (lost = "the device was lost: " + info.reason)) ?? fail("give load a GPUDevice");
  const [plan, texts] = variants.find(([, , ...needs]) => needs.every(([name, least, has = device.limits[name] ?? device.adapterInfo?.[name]]) =>
    device.features.has(name) || least <= has || (lack = name + (has ? ` ${least}, it has ${has}` : ""), 0))) ?? fail("the device lacks " + lack);
  const pipelines = await Promise.all(texts.map((code) => device.createComputePipelineAsync({
    layout: "auto", compute: { module: device.createShaderModule({ code }) },
  })));

  return async (given = {}, values = {}, encoder) => {
    fail(lost);
    // What of the call is not asked for; memories as the plan tells them; buffers of this call, what it gives back.
    const left = { ...given, ...values }, memories = [], made = [], back = [];
    const [why, launches] = plan((name, least, otherwise, most = 2147418112, v = values[name] ?? otherwise, float = isNaN(least)) => {
      delete left[name];
      (v?.toFixed ? float || v % 1 == 0 && v >= least && v <= most : v && v === otherwise) ||
        fail(`${name} is ${v} (${typeof v}), it takes ` + (float ? least : `integers ${least} to ${most}`));
      return float ? v : BigInt(v);
    }, (...memory) => memories.push(memory));
    fail(why);
    launches.map(([, grid]) => grid.map((n) => n > 0 && n < 65536 || fail(`a grid of ${grid}, not 1 to 65535`)));

    // A buffer of these bytes, or as long as an array and with its elements.
    const view = (array, buffer) => new array.constructor(buffer.getMappedRange(), 0, array.length);
    const make = (usage, held, size = held.byteLength ?? held, mappedAtCreation = size !== held, buffer = device.createBuffer({ usage, size: Math.ceil(size / 16 || 1) * 16, mappedAtCreation })) => {
      made.push(buffer);
      if (mappedAtCreation) {
        view(held, buffer).set(held);
        buffer.unmap();
      }
      return buffer;
    };
    // A temporary memory has no name. Nothing of the caller's is written until the last check.
    const buffers = memories.map(([name, needs, written, type = "Float32", gaps]) => {
      const x = given[name], kind = x?.constructor.name, n = x?.byteLength ?? x?.size, kinds = (encoder ? "" : type + "Array or ") + "GPUBuffer of whole 16s";
      if (name) {
        delete left[name];
        kinds.includes(kind) && (x.size ? n - n % 16 >= needs : n == needs || n > needs && (gaps || JSON.stringify(values).includes(`"${name}.`))) ||
          fail(`${name} is ${x && `${kind} of ${n} bytes`}, it takes ${needs} in ${kinds}`);
        if (written) memories.map(([other]) => other != name && given[other] == x && fail(`${other} and ${name} are one, and it is written`));
      }
      if (x?.size) return x;
      const buffer = make(140, x ?? needs);
      if (written) back.push([x, buffer, make(9, buffer.size)]);
      return buffer;
    });
    for (const key in left) fail("it takes no " + key);

    device.pushErrorScope("validation");
    const commands = encoder ?? device.createCommandEncoder(), pass = commands.beginComputePass();
    launches.map(([at, grid, params, bound]) => {
      pass.setPipeline(pipelines[at]);
      pass.setBindGroup(0, device.createBindGroup({
        layout: pipelines[at].getBindGroupLayout(0),
        entries: [...bound?.map((b) => buffers[b]) ?? buffers, params && make(72, Uint32Array.from(params, Number))].flatMap((buffer, binding) => buffer ? { binding, resource: { buffer } } : []),
      }));
      pass.dispatchWorkgroups(...grid.map(Number));
    });
    pass.end();
    back.map(([, buffer, staging]) => commands.copyBufferToBuffer(buffer, 0, staging, 0, staging.size));
    if (!encoder) device.queue.submit([commands.finish()]);
    fail((await device.popErrorScope())?.message);
    for (const [, , staging] of back) await staging.mapAsync(1);
    back.map(([x, , staging]) => x.set(view(x, staging)));
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
