"""A reader of WGSL index expressions that shares nothing with the printer: the grammar of the WGSL specification,
section 8.18, over u32, i32 and bool, refusing what the grammar refuses (mixed bit operators, chained comparisons, two
types). Values are arrays, so one read serves all invocations: of int32 for i32, of int64 for u32 and bool."""

import re
from collections.abc import Mapping

import numpy as np

Value = np.ndarray

TOKEN = re.compile(r"\s*(?:(\d+)[ui]?|(true|false)|([A-Za-z_]\w*)|(<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^()<>!~,]))")
MASK = 0xFFFFFFFF


def wrapped(value: Value, *like: Value) -> Value:
    """An exact integer in the type of the operands, which must have one."""
    kinds = {operand.dtype == np.int32 for operand in like}
    assert len(kinds) == 1, "operands of two types"
    return np.asarray(value).astype(np.int64).astype(np.int32) if kinds.pop() else np.asarray(value) & MASK


def tokens(text: str) -> list[str]:
    found, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        assert match, f"cannot read {text[at:]!r}"
        found.append(match[0].strip())
        at = match.end()
    return found


class Reader:
    def __init__(self, text: str, env: Mapping[str, Value]) -> None:
        self.rest, self.env, self.text = tokens(text), env, text

    def peek(self) -> str:
        return self.rest[0] if self.rest else ""

    def take(self, wanted: str = "") -> str:
        token = self.rest.pop(0)
        assert not wanted or token == wanted, f"{token!r} where {wanted!r} must be in {self.text!r}"
        return token

    def expression(self) -> Value:
        """unary (& unary)* | unary (| unary)* | unary (^ unary)* | relational (&& relational)* | ..."""
        value, simple = self.relational()
        for op in ("&&", "||", "&", "|", "^"):
            if self.peek() == op:
                assert simple or len(op) == 2, f"{op} wants unary operands in {self.text!r}"
                while self.peek() == op:
                    self.take()
                    other, other_simple = self.relational()
                    assert other_simple or len(op) == 2, f"{op} wants unary operands in {self.text!r}"
                    value = {"&": value & other, "|": value | other, "^": value ^ other}.get(op[0], 0)
                break
        return value

    def relational(self) -> tuple[Value, bool]:
        value, simple = self.shift()
        if self.peek() in ("<", "<=", ">", ">=", "==", "!="):
            op = self.take()
            other, _ = self.shift()
            outcomes = (value < other, value == other, value > other)
            names = {"<": (0,), "<=": (0, 1), ">": (2,), ">=": (1, 2), "==": (1,), "!=": (0, 2)}
            return sum(outcomes[i].astype(np.int64) for i in names[op]), False
        return value, simple

    def shift(self) -> tuple[Value, bool]:
        value, simple = self.additive()
        if self.peek() in ("<<", ">>"):
            op = self.take()
            assert simple, f"{op} wants unary operands in {self.text!r}"
            other = self.unary()
            assert other.dtype != np.int32, f"a shift is by a u32 in {self.text!r}"
            wide = value.astype(np.int64)
            return wrapped(wide << (other & 31) if op == "<<" else wide >> (other & 31), value), False
        return value, simple

    def additive(self) -> tuple[Value, bool]:
        value, simple = self.multiplicative()
        while self.peek() in ("+", "-"):
            op = self.take()
            other, _ = self.multiplicative()
            one, two = value.astype(np.int64), other.astype(np.int64)
            value, simple = wrapped(one + two if op == "+" else one - two, value, other), False
        return value, simple

    def multiplicative(self) -> tuple[Value, bool]:
        value, simple = self.unary(), True
        while self.peek() in ("*", "/", "%"):
            op = self.take()
            other, simple = self.unary(), False
            if op == "*":
                product = value.astype(np.int64).astype(np.uint64) * other.astype(np.int64).astype(np.uint64)
                value = wrapped((product & np.uint64(MASK)).astype(np.int64), value, other)
            else:
                one, two = value.astype(np.int64), np.where(other == 0, 1, other).astype(np.int64)
                whole = np.sign(one) * np.sign(two) * (abs(one) // abs(two))
                value = wrapped(whole if op == "/" else one - whole * two, value, other)
        return value, simple

    def unary(self) -> Value:
        token = self.take()
        if token in ("!", "~"):
            inner = self.unary()
            return 1 - inner if token == "!" else wrapped(~inner, inner)
        if token == "-":
            number = self.peek()
            if number.isdigit():
                return -np.array(int(self.take()))
            inner = np.array(int(self.take()[:-1]), np.int32) if number.endswith("i") else self.unary()
            assert inner.dtype == np.int32, f"- of a u32 in {self.text!r}"
            return wrapped(-inner.astype(np.int64), inner)
        if token == "(":
            value = self.expression()
            self.take(")")
            return value
        if token in ("true", "false"):
            return np.array(int(token == "true"))
        if token in ("min", "max", "clamp", "abs", "select", "u32", "i32"):
            return self.call(token)
        if token[0].isdigit():
            return np.array(int(token[:-1]), np.int32 if token[-1] == "i" else np.int64)
        return self.env[token]

    def call(self, name: str) -> Value:
        self.take("(")
        args = [self.expression()]
        while self.peek() == ",":
            self.take()
            args.append(self.expression())
        self.take(")")
        if name in ("u32", "i32"):
            value = args[0].astype(np.int64)
            return value.astype(np.int32) if name == "i32" else value & MASK
        if name == "clamp":
            return np.minimum(np.maximum(args[0], args[1]), args[2])
        if name == "abs":
            return wrapped(abs(args[0].astype(np.int64)), args[0])
        if name == "select":
            return np.where(args[2], args[1], args[0])
        return np.minimum(*args) if name == "min" else np.maximum(*args)


def read(text: str, env: Mapping[str, object]) -> Value:
    """The value of a WGSL expression, with names as in `env`."""
    reader = Reader(text, {name: np.asarray(value) for name, value in env.items()})
    value = reader.expression()
    assert not reader.rest, f"{reader.rest} is left of {text!r}"
    return value
