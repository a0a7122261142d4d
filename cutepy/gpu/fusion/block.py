"""`gpu.fused`: the operations of a block, as few kernels, each a chain of elementwise operations and what it ends in.

Law: every result is what the operations give one after the other. A chain of elementwise operations is one kernel; a
reduction at its end folds it as it is computed, and at its beginning a product gives it its elements as they are
summed. What nobody holds when the block ends is never stored.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from math import prod
from pathlib import Path
from types import FrameType
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ...errors import CutepyError, KernelError
from ...layout import Layout
from ...tensor import DType, Tensor, mode_sizes, rules
from .. import Deferral, Device, DeviceEngine, awaited_by, deferred_engine
from ..matmul.api import matmul
from ..operations.operand import ExecutionSite, compact_layout, place_of, tensor_of
from ..operations.pointwise import Pointwise, result_order, type_of_number
from ..operations.reductions import folded
from .chains import FusedChain, Number, Ref, Step, chain_of

P = ParamSpec("P")
R = TypeVar("R")

_PACKAGE = str(Path(__file__).parents[2])
LONGEST = 64
"""Operations of one chain at most."""
MOST = 256
"""Operations that wait at most."""
FOLDS = frozenset(("sum", "prod", "mean", "max", "min", "any", "all", "norm"))
"""Reductions that fold a chain as it is computed."""


@dataclass(frozen=True, slots=True)
class ChainFold:
    """A reduction of a chain, by its name."""

    name: str
    axes: rules.Axes
    keepdims: bool
    option: float


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix product of two tensors."""

    name: str = "matmul"


@dataclass(frozen=True, slots=True)
class ResultForm:
    """What a result is: its shape and type, the order of its axes in memory, its layout, and how many elements."""

    shape: rules.Shape
    dtype: DType
    order: tuple[int, ...] | None
    layout: Layout
    length: int


_FORMS: dict[Any, ResultForm] = {}
FORMS_KEPT = 1024
"""Forms that are kept by the operation and its operands' layouts and types."""


@dataclass(eq=False, slots=True)
class DeferredCall:
    """An operation that was called and not launched yet, and then its result.

    `inside` are the operations that its chain computes, itself included, and `inputs` what the chain reads: tensors, by
    what tells them, and operations that have a result of their own.
    """

    block: Fused
    site: ExecutionSite
    operation: Pointwise | ChainFold | Product
    operands: tuple[DeferredCall | Tensor | Number, ...]
    form: ResultForm
    line: tuple[str, int]
    value: Tensor | None = None
    stored: str = ""
    held: Callable[[], object] = lambda: None
    inside: frozenset[DeferredCall] = frozenset()
    inputs: frozenset[object] = frozenset()

    @property
    def device(self) -> Device:
        """Where the result will be."""
        assert self.site.device is not None
        return self.site.device

    @property
    def apart(self) -> bool:
        """Whether it has a result of its own, which others read."""
        return bool(self.stored) or self.value is not None or not isinstance(self.operation, Pointwise)

    def computed(self) -> Any:
        """The memory of its result."""
        if self.value is None:
            self.block._need(self)
        assert self.value is not None and isinstance(self.value.engine, DeviceEngine)
        return self.value.engine.buffer

    @property
    def shape(self) -> rules.Shape:
        """The shape of its result."""
        return self.form.shape

    @property
    def dtype(self) -> DType:
        """The element type of its result."""
        return self.form.dtype

    def __str__(self) -> str:
        file, line = self.line
        return f"{self.operation.name} ({file.rpartition('/')[2]}:{line})"


