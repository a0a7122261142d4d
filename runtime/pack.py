"""Pack Python for the browser into cutepy_runtime/: `python runtime/pack.py`. Needs npm and node, and the network once.

Pyodide comes from npm in one version, its checksum held against the one below. Node then runs it, to find the modules
of the standard library that cutepy's explorer imports, and to compile them: a page starts faster without the others.
"""

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

VERSION = "314.0.7"
AXE = "4.14.1"
AXE_SHA256 = "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"
SHA256 = "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0"
FILES = ("pyodide-lock.json", "pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm")
STDLIB = "python_stdlib.zip"
HERE = Path(__file__).parent
TARGET = HERE / "cutepy_runtime"

sys.path.insert(0, str(HERE.parent))


def main() -> None:
    """Fetch, choose, compile, pack."""
    from kernels import all_of_them

    from cutepy.explore.pack import compiled_name, source_zip

    for tool in ("npm", "node"):
        if shutil.which(tool) is None:
            sys.exit(f"runtime: {tool} is not installed; packing Pyodide needs npm and node (apt install npm)")
    with TemporaryDirectory() as place:
        folder = Path(place)
        fetch(folder, "pyodide", VERSION, SHA256)
        (folder / "cutepy.zip").write_bytes(source_zip())
        subprocess.run(["node", HERE / "choose.mjs", folder], check=True)
        lock = folder / "package" / "pyodide-lock.json"
        lock.write_text(json.dumps({**json.loads(lock.read_text()), "packages": {}}))
        for name in FILES:
            pack(folder / "package" / name, name)
        pack(folder / STDLIB, STDLIB)
        for old in TARGET.glob("cutepy-*.gz"):
            old.unlink()
        pack(folder / "compiled.zip", compiled_name((folder / "cutepy.zip").read_bytes()))
    (TARGET / "kernels.json.gz").write_bytes(gzip.compress(json.dumps(all_of_them()).encode(), 9, mtime=0))
    with TemporaryDirectory() as place:  # for the tests: judges how accessible the page is
        fetch(Path(place), "axe-core", AXE, AXE_SHA256)
        build = HERE.parent / "build"
        build.mkdir(exist_ok=True)
        shutil.copyfile(Path(place) / "package" / "axe.min.js", build / "axe.min.js")


def fetch(folder: Path, name: str, version: str, checksum: str) -> None:
    """A package of npm, unpacked into `folder`/package."""
    subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    archive = (folder / f"{name}-{version}.tgz").read_bytes()
    found = hashlib.sha256(archive).hexdigest()
    if found != checksum:
        sys.exit(f"runtime: {name} {version} has the checksum {found}, not {checksum}; nothing is packed")
    with tarfile.open(fileobj=io.BytesIO(archive)) as package:
        package.extractall(folder, filter="data")


def pack(source: Path, name: str) -> None:
    """One file, compressed; a zip is stored inside, so that it is compressed once, as a whole."""
    data = stored(source.read_bytes()) if name.endswith(".zip") else source.read_bytes()
    packed = gzip.compress(data, 9, mtime=0)
    (TARGET / f"{name}.gz").write_bytes(packed)
    print(f"{name}: {len(data):,} bytes, packed {len(packed):,}")


def stored(archive: bytes) -> bytes:
    """The same zip with nothing compressed, always the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as new:
        for entry in sorted(old.infolist(), key=lambda entry: entry.filename):
            if not entry.is_dir():
                new.writestr(zipfile.ZipInfo(entry.filename), old.read(entry))
    return out.getvalue()


if __name__ == "__main__":
    main()
