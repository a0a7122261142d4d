"""Arguments, dispatch and exit codes.

Law: exit code 0 and the result, or exit code 2, one line on standard error (with a caret where a text was misread) and
nothing written. 1 says that a question was answered with no: a kernel refuted, an operation too, a picture stale.
Commands are imported when they are called, so that `cutepy print` starts without NumPy.
"""

from __future__ import annotations

import os
import re
import sys
from argparse import REMAINDER, SUPPRESS, ArgumentParser, Namespace
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import NoReturn

from .. import __version__
from ..draw.look import LAYOUT_VIEWS, OPTIONS, SUFFIXES
from ..errors import CommandError, CutepyError

BAD_INPUT = 2
REQUIRED = ("numpy", "sympy", "wgpu")
_STDIN = "- reads it from standard input"
_LAYOUT = (
    "a layout in any notation, (4,(2,2)):(1,(4,8)), or an expression, zipped_divide((8,8):(8,1), (4,4)); " + _STDIN
)
_SHAPES = "for each argument of the kernel: NxM, an array of NumPy's order; a layout; a type before either, f16 64x64"


class Parser(ArgumentParser):
    """argparse whose errors are CommandErrors, each one line, with what was meant; `own` are the commands."""

    own: dict[str, Parser]

    def error(self, message: str) -> NoReturn:
        """Raise the CommandError of a wrong command line, with the option or command that may be meant."""
        # argparse gives no structured error: the wrong word and the valid ones are read from its message.
        wrong = re.search(r"unrecognized arguments: (\S+)|invalid choice: '([^']*)'", message)
        choices = re.findall(r"[\w-]+", message.partition("(choose from")[2]) or re.findall(
            r"--[\w-]+", self.format_help()
        )
        near = get_close_matches(next(filter(None, wrong.groups()), ""), choices, 1) if wrong else []
        hint = f"; did you mean {near[0]}?" if near else ""
        raise CommandError(f"{message}{hint} ({self.prog} --help shows what there is)")


@cache
def parser() -> Parser:
    """The arguments of every command."""
    root = Parser(
        prog="cutepy", description="Layouts, the kernels made of them, and their pictures.", allow_abbrev=False
    )
    root.add_argument("--version", action="store_true", help="print the version and leave")
    commands = root.add_subparsers(metavar="COMMAND", parser_class=Parser)
    root.own = {}

    def command(name: str, module: str, text: str, answers: bool = False) -> ArgumentParser:
        added = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        added.set_defaults(run=(module, f"run_{name}"), command=name)
        if answers:
            added.add_argument("--json", action="store_true", help="the answer as JSON, on one line")
        root.own[name] = added
        return added

    text = "Print a layout as CuTe's print_layout does, or in another notation."
    _layout_commands(command("print", "layouts", text, answers=True))
    text = "Tell what is true of a layout: sizes, properties, offsets, bank conflicts."
    _ask_arguments(command("ask", "layouts", text, answers=True))
    text = "Draw a layout: SVG, HTML, TikZ, PNG, PDF, EPS or text, as the suffix says."
    _draw_arguments(command("draw", "layouts", text))
    explain = command("explain", "layouts", "Tell how an operation comes to its result, step by step.", answers=True)
    explain.add_argument("call", help=f'an operation, "composition((6,2):(1,7), (3,2):(2,3))"; {_STDIN}')
    explain.add_argument("-o", "--output", default="-", metavar="FILE", help="where to write it; - is standard output")
    explore = command("explore", "layouts", "Open a page that runs cutepy itself, to look at layouts by hand.")
    explore.add_argument("layout", nargs="?", help=f"what it shows first: {_LAYOUT}")
    explore.add_argument("-o", "--output", metavar="FILE.html", help="write the page there instead of opening it")
    explore.add_argument("--view", default="", help=", ".join(LAYOUT_VIEWS))
    explore.add_argument("--links", metavar="FOLDER", help="a site whose links to the page are answered at once")
    _kernel_arguments(command("wgsl", "kernels", "Print the WGSL of a kernel for arguments of given layouts."))
    text = "Prove a kernel in bounds and free of races, or say where it is not."
    _kernel_arguments(command("verify", "kernels", text, answers=True))
    text = "Tell what a kernel asks of memory and arithmetic: bytes, transactions, bank conflicts, operations."
    _kernel_arguments(command("report", "kernels", text, answers=True))
    text = "Write a kernel as an ES module, with its types, its description and a page that tests it."
    _kernel_arguments(command("export", "kernels", text))
    _matmul_arguments(command("matmul", "matmul", "Multiply two float32 matrices: C = A @ B.", answers=True))
    text = "Find the fastest plan of a product on this machine, and keep it."
    _tune_arguments(command("tune", "matmul", text, answers=True))
    text = "List the GPUs, and the software that stands in for one, best first."
    command("adapters", "kernels", text, answers=True)
    figures = command("figures", "figures", "Draw every picture that documents describe.", answers=True)
    documents = "documents (.md, .qmd, .rst, .ipynb), or folders of them"
    figures.add_argument("paths", nargs="+", metavar="PATH", help=documents)
    once = figures.add_mutually_exclusive_group()
    once.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a picture is stale")
    once.add_argument("--watch", action="store_true", help="draw again whenever a document changes, until stopped")
    completion = command("completion", "main", "Print what makes a shell complete commands and options.")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help='eval "$(cutepy completion bash)"')
    completion.add_argument("asked", nargs=REMAINDER, help=SUPPRESS)
    return root