@dataclass(eq=False)
class Fused(Deferral):
    """A block whose operations are fused; `gpu.fused()` makes it. Its text tells which kernels it made.

    >>> import numpy as np
    >>> from cutepy import gpu, ops
    >>> device = gpu.default_device()
    >>> with gpu.fused() as block:
    ...     y = ops.exp(ops.neg(gpu.array(np.float32([0, 1]))))
    ...     block.settle()
    >>> str(block).splitlines()[0], len(block.explain().splitlines())
    ('1 kernel', 2)
    """

    waiting: list[DeferredCall] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)
    _over: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def __enter__(self) -> Fused:
        if self._over:
            raise KernelError("gpu.fused: a block is entered once; call gpu.fused() for another")
        self.open()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.settle()
        finally:
            self._over = True
            self.waiting.clear()
            self.reads.clear()
            self.close()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """The function, each call of which is a block of its own."""

        @wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> R:
            with Fused():
                return function(*args, **named)

        return call

    def explain(self) -> str:
        """The kernels of the block: what each computes, and why it ends there."""
        count = len(self.kernels)
        title = f"{count} kernel{'s' * (count != 1)}"
        return "\n".join([title, *[f"{number}. {text}" for number, text in enumerate(self.kernels, 1)]])

    __str__ = explain

    def __repr__(self) -> str:
        return f"<fused block of {len(self.kernels)} kernels, {len(self.waiting)} operations wait>"

    # What is taken

    def take(self, operation: object, *operands: Any) -> Tensor | None:
        """What stands for the result of an operation; None where it is launched at once.

        >>> from cutepy.gpu import Deferral
        >>> with Fused() as block:
        ...     print(Deferral.current() is block, block.take("no operation of a device") is None)
        True True
        """
        if isinstance(operation, Pointwise):
            return self._take_pointwise(operation, operands)
        if operation is folded:
            return self._take_reduction(*operands)
        if operation is matmul:
            return self._take_product(*operands)
        return None

    def _take_pointwise(self, operation: Pointwise, operands: tuple[Any, ...]) -> Tensor | None:
        # Operands in order: tensors, and numbers as they are.
        met = [x if isinstance(x, bool | int | float | complex | np.generic) else tensor_of(operation.name, x)
               for x in operands]  # fmt: skip
        tensors = [x for x in met if isinstance(x, Tensor)]
        if not tensors:
            return None
        site = place_of(operation.name, "wgpu", tensors)
        if not self._alike(site, tensors):
            return None
        # Types and shapes are looked at now, so that an error is one of this line.
        key = operation, *map(form_key, met)
        form = _FORMS.get(key)
        if form is None:
            if len(_FORMS) >= FORMS_KEPT:
                _FORMS.clear()
            form = _FORMS[key] = form_of(operation, met, tensors)
        if not form.length:
            return None
        found = [self._operand(site.bring(x)) if isinstance(x, Tensor) else x for x in met]
        return self._waits(site, operation, tuple(found), form)

    def _take_reduction(self, name: str, x: Any, axes: rules.Axes, keepdims: bool, option: float) -> Tensor | None:
        chain = self._operand(x) if isinstance(x, Tensor) else None
        if name not in FOLDS or not isinstance(chain, DeferredCall) or chain.apart:
            return None
        over = rules.chosen_axes(name, len(chain.shape), axes)
        if not over:
            return None
        form = new_form(rules.folded_shape(chain.shape, over, keepdims), rules.folded_type(name, chain.dtype), None)
        return self._waits(chain.site, ChainFold(name, over, keepdims, option), (chain,), form)

    def _take_product(self, A: Any, B: Any) -> Tensor | None:
        a, b = (tensor_of("matmul", x) for x in (A, B))
        site = place_of("matmul", "wgpu", [a, b])
        batch, m, n, k = rules.matmul_shapes(mode_sizes(a), mode_sizes(b))
        shape, dtype = (*batch, *m, *n), rules.result_type("matmul", a.dtype, b.dtype)
        if not self._alike(site, [a, b]) or not prod(shape) or not k or dtype.kind != "f":
            return None
        met = [self._operand(site.bring(t)) for t in (a, b)]
        for x in met:
            if isinstance(x, DeferredCall):
                x.stored = x.stored or "a product reads it more than once"
        return self._waits(site, Product(), tuple(met), new_form(shape, dtype, None))

    def _alike(self, site: ExecutionSite, tensors: list[Tensor]) -> bool:
        engines = [t.engine for t in tensors if isinstance(t.engine, DeviceEngine)]
        return site.device is not None and all(engine.device is site.device for engine in engines)

    def _operand(self, tensor: Tensor) -> DeferredCall | Tensor:
        """What a tensor is to a chain: an operation that waits, or memory."""
        awaited = awaited_by(tensor.engine)
        if not isinstance(awaited, DeferredCall) or awaited.block is not self:
            if isinstance(tensor.engine, DeviceEngine):
                self.reads.add(tensor.engine.buffer.uid)
            return tensor
        if awaited.value is None and tensor.offset == 0 and tensor.layout == awaited.form.layout:
            return awaited
        awaited.stored = awaited.stored or "a view of it is read"
        return tensor

    def _waits(
        self,
        site: ExecutionSite,
        operation: Pointwise | ChainFold | Product,
        operands: tuple[DeferredCall | Tensor | Number, ...],
        form: ResultForm,
    ) -> Tensor:
        node = DeferredCall(self, site, operation, operands, form, place_of_call())
        most = node.device.limits.bindings - 2
        while True:
            inner = [
                x for x in operands if isinstance(x, DeferredCall) and isinstance(operation, Pointwise) and not x.apart
            ]
            outer = [
                x for x in operands if isinstance(x, DeferredCall) and (x.apart or not isinstance(operation, Pointwise))
            ]
            memory = [key_of(x) for x in operands if isinstance(x, Tensor)]
            node.inside = frozenset([node]).union(*[x.inside for x in inner])
            node.inputs = frozenset[object]([*outer, *memory]).union(*[x.inputs for x in inner])
            if not inner or (len(node.inside) <= LONGEST and len(node.inputs) <= most):
                break
            # A chain that is too long, or reads too many tensors, is cut where it reads most.
            cut = max(inner, key=lambda x: (len(x.inputs), len(x.inside)))
            cut.stored = f"a chain has at most {LONGEST} operations and {most} tensors"
        if len(self.waiting) >= MOST:
            self.settle()
        engine, node.held = deferred_engine(node, form.dtype, form.length)
        self.waiting.append(node)
        return Tensor(engine, form.layout)

    # What is launched

    def settle(self) -> None:
        """Launch what somebody holds."""
        for node in self.waiting:
            if node.value is None and node.held() is not None:
                self._need(node, together=True)
        self.waiting = [node for node in self.waiting if node.value is None and node.held() is not None]

    def _need(self, node: DeferredCall, *, together: bool = False) -> None:
        """Launch an operation, and before it what it reads; `together` with others that somebody holds."""
        if self._over and node.value is None:
            raise KernelError(f"{node}: the block of gpu.fused ended by an error before this was computed")
        self.launching()
        try:
            self._launch(node, together)
        except CutepyError as error:
            error.add_note(f"while computing {node}")
            raise
        finally:
            self.close()

    def _launch(self, node: DeferredCall, together: bool = False) -> None:
        if node.value is not None:
            return
        if isinstance(node.operation, Product):
            a, b = (self._memory(x) for x in node.operands)
            self._made(node, matmul(a, b), "")
        elif isinstance(node.operation, ChainFold):
            self._launch_reduction(node, node.operation)
        else:
            self._launch_chain(node, together)

    def _launch_reduction(self, node: DeferredCall, reduction: ChainFold) -> None:
        """Launch a fold together with the chain that it folds; with the chain's result stored first where that is held,
        or where tiles of its tensors have no rows in common (`FusedChain.folded`)."""
        (chain,) = node.operands
        assert isinstance(chain, DeferredCall)
        how = reduction.name, reduction.axes, reduction.keepdims, reduction.option
        why = ""
        if chain.value is None and (chain.stored or chain.held() is not None):
            why = f"; {chain} is stored, for {chain.stored or 'it is held'}"
            self._launch(chain)
        if chain.value is None:
            self._before(chain, None)
            made, tensors, numbers = self._chain([chain], None)
            found = made.folded(node.site, tensors, numbers, how, chain.shape, chain.dtype)
            if found is not None:
                self._made(node, found, kernel_text(chain.inside, f"{node} folds them {over(tensors)}"))
                return
            chain.stored, why = "its tensors have no rows in common", "; its tensors have no rows in common"
            self._launch(chain)
        assert chain.value is not None
        found = folded(reduction.name, chain.value, reduction.axes, reduction.keepdims, "wgpu", reduction.option)
        self._made(node, found, f"{node}{why}")

    def _launch_chain(self, node: DeferredCall, together: bool) -> None:
        product = self._product_of(node)
        self._before(node, product)
        nodes = [node]
        if together and product is None:
            nodes += [x for x in self.waiting if x is not node and self._joins(x, node)]
        # Not more results than a kernel may bind.
        nodes = nodes[: max(1, node.device.limits.bindings - len(frozenset().union(*[x.inputs for x in nodes])))]
        chain, tensors, numbers = self._chain(nodes, product)
        outs = [x.site.new(x.shape, x.dtype, x.form.order) for x in nodes]
        if product is not None:
            a, b = (self._memory(x) for x in product.operands)
            chain.of_product(a, b, outs[0], tensors, numbers)
            self._made(node, outs[0], kernel_text(node.inside, f"what {product} sums, before it is stored"))
            return
        chain.operation(*tensors, *numbers, out=outs[0] if len(nodes) == 1 else tuple(outs))
        inside = frozenset[DeferredCall]().union(*[x.inside for x in nodes])
        held = f", {len(nodes)} of them stored" if len(nodes) > 1 else ""
        text = kernel_text(inside, f"{over(tensors)}{held}")
        for number, (x, out) in enumerate(zip(nodes, outs, strict=True)):
            self._made(x, out, text if not number else None)

    def _joins(self, other: DeferredCall, node: DeferredCall) -> bool:
        """Whether another operation that somebody holds is computed by the kernel of `node`: of the same shape, over
        some of its tensors, which are all there."""
        return (
            other.value is None
            and other.held() is not None
            and isinstance(other.operation, Pointwise)
            and (other.shape, other.site, other.form.layout) == (node.shape, node.site, node.form.layout)
            and bool(other.inputs & node.inputs or other.inside & node.inside)
            and all(not isinstance(x, DeferredCall) or x.value is not None for x in other.inputs)
            and len(other.inputs | node.inputs) <= node.device.limits.bindings - 2
            and len(other.inside | node.inside) <= LONGEST
        )

    def _product_of(self, node: DeferredCall) -> DeferredCall | None:
        """The product that a chain finishes: of its shape, held by nobody, and read by this chain alone."""
        readers = self._living()
        for x in node.inputs:
            if isinstance(x, DeferredCall) and isinstance(x.operation, Product) and x.value is None and not x.stored:
                alone = all(y in node.inside for y in readers if any(part is x for part in y.operands))
                if x.held() is None and x.shape == node.shape and alone:
                    return x
        return None

    def _living(self) -> set[DeferredCall]:
        """The operations that somebody holds, and those that they read, but what has a result."""
        living: set[DeferredCall] = set()
        rest = [node for node in self.waiting if node.held() is not None]
        while rest:
            node = rest.pop()
            if node.value is None and node not in living:
                living.add(node)
                rest += [x for x in node.operands if isinstance(x, DeferredCall)]
        return living

    def _before(self, node: DeferredCall, product: DeferredCall | None) -> None:
        """Launch what a chain reads and what is not there yet."""
        for x in node.inputs:
            if isinstance(x, DeferredCall) and x is not product:
                self._launch(x)

    def _memory(self, x: DeferredCall | Tensor | Number) -> Tensor:
        if isinstance(x, DeferredCall):
            self._launch(x)
            assert x.value is not None
            return x.value
        assert isinstance(x, Tensor)
        return x

    def _chain(
        self, nodes: list[DeferredCall], product: DeferredCall | None
    ) -> tuple[FusedChain, list[Tensor], list[Number]]:
        """The chain that gives some operations, with its tensors and numbers."""
        tensors: dict[object, Tensor] = {}
        numbers: list[Number] = []
        steps: list[Step] = []
        found: dict[DeferredCall, Ref] = {}

        def ref(x: DeferredCall | Tensor | Number) -> Ref:
            if x is product:
                return "c", 0
            if isinstance(x, DeferredCall) and x.value is None:
                if x not in found:
                    assert isinstance(x.operation, Pointwise)
                    steps.append((x.operation, tuple([ref(part) for part in x.operands])))
                    found[x] = "s", len(steps) - 1
                return found[x]
            if isinstance(x, DeferredCall | Tensor):
                memory = self._memory(x)
                key = key_of(memory)
                tensors.setdefault(key, memory)
                return "t", list(tensors).index(key)
            numbers.append(x)
            return "n", len(numbers) - 1

        results = tuple([ref(node) for node in nodes])
        dtype = None if product is None else product.dtype
        return chain_of(tuple(steps), results, (len(tensors), len(numbers)), dtype), [*tensors.values()], numbers

    def _made(self, node: DeferredCall, value: Tensor, text: str | None) -> None:
        """A result is there."""
        node.value = value
        assert isinstance(value.engine, DeviceEngine)
        self.reads.add(value.engine.buffer.uid)
        if text is not None:
            why = f"; stored, for {node.stored}" if node.stored else ""
            self.kernels.append((text or str(node)) + why)


