"""Every public name has an example that runs, says of which shapes or units its operands are, and what it refuses.

Law: what a package exports, and every method of an exported class, is shown by a doctest in its own docstring or in
that of its class (a method also where a base or a protocol has it); a function that takes layouts, tensors or arrays
says what they measure; and a function that raises says so.
"""

import ast
import doctest
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from random import Random
from types import FunctionType, ModuleType
from typing import NamedTuple

import numpy as np
import pytest
from junk_calls import ARRAYS

from cutepy import Layout, gpu, make_tensor, ops, parse_layout
from cutepy.errors import CutepyError, OperandError, shown
from cutepy.tensor.functions import IN_KERNELS, NAMED, Function

ROOMS = [
    f"cutepy{room}" for room in ["", *".layout .tensor .gpu .gpu.runtime .gpu.verify .ops .draw .mesh .explore".split()]
]
OPERANDS = re.compile(r"Layout|IntTuple|Tensor|Array|Operand|ndarray|Coordinate|Expr")
TERMS = """shapes? ranks? extents? ax[ie]s modes? dimensions? coordinates? bytes bits elements? index indices offsets?
threads? lanes? sizes? strides? vectors? matri(?:x|ces) leaves integer numbers? rows? tiles?"""
MEASURE = re.compile(rf"\([\w ]+(?:, ?[\w ]+)+\)|\b(?:{'|'.join(TERMS.split())})\b")
SLOW = ("conflict_free", "widest_copy", "vectorised", "convert", "draw")
"""What searches, or draws: for any layouts it would take long."""
REFUSAL = re.compile(r"\bRaises?\b|\brefus|\b[A-Z]\w*Error\b")


class Public(NamedTuple):
    """A public function or class, or a method of one, as users write it, and the classes whose pages show it."""

    name: str
    thing: object
    owners: tuple[type, ...] = ()

    @property
    def doc(self) -> str:
        return inspect.getdoc(self.thing) or ""

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]


def exported(room: str) -> Iterator[tuple[str, object]]:
    module = import_module(room)
    if room == "cutepy.gpu":  # what an invocation has has a value in kernels alone: the function that a kernel asks
        yield from ((name, getattr(import_module("cutepy.gpu.language.control"), name)) for name in gpu._IDS)
    table = {"cutepy.gpu": IN_KERNELS, "cutepy.ops": NAMED}.get(room, {})
    yield from ((name, getattr(module, name)) for name in (*getattr(module, "__all__", dir(module)), *table))


def methods(room: str, cls: type) -> Iterator[Public]:
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        member = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        owners = tuple(base for base in cls.__mro__ if name in vars(base) and is_ours(base))
        if name[0] != "_" and isinstance(inspect.unwrap(member), FunctionType) and owners:
            yield Public(f"{room}.{cls.__name__}.{name}", member, (cls, *owners, *kin(cls, name)))


def is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "cutepy"


@cache
def protocols() -> tuple[type, ...]:
    return tuple(
        {
            it
            for room in ROOMS
            for _, it in exported(room)
            if isinstance(it, type) and getattr(it, "_is_protocol", False)
        }
    )


def kin(cls: type, name: str) -> list[type]:
    """The protocols that a class keeps, of which `name` is a member."""
    return [p for p in protocols() if name in dir(p) and all(hasattr(cls, m) for m in vars(p) if m[0] != "_")]


@cache
def public() -> tuple[Public, ...]:
    """Everything, each once, under its shortest name."""
    found: dict[int, Public] = {}
    for room in ROOMS:
        for name, thing in exported(room):
            inner = inspect.unwrap(thing) if callable(thing) else thing
            if isinstance(inner, type):
                if is_ours(inner):
                    found.setdefault(id(inner), Public(f"{room}.{name}", inner))
                    for method in methods(room, inner):
                        found.setdefault(id(method.thing), method)
            elif isinstance(inner, FunctionType):
                found.setdefault(id(inner), Public(f"{room}.{name}", inner))
    return tuple(found.values())


@cache
def examples(doc: str) -> str:
    return "".join(example.source for example in doctest.DocTestParser().get_examples(doc))


def stands_for(one: Public) -> Public:
    """The public name of which the docstring says that this one is it: "As `gpu.exp`."."""
    same = re.match(r"As `([\w.]+)`", one.doc)
    named = (other for other in public() if same and f".{other.name}".endswith(f".{same[1]}"))
    return next(named, one)


def shows(one: Public) -> bool:
    """Whether an example uses it."""
    one = stands_for(one)
    word = re.compile(rf"(?<!\w)({re.escape(one.last)}|{re.escape(getattr(one.thing, '__name__', one.last))})\b")
    if not one.owners:
        return bool(word.search(examples(one.doc))) or (isinstance(one.thing, type) and bool(examples(one.doc)))
    member = re.compile(rf"\.{re.escape(one.last)}\b")
    return any(member.search(examples(doc)) for doc in documents(one))


def documents(one: Public) -> list[str]:
    """Its docstring, those of its classes, and those of the methods that it overrides."""
    overridden = (inspect.getattr_static(owner, one.last, None) for owner in one.owners)
    return [one.doc, *(inspect.getdoc(thing) or "" for thing in (*one.owners, *overridden))]


def says_measure(one: Public) -> bool:
    if not isinstance(one.thing, FunctionType):
        return True
    given = [p.annotation for p in inspect.signature(one.thing).parameters.values() if p.name != "self"]
    return not any(OPERANDS.search(str(a)) for a in given) or any(map(MEASURE.search, documents(one)))


