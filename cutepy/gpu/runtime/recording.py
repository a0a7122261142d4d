"""Recorded steps: the launches of a block of calls, played again without the Python that made them.

Law: `play()` launches what the block launched, in its order, over the same buffers and with the same parameters. What
the block allocated and still lives after it holds results, which each play writes anew; the rest are temporaries, of
which two share memory where the launches that use the one are over before the other is written.
"""

from __future__ import annotations

import gc
import weakref
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from ...errors import KernelError
from ...tensor import Tensor
from . import default_device
from .batch import FIRST_LAUNCHES, MOST_LAUNCHES, Batch, Tape, batches_of, taped
from .buffer import DeviceBuffer, padded
from .deferral import before_recording
from .device import Device
from .device_tensor import DeviceEngine
from .pipeline import BoundLaunch
from .program import Program


class Recording:
    """The launches of a `with gpu.record()` block; `play()` launches them again.

    `launches` counts them; `temporary_bytes` is the memory of what the block allocated and nothing holds any more.

    `buffers` are the memory: first so many `temporaries`, then what the block was given and gave back. `programs` are
    the launches: each a program, its bindings by their numbers in `buffers`, the values of its parameters.

    >>> import numpy as np
    >>> from cutepy import gpu, ops
    >>> device = gpu.default_device()
    >>> x, w = (gpu.array(np.arange(4, dtype=np.float32)) for _ in range(2))
    >>> with gpu.record() as step:
    ...     y = ops.mul(x, w)
    >>> step.launches, len(step.written)
    (1, 1)
    >>> step.play({x: w}); y.numpy().tolist()
    [0.0, 1.0, 4.0, 9.0]
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.temporary_bytes = 0
        self.programs: list[tuple[Program, tuple[int, ...], tuple[float, ...]]] = []
        self.buffers: list[DeviceBuffer] = []
        self.temporaries = 0
        self._bound: tuple[list[BoundLaunch], list[Batch]] | None = None

    @property
    def launches(self) -> int:
        """How many launches a play makes."""
        return len(self.programs)

    @property
    def written(self) -> frozenset[int]:
        """The numbers of the buffers that some launch may write."""
        return frozenset(
            number
            for program, numbers, _ in self.programs
            for binding, number in zip(program.bindings, numbers, strict=True)
            if binding.access == "read_write"
        )

    def __repr__(self) -> str:
        counts = Counter(program.entry for program, _, _ in self.programs)
        entries = ", ".join(f"{count} x {entry}" for entry, count in counts.items())
        return f"<recording of {self.launches} launches ({entries or 'none'}), {self.temporary_bytes} temporary bytes>"

    def play(self, replaced: Mapping[Tensor, Tensor] | None = None) -> None:
        """Launch it all again. `replaced` gives other tensors in place of some that the block was given, or made: each
        of the same layout, offset, type and length, on the same device.

        Returns at once, as a launch does. Raises KernelError for a tensor that does not fit or is not of this block,
        DeviceError where a buffer of it was freed, or the device is lost.
        """
        if self._bound is None:
            raise KernelError("record: the block has not ended, or ended by an error; play it after the block")
        bound, buffers = self._bound, self.buffers
        if replaced:
            buffers = self._with(replaced)
            bound = self._bind(buffers)
        self.device.play(*bound, buffers[self.temporaries :])

    def _with(self, replaced: Mapping[Tensor, Tensor]) -> list[DeviceBuffer]:
        """The buffers, with those of other tensors in the places of some."""
        buffers = list(self.buffers)
        for old, new in replaced.items():
            engine, other = old.engine, new.engine
            if not isinstance(engine, DeviceEngine) or engine.buffer not in self.buffers[self.temporaries :]:
                raise KernelError(f"play: {old} is no tensor that the recorded block was given, or gave back")
            if (
                not isinstance(other, DeviceEngine)
                or (old.layout, old.offset, engine.dtype, engine.length)
                != (new.layout, new.offset, other.dtype, other.length)
                or other.buffer.nbytes != engine.buffer.nbytes
            ):
                raise KernelError(
                    f"play: {new} in place of {old}: give a tensor of the same layout, offset, type and memory; "
                    "record the block again for another"
                )
            buffers[self.buffers.index(engine.buffer)] = other.buffer
        return buffers

    def _bind(self, buffers: Sequence[DeviceBuffer]) -> tuple[list[BoundLaunch], list[Batch]]:
        """Each launch with its pipeline and the bind group of these buffers, and the batches of all."""
        bound = [
            self.device.bound_launch(program, [buffers[number] for number in places], params, program.grid)
            for program, places, params in self.programs
        ]
        # A software device does all of a submission before it takes the next.
        first = MOST_LAUNCHES if self.device.adapter.kind == "CPU" else FIRST_LAUNCHES
        return bound, batches_of(self.device.runtime, bound, first=first)

    def _take(self, tape: Tape) -> None:
        """Keep what is on a tape, in as little memory as its order allows. The tape is empty afterwards."""
        if not tape.whole:
            raise KernelError(
                "record: the block did more on the device than launches, such as reading or writing elements on the "
                "host, allocating zeros, or a grid given by hand; do that before or after it"
            )
        sizes = {buffer.uid: buffer.nbytes for buffer in tape.made}
        launches = [(program, [b.uid for b in operands], params) for program, operands, params in tape.launches]
        given = {b.uid: b for _, operands, _ in tape.launches for b in operands if b.uid not in sizes}
        made = {buffer.uid: weakref.ref(buffer) for buffer in tape.made}
        tape.made.clear()
        tape.launches.clear()
        gc.collect()  # a cycle that nothing holds any more holds no result
        # With the tape's references gone, what was made and lives on is held by the caller: a result.
        kept = {uid: buffer for uid, ref in made.items() if (buffer := ref()) is not None}
        slots, self.buffers = self._allocate(launches, {uid: n for uid, n in sizes.items() if uid not in kept})
        self.temporaries = len(self.buffers)
        for uid, buffer in (given | kept).items():
            slots[uid] = len(self.buffers)
            self.buffers.append(buffer)
        self.programs = [(program, tuple([slots[uid] for uid in uids]), params) for program, uids, params in launches]
        self._bound = self._bind(self.buffers)

    def _allocate(
        self, launches: Sequence[tuple[Program, list[int], tuple[float, ...]]], temporaries: dict[int, int]
    ) -> tuple[dict[int, int], list[DeviceBuffer]]:
        """Memory for temporaries by their live ranges: which of the new buffers each has, and these buffers.

        `temporaries` are bytes by number. A live range goes from the first launch over a buffer to the last.
        """
        last = {uid: at for at, (_, uids, _) in enumerate(launches) for uid in uids if uid in temporaries}
        slots: dict[int, int] = {}
        buffers: list[DeviceBuffer] = []
        free: defaultdict[int, list[int]] = defaultdict(list)  # by bytes: buffers whose live range is over
        for at, (_, uids, _) in enumerate(launches):
            for uid in uids:
                if uid in last and uid not in slots:
                    idle = free[temporaries[uid]]
                    if not idle:
                        idle.append(len(buffers))
                        buffers.append(self.device.allocate(temporaries[uid], "temporary", pooled=True))
                    slots[uid] = idle.pop()
            for uid in {uid for uid in uids if last.get(uid) == at}:
                free[temporaries[uid]].append(slots[uid])
        self.temporary_bytes = sum(padded(buffer.nbytes) for buffer in buffers)
        return slots, buffers


@contextmanager
def record(device: Device | None = None) -> Iterator[Recording]:
    """Run a block of calls on a device, by default the default one, and keep their launches: `step.play()` makes them
    again, for a few microseconds each.

    ```python
    with gpu.record() as step:
        y = ops.softmax(ops.matmul(x, w))
    x.engine.buffer.write(other)
    step.play()  # y holds the result for the new elements of x
    ```

    The Python of the block does not run again: branches, sizes and numbers are those of the recording. A tensor that
    was made in the block and is held after it is a result, and every play writes it.

    Raises KernelError at the end of a block that reads or writes elements on the host, or uses another device.

    >>> import numpy as np
    >>> from cutepy import gpu, ops
    >>> device = gpu.default_device()
    >>> x = gpu.array(np.float32([1, 2]))
    >>> with record() as step:
    ...     y = ops.square(x)
    >>> x.engine.replace(np.float32([3, 4])); step.play(); y.numpy().tolist()
    [9.0, 16.0]
    """
    target = device if device is not None else default_device()
    recording = Recording(target)
    before_recording()
    with taped(target) as tape:
        yield recording
    recording._take(tape)


__all__ = ["Recording", "record"]
