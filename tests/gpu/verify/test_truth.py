"""Each prover alone, on fixed lists of random kernels whose invocations are all run: what it says is true, what its
witnesses do happens, and little is left undecided."""

from collections import Counter
from collections.abc import Iterable

import pytest
from judging import judge

import cutepy.gpu.verify.model as search


def counted(seeds: Iterable[int], *, prover: str, data: bool = False, wild: bool = False) -> Counter[str]:
    return sum((judge(seed, data=data, wild=wild, prover=prover) for seed in seeds), Counter())


def test_without_data_everything_is_decided() -> None:
    """But for what rests on a barrier that not all threads reach by the text."""
    counts = counted(range(150), prover="cutepy")
    assert counts["undecided"] <= 3 and counts.total() == 769, counts


@pytest.mark.parametrize(("most", "undecided"), [(1, 4), (64, 3)])
def test_structure_proves_what_is_not_tried(most: int, undecided: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST", most)
    counts = counted(range(60), prover="cutepy")
    assert counts["undecided"] <= undecided, counts


@pytest.mark.parametrize(("kind", "undecided"), [("data", 25), ("wild", 54)])
def test_little_is_left_open_where_memory_decides(kind: str, undecided: int) -> None:
    counts = counted(range(100), prover="cutepy", data=kind == "data", wild=kind == "wild")
    assert counts["undecided"] <= undecided, counts


@pytest.mark.parametrize(("kind", "proven"), [("plain", 69), ("data", 70), ("wild", 72)])
def test_z3_alone(kind: str, proven: int) -> None:
    """What it proves does not hang on the model that it comes upon, as what it refutes does. Left out are two kernels
    with questions that take it seconds."""
    seeds = [seed for seed in range(20) if (kind, seed) not in (("wild", 12), ("wild", 13))]
    counts = counted(seeds, prover="z3", data=kind == "data", wild=kind == "wild")
    assert counts["proven"] >= proven and counts["refuted"] >= 15, counts
