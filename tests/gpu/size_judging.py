"""What is said for all sizes, judged at sizes: by the prover of known sizes, by the interpreter, by z3 over integers.

`SUBJECTS` are fifty kernels: right ones, wrong ones, the examples, and texts of `size_programs`.
"""

from __future__ import annotations

import importlib
import linecache
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from types import FunctionType

import numpy as np
import size_programs
from example_cases import FOLDER
from size_kernels import CASES, WRONG, some, whole, wrong_arguments

from cutepy.errors import CutepyError, KernelError, VerificationError
from cutepy.gpu.inspect.race_detector import interpret_checked
from cutepy.gpu.ir import new_arena
from cutepy.gpu.runtime.program import Limits, evaluate
from cutepy.gpu.trace.call import copies_on_host
from cutepy.gpu.trace.kernel import KernelFunction, SizedLaunch, Traced
from cutepy.gpu.trace.unknown_sizes import of_sizes, plain_layout, tells_apart
from cutepy.gpu.verify import Status, Verification, verify

MANY = Limits(workgroups=1 << 20, workgroup_bytes=1 << 17)


@dataclass(frozen=True)
class Subject:
    """A kernel for unknown sizes, and arguments for it by its sizes; `edges` are those around which it changes."""

    name: str
    kernel: KernelFunction
    unknowns: int
    arguments: Callable[..., tuple[object, ...]]
    static: tuple[tuple[str, object], ...] = ()
    edges: tuple[int, ...] = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33)

    def sizes(self) -> list[tuple[int, ...]]:
        """All to 300 of one unknown, all to 40 of two, around the edges of tiles of three."""
        if self.unknowns == 1:
            return [(n,) for n in range(1, 301)]
        if self.unknowns == 2:
            return [(m, n) for m in range(1, 41) for n in range(1, 41)]
        few = self.edges if self.unknowns == 3 else self.edges[::3]
        return list(product(few, repeat=self.unknowns))


def _of_case(name: str) -> Subject:
    case = CASES[name]
    return Subject(name, case.kernel, case.unknowns, lambda *sizes: (*case.numbers, *case.arrays(*sizes)))


def _of_wrong(name: str) -> Subject:
    kernel, unknowns = WRONG[name]
    return Subject(f"wrong: {name}", kernel, unknowns, partial(wrong_arguments, name))


def _of_text(seed: int) -> Subject:
    text, _unknowns = size_programs.text_of(seed)
    kernel = size_programs.made(text, f"<sizes {seed}>")
    letters = sorted({n for spec in kernel._specs.values() for n in spec.shape if isinstance(n, str)})
    return Subject(
        f"text {seed}",
        kernel,
        len(letters),
        lambda *sizes: tuple(size_programs.arrays_for(kernel, dict(zip(letters, sizes, strict=True)))),
    )


#: Sizes of the tensors of examples, by kernel; what a row is held in, where its length is no number.
EXAMPLES: dict[str, tuple[str, dict[str, str], dict[str, object]]] = {
    "saxpy": ("saxpy", {"x": "(n)", "y": "(n)"}, {}),
    "dropout": ("dropout", {"x": "(n)", "y": "(n)"}, {}),
    "histogram": ("histogram", {"x": "(n)", "counts": "(40)"}, {}),
    "transpose": ("transpose", {"x": "(M,N)", "y": "(N,M)"}, {}),
    "matmul": ("matmul", {"A": "(M,K)", "B": "(N,K)", "C": "(M,N)", "D": "(M,N)"}, {}),
    "softmax": ("softmax", {"x": "(M,N)", "y": "(M,N)"}, {"width": 128}),
    "layer_norm": ("layer_norm", dict.fromkeys(("x", "gain", "bias", "y"), "(M,N)"), {"width": 128}),
    "backward": ("layer_norm", dict.fromkeys(("x", "gain", "dy", "dx"), "(M,N)"), {"width": 128}),
    "top_k": ("top_k", {"x": "(M,N)", "values": "(M,k)", "places": "(M,k)"}, {"width": 128}),
    "sum_parts": ("scan", {"x": "(n)", "sums": "(p)"}, {}),
    "scan_parts": ("scan", {"x": "(n)", "sums": "(p)", "y": "(n)"}, {}),
    "matvec": ("int4_matvec", {"weights": "(R,W)", "scales": "(R,G)", "x": "(C)", "y": "(R)"}, {"plan": (4, 64, 2)}),
    "attention": ("attention", dict.fromkeys("QKVO", "(L,32,H)"), {"causal": False}),
    "causal": ("attention", dict.fromkeys("QKVO", "(L,32,H)"), {"causal": True}),
}


