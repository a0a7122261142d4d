// Python: unpacks what stands in the page, starts Pyodide with that alone, answers questions in their order.
let answer;
self.importScripts = undefined; // Pyodide asks for a module worker, which a page from file:// may not start; import() does

const bytes = (text) => Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const unpacked = (text) => new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
const buffer = async (text) => new Uint8Array(await new Response(unpacked(text)).arrayBuffer());
const module = async (text) => import(URL.createObjectURL(new Blob([await buffer(text)], { type: "text/javascript" })));

async function start(files) {
  const kinds = { "pyodide.asm.wasm": "application/wasm", "python_stdlib.zip": "application/zip" };
  self.fetch = async (address) => {
    const name = Object.keys(kinds).find((known) => String(address.url ?? address).endsWith(known));
    if (!name) throw new Error(`nothing is fetched: ${address}`);
    return new Response(unpacked(files[name]), { headers: { "content-type": kinds[name] } });
  };
  const [{ loadPyodide }, { default: createPyodideModule }, own] = await Promise.all([
    module(files["pyodide.mjs"]),
    module(files["pyodide.asm.mjs"]),
    buffer(files["cutepy.zip"]),
  ]);
  const nowhere = "https://nowhere.invalid/"; // Pyodide wants addresses; fetch above answers them
  const lockFileContents = new TextDecoder().decode(await buffer(files["pyodide-lock.json"]));
  const python = await loadPyodide({ createPyodideModule, lockFileContents, indexURL: nowhere, packageBaseUrl: nowhere });
  python.FS.writeFile("/cutepy.zip", own);
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

onmessage = async ({ data }) => {
  try {
    if (data.files) {
      await start(data.files);
      postMessage({ ready: true });
    } else postMessage({ answers: data.questions.map(answered) });
  } catch (error) {
    postMessage({ broken: lastLine(error) });
  }
};
