"""Segments of sorted arrays and places that data give: `segment_programs`."""

from collections import Counter

from segment_programs import judge, judge_places


def test_what_is_proven_of_segments_holds() -> None:
    found = Counter(judge(number) for number in range(60))
    assert found["proven"] >= 5 and found["refuted"] >= 20, found


def test_what_is_proven_of_distinct_places_holds() -> None:
    found = Counter(judge_places(number) for number in range(60))
    assert found["proven"] >= 20 and found["refuted"] >= 20, found
