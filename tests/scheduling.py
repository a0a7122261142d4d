"""How files of tests are given to workers: `--dist loadfile` of pytest-xdist, whatever worker dies.

Law: every test is run once, by one worker, unless the worker dies with it; that test has failed, and is not run again.
"""

from collections.abc import Sequence
from typing import Any

from xdist.scheduler import LoadFileScheduling

#: Files that one worker runs one after the other, and what they have in common: every kernel is traced, and the site
#: built, once.
TOGETHER = {
    "test_every_kernel.py": "kernels", "test_site.py": "site", "test_live_site.py": "site", "test_run.py": "site",
}  # fmt: skip


class Numbered(list[str]):
    """Tests, each with its number at hand: a list looks through 18,000 names for the number of one."""

    def __init__(self, tests: Sequence[str]) -> None:
        super().__init__(tests)
        self._numbers = {test: number for number, test in enumerate(tests)}

    def index(self, test: str, *_ends: Any) -> int:
        return self._numbers[test]


class Scheduling(LoadFileScheduling):
    """Files by the worker that has nothing else to do, those of `TOGETHER` by one."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return TOGETHER.get(file.rpartition("/")[2], file)

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        super().add_node_collection(node, collection)
        if node in self.registered_collections:  # else it collected others
            self.registered_collections[node] = Numbered(collection)

    def _reschedule(self, node: Any) -> None:
        """A worker runs a test once it has the next one: with fewer than two it would wait for ever. One that takes the
        place of another is given none before it has collected them."""
        if node not in self.registered_collections:
            return
        super()._reschedule(node)
        if not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            self._reschedule(node)

    def remove_node(self, node: Any) -> str | None:
        """The test with which a worker died, or None; others run what it had not begun."""
        units = self.assigned_work.pop(node)
        tests = [(unit, test) for unit in units.values() for test, ended in unit.items() if not ended]
        if not tests:
            return None
        unit, crashed = tests[0]
        unit[crashed] = True
        self.workqueue.update({scope: unit for scope, unit in units.items() if not all(unit.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return str(crashed)
