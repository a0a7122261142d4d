"""Write cutepy/gpu/export/runtime.min.js from runtime.js: `python tools/minify.py` (it asks npm for esbuild)."""

import subprocess
import tempfile
from hashlib import sha256
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "cutepy" / "gpu" / "export"
ESBUILD = "esbuild@0.25.0"


def main() -> None:
    source = FOLDER / "runtime.js"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "install", "--silent", "--prefix", folder, ESBUILD], check=True)
        tool = Path(folder, "node_modules", ".bin", "esbuild")
        made = subprocess.run([tool, "--minify", "--format=esm", source], check=True, capture_output=True, text=True)
    first = f"// runtime.js {sha256(source.read_bytes()).hexdigest()}, minified by {ESBUILD} (tools/minify.py)"
    (FOLDER / "runtime.min.js").write_text(f"{first}\n{made.stdout}")


if __name__ == "__main__":
    main()
