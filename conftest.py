"""Every fence of README.md and docs/ runs: pytest collects them through Sybil.

`python` runs, as a doctest where it begins with `>>>`; the `text` or `wgsl` fence after it is what it printed;
`console` runs each `$ ` line in a shell; `layout` is drawn, `kernel` is exported. `...` stands for what is left out.
The fences of a document share one namespace and one temporary folder. Modules for tools that are not installed here
are left out.
"""

import doctest
import os
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from _pytest.doctest import DoctestItem
from sybil import Document, Example, Region, Sybil
from sybil.evaluators.doctest import DocTestEvaluator
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.abstract.doctest import DocTestStringParser
from sybil.parsers.markdown import CodeBlockParser, SkipParser

collect_ignore = [] if find_spec("sphinx") else ["cutepy/sphinxext.py"]
if not find_spec("z3"):
    collect_ignore += ["cutepy/gpu/verify/smt_encoding.py", "cutepy/gpu/verify/z3_prover.py"]

# Each core has a worker of its own: products of NumPy's take one thread.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The tests judge cutepy's own prover, and tell what it leaves undecided; those of z3 name it.
os.environ.setdefault("CUTEPY_PROVER", "cutepy")

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PRINTED, HOME, FOLDER = "__printed__", "__home__", "__folder__"
SECONDS = 120
WHERE = Path(__file__).parent
BESIDE = Path(sys.executable).parent  # where the command `cutepy` is installed


class NoDevice:
    """True where kernels have no device to run on; looked for when it is first asked."""

    def __bool__(self) -> bool:
        from cutepy import DeviceError
        from cutepy.gpu import default_device

        try:
            default_device()
        except DeviceError:
            if os.environ.get("CUTEPY_REQUIRE_DEVICE", "0") != "0":
                raise
            return True
        return False


def pytest_configure() -> None:
    """What a shell starts in the background ignores interrupts; tests that send some are to hear them."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """An example in a docstring that asks for a device is skipped where there is none."""
    if isinstance(item, DoctestItem) and _asks_for_a_device(item) and NoDevice():
        pytest.skip("no device")


def _asks_for_a_device(item: DoctestItem) -> bool:
    return any("default_device()" in example.source for example in item.dtest.examples)


def enter(namespace: dict[str, object]) -> None:
    """A folder of its own for a document, with the examples in it, and what `skip: next if(no_device)` asks."""
    folder = TemporaryDirectory(prefix="cutepy-docs-")
    missing = {f"no_{name}": find_spec(name) is None for name in ("torch", "jax")}
    namespace.update({FOLDER: folder, HOME: Path.cwd(), "no_device": NoDevice(), **missing})
    os.chdir(folder.name)
    Path("examples").symlink_to(WHERE / "examples")


def leave(namespace: dict[str, object]) -> None:
    """Back to where the tests run."""
    os.chdir(namespace[HOME])
    namespace[FOLDER].cleanup()


def same(example: Example, printed: str) -> None:
    """The text of a fence is what was printed; whatever `...` stands for may be there as well."""
    want = "\n".join("..." if line.strip(" #/") == "..." else line for line in str(example.parsed).splitlines())
    checker = doctest.OutputChecker()
    if not checker.check_output(want.strip() + "\n", printed.strip() + "\n", OPTIONS):
        difference = checker.output_difference(doctest.Example("", want.strip() + "\n"), printed.strip(), OPTIONS)
        raise AssertionError(f"{Path(example.path).name}:{example.line}: printed something else.\n{difference}")


class Python:
    """`python`: REPL sessions as doctests, anything else as a program whose output is kept for the next fence."""

    def __init__(self) -> None:
        self.blocks = CodeBlockParser("python", self.run)
        self.sessions = DocTestStringParser(DocTestEvaluator(OPTIONS))
        self.program = PythonEvaluator()

    def __call__(self, document: Document) -> "list[Region]":
        found = []
        for region in self.blocks(document):
            if not region.parsed.startswith(">>>"):
                found.append(region)
                continue
            for statement in self.sessions(region.parsed, document.path):
                statement.adjust(region, region.parsed)
                found.append(statement)
        return found

    def run(self, example: Example) -> None:
        with redirect_stdout(StringIO()) as out:
            self.program(example)
        example.namespace[PRINTED] = out.getvalue()


def shown(example: Example) -> None:
    """`text`, `wgsl`: what the program before printed."""
    assert PRINTED in example.namespace, f"{example.path}:{example.line}: no program before this prints"
    same(example, str(example.namespace[PRINTED]))


def console(example: Example) -> None:
    """`console`: lines after `$ ` are run; the others are what they print, errors included."""
    command, wanted = "", []
    for line in [*str(example.parsed).splitlines(), "$ "]:
        if line.startswith("$ "):
            if command:
                example.parsed = "\n".join(wanted)
                same(example, shell(command))
            command, wanted = line[2:], []
        elif command.endswith("\\"):
            command += f"\n{line.strip()}"
        else:
            wanted.append(line)


def shell(command: str) -> str:
    """What a command prints."""
    variables = {**os.environ, "PATH": f"{BESIDE}{os.pathsep}{os.environ.get('PATH', '')}", "PYTHONPATH": str(WHERE)}
    done = subprocess.run(
        ["bash", "-c", command], env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS
    )
    return done.stdout.decode()


def picture(example: Example) -> None:
    """`layout`: drawn as the docs site draws it."""
    from cutepy.docs import drawing_of_body

    assert drawing_of_body(str(example.parsed), {})[0].svg().startswith("<svg")


def runnable(example: Example) -> None:
    """`kernel`: exported as the docs site exports it."""
    from cutepy.docs_kernels import fence

    assert "</button>" in fence(str(example.parsed), "kernel", "kernel", {}, None)


PARSERS = (
    Python(),
    CodeBlockParser("text", shown),
    CodeBlockParser("wgsl", shown),
    CodeBlockParser("console", console),
    CodeBlockParser("layout", picture),
    CodeBlockParser("kernel", runnable),
    SkipParser(),
)

pytest_collect_file = Sybil(
    parsers=PARSERS, patterns=["README.md", "docs/*.md", "docs/**/*.md"], setup=enter, teardown=leave
).pytest()
