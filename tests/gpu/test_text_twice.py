"""No value is computed twice in a printed kernel, no element that nobody writes is loaded twice, no guard is idle;
masks and shifts are printed where they were written, quotients and remainders elsewhere."""

import importlib
import linecache
from collections.abc import Callable
from dataclasses import replace

import control_programs
import example_cases
import numpy as np
import pytest
from random_kernels import Maker
from text_twice import Text

from cutepy import gpu
from cutepy.errors import CutepyError, KernelError
from cutepy.gpu import ir
from cutepy.gpu.lower import finish, lower
from cutepy.gpu.targets.wgsl import print_wgsl

ARRAYS = ((0, "read", "x"), (1, "read_write", "y"))
EIGHT = ("attention", "convolution", "dropout", "fft", "int4_matvec", "layer_norm", "scan", "top_k")


@pytest.mark.parametrize("name", EIGHT)
def test_the_eight_examples(name: str, golden: Callable[[str, str], None]) -> None:
    """As their pages run them; the text is there to be read, and changes for a reason only."""
    example = importlib.import_module(name).example()
    text = example.wgsl()
    golden(f"example_{name}.wgsl", text)
    kernel = getattr(example.kernel, "program", None)
    grid = kernel(*example.arguments, **example.static).grid if kernel else (4, 1, 1)
    assert not Text(text, grid).faults


@pytest.mark.parametrize("name", example_cases.NAMES)
@pytest.mark.parametrize("which", [0, -1])
def test_examples_of_other_sizes(name: str, which: int) -> None:
    assert not Text(example_cases.make(name, list(example_cases.VARIANTS[name])[which]).wgsl(), (3, 2, 1)).faults


def named(block: ir.Block) -> ir.Block:
    """`block` with each load named in the statement before the one that reads, as a trace names it."""
    out: list[ir.Stmt] = []
    for stmt in block:
        known: dict[ir.Expr, ir.Expr] = {}
        for load in [x for root in stmt.expressions for x in ir.loads(root)]:
            value = ir.rewrite(load, lambda x, known=known: known.get(x, x), {})
            if load not in known:
                name = ir.var(load.buffer.name, load.dtype, lanes=load.lanes)
                out.append(ir.Let(name, value))
                known[load] = known[value] = name
        stmt = ir.with_expressions(
            stmt, [ir.rewrite(x, lambda x, known=known: known.get(x, x), {}) for x in stmt.expressions]
        )
        out.append(ir.with_blocks(stmt, [named(b) for b in stmt.blocks]))
    return tuple(out)


def test_random_kernels() -> None:
    refused = 0
    for seed in range(500):
        with ir.new_arena():
            try:
                made = Maker(seed, wild=seed % 2 == 1).kernel()
                kernel = finish(replace(made, body=named(made.body)))
                text = print_wgsl(lower(kernel))
            except KernelError:  # an element that there is not, known at once
                refused += 1
                continue
        assert not Text(text, kernel.grid).faults, f"seed {seed}\n{text}"
    assert refused < 50


def test_random_programs_of_control_flow() -> None:
    n = control_programs.THREADS
    read = 0
    for seed in range(40):
        write = control_programs.program if seed % 2 else control_programs.numbers
        text, file = write(seed), f"<program {seed}>"
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        names: dict[str, object] = {}
        exec(compile(text, file, "exec"), names)
        try:
            kernel = gpu.kernel(names["program"])  # type: ignore[arg-type]
            printed = kernel.wgsl(np.zeros(n, np.float32), np.zeros(n, np.uint32), np.zeros(n, np.float32))
        except CutepyError:  # a name that changes its type, say
            continue
        finally:
            del linecache.cache[file]
        read += 1
        assert not Text(printed).faults, f"seed {seed}\n{printed}"
    assert read > 30


