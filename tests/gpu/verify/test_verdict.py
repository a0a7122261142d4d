"""Verdicts: their order, what a verification is made of, and its text."""

import pytest

from cutepy.errors import VerificationError
from cutepy.gpu.verify import Claim, Status, Use, Verdict, Verification, Witness

PROVEN = Verdict(Claim.IN_BOUNDS, Status.PROVEN, "1 access", "x")
UNDECIDED = Verdict(Claim.NO_RACES, Status.UNDECIDED, "it depends on n", "y")
WITNESS = Witness("y", "(4):(1)", 7, (Use((1, 0, 0), 3, (("k", 2),), "writes", "y[i]", "file.py:3"),), "for n = 4")
REFUTED = Verdict(Claim.NO_RACES, Status.REFUTED, "two invocations write one element", "y", WITNESS)


def test_the_worst_comes_first() -> None:
    assert sorted([Status.PROVEN, Status.REFUTED, Status.UNDECIDED], key=lambda s: s.rank) == list(Status)
    assert [s.rank for s in (Status.REFUTED, Status.UNDECIDED, Status.PROVEN)] == [0, 1, 2]


@pytest.mark.parametrize(("verdicts", "worst"), [
    ((), "proven"), ((PROVEN,), "proven"), ((PROVEN, UNDECIDED), "undecided"),
    ((UNDECIDED, REFUTED, PROVEN), "refuted"),
])  # fmt: skip
def test_a_verification_is_as_good_as_its_worst_verdict(verdicts: tuple[Verdict, ...], worst: str) -> None:
    whole = Verification("k", verdicts)
    assert str(whole).splitlines()[0] == f"k: {worst}" and whole.ok == (worst == "proven")
    assert whole.refuted == tuple(v for v in verdicts if v is REFUTED)
    assert whole.undecided == tuple(v for v in verdicts if v is UNDECIDED)


def test_only_what_is_refuted_raises() -> None:
    Verification("k", (PROVEN, UNDECIDED)).raise_if_refuted()
    with pytest.raises(VerificationError, match="element 7 of y") as error:
        Verification("k", (PROVEN, REFUTED)).raise_if_refuted()
    assert "workgroup (1, 0, 0), thread 3, k = 2 writes y[i] (file.py:3)" in str(error.value)
    assert "for n = 4" in str(error.value)


def test_claims_and_statuses_are_their_words() -> None:
    assert PROVEN.claim == "in bounds" and f"{PROVEN.status}" == "proven"
    assert str(PROVEN) == "proven     in bounds x: 1 access"
