"""What is refused before a device sees it: masks, formulas without bound, words of WGSL, files outside; and the turns
of loops that a driver may not take.
"""

import itertools
from pathlib import Path

import numpy as np
import pytest

from cutepy import gpu, ops
from cutepy.cli.figures import figures
from cutepy.errors import CommandError, DeviceError, KernelError, TensorError
from cutepy.gpu.runtime import forks
from cutepy.gpu.runtime.program import LoopBound
from cutepy.gpu.targets.wgsl_tokens import RESERVED
from cutepy.tensor import make_tensor


@pytest.mark.parametrize(
    "take", [make_tensor, ops.sum, lambda data: make_tensor([data, data]), lambda data: ops.add(data, 1)]
)
def test_a_masked_array_is_no_tensor(take: object) -> None:
    with pytest.raises(TensorError, match="mask"):
        take(np.ma.masked_array(np.float32([1, 2]), [True, False]))


RUNAWAYS = (
    "a+9**9**9",
    "a" + "**2" * 60 + "+2**2**2**2**2**2",
    "a+(1<<100000000)",
    "+".join(f"a{i}" for i in range(100)),
    "+".join(["a"] * 5000),
    "-" * 5000 + "a",
    "a" * 100_000,
)


@pytest.mark.parametrize("text", RUNAWAYS, ids=lambda text: text[:12])
def test_a_formula_that_runs_away_is_refused(text: str) -> None:
    with pytest.raises(KernelError) as caught:
        formula = gpu.pointwise(text)
        formula(*[np.ones(4, np.float32)] * len(formula.names), engine="interpreter")
    assert len(str(caught.value)) < 600


def test_whole_numbers_of_a_formula_are_still_computed() -> None:
    found = gpu.pointwise("a * 2**10 + (1 << 4)")(np.float32([1, 2]), engine="interpreter")
    assert found.numpy().tolist() == [1040, 2064]


def test_address_spaces_and_accesses_are_no_names() -> None:
    assert {"read", "write", "read_write", "storage", "uniform", "workgroup", "private", "function"} <= RESERVED


@pytest.mark.parametrize("name", ["../out.svg", "sub/../../out.svg", "link/out.svg"])
def test_a_figure_stays_in_its_documents_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    page = folder / "page.md"
    page.write_text(f"```layout\n4:1\nfile: {name}\n```\n")
    with pytest.raises(CommandError, match="outside of the document's folder"):
        figures([page])
    page.write_text("```layout\n4:1\nfile: sub/in.svg\n```\n")
    assert [figure.target.name for figure in figures([page])] == ["in.svg"]


def counted(far: int, step: int, inner: tuple[int, ...]) -> int:
    """The turns of a loop with loops inside, and the test that ends each, by running them."""
    turns = 0
    for _ in range(0, far, step):
        turns += 1
        for stop in inner:
            turns += sum(1 for _ in range(stop)) + 1
    return turns + 1


@pytest.mark.parametrize(("far", "step", "inner"), [*itertools.product((0, 1, 7, 8), (1, 3), ((), (5,), (0, 2)))])
def test_turns_are_what_loops_take(far: int, step: int, inner: tuple[int, ...]) -> None:
    loop = LoopBound(far - 4, step, ((0, 2),), tuple(LoopBound(stop, 1) for stop in inner))
    assert loop.most((2,)) == loop.least((2,)) == counted(far, step, inner)


def test_the_turns_of_a_kernel_are_read_from_its_loops() -> None:
    @gpu.kernel
    def nested(y, n: np.uint32):
        gpu.launch(grid=1, threads=64)
        total = gpu.cast(0, "u32")
        for _ in gpu.loop(n):
            for _ in gpu.loop(7):
                total = total + 1
        y[gpu.thread] = total

    (loop,) = nested.program(np.zeros(64, np.uint32), 3).loops
    assert loop.most((8000,)) == loop.least((8000,)) == counted(8000, 1, (7,))


def test_a_forked_child_is_told_that_the_fork_may_be_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a driver says to a child (NVIDIA's: "device lost") is nothing that anybody can act on."""

    def fails() -> None:
        raise DeviceError("it gives no device: Parent device is lost")

    for forked in (False, True):
        monkeypatch.setattr(forks, "_forked", forked)
        with pytest.raises(DeviceError, match="Parent device is lost") as caught:
            forks.in_time(fails, "the driver")
        assert ("forked" in str(caught.value) and "spawn" in str(caught.value)) == forked
