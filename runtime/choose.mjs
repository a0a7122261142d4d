// Run by pack.py: writes FOLDER/python_stdlib.zip with the modules that cutepy's page needs, compiled, and
// FOLDER/compiled.zip, which is FOLDER/cutepy.zip compiled.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const { loadPyodide } = await import(pathToFileURL(join(folder, "package", "pyodide.mjs")).href);
const python = await loadPyodide();
python.FS.writeFile("/cutepy.zip", readFileSync(join(folder, "cutepy.zip")));
python.runPython(`
import ast, importlib, io, sys, types, zipfile
from importlib._bootstrap_external import _code_to_timestamp_pyc


def compiled(source, name, **options):
    """A module without the numbers of its lines, which are a third of the packed bytes; the page shows no traceback."""

    def bare(code):
        inner = [bare(each) if isinstance(each, types.CodeType) else each for each in code.co_consts]
        return code.replace(co_linetable=b"", co_consts=tuple(inner))

    return bytes(_code_to_timestamp_pyc(bare(compile(source, name, "exec", dont_inherit=True, **options))))



sys.path.insert(0, "/cutepy.zip")
with zipfile.ZipFile("/cutepy.zip") as own:
    for name in own.namelist():
        if not name.endswith(".py"):
            continue
        module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        importlib.import_module(module)
        for node in ast.walk(ast.parse(own.read(name))):  # what is imported inside functions is needed as well
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            for found in names:
                try:
                    importlib.import_module(found)
                except ImportError:
                    pass
from cutepy.explore.answers import answer
for text in ("(8,8):(8,1)", "(8,8)x", "zipped_divide((8,8):(8,1), (4,4))"):
    answer('{"ask": "look", "text": "%s"}' % text)
answer('{"ask": "names"}')

standard = next(path for path in sys.path if path.endswith(".zip") and "python3" in path)
wanted = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
out = io.BytesIO()
with zipfile.ZipFile(standard) as all_of_it, zipfile.ZipFile(out, "w") as kept:
    for name in all_of_it.namelist():
        if f"{standard}/{name}" in wanted or name.startswith("encodings/__init__"):
            kept.writestr(name + "c", compiled(all_of_it.read(name), f"{standard}/{name}", optimize=2))
packed = out.getvalue()

out = io.BytesIO()
with zipfile.ZipFile("/cutepy.zip") as own, zipfile.ZipFile(out, "w") as kept:
    for name in own.namelist():
        kept.writestr(name + "c", compiled(own.read(name), name))
own = out.getvalue()
`);
writeFileSync(join(folder, "python_stdlib.zip"), python.globals.get("packed").toJs());
writeFileSync(join(folder, "compiled.zip"), python.globals.get("own").toJs());