def _layout_commands(print_: ArgumentParser) -> None:
    """The arguments of `cutepy print`."""
    print_.add_argument("layout", help=_LAYOUT)
    print_.add_argument(
        "--to",
        choices=("grid", "cute", "python", "cpp", "pycute", "latex"),
        default="grid",
        help="the table of offsets, or the layout in another notation",
    )
    print_.add_argument("-o", "--output", default="-", metavar="FILE", help="where to write it; - is standard output")


def _ask_arguments(ask: ArgumentParser) -> None:
    """The arguments of `cutepy ask`."""
    ask.add_argument("layout", help=_LAYOUT)
    ask.add_argument("--at", action="append", default=[], metavar="CRD", help='a coordinate or an index, "(1,(0,2))"')
    for name, text in (
        ("element-bytes", "bytes of an element: how memory serves accesses of (lane, value)"),
        ("access-bytes", "bytes that a lane takes at once"),
        ("lanes", "lanes of a subgroup, 32"),
    ):
        ask.add_argument(f"--{name}", type=int, metavar="N", help=text)
    ask.add_argument("--tile", metavar="SHAPE", help="the tile that a layout from (thread, value) shares out")
    ask.add_argument(
        "--owner", action="append", default=[], metavar="CRD", help="its thread and value, for an element of the tile"
    )
    text = "what this thread holds of the tile, in order"
    ask.add_argument("--thread", action="append", default=[], type=int, metavar="N", help=text)
    text = "how the tile lies in memory: how widely threads move it, and what would make it wider"
    ask.add_argument("--memory", metavar="LAYOUT", help=text)


def _draw_arguments(draw: ArgumentParser) -> None:
    draw.add_argument("layout", help=f"{_LAYOUT} with lines of options, as in a fence")
    draw.add_argument("-o", "--output", default="-", metavar="FILE", help=f"x{', '.join(SUFFIXES)}; - is text")
    formats = tuple(suffix[1:] for suffix in SUFFIXES)
    draw.add_argument("--format", choices=formats, help="where the suffix does not say it")
    for name, text in OPTIONS.items():
        draw.add_argument(f"--{name.replace('_', '-')}", help=text)


def _kernel_arguments(command: ArgumentParser) -> None:
    """The arguments of `cutepy wgsl`, `verify`, `report` and `export`."""
    verify = command.prog.endswith("verify")
    shader = "; FILE.wgsl is a compute shader" if verify else ""
    command.add_argument("kernel", help=f"matmul, sum, or MODULE:KERNEL, FILE.py:KERNEL for one of yours{shader}")
    command.add_argument("arguments", nargs="*", metavar="ARGUMENT", help=f"{_SHAPES}; a number")
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a keyword argument, static")
    command.add_argument("--tile", metavar="MxNxK", help="the tile of a matmul")
    command.add_argument("-o", "--output", default="-", metavar="FILE", help="where to write it; - is standard output")
    if verify:
        text = "of a shader: x=f32[1000] is the length of an array, n=7 or params.n=7 a uniform or an override"
        command.add_argument("--bind", action="append", default=[], metavar="NAME=VALUE", help=text)
        command.add_argument("--grid", metavar="XxYxZ", help="of a shader: its workgroups, 1 if left out")
        command.add_argument("--entry", default="", metavar="NAME", help="of a shader: the function, if there are more")
    if command.prog.endswith("export"):
        text = 'sizes that a call gives: "x=(M,N),y=(M)", or the option again for each tensor; unknown, known for all'
        command.add_argument("--sizes", action="append", default=[], metavar="NAME=SIZES", help=text)
        command.add_argument("--page", action="store_true", help="an HTML file too: it runs the kernel and checks it")
        command.add_argument("--refuted", action="store_true", help="export it although a claim about it is refuted")
    if command.prog.endswith("wgsl"):
        command.add_argument("--dialect", choices=("naga", "tint"), default="naga", help="the compiler it is for")


def _matmul_arguments(matmul: ArgumentParser) -> None:
    """The arguments of `cutepy matmul`."""
    for name in "AB":
        text = "a .npy file of float32, any order; A.npy.T and A.npy[::2,:64] transpose and slice as NumPy does"
        matmul.add_argument(name, metavar=f"{name}.npy", help=text)
    matmul.add_argument("-o", "--output", metavar="C.npy", help="where to write the product; - is standard output")
    matmul.add_argument("--tile", metavar="MxNxK", help="rows, columns and depth of a workgroup's tile, 64x64x16")
    engines = "auto (the default) is wgpu where there is an adapter, else interpreter, NumPy running the same kernel"
    matmul.add_argument("--engine", default="auto", metavar="auto|wgpu|interpreter", help=engines)
    shows = "print the kernel's text, or its layouts, on standard output"
    matmul.add_argument("--show", choices=("wgsl", "layouts"), help=shows)


