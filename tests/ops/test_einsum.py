"""einsum and tensordot against NumPy in f64, on the host; the same calls on a device are in tests/device."""

import numpy as np
import pytest
from ops.operands import random_array

from cutepy import ops
from cutepy.errors import TensorError

EXTENTS = dict(zip("abcdeg", (2, 3, 4, 5, 6, 1), strict=True))
TEXTS = """
ab,bc->ac  ab,bc  abc,cd->abd  abc,abd->cd  ab,ab  a,b->ab  ab->ba  ab->  abc->b  ab  abc,cd,de->abe  abcd,dcb->a
ab,ac,ad->bcd  ag,gb->ab  abc,b->ca  abc,bcd,d->a  ba,bd->da  aa  aa->  aa->a  aab->ba  aa,ab->b  aba,ac->bc  aaa->a
...a,ab->...b  ...  ...->...  ab...->...ba  a...,b...->ab...  ...ab,...b  ...a->...  ...aa->...a
""".split()


def operands(text: str) -> list[np.ndarray]:
    g = np.random.default_rng(len(text))
    named = [name.replace("...", "de") for name in text.replace(" ", "").split("->")[0].split(",")]
    shapes = [[EXTENTS[c] for c in name] for name in named]
    arrays = [g.standard_normal(shape, dtype=np.float32) for shape in shapes]
    return [np.asfortranarray(x) if g.random() < 0.5 else x for x in arrays]


def random_einsum(seed: int) -> tuple[str, list[np.ndarray], np.ndarray]:
    """A text of up to three operands, whole numbers for them with strides of all kinds, and the sums."""
    rng = np.random.default_rng(seed)
    sizes = {letter: int(rng.choice([0, 1, 2, 3, 4, 5], p=[0.04, 0.16, 0.25, 0.25, 0.15, 0.15])) for letter in "abcde"}
    count, twice, unnamed = rng.choice([1, 2, 2, 3]), rng.random() < 0.3, rng.random() < 0.3
    names = ["".join(rng.choice(list(sizes), rng.integers(0, 4), replace=bool(twice))) for _ in range(count)]
    used = sorted(set("".join(names)))
    out = "".join(rng.permutation(used)[: rng.integers(0, len(used) + 1)] if used else "")
    shapes = [tuple(sizes[letter] for letter in name) for name in names]
    if unnamed:  # each operand has some of the axes behind the dots, the last ones, of their size or of size 1
        dots = tuple(int(size) for size in rng.integers(1, 4, 2))
        for number, (name, shape) in enumerate(zip(names, shapes, strict=True)):
            at, some = int(rng.integers(len(name) + 1)), dots[int(rng.integers(3)) :]
            some = tuple(size if rng.random() < 0.8 else 1 for size in some)
            names[number], shapes[number] = f"{name[:at]}...{name[at:]}", (*shape[:at], *some, *shape[at:])
        out = f"...{out}"
    text = ",".join(names) + ("->" + out if rng.random() < 0.8 else "")
    given = [random_array(rng, shape, "int32") for shape in shapes]
    return text, given, np.asarray(np.einsum(text, *(x.astype(np.int64) for x in given))).astype(np.int32)


@pytest.mark.parametrize("seed", range(0, 200, 20))
def test_random_sums_of_products(seed: int) -> None:
    for each in range(seed, seed + 20):
        text, given, wanted = random_einsum(each)
        np.testing.assert_array_equal(ops.einsum(text, *given).numpy(), wanted, err_msg=f"{each}: {text}")


@pytest.mark.parametrize("text", TEXTS)
def test_einsum(text: str) -> None:
    given = operands(text)
    wanted = np.einsum(text, *(x.astype(np.float64) for x in given))
    found = ops.einsum(text, *given)
    assert found.numpy().shape == wanted.shape
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("axes", [0, 1, 2, ((0, 1), (1, 0)), ((-1,), (0,))])
def test_tensordot(axes: object) -> None:
    g = np.random.default_rng(0)
    a, b = g.standard_normal((3, 4, 4), dtype=np.float32), g.standard_normal((4, 4, 3), dtype=np.float32)
    b = b[:, :3] if axes == ((0, 1), (1, 0)) else b
    wanted = np.tensordot(a.astype(np.float64), b, axes)  # type: ignore[arg-type]
    np.testing.assert_allclose(ops.tensordot(a, b, axes).numpy(), wanted, rtol=1e-5, atol=1e-5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ab,bc,cd->ad", "name each axis"),
        ("ab,b->a", "name each axis"),
        ("aa,bc->ab", "axis a has the sizes 2 and 3"),
        ("a...,bc->a", "which the result lacks"),
        ("ab,bc->aa", "each once in the result"),
        ("ab,bc->az", "no operand has an axis z"),
        ("ab,cb->ac", "axis b has the sizes 3 and 4"),
    ],
)
def test_what_is_not_said_so_is_refused(text: str, message: str) -> None:
    with pytest.raises(TensorError, match=message):
        ops.einsum(text, np.ones((2, 3), np.float32), np.ones((3, 4), np.float32))


def test_axes_of_tensordot_that_do_not_meet_are_refused() -> None:
    a, b = np.ones((2, 3), np.float32), np.ones((4, 5), np.float32)
    for axes, message in ((1, "the inner sizes 3 and 4 differ"), (3, "no such axis")):
        with pytest.raises(TensorError, match=message):
            ops.tensordot(a, b, axes)
