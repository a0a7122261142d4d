"""Kernels as plain Python: one thread after another, `gpu.when` an `if`, `gpu.loop` a `range`, and no compiler."""

import ast
from types import SimpleNamespace
from typing import Any

import numpy as np


class _Plain(ast.NodeTransformer):
    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        body: list[ast.stmt] = node.body
        for item in reversed(node.items):
            call = item.context_expr
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "gpu.when":
                body = [ast.copy_location(ast.If(call.args[0], body, []), node)]
            else:
                body = [ast.copy_location(ast.With([item], body), node)]
        return body[0]

    def visit_While(self, node: ast.While) -> ast.AST:
        """`while gpu.at_most(n, test):` is `for _ in range(n):` that begins with `if not test: break`."""
        self.generic_visit(node)
        test = node.test
        if not (isinstance(test, ast.Call) and ast.unparse(test.func) == "gpu.at_most"):
            return node
        assert not node.orelse
        turns = ast.Call(ast.Name("range", ast.Load()), [ast.Call(ast.Name("int", ast.Load()), test.args[:1], [])], [])
        ends = ast.If(ast.UnaryOp(ast.Not(), test.args[1]), [ast.Break()], [])
        return ast.copy_location(ast.For(ast.Name("_", ast.Store()), turns, [ends, *node.body], []), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if node.module == "cutepy" else node


def _cast(value: Any, dtype: str) -> Any:
    return np.float32(value) if dtype == "f32" else int(value)


def functions_of(text: str, file: str) -> dict[str, Any]:
    """The names of a text of kernels, where `gpu` is plain Python and `gpu.thread` the thread that runs."""
    gpu = SimpleNamespace(
        thread=0,
        launch=lambda **sizes: None,
        loop=lambda stop, start=0, step=1: range(int(start), int(stop), int(step)),
        unroll=range,
        cast=_cast,
        constant=_cast,
        select=lambda condition, then, other: then if condition else other,
        maximum=max,
        minimum=min,
    )
    names: dict[str, Any] = {"gpu": gpu, "make_tensor": lambda dtype, n: np.zeros(n, np.float32), "local_tile": None}
    tree = ast.fix_missing_locations(_Plain().visit(ast.parse(text)))
    exec(compile(tree, file, "exec"), names)
    return names


def run(names: dict[str, Any], kernel: str, *arrays: np.ndarray, threads: int = 64) -> None:
    """Run a kernel for each thread of a workgroup, in order."""
    for thread in range(threads):
        names["gpu"].thread = thread
        names[kernel](*arrays)
