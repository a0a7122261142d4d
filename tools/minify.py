"""Write cutepy/gpu/targets/export/runtime.min.js from runtime.js: `python tools/minify.py` (it asks npm for terser)."""

import subprocess
import tempfile
from hashlib import sha256
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "cutepy" / "gpu" / "targets" / "export"
TERSER = "terser@5.51.4"


def main() -> None:
    source = FOLDER / "runtime.js"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "install", "--silent", "--prefix", folder, TERSER], check=True)
        tool = Path(folder, "node_modules", ".bin", "terser")
        made = subprocess.run(
            [tool, "--module", "--ecma", "2022", "--compress", "passes=4", "--mangle", "--", source],
            check=True,
            capture_output=True,
            text=True,
        )
    first = f"// runtime.js {sha256(source.read_bytes()).hexdigest()}, minified by {TERSER} (tools/minify.py)"
    (FOLDER / "runtime.min.js").write_text(f"{first}\n{made.stdout}")


if __name__ == "__main__":
    main()
