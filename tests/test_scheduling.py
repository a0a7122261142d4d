from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st
from scheduling import Scheduling


class Worker:
    """As pytest-xdist's: it runs a test once it knows the next one, or that there is none."""

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.given: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, tests: list[int]) -> None:
        assert not self.shutting_down
        self.given += tests

    def shutdown(self) -> None:
        self.shutting_down = True

    @property
    def runs(self) -> bool:
        return len(self.given) > 1 or (self.shutting_down and bool(self.given))


@settings(max_examples=200)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=8), st.integers(1, 3), st.lists(st.integers(0, 5)), st.randoms()
)
def test_every_test_runs_once_whatever_workers_die(files: list[int], count: int, deaths: list[int], random) -> None:
    """`deaths`: how many tests run before the next worker dies, whether the one before it has been replaced or not."""
    tests = [f"tests/test_{file}.py::test_{n}" for file, length in enumerate(files) for n in range(length)]
    scheduling = Scheduling(
        SimpleNamespace(getvalue=lambda name: ["x"] * count, option=SimpleNamespace(loadscopereorder=False))
    )
    workers: list[Worker] = []
    collecting: list[Worker] = []

    def start() -> None:
        workers.append(Worker(len(workers)))
        collecting.append(workers[-1])
        scheduling.add_node(workers[-1])

    for _ in range(count):
        start()
    ran: list[str] = []
    while running := [worker for worker in workers if worker.runs or worker in collecting]:
        worker = random.choice(running)
        if worker in collecting:
            collecting.remove(worker)
            scheduling.add_node_collection(worker, tests)
            if scheduling.collection_is_completed:
                scheduling.schedule()
        elif deaths and len(ran) >= deaths[0]:
            deaths = [len(ran) + more for more in deaths[1:2]] + deaths[2:]
            crashed = scheduling.remove_node(worker)
            assert crashed == tests[worker.given[0]]
            ran.append(crashed)
            workers.remove(worker)
            start()
        else:
            number = worker.given.pop(0)
            scheduling.mark_test_complete(worker, number)
            ran.append(tests[number])
    assert sorted(ran) == sorted(tests)
