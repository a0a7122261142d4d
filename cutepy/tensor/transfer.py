"""Elements on their way out: to the host without waiting, and to other libraries without a copy.

Law: `fetch(t).result()` is `t.numpy(copy=True)` at the call; `np.from_dlpack(t)` shares the elements.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Protocol

from .engine import Array, ViewEngine
from .packed import PackedEngine, words_as

if TYPE_CHECKING:
    from .tensor import Tensor


class Arriving(Protocol):
    """An array on its way, as a device gives it."""

    def done(self) -> bool: ...
    def result(self) -> Array: ...


class PendingArray:
    """Elements on their way to the host. `done()` looks, `result()` waits, and `await` does in an event loop."""

    def __init__(self, arriving: Arriving, finish: Callable[[Array], Array]) -> None:
        self._arriving, self._finish = arriving, finish
        self._array: Array | None = None

    def done(self) -> bool:
        """Whether `result()` returns at once."""
        return self._array is not None or self._arriving.done()

    def result(self) -> Array:
        """The array, with one axis a mode; waits until it is there."""
        if self._array is None:
            self._array = self._finish(self._arriving.result())
        return self._array

    def __await__(self) -> Generator[Any, None, Array]:
        while not self.done():
            import asyncio  # 35 ms that only who waits needs

            yield from asyncio.sleep(POLL_SECONDS).__await__()
        return self.result()


POLL_SECONDS = 1e-3
"""Between two looks of an event loop at a device."""


def fetch(tensor: Tensor) -> PendingArray:
    """The elements of a tensor, on their way: what `Tensor.numpy_async` gives."""
    engine = tensor.engine
    words = engine.words if isinstance(engine, PackedEngine) else engine
    start = getattr(words, "fetch", None)
    if start is None:
        from concurrent.futures import Future  # which nothing else of a tensor needs

        arrived: Future[Array] = Future()
        arrived.set_result(tensor.numpy(copy=True))
        return PendingArray(arrived, lambda array: array)

    def finish(memory: Array) -> Array:
        there = ViewEngine(memory, words.dtype)
        here = words_as(there, engine.dtype) if isinstance(engine, PackedEngine) else there
        return type(tensor)(here, tensor.layout, tensor.offset, tensor.guard).numpy(copy=True)

    return PendingArray(start(), finish)


def shared_array(tensor: Tensor) -> Array:
    """The array over the elements themselves. Raises BufferError where there is none."""
    if hasattr(tensor.engine, "host") or isinstance(tensor.engine, PackedEngine):
        raise BufferError(
            f"{tensor}: no other library reaches these elements where they are; copy them, np.from_dlpack(t.numpy())"
        )
    if not tensor.numpy_is_view:
        raise BufferError(f"{tensor}: no strides say this layout; copy it, np.from_dlpack(t.numpy())")
    return tensor.numpy()
