"""Random kernels for unknown sizes, most of them wrong at some size, each with every proof looked at.

Judges that share nothing with the proof for all sizes: with numbers put in, the prover of known sizes, and the
interpreter that checks each access and each race; and the kernel traced for known sizes, whose results are the same.
"""

import linecache
import random
from collections import Counter

import numpy as np

from cutepy import gpu
from cutepy.errors import CutepyError, KernelError, VerificationError
from cutepy.gpu.inspect.race_detector import interpret_checked
from cutepy.gpu.runtime.program import Limits
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.gpu.verify import Status
from cutepy.layout import Layout, _, ceil_div, size
from cutepy.tensor import copy, fill, local_partition, local_tile

NAMES = {
    "gpu": gpu, "np": np, "ceil_div": ceil_div, "Layout": Layout, "_": _, "size": size, "copy": copy, "fill": fill,
    "local_tile": local_tile, "local_partition": local_partition,
}  # fmt: skip


def text_of(seed: int) -> tuple[str, int]:
    """A kernel, and of how many unknowns."""
    pick = random.Random(seed)
    near = lambda: pick.choice(["", "", "", " + 1", " - 1", " + 2"])  # noqa: E731
    op = pick.choice(["<", "<", "<", "<="])
    threads = pick.choice([8, 16, 32])
    tile = pick.choice([threads, threads, threads, threads // 2, threads * 2])
    if seed % 8 == 7:
        return parts_of(pick, threads, tile), 2
    kind = pick.randrange(6)
    if kind == 0:  # one axis, by index
        n = pick.choice(["n", "n", "n", "m"])
        index = pick.choice(["i", "i", "i", "n - 1 - i", "i // 2", "n // 2 + i", "i - 1", "i % 4", "2 * i"])
        guard = pick.choice(
            [f"i {op} n{near()}", f"i {op} n // 2{near()}", f"i {op} m{near()}", f"i + 1 {op} n", "i >= 0"]
        )
        body = f"""
def k(x: "(n)", y: "({n})", z: "(m)"):
    n, m = x.shape[0], z.shape[0]
    gpu.launch(grid=ceil_div(n{near()}, {tile}), threads={threads})
    i = gpu.workgroup.x * {tile} + gpu.thread
    if {guard}:
        y[{index}] = x[i] + z[{pick.choice(["0", "m - 1", "i % m", "gpu.minimum(i, m - 1)", "i"])}]
"""
        return body, 2
    if kind == 1:  # rows by workgroups, columns by a loop
        step = pick.choice([threads, threads, threads // 2, 2 * threads])
        row = pick.choice(["g", "g", "g", "0", "M - 1 - g", "g // 2", "g % 3"])
        column = pick.choice(["j", "j", "j", "N - 1 - j", "j + 1"])
        body = f"""
def k(x: "(M,N)", y: "({pick.choice(["M,N", "M,N", "P,Q"])})"):
    M, N = x.shape
    gpu.launch(grid=M{near()}, threads={threads})
    g = gpu.workgroup.x
    for j in gpu.loop({pick.choice(["N", "N", "N", "M", "N // 2"])}{near()}, start=gpu.thread, step={step}):
        y[{row}, {column}] = x[{pick.choice(["g, j", "g, j", "0, j", "g, 0"])}]
"""
        return body, 2
    if kind == 2:  # tiles with guards
        t = pick.choice([(2, 16), (4, 8), (8, 4), (1, 32)])
        order = pick.choice(
            ["gpu.workgroup.y, gpu.workgroup.x", "gpu.workgroup.y, gpu.workgroup.x", "gpu.workgroup.x, gpu.workgroup.y"]
        )
        body = f"""
def k(x: "(M,N)", y: "(M,N)"):
    M, N = x.shape
    gpu.launch(grid=(ceil_div(N{near()}, {t[1]}), ceil_div(M{near()}, {t[0]})), threads={t[0] * t[1]})
    crd = ({order})
    a, b = (local_partition(local_tile(v, {t}, crd), {pick.choice([t, t, (t[0] * t[1] // 2, 2)])}) for v in (x, y))
    copy(a, b)
"""
        return body, 2
    if kind == 3:  # a grid of two axes
        body = f"""
def k(x: "(M,N)", y: "({pick.choice(["M,N", "N,M"])})"):
    M, N = x.shape
    gpu.launch(grid=(ceil_div(N, {tile}), ceil_div(M{near()}, 2)), threads=({threads}, 2))
    i, j = gpu.workgroup.y * 2 + gpu.thread.y, gpu.workgroup.x * {tile} + gpu.thread.x
    if (i {op} M{near()}) & (j {op} N{near()}):
        y[{pick.choice(["i, j", "i, j", "j, i"])}] = x[i, j]
"""
        return body, 2
    if kind == 4:  # one index for both axes
        by = pick.choice(["N", "N", "N", "M"])
        body = f"""
def k(x: "(M,N)", y: "(M,N)"):
    M, N = x.shape
    gpu.launch(grid=ceil_div(M * N, {tile}), threads={threads})
    i = gpu.workgroup.x * {tile} + gpu.thread
    if i {op} M * N{near()}:
        y[i // {by}, i % {by}] = x[i // N, i % N]
"""
        return body, 2
    test = pick.choice(["n % 4 == 0", "n > 7", "n == m", "n < m", "n // 3 * 3 == n"])
    body = f"""
def k(x: "(n)", y: "(n)", z: "(m)"):
    n, m = x.shape[0], z.shape[0]
    gpu.launch(grid=ceil_div(n, {tile}), threads={threads})
    i = gpu.workgroup.x * {tile} + gpu.thread
    if {test}:
        if i {op} {pick.choice(["n", "m", "n - 1"])}{near()}:
            y[i] = z[{pick.choice(["i % m", "i", "0"])}]
    else:
        if i < n{near()}:
            y[i] = x[{pick.choice(["i", "n - 1 - i"])}]
"""
    return body, 2


def parts_of(pick: random.Random, threads: int, tile: int) -> str:
    """A kernel whose workgroups take runs of tiles: which one has which is its number times a share."""
    near = lambda: pick.choice([""] * 5 + [" + 1", " - 1"])  # noqa: E731
    share = pick.choice(["ceil_div(tiles, m)"] * 3 + ["tiles // m", "ceil_div(n, m)", "m"])
    first = pick.choice(
        [f"gpu.minimum(g * share{near()}, tiles{near()})"] * 4
        + ["g * share", f"gpu.maximum(g * share, {pick.choice(['1', 'share', 'g'])})", "gpu.minimum(g, 3) * share"]
    )
    end = pick.choice([f"gpu.minimum(first + share{near()}, tiles{near()})"] * 4 + [f"first + share{near()}"])
    return f"""
def k(x: "(n)", y: "(n)", z: "(m)"):
    n, m = x.shape[0], z.shape[0]
    tiles = ceil_div(n, {tile})
    share = {share}
    gpu.launch(grid=m{near()}, threads={threads})
    g = gpu.workgroup.x
    first = {first}
    for t in gpu.loop({end}, start=first):
        i = t * {tile} + gpu.thread
        if i < n:
            y[{pick.choice(["i", "i", "i", "n - 1 - i", "i // 2"])}] = x[i]
"""


def made(text: str, name: str) -> KernelFunction:
    """The kernel of a text that can be read."""
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    names = dict(NAMES)
    exec(compile(text, name, "exec"), names)
    return gpu.kernel(names["k"])


def arrays_for(kernel: KernelFunction, sizes: dict[str, int]) -> list[np.ndarray]:
    """Arrays of these sizes, for its annotations."""
    return [
        np.arange(np.prod(shape := [sizes[n] for n in spec.shape]), dtype=np.float32).reshape(shape)  # type: ignore[index]
        for spec in kernel._specs.values()
    ]


def _is_proven(kernel: KernelFunction, arrays: list[np.ndarray]) -> bool:
    try:
        return kernel.verify(*arrays).ok
    except CutepyError:  # nothing is written, or a known coordinate is outside
        return False


def judge(seed: int, most: int = 12) -> Counter[str]:
    """What was found over all sizes up to `most`, and some above. AssertionError for a false proof, and for a result
    that is not that of the kernel for known sizes."""
    text, _unknowns = text_of(seed)
    annotated = made(text, f"<sizes {seed}>")
    plain = text.replace('"', "")
    for spec in ("(n)", "(m)", "(M,N)", "(N,M)", "(P,Q)"):
        plain = plain.replace(f": {spec}", "")
    known = made(plain, f"<known {seed}>")
    found: Counter[str] = Counter()
    pick = random.Random(seed)
    letters = sorted({n for spec in annotated._specs.values() for n in spec.shape})
    trials = [
        {n: pick.choice([1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64]) for n in letters} for _turn in range(6)
    ]
    trials += [{n: pick.randint(1, most) for n in letters} for _turn in range(6)]
    for sizes in trials:
        arrays = arrays_for(annotated, sizes)  # type: ignore[arg-type]
        try:
            said = annotated.verify(*arrays)
        except CutepyError:
            found["refused"] += 1
            continue
        if annotated.size_reason:
            found["known sizes"] += 1
            continue
        proven = {(v.claim, v.array) for v in said.verdicts if v.status is Status.PROVEN}
        # 1. The prover of known sizes, of the form for all sizes with these numbers.
        refuted = {(v.claim, v.array) for v in annotated.at(*arrays).verify(Limits(workgroups=1 << 20)).refuted}
        assert not refuted & proven, f"{seed} at {sizes}: {refuted & proven} of\n{text}\n{said}"
        # 2. The interpreter that looks at each access, of the form for all sizes with these numbers.
        one, two = [[a.copy() for a in arrays] for _copy in range(2)]
        failed = ""
        try:
            interpret_checked(annotated.at(*one).kernel, [a.ravel() for a in one], {})
        except (VerificationError, KernelError) as error:
            failed = str(error)
        assert not (failed and said.ok), f"{seed} at {sizes}: {failed}\n{text}\n{said}"
        # 3. What the kernel computes that is traced for these sizes, if that is proven too: without the guards of tiles
        # that divide these sizes it may not be.
        if said.ok and _is_proven(known, arrays):
            one = [a.copy() for a in arrays]
            annotated.interpret(*one)
            known.interpret(*two)
            assert all((a == b).all() for a, b in zip(one, two, strict=True)), f"{seed} at {sizes}:\n{text}"
            found["computed twice"] += 1
        found["proven" if said.ok else "undecided"] += 1
    for name in (f"<sizes {seed}>", f"<known {seed}>"):
        del linecache.cache[name]
    return found
