// Runs an exported kernel over the arrays of a page: `data` has them and what the interpreter makes of them, `module` is
// the kernel's. Gives whether the result is right, and lines that say how near it is and how long a launch takes.
async function runExported(data, { load, open }) {
  const arrays = { f32: Float32Array, i32: Int32Array, u32: Uint32Array, bool: Uint32Array, f16: globalThis.Float16Array ?? Uint16Array };
  const view = (name, text) => {
    const bytes = text.at ? Uint8Array.from(atob(text), (c) => c.charCodeAt(0)) : new Uint8Array(text), array = arrays[data.types[name]] ?? Uint8Array;
    return new array(bytes.buffer, 0, Math.floor(bytes.length / array.BYTES_PER_ELEMENT));
  };
  const device = await open(), kernel = await load(device, data.name), lines = [];
  const given = Object.fromEntries(Object.entries(data.given).map(([name, text]) => [name, view(name, text)]));
  await kernel(given, data.numbers);
  let right = true;
  for (const [name, text] of Object.entries(data.wanted)) {
    const wanted = view(name, text);
    let unlike = 0, worst = 0, greatest = 0;
    wanted.forEach((want, i) => {
      greatest = Math.max(greatest, Math.abs(want) || 0);
      if (Object.is(want, given[name][i])) return;
      unlike++;
      const apart = Math.abs(want - given[name][i]);
      worst = Math.max(worst, Number.isNaN(apart) ? Infinity : apart);
    });
    const whole = !["f32", "f16"].includes(data.types[name]);
    right &&= whole ? unlike === 0 : worst <= (data.types[name] === "f16" ? 4e-3 : 2e-5) * (greatest || 1);
    const first = Array.from(given[name].slice(0, 4), (n) => Number(n.toPrecision(5))).join(", ");
    lines.push(`${name}: ${first}${wanted.length > 4 ? ", ..." : ""}`);
    lines.push(`   ${wanted.length} elements, ${unlike} unlike the interpreter's, by ${worst} at most of ${greatest}`);
  }
  const buffers = {};
  for (const [name, array] of Object.entries(given)) {
    buffers[name] = device.createBuffer({ size: Math.max(16, Math.ceil(array.byteLength / 16) * 16), usage: 0x8c });
    device.queue.writeBuffer(buffers[name], 0, new Uint8Array(array.buffer).slice(0, array.byteLength));
  }
  const timed = async (count) => {
    const begin = performance.now();
    for (let i = 0; i < count; i++) await kernel(buffers, data.numbers);
    await device.queue.onSubmittedWorkDone();
    return (performance.now() - begin) / count;
  };
  // The median of five rounds; slow kernels have fewer launches in each, and the slowest one round.
  const first = await timed(1), count = Math.max(1, Math.min(20, Math.floor(200 / first))), times = [first];
  if (first < 500) for (let round = 0; round < 5; round++) times[round] = await timed(count);
  device.destroy();
  lines.push(`${times.sort((a, b) => a - b)[times.length >> 1].toFixed(3)} ms a launch, by the wall`);
  return { right, lines, said: right ? "Right: as the interpreter's numbers." : "Wrong: unlike the interpreter's numbers." };
}
