"""Faults planted in the simplifier, in a pass of the lowering, in the printer and in the prover: `python
tools/fuzz/planted.py [NAME]` tells after how many random programs each is found, and shrinks the first of them.

The judge of the first three is plain Python: the kernel's WGSL text, read back and interpreted, has to compute what the
program does. The prover's judge is the interpreter that checks each access.
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER.parents[1]), str(FOLDER.parents[1] / "tests" / "gpu"), str(FOLDER)]

import linecache  # noqa: E402

import numpy as np  # noqa: E402
import one_thread  # noqa: E402
from control_programs import THREADS, program  # noqa: E402
from judging import made_up  # noqa: E402
from oracle import faults, observe  # noqa: E402
from random_kernels import Maker  # noqa: E402
from shrink import shrink  # noqa: E402

from cutepy import gpu  # noqa: E402
from cutepy.errors import CutepyError  # noqa: E402
from cutepy.gpu import ir  # noqa: E402
from cutepy.gpu.ir import new_arena  # noqa: E402
from cutepy.gpu.lower import lower  # noqa: E402
from cutepy.gpu.reader import Bindings, read_shader  # noqa: E402
from cutepy.gpu.targets.interpreter import interpret  # noqa: E402
from cutepy.gpu.targets.wgsl import WgslPrinter, print_wgsl  # noqa: E402
from cutepy.gpu.verify import verify  # noqa: E402
from cutepy.gpu.verify.bounds import last_of  # noqa: E402

MOST = 2000


def outcome(text: str, seed: int) -> str:
    """`right`, `refused`, or `wrong`: what a program's text computes, printed, read back and interpreted."""
    file = f"<planted {seed}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    g = np.random.default_rng(seed)
    x, n = (g.integers(0, 32, THREADS) / 4).astype(np.float32), g.integers(0, 50, THREADS, np.uint32)
    wanted, found = np.zeros(THREADS, np.float32), np.zeros(THREADS, np.float32)
    with np.errstate(all="ignore"):
        one_thread.run(one_thread.functions_of(text, file), "program", x, n, wanted, threads=THREADS)
    names: dict[str, object] = {}
    exec(compile(text, file, "exec"), names)
    kernel = gpu.kernel(names["program"])  # type: ignore[arg-type]
    try:
        traced = kernel.ir(x, n, found)
        with new_arena():
            written = print_wgsl(lower(traced))
            read = read_shader(written, Bindings({b.name: b.length for b in traced.buffers}, grid=traced.grid))
            arrays = {"x": x.copy(), "n": n.copy()}
            interpret(read, [arrays.get(b.name, found) for b in read.buffers])
    except CutepyError as error:
        return f"refused: {error}"
    finally:
        del linecache.cache[file]
    return "right" if np.allclose(found, wanted, rtol=1e-4, atol=1e-4, equal_nan=True) else "wrong"


def swapped_select(self: WgslPrinter, value: ir.Select, outer: int) -> str:
    """The printer writes the operands of `select` in the order of C."""
    return f"select({self.arguments(value.then, value.other, value.condition)})"


def dropped_remainder(x: ir.Expr, c: int) -> ir.Expr:
    """The simplifier takes x for x % c."""
    return x


def no_copy_ends(*_: object) -> None:
    """The pass that forwards copies forgets them where their variable is set."""


def one_element_more(access: object) -> int:
    """The prover takes one element more for inside the array."""
    return last_of(access) + 1  # type: ignore[arg-type]


#: What is put in the place of what.
FAULTS: dict[str, tuple[str, Callable[..., object]]] = {
    "printer": ("cutepy.gpu.targets.wgsl.WgslPrinter.show_Select", swapped_select),
    "simplifier": ("cutepy.gpu.ir.simplify.remainder", dropped_remainder),
    "lowering": ("cutepy.gpu.lower.forward_copies._ForwardCopies.emit", no_copy_ends),
    "prover": ("cutepy.gpu.verify.bounds.last_of", one_element_more),
}


def hunt(name: str) -> int:
    """Print when the fault is found, and the smallest program that shows it; 1 where none of `MOST` does."""
    start = time.monotonic()
    find = prover_fault if name == "prover" else program_fault
    for seed in range(MOST):
        found = find(name, seed)
        if found is not None:
            before, small = found
            lines = len(small.splitlines())
            print(f"{name}: program {seed}, {before} lines, {lines} shrunk, {time.monotonic() - start:.0f} s\n{small}")
            return int(lines > 12)
    print(f"{name}: none of {MOST} programs shows it")
    return 1


def program_fault(name: str, seed: int) -> tuple[int, str] | None:
    """The lines of a program that the fault makes wrong, and the shortest such text."""
    text = program(seed)

    def shows(text: str) -> bool:
        try:
            with patch(*FAULTS[name]):
                wrong = outcome(text, seed) == "wrong"
            return wrong and outcome(text, seed) == "right"
        except Exception:
            return False  # no program any more

    return (len(text.splitlines()), shrink(text, shows)) if shows(text) else None


def prover_fault(name: str, seed: int) -> tuple[int, str] | None:
    """The lines of a kernel that the fault proves in bounds though it is not, and the shortest such text."""
    with new_arena():
        kernel = Maker(seed, data=False, wild=False).kernel()

        def shows(kernel: ir.Kernel) -> bool:
            try:
                with patch(*FAULTS[name]):
                    verdicts = verify(kernel, prover="cutepy").verdicts
                claimed = all(v.status == "proven" for v in verdicts if v.claim == "in bounds")
                return claimed and any(f[0] == "in bounds" for f in faults(observe(kernel, made_up(kernel))))
            except CutepyError:
                return False

        if not shows(kernel):
            return None
        before, smaller = len(print_wgsl(lower(kernel)).splitlines()), True
        while smaller:
            tried = (replace(kernel, body=body) for body in without_one(kernel.body))
            best = next((each for each in tried if shows(each)), None)
            kernel, smaller = best or kernel, best is not None
        return before, print_wgsl(lower(kernel))


def without_one(block: ir.Block) -> Iterator[ir.Block]:
    """The blocks that lack one statement, here or in a block inside, or have one's blocks in its place."""
    for number, stmt in enumerate(block):
        first, last = block[:number], block[number + 1 :]
        yield (*first, *last)
        for which, inner in enumerate(stmt.blocks):
            yield (*first, *inner, *last)
            for less in without_one(inner):
                blocks = [*stmt.blocks[:which], less, *stmt.blocks[which + 1 :]]
                yield (*first, ir.with_blocks(stmt, tuple(blocks)), *last)


if __name__ == "__main__":
    sys.exit(max(hunt(name) for name in sys.argv[1:] or FAULTS))
