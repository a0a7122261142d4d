"""`@kernel`: a Python function over tensors becomes a GPU kernel, traced once for each combination of layouts.

Positional arguments vary: tensors become bindings, numbers become parameters in the uniform buffer. Keyword-only
arguments are static: Python values that the trace may branch on. What was traced is kept by the layouts, the types and
the static values.
"""

import gc
import inspect
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any, Literal, overload
from warnings import warn

import numpy as np

from ...errors import CutepyError, KernelError, VerificationError
from ...layout.affine import Affine
from ...layout.algebra.conflict_free import Found
from ...layout.values.methods import NotebookRepr
from ...layout.values.size import Undecided
from ...tensor.dtypes import as_dtype, u32
from ...tensor.engine import ALLOCATOR
from ...tensor.packed import words_as
from ...tensor.tensor import Tensor
from ..inspect.race_detector import Replay, interpret_checked, replay
from ..inspect.report import Hardware, Report, report
from ..inspect.solve_shared import cost, found_for
from ..inspect.stepper import Step, steps
from ..inspect.tune import Choice, TuningOptions, tune_kernel
from ..ir import (
    Buffer,
    ElementOrder,
    Expr,
    Kernel,
    Param,
    Print,
    SizeFacts,
    Stated,
    all_nodes,
    const,
    new_arena,
    param,
    statements,
    substitute,
    weak_param,
    without,
)
from ..ir.expr import Arena
from ..ir.operators import SUBGROUP_SIZES, U32_LIMIT
from ..ir.place import KERNEL_FILE, place_of
from ..ir.ranges import linear
from ..lower import compile_kernel, drop_unused, finish, lower, stated_alone
from ..runtime import Device, default_device
from ..runtime.call_cache import RepeatedCalls, with_room
from ..runtime.formulas import Formula
from ..runtime.program import LaunchPlan, Limits, Program, Size3
from ..runtime.timing import Tuning
from ..targets.cuda import write_cuda
from ..targets.export import Export, ExportedFunction, TestedCall, describe_programs, export, page_text, seeded
from ..targets.export.describe import BoundMemory, Form, Number, View
from ..targets.interpreter import interpret
from ..targets.wgsl import Dialect, print_wgsl
from ..verify import (
    CHECKS,
    Claim,
    Verification,
    check_matrices,
    conditions_for_all_sizes,
    needs_checks,
    verify,
    with_wider_vectors,
)
from ..verify.collect import uses_matrices
from ..verify.confine import confine
from ..verify.for_all_sizes import condition_text
from .call import (
    BoundArguments,
    Parts,
    Ready,
    aliases,
    bind_call,
    copies_on_host,
    device_of,
    has_subgroups,
    launch_on_device,
    limits_of,
    quick_call,
    ready,
    run_on_host,
    views_of,
)
from .captures import Captures
from .counter_sizes import refuted
from .engine import BufferEngine
from .exported_sizes import exported_sizes, whole_numbers
from .hook_functions import target
from .memory import allocate
from .recipe import KEPT as RECIPES_KEPT
from .recipe import Recipe, recipe_for, replayed
from .rewrite_source import text_of
from .sizes import LARGEST, Facts, KernelSize, Sizes, contradiction, divisors_of
from .source import check_limits, naming, unbound
from .state import _TRACE, MOST_GROUPS, Trace
from .stated import state_bounds, state_order
from .unhashable import unhashable
from .unknown_sizes import (
    WIDEST,
    SizeSpec,
    aligned_class,
    by_itself,
    check_names,
    classes_of,
    host_checks,
    looks_at_offsets,
    of_sizes,
    plain_layout,
    rank_of,
    sizes_of_parameter,
    sizes_told,
    spec_of,
    specs_of,
    stand_ins,
    tells_apart,
    unaligned,
    written_view,
)

#: Traced forms that one kernel keeps; the one used longest ago goes first.
Sizing = Literal["annotated", "unknown", "known"] | Mapping[str, str]
"""Which tensors of an exported kernel have sizes that its calls give."""
KEPT = 128


@contextmanager
def _uncollected() -> Iterator[None]:
    """No search for garbage: what a trace makes lives until it ends, and would be walked again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@dataclass(slots=True)
class Traced:
    """One traced form of a kernel, with its programs, and what has been proven about it; `told` is what is interpreted:
    the kernel, with what it prints. `asked` tells that it is another on a device without subgroups; `arena` is where it
    was traced, up to its first program, and of a form for unknown sizes up to its proof: its text is the same whoever
    asks for it, and the interpreter asks for none.

    `views` are the arrays with other elements between those that were given: what is `ready` to print writes none of
    these, where `kernel` is not proven to keep inside its shapes.

    A form for unknown sizes has a `plan`, whose conditions are those of its proof as well once it is `judged`, and the
    formulas of its parameters; `refused` says why it is not launched. `numbers` tells that its conditions ask for
    numbers of a call beside its sizes, which another call of the same layouts may break."""

    kernel: Kernel
    told: Kernel
    places: Mapping[str, str]
    asked: bool
    arena: Arena | None
    views: frozenset[str]
    ready: Kernel
    programs: dict[tuple[Dialect, bool], Program] = field(default_factory=dict)
    proven: bool | None = None
    whole: bool = False
    plan: LaunchPlan | None = None
    formulas: Mapping[str, Formula] = field(default_factory=dict)
    refused: str = ""
    numbers: bool = False
    verified: dict[object, Verification] = field(default_factory=dict)

    def printed(self) -> "Traced":
        """The same, with the program that everything else is made of."""
        if not self.programs:
            with new_arena(self.arena):
                self.kernel = with_wider_vectors(self.kernel)
                self.ready = confine(self.kernel, self.views)
                self.programs["naga", True] = compile_kernel(self.ready)
            self.arena = None if self.plan is None else self.arena
        return self

    def judged(self) -> "Traced":
        """The same form for unknown sizes, with what its proof asks of them."""
        if self.proven is None and self.plan is not None:
            found = conditions_for_all_sizes(self.kernel, self.arena)
            self.arena = None
            self.numbers = any(self._number(p) for form in found or () for p in form.terms)
            self.proven = found is not None and not (_is_stated(self.kernel) and needs_checks(self.ready))
            if found is None:
                self.refused = "it is not proven to stay inside its tensors for all sizes"
            else:
                sizes = self.kernel.sizes
                more = tuple([(self._not_above_0(form), condition_text(form, sizes), False) for form in found])
                self.plan = replace(self.plan, conditions=(*self.plan.conditions, *more))
            self.programs = {key: replace(program, plan=self.plan) for key, program in self.programs.items()}
        return self

    def _number(self, atom: Expr) -> bool:
        """Whether an atom of a condition is a number of the call, no size."""
        return isinstance(atom, Param) and atom.name not in self.formulas

    def _not_above_0(self, form: Affine[Expr, int]) -> Formula:
        """A sum of parameters, times -1, as a formula."""
        parts = [("*", -c, self.formulas.get(p.name, p.name)) for p, c in form.terms.items() if isinstance(p, Param)]
        return ("+", -form.constant, *parts)

    def checked(self, checks: object) -> bool:
        """Whether it is launched with checks: without where it is proven not to need them."""
        if checks not in CHECKS:
            raise KernelError(f"{self.kernel.name}(checks={checks!r}): there are {' and '.join(map(repr, CHECKS))}")
        if not self.whole:
            check_matrices(self.kernel)
            self.whole = True
        if checks == "auto" and self.proven is None:
            self.proven = not needs_checks(self.ready)
        return checks == "always" or not self.proven

    def program(self, dialect: Dialect, checked: bool) -> Program:
        """What is launched. naga's modules have checks of their own; for Tint they are printed."""
        key = dialect, checked
        if key not in self.programs:
            if dialect == "naga":
                self.programs[key] = replace(self.programs["naga", not checked], checked=checked)
            else:
                with new_arena():
                    self.programs[key] = compile_kernel(self.ready, dialect=dialect, checked=checked, guarded=checked)
        return self.programs[key]


