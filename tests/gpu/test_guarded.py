"""A guarded text keeps every index in its array: read from the text itself, for every kernel and for random ones."""

import re
from collections.abc import Iterator
from contextlib import suppress

import pytest
from random_kernels import Maker

from cutepy.errors import KernelError
from cutepy.gpu.ir import Kernel, new_arena
from cutepy.gpu.lower import compile_kernel, finish

SIZED = re.compile(r"(?:var<workgroup> |var |const )(\w+)(?::| =) array<.*, (\d+)>[;(]")
BOUND = re.compile(r"@group\(0\) @binding\((\d+)\) var<storage, \w+> (\w+): array<(.*)>;")


def indices(text: str) -> Iterator[tuple[str, str]]:
    """Every array that the text indexes, with the index: brackets are matched, so nested ones come too."""
    for found in re.finditer(r"(\w+)\[", text):
        depth, end = 1, found.end()
        while depth:
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
        yield found[1], text[found.end() : end - 1]


def last_of(index: str) -> int:
    """The greatest value of an index as it is written: a literal, or `min(anything, a literal)`. -1 for any other."""
    if literal := re.fullmatch(r"(\d+)[ui]?", index):
        return int(literal[1])
    guard = re.fullmatch(r"min\((.*), (\d+)u\)", index, re.DOTALL)
    if not guard:
        return -1
    depth = 0
    for c in guard[1]:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if depth < 0:
            return -1  # the parenthesis of min is closed before
    return int(guard[2])


def unguarded(text: str, lengths: dict[str, int]) -> list[str]:
    """The indices of a text that may be beyond their arrays; what is no array of these is a vector of four at most."""
    body = text[text.index("@compute") :]
    body = re.sub(r"//.*", "", body)
    return [
        f"{name}[{index}]" for name, index in indices(body) if not 0 <= last_of(index) < max(lengths.get(name, 4), 1)
    ]


def lengths_of(text: str, bytes_of: list[int]) -> dict[str, int]:
    """The elements of each array, by its name: those of a binding from its bytes."""
    lengths = {name: int(size) for name, size in SIZED.findall(text)}
    sizes = {"f16": 2, "bool": 4}
    for number, name, element in BOUND.findall(text):
        scalar = re.sub(r"^(?:atomic<(\w+)>|vec\d<(\w+)>)$", lambda m: m[1] or m[2], element)
        lanes = int(element[3]) if element.startswith("vec") else 1
        lengths[name] = -(-bytes_of[int(number)] // (sizes.get(scalar, 4) * lanes))
    return lengths


def open_indices(kernel: Kernel) -> list[str]:
    """The indices of a kernel's guarded text that may be beyond their arrays."""
    program = compile_kernel(kernel, dialect="tint", guarded=True)
    assert program.guarded and program.checked
    return unguarded(program.wgsl, lengths_of(program.wgsl, [b.min_bytes for b in program.bindings]))


def test_random_kernels() -> None:
    """Wild ones: most of these reach beyond their arrays."""
    judged = 0
    for seed in range(300):
        with new_arena(), suppress(KernelError):  # a constant beyond its array is refused before it is printed
            assert open_indices(finish(Maker(seed, wild=True).kernel())) == [], seed
            judged += 1
    assert judged > 200


@pytest.mark.parametrize(
    "text",
    [
        "@compute { y[i] = 1; }",
        "@compute { y[min(i, 8u)] = 1; }",
        "@compute { y[min(i, 3u) + 1u] = 1; }",
        "@compute { y[min(x[j], 7u)] = 1; }",
        "@compute { y[min(i, 3u) + max(j, 7u)] = 1; }",
        "@compute { y[8] = 1; }",
    ],
)
def test_an_index_without_a_guard_is_seen(text: str) -> None:
    assert unguarded(text, {"y": 8, "x": 8})


def test_a_guarded_index_is_not() -> None:
    assert not unguarded("@compute { y[min(x[min(u32(i - 1), 7u)] + 3u, 7u)] = y[7]; }", {"y": 8, "x": 8})
