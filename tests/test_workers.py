import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from workers import Run, Tell, files_of, run_in_workers


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.integers(1, 3), st.sets(st.integers(0, 20), max_size=4))
def test_every_test_runs_once_whatever_workers_die(sizes: list[int], count: int, deadly: set[int]) -> None:
    tests = [f"tests/test_{file}.py::test_{n}" for file, length in enumerate(sizes) for n in range(length)]
    files = files_of(tests)
    assert [len(file) for file in files] == sizes
    ended: list[int] = []
    dead: dict[int, int] = {}
    with TemporaryDirectory() as folder:
        log = Path(folder, "log")

        @contextmanager
        def begin(tell: Tell) -> Iterator[Run]:
            def run(test: int, following: int | None) -> None:
                with log.open("a") as out:
                    out.write(f"{os.getpid()} {test} {following}\n")
                if test in deadly:
                    os.kill(os.getpid(), signal.SIGKILL)

            yield run

        run_in_workers(files, count, begin, lambda message: ended.append(message["ends"]), dead.__setitem__)
        lines = [line.split() for line in log.read_text().splitlines()]
    assert sorted(int(test) for _, test, _ in lines) == list(range(len(tests)))
    assert set(dead) == deadly & set(range(len(tests))) and set(dead.values()) <= {-signal.SIGKILL}
    assert sorted([*ended, *dead]) == list(range(len(tests)))
    for worker in {worker for worker, *_ in lines}:
        mine = [(test, following) for who, test, following in lines if who == worker]
        assert [following for _, following in mine[:-1]] == [test for test, _ in mine[1:]]
        assert mine[-1][1] == "None" or int(mine[-1][0]) in deadly


TESTS = {
    "test_one.py": """
import os, pytest
def test_passes(tmp_path): print("not shown")
def test_fails():
    print("printed by it")
    assert 1 + 1 == 3
def test_dies(): os._exit(5)
def test_after_it(): pass
""",
    "test_two.py": """
import pytest
@pytest.fixture(scope="session")
def shared():
    yield
    open("ended", "a").write("x")
def test_is_skipped(): pytest.skip("no such thing")
def test_shares(shared): pass
def test_shares_too(shared): pass
""",
}


def test_pytest_prints_what_came_of_each(tmp_path: Path) -> None:
    for name, text in TESTS.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "workers", "--workers", "2", "-ra", "--basetemp", "temp"]
    folder = str(Path(__file__).parent)
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": folder}, capture_output=True, text=True
    )
    assert done.returncode == 1 and "2 failed, 4 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    for said in (
        "assert (1 + 1) == 3",
        "printed by it",
        "test_dies - the worker that ran it ended with status 5",
        "no such thing",
    ):
        assert said in done.stdout, said
    assert "not shown" not in done.stdout and (tmp_path / "ended").read_text() == "x"