def _is_stated(kernel: Kernel) -> bool:
    """Whether the user says something of data in it."""
    return any(isinstance(stmt, Stated) for stmt in statements(kernel.body))


@dataclass(slots=True)
class KernelStats:
    """What a kernel has cost so far: traces, and proofs of traced forms; `again` of the traces made anew what had been
    given up for others, of which a kernel keeps so many."""

    traces: int = 0
    proofs: int = 0
    again: int = 0
    seen: set[int] = field(default_factory=set, repr=False)


def _is_own(file: str) -> bool:
    """Whether a file is one of cutepy's, whose kernels are called with plans for sizes."""
    return Path(file).is_relative_to(Path(__file__).parents[2])


@dataclass(frozen=True, slots=True)
class SizedLaunch:
    """A call by a form for unknown sizes: its parameters that follow from the sizes, and its grid. Where `exact`, the
    form serves all calls of that class."""

    traced: Traced
    call: BoundArguments
    params: Mapping[str, int]
    grid: Size3
    exact: BoundArguments | None = None

    @property
    def kernel(self) -> Kernel:
        """The kernel with the numbers of this call in the place of sizes: one of known sizes."""
        return self._put(self.traced.kernel)

    def known(self, call: BoundArguments) -> Kernel:
        """The same, with what it prints."""
        return self._put(self.traced.told)

    def _put(self, kernel: Kernel) -> Kernel:
        lengths = {a.name: a.length for a in self.call.arguments if a.tensor is not None and a.sizes is not None}
        with new_arena():
            return replace(substitute(kernel, self.params, lengths, self.grid), sizes=None)

    def verify(self, limits: Limits | None = None) -> Verification:
        """What the prover of known sizes says."""
        return verify(self.kernel, limits)


def _refuse_refuted(verdict: Verification) -> None:
    """Raise VerificationError for what is refuted, but for limits: an exported function asks its device for them."""
    wrong = [v for v in verdict.refuted if v.claim is not Claim.WITHIN_LIMITS]
    if wrong:
        claims = "; ".join(" ".join(str(v).split()) for v in wrong)
        raise VerificationError(
            f"{verdict.kernel} is not exported: {claims}; mend it, say what holds of its data (gpu.assume), or export "
            "it all the same (refuted=True, --refuted)"
        )


def _only_known(name: str, reason: str, unsaid: Sequence[str] = ()) -> KernelError:
    """The error of a kernel that has no form for unknown sizes; of the tensors `unsaid` no sizes are said."""
    more = (
        f"say the sizes of {', '.join(unsaid)} too, by an annotation or sizes={{{unsaid[0]!r}: '(N)'}}, or "
        if unsaid
        else ""
    )
    return KernelError(
        f"{name}: no form of it is for unknown sizes: {reason}; {more}sizes='known' exports it for these alone"
    )