def raised(function: FunctionType, seen: frozenset[str] = frozenset()) -> set[str]:
    """The errors that the text of a function raises, or that of the private functions of its module that it calls."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return set()
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            name = ast.unparse(error).rpartition(".")[2]
            if name.endswith("Error") and name not in ("InternalError", "AttributeError", "NotImplementedError"):
                found.add(name)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id[0] == "_":
            helper = function.__globals__.get(node.func.id)
            if isinstance(helper, FunctionType) and node.func.id not in seen:
                found |= raised(helper, seen | {node.func.id})
    return found


def says_refusal(one: Public) -> bool:
    function = one.thing
    if not isinstance(function, FunctionType) or not raised(function):
        return True
    return any(REFUSAL.search(doc) for doc in documents(one))


LAYOUTS: list[object] = [Layout(4), Layout((4, 8), (8, 1)), Layout((4, (2, 3))), Layout((2, 2), (1, 8))]
LAYOUTS += map(
    parse_layout, ["S<2,0,3> o 4 o (8,8):(8,1)", "(4,5):(1,4) o 2 o (2,2):(1,8)", "(4,8):(1@0,1@1)", "(M,8):(1,M)"]
)
SHAPES: list[object] = [1, 4, 0, 7, (4, 8), (2, (2, 2)), (3,), (), (8, 4, 2), -1, (4, -1)]
OF_A_KIND: list[tuple[str, Callable[[Random], object]]] = [
    ("TensorLike", lambda rng: rng.choice(ARRAYS)(rng)),
    ("Tensor", lambda rng: make_tensor(rng.choice(("f32", "i32")), rng.choice(((4, 8), 8, (2, (2, 2)), (2, 3, 4))))),
    ("Layout|OneKind|WithModes", lambda rng: rng.choice(LAYOUTS)),
    ("IntTuple|Coordinate|tuple", lambda rng: rng.choice(SHAPES)),
    ("int|Index", lambda rng: rng.choice((0, 1, 2, -1, 3, 7, 100, -5))),
    ("str", lambda rng: rng.choice(("(4,8):(8,1)", "f32", "x"))),
    ("object", lambda rng: rng.choice((*SHAPES, *LAYOUTS, "f32"))),
]
"""What a parameter may be given, by a part of its annotation."""


def operands_of(function: object, rng: Random) -> list[object] | None:
    """Operands of the kinds that a function's annotations say; None where one of them is of no kind that is known."""
    parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    asked = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = sum(p.default is p.empty for p in asked)
    taken = asked[: needed + (rng.random() < 0.4)]
    taken += [p for p in parameters if p.kind is p.VAR_POSITIONAL for _ in range(rng.choice((1, 2)))]
    kinds = [next((make for words, make in OF_A_KIND if re.search(words, str(p.annotation))), None) for p in taken]
    told = any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters)
    return None if told or not taken or None in kinds else [make(rng) for make in kinds if make is not None]


def names_error(one: Public, error: CutepyError) -> bool:
    """Whether the docstring names the error, by one of its kinds, or another function whose errors it has."""
    kinds = {kind.__name__ for kind in type(error).__mro__ if kind is not CutepyError and issubclass(kind, CutepyError)}
    return bool(kinds & {*re.findall(r"\w+Error\b", one.doc)}) or bool(
        re.search(r"Raises (\w+ )*(as|what)\b|as `\w+`", one.doc)
    )


RULES = {"example": shows, "shapes or units": says_measure, "what it raises": says_refusal}


@pytest.mark.parametrize("rule", RULES)
def test_every_public_name_has_its(rule: str) -> None:
    missing = [one.name for one in public() if not isinstance(one.thing, Enum) and not RULES[rule](one)]
    assert not missing, f"{len(missing)} of {len(public())} public names lack {rule}:\n" + "\n".join(missing)


@pytest.mark.parametrize(("room", "table"), [(gpu, IN_KERNELS), (ops, NAMED)], ids=["gpu", "ops"])
def test_an_example_that_a_table_makes_runs(room: ModuleType, table: dict[str, Function]) -> None:
    for name in table:
        function = inspect.unwrap(getattr(room, name))
        names = {**sys.modules[function.__module__].__dict__, "np": np, "ops": ops, "gpu": gpu}
        session = doctest.DocTestParser().get_doctest(inspect.getdoc(function), names, name, None, 0)
        assert session.examples and not doctest.DocTestRunner().run(session).failed, name


@pytest.mark.parametrize("room", ["cutepy", "cutepy.layout", "cutepy.tensor", "cutepy.ops"])
def test_what_a_function_raises_for_operands_of_its_kinds_is_named(room: str) -> None:
    rng, unnamed, refused = Random(room), {}, 0
    for one in public():
        if one.name.rpartition(".")[0] != room or not isinstance(one.thing, FunctionType) or one.last in SLOW:
            continue
        for _call in range(60):
            operands = operands_of(one.thing, rng)
            if operands is None:
                break
            try:
                getattr(import_module(room), one.last)(*operands)
            except OperandError:
                pass  # a function that takes no such operand says so itself
            except CutepyError as error:
                refused += 1
                if not names_error(one, error):
                    unnamed.setdefault(one.name, f"{type(error).__name__}: {shown(str(error))}")
    assert refused > 10 and not unnamed, unnamed


def test_the_rules_see_what_lacks_them() -> None:
    def nothing(x: "Tensor") -> None:  # noqa: F821
        """It does."""
        raise ValueError(x)

    assert not any(rule(Public("nothing", nothing)) for rule in RULES.values())
    assert len(public()) > 900
