"""Byte code is read as `dis` reads it."""

import ast
import asyncio.base_events
import dis
import enum
import typing
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from cutepy.gpu.trace import bytecode


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


SPEAKING = {*dis.hasname, *dis.hasconst, *dis.haslocal, *dis.hasfree} - {dis.opmap.get("KW_NAMES")}


def known(code: CodeType) -> Iterator[tuple[str, object]]:
    """What `dis` says of those that speak of a name or a constant, of two in one the first."""
    for step in dis.get_instructions(code):
        if step.opname not in ("CACHE", "PRECALL", "RESUME", "NOP", "EXTENDED_ARG"):
            pair = isinstance(step.argval, tuple) and step.opname.count("_FAST") > 1
            meant = step.argval[0] if pair else step.argval
            yield step.opname, meant if step.opcode in SPEAKING else None


@pytest.mark.parametrize("module", [ast, asyncio.base_events, dis, enum, typing], ids=lambda module: module.__name__)
def test_instructions_are_those_of_dis(module: ModuleType) -> None:
    assert module.__file__ is not None
    for code in codes(compile(Path(module.__file__).read_text(), module.__file__, "exec")):
        steps = list(bytecode.instructions(code))
        for (name, meant), step in zip(known(code), steps, strict=True):
            assert name == step.name
            assert meant is None or meant is step.meant or repr(meant) == repr(step.meant), (step, code)


def test_those_after_an_instruction_are_the_last_of_all() -> None:
    code = known.__code__
    offsets = [step.offset for step in dis.get_instructions(code)]
    every = list(bytecode.instructions(code))
    for offset in offsets:
        rest = list(bytecode.instructions(code, offset))
        assert rest == every[len(every) - len(rest) :]
