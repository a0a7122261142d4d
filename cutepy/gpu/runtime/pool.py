"""Memory of results that nobody holds any more, kept for the next result of its size.

Law: `take(n)` gives what was last given back with n bytes, as it was left, or None; at most `most` bytes are kept. With
its memory a buffer keeps its number, and so the bind groups that were made for it.
"""

from __future__ import annotations

from collections import OrderedDict

from .native import wgpu

Kept = tuple[int, "wgpu.GPUBuffer"]
"""The number of a buffer, and wgpu's buffer."""


class Pool:
    """Buffers by their bytes; those of the size used longest ago go first.

    >>> pool = Pool(64)
    >>> pool.give(48, (1, "a")), pool.give(32, (2, "b")), pool.take(48), pool.take(32)
    ([], [1], None, (2, 'b'))
    """

    def __init__(self, most: int) -> None:
        self.most, self.bytes = most, 0
        self._kept: OrderedDict[int, list[Kept]] = OrderedDict()

    def take(self, nbytes: int) -> Kept | None:
        """A buffer of so many bytes; it holds anything."""
        same = self._kept.get(nbytes)
        if not same:
            return None
        self.bytes -= nbytes
        self._kept.move_to_end(nbytes)
        return same.pop()

    def give(self, nbytes: int, buffer: Kept) -> list[int]:
        """Keep a buffer. Returns the numbers of those that had to go for it."""
        if nbytes > self.most:
            return [buffer[0]]
        self._kept.setdefault(nbytes, []).append(buffer)
        self._kept.move_to_end(nbytes)
        self.bytes += nbytes
        gone = []
        while self.bytes > self.most:
            size, same = next(iter(self._kept.items()))
            if same:
                gone.append(same.pop(0)[0])
                self.bytes -= size
            else:
                del self._kept[size]
        return gone

    def empty(self) -> list[int]:
        """Let go of all. Returns their numbers."""
        gone = [uid for same in self._kept.values() for uid, _ in same]
        self._kept.clear()
        self.bytes = 0
        return gone