class KernelText(str):
    """The text of a kernel, which a session shows as it is printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class KernelFunction(NotebookRepr):
    """A kernel that can be run, printed and interpreted; `@kernel` makes it.

    `k(A, B, ..., static=...)` runs it on the device of its tensors, or, for arrays of the host, on the default device
    with the results copied back. `.interpret(...)` runs it on host arrays without a device, `.wgsl(...)` is its text,
    `.ir(...)` its IR, `.program(...)` what a runtime takes, `.verify(...)` what is proven about it.

    A kernel that is proven in bounds, with bounded loops, runs without the runtime's checks of both; `checks="always"`
    keeps them.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> @gpu.kernel
    ... def twice(x, y):
    ...     gpu.launch(threads=4)
    ...     y[gpu.thread] = 2 * x[gpu.thread]
    >>> x, y = np.arange(4, dtype=np.uint32), np.zeros(4, np.uint32)
    >>> twice.interpret(x, y); y.tolist()
    [0, 2, 4, 6]
    >>> twice.verify(x, y).ok, twice.replay(x, y), twice.ir(x, y).threads
    (True, (), 4)
    >>> [(text.count("x["), text.count("y[")) for text in (twice.wgsl(x, y), twice.cuda(x, y))]
    [(1, 1), (1, 1)]
    >>> twice.program(x, y).entry, len(twice.exported(x, y).texts), type(twice.tested(x, y)).__name__
    ('twice', 1, 'TestedCall')
    >>> print(str(twice.report(x, y)).splitlines()[0])
    twice: 1 workgroups of 4 threads, 0 bytes of workgroup memory, 0 FLOP
    >>> len(list(twice.steps(x, y)))  # from barrier to barrier
    1
    >>> below_8 = twice.assuming(bounds={"x": (0, 8)})
    >>> below_8.check_assumptions(x, y)  # raises KernelError where an element is 8 or more
    >>> import tempfile
    >>> twice.export(f"{tempfile.mkdtemp()}/twice.js", x, y).module.name
    'twice.js'
    """

    __kernel_parts__ = ("function",)
    _asks_offsets: str | None

    def __init__(
        self, function: Callable[..., None], given: Facts = (), sizes: "str | Mapping[str, str]" = "", often: Facts = ()
    ) -> None:
        self.function = function
        self.given, self.often = given, often
        self._said: Mapping[str, str] = {} if isinstance(sizes, str) else dict(sizes)
        self.size_reason = ""
        self._unsized: dict[Hashable, str] = {}
        self._met: dict[Any, Any] = {}
        self._learns = sizes != "known" and not _is_own(function.__code__.co_filename)
        self.stats = KernelStats()
        self.file = function.__code__.co_filename
        self.captures = Captures(function)
        self._read_signature(None)
        self._traced: OrderedDict[Hashable, Traced] = OrderedDict()
        self._quick: dict[Hashable, Ready] = {}
        self._recipes: dict[Hashable, list[Recipe]] = {}
        self._repeated = RepeatedCalls()
        self._pinned: set[Hashable] = set()
        self._told = False
        self._bounds: Mapping[str, tuple[int, int]] = {}
        self._orders: frozenset[tuple[str, ElementOrder]] = frozenset()
        update_wrapper(self, function)

    def __get__(self, instance: object, owner: type | None = None) -> "KernelFunction":
        if instance is not None and next(iter(self.signature.parameters), "") == "self":
            raise KernelError(
                f"{place_of(self.file, self.function.__code__.co_firstlineno)}: {self.function.__qualname__} is a "
                "method, and a kernel has no object of its own: give it the tensors of the object, and what it needs "
                "beside them as keyword-only arguments"
            )
        return self

    def __repr__(self) -> str:
        return f"<kernel {self.function.__name__}{self.signature}>"

    def __str__(self) -> str:
        """The text that the kernel was loaded from, where it is to be had."""
        return text_of(self.captures.function).rstrip() or repr(self)

    def __call__(self, *args: object, checks: object = "auto", **static: object) -> None:
        if checks == "assumptions":
            self.check_assumptions(*args, **static)
            checks = "auto"
        try:
            if self._is_whole(args, static) and type(checks) is str:
                beside, again = self._beside(args, checks, static), self._repeated.reader(args)
                if again is not None and again(args, beside) is not None:
                    return
                if (recipes := self._recipes.get(beside)) and replayed(recipes, args, beside, self._repeated):
                    return
            self._launch(args, checks, static)
        except CutepyError:
            with self._naming():
                raise

    def _is_whole(self, args: tuple[object, ...], static: dict[str, object]) -> bool:
        """Whether it gives all tensors and numbers by position, and nothing by name but what is static."""
        return len(args) >= self._positional and (not static or static.keys() <= self._static)

    def _beside(self, args: tuple[object, ...], checks: object, static: Mapping[str, object]) -> Hashable:
        """What calls have in common that differ in tensors and numbers alone."""
        return len(args), self.captures.captured(), self.captures.static(static) if static else (), checks

    def _launch(self, args: tuple[object, ...], checks: object, static: dict[str, object]) -> None:
        """A call that no recipe serves."""
        whole = self._is_whole(args, static)
        quick = quick_call(args) if whole else None
        known: Ready | None
        with self._naming():
            if quick is not None:
                dialect = quick.device.dialect
                key = quick.key, self.captures.captured(), self.captures.static(static), checks, dialect
                known = self._quick.get(key) or self._quick.get((key, quick.offsets))
                if known is not None and known.takes(quick.numbers):
                    quick.launch(known)
                    return
            call = self._bind(args, static)
            device = device_of(call)
            asked = [specs_of(call, self._specs)] if self._specs else by_itself(call, self._met) if self._learns else []
            sized, specs = None, {}
            for specs in asked:
                if (sized := self._sized(call, device or default_device(), specs=specs)) is not None:
                    break
            traced = sized.traced if sized else self._form(call)
            if traced.told is not traced.kernel and not self._told:
                self._told = True
                name = self.function.__name__
                warn(f"{name} prints in the interpreter only; {name}.interpret(...) shows it", stacklevel=3)
        device = device or default_device()
        with self._naming():
            if sized is None:
                traced = self._form(call, subgroups="subgroups" in device.features)
            self.stats.proofs += traced.proven is None and checks == "auto"
            program = traced.program(device.dialect, traced.checked(checks))
            params: Mapping[str, float] = call.params
            if sized is not None:
                program, params = replace(program, grid=sized.grid), {**params, **sized.params}
            check_limits(program, traced.kernel, traced.places, device.limits, device.features, device.adapter.name)
            launch_on_device(program, call, params, device)
        served = call if sized is None else sized.exact
        if whole and served is not None:
            recipes = with_room(self._recipes).setdefault(self._beside(args, checks, static), [])
            if not any(recipe.of == (served.key, device.uid) for recipe in recipes):
                if sized is None:
                    recipe = recipe_for(call, args, LaunchPlan((), program.grid), program, device)
                else:
                    form = traced.program(device.dialect, traced.checked(checks))
                    recipe = self._recipe(sized, args, specs, form, device)
                if recipe is not None:
                    recipes[:] = [recipe, *recipes[: RECIPES_KEPT - 1]]
        if quick is not None and not (sized is not None and traced.numbers):
            if len(self._quick) >= KEPT:
                self._quick.clear()
            pinned = call.has_origins and call.key in self._pinned
            own = sized is not None or pinned
            self._quick[(key, quick.offsets) if own else key] = ready(program, call, sized.params if sized else None)

    def _recipe(
        self,
        sized: SizedLaunch,
        args: tuple[object, ...],
        specs: Mapping[str, SizeSpec],
        program: Program,
        device: Device,
    ) -> Recipe | None:
        """The class of a call that was launched by a form for unknown sizes, compiled."""
        call, plan = sized.exact, sized.traced.plan
        if call is None or plan is None:
            return None
        buffers = sized.traced.kernel.buffers
        written = [a.name for a in call.arguments if a.tensor is not None and buffers[a.slot].writable]
        checks = host_checks(call, specs, written)
        *_, serves = classes_of(call, specs, call.values or {}, self.often)
        return recipe_for(call, args, replace(plan, serves=serves, checks=checks), program, device)

    def interpret(self, *args: object, check: object = False, subgroup: object = 0, **static: object) -> None:
        """Run the kernel in NumPy on arrays of the host, in place.

        Subgroups have `subgroup` threads, a power of two from 4 to 128; by default 32, or as many as the kernel needs.
        With `check`, raises VerificationError for a race, a read of shared memory that nobody has written, or a barrier
        that not all threads come to, as they happen for this data; then the arrays are as they were.
        """
        kernel, call = self._told_of(args, static)
        size = self._subgroup_size(subgroup)
        run = interpret_checked if check else interpret
        run_on_host(call, lambda arrays, params: run(kernel, arrays, params, subgroup_size=size))

    def steps(self, *args: object, workgroup: tuple[int, int, int] = (0, 0, 0), **static: object) -> Iterator[Step]:
        """Run one workgroup in NumPy, on copies of the arrays, from barrier to barrier: each step shows where it is,
        who comes there, the shared memory, and the registers of every thread.
        """
        kernel, call = self._told_of(args, static)
        arrays = copies_on_host(call)
        return steps(kernel, arrays, call.params, workgroup)

    def replay(self, *args: object, **static: object) -> tuple[Replay, ...]:
        """What `verify` refutes, on these arrays: the invocations of each counter-example, their lines, their values,
        and a picture of the element. The arrays stay as they are."""
        call = self._bind(args, static)
        traced = self._form_of(call, has_subgroups(call))
        return replay(traced.kernel, copies_on_host(call), call.params, self._verified_known(call))

    def assuming(
        self,
        *,
        bounds: "Mapping[str, tuple[int, int]] | None" = None,
        ascending: Iterable[str] = (),
        distinct: Iterable[str] = (),
    ) -> "KernelFunction":
        """The kernel, of whose arguments is known what `gpu.assume` says at its launch: `bounds={"ids": (0, v)}` says
        that all integers of `ids` are from 0 on and below v, `ascending=["offsets"]` that those of `offsets` ascend,
        `distinct=["ids"]` that no two of `ids` are equal.

        Raises KernelError for a name that is no argument.
        """
        said = ((ElementOrder.ASCENDING, ascending), (ElementOrder.DISTINCT, distinct))
        orders = {(name, order) for order, names in said for name in ([names] if isinstance(names, str) else names)}
        for name in (*(bounds or {}), *(name for name, _order in orders)):
            if name not in self.signature.parameters:
                raise KernelError(
                    f"{self.function.__name__}.assuming(...): there is no argument {name!r}; "
                    f"there are {', '.join(self.signature.parameters)}"
                )
        other = KernelFunction(self.function, self.given, self._said or ("" if self._learns else "known"), self.often)
        other._bounds, other._orders = {**self._bounds, **(bounds or {})}, self._orders | orders
        return other

    def check_assumptions(self, *args: object, **static: object) -> None:
        """Look on the host whether what `gpu.assume` says holds for these arguments; the arrays stay as they are.

        What decides it is interpreted, and nothing else. Raises KernelError with the line and the invocation where it
        does not hold; `kernel(..., checks="assumptions")` looks before it launches.
        """
        kernel, call = self._told_of(args, static)
        if _is_stated(kernel):
            arrays = copies_on_host(call, read_back=True)
            with new_arena():
                interpret(stated_alone(kernel), arrays, call.params)

    def _told_of(self, args: tuple[object, ...], static: dict[str, object]) -> tuple[Kernel, BoundArguments]:
        """What is interpreted; numbers that its parameters cannot hold are refused as a launch refuses them."""
        call = self._bind(args, static)
        if (sized := self._sized(call, judge=False)) is not None:
            return sized.known(call), call
        traced = self._form_of(call, has_subgroups(call))
        if traced.kernel.params:
            with self._naming():
                program = traced.printed().program("naga", True)
                program.pack([call.params[p.name] for p in program.params])
        return traced.told, call

    def at(self, *args: object, dtype: object = "f32", **sizes: object) -> "SizedLaunch":
        """The kernel for unknown sizes with these numbers put in, as one of known sizes: `.kernel` is its IR, and
        `.verify()` what the prover of known sizes says. Sizes of annotations are given by name, and what is static.

        Without arguments the tensors are packed, of `dtype`, the last mode fastest, and numbers are 0.

        >>> from cutepy import gpu
        >>> @gpu.kernel
        ... def copied(x: "(n,)", y: "(n,)"):
        ...     gpu.launch(grid=y.shape, threads=1)
        ...     y[gpu.workgroup.x] = x[gpu.workgroup.x]
        >>> copied.at(n=8).verify().ok
        True

        Raises KernelError where a size of the annotations has no number, or one below 1.
        """
        names = {n for spec in self._specs.values() for n in spec.shape if isinstance(n, str)}
        numbers = {name: n for name, n in sizes.items() if name in names and isinstance(n, int)}
        if not self._specs or (not args and numbers.keys() != names - {"?"}):
            called = f"{self.function.__name__}.at({', '.join(f'{k}={v}' for k, v in sizes.items())})"
            there = ", ".join(sorted(names - numbers.keys())) or "there are none"
            raise KernelError(f"{called}: give each size of the annotations a number: {there}")
        if any(n < 1 for n in numbers.values()):
            told = ", ".join(f"{name}={n}" for name, n in numbers.items())
            raise KernelError(f"{self.function.__name__}.at({told}): sizes are 1 or more")
        kinds = as_dtype(dtype).numpy
        made = args or tuple(
            np.empty([n if isinstance(n, int) else numbers[n] for n in spec.shape], kinds)
            if (spec := self._specs.get(name)) is not None
            else 0
            for name, parameter in self.signature.parameters.items()
            if parameter.kind is not parameter.KEYWORD_ONLY
        )
        call = self._bind(made, {name: value for name, value in sizes.items() if name not in names})
        with self._naming():
            found = self._sized(call, told=True)
        assert found is not None
        return found

    def ir(self, *args: object, **static: object) -> Kernel:
        """The kernel's IR for these arguments."""
        return self._chosen(self._bind(args, static)).kernel

    def program(self, *args: object, checks: object = "auto", dialect: Dialect = "naga", **static: object) -> Program:
        """What a runtime takes: the source and what it needs of a device; for Dawn's, with `dialect="tint"`."""
        traced = self._chosen(self._bind(args, static))
        return traced.program(dialect, traced.checked(checks))

    def verify(
        self, *args: object, limits: Limits | None = None, prover: str | None = None, **static: object
    ) -> Verification:
        """What is proven, refuted or undecided about the kernel for these arguments, whatever their contents.

        `limits` are a device's: by default those of the device of the tensors, or what every WebGPU device can.
        `prover` says who proves: "cutepy", "z3" (an extra), or "auto": z3 what cutepy leaves undecided. The default is
        what the environment variable CUTEPY_PROVER says, else "auto".
        """
        return self._verified(self._bind(args, static), limits, prover)

    def _verified(self, call: BoundArguments, limits: Limits | None = None, prover: str | None = None) -> Verification:
        sized = self._sized(call)
        found = self._verified_of(sized.traced if sized else self._form(call), call, limits, prover)
        return refuted(sized, found) if sized else found

    def _verified_known(self, call: BoundArguments) -> Verification:
        return self._verified_of(self._form(call), call, None)

    def _verified_of(
        self, traced: Traced, call: BoundArguments, limits: Limits | None, prover: str | None = None
    ) -> Verification:
        key = limits if limits is not None else limits_of(call), aliases(call, traced.kernel), prover
        if key not in traced.verified:
            traced.verified[key] = verify(traced.kernel, key[0], aliases=key[1], prover=prover)
        return traced.verified[key]

    def report(
        self, *args: object, subgroup: int = 32, banks: int = 32, segment_bytes: int = 32, **static: object
    ) -> Report:
        """What the kernel asks of memory and arithmetic here: bytes, transactions, bank conflicts, operations.

        The figures are for subgroups of that many threads, memory segments of that many bytes, and workgroup memory in
        that many banks of 4 bytes.
        """
        call = self._bind(args, static)
        sized = self._sized(call)
        with new_arena():
            kernel = sized.kernel if sized is not None else substitute(self._form(call).kernel, call.offsets)
            return report(kernel, Hardware(subgroup, banks, segment_bytes))

    def tune(
        self,
        *args: object,
        over: "Mapping[str, Iterable[object]] | Iterable[Mapping[str, object]]",
        seconds: float = 20.0,
        again: bool = False,
        progress: bool = True,
        **static: object,
    ) -> Tuning[Choice]:
        """Find the fastest of some choices of static arguments for these arguments, and keep it for their class:
        `found = kernel.tune(x, y, over={"threads": (64, 128, 256)}); kernel(x, y, **found.plan)`.

        Of a mapping all combinations are tried, the first of each as the default; or give a list of mappings. Dropped
        unseen is what is refuted here, has twice the bank conflicts of another, or is the program of another. The
        others are timed in turn on copies of the arguments, for about `seconds` in all. What was found before, by any
        process, for the same text, choices, device and class of sizes is given back without a compilation, unless
        `again` is said.

        Raises KernelError for what `over` cannot name, and where no choice could be timed.

        >>> import numpy as np
        >>> from cutepy import gpu
        >>> @gpu.kernel
        ... def twice(x, y, *, threads):
        ...     gpu.launch(grid=x.shape[0] // threads, threads=threads)
        ...     i = gpu.workgroup.x * threads + gpu.thread
        ...     y[i] = 2 * x[i]
        >>> x = np.zeros(256, np.float32)
        >>> try:
        ...     twice.tune(x, x.copy(), over={"lanes": (32, 64)})
        ... except ValueError as error:
        ...     print(error)
        twice.tune: over has lanes, and the static arguments are threads
        """
        given = {name for choice in ([over] if isinstance(over, Mapping) else over) for name in choice}
        if strange := sorted(given - self._static):
            there = ", ".join(sorted(self._static)) or "none"
            raise KernelError(
                f"{self.function.__name__}.tune: over has {', '.join(strange)}, and the static arguments are {there}"
            )
        return tune_kernel(self, args, static, over, TuningOptions(seconds, again, progress))

    def wgsl(self, *args: object, dialect: Dialect = "naga", **static: object) -> str:
        """The WGSL text for these arguments, for naga or for Tint."""
        traced = self._chosen(self._bind(args, static))
        if dialect == "naga":
            return KernelText(traced.program("naga", True).wgsl)
        with new_arena():
            return KernelText(print_wgsl(lower(traced.ready), dialect))

    def cuda(self, *args: object, **static: object) -> str:
        """The CUDA C++ text for these arguments: of a proven kernel as it is, of another with indices kept inside.

        Raises KernelError at the line of what CUDA C++ has no counterpart for.
        """
        traced = self._chosen(self._bind(args, static))
        with new_arena():
            return KernelText(write_cuda(lower(traced.kernel), guarded=traced.checked("auto")).text)

    def exported(
        self, *args: object, sizes: Sizing = "annotated", refuted: bool = False, **static: object
    ) -> ExportedFunction:
        """What another host needs to launch the kernel for these arguments, as data; `gpu.export` writes several.

        Of the tensors whose annotations say sizes, such as "(M,N)", a call gives the sizes; `sizes={"x": "(M,N)"}` says
        them here, "unknown" takes all tensors, "known" none.
        Raises KernelError for a kernel of subgroup matrices, which no browser has, and where nothing is proven for all
        sizes; VerificationError for a kernel that is refuted, unless `refuted` says that it is wanted all the same.
        """
        function, _, verdict = self._described(self._bind(args, static), sizes)
        if not refuted:
            _refuse_refuted(verdict)
        return function

    def _described(
        self, call: BoundArguments, sizes: Sizing
    ) -> tuple[ExportedFunction, dict[str, float], Verification]:
        """The description, the numbers of this call, and what is proven of what it describes."""
        name = self.function.__name__
        if specs := self._exported_specs(call, sizes):
            with self._naming():
                return self._exported_for_sizes(call, specs)
        # A device has subgroups or not: where that makes another text, each is a variant.
        forms = [self._form(call, subgroups=subgroups).program("naga", True) for subgroups in (True, False)]
        views: list[list[View]] = [[] for _ in call.engines]
        for a in call.arguments:
            if a.tensor is not None:
                view: View = {"name": a.name, "type": a.dtype.name, "layout": str(a.tensor.layout), "offset": a.offset}
                views[a.slot].append(view)
        # Where no tensor has every element of its memory, an array may be longer.
        whole = {a.slot for a in call.arguments if a.tensor is not None and (a.packed or a.tensor.size >= a.length)}
        memories = [
            BoundMemory(engine.dtype.name, binding.min_bytes, tuple(views[slot]), slot not in whole)
            for slot, (engine, binding) in enumerate(zip(call.engines, forms[0].bindings, strict=True))
        ]
        variants = [[Form(program, call.offsets)] for program in dict.fromkeys(forms)]
        verdict = self._verified_known(call)
        described = describe_programs(name, variants, memories, [], str(verdict))
        return described, {n["name"]: call.params[n["name"]] for n in described.data["numbers"]}, verdict

    def _exported_specs(self, call: BoundArguments, sizes: Sizing) -> Mapping[str, SizeSpec]:
        name, tensors = self.function.__name__, [a for a in call.arguments if a.tensor is not None]
        if sizes == "annotated":
            return self._specs
        if sizes == "known":
            return {}
        if sizes == "unknown":
            return {a.name: SizeSpec(("?",) * rank_of(a), (None,) * rank_of(a)) for a in tensors}
        if not isinstance(sizes, Mapping) or not sizes.keys() <= {a.name for a in tensors}:
            names = ", ".join(a.name for a in tensors) or "none"
            raise KernelError(
                f"{name}: sizes={sizes!r}: give texts such as '(M,N)' by the names of tensors ({names}), or "
                "'annotated', 'unknown' or 'known'"
            )
        found = {}
        for given, text in sizes.items():
            try:
                spec = spec_of(text)
            except KernelError as error:
                raise KernelError(f"{name}: argument {given}: {error}") from error
            if spec is None:
                raise KernelError(f"{name}: sizes={{{given!r}: {text!r}}}: write '(M,N)', '(M,64)' or '(M,N):(?,1)'")
            found[given] = spec
        check_names(name, found.values())
        return found

    def _exported_for_sizes(
        self, call: BoundArguments, specs: Mapping[str, SizeSpec]
    ) -> tuple[ExportedFunction, dict[str, float], Verification]:
        """The forms for unknown sizes: with vectors, where 4 divides what they need, and without."""
        name = self.function.__name__
        unsaid = [a.name for a in call.arguments if a.tensor is not None and a.name not in specs]
        sized = self._class_of(call, specs)
        if not isinstance(sized, str) and any(a.sizes is not None and a.sizes.view for a in sized.arguments):
            raise _only_known(name, "two of its tensors are one memory under two layouts")
        if isinstance(sized, str):
            raise _only_known(name, sized, unsaid)
        plain, wide = unaligned(sized), aligned_class(sized)
        described, variants = exported_sizes(plain), []
        numbers: list[Number] = []
        for subgroups in (True, False):
            traced = self._judged_form(plain, subgroups)
            if isinstance(traced, str):
                raise _only_known(name, traced, unsaid)
            assert traced.plan is not None
            form = described.form(traced.program("naga", True), traced.plan)
            numbers = whole_numbers(plain, form.program, traced.plan)
            vectors = None if wide is None else self._judged_form(wide, subgroups)
            forms = [form]
            if isinstance(vectors, Traced) and vectors.plan is not None:
                program = vectors.program("naga", True)
                other = described.form(program, vectors.plan, described.divided())
                if [b.element_bytes for b in other.program.bindings] != [
                    b.element_bytes for b in form.program.bindings
                ]:
                    forms = described.either(other, form)
            if forms not in variants:
                variants.append(forms)
        lengths = {slot: binding.min_bytes for slot, binding in enumerate(variants[0][0].program.bindings)}
        plain_form = self._judged_form(plain, False)
        assert isinstance(plain_form, Traced)
        verdict = self._verified_of(plain_form, plain, None)
        exported = describe_programs(
            name, variants, described.memories(lengths), [*described.numbers, *numbers], str(verdict)
        )
        values = {**{a.name: a.value for a in call.arguments if a.tensor is None}, **described.values()}
        return exported, {n["name"]: values[n["name"]] for n in exported.data["numbers"]}, verdict

    def export(
        self,
        path: str | Path,
        *args: object,
        page: bool = False,
        sizes: Sizing = "annotated",
        refuted: bool = False,
        **static: object,
    ) -> Export:
        """Write the kernel for these arguments as an ES module: `path`, its types and its description beside it.

        `const k = await load(device); await k({x, y}, {alpha: 2})` then runs it in a web page, over GPUBuffers or typed
        arrays; of unknown sizes (see `exported`) `await k({x, y}, {M: 5, N: 7})`. With `page`, an HTML file beside it
        runs the kernel on these arrays, random ones in place of zeros, and compares with the interpreter. It warns of
        what is neither proven nor refuted.

        Raises KernelError for a path that does not end in `.js` or `.mjs`, and for a kernel that no browser can run;
        VerificationError for one that is refuted, unless `refuted`.
        """
        call = self._bind(args, static)
        function, numbers, verdict = self._described(call, sizes)
        if not refuted:
            _refuse_refuted(verdict)
        if verdict.undecided:
            name, claims = self.function.__name__, "; ".join(" ".join(str(v).split()) for v in verdict.undecided)
            warn(
                f"{name} is exported, and not proven: {claims}; gpu.assume and {name}.assuming say what holds of data",
                stacklevel=2,
            )
        tested = self._tested(call, function, numbers) if page else None
        return export(path, function, page=page_text(tested) if tested else "")

    def tested(self, *args: object, sizes: Sizing = "annotated", **static: object) -> TestedCall:
        """What `exported` gives, with these arrays, random ones in place of zeros, and what the interpreter makes of
        them."""
        call = self._bind(args, static)
        return self._tested(call, *self._described(call, sizes)[:2])

    def _tested(self, call: BoundArguments, function: ExportedFunction, numbers: Mapping[str, float]) -> TestedCall:
        given = seeded(copies_on_host(call), [buffer["written"] for buffer in function.data["buffers"]])
        wanted = [array.copy() for array in given]
        interpret(self._form(call).kernel, wanted, call.params)
        return TestedCall(function, given, wanted, numbers)

    def _chosen(self, call: BoundArguments) -> Traced:
        """The form for unknown sizes, where the kernel is annotated and the call has one; else that of its sizes."""
        sized = self._sized(call)
        return sized.traced if sized else self._form(call)

    def _sized(
        self,
        call: BoundArguments,
        device: "Device | None" = None,
        *,
        told: bool = False,
        judge: bool = True,
        specs: Mapping[str, SizeSpec] | None = None,
    ) -> "SizedLaunch | None":
        """The launch of the form for unknown sizes; None where the call is traced for its sizes, for a reason that
        `size_reason` keeps; KernelError with it where that has to be `told`. What the user stated is an error.

        Without `judge` neither proof nor text is made: the interpreter looks at every access itself."""
        specs = specs_of(call, self._specs) if specs is None else specs
        if not specs:
            return None
        with self._naming():
            sized = self._class_of(call, specs, self.often)
            found = sized if isinstance(sized, str) else self._launch_of_class(sized, device, judge)
            self.size_reason = found if isinstance(found, str) else ""
            if told and isinstance(found, str):
                raise KernelError(f"{self.function.__name__}: it is traced for its sizes: {found}")
            return None if isinstance(found, str) else found

    def _class_of(self, call: BoundArguments, specs: Mapping[str, SizeSpec], often: Facts = ()) -> BoundArguments | str:
        """The call as one of its class; or why there is none, as where its kernel asks for offsets, which vary."""
        if self._asks_offsets is None:
            self._asks_offsets = looks_at_offsets(self.captures.function)
        sized = of_sizes(call, specs, self.given, often)
        if isinstance(sized, str) or not self._asks_offsets:
            return sized
        return f"its text asks for {self._asks_offsets!r}, and of unknown sizes there are coordinates alone"

    def _launch_of_class(self, sized: BoundArguments, device: "Device | None", judge: bool) -> "SizedLaunch | str":
        """The launch of a call by the first form that serves it; or why there is none. What is proven without vectors
        serves as well, and what is proven without facts that often hold."""
        subgroups = has_subgroups(sized) if device is None else "subgroups" in device.features
        reasons: dict[Hashable, str] = {}
        for facts in dict.fromkeys((sized.facts, self.given)):
            known = replace(sized, facts=facts)
            for one in (known, unaligned(known)):
                found = self._launch_of_sizes(one, subgroups, device, judge)
                if isinstance(found, SizedLaunch):
                    return replace(found, exact=sized if reasons.keys() <= self._unsized.keys() else None)
                reasons.setdefault(one.key, found)
        return next(iter(reasons.values()))

    def _judged_form(self, call: BoundArguments, subgroups: bool, judge: bool = True) -> Traced | str:
        """The form of a class of calls, with what its proof asks for; or why there is none."""
        if (why := self._unsized.get(call.key)) is not None:
            return why
        try:
            traced = self._form(call, subgroups=subgroups) if judge else self._form_of(call, subgroups)
            if judge:
                self.stats.proofs += traced.proven is None
                traced.judged()
        except Exception as error:  # whatever Python does with a size that is no integer: the call has its own way
            why = str(error) if isinstance(error, CutepyError) else f"{type(error).__name__}: {error}"
            return self._unsized.setdefault(call.key, why)
        buffers = enumerate(traced.kernel.buffers)
        traced.refused = traced.refused or written_view(call, [slot for slot, b in buffers if b.writable])
        return self._unsized.setdefault(call.key, traced.refused) if traced.refused else traced

    def _launch_of_sizes(
        self, call: BoundArguments, subgroups: bool, device: "Device | None", judge: bool
    ) -> "SizedLaunch | str":
        """The launch of a call by a form of its class; or why there is none."""
        traced = self._judged_form(call, subgroups, judge)
        if isinstance(traced, str):
            return traced
        assert traced.plan is not None and call.values is not None
        whole = {p.name for p in traced.kernel.params if p.dtype is u32 and p.name not in traced.formulas}
        for name in sorted(whole & call.params.keys()):
            if not 0 <= call.params[name] <= LARGEST:
                return f"{name} is {call.params[name]}, not from 0 to {LARGEST}"
        numbers = {name: int(n) for name, n in call.params.items()} if traced.numbers else {}
        if (broken := traced.plan.broken({**call.values, **numbers})) is not None:
            text, stated = broken
            if stated:
                raise KernelError(f"{call.name}: '{text}' was stated; {sizes_told(call)}")
            return f"its proof asks for {text}"
        for a in call.arguments:
            buffer = traced.kernel.buffers[a.slot]
            written = a.tensor is not None and a.sizes is not None and buffer.writable
            if written and a.tensor is not None and not tells_apart(plain_layout(a)):
                return f"{a.name} is {a.tensor.layout}, in which two coordinates are one element, and is written"
        params, grid = traced.plan.host(call.values)
        most = (device.limits if device is not None else limits_of(call)).workgroups
        if max(grid) > min(most, MOST_GROUPS) or min(grid) < 1:
            limit = min(most, MOST_GROUPS)
            where = sizes_told(call)
            return f"its grid is {grid} where {where}, and the form for all sizes has 1 to {limit} along an axis"
        return SizedLaunch(traced, call, params, grid)

    def _subgroup_size(self, given: object) -> int:
        """A size of subgroup to interpret with, 0 for the kernel's own."""
        if isinstance(given, int) and given in (0, *SUBGROUP_SIZES):
            return given
        sizes = ", ".join(map(str, SUBGROUP_SIZES))
        raise KernelError(f"{self.function.__name__}.interpret(subgroup={given!r}): subgroups have {sizes} threads")

    def _naming(self) -> AbstractContextManager[None]:
        """Errors that name no line of the kernel name that of its definition."""
        return naming(self.file, self.function.__code__.co_firstlineno)

    def _read_signature(self, captured: int | None) -> None:
        """Note the parameters, and the defaults that go with what the function captures."""
        self._signed = captured
        self._asks_offsets = None
        self.signature = inspect.signature(self.function)
        parameters = self.signature.parameters.values()
        self._static = frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        self._positional = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
        self._specs: dict[str, SizeSpec] = {}
        for p in parameters:
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL):
                said = self._said.get(p.name, p.annotation)
                if (spec := sizes_of_parameter(p.name, said, self.captures.function)) is not None:
                    self._specs[p.name] = spec
        wrong = None if _is_own(self.file) else next((n for n in self._said if n not in self._specs), None)
        if wrong is not None:  # the package's own say sizes of what only some of their forms have
            why = "said no sizes, write (M,N)" if wrong in self.signature.parameters else "no argument"
            raise KernelError(
                f"{self.function.__name__}: sizes={dict(self._said)}: {wrong} is {why}; there are "
                f"{', '.join(self.signature.parameters)}"
            )
        check_names(self.function.__name__, self._specs.values())
        named = {n for spec in self._specs.values() for n in spec.shape}
        name, facts = self.function.__name__, self.given + self.often
        stated = f"given={list(self.given)}" + f", often={list(self.often)}" * bool(self.often)
        try:
            strange = next((size for size in divisors_of(facts) if size not in named), None)
            broken = contradiction([n for n in named if isinstance(n, str) and n != "?"], facts) if facts else ()
        except KernelError as error:
            raise KernelError(f"{name}: {stated}: {error}") from error
        if strange is not None:
            raise KernelError(f"{name}: {stated}: no annotation has a size {strange}")
        if broken:
            raise KernelError(f"{name}: {stated}: no sizes satisfy {' and '.join(map(repr, broken))}")

    def _bind(self, args: tuple[object, ...], static: dict[str, object]) -> BoundArguments:
        with self._naming():
            if (captured := self.captures.captured()) != self._signed:
                self._read_signature(captured)
            try:
                return bind_call(self.captures, self.signature, args, static)
            except RecursionError:
                raise KernelError(
                    f"kernel {self.function.__name__}: an argument is nested too deep; give its tensors alone"
                ) from None

    @_uncollected()
    def _form(self, call: BoundArguments, *, subgroups: bool | None = None) -> Traced:
        """The kernel for these arguments, on devices with or without subgroups: those of the tensors, by default."""
        return self._form_of(call, has_subgroups(call) if subgroups is None else subgroups).printed()

    def _form_of(self, call: BoundArguments, subgroups: bool) -> Traced:
        """The same, perhaps without a program. What is traced for any offsets of views serves those that vectors would
        divide as well, once it is there; a kernel that asks for more of an offset, or moves whole matrices, is traced
        for each."""
        if call.has_origins and call.key in self._pinned:
            call = call.with_offsets()
        key = call.key, subgroups
        found = self._traced.get(key)
        if found is not None:
            self._traced.move_to_end(key)
            return found
        if call.has_origins and (found := self._traced.get((call.with_any_origin().key, subgroups))):
            return found
        self.stats.traces += 1
        self.stats.again += hash(key) in self.stats.seen
        self.stats.seen.add(hash(key))
        try:
            found = copy_context().run(self._trace, call, subgroups)
        except CutepyError:
            if not call.has_origins:
                raise
        if found is None or (call.has_origins and uses_matrices(found.kernel)):
            self._pinned.add(call.key)
            return self._form_of(call, subgroups)
        self._traced[key] = found
        if not found.asked:
            self._traced[call.key, not subgroups] = found
        while len(self._traced) > 2 * KEPT:
            self._traced.popitem(last=False)
        return found

    @_uncollected()
    def _trace(self, call: BoundArguments, subgroups: bool) -> Traced:
        """Run the function over tensors of the kernel. In a context of its own: nothing set here lives on.

        Where it leaves layouts to be found, it runs again with what is found, once from each order of their modes.
        """
        new = partial(Trace, self.function.__name__, subgroups=subgroups)
        trace = new()
        traced = self._traced_as(call, trace)
        if not trace.wishes:
            return traced
        tries: list[tuple[Traced, dict[str, Found]]] = []
        for order in range(max(len(wish.orders) for wish in trace.wishes.values())):
            if order:
                trace = new(order=order)
                traced = self._traced_as(call, trace)
            found = found_for(traced.kernel, trace.wishes, trace.placed)
            tries.append((self._traced_as(call, new(found=found)), found))
        best = {name: min(range(len(tries)), key=lambda at: cost(tries[at][0].kernel, name)) for name in trace.wishes}
        if len(set(best.values())) == 1:
            return tries[next(iter(best.values()))][0]
        found = {name: tries[at][1][name] for name, at in best.items()}
        return self._traced_as(call, new(found=found))

    def _traced_as(self, call: BoundArguments, trace: Trace) -> Traced:
        """One run."""
        _TRACE.set(trace)
        KERNEL_FILE.set(self.file)
        ALLOCATOR.set(lambda dtype, length, space, name: allocate(trace, dtype, length, name))
        with new_arena() as arena:
            arena.name = trace.name_deep
            values = _stand_ins(trace, call)
            trace.notes += [f"{name} {_one_line(value)}" for name, value in call.static.items()]
            if self._bounds or self._orders:
                trace.begins = lambda: self._state(trace, call, values)
            with naming(self.file, self.function.__code__.co_firstlineno, inside=True):
                self._run(
                    trace,
                    [part.of(values) if isinstance(part, Parts) else values[part] for part in call.structure],
                    call.static,
                )
            if trace.error is not None:
                raise trace.error
            arena.name = None
            told = finish(
                Kernel(
                    trace.name,
                    tuple(trace.buffers),
                    trace.body(),
                    trace.grid,
                    trace.launched("the launch"),
                    tuple(trace.local),
                    notes=tuple(trace.notes),
                    lanes=trace.lanes,
                    varying=tuple(trace.varying),
                    subgroup=trace.subgroup,
                )
            )
            told = replace(told, params=_parameters_read(told, call))
            plan = None
            if trace.sizes is not None:
                sizes = trace.sizes
                # How many workgroups there are along each axis, as sums of parameters, where sizes say it.
                x, y, z = (sizes.sum_of(n.poly) if isinstance(n, KernelSize) else None for n in trace.formulas)
                told = replace(told, sizes=SizeFacts(sizes.facts(), (x, y, z), sizes.products(), sizes.words()))
                plan = _plan_of(trace, told)
            kernel = told
            if any(isinstance(stmt, Print) for stmt in statements(told.body)):
                kernel = drop_unused(replace(told, body=without(told.body, Print)))
                kernel = replace(kernel, params=_parameters_read(kernel, call))
            traced = Traced(kernel, told, trace.places, trace.asked, arena, views_of(call), kernel, plan=plan)
            if plan is not None:
                traced.formulas = dict(trace.sizes.formulas)
            return traced

    def _state(self, trace: Trace, call: BoundArguments, values: Sequence[Tensor | Expr]) -> None:
        """Say what is known of the arguments."""
        place = place_of(self.file, self.function.__code__.co_firstlineno)
        for argument, value in zip(call.arguments, values, strict=True):
            if isinstance(value, Tensor) and (bounds := self._bounds.get(argument.name)) is not None:
                state_bounds(value, bounds, place)
            for order in ElementOrder:
                if isinstance(value, Tensor) and (argument.name, order) in self._orders:
                    state_order(trace, value, order, place)

    def _run(self, trace: Trace, values: list[object], static: Mapping[str, object]) -> None:
        """Run the function with its hooks; what it gives back must be in the tensors."""
        function = target(self.function)
        try:
            with unhashable():
                given = function(*values, **static)
        except Undecided as undecided:
            raise trace.sizes.undecided(undecided) from undecided
        except NameError as error:
            why = unbound(error, trace.lost)
            if why:
                raise KernelError(why) from error
            raise
        if trace.open:
            raise trace.open[-1].caught(trace.open[-1].place)
        if given is not None:
            raise KernelError(f"{trace.name} returns {type(given).__name__}; a kernel's results go into its tensors")
        silent = trace.buffers and not any(buffer.writable for buffer in trace.buffers)
        if silent and not trace.skipped and all(buffer.length for buffer in trace.buffers):
            raise KernelError(
                f"{trace.name} writes no argument: nobody sees what it computes; pass a tensor for its results, "
                "and store to it, `out[i] = ...`"
            )


