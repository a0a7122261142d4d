"""Every kernel of the project and of its examples: proven, guarded, accused of nothing, accepted by Tint and NVRTC.

They are traced once for all of these, which takes half a minute: `tests/conftest.py` has one worker run both files of
this name.
"""

import os
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import kernels
import numpy as np
import nvrtc
import pytest
from every_kernel import every_kernel, kernels_of_the_package
from mutants import put
from shares import ALL
from test_guarded import open_indices
from test_verify import DEVICE
from tint import refusals

from cutepy.errors import KernelError, VerificationError
from cutepy.gpu.inspect.race_detector import interpret_checked
from cutepy.gpu.ir import Barrier, Builtin, Call, Kernel, MatrixCall, all_nodes, new_arena, statements
from cutepy.gpu.lower import compile_kernel, lower
from cutepy.gpu.runtime.program import MATRICES
from cutepy.gpu.targets.cuda import write_cuda
from cutepy.gpu.targets.export.describe import for_tint
from cutepy.gpu.targets.interpreter import interpret
from cutepy.gpu.targets.wgsl import print_wgsl, write_wgsl
from cutepy.gpu.trace.call import copies_on_host
from cutepy.gpu.verify import verify
from cutepy.gpu.verify.shadow_memory import Checks, Race

SECONDS = 2


#: Kernels with a collective of their own, or that show the size of their subgroups.
SHOWING = "traced lanes", "example int4_matvec, uneven", "example int4_matvec, short"


def test_they_are_proven() -> None:
    found = {
        name: run.kernel.verify(*run.arguments, limits=DEVICE, **run.static) for name, run in every_kernel().items()
    }
    # Which part of a row a workgroup has is a product of its number and of a size: nothing is told of owners.
    parts = "scan_kernel", "softmax_quotients_kernel"
    open_ = {name: v for name, v in found.items() if not v.ok and name not in SHOWING}
    assert {v.claim for name, v in open_.items() if name.startswith(parts) for v in v.undecided} <= {"no races"}
    assert {name: str(v) for name, v in open_.items() if not name.startswith(parts)} == {}
    for name in SHOWING:
        assert [v.claim for v in found[name].verdicts if v.status != "proven"] == ["any subgroup size"], name


def test_none_is_left_out() -> None:
    held = {run.kernel.function for run in every_kernel().values()}
    assert not [name for name, kernel in kernels_of_the_package().items() if kernel.function not in held]


def test_guarded_texts_keep_every_index_in_its_array() -> None:
    for name, run in every_kernel().items():
        with new_arena():
            assert open_indices(_of_these_sizes(run)) == [], name


def test_the_text_that_is_exported_is_the_one_for_tint() -> None:
    for name, run in every_kernel().items():
        kernel = run.kernel.ir(*run.arguments, **run.static)
        with new_arena():
            program = compile_kernel(kernel)
            if MATRICES not in program.needs:
                assert _code(for_tint(program)) == _code(compile_kernel(kernel, dialect="tint").wgsl), name


def _of_these_sizes(run: Any) -> Kernel:
    """The kernel with the numbers of its call in the place of sizes."""
    call = run.kernel._bind(run.arguments, run.static)
    sized = run.kernel._sized(call)
    found: Kernel = run.kernel.ir(*run.arguments, **run.static) if sized is None else sized.kernel
    return found


def _code(text: str) -> list[str]:
    """The lines of a text that hold code, its directives in one order: comments may stand between these."""
    lines = [line for line in text.splitlines() if line and not line.startswith("//")]
    return sorted(lines, key=lambda line: (not line.startswith("enable"), line * line.startswith("enable")))


def test_none_is_accused() -> None:
    for name, run in every_kernel().items():
        arrays = [part.copy() if isinstance(part, np.ndarray) else part for part in run.arguments]
        try:
            run.kernel.interpret(*arrays, check=True, **run.static)
        except VerificationError as error:
            pytest.fail(f"{name}: {error}")


