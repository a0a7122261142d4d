"""What Python means in a kernel: each snippet runs a thread at a time in plain Python and as a kernel, over i32 and f32
values; it gives the same, or is refused at its line. `EXCEPTIONS` says what is documented to be otherwise."""

import itertools
import linecache
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cutepy import gpu
from cutepy.errors import KernelError

THREADS = 16
INTEGERS = [-4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 0, 1, -1, 7, 2, -5]
FLOATS = [-4.0, -3.5, -2.0, -1.5, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 3.5, 4.0, -0.25]

#: Bodies of a function of an integer t and a float v; $ ends a line where there are blocks.
SNIPPETS = """
return t in {0, 2}
return t not in {0}
return t in (0, 2)
return t in [0, 2]
return t in range(3)
return t in {0: 5}
return t in {0: 5}.keys()
return t in frozenset((0, 2))
return (t, 1) in {(0, 1)}
return {0: 5, 1: 6}.get(t, 9)
return {0: 5}[t] if t in {0: 5} else 9
return len({t, 1})
return len({t: 1, 1: 2})
return len({i: 1 for i in (t, 1)})
return len({i for i in (t, 1)})
return len(set([t, 1]))
return len(set((t, t)))
return len(frozenset([t, 1]))
return len(dict([(t, 1), (1, 2)]))
return len(dict.fromkeys([t, 1]))
return frozenset([t]) == frozenset([1])
return {1: t} == {1: 1}
return set([t, t]).pop()
d = {}; d[t] = 5; return d.get(1, 7)
d = {}; d[0] = t; return d[0]
d = {1: 2}; return d.setdefault(t, 5)
d = {1: 2}; d.pop(t, None); return len(d)
d = {1: 2}; d.update({t: 3}); return len(d)
s = set(); s.add(t); return len(s)
s = {1}; s.discard(t); return len(s)
s = {1}; s |= {t}; return len(s)
import collections; return collections.Counter([t, 1])[1]
import collections; d = collections.defaultdict(int); d[t] += 1; return d[1]
import functools; return functools.lru_cache(lambda a: a + 1)(t)
import collections; return collections.namedtuple("P", "a")(t).a
import collections; return len(collections.OrderedDict([(t, 1), (1, 2)]))
return isinstance(t, int)
return isinstance(t, (int, float))
return isinstance(v, float)
return isinstance(t > 0, bool)
return type(t) is int
return type(t) == int
return t.__class__ is int
return hash(t)
return id(t) == id(t)
return (5, 6)[t & 1]
return [5, 6][t & 1]
return "ab".index("b") + t
return "abc"[t & 1] == "a"
return b"ab"[t & 1]
return (1.0, 2.0)[t > 0]
return range(3)[t & 1]
return t == None
return t != None
return t is None
return t is not None
return (t > 0) is True
return (t > 0) is not False
return t is True
return t is t
return v is v
return divmod(t, 3)[0]
return divmod(t, 3)[1]
return divmod(7, t)[0]
return divmod(v, 2.0)[1]
return round(v)
return round(v, 1)
return int(v)
return int(t)
return float(t)
return bool(t)
return complex(t, 1).real
return not t
return not not t
return (not t) + 1
return 1 if t else 2
return 1 if v else 2
return 1 if t in (1,) else 0
return 1 if t > 0 else 0 if v > 0 else 2
return 1 < t < 3
return 1 < t != 3
return -1 < v < t < 3
return min(t, 2)
return max(t, 2, 3)
return max([t, 2])
return max(t, key=lambda a: a)
return sum([t, 1, 2])
return sum(x for x in (t, 1))
return sum([t > 0, v > 0])
return sorted([t, 1])[0]
return all([t > 0, t < 3])
return any((t > 0, t < -1))
return (t, 1) == (t, 1)
return (t, 1) == (1, t)
return [t] == [1]
return (t, 1) < (2, 2)
return [t, 2].index(2)
return [1, 2].count(t)
return t.real
return t.bit_length()
return t.conjugate()
return v.is_integer()
return t.__add__(1)
return (lambda a: a + 1)(t)
return list(map(lambda a: a + t, [1, 2]))[1]
return next(iter([t]))
return list(filter(None, [t, 1]))[0]
return [x for x in (t, 1) if x][0]
return sum(1 for x in (1, 2, 3) if x > t)
return list(reversed([t, 1]))[1]
return list(reversed(range(3)))[0] + t
return list(reversed(range(t)))
return list(enumerate([t]))[0][1]
return list(zip([t], [1]))[0][0]
return dict(a=t)["a"]
return range(t, t + 3)[1]
return list(range(t, t + 3))[1]
return list(range(3))[t & 1]
return len(range(t & 3))
return sum(range(t & 3))
return range(t)[::-1]
return 2 in range(t)
return slice(t, 3).start
return [1, 2, 3][t & 1:][0]
return (1, 2, 3)[-1] + t
x = [1] * (t & 3); return len(x)
x = [t] * 3; return len(x) + x[2]
return "a" * t == ""
import math; return math.sqrt(v * v)
import math; return math.floor(v)
import math; return math.isnan(v)
import math; return math.copysign(1.0, v)
import math; return math.pi * 0 + v
import math; return math.gcd(t, 4)
import operator; return operator.add(t, 1)
import operator; return operator.index(t)
import operator; return operator.lt(t, 1)
import operator; return operator.contains((1, 2), t)
import functools; return functools.reduce(lambda a, b: a + b, [t, 1, 2])
import functools; return functools.partial(lambda a, b: a - b, b=t)(1)
import itertools; return sum(itertools.accumulate([t, 1]))
import itertools; return [x for x in itertools.takewhile(lambda a: a < 2, [t, 1])][0]
import copy; return copy.copy(t)
import copy; return copy.deepcopy(t)
import copy; return copy.deepcopy([t])[0] + copy.deepcopy({"a": t})["a"]
l = [1, 2]; l.remove(t); return l[0]
l = [1, 2]; l.append(t); return l[-1]
l = [1, 2]; l.insert(t & 1, 5); return l[0]
l = [1, 2]; l[t & 1] = 5; return l[0]
l = [t, 1]; l.sort(); return l[0]
l = [1, 2]; del l[t & 1]; return l[0]
l = [1, 2]; l[0] = t; return l[0]
l = [t, v]; l.reverse(); return l[1]
a, b = t, v; return a
a, *b = [t, 1, 2]; return b[0] + a
a = b = t; a += 1; return b
a = t; a //= 2; return a
a = v; a %= 2; return a
a = t; a **= 2; return a
a = t; a <<= 1; return a
if (n := t + 1) > 2:$    return n$return 0
match t:$    case 0:$        return 5$    case _:$        return 6
match (t, 1):$    case (0, 1):$        return 5$    case _:$        return 6
match t:$    case int():$        return 5$    case _:$        return 6
match t:$    case a if a > 1:$        return 5$    case _:$        return 6
try:$    return 1 // t$except ZeroDivisionError:$    return 7
try:$    x = t + 1$finally:$    x = 5$return x
assert t < 100$return t
assert t > 100$return t
while t < 3:$    t = t + 1$return t
while t < 3:$    t += 1$else:$    t = 9$return t
while True:$    t += 1$    if t > 3:$        break$return t
for i in range(t):$    t = i$return t
for i in range(3):$    if i == t:$        break$else:$    return 9$return i
for i in range(3):$    if i == t:$        continue$    t = t + 1$return t
for i in (t, 1):$    t = t + i$return t
for i in range(5):$    if i > t:$        return i$return -1
for i in range(2, t):$    v = v + i$return v
for i in range(t, -3, -1):$    v = v + i$return v
for i in range(t):$    for j in range(i):$        v = v + j$return v
for i in range(0):$    t = 5$return t
for k, x in enumerate([t, v]):$    v = v + k * x$return v
for k in {t, 1}:$    v = v + k$return v
del t$return v
global z$z = t$return z
z = [t]$def g():$    return z[0]$z[0] = 3$return g()
def g(a=t):$    return a$return g()
def g(*a, **k):$    return a[0] + k["b"]$return g(t, b=1)
def g(n):$    if n > 2:$        return n$    return -n$return g(t) + g(v)
def g(n):$    return 1 if n == 0 else g(n - 1)$return g(abs(t))
class C:$    x = t$return C.x
class C:$    def __init__(s):$        s.x = t$c = C()$c.x += 1$return c.x
class C:$    def __eq__(s, o):$        return o > 1$return C() == t
class C:$    def __add__(s, o):$        return o + 1$return C() + t
class C:$    def __radd__(s, o):$        return 5$return t + C()
if t > 0:$    x = 1$else:$    x = 2$return x
if t > 0:$    x = 1$return 3
x = 0$if t > 0:$    x = 1$return x
x = 0$if t > 0:$    x = v$return x
x = []$if t > 0:$    x.append(1)$return len(x)
x = {}$if t > 0:$    x["a"] = 1$return len(x)
x = [0]$if t > 0:$    x[0] = 1$return x[0]
x = "a"$if t > 0:$    x = "b"$return x == "a"
x = None$if t > 0:$    x = 1$return 2 if x is None else 3
f2 = abs$if t > 0:$    f2 = float$return f2(v)
if t > 0:$    return 1$elif v > 0:$    return 2$else:$    return 3
if t > 0 and v > 0:$    return 1$return 0
if not (t > 0 or v > 0):$    return 1$return 0
if t:$    return 1$return 0
if v:$    pass$else:$    return 5$return 1
yield t
return (yield t)
return (x for x in [t])
return [[i, t][1] for i in range(2)][1]
return {i: t for i in range(2)}[1]
return lambda: t
import numpy as np; return np.array([1, 2])[t & 1]
import numpy as np; return np.minimum(t, 2)
import numpy as np; return np.where(t > 0, 1, 2)
import numpy as np; return np.float32(2) * v
import numpy as np; return np.array([t, 1])[0]
import numpy as np; return np.sum([t, 1])
import numpy as np; return (np.array([1, 2]) + t)[0]
import numpy as np; return np.isnan(v)
import numpy as np; return np.sign(v)
import numpy as np; return np.mod(v, 2)
import numpy as np; return np.int32(3) + t
import numpy as np; return np.unique([t, 1])[0]
import numpy as np; return np.isin(t, [1, 2])
return pow(t, 2)
return pow(2, t & 3, 5)
return memoryview(b"ab")[t & 1]
return vars()["t"]
return locals()["t"]
return float("nan") != v
return v < float("nan")
return v != v
return max(v, 1.0)
return t + 1j
return t + None
return t + "a"
return t @ t
return t[0]
return t.a
return t()
return [*t]
raise ValueError(t)
with open("/nonexistent"):$    return t
return print(end="") or t
return callable(t)
return t % 3 == 0 and v > 0
return t % 3 == 0 or v > 0
return (t > 0 and v > 0) is False
return float(f"{t}")
return int(str(t))
return format(t, "d") == "1"
return bytes([t + 5])[0]
return ord(chr(t + 70))
""".strip().split("\n")

