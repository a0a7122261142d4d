"""Verdicts on random kernels against what their invocations do, and one kernel on three engines."""

from collections import Counter
from collections.abc import Mapping
from itertools import product

import numpy as np
from oracle import Run, by_order, faults, is_made, observe
from proof_checker import check_kernel
from random_kernels import Maker
from while_programs import budget

from cutepy.gpu.ir import Buffer, Kernel, load, new_arena, var
from cutepy.gpu.ir.ranges import Points
from cutepy.gpu.lower import compile_kernel, finish, lower
from cutepy.gpu.runtime import Device
from cutepy.gpu.targets.interpreter import interpret
from cutepy.gpu.targets.wgsl import print_wgsl
from cutepy.gpu.verify import Verification, Witness, needs_checks, verify

BUDGETS = (None, 1 << 13, 1 << 6)
"""Evaluations that the verifier may make for an exact answer; None for its own number."""


class Wrong(AssertionError):
    """A verdict that is not true, or engines that differ."""


def made_up(kernel: Kernel) -> dict[Buffer, list[int]]:
    """What `verify` makes up for the bindings that random kernels read."""
    written = {b for b in kernel.buffers if b.name == "y"}
    found: dict[Buffer, list[int]] = {}
    for x in kernel.buffers:
        if x not in written:
            i = var("i")
            places = np.arange(x.length, dtype=np.uint32)
            found[x] = Points({i: places}, frozenset([x])).of(load(x, i)).tolist()
    return found


def contents(kernel: Kernel, draw: np.random.Generator, most: int) -> dict[Buffer, list[int]]:
    """Random contents of the same bindings: numbers below `most`, in a wild kernel some near 2**32."""
    found: dict[Buffer, list[int]] = {}
    for x in kernel.buffers:
        if x.name != "y":
            numbers = draw.integers(0, most, x.length)
            if x.dtype.kind == "f":
                found[x] = ((numbers - 32) / 2).tolist()
            else:
                far = (draw.random(x.length) < 0.1) & (len(kernel.buffers) > 2)
                found[x] = np.where(far, 2**32 - 1 - numbers, numbers).tolist()
    return found


def judge(seed: int, *, data: bool = False, wild: bool = False, prover: str | None = None) -> Counter[str]:
    """Compare each verdict on one kernel with what happens; count the statuses. Raises Wrong.

    Two of three kernels are judged with a small search budget, so that the verifier has to reason.
    """
    with new_arena(), budget(BUDGETS[seed % len(BUDGETS)]):
        kernel = Maker(seed, data=data, wild=wild).kernel()
        found = verify(kernel, prover=prover)
        draw = np.random.default_rng(seed)
        rest = [contents(kernel, draw, most) for most in (2, 64, 64)] if data or wild else []
        runs = [observe(kernel, values, salt) for salt, values in enumerate([made_up(kernel), *rest])]
        if not needs_checks(kernel) and any(f[0] == "in bounds" for run in runs for f in faults(run)):
            # Vectors that are not aligned are cut where they are printed: what runs is the lowered kernel.
            ready = lower(kernel)
            by_name = {b.name: values for b, values in made_up(kernel).items()}
            values = {b: by_name[b.name] for b in ready.buffers if b.name in by_name}
            if any(f[0] == "in bounds" for f in faults(observe(ready, values))):
                raise Wrong(f"seed {seed}: it leaves its arrays, and would run without checks")
        check_kernel(kernel, [[np.array(values.get(b, [0] * b.length), b.dtype.numpy) for b in kernel.buffers]
                              for values in rest])  # fmt: skip
        own = {v.array: [observe(kernel, given, salt) for salt in range(4)]
               for v in found.verdicts if (given := contents_of(kernel, v.witness))}  # fmt: skip
    return compare(seed, found, runs, own)


def contents_of(kernel: Kernel, witness: Witness | None) -> dict[Buffer, list[int]]:
    """The contents with which a witness says that threads meet, if it says any."""
    given = witness.contents if witness is not None else {}
    return {b: given[b.name].tolist() for b in kernel.buffers if b.name in given}


