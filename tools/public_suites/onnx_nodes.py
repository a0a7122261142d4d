"""ONNX's node tests: each model is run node by node on `cutepy.ops`, and held to its outputs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from cutepy import gpu, ops
from cutepy.errors import CutepyError
from cutepy.tensor import Tensor, as_dtype

from .rows import Row, missing, plain

_POINTWISE = {
    "Abs": "absolute", "Acos": "arccos", "Acosh": "arccosh", "Add": "add", "And": "logical_and", "Asin": "arcsin",
    "Asinh": "arcsinh", "Atan": "arctan", "Atanh": "arctanh", "BitwiseAnd": "bitwise_and", "BitwiseNot": "bitwise_not",
    "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh",
    "Equal": "eq", "Erf": "erf", "Exp": "exp", "Floor": "floor", "Greater": "gt", "GreaterOrEqual": "ge",
    "IsNaN": "isnan", "Less": "lt", "LessOrEqual": "le", "Log": "log", "Mul": "mul", "Neg": "neg", "Not": "logical_not",
    "Or": "logical_or", "Reciprocal": "reciprocal", "Round": "round", "Sigmoid": "sigmoid", "Sign": "sign",
    "Sin": "sin", "Sinh": "sinh", "Sqrt": "sqrt", "Sub": "sub", "Tan": "tan", "Tanh": "tanh", "Where": "where",
    "Xor": "logical_xor",
}  # fmt: skip
_REDUCTIONS = {"ReduceSum": "sum", "ReduceMean": "mean", "ReduceMax": "max", "ReduceMin": "min", "ReduceProd": "prod",
               "ReduceLogSumExp": "logsumexp"}  # fmt: skip


_FORMULAS = {
    "Elu": (1.0, 0.0), "Selu": (1.67326319217681884765625, 0.0), "Celu": (1.0, 0.0), "HardSigmoid": (0.2, 0.5),
    "HardSwish": (0.0, 0.0), "Mish": (0.0, 0.0), "Swish": (1.0, 0.0), "ThresholdedRelu": (1.0, 0.0),
    "PRelu": (0.0, 0.0), "Shrink": (0.0, 0.0), "Gelu": (0.0, 0.0),
}  # fmt: skip
"""Activations, with ONNX's default alpha and beta."""


class NotSaid(Exception):
    """A node that cutepy has no words for, or a type that it does not hold."""