def test_a_barrier_left_out_is_found_where_verify_says_so() -> None:
    """The first of a kernel, or the last. Where memory decides nothing, refuted and found are the same."""
    counts: Counter[tuple[str, str]] = Counter()
    for number, (name, run) in list(enumerate(every_kernel().items()))[:: 1 if ALL else 3]:
        call = run.kernel._bind(run.arguments, dict(run.static))
        kernel = _of_these_sizes(run)
        barriers = [s for s in statements(kernel.body) if isinstance(s, Barrier)]
        for stmt in barriers[:1] if number % 2 else barriers[-1:]:
            with new_arena():
                mutant = replace(kernel, body=put(kernel.body, stmt, ()))
                verdicts = [v for v in verify(mutant).verdicts if v.claim in ("no races", "written before read")]
                said = max((v.status for v in verdicts), key=["proven", "undecided", "refuted"].index)
                try:
                    interpret_checked(mutant, copies_on_host(call), call.params)
                    if said == "refuted" and kernel.lanes <= 4:  # in small subgroups alone, perhaps
                        small = {"subgroup_size": 4, "watch": Checks(mutant)}
                        interpret(mutant, copies_on_host(call), call.params, **small)
                    found = "nothing"
                except (VerificationError, Race):
                    found = "found"
            counts[said, found] += 1
            given = any(v.witness and v.witness.given for v in verdicts)
            assert said == "undecided" or given or found == {"proven": "nothing", "refuted": "found"}[said], name
    assert counts["refuted", "found"] > (110 if ALL else 30), counts


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Every kernel for Tint, as it is printed where it is proven, and with the checks in its text."""
    found = {}
    for name, run in every_kernel().items():
        found[name] = run.wgsl("tint")
        with new_arena():
            kernel = lower(run.kernel.ir(*run.arguments, **run.static))
            found[f"{name}, guarded"] = write_wgsl(kernel, "tint", guarded=True).text
    for name, make in kernels.CASES.items():
        with new_arena():
            found[f"IR {name}"] = print_wgsl(lower(make().kernel), "tint")
    return found


def test_tint_accepts_them(texts: dict[str, str]) -> None:
    assert len(texts) > 300
    start = time.process_time()
    assert refusals(texts) == {}
    assert time.process_time() - start < SECONDS


def test_cuda_refuses_matrices_at_their_line() -> None:
    refused = 0
    for run in every_kernel().values():
        kernel = run.kernel.ir(*run.arguments, **run.static)
        if any(b.dtype.kind == "m" for b in kernel.local):
            refused += 1
            with pytest.raises(KernelError, match=r"CUDA C\+\+ has no .*matri.* of a subgroup"):
                write_cuda(lower(kernel))
    assert refused


def constructs(kernel: Kernel) -> set[object]:
    """What a printer spells of a kernel: each statement, function and operator with the types and widths it is for."""

    def typed(x: Any, *of: Any) -> tuple[object, ...]:
        word = x.name if isinstance(x, Builtin | Call | MatrixCall) else getattr(x, "op", "")
        space = x.buffer.space if hasattr(x, "buffer") else ""
        return type(x), word, space, *[(y.dtype, y.lanes) for y in of]

    nodes = {typed(x, x, *x.operands) for x in all_nodes(kernel.body)}
    return nodes | {typed(s, *s.expressions) for s in statements(kernel.body)}


@pytest.mark.skipif(
    bool(nvrtc.missing()) and os.environ.get("CUTEPY_REQUIRE_NVRTC", "0") == "0",
    reason=f"no NVRTC: {nvrtc.missing()} not installed",
)
def test_nvrtc_takes_every_kernel() -> None:
    """`CUTEPY_REQUIRE_NVRTC=1` (CI sets it) insists. Every construct of every kernel is compiled; `make laws` compiles
    all kernels."""
    refusals, compiled, met = {}, 0, set[object]()
    for name, run in every_kernel().items():
        with new_arena():
            kernel = lower(run.kernel.ir(*run.arguments, **run.static))
            try:
                texts = write_cuda(kernel).text, write_cuda(kernel, guarded=True).text
            except KernelError as error:
                assert "of a subgroup" in str(error)
                continue
        if not ALL and constructs(kernel) <= met:
            continue
        met |= constructs(kernel)
        compiled += 1
        said = nvrtc.refusal(texts[compiled % 2])
        if said:
            refusals[name] = said
    assert refusals == {} and compiled > (150 if ALL else 40)
