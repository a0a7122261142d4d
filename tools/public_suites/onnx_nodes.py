"""ONNX's node tests: each model is run node by node on `cutepy.ops`, and held to its outputs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from cutepy import ops
from cutepy.errors import CutepyError

from .rows import Row, missing, plain

_POINTWISE = {
    "Abs": "absolute", "Acos": "arccos", "Acosh": "arccosh", "Add": "add", "And": "logical_and", "Asin": "arcsin",
    "Asinh": "arcsinh", "Atan": "arctan", "Atanh": "arctanh", "BitwiseAnd": "bitwise_and", "BitwiseNot": "bitwise_not",
    "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh",
    "Equal": "eq", "Erf": "erf", "Exp": "exp", "Floor": "floor", "Greater": "gt", "GreaterOrEqual": "ge",
    "IsNaN": "isnan", "Less": "lt", "LessOrEqual": "le", "Log": "log", "Mul": "mul", "Neg": "neg", "Not": "logical_not",
    "Or": "logical_or", "Reciprocal": "reciprocal", "Round": "round", "Sigmoid": "sigmoid", "Sign": "sign",
    "Sin": "sin", "Sinh": "sinh", "Sqrt": "sqrt", "Sub": "sub", "Tan": "tan", "Tanh": "tanh", "Where": "where",
    "Xor": "ne",
}  # fmt: skip
_REDUCTIONS = {"ReduceSum": "sum", "ReduceMean": "mean", "ReduceMax": "max", "ReduceMin": "min", "ReduceProd": "prod",
               "ReduceLogSumExp": "logsumexp"}  # fmt: skip


class NotSaid(Exception):
    """A node that cutepy has no words for, or a type that it does not hold."""


class OnnxRunner:
    """A graph of ONNX, node by node, on an engine of cutepy."""

    def __init__(self, engine: str) -> None:
        self.engine = engine

    def call(self, name: str, *values: Any, **options: Any) -> Any:
        return getattr(ops, name)(*values, engine=self.engine, **options)

    def reduced(self, name: str, x: Any, given: list[Any], attributes: Mapping[str, Any]) -> Any:
        axes = attributes.get("axes", given[1].tolist() if len(given) > 1 and given[1] is not None else None)
        keep = bool(attributes.get("keepdims", 1))
        if axes is None or len(axes) == 0:
            if attributes.get("noop_with_empty_axes", 0):
                return x
            axes = None
        return self.call(name, x, None if axes is None else tuple(map(int, axes)), keepdims=keep)

    def node(self, op: str, x: list[Any], a: Mapping[str, Any]) -> Any:
        """The value of one node."""
        if op in _POINTWISE:
            return self.call(_POINTWISE[op], *x)
        if op in _REDUCTIONS:
            return self.reduced(_REDUCTIONS[op], x[0], x, a)
        match op:
            case "Identity":
                return x[0]
            case "Constant" if "value" in a:
                return a["value"]
            case "Constant" if "value_float" in a:
                return np.float32(a["value_float"])
            case "Constant" if "value_int" in a:
                return np.int64(a["value_int"])
            case "Constant" if "value_ints" in a:
                return np.array(a["value_ints"], np.int64)
            case "Constant" if "value_floats" in a:
                return np.array(a["value_floats"], np.float32)
            case "ReduceSumSquare":
                return self.reduced("sum", self.call("square", x[0]), x, a)
            case "ReduceL1":
                return self.reduced("sum", self.call("absolute", x[0]), x, a)
            case "ReduceL2":
                return self.call("sqrt", self.reduced("sum", self.call("square", x[0]), x, a))
            case "ReduceLogSum":
                return self.call("log", self.reduced("sum", x[0], x, a))
            case "ArgMax" | "ArgMin" if not a.get("select_last_index", 0):
                keep = bool(a.get("keepdims", 1))
                return self.call(op.lower(), x[0], int(a.get("axis", 0)), keepdims=keep)
            case "Div":
                whole = x[0].dtype.kind in "iu"
                return (
                    ops.astype(self.call("trunc", self.call("div", *x)), x[0].dtype) if whole else self.call("div", *x)
                )
            case "Mod" if not a.get("fmod", 0):
                return self.call("mod", *x)
            case "Pow":
                return self.call("power", x[0], ops.astype(x[1], x[0].dtype))
            case "Max" | "Min":
                return self.folded("maximum" if op == "Max" else "minimum", x)
            case "Sum":
                return self.folded("add", x)
            case "Mean":
                return self.call("div", self.folded("add", x), np.float32(len(x)))
            case "BitShift":
                return self.call("left_shift" if a["direction"] in (b"LEFT", "LEFT") else "right_shift", *x)
            case "IsInf" if a.get("detect_positive", 1) and a.get("detect_negative", 1):
                return self.call("isinf", x[0])
            case "Clip":
                return self.call("clip", x[0], *[*x[1:], None, None][:2])
            case "Relu":
                return self.call("maximum", x[0], np.zeros((), x[0].dtype))
            case "LeakyRelu":
                low = self.call("mul", x[0], np.asarray(a.get("alpha", 0.01), x[0].dtype))
                return self.call("where", self.call("lt", x[0], np.zeros((), x[0].dtype)), low, x[0])
            case "Softmax":
                return self.call("softmax", x[0], int(a.get("axis", -1)))
            case "LogSoftmax":
                axis = int(a.get("axis", -1))
                return self.call("sub", x[0], self.call("logsumexp", x[0], axis, keepdims=True))
            case "Softplus":
                return self.call("log1p", self.call("exp", x[0]))
            case "Softsign":
                return self.call("div", x[0], self.call("add", self.call("absolute", x[0]), np.ones((), x[0].dtype)))
            case "MatMul":
                return self.call("matmul", *x)
            case "Gemm":
                A, B = (
                    ops.permute(v, (1, 0)) if a.get(t, 0) else v for v, t in zip(x, ("transA", "transB"), strict=False)
                )
                made = self.call("mul", self.call("matmul", A, B), np.float32(a.get("alpha", 1.0)))
                return (
                    made
                    if len(x) < 3
                    else self.call("add", made, self.call("mul", x[2], np.float32(a.get("beta", 1.0))))
                )
            case "Einsum":
                text = a["equation"]
                return self.call("einsum", text.decode() if isinstance(text, bytes) else text, *x)
            case "Transpose":
                return ops.permute(x[0], tuple(a.get("perm", reversed(range(np.ndim(x[0]))))))
            case "Reshape" if not a.get("allowzero", 0):
                shape = [int(n) if n else np.shape(x[0])[i] for i, n in enumerate(np.asarray(x[1]).tolist())]
                return ops.reshape(x[0], shape)
            case "Flatten":
                axis = int(a.get("axis", 1)) % (np.ndim(x[0]) + 1) if np.ndim(x[0]) else 0
                axis = np.ndim(x[0]) + int(a["axis"]) if a.get("axis", 1) < 0 else axis
                return ops.reshape(x[0], (prod(np.shape(x[0])[:axis]), prod(np.shape(x[0])[axis:])))
            case "Unsqueeze" | "Squeeze":
                return self.squeezed(op, x, a)
            case "Expand":
                return ops.expand(x[0], np.broadcast_shapes(np.shape(x[0]), tuple(np.asarray(x[1]).tolist())))
            case "Shape" if "start" not in a and "end" not in a:
                return np.array(np.shape(x[0]), np.int64)
            case "Size":
                return np.array(prod(np.shape(x[0])), np.int64)
            case "CumSum" if not a.get("exclusive", 0) and not a.get("reverse", 0):
                return self.call("cumsum", x[0], int(x[1]))
            case "CumProd" if not a.get("exclusive", 0) and not a.get("reverse", 0):
                return self.call("cumprod", x[0], int(x[1]))
            case "Pad" if a.get("mode", "constant") in ("constant", b"constant") and len(x) < 4:
                half = len(x[1]) // 2
                widths = [(int(x[1][i]), int(x[1][i + half])) for i in range(half)]
                return ops.pad(x[0], widths, float(x[2]) if len(x) > 2 and x[2] is not None else 0)
            case "Cast" | "CastLike":
                return self.cast(x, a)
            case "Range":
                return ops.arange(x[0].item(), x[1].item(), x[2].item(), dtype=x[0].dtype)
            case "ConstantOfShape":
                value = np.asarray(a.get("value", np.zeros(1, np.float32))).reshape(-1)[0]
                return ops.full(tuple(int(n) for n in x[0]), value.item(), value.dtype)
        raise NotSaid(op)

    def folded(self, name: str, x: list[Any]) -> Any:
        total = x[0]
        for other in x[1:]:
            total = self.call(name, total, other)
        return total

    def squeezed(self, op: str, x: list[Any], a: Mapping[str, Any]) -> Any:
        axes = a.get("axes", np.asarray(x[1]).tolist() if len(x) > 1 else None)
        shape = list(np.shape(x[0]))
        if op == "Squeeze":
            gone = {n % len(shape) for n in axes} if axes is not None else {i for i, n in enumerate(shape) if n == 1}
            return ops.reshape(x[0], [n for i, n in enumerate(shape) if i not in gone])
        rank = len(shape) + len(axes)
        added = {n % rank for n in axes}
        left = iter(shape)
        return ops.reshape(x[0], [1 if i in added else next(left) for i in range(rank)])

    def cast(self, x: list[Any], a: Mapping[str, Any]) -> Any:
        import onnx

        if len(x) > 1:
            dtype = np.asarray(x[1]).dtype
        else:
            dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(a["to"]))
        held(dtype)
        return ops.astype(x[0], dtype)


def held(dtype: np.dtype[Any]) -> None:
    """Refuse a type that is no number of NumPy."""
    if dtype.kind not in "biuf" or dtype.type.__module__ != "numpy":
        raise NotSaid(str(dtype))


def onnx_nodes(engine: str) -> Row:
    """ONNX's own node tests: the models with their inputs and outputs."""
    name = f"ONNX node tests, engine {engine!r}"
    if (row := missing(name, "onnx", "onnx")) is not None:
        return row
    import onnx
    from onnx.backend.test.case.node import collect_testcases

    row, runner = Row(name), OnnxRunner(engine)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in collect_testcases(None):
            row.add(*onnx_case(onnx, runner, case))
    return row