#: Snippets of which the difference is documented: what a kernel means there.
EXCEPTIONS = {
    r"~\(t > 0\)": "~ of a bool is its opposite, as NumPy has it",
    r"~\(v > 1\)": "~ of a bool is its opposite, as NumPy has it",
    r"callable\(t\)": "a question about the object of Python, which has no number",
    r"(type\(t\)|t\.__class__)": "a question about the object of Python, which is an expression",
}
_UNARY = ["-{}", "+{}", "~{}", "not {}", "abs({})", "{} is None", "{} if t > 1 else 0", "5 if {} else 6"]
_BINARY = "+ - * / // % ** < <= > >= == != & | ^ << >> and or".split()
_OPERANDS = ["t", "v", "(t > 0)", "(v > 1)", "3", "-3", "2.5", "True", "(t & 3)", "abs(v)"]


def generated() -> Iterator[str]:
    for operand in _OPERANDS[:4]:
        yield from (f"return {form.format(operand)}" for form in _UNARY)
    for one, op, other in itertools.product(_OPERANDS, _BINARY, _OPERANDS):
        if one in _OPERANDS[:4] or other in _OPERANDS[:4]:
            yield f"return {one} {op} {other}"


def function_of(body: str, name: str) -> Any:
    """A function of t and v in a file that can be read, with what it needs outside."""
    lines = re.split(r"\$" if "$" in body else "; ", body)
    outside = [line for line in lines if line.startswith("import ")]
    inside = [f"    {line}" for line in lines if line not in outside]
    text = "\n".join([*outside, "def f(t, v):", *inside, ""])
    file = f"/{name}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space: dict[str, Any] = {"__name__": name}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def in_python(function: Any) -> list[float | None]:
    """What each thread computes; None where Python gives no number."""
    found: list[float | None] = []
    for t, v in zip(INTEGERS, FLOATS, strict=True):
        try:
            value = function(t, v)
            wrapped = (value + (1 << 31)) % (1 << 32) - (1 << 31) if type(value) is int else value
            found.append(float(wrapped) if isinstance(wrapped, int | float | np.generic | np.ndarray) else None)
        except Exception:
            found.append(None)
    return found