def _tune_arguments(tune: ArgumentParser) -> None:
    """The arguments of `cutepy tune`."""
    tune.add_argument("sizes", nargs="+", metavar="MxNxK", help="products (M,K) by (K,N); 8xMxNxK is 8 of them")
    tune.add_argument("--dtype", choices=("f32", "f16", "i32", "u32"), default="f32", help="the type of the elements")
    tune.add_argument(
        "--order", choices=("NN", "NT", "TN", "TT"), default="NN", help="T where an operand is transposed"
    )
    tune.add_argument("--seconds", type=float, default=20, help="what all plans of a product may take together, 20")
    tune.add_argument("--limit", type=float, default=5, help="what one plan may take, with its compilation, 5")
    tune.add_argument("--again", action="store_true", help="also where a plan is known")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    # A terminal of another encoding gets escapes instead of an exception.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    name, code = "cutepy", 0
    try:
        root = parser()
        # parse_known_args, so that the command's own parser reports a wrong option and suggests its own.
        options, rest = root.parse_known_args(arguments)
        # argparse ends a row of arguments at the first option: what follows that goes on with it.
        row = next((getattr(options, name) for name in ("arguments", "paths", "sizes") if name in options), None)
        if row is not None and not any(word.startswith("-") for word in rest):
            row += rest
        elif rest:
            root.own.get(getattr(options, "command", ""), root).error(f"unrecognized arguments: {' '.join(rest)}")
        name = f"cutepy {options.command}" if "command" in options else name
        code = _run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # `cutepy ... | head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python flushes at its end
        return code
    except CutepyError as error:
        _complain(f"{name}: {str(error).removeprefix(name.removeprefix('cutepy ') + ': ')}")
    except OSError as error:
        _complain(f"{name}: {error.filename or 'a file'}: {error.strerror or error}")
    except ModuleNotFoundError as error:
        if error.name not in REQUIRED:
            raise
        _complain(f"{name}: it needs the package {error.name}, and that is not here: pip install {error.name}")
    except MemoryError as error:
        _complain(f"{name}: not enough memory{f': {error}' if str(error) else ''}")
    except KeyboardInterrupt:
        return 130
    return BAD_INPUT


def _complain(message: str) -> None:
    """Say it on standard error; what a terminal would obey is replaced, a character by one, so that carets fit."""
    print("".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in message), file=sys.stderr)


def _run(options: Namespace) -> int:
    """Run the parsed command; its exit code, 0 where it gives none."""
    if options.version:
        print(f"cutepy {__version__}")
        return 0
    if "run" not in options:
        parser().print_help()
        return 0
    # Commands are imported here, so that `cutepy print` starts without NumPy and wgpu.
    module, function = options.run
    code: int | None = getattr(import_module(f".{module}", __package__), function)(options)
    return code or 0


_BASH = "complete -o default -C 'cutepy completion bash' cutepy"
SHELLS = {
    "bash": _BASH,
    "zsh": f"autoload -U +X bashcompinit && bashcompinit && {_BASH}",
    "fish": "complete -c cutepy -a '(COMP_LINE=(commandline -pc) cutepy completion fish)'",
}
"""What makes a shell ask `cutepy completion` at each word, with the line so far in COMP_LINE; where nothing is answered
it completes files."""


def run_completion(options: Namespace) -> None:
    """Write the line that makes a shell complete commands, options and their values; asked by it, write those."""
    # The shell sets COMP_LINE and COMP_POINT (bash's names; fish sets the first by our line).
    line = os.environ.get("COMP_LINE")
    if line is None:
        print(SHELLS[options.shell])
        return
    before, _, prefix = line[: int(os.environ.get("COMP_POINT", len(line)))].rpartition(" ")
    _program, *words = before.split() or [""]
    choices = _options(parser().own[words[0]]) if words and words[0] in parser().own else {}
    candidates = choices.get(words[-1], []) if words else [*parser().own]
    # After an option without fixed values, or a first argument, offer option names or the values of the argument.
    if words and not candidates:
        candidates = [name for name in choices if name] if prefix.startswith("-") else choices.get("", [])
    sys.stdout.writelines(f"{name}\n" for name in candidates if name.startswith(prefix))


def _options(command: Parser) -> dict[str, list[str]]:
    """The options of a command, and what each can be; what its first argument can be has no name."""
    text = command.format_help()
    choices: dict[str, list[str]] = {name: [] for name in re.findall(r"--[a-z][a-z-]*", text)}
    for name, values in re.findall(r"(--[a-z][a-z-]*) \{([^}]*)\}", text):
        choices[name] = values.split(",")
    positional = re.search(r"^  \{([^}]*)\}", text, re.MULTILINE)
    return choices | ({"": positional[1].split(",")} if positional else {})