def compare(
    seed: int, found: Verification, runs: list[Run], own: Mapping[str, list[Run]] | None = None
) -> Counter[str]:
    """Count the statuses of the verdicts that what happened can judge; a witness with contents of `own` by these."""
    counts: Counter[str] = Counter()
    broken = [faults(run) for run in runs]
    anywhere = set().union(*broken)
    parted = ("uniform barriers", "") in anywhere
    for verdict in found.verdicts:
        key = verdict.claim, verdict.array
        if verdict.claim == "bounded loops" and verdict.status == "proven" and any(r.wrapped for r in runs):
            raise Wrong(f"seed {seed}: a loop does not end, but {verdict}")
        if verdict.claim in ("bounded loops", "within limits"):
            continue
        if (parted and verdict.claim in ("no races", "written before read")) or (
            verdict.claim != "in bounds" and ("in bounds", verdict.array) in anywhere
        ):
            continue
        counts[verdict.status] += 1
        told = bool(verdict.witness and verdict.witness.given)
        if told and broken[0] & {("in bounds", "x"), ("in bounds", "z")}:
            continue  # what is made up beyond the end of an array, nobody reads
        if verdict.status == "proven" and key in anywhere:
            raise Wrong(f"seed {seed}: {verdict}")
        if (
            own
            and verdict.status == "refuted"
            and verdict.array in own
            and verdict.witness
            and verdict.witness.contents
        ):
            if not any(key in faults(run) for run in own[verdict.array]):
                raise Wrong(f"seed {seed}: {verdict}")
            continue
        if verdict.status == "refuted" and not all(key in b for b in broken[: 1 if told else None]):
            raise Wrong(f"seed {seed}: {verdict}")
        if verdict.witness and len(runs) == 1 and not is_made(runs[0], verdict.witness):  # no data play a part
            raise Wrong(f"seed {seed}: no invocation does what its witness says: {verdict}")
    return counts


def same_on_engines(seed: int, *devices: Device) -> bool:
    """Whether a random kernel could be run: it breaks no claim, whatever floats decide. Then the interpreter, and each
    device with and without run-time checks, leave the same bits, but for elements that hang on the order of atomics.
    Raises Wrong."""
    with new_arena():
        kernel = finish(Maker(seed, wild=True, rounding=False).kernel())
        values = contents(kernel, np.random.default_rng(seed), 64)
        runs = [observe(kernel, values, salt) for salt in (seed, seed + 1)]
        if any(faults(run) or run.wrapped for run in runs):
            return False
        arrays = {b.name: np.array(values.get(b, range(b.length)), b.dtype.numpy) for b in kernel.buffers}
        checked = needs_checks(kernel)
        loose = {(b.name, element) for run in runs for b, element in by_order(run)}
        expected = {name: a.copy() for name, a in arrays.items()}
        interpret(kernel, [expected[b.name] for b in kernel.buffers])
        for device, with_checks in product(devices, {True, checked}):
            program = compile_kernel(kernel, checked=with_checks)
            buffers = [device.upload(arrays[b.name]) for b in kernel.buffers]
            device.launch(program, buffers)
            for b, buffer in zip(kernel.buffers, buffers, strict=True):
                found = buffer.read(b.dtype.numpy, b.length)
                for element in [element for name, element in loose if name == b.name]:
                    found[element] = expected[b.name][element]
                if not np.array_equal(found, expected[b.name]):
                    on = f"on {device.runtime.name} with checks={with_checks}"
                    first = int(np.flatnonzero(found != expected[b.name])[0])
                    raise Wrong(
                        f"seed {seed}: {b.name}[{first}] is {found[first]} {on}, not {expected[b.name][first]}; "
                        f"it was {arrays[b.name][first]}\n{print_wgsl(lower(kernel))}"
                    )
    return True


def text_for_tint(seed: int) -> str:
    """A random kernel as Tint reads it; '' where a barrier may part its threads, which Tint refuses."""
    with new_arena():
        kernel = finish(Maker(seed, wild=True).kernel())
        barriers = [v.status for v in verify(kernel).verdicts if v.claim == "uniform barriers"]
        return print_wgsl(lower(kernel), "tint") if barriers == ["proven"] else ""
