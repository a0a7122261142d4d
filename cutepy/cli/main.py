"""Arguments, dispatch and exit codes.

Law: exit code 0 and the result, or exit code 2, one line on standard error (with a caret where a text was misread) and
nothing written. 1 says that a question was answered with no: a kernel refuted, a picture stale. Commands are imported
when they are called, so that `cutepy print` starts without NumPy.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from .. import __version__
from ..errors import CommandError, CutepyError

BAD_INPUT = 2
_LAYOUT = "a layout in any notation, (4,(2,2)):(1,(4,8)), or an expression, zipped_divide((8,8):(8,1), (4,4))"
_SHAPES = "for each argument of the kernel: NxM, an array of NumPy's order; a layout; a type before either, f16 64x64"


class Parser(ArgumentParser):
    """argparse whose errors are CommandErrors, so that each is one line."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message} ({self.prog} --help shows what there is)")


def parser() -> Parser:
    """The arguments of every command."""
    root = Parser(
        prog="cutepy", description="Layouts, the kernels made of them, and their pictures.", allow_abbrev=False
    )
    root.add_argument("--version", action="store_true", help="print the version and leave")
    commands = root.add_subparsers(metavar="COMMAND", parser_class=Parser)

    def command(name: str, module: str, text: str) -> ArgumentParser:
        added = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        added.set_defaults(run=(module, f"run_{name}"), command=name)
        return added

    _layout_commands(command("print", "layouts", "Print a layout as CuTe's print_layout does, or in another notation."))
    _draw_arguments(command("draw", "figures", "Draw a layout: SVG, HTML, TikZ, PNG or text, as the suffix says."))
    explain = command("explain", "layouts", "Tell how an operation comes to its result, step by step.")
    explain.add_argument("call", help='an operation, "composition((6,2):(1,7), (3,2):(2,3))"')
    explain.add_argument("-o", "--output", default="-", metavar="FILE", help="where to write it; - is standard output")
    _kernel_arguments(command("wgsl", "kernels", "Print the WGSL of a kernel for arguments of given layouts."))
    _kernel_arguments(
        command("verify", "kernels", "Prove a kernel in bounds and free of races, or say where it is not.")
    )
    _matmul_arguments(command("matmul", "matmul", "Multiply two float32 matrices: C = A @ B."))
    command("adapters", "kernels", "List the GPUs, and the software that stands in for one, best first.")
    figures = command("figures", "figures", "Draw every picture that Markdown files describe.")
    figures.add_argument("paths", nargs="+", metavar="PATH", help="Markdown files, or folders of them")
    figures.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a picture is stale")
    return root


def _layout_commands(print_: ArgumentParser) -> None:
    print_.add_argument("layout", help=_LAYOUT)
    print_.add_argument(
        "--to",
        choices=("grid", "cute", "python", "cpp", "pycute", "latex"),
        default="grid",
        help="the table of offsets, or the layout in another notation",
    )
    print_.add_argument("-o", "--output", default="-", metavar="FILE", help="where to write it; - is standard output")


def _draw_arguments(draw: ArgumentParser) -> None:
    draw.add_argument("layout", help=_LAYOUT)
    draw.add_argument("-o", "--output", default="-", metavar="FILE", help="x.svg, .html, .tex, .png, .txt; - is text")
    draw.add_argument("--format", choices=("svg", "html", "tex", "png", "txt"), help="where the suffix does not say it")
    for name, text in (
        ("view", "what to show: grid, tv, tiles, memory, tree, banks, swizzle, steps"),
        ("tiler", 'the tile of view tiles, "(4,4)"'),
        ("over", 'what threads and values lie over in view tv, a shape or a layout, "(8,8)"'),
        ("color", "what colours mean: offset, thread, value, row, column, tile, bank, ..."),
        ("label", "what cells say: offset, coordinate, index, thread, ..."),
        ("title", "the line above the picture"),
        ("theme", "auto, light or dark"),
        ("heads", "what stands beside the grid: nested, index or none"),
        ("highlight", 'the slice to frame, "(1,_)"'),
        ("limit", "the most cells drawn; above, only the corners are"),
        ("legend", "yes or no"),
        ("background", "yes or no"),
        ("element-bytes", "bytes of an element, for view banks"),
        ("banks", "how many banks there are"),
        ("bank-bytes", "bytes that one bank serves at once"),
        ("width", "offsets in a row of view memory"),
    ):
        draw.add_argument(f"--{name}", help=text)


def _kernel_arguments(command: ArgumentParser) -> None:
    command.add_argument("kernel", help="matmul, sum, or MODULE:KERNEL, FILE.py:KERNEL for one of yours")
    command.add_argument("arguments", nargs="*", metavar="ARGUMENT", help=f"{_SHAPES}; a number")
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a keyword argument, static")
    command.add_argument("--tile", metavar="MxNxK", help="the tile of a matmul")
    command.add_argument("-o", "--output", default="-", metavar="FILE", help="where to write it; - is standard output")
    if command.prog.endswith("wgsl"):
        command.add_argument("--dialect", choices=("naga", "tint"), default="naga", help="the compiler it is for")


def _matmul_arguments(matmul: ArgumentParser) -> None:
    for name in "AB":
        text = "a .npy file of float32, any order; A.npy.T and A.npy[::2,:64] transpose and slice as NumPy does"
        matmul.add_argument(name, metavar=f"{name}.npy", help=text)
    matmul.add_argument("-o", "--output", metavar="C.npy", help="where to write the product; - is standard output")
    matmul.add_argument("--tile", metavar="MxNxK", help="rows, columns and depth of a workgroup's tile, 64x64x16")
    engines = "auto (the default) is wgpu where there is an adapter, else numpy, the interpreter of the same kernel"
    matmul.add_argument("--engine", default="auto", metavar="auto|wgpu|numpy", help=engines)
    shows = "print the kernel's text, or its layouts, on standard output"
    matmul.add_argument("--show", choices=("wgsl", "layouts"), help=shows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    name = "cutepy"
    try:
        options = parser().parse_args(arguments)
        name = f"cutepy {options.command}" if "command" in options else name
        code = _run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # `cutepy ... | head` has read enough
        sys.stderr.close()
        return 0
    except CutepyError as error:
        _complain(f"{name}: {error}")
    except OSError as error:
        _complain(f"{name}: {error.filename or 'a file'}: {error.strerror or error}")
    except MemoryError as error:
        _complain(f"{name}: not enough memory{f': {error}' if str(error) else ''}")
    except KeyboardInterrupt:
        return 130
    return BAD_INPUT


def _complain(message: str) -> None:
    """Say it on standard error; what a terminal would obey is replaced, a character by one, so that carets fit."""
    print("".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in message), file=sys.stderr)


def _run(options: Namespace) -> int:
    if options.version:
        print(f"cutepy {__version__}")
        return 0
    if "run" not in options:
        parser().print_help()
        return 0
    module, function = options.run
    code: int | None = getattr(import_module(f".{module}", __package__), function)(options)
    return code or 0
