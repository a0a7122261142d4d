"""Plans move every element to where it belongs, count what is received, and cost the least of all sequences of
steps."""

import random
from dataclasses import replace
from itertools import product

import pytest
from judges import arrives, least_traffic, random_pair
from placements import all_devices

from cutepy import LayoutError
from cutepy.mesh import Certificate, Collective, Partial, Placement, redistribution, transfers


def test_every_element_arrives_and_is_counted() -> None:
    draw = random.Random(1)
    for _ in range(300):
        old, new = random_pair(draw)
        assert arrives(old, new), (old, new)


def test_no_sequence_of_steps_costs_less() -> None:
    draw, equal = random.Random(2), 0
    for _ in range(60):
        planned, least = least_traffic(*random_pair(draw, devices=8))
        assert least is not None and planned <= least
        equal += planned == least
    assert equal >= 59


def test_a_wrong_certificate_is_refused() -> None:
    old, new = Placement.split((8, 8), (2, 2), [[0], [1]]), Placement.split((8, 8), (2, 2), [[1], [0]])
    plan = redistribution(old, new)
    proof = plan.certificate
    proof.check()
    for state in list(proof.costs)[:6]:
        for change in (-1.0, 1.0):
            costs = {**proof.costs, state: proof.costs[state] + change}
            wrong = Certificate(proof.space, proof.start, proof.goal, costs, proof.path)
            if change > 0 or state in proof.path:
                with pytest.raises(LayoutError):
                    wrong.check()
    with pytest.raises(LayoutError, match="does not lead"):
        replace(proof, path=proof.path[:-1]).check()


def test_collectives_by_name() -> None:
    def names(a, b, mesh=(4,), partial=()):
        return [
            s.collective
            for s in redistribution(Placement.split((8, 8), mesh, a, partial), Placement.split((8, 8), mesh, b)).steps
        ]

    assert names([[0], []], [[], [0]]) == [Collective.ALL_TO_ALL]
    assert names([[0], []], [[], []]) == [Collective.ALL_GATHER]
    assert names([[], []], [[0], []]) == [Collective.SLICE]
    assert names([[], []], [[0], []], partial=[(0, Partial.SUM)]) == [Collective.REDUCE_SCATTER]
    assert names([[], []], [[], []], partial=[(0, Partial.SUM)]) == [Collective.ALL_REDUCE]
    assert names([[0], [1]], [[1], [0]], mesh=(2, 2)) == [Collective.PERMUTATION]
    assert names([[0], []], [[0], []]) == []


def test_the_slow_link_is_spared() -> None:
    """Two machines of four devices: what can stay inside a machine does."""
    old, new = Placement.split((64, 64), (2, 4), [[0, 1], []]), Placement.split((64, 64), (2, 4), [[0], [1]])
    plan = redistribution(old, new, weights=(10.0, 1.0))
    assert plan.received[0] == 0 and plan.received[1] > 0
    assert plan.bytes(4) == tuple(4 * n for n in plan.received)


def test_who_sends_what_to_whom() -> None:
    draw = random.Random(3)
    for _ in range(150):
        old, new = random_pair(draw)
        if old.partial:
            continue
        got = {device: set() for device in all_devices(old.mesh)}
        for sender, receiver, indices in transfers(old, new):
            assert sender != receiver
            sent = set(product(*indices))
            assert sent <= set(product(*old.local_coordinates(sender)))
            assert not sent & got[receiver]
            got[receiver] |= sent
        for device, received in got.items():
            own, wanted = (set(product(*p.local_coordinates(device))) for p in (old, new))
            assert wanted - own <= received <= wanted
            assert received == wanted - own, (old, new, device)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (Placement.split((8,), (2,), [[0]]), Placement.split((9,), (2,), [[0]]), "two arrays, or over two meshes"),
        (Placement.split((8,), (2,), [[0]]), Placement.split((8,), (4,), [[0]]), "two arrays, or over two meshes"),
        (
            Placement.split((8,), (2,), [[0]]),
            Placement.split((8,), (2,), [[]], [(0, Partial.SUM)]),
            "parts of a reduction that the old one does not",
        ),
    ],
)
def test_bad_plans_are_refused(old, new, told) -> None:
    with pytest.raises(LayoutError, match=told):
        redistribution(old, new)