def _one_line(value: object) -> str:
    """A static argument as a comment can hold it: the same in every process, in one line."""
    try:
        text = value.__name__ if isinstance(value, type | FunctionType) else str(value)
    except Exception:  # a user's `__str__` may do anything; a comment is no reason to fail
        text = " at 0x"
    text = " ".join(text.split())
    if " at 0x" in text:
        return type(value).__name__
    return text if len(text) <= 160 else f"{text[:150]}..."


def _parameters_read(kernel: Kernel, call: BoundArguments) -> tuple[Param, ...]:
    """The parameters that the kernel reads, in the order of the arguments: a Python number once for each type in which
    it is used. Sizes and strides that are unknown follow, by name."""
    order: dict[str, int] = {}
    for i, a in enumerate(call.arguments):
        order |= dict.fromkeys([a.name] if a.tensor is None else a.offset_names, i)
    if not order and all(a.sizes is None for a in call.arguments):
        return ()
    used = (node for node in all_nodes(kernel.body) if isinstance(node, Param))
    return tuple(sorted(used, key=lambda p: (order.get(p.name, len(order)), p.name, p.dtype.name)))


def _plan_of(trace: Trace, kernel: Kernel) -> LaunchPlan:
    """What the host computes for a launch."""
    sizes: Sizes = trace.sizes
    x, y, z = (sizes.formula(n.poly) if isinstance(n, KernelSize) else int(n) for n in trace.formulas)
    conditions = [(sizes.formula(c.poly), c.text, c.stated) for c in sizes.conditions.values()]
    params = [(p.name, sizes.formulas[p.name]) for p in kernel.params if p.name in sizes.formulas]
    return LaunchPlan(tuple(params), (x, y, z), tuple(conditions))


