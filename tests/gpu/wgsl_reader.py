"""A reader of WGSL index expressions that shares nothing with the printer: the grammar of the WGSL specification,
section 8.18, over u32 and bool, refusing what the grammar refuses (mixed bit operators, chained comparisons).
Values are int64 arrays: one read serves all invocations."""

import re
from collections.abc import Mapping

import numpy as np

Value = np.ndarray

TOKEN = re.compile(r"\s*(?:(\d+)u|(true|false)|([A-Za-z_]\w*)|(<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^()<>!~,]))")
MASK = 0xFFFFFFFF


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
            return ((value << other) & MASK if op == "<<" else value >> other), False
        return value, simple

    def additive(self) -> tuple[Value, bool]:
        value, simple = self.multiplicative()
        while self.peek() in ("+", "-"):
            op = self.take()
            other, _ = self.multiplicative()
            value, simple = (value + other if op == "+" else value - other) & MASK, False
        return value, simple

    def multiplicative(self) -> tuple[Value, bool]:
        value, simple = self.unary(), True
        while self.peek() in ("*", "/", "%"):
            op = self.take()
            other, simple = self.unary(), False
            if op == "*":
                value = (value.astype(np.uint64) * other.astype(np.uint64) & np.uint64(MASK)).astype(np.int64)
            else:
                safe = np.where(other == 0, 1, other)
                value = np.where(other == 0, value, value // safe) if op == "/" else value % safe
        return value, simple

    def unary(self) -> Value:
        token = self.take()
        if token in ("!", "~"):
            inner = self.unary()
            return 1 - inner if token == "!" else ~inner & MASK
        if token == "(":
            value = self.expression()
            self.take(")")
            return value
        if token in ("true", "false"):
            return np.array(int(token == "true"))
        if token in ("min", "max", "select"):
            return self.call(token)
        return np.array(int(token[:-1])) if token[0].isdigit() else self.env[token]

    def call(self, name: str) -> Value:
        self.take("(")
        args = [self.expression()]
        while self.peek() == ",":
            self.take()
            args.append(self.expression())
        self.take(")")
        if name == "select":
            return np.where(args[2], args[1], args[0])
        return np.minimum(*args) if name == "min" else np.maximum(*args)


def read(text: str, env: Mapping[str, object]) -> Value:
    """The value of a WGSL expression, with names as in `env`."""
    reader = Reader(text, {name: np.asarray(value, np.int64) for name, value in env.items()})
    value = reader.expression()
    assert not reader.rest, f"{reader.rest} is left of {text!r}"
    return value