def printed(step: Callable[[ir.Expr], object]) -> str:
    """What is written of a step on a word."""

    @gpu.kernel
    def written(x, y):
        gpu.launch(grid=4, threads=64)
        t = gpu.workgroup.x * 64 + gpu.thread
        y[t] = step(x[t])

    return written.wgsl(np.zeros(256, np.uint32), np.zeros(256, np.uint32))


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (lambda w: (w >> 4) & 15, "(x_0 >> 4u) & 15u"),
        (lambda w: w // 16 % 16, "(x_0 / 16u) % 16u"),
        (lambda w: (w & 0xFF00) >> 8, "(x_0 >> 8u) & 255u"),
        (lambda w: w << 3, "x_0 << 3u"),
        (lambda w: w * 8, "x_0 * 8u"),
        (lambda w: (w & 7) + w % 16 + (w >> 3), "(x_0 & 7u) + x_0 % 16u + (x_0 >> 3u)"),
        (lambda w: (w >> 3) + w // 8, "(x_0 / 8u) * 2u"),
        (lambda w: w & 6, "x_0 & 6u"),
        (lambda w: gpu.cast(gpu.cast(w & 255, "i32") >> 2, "u32"), "(x_0 & 255u) >> 2u"),
    ],
)
def test_bits_stay_bits_and_quotients_quotients(step: Callable[[ir.Expr], object], text: str) -> None:
    assert text in printed(step)


def test_an_element_that_both_arms_load_is_loaded_before_them() -> None:
    @gpu.kernel
    def arms(x, y):
        gpu.launch(threads=16)
        i = gpu.thread
        if y[i] > 3:
            y[i] = x[i + 1]
        else:
            y[i] = x[i + 1] * 2.0
        if y[i] > 5:
            y[i] = x[i + 2]
        y[i] = y[i] + x[i + 2]
        if y[i] > 7:  # only here: nobody knows that it is in bounds otherwise
            y[i] = x[i + 3]
        with gpu.when(i < 3):
            with gpu.when(i < 3):
                y[i] = 1.0

    x, y = np.arange(19, dtype=np.float32), np.arange(16, dtype=np.float32)
    text = arms.wgsl(x, y)
    assert not Text(text).faults and text.count("x[tid") == 3 and text.count("if (tid < 3u)") == 1
    arms.interpret(x, y)
    wanted = np.where(np.arange(16) > 3, x[1:17], x[1:17] * 2)
    wanted = np.where(wanted > 5, x[2:18], wanted) + x[2:18]
    wanted = np.where(wanted > 7, x[3:19], wanted)
    wanted[:3] = 1
    assert np.array_equal(y, wanted)


@pytest.mark.parametrize(
    "fault",
    [
        "let a = tid * 3u;\n    let b = tid * 3u;",
        "let a = x[tid];\n    let b = x[tid];",
        "var a = tid * 3u;\n    a = 1u;\n    if (tid < 2u) {\n        let b = a * 5u;\n        let c = a * 5u;\n    }",
        "if (tid < 2u) {\n        let a = x[tid];\n    } else {\n        let b = x[tid];\n    }",
        "if (tid < 2u) {\n        let a = x[tid];\n    }\n    let b = x[tid];",
        "if (tid < 2u) {\n        if (tid < 2u) {\n            y[tid] = 1.0;\n        }\n    }",
        "if (tid < 4u) {\n        y[tid] = 1.0;\n    }",
    ],
)
def test_the_reader_sees_a_fault(fault: str) -> None:
    head = "\n".join(f"@group(0) @binding({i}) var<storage, {s}> {n}: array<f32>;" for i, s, n in ARRAYS)
    text = (
        f"{head}\n\n@compute @workgroup_size(4)\nfn f(@builtin(local_invocation_index) tid: u32) {{\n    {fault}\n}}\n"
    )
    assert Text(text).faults
    assert not Text(text.replace(fault, "var a = tid * 3u;\n    a = a * 2u;\n    let b = a * 2u;")).faults