def _stand_ins(trace: Trace, call: BoundArguments) -> list[Tensor | Expr]:
    """What stands for each tensor and each number while the kernel is traced."""
    values: list[Tensor | Expr] = []
    arrays: dict[int, Buffer] = {}
    sized: dict[str, Tensor] = {}
    for argument in call.arguments:
        if argument.sizes is not None:
            if not sized:
                sized = stand_ins(trace, call)
            tensor = sized[argument.name]
            assert isinstance(tensor.engine, BufferEngine)
            arrays[argument.slot] = tensor.engine.buffer
            values.append(tensor)
            continue
        if argument.tensor is None:
            # What is proven for all sizes takes whole numbers as sizes are: each launch looks at them.
            most = LARGEST if any(a.sizes is not None for a in call.arguments) else U32_LIMIT - 1
            if argument.weak:
                values.append(weak_param(argument.name, argument.dtype, most=most))
            else:
                high = {"hi": most} if argument.dtype is u32 else {}
                values.append(param(argument.name, argument.dtype, **high))
            continue
        buffer = arrays.get(argument.slot)
        if buffer is None:
            held = call.engines[argument.slot].dtype if argument.packed else argument.dtype
            buffer = Buffer(argument.name, held, argument.length, note=str(argument.tensor.layout))
            arrays[argument.slot] = buffer
        trace.notes.append(f"{argument.name} {argument.dtype} {argument.tensor.layout}")
        words = BufferEngine(trace, buffer, argument.writable, argument=argument.name)
        offset = argument.offset
        if (origin := argument.origin) is not None:
            first = param(argument.origin_param, u32, lo=origin.low, hi=origin.high)
            # In Python's eyes the view begins at an offset of its class, 0 or 1: what asks whether 4 divides it is told
            offset = 0 if origin.unit == WIDEST else 1
            words = replace(words, first=linear(first).times(origin.unit).plus(linear(const(offset)), -1))
        engine = words_as(words, argument.dtype) if argument.packed else words
        values.append(Tensor(engine, argument.tensor.layout, offset, argument.tensor.guard))
    trace.buffers += [arrays[slot] for slot in sorted(arrays)]
    return values


