"""`cutepy matmul` as a user runs it: sizes, orders, slices, tiles, empty matrices; and every kind of bad input."""

import io
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from shares import ALL

from cutepy.cli.matmul import choose_engine, parse_tile, plan_for, read_matrix
from cutepy.errors import CommandError, DeviceError
from cutepy.gpu.runtime import Limits, choose_adapter
from cutepy.ops import matmul

Run = Callable[..., subprocess.CompletedProcess[bytes]]
Refused = Callable[..., str]
SIZES = [(1, 1, 1), (7, 1, 13), (127, 129, 131)]


@pytest.fixture(scope="module")
def adapter() -> str:
    """The adapter that `--engine auto` takes, or a loud skip."""
    try:
        return choose_adapter().summary
    except DeviceError as error:
        if os.environ.get("CUTEPY_REQUIRE_DEVICE", "0") != "0":
            pytest.fail(f"CUTEPY_REQUIRE_DEVICE is set, but {error}")
        pytest.skip(f"NOT TESTED: {str(error).partition(':')[0]}")


def save(folder: Path, m: int, k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A in C order, B in Fortran order, as files."""
    random = np.random.default_rng(m + k + n)
    a = random.standard_normal((m, k), dtype=np.float32)
    b = np.asfortranarray(random.standard_normal((k, n), dtype=np.float32))
    np.save(folder / "A.npy", a)
    np.save(folder / "B.npy", b)
    return a, b


def error(c: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert (c.shape, c.dtype) == (exact.shape, np.float32)
    return float(np.linalg.norm(c - exact) / np.linalg.norm(exact))


@pytest.mark.parametrize("size", SIZES)
def test_interpreter(here: Run, tmp_path: Path, size: tuple[int, int, int]) -> None:
    a, b = save(tmp_path, *size)
    done = here("matmul", "A.npy", "B.npy", "-o", "C.npy", "--engine", "interpreter")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"NumPy interpreter" in done.stdout
    assert error(np.load(tmp_path / "C.npy"), a, b) <= 1e-6


@pytest.mark.parametrize("size", [*SIZES, (1000, 700, 900)])
def test_device(cli: Run, here: Run, tmp_path: Path, adapter: str, size: tuple[int, int, int]) -> None:
    a, b = save(tmp_path, *size)
    run = cli if size == (127, 129, 131) else here
    done = run("matmul", "A.npy", "B.npy", "-o", "C.npy")
    assert (done.returncode, done.stderr) == (0, b"")
    assert adapter in done.stdout.decode()
    assert error(np.load(tmp_path / "C.npy"), a, b) <= 1e-6


@pytest.mark.parametrize("engine", ["interpreter", "wgpu"])
def test_transposed_strided_and_to_standard_output(
    cli: Run, tmp_path: Path, engine: str, request: pytest.FixtureRequest
) -> None:
    if engine == "wgpu":
        request.getfixturevalue("adapter")
    a, b = save(tmp_path, 40, 37, 40)
    done = cli("matmul", "B.npy.T[::2,::-1]", "A.npy.T[::-1,3:]", "-o", "-", "--engine", engine)
    assert done.returncode == 0, done.stderr
    assert b"standard output" in done.stderr
    assert error(np.load(io.BytesIO(done.stdout)), b.T[::2, ::-1], a.T[::-1, 3:]) <= 1e-6


def test_no_driver(cli: Run, tmp_path: Path) -> None:
    a, b = save(tmp_path, 30, 20, 10)
    missing = {"VK_DRIVER_FILES": "/nonexistent", "VK_ICD_FILENAMES": "/nonexistent"}
    done = cli("matmul", "A.npy", "B.npy", "-o", "C.npy", **missing)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"NumPy interpreter of the same kernel (no GPU adapter found" in done.stdout
    assert done.stdout.count(b"\n") == 1
    assert error(np.load(tmp_path / "C.npy"), a, b) <= 1e-6


def test_the_other_byte_order_and_a_kept_file_mode(here: Run, tmp_path: Path) -> None:
    a, b = save(tmp_path, 5, 6, 7)
    np.save(tmp_path / "A.npy", a.astype(">f4"))
    np.save(tmp_path / "C.npy", b)
    (tmp_path / "C.npy").chmod(0o640)
    assert here("matmul", "A.npy", "C.npy", "-o", "C.npy", "--engine", "interpreter").returncode == 0
    assert error(np.load(tmp_path / "C.npy"), a, b) <= 1e-6
    assert (tmp_path / "C.npy").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("size", [(0, 4, 3), (3, 0, 4), (3, 4, 0), (0, 0, 0)])
def test_empty(here: Run, tmp_path: Path, size: tuple[int, int, int]) -> None:
    m, k, n = size
    np.save(tmp_path / "A.npy", np.ones((m, k), np.float32))
    np.save(tmp_path / "B.npy", np.ones((k, n), np.float32))
    assert here("matmul", "A.npy", "B.npy", "-o", "C.npy", "--engine", "interpreter").returncode == 0
    c = np.load(tmp_path / "C.npy")
    assert c.shape == (m, n)
    assert not c.any()


def test_show(here: Run, tmp_path: Path) -> None:
    save(tmp_path, 33, 20, 40)
    text = here("matmul", "A.npy", "B.npy", "--show", "wgsl", "--tile", "32x32x8").stdout.decode()
    assert "A f32 (33,20):(20,1)" in text
    assert "B f32 (40,20):(20,1)" in text
    assert "@compute @workgroup_size(64)" in text
    layouts = here("matmul", "A.npy", "B.npy", "--show", "layouts").stdout.decode()
    assert "C f32 (33,40):(40,1)" in layouts
    done = here("matmul", "A.npy", "B.npy", "--show", "wgsl", "-o", "C.npy", "--engine", "interpreter")
    assert done.stdout.startswith(b"//")
    assert b"written to C.npy" in done.stderr
    assert (tmp_path / "C.npy").exists()


FRESH = "inner sizes", "missing"
"""In a process of its own, as a shell runs it; the others call what that process calls."""
BAD = {
    "inner sizes": (("A.npy", "A.npy"), "A is 8x6, B is 8x6, and 6 is not 8"),
    "float64": (("f64.npy", "B.npy"), "A, f64.npy: the type is float64"),
    "complex": (("A.npy", "complex.npy"), "B, complex.npy: the type is complex64"),
    "object": (("object.npy", "B.npy"), "Python objects is never loaded"),
    "pickle": (("pickle.npy", "B.npy"), "not a .npy file"),
    "npz": (("z.npz", "B.npy"), "an .npz archive"),
    "empty file": (("empty.npy", "B.npy"), "not a .npy file, but empty"),
    "missing": (("nowhere.npy", "B.npy"), "nowhere.npy: there is no such file"),
    "a folder": ((".", "B.npy"), ".: Is a directory"),
    "truncated": (("truncated.npy", "B.npy"), "truncated: the file has 300 bytes, its header promises 320"),
    "truncated header": (("header.npy", "B.npy"), "truncated or damaged .npy header"),
    "huge header": (("huge.npy", "B.npy"), "truncated: the file has 128 bytes"),
    "negative header": (("negative.npy", "B.npy"), "negative.npy:"),
    "rank 3": (("rank3.npy", "B.npy"), "rank 3, shape (2, 2, 2)"),
    "rank 1": (("A.npy", "rank1.npy"), "rank 1, shape (6,)"),
    "engine": (("A.npy", "B.npy", "--engine", "cuda"), "--engine cuda: the engines are auto, wgpu, interpreter"),
    "zero tile": (("A.npy", "B.npy", "--tile", "0x4x4"), "--tile 0x4x4: rows, columns and depth are at least 1"),
    "two sizes": (("A.npy", "B.npy", "--tile", "4x4"), "three numbers"),
    "words": (("A.npy", "B.npy", "--tile", "axbxc"), "three numbers"),
    "odd tile": (("A.npy", "B.npy", "--tile", "30x30x7"), "32x32x7 would do"),
    "large tile": (("A.npy", "B.npy", "--tile", "512x512x64"), "needs 264160 bytes of workgroup memory"),
    "wide tile": (("A.npy", "B.npy", "--tile", "1024x1024x1"), "1048576 sums, 256 threads hold at most 65536"),
    "prime tile": (("A.npy", "B.npy", "--tile", "76x72x4"), "128x128x4 would do"),
    "slice": (("A.npy[0]", "B.npy"), "[0] is not one or two slices"),
    "a name in brackets": (("A.npy[T]", "B.npy"), "[T] is not one or two slices"),
    "slice by 0": (("A.npy[::0]", "B.npy"), "is not one or two slices"),
    "folder": (("A.npy", "B.npy", "-o", "no/C.npy"), "there is no folder no"),
    "output is a folder": (("A.npy", "B.npy", "-o", "."), "that is a folder"),
    "option": (("A.npy", "B.npy", "--tiles", "4x4x4"), "unrecognized arguments"),
    "one operand": (("A.npy",), "required: B.npy"),
}


@pytest.fixture
def bad_files(tmp_path: Path) -> Path:
    a, _ = save(tmp_path, 8, 6, 9)
    np.save(tmp_path / "f64.npy", a.astype(np.float64))
    np.save(tmp_path / "complex.npy", np.ones((6, 9), np.complex64))
    np.save(tmp_path / "object.npy", np.array([[print, None]], object), allow_pickle=True)
    (tmp_path / "pickle.npy").write_bytes(np.array([print], object).dumps())
    np.savez(tmp_path / "z.npz", a=a)
    np.save(tmp_path / "rank3.npy", np.ones((2, 2, 2), np.float32))
    np.save(tmp_path / "rank1.npy", np.ones(6, np.float32))
    whole = (tmp_path / "A.npy").read_bytes()
    for name, data in (("truncated", whole[:300]), ("header", whole[:40]), ("empty", b"")):
        (tmp_path / f"{name}.npy").write_bytes(data)
    for name, shape in (("huge", (1 << 40, 1 << 20)), ("negative", (-8, 6))):
        file = io.BytesIO()
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
        (tmp_path / f"{name}.npy").write_bytes(file.getvalue()[:128])
    return tmp_path


@pytest.mark.parametrize("name", BAD)
def test_bad_input(refused: Refused, bad_files: Path, name: str) -> None:
    arguments, expected = BAD[name]
    output = () if "-o" in arguments else ("-o", "C.npy")
    numpy = () if "--engine" in arguments else ("--engine", "interpreter")
    assert expected in refused("matmul", *arguments, *output, *numpy, fresh=name in FRESH)


def test_a_tile_beyond_the_device(refused: Refused, tmp_path: Path, adapter: str) -> None:
    save(tmp_path, 8, 6, 9)
    message = refused("matmul", "A.npy", "B.npy", "-o", "C.npy", "--tile", "512x512x64")
    assert f"264160 bytes of workgroup memory, {adapter} has" in message


def test_wgpu_without_a_driver(refused: Refused, tmp_path: Path) -> None:
    save(tmp_path, 8, 6, 9)
    missing = {"VK_DRIVER_FILES": "/nonexistent", "VK_ICD_FILENAMES": "/nonexistent"}
    assert "no GPU adapter found" in refused("matmul", "A.npy", "B.npy", "-o", "C.npy", "--engine", "wgpu", **missing)


def test_every_tile_that_is_planned_multiplies_right() -> None:
    random = np.random.default_rng(5)
    a = random.random((37, 23), dtype=np.float32)
    b = np.asfortranarray(random.random((23, 41), dtype=np.float32))
    planned = 0
    for m, n, k in random.integers(1, 20, (14, 3)).tolist()[:: 1 if ALL else 2]:
        tile = parse_tile(f"{4 * m}x{4 * n}x{k}")
        try:
            plan = plan_for(tile, Limits(), "every device")
        except CommandError:
            continue
        planned += 1
        assert plan.tile == tile
        for x, y in ((a, b), (b.T, a.T)):
            assert error(matmul(x, y, plan=plan, engine="interpreter").numpy(), x, y) <= 1e-6
    assert planned >= 2


def test_a_name_with_brackets_is_a_file_first(tmp_path: Path) -> None:
    a, _ = save(tmp_path, 4, 3, 2)
    (tmp_path / "A.npy").rename(tmp_path / "A[:1].npy")
    assert read_matrix(str(tmp_path / "A[:1].npy"), "A").shape == (4, 3)
    assert np.array_equal(read_matrix(f"{tmp_path / 'A[:1].npy'}[1:, ::2].T", "A"), a[1:, ::2].T)


def test_the_interpreter_needs_no_device() -> None:
    assert choose_engine("interpreter").name == "interpreter"
    with pytest.raises(CommandError, match="auto, wgpu, interpreter"):
        choose_engine("torch")
