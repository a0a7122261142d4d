"""print, draw, explain, wgsl, adapters, and what all commands have in common: one line, exit code 2, a light start."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cutepy import Layout, parse_layout
from cutepy.cli import main
from cutepy.draw import draw, drawing_of
from cutepy.gpu.matmul.kernel_fma import matmul_kernel
from cutepy.gpu.trace.kernel import KernelFunction
from cutepy.gpu.verify import Verification

Run = Callable[..., subprocess.CompletedProcess[bytes]]
Refused = Callable[..., str]
MODULES = 190
"""At most as many are loaded at a start, of cutepy and Python together: a start costs what its imports cost."""
PROVEN = Verification("asked for", ())
NO_DRIVER = {"VK_DRIVER_FILES": "/nonexistent", "VK_ICD_FILENAMES": "/nonexistent"}
KERNEL = """
from cutepy import axpby, gpu, local_tile
from cutepy.tensor import thread_value_partition

@gpu.kernel
def saxpy(a, x, y, *, tv, tile):
    gpu.launch(grid=(-(-x.layout[1].size // tile[1]), -(-x.layout[0].size // tile[0])), threads=tv[0].size)
    tiles = (local_tile(t, tile, (gpu.workgroup.y, gpu.workgroup.x)) for t in (x, y))
    mine = [thread_value_partition(t, tv) for t in tiles]
    axpby(a, mine[0], 1, mine[1])
"""


def said(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints; run in this process."""
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_print(capsys: pytest.CaptureFixture[str]) -> None:
    layout = Layout((4, (2, 2)), (1, (4, 8)))
    assert said("print", "(_4,(_2,_2)):(_1,(_4,_8))", capsys=capsys) == layout.grid() + "\n"
    divided = "zipped_divide((8,8):(8,1), (4,4))"
    assert said("print", divided, "--to", "cute", capsys=capsys) == "((4,4),(2,2)):((8,1),(32,4))\n"
    for notation in ("cute", "cpp", "pycute", "latex"):
        assert parse_layout(said("print", str(layout), "--to", notation, capsys=capsys)) == layout
    assert eval(said("print", str(layout), "--to", "python", capsys=capsys), {"Layout": Layout}) == layout
    assert "(_,_,1)" in said("print", "(2,2,2):(1,2,4)", capsys=capsys)


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "composition((6,2):(1,7), (3,2):(2,3))"]) == 1, "the answer is no"
    text = capsys.readouterr().out
    assert "refused: (6,2):(1,7) o (3,2):(2,3) is not a layout: at (2,1) it is 8" in text
    assert said("explain", "coalesce((2,(1,6)):(1,(6,2)))", capsys=capsys).endswith("= 12:1\n")


@pytest.mark.parametrize("suffix", ["svg", "html", "tex", "txt"])
def test_draw(here: Run, tmp_path: Path, suffix: str) -> None:
    """The bytes of a file, of standard output and of the library are one."""
    text = "zipped_divide((8,8):(8,1), (4,4))"
    assert here("draw", text, "--color", "tile", "-o", f"x.{suffix}").returncode == 0
    data = (tmp_path / f"x.{suffix}").read_bytes()
    assert data == drawing_of(text, {"color": "tile"}).encoded(f".{suffix}")
    assert here("draw", text, "--color", "tile", "--format", suffix).stdout == data
    assert [path.name for path in tmp_path.iterdir()] == [f"x.{suffix}"]


def test_draw_views(capsys: pytest.CaptureFixture[str]) -> None:
    tv = said("draw", "((2,4),2):((1,4),2)", "--over", "(4,4)", "--label", "thread", capsys=capsys)
    assert "T7" in tv or "7" in tv
    tiled = said("draw", "(4,4):(4,1)", "--tiler", "(2,2)", "--label", "tile", "--title", "four", capsys=capsys)
    assert tiled.startswith("four\n")
    assert said("draw", "(4,4):(4,1)", capsys=capsys) == draw(Layout((4, 4), (4, 1))).text() + "\n"


def test_wgsl(cli: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = said("wgsl", "matmul", "100x60", "(60,90):(1,60)", "--tile", "32x32x8", capsys=capsys)
    assert "// A f32 (100,60):(60,1)\n// B f32 (90,60):(60,1)\n// C f32 (100,90):(90,1)\n" in text
    assert "f16" in said("wgsl", "sum", "f16 10x10", capsys=capsys)
    assert "x: array<vec4<i32>>;  // (d0,d1,d2)" in said("wgsl", "sum", "i32 (1000):(1)", capsys=capsys)
    (tmp_path / "mine.py").write_text(KERNEL)
    options = ("2.0", "50x60", "50x60", "--set", "tv=((_2,_32),_4):((_128,_1),_32)", "--set", "tile=(32,8)")
    text = said("wgsl", f"{tmp_path}/mine.py:saxpy", *options, capsys=capsys)
    assert cli("wgsl", "mine:saxpy", *options).stdout.decode() == text and "x f32 (50,60):(60,1)" in text
    tint = said("wgsl", "matmul", "8x8", "8x8", "--dialect", "tint", capsys=capsys)
    assert tint.count("@compute") == 1


RACE = """
from cutepy import gpu

@gpu.kernel
def every_thread(x):
    gpu.launch(threads=64)
    x[0] = 1.0 * gpu.workgroup.x + gpu.thread
"""


def test_verify(here: Run, tmp_path: Path) -> None:
    proven = here("verify", "matmul", "100x60", "60x90")
    assert proven.returncode == 0
    assert proven.stdout.startswith(b"matmul_kernel: proven\n")
    assert b"no races C" in proven.stdout
    assert here("verify", "sum", "1000x1000").returncode == 0
    (tmp_path / "race.py").write_text(RACE)
    refuted = here("verify", "race.py:every_thread", "8:1")
    assert (refuted.returncode, refuted.stderr) == (1, b"")
    assert b"refuted    no races x" in refuted.stdout


TENSORS = """
from cutepy import gpu

@gpu.kernel
def twice(x, y):
    gpu.launch(threads=64)
    y[gpu.thread] = x[gpu.thread] * 2
"""


@pytest.mark.parametrize("command", ["verify", "wgsl"])
def test_what_a_kernel_raises_is_one_line(command: str, refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "tensors.py").write_text(TENSORS)
    said = refused(command, "tensors.py:twice", "64", "64")
    assert "tensors.py:7: argument x is a number that is known only on the GPU, and is not subscriptable" in said
    assert "64 is a number, an array of 64 elements is 64:1" in said


def test_verify_is_the_kernel_s_own(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(KernelFunction, "verify", lambda kernel, *arguments, **static: asked.append(kernel) or PROVEN)
    assert said("verify", "matmul", "8x8", "8x8", capsys=capsys) == f"{PROVEN}\n" and asked == [matmul_kernel]


def test_adapters(cli: Run, here: Run) -> None:
    done = cli("adapters", **NO_DRIVER)
    assert done.returncode == 0
    assert b"no GPU adapter found" in done.stdout
    done = cli("adapters")
    assert done.returncode == 0
    assert b" via " in done.stdout or b"no GPU adapter" in done.stdout
    assert b"     matrices: " in done.stdout or b"no GPU adapter" in done.stdout
    found = json.loads(here("adapters", "--json").stdout)
    assert all(bool(adapter["matrices"]) != bool(adapter["no_matrices"]) for adapter in found)
    assert {adapter["runtime"] for adapter in found} <= {"wgpu", "dawn"}


BAD = {
    "typo": (("print", "(4,8:(1,4)"), "is ')' missing before it?\n  (4,8:(1,4)\n      ^\n", 3),
    "typo in a call": (("explain", "coalesce((4,8):(1;4)"), "^", 3),
    "name": (("print", "zpped_divide(4:1, 2)"), "did you mean zipped_divide?\n  zpped_divide(4:1, 2)\n  ^\n", 3),
    "typo, drawn": (("draw", "(4,8):(1,4", "-o", "x.svg"), "^", 3),
    "control characters": (("print", "(4,\x1b[31m8):(1,4)"), "\n  (4,\ufffd[31m8):(1,4)\n     ^\n", 3),
    "right to left": (("print", "(4,\u202e8)"), "(4,\ufffd8)", 3),
    "two lines": (("print", "(4,\n8:(1,4)"), "\n  8:(1,4)\n   ^\n", 3),
    "no text": (("print", ""), "there is no expression", 1),
    "no call": (("explain", "(2,4):(1,2)"), "explain takes a call", 1),
    "operands": (("explain", "zipped_divide((8,8):(8,1))"), "takes (layout, tiler, round_up), not ((8,8):(8,1))", 3),
    "no story": (("explain", "select((2,4):(1,2), 0)"), "there is no story for it", 1),
    "color": (("draw", "(4,4):(4,1)", "--color", "mauve", "-o", "x.svg"), "color='mauve'", 1),
    "suffix": (("draw", "(4,4):(4,1)", "-o", "x.jpg"), ".svg, .html, .txt, .tex, .png", 1),
    "view": (("draw", "(4,4):(4,1)", "--view", "tiles", "-o", "x.svg"), "view 'tiles' needs tiler", 1),
    "kernel": (("wgsl", "softmin", "8x8"), "softmin is no kernel here", 1),
    "module": (("wgsl", "no_such_module:kernel"), "ModuleNotFoundError", 1),
    "no kernel in it": (("wgsl", "cutepy.cli:main"), "cutepy.cli has none", 1),
    "file": (("wgsl", "nowhere.py:kernel"), "there is no such file", 1),
    "inner sizes": (("wgsl", "matmul", "8x8", "9x8"), "inner sizes and types must be equal", 1),
    "type": (("wgsl", "sum", "f64 8x8"), "f64", 1),
    "type before a colon": (("wgsl", "sum", "f32:1000"), "a type and a layout are two words, 'f32 1000'", 1),
    "a name": (("wgsl", "sum", "abc"), "abc is no number; an argument is 64x32", 1),
    "command": (("prnt",), "invalid choice: 'prnt'", 1),
    "output": (("print", "4:1", "-o", "no/x.txt"), "there is no folder no", 1),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(refused: Refused, name: str) -> None:
    arguments, expected, lines = BAD[name]
    assert expected in refused(*arguments, lines=lines, fresh=name == "typo")


def test_a_file_in_the_place_of_a_layout_is_told_how_it_is_read(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "layout.txt").write_text("(4,8):(8,1)")
    for command in (("draw", "layout.txt", "-o", "z.svg"), ("print", "layout.txt"), ("ask", "layout.txt")):
        assert "layout.txt is a file, and a layout is meant: - reads it, as in `... - < layout.txt`" in refused(
            *command
        )


def test_a_report_is_the_kernel_s_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "strided.py"
    path.write_text(TENSORS.replace("y[gpu.thread] = x[gpu.thread]", "y[gpu.thread] = x[gpu.thread * 32]"))
    text = said("report", f"{path}:twice", "2048:1", "64:1", capsys=capsys)
    assert "reads x[tid * 32u]" in text and "8.00x" in text and "strided.py:7" in text
    answer = json.loads(said("report", f"{path}:twice", "2048:1", "64:1", "--json", capsys=capsys))
    assert answer["kernel"] == "twice" and answer["threads"] == 64


def test_a_refuted_kernel_is_not_exported(refused: Refused, here: Run, tmp_path: Path) -> None:
    (tmp_path / "tensors.py").write_text(TENSORS.replace("y[gpu.thread]", "y[0]"))
    words = ("export", "tensors.py:twice", "64:1", "64:1", "-o", "k.js")
    assert "twice is not exported: refuted    no races y" in refused(*words).replace("  ", " ").replace(
        "refuted ", "refuted    ", 1
    )
    assert not (tmp_path / "k.js").exists()
    assert here(*words, "--refuted").returncode == 0 and (tmp_path / "k.js").exists()


def test_what_a_shell_writes_without_quotes(here: Run, tmp_path: Path) -> None:
    """Coordinates and sizes without parentheses, a suffix in capitals; row-major is told from gaps."""
    told = here("ask", "(4,8):(8,1)", "--at", "1,2").stdout.decode()
    assert "at 1,2      10\n" in told and "contiguous  no: it has each offset once, in another order\n" in told
    assert "contiguous  no\n" in here("ask", "(4,8):(9,1)").stdout.decode()
    assert here("draw", "((2,4),2):((1,4),2)", "--over", "4,4", "-o", "x.SVG").returncode == 0
    assert (tmp_path / "x.SVG").read_bytes().startswith(b"<svg")


def test_help_and_version(cli: Run) -> None:
    for arguments in ((), ("--help",), ("matmul", "--help")):
        done = cli(*arguments)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.startswith(b"usage: cutepy")
    assert cli("--version").stdout.startswith(b"cutepy 0.")


def test_a_reader_that_leaves(tmp_path: Path) -> None:
    command = f"{sys.executable} -m cutepy print '(256,256):(1,256)' | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, cwd=Path(__file__).parents[2])
    assert (done.stdout, done.stderr) == (b"(256,256):(1,256)\n", b"")


def test_a_verdict_is_told_also_where_nobody_reads_the_reasons(tmp_path: Path) -> None:
    (tmp_path / "refuted.py").write_text(
        "from cutepy import gpu\n\n\n@gpu.kernel\ndef beyond(x):\n    gpu.launch(threads=64)\n    x[gpu.thread] = 1.0\n"
    )
    command = f"set -o pipefail; {sys.executable} -m cutepy verify {tmp_path}/refuted.py:beyond 8:1 | true"
    alone = command.replace(" | true", "")
    codes = [
        subprocess.run(["bash", "-c", one], capture_output=True, cwd=Path(__file__).parents[2]).returncode
        for one in (alone, command)
    ]
    assert codes[0] == codes[1] == 1


@pytest.mark.parametrize(
    "row",
    [
        ("matmul", "64x32", "32x48", "--tile", "16x16x8"),
        ("matmul", "--tile", "16x16x8", "64x32", "32x48"),
        ("matmul", "64x32", "--tile", "16x16x8", "32x48"),
        ("--tile", "16x16x8", "matmul", "64x32", "32x48"),
    ],
    ids=" ".join,
)
def test_options_stand_anywhere_among_the_arguments(row: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert said("wgsl", *row, capsys=capsys) == said(
        "wgsl", "matmul", "64x32", "32x48", "--tile", "16x16x8", capsys=capsys
    )


def test_an_ascii_terminal(cli: Run) -> None:
    done = cli("draw", "(200,200):(1,200)", "--limit", "64", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "command", [("print", "(4,(2,2)):(1,(4,8))"), ("explain", "coalesce((2,6):(1,2))"), ("draw", "(4,4):(4,1)")]
)
def test_a_light_start(command: tuple[str, ...]) -> None:
    """Neither NumPy, SymPy nor wgpu is loaded, and few modules."""
    code = f"import sys; from cutepy.cli import main; main({command!r}); sys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = done.stderr.split()
    assert {name.partition(".")[0] for name in names}.isdisjoint({"numpy", "sympy", "wgpu"})
    assert len(names) <= MODULES


def test_main_writes_to_a_plain_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["print", "4:1", "--to", "cute"]) == 0
    assert stream.getvalue() == "4:1\n"


def test_ask(capsys: pytest.CaptureFixture[str]) -> None:
    layout = Layout((4, (2, 2)), (1, (4, 8)))
    lines = said("ask", str(layout), "--at", "(1,(0,1))", "--at", "13", capsys=capsys).splitlines()
    found = dict(re.split(r"  +", line) for line in lines)
    assert found == {
        "layout": str(layout),
        **dict.fromkeys(("size", "cosize"), "16"),
        **dict.fromkeys(("rank", "depth"), "2"),
        **dict.fromkeys(("injective", "bijective", "contiguous"), "yes"),
        "coalesced": "16:1",
        "at (1,(0,1))": str(layout(1, (0, 1))),
        "at 13": str(layout(13)),
    }
    answer = json.loads(said("ask", "(32,2):(32,1)", "--element-bytes", "4", "--json", capsys=capsys))
    assert (answer["ways"], answer["segments"], answer["bijective"]) == (32, 64, False)
    assert "not decided" in said("ask", "(n,m):(m,1)", capsys=capsys)
    threads = ("ask", "((4,8),2):((16,1),8)", "--tile", "(8,8)")
    text = said(*threads, "--owner", "(3,5)", "--owner", "29", "--thread", "14", capsys=capsys)
    assert "owner of (3,5)  thread 14 as value 1\n" in text and "owner of 29     thread 21 as value 1\n" in text
    assert text.endswith("thread 14       (3,4), (3,5)\n")
    memory = said(*threads, "--memory", "(8,8):(8,1)", "--element-bytes", "2", capsys=capsys)
    assert memory.splitlines()[-1].split(None, 1)[1].startswith("4 bytes at once; 16 bytes: a thread has 2 values")


def test_answers_as_json(here: Run, tmp_path: Path) -> None:
    layout = Layout((4, (2, 2)), (1, (4, 8)))
    found = json.loads(here("print", str(layout), "--json").stdout)
    assert (found["shape"], found["stride"]) == ([4, [2, 2]], [1, [4, 8]])
    assert all(parse_layout(found[name]) == layout for name in ("cute", "cpp", "pycute", "latex"))
    told = json.loads(here("explain", "coalesce((4,2))", "--json").stdout)
    assert told["result"] == "8:1" and told["steps"][-1]["checked"] == 8
    (tmp_path / "race.py").write_text(RACE)
    verdicts = here("verify", "race.py:every_thread", "8:1", "--json")
    answer = json.loads(verdicts.stdout)
    assert verdicts.returncode == 1 and answer["ok"] is False
    keys = {"claim", "status", "reason", "array", "witness", "conditions", "given", "by"}
    assert keys == answer["verdicts"][0].keys() and answer["verdicts"][0]["by"] in ("", "z3")
    used = [adapter["used"] for adapter in json.loads(here("adapters", "--json").stdout)]
    assert sum(used) <= 1


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def given(text: str, *arguments: str) -> str:
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        return said(*arguments, capsys=capsys)

    layout = Layout((4, 8), (8, 1))
    assert given(f"{layout}\n", "print", "-") == layout.grid() + "\n"
    assert given(f"{layout}\n", "ask", "-").startswith(f"layout      {layout}\nsize        32\n")
    assert given("coalesce((4,2))\n", "explain", "-").endswith("= 8:1\n")
    body = "(4,4):(4,1)\ntiler: (2,2)\nlabel: tile\n"
    assert given(body, "draw", "-") == drawing_of("(4,4):(4,1)", {"tiler": "(2,2)", "label": "tile"}).text() + "\n"


@pytest.mark.parametrize(
    ("arguments", "text", "reason"),
    [
        (("print", "-"), "", "holds nothing"),
        (("draw", "-"), "(4,4)\ncolour: row", "did you mean color?"),
        (("draw", "-", "-o", "x.svg"), "(4,4)\ncolor", "line 2: 'color' is not 'key: value'"),
        (("expalin", "(4,4)"), "", "did you mean explain?"),
        (("draw", "(4,4)", "--colour", "row"), "", "did you mean --color?"),
        (("print", "(4,4)", "--to", "cut"), "", "did you mean cute?"),
        (("ask", "(4,4)", "--at", "(1,2,3)"), "", "--at (1,2,3): "),
        (("ask", "size((4,4))"), "", "is 16; ask takes a layout"),
        (("ask", "(4,4)", "--lanes", "many"), "", "invalid int value"),
        (("ask", "(4,4)", "--owner", "3"), "", "say its shape, --tile"),
        (("ask", "(4,4)", "--tile", "(4,4)", "--owner", "(3,_)"), "", "a coordinate is whole numbers"),
        (("ask", "(4,4)", "--tile", "(4,4)", "--owner", "(4,0)"), "", "no such coordinate; the last one is (3,3)"),
        (("ask", "(4,4)", "--tile", "(4,4)", "--thread", "4"), "", "there are threads 0 to 3"),
        (("ask", "(4,4)", "--tile", "(4,2)", "--thread", "0"), "", "at lane 0, value 2 it is 8"),
        (("ask", "(4,4)", "--memory", "4"), "", "vectorised"),
        (("ask", "(4,4)", "--memory", "(4"), "", "--memory (4: expected ',' or ')' in the tuple\n  ^"),
        (("ask", "(4,4)", "--tile", "8,x", "--thread", "0"), "", "a tuple stands in parentheses\n  ^"),
        (("ask", "(4,4)", "--at", "(9"), "", "--at (9: expected\n  ^"),
        (("ask", "(4,4)", "--at", "1.5"), "", "sizes and strides are whole numbers\n  ^"),
        (("ask", "(4,4)", "--at", "a"), "", "--at a: write whole numbers, such as 7"),
        (("ask", "(4,4)", "--element-bytes", "0"), "", "element_bytes=0; a whole number from 1"),
        (("ask", "(4,4)", "--access-bytes", "0"), "", "access_bytes=0; a whole number from 1"),
        (("ask", "(4,4)", "--lanes", "0"), "", "lanes=0; a whole number from 1"),
        (("ask", "S<3,4,3>"), "", "ask takes a layout, such as S<3,4,3> o 0 o (8,64):(64,1)"),
        (("draw", "4,8"), "", "a tuple stands in parentheses, as (4,8)\n  ^"),
        (("draw", "(4,8),(8,1)"), "", "or ':' and a stride\n  ^"),
        (("draw", "(4,4)", "--view", "bank"), "", "did you mean banks?"),
        (("draw", "(4,4)", "--view", "banks", "--element-bytes", "0"), "", "element_bytes=0"),
        (("draw", "(4,4)", "--over", "8"), "", "give an `over` that reaches 8"),
        (("draw", "(4,4)", "--highlight", "9,9"), "", "9 is no coordinate of a mode 4"),
        (("draw", "(4,4)", "-o", "x.svgz"), "", "name one, or use --format"),
        (("explain", "shape((4,4))"), "", "there is no story for it"),
        (("explain", "composition((4,4))"), "", "takes (outer, inner), not ((4,4):(1,4))\n  ^"),
        (("wgsl", "sum", "8y8"), "", "'y' follows the number 8\n  ^"),
        (("wgsl", "sum", "f99 8x8"), "", "no such element type"),
        (("verify", "sum", "8x8", "--set", "foo"), "", "write name=value"),
        (("tune", "1x1"), "", "write MxNxK"),
        (("completion", "pwsh"), "", "choose from 'bash', 'zsh', 'fish'"),
    ],
)
def test_what_is_wrong_is_one_line_with_what_was_meant(
    refused: Refused, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], text: str, reason: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    said, _, caret = reason.partition("\n")
    found = refused(*arguments, lines=3 if caret else 1)
    assert said in found and found.rstrip("\n").endswith(caret.strip())


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("cutepy dr", {"draw"}),
        ("cutepy draw --pal", {"--palette"}),
        ("cutepy print x --to py", {"python", "pycute"}),
        ("cutepy print x --to ", {"grid", "cute", "python", "cpp", "pycute", "latex"}),
        ("cutepy completion b", {"bash"}),
        ("cutepy draw pict", set()),
        ("cutepy nothing --x", set()),
    ],
)
def test_shells_complete(cli: Run, monkeypatch: pytest.MonkeyPatch, line: str, completed: set[str]) -> None:
    """As bash asks: the line so far, and in order the command, the word and the one before it."""
    monkeypatch.setenv("COMP_LINE", f"{line} and what follows")
    monkeypatch.setenv("COMP_POINT", str(len(line)))
    *_, before, word = ["", *line.split(" ")]
    assert set(cli("completion", "bash", "cutepy", word, before).stdout.decode().splitlines()) == completed


def test_completion_knows_every_command_and_option(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from cutepy.cli.main import parser

    assert all("cutepy completion" in said("completion", shell, capsys=capsys) for shell in ("bash", "zsh", "fish"))
    for name, command in parser().own.items():
        monkeypatch.setenv("COMP_LINE", f"cutepy {name} --")
        found = said("completion", "fish", capsys=capsys).split()
        assert set(found) == set(re.findall(r"(?<= )--[a-z-]+", command.format_help()))


def test_bash_takes_the_line(cli: Run) -> None:
    script = cli("completion", "bash").stdout.decode()
    done = subprocess.run(["bash", "-c", f"{script}\ncomplete -p cutepy"], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (script, "")


@pytest.mark.parametrize("command", ["draw", "print"])
def test_tables_fit_the_terminal(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = said(command, "(4,40):(40,1)", capsys=capsys)
    assert max(map(len, whole.splitlines())) > 200, "a file and a pipe get it whole"
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    narrow = said(command, "(4,40):(40,1)", capsys=capsys)
    assert max(map(len, narrow.splitlines())) <= 60
    assert sorted(re.findall(r"\b\d+ (?=\|)", narrow)) == sorted(re.findall(r"\b\d+ (?=\|)", whole))