def onnx_case(onnx: Any, runner: OnnxRunner, case: Any) -> tuple[str, str]:
    """The outcome of one test, and its name with what is wrong."""
    graph = case.model.graph
    try:
        for inputs, outputs in case.data_sets:
            names: dict[str, Any] = {"": None}
            for one, value in zip(graph.input, inputs, strict=False):
                if not isinstance(value, np.ndarray | np.generic):
                    raise NotSaid("a sequence")
                held(np.asarray(value).dtype)
                names[one.name] = np.asarray(value)
            for one in graph.initializer:
                names[one.name] = onnx.numpy_helper.to_array(one)
            for node in graph.node:
                if node.domain or len(node.output) > 1 or any(a.type == a.GRAPH for a in node.attribute):
                    raise NotSaid(node.op_type)
                attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
                attributes = {
                    k: onnx.numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else v
                    for k, v in attributes.items()
                }
                names[node.output[0]] = plain(runner.node(node.op_type, [names[n] for n in node.input], attributes))
            for one, wanted in zip(graph.output, outputs, strict=True):
                found = plain(names[one.name])
                wanted = np.asarray(wanted)
                if found.dtype != wanted.dtype and wanted.dtype == np.int64 and found.dtype.kind in "iu":
                    found = found.astype(np.int64)  # indices and sizes are i32 and i64 there
                assert found.shape == wanted.shape, f"shape {found.shape}, not {wanted.shape}"
                assert found.dtype == wanted.dtype, f"{found.dtype}, not {wanted.dtype}"
                near = 2e-3 if wanted.dtype == np.float16 else 1e-5
                np.testing.assert_allclose(found, wanted, rtol=max(case.rtol, near), atol=max(case.atol, near))
    except NotSaid:
        return "not said", case.name
    except CutepyError as error:
        return "refused", f"{case.name}: {str(error).splitlines()[0]}"
    except AssertionError as error:
        return "wrong", f"{case.name}: {' '.join(str(error).split())[:120]}"
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        return "wrong", f"{case.name}: {type(error).__name__}: {str(error)[:100]}"
    return "right", case.name
