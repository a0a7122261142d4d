"""Exported kernels under Node, on Dawn: a second host, with nothing by hand; and programs that type-check against them.

`CUTEPY_NODE_MODULES` is a folder in which npm has installed `webgpu` and `typescript`; .ci/run makes one.
"""

import base64
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from harness import typed
from swiftshader import SWIFTSHADER
from test_export import CASES, example_cases, same, scaled

from cutepy.gpu.runtime.buffer import as_bytes, from_bytes
from cutepy.gpu.targets.export import module_text
from cutepy.gpu.targets.interpreter import interpret

MODULES = os.environ.get("CUTEPY_NODE_MODULES", "")
pytestmark = pytest.mark.skipif(not MODULES, reason="NOT TESTED: CUTEPY_NODE_MODULES names no folder with webgpu")
HOST = Path(__file__).with_name("node_host.mjs")
#: Each example once: what is the same in a browser is shown there in all its types and layouts.
ONCE = list({name: (name, variant) for name, variant in reversed(CASES)}.values())


def test_every_example_runs_as_in_the_interpreter(tmp_path: Path) -> None:
    jobs, wanted = [], []
    for name, variant in ONCE:
        example = example_cases.make(name, variant)
        kernel, args, static = example.kernel, example.arguments, example.static
        function = kernel.exported(*args, **static)
        module = tmp_path / f"{len(jobs)}.mjs"
        module.write_text(module_text([function]))
        call = kernel._bind(args, dict(static))
        arrays = [np.array(engine.memory) for engine in call.engines]
        names = [buffer["name"] for buffer in function.data["buffers"]]
        held = {n: typed(x) for n, x in zip(names, arrays, strict=True)}
        jobs.append(
            {
                "module": str(module),
                "name": function.name,
                "buffers": held,
                "numbers": kernel._described(call, "annotated")[1],
            }
        )
        interpret(kernel.ir(*args, **static), arrays, call.params)
        wanted.append(dict(zip(names, arrays, strict=True)))
    environment = os.environ | {"VK_DRIVER_FILES": str(SWIFTSHADER)}
    lines = "\n".join(map(json.dumps, jobs))
    ran = subprocess.run(["node", HOST], input=lines, env=environment, capture_output=True, text=True, timeout=300)
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(answers) == len(jobs), ran.stderr[-1000:]
    for case, answer, want in zip(ONCE, answers, wanted, strict=True):
        if answer.get("refused", "").endswith("the device lacks shader-f16"):
            continue
        assert "out" in answer, (case, answer)
        for key, array in want.items():
            stored = np.frombuffer(base64.b64decode(answer["out"][key]), np.uint8)[: as_bytes(array).size]
            same(from_bytes(stored.copy(), array.dtype).reshape(array.shape), array)


def test_a_program_type_checks(tmp_path: Path) -> None:
    scaled.export(tmp_path / "scaled.js", 2.0, np.zeros(100, np.float32), np.zeros(100, np.float32), n=100)
    program = tmp_path / "use.ts"
    program.write_text(
        'import { load, open } from "./scaled.js";\n'
        "const device = await open();\n"
        "const scaled = await load(device);\n"
        "const x = new Float32Array(100), y = device.createBuffer({ size: 400, usage: 0x8c });\n"
        "await scaled({ x, y }, { a: 2 });\n"
    )
    flags = "--noEmit --strict --target es2022 --module es2022 --moduleResolution bundler --lib es2022,dom".split()
    run = [Path(MODULES, ".bin", "tsc"), *flags, "use.ts"]
    checked = subprocess.run(run, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout[-1000:]
    for wrong in ("b: 2", "a: '2'"):
        program.write_text(program.read_text().replace("a: 2", wrong))
        assert subprocess.run(run, cwd=tmp_path, check=False, capture_output=True).returncode != 0
