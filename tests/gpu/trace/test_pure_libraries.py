"""`pure_libraries`: a table of what is trusted, by identity; all else is read or refused."""

import functools
import json
import math
import random
import time
from types import FunctionType

import numpy as np
import pytest

import cutepy
from cutepy import gpu
from cutepy.gpu.trace.pure_libraries import (
    is_importable,
    is_pure_callable,
    is_pure_module,
    is_standard,
    is_stateful,
    library_name,
    module_of,
)


@pytest.mark.parametrize(
    ("module", "pure", "importable", "standard"),
    [
        ("math", True, True, True),
        ("collections.abc", True, True, True),
        ("cutepy.layout", True, True, False),
        ("numpy", True, False, False),
        ("numpy.linalg", True, False, False),
        ("numpy.random", False, False, False),
        ("numpy.random.mtrand", False, False, False),
        ("builtins", True, False, True),
        ("random", False, False, True),
        ("os.path", False, False, True),
        ("mathematics", False, False, False),
        ("numpyish", False, False, False),
    ],
)
def test_modules(module: str, pure: bool, importable: bool, standard: bool) -> None:
    assert (is_pure_module(module), is_importable(module), is_standard(module)) == (pure, importable, standard)


@pytest.mark.parametrize(
    ("value", "pure"),
    [
        (math.sin, True), (len, True), (functools.partial, True), (np.add, True), (np.zeros, True), (dict.get, False),
        (time.time, False), (random.random, False), (open, False), (id, False), (eval, False), (np.load, False),
        (np.random.rand, False), (gpu.open_device, False), (FunctionType, True), (json.dumps, False), (int, True),
    ],
)  # fmt: skip
def test_functions_and_classes(value: type, pure: bool) -> None:
    assert is_pure_callable(value) is pure


def test_what_reads_state_is_so_under_every_name() -> None:
    import io

    assert is_stateful(io.open) and is_stateful(open) and is_stateful(hash)
    assert is_stateful(gpu.default_device) and not is_stateful(math.sin) and not is_stateful(cutepy.size)


def test_a_name_is_one_by_which_a_module_holds_the_value() -> None:
    assert library_name(math.sin) == "math.sin" and library_name(int) == "builtins.int"
    assert library_name([].append) == "" and library_name(lambda: 0) == ""

    def fake() -> None: ...

    fake.__module__, fake.__qualname__ = "math", "sin"
    assert library_name(fake) == ""


def test_the_module_of_a_function_is_that_of_its_names() -> None:
    @functools.wraps(json.dumps)
    def wrapped() -> None: ...

    assert module_of(json.dumps) == "json" and wrapped.__module__ == "json"
    assert module_of(wrapped) in (__name__, "")
    names: dict[str, object] = {"__name__": "json"}
    exec("def f(): ...", names)
    made = names["f"]
    assert isinstance(made, FunctionType) and module_of(made) == ""
