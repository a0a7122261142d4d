// Jobs on standard input, a line each: call a function of an exported module under Node, on Dawn; answers, a line each.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(process.env.CUTEPY_NODE_MODULES + "/"));
const { create, globals } = await import(pathToFileURL(require.resolve("webgpu")));
Object.assign(globalThis, globals);
Object.defineProperty(globalThis, "navigator", { value: { gpu: create([]) }, configurable: true });

const adapter = await navigator.gpu.requestAdapter();
const requiredFeatures = ["subgroups", "shader-f16"].filter((name) => adapter.features.has(name));
const requiredLimits = {};
for (const name of ["maxComputeWorkgroupStorageSize", "maxComputeInvocationsPerWorkgroup", "maxComputeWorkgroupSizeX"])
  requiredLimits[name] = adapter.limits[name];
const all = await adapter.requestDevice({ requiredFeatures, requiredLimits });
let first = true;
const loaded = new Map(); // functions by module and name: a pipeline takes a while

for await (const line of createInterface({ input: process.stdin })) {
  const { module, name, buffers, numbers } = JSON.parse(line);
  let answer;
  try {
    const { load, open } = await import(pathToFileURL(module));
    const given = Object.fromEntries(Object.entries(buffers).map(([key, [kind, text]]) => [key, new globalThis[kind](new Uint8Array(Buffer.from(text, "base64")).buffer)]));
    const device = first ? await open() : all; // the module's own device once; a device takes a while
    first = false;
    const key = module + " " + name;
    if (!loaded.has(key)) loaded.set(key, await load(device, name));
    await loaded.get(key)(given, numbers);
    answer = { out: Object.fromEntries(Object.entries(given).map(([key, array]) => [key, Buffer.from(array.buffer).toString("base64")])) };
  } catch (error) {
    answer = { refused: String(error.message ?? error) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
process.exit(0);
