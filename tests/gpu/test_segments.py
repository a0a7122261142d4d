"""Segments of sorted arrays: `segment_programs`."""

from collections import Counter

from segment_programs import judge


def test_what_is_proven_of_segments_holds() -> None:
    found = Counter(judge(number) for number in range(60))
    assert found["proven"] >= 5 and found["undecided"] >= 20, found