def place_of_call() -> tuple[str, int]:
    """The file and the line of the innermost call that is not cutepy's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def form_key(x: Tensor | Number) -> tuple[object, object]:
    """What the form of a result depends on: of a float its type alone."""
    if isinstance(x, Tensor):
        return x.layout, x.dtype
    return type(x), None if isinstance(x, float | np.floating) else x


def new_form(shape: rules.Shape, dtype: DType, order: tuple[int, ...] | None) -> ResultForm:
    """What a compact result of this shape is."""
    return ResultForm(shape, dtype, order, *compact_layout(shape, order))


def form_of(operation: Pointwise, operands: list[Tensor | Number], tensors: list[Tensor]) -> ResultForm:
    """What an operation gives for these operands. Raises as the rules do."""
    numbers = {name: x for name, x in zip(operation.names, operands, strict=True) if not isinstance(x, Tensor)}
    types = {
        name: x.dtype if isinstance(x, Tensor) else type_of_number(x)
        for name, x in zip(operation.names, operands, strict=True)
    }
    shape = rules.broadcast_shape(operation.name, *map(mode_sizes, tensors))
    order = result_order(shape, tensors) if prod(shape) else None
    return new_form(shape, operation.result_type(types, numbers), None if order is None else tuple(order))


def key_of(x: Tensor) -> object:
    """What tells a tensor from others: its memory, as it is read."""
    return id(x.engine), x.layout, x.offset


def over(tensors: list[Tensor]) -> str:
    """How many tensors a kernel reads, in words."""
    return f"over {len(tensors)} tensor{'s' * (len(tensors) != 1)}"


def kernel_text(inside: frozenset[DeferredCall], end: str) -> str:
    """The operations of a kernel, in the order of the calls."""
    (block,) = {node.block for node in inside}
    names = [str(node) for node in block.waiting if node in inside]
    return f"{', '.join(names)}: {end}"


def fused() -> Fused:
    """A block, or a decorator of functions, whose operations over tensors of a device become few kernels.

    ```python
    with gpu.fused() as block:
        y = ops.sum(ops.mul(ops.exp(ops.sub(x, 1.0)), w), 1)
    print(block)  # one kernel: sub, exp and mul, folded by sum
    ```

    Elementwise operations of `ops` and `gpu.pointwise` wait, with the sums, products, extremes and norms that end a
    chain of them, and products of matrices, of which a chain makes what is stored. They are launched when the block
    ends, when their elements are asked for, or before something else writes what they read. What is held then is
    stored, so a function with the decorator `@gpu.fused()` stores what it returns alone. Errors of types and shapes are
    raised by the call; numbers are launch parameters, and all sizes share a kernel, as always.

    >>> import numpy as np
    >>> from cutepy import gpu, ops
    >>> device = gpu.default_device()
    >>> with fused() as block:
    ...     y = ops.sum(ops.exp(gpu.array(np.zeros(4, np.float32))))
    >>> y.numpy().tolist(), str(block).splitlines()[0]
    (4.0, '1 kernel')
    """
    return Fused()
