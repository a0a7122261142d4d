"""A printer is a class: what a subclass overrides is heard wherever the kernel says it."""

import pytest

from cutepy.errors import KernelError
from cutepy.gpu.ir import Buffer, Cast, For, If, Kernel, Print, Store, builtin, cast, const, load, var
from cutepy.gpu.lower import lower
from cutepy.gpu.targets.wgsl import WgslPrinter
from cutepy.gpu.targets.wgsl_tokens import NAGA
from cutepy.tensor.dtypes import DType, f32, i32

TID = builtin("local_invocation_index", 0, 63)
X, Y = Buffer("x", i32, 64), Buffer("y", f32, 64, writable=True)


class Shouting(WgslPrinter):
    """WGSL but for casts, literals, names of types and loops."""

    def show_Cast(self, value: Cast, outer: int) -> str:
        return f"CAST({self.show(value.value)})"

    def literal(self, value) -> str:
        return f"<{super().literal(value)}>"

    def type_name(self, dtype: DType, lanes: int = 1) -> str:
        return super().type_name(dtype, lanes).upper()

    def lines_For(self, stmt: For, depth: int):
        yield "LOOP {"
        yield from self.block(stmt.body, depth + 1)
        yield "}"


def kernel() -> Kernel:
    k = var("k", hi=3)
    inner = If(TID < 32, (Store(Y, TID, cast(load(X, TID), f32) + cast(k, f32)),))
    return lower(Kernel("k", (X, Y), (For(k, const(0), const(4), const(1), (inner,)),)))


def test_what_is_overridden_is_heard() -> None:
    text = Shouting(kernel(), NAGA).text()
    assert "array<I32>" in text and "array<F32>" in text
    assert "let inside = tid < <32u>;" in text
    assert text[text.index("LOOP") :] == (
        "LOOP {\n        if (inside) {\n            y[tid] = CAST(x[tid]) + CAST(k_1);\n        }\n    }\n}\n"
    )


def test_a_statement_without_a_method_is_refused_at_its_line() -> None:
    stmt = Print(("hello",), ())
    with pytest.raises(KernelError, match="k: WGSL has no counterpart of Print"):
        WgslPrinter(Kernel("k", (), (stmt,)), NAGA).text()