class OnnxRunner:
    """A graph of ONNX, node by node, on an engine of cutepy, or on a device: there its inputs of types of WGSL are."""

    def __init__(self, engine: str) -> None:
        self.device = gpu.default_device() if engine == "device" else None
        self.engine = engine if self.device is None else None

    def operands(self, values: list[Any]) -> list[Any]:
        """The inputs of a node, where the graph runs: shapes, which are i64 and have no numbers of WGSL beside them,
        are of the host."""
        kinds = {value.dtype.char for value in values if isinstance(value, np.ndarray)}
        if self.device is None or not kinds & set("efiI" if kinds - set("efiI?") else "efiI?"):
            return values
        there = [isinstance(value, np.ndarray) and value.dtype.char in "efiI?" for value in values]
        return [gpu.array(v, device=self.device) if on else v for v, on in zip(values, there, strict=True)]

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
                return self.call("maximum", x[0], 0)
            case "LeakyRelu":
                low = self.call("mul", x[0], float(a.get("alpha", 0.01)))
                return self.call("where", self.call("lt", x[0], 0), low, x[0])
            case "Softmax":
                return self.call("softmax", x[0], int(a.get("axis", -1)))
            case "LogSoftmax":
                axis = int(a.get("axis", -1))
                return self.call("sub", x[0], self.call("logsumexp", x[0], axis, keepdims=True))
            case "Softplus":
                return self.call("softplus", x[0])
            case "Softsign":
                return self.call("div", x[0], self.call("add", self.call("absolute", x[0]), 1))
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
                return ops.arange(*[plain(v).item() for v in x], dtype=x[0].dtype, device=self.device)
            case "ConstantOfShape":
                value = np.asarray(a.get("value", np.zeros(1, np.float32))).reshape(-1)[0]
                return ops.full(tuple(int(n) for n in x[0]), value.item(), value.dtype)
            case "Concat":
                return ops.concat(x, int(a["axis"]))
            case "Gather":
                return self.call("take", x[0], x[1], int(a.get("axis", 0)))
            case "GatherElements":
                return self.call("take_along_axis", x[0], x[1], axis=int(a.get("axis", 0)))
            case "Slice" if len(x) > 2:
                return self.sliced(*x)
            case "Split":
                return self.split(x, a)
            case "Tile":
                return ops.tile(x[0], [int(n) for n in x[1]])
            case "Trilu":
                k = int(x[1]) if len(x) > 1 and x[1] is not None else 0
                return (ops.triu if a.get("upper", 1) else ops.tril)(x[0], k=k)
            case "Shape":
                sizes = np.shape(x[0])
                return np.array(sizes[int(a.get("start", 0)) : int(a.get("end", len(sizes)))], np.int64)
            case "CumSum" | "CumProd":
                return self.cumulative(op, x, a)
            case "Pad":
                return self.padded(x, a)
            case "Mod":
                # The remainder of a quotient without its fraction: that of a floor, less y where the signs differ.
                left = self.call("mod", *x)
                other = self.call("logical_xor", self.call("lt", left, 0), self.call("lt", x[0], 0))
                turned = self.call("logical_and", other, self.call("ne", left, 0))
                return self.call("where", turned, self.call("sub", left, x[1]), left)
            case "IsInf":
                sign = "gt" if a.get("detect_positive", 1) else "lt"
                if not a.get("detect_positive", 1) and not a.get("detect_negative", 1):
                    return ops.zeros_like(x[0], dtype="bool")
                return self.call("logical_and", self.call("isinf", x[0]), self.call(sign, x[0], 0))
            case "ArgMax" | "ArgMin":
                axis = int(a.get("axis", 0))
                last = self.call(op.lower(), ops.flip(x[0], axis), axis, keepdims=bool(a.get("keepdims", 1)))
                return self.call("sub", np.int32(x[0].shape[axis] - 1), last)
            case "Hardmax":
                axis = int(a.get("axis", -1)) % x[0].ndim
                best = self.call("argmax", x[0], axis, keepdims=True)
                numbers = np.arange(x[0].shape[axis], dtype=np.int32).reshape([-1] + [1] * (x[0].ndim - 1 - axis))
                return ops.astype(self.call("eq", numbers, best), x[0].dtype)
            case "OneHot":
                axis, depth = int(a.get("axis", -1)), int(np.asarray(x[1]).item())
                low = self.call("lt", x[0], 0)
                numbers = ops.expand_dims(self.call("where", low, self.call("add", x[0], depth), x[0]), axis)
                rank = np.ndim(x[0]) + 1
                steps = (
                    np.arange(depth).astype(as_dtype(x[0].dtype).numpy).reshape([-1] + [1] * (rank - 1 - axis % rank))
                )
                return self.call("where", self.call("eq", steps, numbers), x[2][1], x[2][0])
            case "TopK":
                return self.largest(x, a)
            case "EyeLike":
                import onnx

                dtype = onnx.helper.tensor_dtype_to_np_dtype(a["dtype"]) if "dtype" in a else x[0].dtype
                return ops.eye(*x[0].shape, k=int(a.get("k", 0)), dtype=dtype, device=self.device)
            case "Dropout" if len(x) < 3 or not x[2]:
                return (x[0], np.ones(x[0].shape, bool))
            case "DepthToSpace" | "SpaceToDepth":
                return self.blocks(op, x[0], a)
            case "LayerNormalization" | "RMSNormalization":
                return self.normalized(op, x, a)
            case "InstanceNormalization":
                return self.scaled(x[0], tuple(range(2, x[0].ndim)), a, x[1], x[2])
            case "MeanVarianceNormalization":
                axes = tuple(map(int, a.get("axes", (0, 2, 3))))
                middle = self.call("sub", x[0], self.call("mean", x[0], axes, keepdims=True))
                return self.call("div", middle, self.call("add", self.call("std", x[0], axes, keepdims=True), 1e-9))
            case "LpNormalization":
                axis, order = int(a.get("axis", -1)), int(a.get("p", 2))
                length = self.call("norm", x[0], axis, order=order, keepdims=True)
                return self.call("div", x[0], self.call("where", self.call("eq", length, 0), 1, length))
            case "BatchNormalization" if not a.get("training_mode", 0):
                scale, bias, mean, var = (v.reshape([-1] + [1] * (x[0].ndim - 2)) for v in x[1:5])
                root = self.call("sqrt", self.call("add", var, float(a.get("epsilon", 1e-5))))
                middle = self.call("div", self.call("sub", x[0], mean), root)
                return self.call("add", self.call("mul", middle, scale), bias)
            case "GlobalAveragePool":
                return self.call("mean", x[0], tuple(range(2, x[0].ndim)), keepdims=True)
            case "GlobalMaxPool":
                return self.call("max", x[0], tuple(range(2, x[0].ndim)), keepdims=True)
        if op in _FORMULAS:
            return self.formula(op, x, a)
        raise NotSaid(op)

    def formula(self, op: str, x: list[Any], a: Mapping[str, Any]) -> Any:
        """An activation, by a formula of functions of elements and numbers."""
        c = self.call
        alpha, beta = (
            float(a.get(name, default)) for name, default in zip(("alpha", "beta"), _FORMULAS[op], strict=True)
        )
        v = x[0]
        match op:
            case "Elu":
                return c("where", c("lt", v, 0), c("mul", c("expm1", v), alpha), v)
            case "Selu":
                gamma = float(a.get("gamma", 1.0507009873554804934193349852946))
                return c("mul", c("where", c("gt", v, 0), v, c("mul", c("expm1", v), alpha)), gamma)
            case "Celu":
                low = c("mul", c("expm1", c("div", v, alpha)), alpha)
                return c("add", c("maximum", v, 0), c("minimum", low, 0))
            case "HardSigmoid":
                return c("clip", c("add", c("mul", v, alpha), beta), 0, 1)
            case "HardSwish":
                return c("mul", v, c("clip", c("add", c("mul", v, 1 / 6), 0.5), 0, 1))
            case "Mish":
                return c("mul", v, c("tanh", c("softplus", v)))
            case "Swish":
                return c("mul", v, c("sigmoid", c("mul", v, alpha)))
            case "ThresholdedRelu":
                return c("where", c("gt", v, alpha), v, 0)
            case "PRelu":
                return c("where", c("lt", v, 0), c("mul", v, x[1]), v)
            case "Shrink":
                bias, lambd = float(a.get("bias", 0.0)), float(a.get("lambd", 0.5))
                low, high = c("lt", v, -lambd), c("gt", v, lambd)
                return c("where", low, c("add", v, bias), c("where", high, c("sub", v, bias), 0))
            case "Gelu":
                inner = c("mul", v, 0.5**0.5)
                if a.get("approximate", b"none") in (b"tanh", "tanh"):
                    cube = c("mul", c("power", v, 3), 0.044715)
                    inner = c("mul", c("add", v, cube), (2 / np.pi) ** 0.5)
                    return c("mul", c("mul", v, 0.5), c("add", c("tanh", inner), 1))
                return c("mul", c("mul", v, 0.5), c("add", c("erf", inner), 1))
        raise NotSaid(op)

    def sliced(self, x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
        """Slice: NumPy's slices of the axes that are named."""
        key: list[slice] = [slice(None)] * np.ndim(x)
        count = len(starts)
        named = range(count) if axes is None else np.asarray(axes).tolist()
        by = [1] * count if steps is None else np.asarray(steps).tolist()
        for axis, begin, end, step in zip(named, starts.tolist(), ends.tolist(), by, strict=True):
            size = np.shape(x)[axis]
            below = end < -size and step < 0
            key[axis] = slice(begin, None if below else end, step)
        return ops.asarray(x)[tuple(key) or Ellipsis]

    def split(self, x: list[Any], a: Mapping[str, Any]) -> Any:
        """Split: parts of the given sizes, or as many of one size."""
        axis = int(a.get("axis", 0)) % np.ndim(x[0])
        size = np.shape(x[0])[axis]
        if len(x) > 1 and x[1] is not None:
            sizes = np.asarray(x[1]).tolist()
        else:
            each = -(-size // int(a["num_outputs"]))
            sizes = [min(each, size - at) for at in range(0, size, each)]
        ends = np.cumsum([0, *sizes]).tolist()
        before = (slice(None),) * axis
        whole = ops.asarray(x[0])
        return tuple(whole[(*before, slice(b, e), Ellipsis)] for b, e in pairwise(ends))

    def cumulative(self, op: str, x: list[Any], a: Mapping[str, Any]) -> Any:
        """Sums so far, from the end if `reverse`, without the element itself if `exclusive`."""
        axis, name = int(np.asarray(x[1]).item()), "cumulative_sum" if op == "CumSum" else "cumulative_prod"
        turned = ops.flip(x[0], axis) if a.get("reverse", 0) else ops.asarray(x[0])
        found = self.call(name, turned, axis=axis, include_initial=bool(a.get("exclusive", 0)))
        if a.get("exclusive", 0):
            found = found[(slice(None),) * (axis % np.ndim(x[0])) + (slice(0, -1), Ellipsis)]
        return ops.flip(found, axis) if a.get("reverse", 0) else found

    def padded(self, x: list[Any], a: Mapping[str, Any]) -> Any:
        """Pad of some axes, by a value or by the elements."""
        mode = a.get("mode", b"constant")
        mode = mode.decode() if isinstance(mode, bytes) else mode
        rank, half = np.ndim(x[0]), len(x[1]) // 2
        axes = [int(n) % rank for n in x[3]] if len(x) > 3 and x[3] is not None else list(range(rank))
        widths = [(0, 0)] * rank
        for at, axis in enumerate(axes):
            widths[axis] = int(x[1][at]), int(x[1][at + half])
        if any(w < 0 for pair in widths for w in pair):
            raise NotSaid("Pad below 0")
        value = np.asarray(x[2]).item() if len(x) > 2 and x[2] is not None else 0
        return ops.pad(x[0], widths, value if mode == "constant" else mode)

    def largest(self, x: list[Any], a: Mapping[str, Any]) -> Any:
        """TopK: the greatest or the least elements, and their indices."""
        axis, k = int(a.get("axis", -1)), int(np.asarray(x[1]).item())
        if a.get("largest", 1):
            values, places = self.call("top_k", x[0], k, axis=axis)
        else:
            order = self.call("argsort", x[0], axis=axis)
            places = ops.indexed(order, (*(slice(None),) * (axis % x[0].ndim), slice(0, k)))
            values = self.call("take_along_axis", x[0], places, axis=axis)
        return values, plain(places).astype(np.int64)

    def blocks(self, op: str, x: Any, a: Mapping[str, Any]) -> Any:
        """Channels to blocks of pixels and back: a reshape, a permutation and a reshape."""
        b, (n, c, h, w) = int(a["blocksize"]), x.shape
        if op == "SpaceToDepth":
            order = (0, 1, 3, 5, 2, 4) if a.get("mode", b"DCR") in (b"CRD", "CRD") else (0, 3, 5, 1, 2, 4)
            parts = ops.permute(ops.reshape(x, (n, c, h // b, b, w // b, b)), order)
            return ops.reshape(parts, (n, c * b * b, h // b, w // b))
        if a.get("mode", b"DCR") in (b"CRD", "CRD"):
            parts = ops.permute(ops.reshape(x, (n, c // b**2, b, b, h, w)), (0, 1, 4, 2, 5, 3))
        else:
            parts = ops.permute(ops.reshape(x, (n, b, b, c // b**2, h, w)), (0, 3, 4, 1, 5, 2))
        return ops.reshape(parts, (n, c // b**2, h * b, w * b))

    def normalized(self, op: str, x: list[Any], a: Mapping[str, Any]) -> Any:
        """LayerNormalization with its mean and deviation, and RMSNormalization."""
        axes = tuple(range(int(a.get("axis", -1)) % x[0].ndim, x[0].ndim))
        c, v, near = self.call, x[0], float(a.get("epsilon", 1e-5))
        mean = c("mean", v, axes, keepdims=True) if op[0] == "L" else None
        middle = v if mean is None else c("sub", v, mean)
        root = c("sqrt", c("add", c("mean", c("square", middle), axes, keepdims=True), near))
        found = c("mul", c("div", middle, root), x[1])
        found = c("add", found, x[2]) if len(x) > 2 and x[2] is not None else found
        return found if mean is None else (found, mean, c("reciprocal", root))

    def scaled(self, v: Any, axes: tuple[int, ...], a: Mapping[str, Any], scale: Any, bias: Any) -> Any:
        """Normal numbers along axes, scaled and moved by channel."""
        c, ones = self.call, [1] * (v.ndim - 2)
        middle = c("sub", v, c("mean", v, axes, keepdims=True))
        root = c("sqrt", c("add", c("var", v, axes, keepdims=True), float(a.get("epsilon", 1e-5))))
        return c("add", c("mul", c("div", middle, root), scale.reshape([-1, *ones])), bias.reshape([-1, *ones]))

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
                if node.domain or any(a.type == a.GRAPH for a in node.attribute):
                    raise NotSaid(node.op_type)
                attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
                attributes = {
                    k: onnx.numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else v
                    for k, v in attributes.items()
                }
                if node.op_type == "Split":
                    attributes.setdefault("num_outputs", len(node.output))
                given = runner.operands([names[n] for n in node.input])
                made = runner.node(node.op_type, given, attributes)
                results = made if isinstance(made, tuple) else (made,)
                if given and isinstance(given[0], Tensor):
                    elsewhere = [t for t in results if isinstance(t, Tensor) and t.device == "cpu"]
                    assert not elsewhere, f"{node.op_type} was not computed on the device"
                if len(node.output) > len(results):
                    raise NotSaid(node.op_type)
                names |= {name: plain(one) for name, one in zip(node.output, results, strict=False) if name}
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
