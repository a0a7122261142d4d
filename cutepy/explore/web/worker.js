// Python: unpacks what stands in the page as it comes, starts Pyodide with that alone, answers questions in their order.
let answer;
const files = {};
self.importScripts = undefined; // Pyodide asks for a module worker, which a page from file:// may not start; import() does

const bytes = (text) => Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const opened = () => {
  let end;
  const parts = new ReadableStream({ start: (controller) => (end = controller) });
  return { end, unpacked: parts.pipeThrough(new DecompressionStream("gzip")) };
};
const file = (name) => (files[name] ??= opened());
const buffer = async (name) => new Uint8Array(await new Response(file(name).unpacked).arrayBuffer());
const module = async (name) => import(URL.createObjectURL(new Blob([await buffer(name)], { type: "text/javascript" })));

async function start() {
  const kinds = { "pyodide.asm.wasm": "application/wasm", "python_stdlib.zip": "application/zip" };
  self.fetch = async (address) => {
    const name = Object.keys(kinds).find((known) => String(address.url ?? address).endsWith(known));
    if (!name) throw new Error(`nothing is fetched: ${address}`);
    return new Response(file(name).unpacked, { headers: { "content-type": kinds[name] } });
  };
  const [{ loadPyodide }, { default: createPyodideModule }, lock] = await Promise.all([
    module("pyodide.mjs"),
    module("pyodide.asm.mjs"),
    buffer("pyodide-lock.json"),
  ]);
  const nowhere = "https://nowhere.invalid/"; // Pyodide wants addresses; fetch above answers them
  const lockFileContents = new TextDecoder().decode(lock);
  const python = await loadPyodide({ createPyodideModule, lockFileContents, indexURL: nowhere, packageBaseUrl: nowhere });
  python.FS.writeFile("/cutepy.zip", await buffer("cutepy.zip"));
  python.runPython('import sys; sys.path.insert(0, "/cutepy.zip"); from cutepy.explore.answers import answer');
  answer = python.globals.get("answer");
}

const lastLine = (error) => String(error).trim().split("\n").at(-1);

function answered(question) {
  try {
    return answer(question);
  } catch (error) {
    return JSON.stringify({ error: lastLine(error), bug: true });
  }
}

onmessage = ({ data }) => {
  if (data.questions) return postMessage({ answers: data.questions.map(answered) });
  file(data.file).end.enqueue(bytes(data.text));
  if (data.last) file(data.file).end.close();
};

start().then(() => postMessage({ ready: true }), (error) => postMessage({ broken: lastLine(error) }));
