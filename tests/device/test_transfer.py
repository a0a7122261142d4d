"""Reading back without waiting: what `numpy` gives at the call, whatever is launched next; and DLPack out."""

import asyncio
import signal

import numpy as np
import pytest

from cutepy import Layout, Swizzle, Tensor, _, composition, gpu, make_tensor, ops
from cutepy.errors import DeviceError
from cutepy.gpu.runtime import Device, open_device

LARGE = 5_000_000  # elements: more than one chunk


def test_a_read_is_of_its_moment(device: Device) -> None:
    x = gpu.array(np.arange(64, dtype=np.float32), device=device)
    before = x.numpy_async()
    gpu.pointwise("a * 0 + 7")(x, out=x)
    after = x.numpy_async()
    assert np.array_equal(before.result(), np.arange(64)) and np.array_equal(before.result(), np.arange(64))
    assert np.array_equal(after.result(), np.full(64, 7)) and before.done() and after.done()


@pytest.mark.parametrize("dtype", ["f4", "i4", "u1", "?", "c8"])
def test_every_type_and_view(device: Device, dtype: str) -> None:
    host = (np.arange(48).reshape(6, 8) % 5).astype(dtype)
    x = gpu.array(host, device=device)
    for view in (x, x(2, _), x(_, 3)):
        assert np.array_equal(view.numpy_async().result(), view.numpy())


def test_many_at_once_in_an_event_loop(device: Device) -> None:
    async def all_of_them() -> list[np.ndarray]:
        tensors = [gpu.array(np.full(100, i, np.float32), device=device) for i in range(10)]
        return await asyncio.gather(*[wait_for(ops.add(t, t)) for t in tensors])

    async def wait_for(tensor: object) -> np.ndarray:
        return await tensor.numpy_async()

    for i, found in enumerate(asyncio.run(all_of_them())):
        assert np.array_equal(found, np.full(100, 2 * i))


def test_a_large_read_and_one_that_is_dropped(device: Device) -> None:
    x = gpu.array(np.arange(LARGE, dtype=np.float32), device=device)
    x.numpy_async()  # nobody waits for it
    assert np.array_equal(x.numpy_async().result(), np.arange(LARGE, dtype=np.float32))
    assert np.array_equal(x.numpy(), np.arange(LARGE, dtype=np.float32))


def test_a_device_that_closed_says_so(device: Device) -> None:
    own = open_device(device.adapter)
    pending = gpu.array(np.ones(10, np.float32), device=own).numpy_async()
    own._close()
    with pytest.raises(DeviceError, match="closed"):
        pending.result()


def test_an_interrupt_as_bytes_arrive_takes_none_twice(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is taken is no longer on its way: the staging buffer of a fetch is kept once."""
    taken: list[object] = []
    take = type(device._staging).take

    def interrupted(self: object, fetch: object, part: object) -> None:
        take(self, fetch, part)  # type: ignore[arg-type]
        taken.append(fetch)
        signal.raise_signal(signal.SIGINT)

    x = gpu.array(np.arange(64, dtype=np.float32), device=device)
    for ask in ("result", "done"):
        pending = device.read_async(x.engine.buffer, np.float32)
        with monkeypatch.context() as patched:
            patched.setattr(type(device._staging), "take", interrupted)
            with pytest.raises(KeyboardInterrupt):
                if ask == "result":
                    pending.result()
                while not pending.done():
                    pass
            assert len({*map(id, taken)}) == len(taken) == 1
        assert np.array_equal(pending.result(), np.arange(64)) and pending.done()
        assert len({*map(id, device._staging._idle)}) == len(device._staging._idle)
        taken.clear()


def test_bytes_that_a_device_does_not_give_are_refused_each_time(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = gpu.array(np.arange(64, dtype=np.float32), device=device)
    pending = device.read_async(x.engine.buffer, np.float32)
    device.wait()
    pending._fetches[0][0].completion.failed = True
    for ask in (pending.done, pending.result, pending.done, pending.result):
        with pytest.raises(DeviceError, match="did not give them"):
            while not ask():  # type: ignore[call-arg]
                pass
    pending._fetches[0][0].completion.failed = False
    assert np.array_equal(pending.result(), np.arange(64))


def test_what_is_on_the_host_is_there() -> None:
    x = make_tensor(np.arange(6, dtype=np.float32), Layout((2, 3), (3, 1)))
    pending = x.numpy_async()
    x[0, 0] = 9.0
    assert pending.done() and pending.result()[0, 0] == 0

    async def awaited() -> np.ndarray:
        return await pending

    assert np.array_equal(asyncio.run(awaited()), [[0, 1, 2], [3, 4, 5]])


def test_dlpack_shares_the_elements_or_says_why_not(device: Device) -> None:
    x = make_tensor(np.arange(12, dtype=np.float32), Layout((3, 4), (4, 1)))
    shared = np.from_dlpack(x)
    x[1, 2] = 70.0
    assert shared[1, 2] == 70 and x.__dlpack_device__() == (1, 0)
    swizzled = make_tensor(np.arange(32, dtype=np.float32), composition(Swizzle(2, 0, 2), Layout((4, 8))))
    for tensor in (gpu.array(np.ones(4, np.float32), device=device), swizzled):
        with pytest.raises(BufferError, match="copy"):
            np.from_dlpack(tensor)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.bool_], ids=str)
def test_a_view_is_read_by_what_it_reaches(device: Device, monkeypatch: pytest.MonkeyPatch, dtype: type) -> None:
    host = np.random.default_rng(0).integers(0, 2, (40, 50)).astype(dtype)
    there, counts, read = gpu.array(host, device=device), [], device.read
    monkeypatch.setattr(device, "read", lambda *how: (counts.append(how[2]), read(*how))[1])
    for rows, columns in (
        (slice(7, 8), 3),
        (slice(5, 9), slice(1, 4)),
        (slice(39, None), 0),
        (slice(None, None, 7), 49),
    ):
        np.testing.assert_array_equal(there[rows, columns].numpy(), host[rows, columns])
    assert counts[0] <= 4 and counts[1] <= 4 * 50 and counts[2] <= 4


@pytest.mark.parametrize(
    "layout, offset",
    [
        (Layout((4, 6), (6, 1)), 0), (Layout((6, 4), (1, 6)), 0), (Layout((3, 2), (6, 2)), 1),
        (Layout((4, 6), (0, 1)), 0), (Layout((4, 6), (-6, 1)), 18), (Layout((2, 2, 6), (12, 6, 1)), 0),
        (Layout(((2, 2), 6), ((6, 12), 1)), 0),
    ],
)  # fmt: skip
def test_an_array_that_was_read_is_the_callers(device: Device, layout: Layout, offset: int) -> None:
    """A write to an element of it changes this element alone: none of the array, of the tensor, of another read."""
    memory = np.arange(24, dtype=np.float32)
    x = Tensor(gpu.array(memory, device=device).engine, layout, offset)
    wanted = Tensor(make_tensor(memory).engine, layout, offset).numpy(copy=True)
    for place in np.ndindex(wanted.shape):
        found = x.numpy()
        np.testing.assert_array_equal(found, wanted)
        found[place] = -1.0
        assert np.count_nonzero(found != wanted) == 1
