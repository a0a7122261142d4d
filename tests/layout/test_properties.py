"""Properties by arithmetic against the list of all offsets."""

from __future__ import annotations

from layout.cases import CASES, generator, random_layout, values

from cutepy.layout import Layout, is_bijective, is_contiguous, is_injective, is_surjective


def test_properties_equal_enumeration():
    rng = generator("properties")
    seen = {True: 0, False: 0}
    for _ in range(CASES):
        layout = random_layout(rng)
        offsets = values(layout)
        distinct = set(offsets)
        injective = len(distinct) == len(offsets)
        surjective = max(distinct) - min(distinct) + 1 == len(distinct)
        assert is_injective(layout) == injective, layout
        assert is_surjective(layout) == surjective, layout
        assert is_bijective(layout) == (injective and surjective), layout
        assert is_contiguous(layout) == (offsets == list(range(len(offsets)))), layout
        seen[injective] += 1
    assert min(seen.values()) > CASES // 20


def test_any_size_is_decided():
    huge = Layout((1 << 40, 1 << 40), (1, 1 << 40))
    assert is_bijective(huge) and is_contiguous(huge)
    assert is_injective(Layout((3, 1 << 30), (1 << 31, 2))) and not is_surjective(Layout((3, 1 << 30), (1 << 31, 2)))
    assert not is_injective(Layout((1 << 20, 1 << 20), (3, 5)))