@overload
def kernel(function: Callable[..., None]) -> KernelFunction: ...
@overload
def kernel(
    *, given: Iterable[str] = (), often: Iterable[str] = (), sizes: Literal["", "known"] | Mapping[str, str] = ""
) -> Callable[[Callable[..., None]], KernelFunction]: ...
def kernel(
    function: Callable[..., None] | None = None,
    *,
    given: Iterable[str] = (),
    often: Iterable[str] = (),
    sizes: Literal["", "known"] | Mapping[str, str] = "",
) -> KernelFunction | Callable[[Callable[..., None]], KernelFunction]:
    """Make a GPU kernel of a function over tensors.

    An argument annotated with sizes, `x: "(M,N)"` or `x: "(M,64):(?,1)"`, is traced once for all sizes; sizes of one
    name are equal, and checked at each call, as is what is `given` of them: `@gpu.kernel(given=["64 divides N"])`.
    Where all that is `often` so holds of a call it goes by a form of its own, which is traced with these facts.
    Without annotations a launch over a second layout takes sizes and strides of that argument as unknown by itself,
    where that is proven; with `sizes="known"` each is traced for its own. `sizes={"x": "(M,N)"}` says what annotations
    say, also of all tensors that a parameter holds: "(M,...)" of tensors of more modes, whose further sizes are equal
    in all arguments, mode by mode, and "(?...)" of one all sizes of which are its own.

    >>> import numpy as np
    >>> from cutepy import gpu
    >>> from cutepy.tensor import axpby, local_partition, local_tile
    >>> @gpu.kernel
    ... def saxpy(a, x, y):
    ...     gpu.launch(grid=-(-x.size // 256), threads=64)
    ...     tiles = [local_tile(t, (256,), (gpu.workgroup.x,)) for t in (x, y)]
    ...     mine = [local_partition(t, (64,)) for t in tiles]
    ...     axpby(a, mine[0], 1, mine[1])
    >>> x, y = np.ones(1000, np.float32), np.ones(1000, np.float32)
    >>> saxpy.interpret(2.0, x, y)
    >>> y[:3].tolist(), y[-1].item()
    ([3.0, 3.0, 3.0], 3.0)
    """
    always, usual = ((facts,) if isinstance(facts, str) else tuple(facts) for facts in (given, often))
    make = partial(KernelFunction, given=always, sizes=sizes, often=usual)
    return make if function is None else make(function)