def plain_kernel(name: str) -> KernelFunction:
    """The kernel of an example, as it is written."""
    assert str(FOLDER) in sys.path
    kernel: KernelFunction = getattr(
        importlib.import_module(EXAMPLES[name][0]), {"causal": "attention"}.get(name, name)
    )
    return kernel


@cache
def example_kernel(name: str) -> KernelFunction:
    """The kernel of an example, with its sizes unknown."""
    _module, notes, _static = EXAMPLES[name]
    function = plain_kernel(name).function
    own = FunctionType(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
    own.__kwdefaults__ = function.__kwdefaults__
    own.__annotations__ = {**function.__annotations__, **notes}
    return KernelFunction(own)


def _of_example(name: str) -> Subject:
    _module, notes, static = EXAMPLES[name]
    kernel = example_kernel(name)
    letters = sorted({n for spec in kernel._specs.values() for n in spec.shape if isinstance(n, str)})
    parameters = [p for p in kernel.signature.parameters.values() if p.kind is not p.KEYWORD_ONLY]
    whole_numbers = {"counts", "places", "sums", "weights"} | (
        {"x"} if name in ("histogram", "sum_parts", "scan_parts") else set()
    )

    def arguments(*sizes: int) -> tuple[object, ...]:
        numbers = dict(zip(letters, sizes, strict=True))
        if name == "matvec":  # a scale for 32 columns, eight weights in a word
            numbers |= {"C": 32 * numbers["C"], "G": numbers["C"], "W": 4 * numbers["C"]}
        made: list[object] = []
        for p in parameters:
            if p.name not in notes:
                made.append(np.uint32(7) if p.name == "seed" else 2.0)
                continue
            shape = [n if isinstance(n, int) else numbers[n] for n in kernel._specs[p.name].shape]
            made.append((whole if p.name in whole_numbers else some)(*shape))
        return tuple(made)

    more: dict[str, object] = {"dropout": {"keep": 0.9}, "matmul": {"prologue": _same, "epilogue": _second}}.get(
        name, {}
    )
    if name == "matvec":
        letters = ["C", "R"]
    return Subject(f"example {name}", kernel, len(letters), arguments, tuple({**static, **more}.items()))


def _same(x: object) -> object:
    return x


def _second(x: object, d: object) -> object:
    return d


@cache
def subjects() -> dict[str, Subject]:
    """The fifty, by name."""
    found = [*map(_of_case, CASES), *map(_of_wrong, WRONG), *map(_of_example, EXAMPLES)]
    found += [_of_text(seed) for seed in range(50 - len(found))]
    return {subject.name: subject for subject in found}


# What is said for all sizes.


@dataclass(frozen=True)
class Said:
    """A call by the form for its class of sizes, whether it is launched so or not; and what is said for all sizes."""

    launch: SizedLaunch
    verification: Verification
    known: Verification | None = None

    def applies(self) -> bool:
        """Whether these sizes are those that it is said of."""
        plan, values = self.launch.traced.plan, self.launch.call.values
        assert plan is not None and values is not None
        if plan.broken(values) is not None or not 1 <= min(self.launch.grid) <= max(self.launch.grid) <= 65535:
            return False
        formulas = self.launch.traced.formulas
        for form in (c for v in self.verification.verdicts for c in v.conditions):
            numbers = [(formulas.get(getattr(atom, "name", "")), c) for atom, c in form.terms.items()]
            if any(formula is None for formula, _ in numbers):
                return False
            if form.constant + sum(c * evaluate(f, values) for f, c in numbers if f is not None) > 0:
                return False
        return all(
            a.tensor is None or not self.launch.traced.kernel.buffers[a.slot].writable or tells_apart(plain_layout(a))
            for a in self.launch.call.arguments
            if a.sizes is not None
        )


_SAID: dict[int, tuple[Traced, Verification]] = {}


def said_for(kernel: KernelFunction, arguments: Iterable[object], **static: object) -> Said | str:
    """What is said of the class of a call; or why nothing is."""
    call = kernel._bind(tuple(arguments), static)
    sized = of_sizes(call, kernel._specs, kernel.given, kernel.often)
    if isinstance(sized, str):
        return sized
    try:
        traced = kernel._form_of(sized, True)
    except CutepyError as error:
        return str(error)
    if id(traced) not in _SAID:  # the form is kept with it: no other has its number
        _SAID[id(traced)] = traced, verify(traced.kernel, MANY, prover="cutepy")
    assert traced.plan is not None and sized.values is not None
    params, grid = traced.plan.host(sized.values)
    return Said(SizedLaunch(traced, sized, params, grid), _SAID[id(traced)][1])


def judge_at(said: Said, text: str) -> Counter[str]:
    """What was said, beside what is so at the sizes of the call. AssertionError where a proof is false, or where what
    is refuted holds."""
    if not said.applies():
        return Counter({"sizes that nothing is said of": 1})
    proven = {(v.claim, v.array) for v in said.verification.verdicts if v.status is Status.PROVEN}
    with new_arena():
        known = said.launch.verify(MANY)
        wrong = proven & {(v.claim, v.array) for v in known.refuted}
        assert not wrong, f"FALSE PROOF, says the prover of known sizes: {wrong} of {text}\n{said.verification}"
        failed = ""
        try:
            call = said.launch.call
            interpret_checked(said.launch.kernel, copies_on_host(call), call.params)
        except (VerificationError, KernelError) as error:
            failed = str(error)
        assert not (failed and said.verification.ok), f"FALSE PROOF, says the interpreter: {text}: {failed}"
    if said.verification.ok:
        return Counter({"proven": 1})
    held = {(v.claim, v.array) for v in known.verdicts if v.status is Status.PROVEN}
    return Counter({"undecided, and holds here" if held >= _claims(said) else "undecided": 1})


def _claims(said: Said) -> set[tuple[str, str]]:
    return {(v.claim, v.array) for v in said.verification.verdicts}


def brute(subject: Subject, sizes: Iterable[tuple[int, ...]]) -> tuple[Counter[str], dict[str, int], list[str]]:
    """Over these sizes: what was found, how often each reason was given for nothing being said, and faults."""
    found: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    faults: list[str] = []
    for each in sizes:
        text = f"{subject.name} at {each}"
        try:
            said = said_for(subject.kernel, subject.arguments(*each), **dict(subject.static))
        except CutepyError as error:  # that the kernel refuses, whatever it is traced for
            found["refused"] += 1
            reasons[str(error)] += 1
            continue
        if isinstance(said, str):
            found["sizes that nothing is said of"] += 1
            reasons[said] += 1
            continue
        try:
            found += judge_at(said, text)
        except AssertionError as error:
            found["FAULTS"] += 1
            faults.append(str(error))
        for v in said.verification.undecided:
            reasons[f"{v.claim} {v.array}: {v.reason}"] += 1
    return found, dict(reasons), faults


def by_integers(subject: Subject, seconds: float = 2.0) -> Iterator[tuple[str, str]]:
    """What z3 says of the classes of a kernel: with vectors and without."""
    from integer_judge import compared

    seen: set[int] = set()
    for each in ((8,) * subject.unknowns, (7, 5, 3, 2)[: subject.unknowns]):
        try:
            said = said_for(subject.kernel, subject.arguments(*each), **dict(subject.static))
        except CutepyError as error:
            yield "refused", f"{subject.name}: {error}"
            continue
        if isinstance(said, str):
            yield "nothing is said", f"{subject.name}: {said}"
        elif id(said.launch.traced) not in seen:
            seen.add(id(said.launch.traced))
            for kind, what in compared(said.launch, said.verification.verdicts, seconds):
                yield kind, f"{subject.name}: {what}"


def judge_text(seed: int, seconds: float = 1.0) -> tuple[Counter[str], list[str]]:
    """A random kernel at twelve sizes, by all judges; and what is undecided though it holds."""
    found, told = size_programs.judge(seed), []
    subject = _of_text(seed)
    for kind, what in by_integers(subject, seconds):
        found[f"z3: {kind}"] += 1
        if kind in ("FALSE PROOF", "FALSE REFUTATION"):
            found["FAULTS"] += 1
        if kind not in ("confirmed", "undecided and fails"):
            told.append(f"{kind}: {what}")
    linecache.cache.pop(f"<sizes {seed}>", None)
    return found, told
