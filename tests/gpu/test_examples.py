"""The examples of examples/kernels: right on the interpreter, short, and runnable as their readers run them."""

import importlib
import runpy
import subprocess
import sys

import example_cases
import numpy as np
import pytest

from cutepy import Layout, Tensor, make_tensor, recast
from cutepy.gpu.runtime.program import Limits

#: Lines of a kernel, where an expert's first try had more than 40 (of attention 53, without matrices).
MOST_LINES = {"attention": 52, "attention_matrices": 81, "decode": 73}


@pytest.mark.parametrize(("name", "variant"), example_cases.CASES)
def test_interpreted(name: str, variant: str) -> None:
    example = example_cases.make(name, variant)
    assert example.run("interpreter") <= example.tolerance


SCRIPTS = {name: str(example_cases.FOLDER / f"{name}.py") for name in example_cases.NAMES}
AS_SCRIPTS = """
import runpy, sys
sys.path[0] = sys.argv[1]
for script in sys.argv[2:]:
    sys.argv = [script, "--engine", "interpreter"]
    runpy.run_path(script, run_name="__main__")
"""


def test_as_scripts() -> None:
    """By a Python of their own, with nothing on its path but what a script has."""
    command = [sys.executable, "-c", AS_SCRIPTS, str(example_cases.FOLDER), *SCRIPTS.values()]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(said) == len(SCRIPTS) and all(" on the interpreter: at most " in line for line in said), said


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_text_of_a_script(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", [SCRIPTS[name], "--wgsl"])
    runpy.run_path(SCRIPTS[name], run_name="__main__")
    text = capsys.readouterr().out
    assert text.startswith("// ") and "@compute @workgroup_size" in text


@pytest.mark.parametrize("name", example_cases.NAMES)
def test_short_enough_to_be_read(name: str) -> None:
    text = (example_cases.FOLDER / f"{name}.py").read_text()
    kernel = text[text.index("@gpu.kernel") :]
    assert kernel[: kernel.index("\n\n\n")].count("\n") <= MOST_LINES.get(name, 40)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_whole_tiles_is_by_a_form_without_guards(causal: bool) -> None:
    """Two forms for all lengths, both proven, of which a call has the one whose facts hold."""
    module = importlib.import_module("attention")
    kernel, guards = module.for_all_lengths(32), {}
    for length in (module.ROWS, module.ROWS + 2, 2 * module.ROWS):
        made = module.example(length, 32, 2, causal)
        assert kernel.verify(*made.arguments, **made.static, limits=Limits(workgroup_bytes=49152)).ok
        guards[length] = kernel.wgsl(*made.arguments, **made.static).count(" if ")
    few, many, same = guards.values()
    assert few == same == causal and many > 16 and kernel.stats.traces == 2


def memory(layout: Layout) -> Tensor:
    """Zeros with this layout."""
    return make_tensor(np.zeros(layout.cosize, np.float32), layout)


@pytest.mark.parametrize("causal", [True, False])
def test_attention_is_proven_for_4_batches_of_16_heads(causal: bool) -> None:
    heads = [memory(Layout((4096, 64, 64), (64, 1, 4096 * 64))) for _operand in "QKVO"]
    room = Limits(workgroup_bytes=49152)
    assert importlib.import_module("attention").attention.verify(*heads, causal=causal, limits=room).ok
    refused = importlib.import_module("attention").attention.verify(*heads, causal=causal)
    assert "within limits: 28672 bytes of workgroup memory, the device has 16384" in str(refused)


@pytest.mark.parametrize("causal", [True, False])
def test_attention_by_matrices_is_proven_for_4_batches_of_16_heads(causal: bool) -> None:
    Q, K, V, O = (np.zeros((64, 4096, 64), np.float16).transpose(1, 2, 0) for _operand in "QKVO")
    kernel, room = importlib.import_module("attention_matrices").attention, Limits(workgroup_bytes=49152)
    assert kernel.verify(Q[:, :, None], K, V, O[:, :, None], causal=causal, limits=room).ok


@pytest.mark.parametrize("n", [2**26, 1_000_003])
def test_scans_are_proven_for_millions_of_numbers(n: int) -> None:
    scan, room = importlib.import_module("scan"), Limits(binding_bytes=2**28)
    x, y, sums = (np.zeros(size, np.int32) for size in (n, n, min(1024, -(-n // scan.TILE))))
    assert scan.sum_parts.verify(x, sums, limits=room).ok
    assert scan.scan_parts.verify(x, sums, y, limits=room).ok


def test_the_sums_of_parts() -> None:
    scan = importlib.import_module("scan")
    x, sums = np.arange(9000, dtype=np.int32), np.ones(3, np.int32)
    scan.sum_parts.interpret(x, sums)
    assert sums.tolist() == [sum(range(3072)), sum(range(3072, 6144)), sum(range(6144, 9000))]


def test_weights_of_4_bits_times_numbers_of_any_size() -> None:
    """All weights meet numbers from the least of f16 to the greatest, a group of nothing but zeros among them."""
    module = importlib.import_module("int4_matvec")
    packed = np.random.default_rng(0).integers(0, 256, (6, 64), np.uint8)
    packed[0, :8] = [0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE]
    sizes = np.repeat([2.0**-24, 2.0**-14, 0.0, 65504.0], 32)
    x = (sizes * np.tile([1, -1, 0.5, -0.25], 32)).astype(np.float16)
    for group in range(4):
        weights, scales, y = recast(make_tensor(packed), "i4"), np.zeros((6, 4), np.float32), np.zeros(6, np.float32)
        scales[:, group] = 1
        module.matvec.interpret(weights, scales, x, y)
        mine = slice(32 * group, 32 * group + 32)
        assert np.array_equal(y, weights.numpy()[:, mine] @ x[mine].astype(np.float64)), group


@pytest.mark.parametrize(
    ("image", "taps", "stride", "padding"),
    [((8, 112, 112, 64), 3, 1, 1), ((8, 113, 57, 62), 3, 1, 1), ((3, 224, 224, 3), 7, 2, 3)],
)
def test_convolution_is_proven_for_whole_networks(
    image: tuple[int, int, int, int], taps: int, stride: int, padding: int
) -> None:
    i, h, w, c = image
    p, q = ((extent + 2 * padding - taps) // stride + 1 for extent in (h, w))
    tensors = (
        memory(Layout((c, w, h, i), (1, c, w * c, h * w * c))),
        memory(Layout((64, (c, taps, taps)), (taps * taps * c, (1, c, taps * c)))),
        memory(Layout(((q, p, i), 64), ((64, q * 64, p * q * 64), 1))),
    )
    static = {"stride": stride, "dilation": 1, "padding": padding}
    assert importlib.import_module("convolution").convolve.verify(*tensors, **static).ok


def test_a_wrong_result_fails_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    import example as module

    wrong = example_cases.make("saxpy", "whole tiles")
    wrong.wanted = wrong.wanted + 1
    monkeypatch.setattr(sys, "argv", ["saxpy.py", "--engine", "interpreter"])
    with pytest.raises(SystemExit, match="error: more than"):
        module.main(wrong)