def difference(body: str, name: str) -> str:
    """How a kernel differs from Python, or the error that it ends with; "" where it is the same or refused."""
    function = function_of(body, name)
    want = in_python(function)

    @gpu.kernel
    def k(i, x, out):
        gpu.launch(threads=THREADS)
        out[gpu.thread] = gpu.cast(function(i[gpu.thread], x[gpu.thread]), "f32")

    out = np.full(THREADS, 77, np.float32)
    try:
        k.interpret(np.array(INTEGERS, np.int32), np.array(FLOATS, np.float32), out)
    except KernelError as error:
        return "" if re.search(r"\.py:\d+", str(error)) else f"{body}: {error}: no line"
    except Exception as error:
        own = body.startswith("raise") or isinstance(error, FileNotFoundError | AssertionError)
        return "" if own else f"{body}: {type(error).__name__}: {error}"
    close = [
        w is None or np.isclose(w, g, rtol=1e-5, atol=1e-5, equal_nan=True) for w, g in zip(want, out, strict=True)
    ]
    if all(close) and any(w is not None for w in want):
        return ""
    return f"{body}: {want} in Python, {out.tolist()} as a kernel"


def unlike(bodies: list[str]) -> list[str]:
    found = [difference(body, f"snippet_{i}") for i, body in enumerate(bodies)]
    return [line for line in found if line and not any(re.search(pattern, line) for pattern in EXCEPTIONS)]


def test_snippets_mean_what_they_mean_in_python_or_are_refused() -> None:
    assert not (found := unlike(SNIPPETS)), "\n".join(found)


@pytest.mark.parametrize("part", range(4))
def test_operators_mean_what_they_mean_in_python_or_are_refused(part: int) -> None:
    assert not (found := unlike(list(generated())[part::4])), "\n".join(found)
