"""`--workers N`: N forks of the process that collected the tests run them, a file at a time.

Law: every test is run once, by one worker, unless the worker dies with it; that test has failed, and is not run again.

What is collected and imported once is there in every worker. The numbers of the files stand in a pipe that all workers
read. A worker takes the next file before it runs the last test of the one before: a fixture stays for the next test.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import chain, pairwise
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

import pytest
from _pytest import runner

#: Files that one worker runs one after the other, and what they have in common: every kernel is traced, and the site
#: built, once.
TOGETHER = {
    "test_every_kernel.py": "kernels", "test_site.py": "site", "test_live_site.py": "site", "test_run.py": "site",
}  # fmt: skip

#: How a worker tells the process that it was forked from something: by keywords.
Tell = Callable[..., None]
#: Runs a test, by its number; the second is the number of the next one.
Run = Callable[[int, int | None], None]


def files_of(tests: list[str]) -> list[list[int]]:
    """The numbers of the tests of each file, or of files that go `TOGETHER`."""
    files: dict[str, list[int]] = {}
    for number, test in enumerate(tests):
        file = test.partition("::")[0]
        files.setdefault(TOGETHER.get(file.rpartition("/")[2], file), []).append(number)
    return list(files.values())


@dataclass
class Worker:
    """What is known of a worker: the tests that it took and has not ended, in order."""

    pid: int
    left: list[int]


def run_in_workers(
    files: list[list[int]],
    count: int,
    begin: Callable[[Tell], AbstractContextManager[Run]],
    hear: Callable[[dict[str, Any]], None],
    died: Callable[[int, int], None],
) -> None:
    """Each test of the files is run in one of `count` workers, by what `begin(tell)` gives there; `hear(message)` is
    called here for each call of `tell`, and for the end of each test, `died(test, status)` where its worker died.
    """
    queue, writer = os.pipe()
    os.write(writer, b"".join(number.to_bytes(4, "big") for number in range(len(files))))
    os.close(writer)
    workers: dict[Connection, Worker] = {}

    def start(left: list[int]) -> None:
        reader, writer = Pipe(duplex=False)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if not pid:
            _live(files, left, queue, writer, begin)
        writer.close()
        workers[reader] = Worker(pid, left)

    def end(reader: Connection) -> None:
        worker = workers.pop(reader)
        reader.close()
        status = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        if worker.left:
            test, *left = worker.left
            died(test, status)
            start(left)
        elif status:
            raise RuntimeError(f"a worker that had run all of its tests ended with status {status}")

    try:
        for _ in range(min(count, len(files))):
            start([])
        while workers:
            for reader in wait(list(workers)):
                try:
                    messages = reader.recv()
                except (EOFError, OSError):
                    end(reader)
                    continue
                for message in messages:
                    if "takes" in message:
                        workers[reader].left += files[message["takes"]]
                    else:
                        if "ends" in message:
                            workers[reader].left.remove(message["ends"])
                        hear(message)
    finally:
        os.close(queue)
        for reader, worker in workers.items():
            os.kill(worker.pid, signal.SIGINT)
            os.waitpid(worker.pid, 0)
            reader.close()


def _live(
    files: list[list[int]],
    left: list[int],
    queue: int,
    writer: Connection,
    begin: Callable[[Tell], AbstractContextManager[Run]],
) -> NoReturn:
    """A worker, from its first test to its end: what a worker that died has `left` first, then file after file."""
    messages: list[dict[str, Any]] = []

    def tell(**message: Any) -> None:
        messages.append(message)

    def send() -> None:
        writer.send(messages)
        messages.clear()

    def tests() -> Iterator[int]:
        yield from left
        while taken := os.read(queue, 4):
            file = int.from_bytes(taken, "big")
            tell(takes=file)
            send()
            yield from files[file]

    status = 1
    try:
        with begin(tell) as run:
            for test, following in pairwise(chain(tests(), [None])):
                run(test, following)
                tell(ends=test)
                send()
        status = 0
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class Reporter:
    """What came of a test is told to the process that prints it."""

    def __init__(self, config: pytest.Config, tell: Tell) -> None:
        self.config, self.tell = config, tell

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tell(report=self.config.hook.pytest_report_to_serializable(config=self.config, report=report))


class Hooks:
    def pytest_process_begins(self) -> None:
        """A process is about to run its first test: a process that was forked calls nothing that its parent opened."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(Hooks)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=0, help="so many processes run the tests, a file at a time")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """By workers, where they are asked for: None where this process runs the tests."""
    config, items = session.config, session.items
    count: int = config.getoption("workers")
    if config.option.collectonly or session.testsfailed:
        return None
    if not count:
        config.hook.pytest_process_begins()
        return None

    temporary = config._tmp_path_factory
    folder = temporary.getbasetemp()

    @contextmanager
    def begin(tell: Tell) -> Iterator[Run]:
        """Each worker captures what its own tests print, prints nothing itself, and has a temporary folder."""
        temporary._basetemp = folder / f"worker{os.getpid()}"
        temporary._basetemp.mkdir()
        capture = config.pluginmanager.getplugin("capturemanager")
        capture.stop_global_capturing()
        capture.start_global_capturing()
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(Reporter(config, tell))
        config.hook.pytest_process_begins()
        try:
            yield lambda test, following: config.hook.pytest_runtest_protocol(
                item=items[test], nextitem=None if following is None else items[following]
            )
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            raise
        finally:
            runner.pytest_sessionfinish(session)
            capture.stop_global_capturing()

    def report(report: Any) -> None:
        config.hook.pytest_runtest_logreport(report=report)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)

    def hear(message: dict[str, Any]) -> None:
        if "report" in message:
            report(config.hook.pytest_report_from_serializable(config=config, data=message["report"]))
        else:
            item = items[message["ends"]]
            config.hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def died(test: int, status: int) -> None:
        item, why = items[test], f"the worker that ran it ended with status {status}"
        report(pytest.TestReport(item.nodeid, item.location, {}, "failed", why, "call"))

    run_in_workers(files_of([item.nodeid for item in items]), count, begin, hear, died)
    return True
