"""Kinds of state that a kernel can depend on: how each is made and read, and how a program changes it.

Law: a kernel over a changed state gives what plain Python reads of it then, or is refused. Each kind is also met inside
of others (`WRAPPED`), replaced by one that is made anew of 3.0, and through each way into a kernel.
"""

from collections.abc import Iterator
from dataclasses import dataclass

SETUP = """
import abc, argparse, array, builtins, collections, contextlib, contextvars, copy, ctypes, dataclasses, datetime
import decimal, enum, fractions, functools, io, itertools, logging, math, operator, os, random, re, sys
import threading, time, types, typing, weakref
import numpy as np
class Box:
    def __init__(self, v): self.v = v
    def get(self): return self.v
"""


@dataclass(frozen=True)
class Kind:
    """`made` assigns H, `read` is an expression over H, each of `changes` alters H in place."""

    name: str
    made: str
    read: str
    changes: tuple[str, ...] = ()


def _kinds() -> Iterator[Kind]:
    def kind(made: str, read: str, *changes: str) -> Kind:
        return Kind(f"{made} | {read}", made, read, changes)

    # Values that do not change.
    for text, read in [
        ("2.0", "H"), ("2", "H * 1.0 if type(H) is int else -1.0"), ("True", "1.0 if H is True else 2.0"),
        ("-0.0", "math.copysign(1.0, H)"), ("'2.0'", "float(H)"), ("b'2.0'", "float(H)"), ("2.0 + 1j", "H.real"),
        ("range(0, 3, 2)", "float(H.stop)"), ("slice(2.0)", "H.stop"), ("None", "0.0 if H is None else 1.0"),
        ("np.float32(2.0)", "float(H)"), ("np.float64(2.0)", "float(H)"), ("np.float16(2.0)", "float(H)"),
        ("np.int8(2.0)", "float(H)"), ("np.bool_(True)", "float(H)"), ("np.str_('2.0')", "float(H)"),
        ("np.bytes_(b'2.0')", "float(H)"), ("np.longdouble(2.0)", "float(H)"), ("np.complex64(2.0)", "float(H.real)"),
        ("np.timedelta64(2, 's')", "float(H / np.timedelta64(1, 's'))"),
        ("np.datetime64(2, 's')", "float(H.astype(int))"), ("np.dtype('f4')", "float(H.itemsize)"),
        ("np.dtype('l')", "float(H.num)"), ("np.float32", "float(H(7).itemsize)"),
        ("datetime.timedelta(seconds=2.0)", "H.total_seconds()"), ("datetime.date(2020, 1, 2)", "float(H.day)"),
        ("datetime.time(2)", "float(H.hour)"), ("datetime.datetime(2020, 1, 2)", "float(H.day)"),
        ("datetime.timezone(datetime.timedelta(seconds=60))", "H.utcoffset(None).total_seconds()"),
        ("datetime.datetime(2020, 1, 2, fold=1)", "float(H.fold)"),
        ("decimal.Decimal('2.0')", "float(H)"), ("fractions.Fraction(2.0)", "float(H)"),
        ("re.compile('2.0')", "float(H.pattern)"), ("operator.itemgetter(2)", "float(H((5, 6, 7, 8)))"),
        ("operator.methodcaller('__add__', 2.0)", "H(1.0)"), ("math.sin", "H(1.0)"), ("float.__add__", "H(1.0, 2.0)"),
        ("(2.0).__add__", "H(1.0)"), ("[2.0].__getitem__", "H(0)"), ("{'a': 2.0}.get", "H('a')"),
        ("typing.Literal[2]", "float(H.__args__[0])"), ("list[int]", "float(len(H.__args__))"),
        ("frozenset({2.0})", "sum(H)"), ("(2.0, 1)", "H[0]"), ("np.finfo(np.float32)", "float(H.bits)"),
        ("compile('2.0', 'f', 'eval')", "float(H.co_consts[0])"), ("lambda: 2.0", "H()"),
    ]:  # fmt: skip
        yield kind(f"H = {text}", read)
    # Containers.
    yield kind("H = [2.0]", "H[0]", "H[0] = 3.0", "H.insert(0, 5.0)")
    yield kind("H = {'a': 2.0}", "H['a']", "H['a'] = 3.0")
    yield kind("H = {'a': 2.0, 'b': 1.0}", "next(iter(H.values()))", "H['a'] = H.pop('a')")
    yield kind("H = {2.0}", "sum(H)", "H.add(7.0)")
    yield kind("H = {0, 8}", "float(next(iter(H)))", "H.clear(); H.update((8, 0))")
    yield kind("H = collections.deque([2.0])", "H[0]", "H[0] = 3.0")
    yield kind("H = collections.deque([2.0], 2)", "float(H.maxlen)")
    yield kind("H = collections.defaultdict(lambda: 2.0)", "H.default_factory()", "H.default_factory = lambda: 3.0")
    yield kind(
        "H = collections.OrderedDict(a=2.0, b=1.0)",
        "next(iter(H.values()))",
        "H.move_to_end('a')",
        "H['a'] = 3.0",
    )
    yield kind("H = collections.Counter(a=2.0)", "H['a']", "H['a'] = 3.0")
    yield kind("H = collections.UserDict(a=2.0)", "H['a']", "H['a'] = 3.0")
    yield kind("H = collections.UserList([2.0])", "H[0]", "H[0] = 3.0")
    yield kind("H = collections.ChainMap({}, {'a': 2.0})", "H['a']", "H.maps[1]['a'] = 3.0", "H['a'] = 3.0")
    yield kind("D = {'a': 2.0}; H = types.MappingProxyType(D)", "H['a']", "D['a'] = 3.0")
    yield kind("H = types.SimpleNamespace(v=2.0)", "H.v", "H.v = 3.0")
    yield kind("H = argparse.Namespace(v=2.0)", "H.v", "H.v = 3.0")
    yield kind("H = array.array('d', [2.0])", "H[0]", "H[0] = 3.0")
    yield kind("H = bytearray(b'2')", "float(H)", "H[0] = 51")
    yield kind("B = bytearray(b'2'); H = memoryview(B)", "float(H[0])", "B[0] = 51")
    yield kind("H = np.array([2.0])", "float(H[0])", "H[0] = 3.0")
    yield kind("class A(np.ndarray): pass\nH = np.array([2.0]).view(A)", "float(H[0])", "H[0] = 3.0")
    yield kind("H = np.array(2.0)", "float(H)", "H[()] = 3.0")
    yield kind("H = np.array([(2.0, 3)], [('a', 'f4'), ('b', 'f4')])[0]", "float(H['a'])", "H['a'] = 3.0")
    yield kind("H = np.dtype([('a', 'f4')])", "float(len(H.names[0]))", "H.names = ('aaa',)")
    yield kind("H = np.rec.array([(2.0,)], [('a', 'f4')])", "float(H.a[0])", "H.a[0] = 3.0")
    yield kind("H = np.ma.array([2.0], mask=[False])", "float(H.filled(0)[0])", "H.mask[0] = True")
    yield kind("A = np.array([2.0]); H = A.flat", "float(H[0])", "A[0] = 3.0")
    # Objects and their classes.
    yield kind("H = Box(2.0)", "H.v", "H.v = 3.0")
    yield kind("H = Box(2.0)", "H.get()", "H.v = 3.0", "Box.get = lambda self: 5.0", "H.get = lambda: 5.0")
    yield kind("H = Box(2.0)", "vars(H)['v']", "H.v = 3.0")
    yield kind("H = Box(2.0)", "getattr(H, 'v')", "H.v = 3.0", "Box.__getattribute__ = lambda s, n: 5.0")
    yield kind("H = Box(2.0)", "H.v", "Box.v = property(lambda s: 5.0)", "Box.__getattribute__ = lambda s, n: 5.0")
    yield kind("class S:\n  __slots__ = ('v',)\nH = S(); H.v = 2.0", "H.v", "H.v = 3.0")
    yield kind(
        "class S:\n  __slots__ = ('__v',)\n  def __init__(s, v): s.__v = v\n  def get(s): return s.__v\nH = S(2.0)",
        "H.get()", "H.__init__(3.0)",
    )  # fmt: skip
    yield kind(
        "class R:\n  __slots__ = ('v',)\nclass S(R):\n  __slots__ = ('v',)\nH = S(); R.v.__set__(H, 2.0); H.v = 1.0",
        "R.v.__get__(H)", "R.v.__set__(H, 3.0)",
    )  # fmt: skip
    yield kind("class C:\n  v = 2.0\nH = C", "H.v", "C.v = 3.0")
    yield kind("class C:\n  v = 2.0\nH = C()", "H.v", "C.v = 3.0", "H.v = 3.0", "C.v = property(lambda s: 5.0)")
    yield kind("class C:\n  __v__ = 2.0\nH = C()", "H.__v__", "C.__v__ = 3.0")
    yield kind("class C:\n  'text'\nH = C()", "float(len(H.__doc__))", "C.__doc__ = ''")
    yield kind("class C: pass\nH = C", "float(len(H.__name__))", "C.__name__ = 'longer'")
    yield kind("class C:\n  @property\n  def v(s): return s.w\nH = C(); H.w = 2.0", "H.v", "H.w = 3.0", "C.v = 3.0")
    yield kind("class C:\n  @classmethod\n  def v(c): return c.w\n  w = 2.0\nH = C", "H.v()", "C.w = 3.0")
    yield kind("class C:\n  @staticmethod\n  def v(): return 2.0\nH = C", "H.v()", "C.v = lambda: 3.0")
    yield kind("class C:\n  def __getattr__(s, n): return T[0]\nT = [2.0]; H = C()", "H.v", "T[0] = 3.0", "H.v = 3.0")
    yield kind("class C:\n  def __getattribute__(s, n): return T[0]\nT = [2.0]; H = C()", "H.v", "T[0] = 3.0")
    yield kind(
        "class B0:\n"
        "  def __getattribute__(s, n): return T[0]\n"
        "class C(B0): pass\n"
        "T = [2.0]; H = C()\n"
        "object.__setattr__(H, 'v', 1.0)",
        "H.v",
        "T[0] = 3.0",
    )
    yield kind(
        "class D:\n  def __get__(s, o, t): return T[0]\nclass C:\n  v = D()\nT = [2.0]; H = C()",
        "H.v",
        "T[0] = 3.0",
    )
    yield kind(
        "class D:\n"
        "  def __get__(s, o, t): return T[0]\n"
        "  def __set__(s, o, v): pass\n"
        "class C:\n"
        "  v = D()\n"
        "T = [2.0]; H = C(); vars(H)['v'] = 9.0",
        "H.v",
        "T[0] = 3.0",
    )
    yield kind("class A0:\n  v = 2.0\nclass B0:\n  v = 3.0\nclass C(A0): pass\nH = C()", "H.v", "C.__bases__ = (B0,)")
    yield kind("class A0:\n  v = 2.0\nclass B0:\n  v = 3.0\nH = A0()", "H.v", "H.__class__ = B0")
    yield kind(
        "class C:\n  def __call__(s): return s.v\nH = C(); H.v = 2.0",
        "H()",
        "H.v = 3.0",
        "C.__call__ = lambda s: 5.0",
    )
    yield kind("class C:\n  def __len__(s): return s.v\nH = C(); H.v = 2", "float(len(H))", "H.v = 3")
    yield kind("class C:\n  def __getitem__(s, i): return s.v\nH = C(); H.v = 2.0", "H[0]", "H.v = 3.0")
    yield kind("class C:\n  def __contains__(s, i): return s.v\nH = C(); H.v = 0", "1.0 if 3 in H else 2.0", "H.v = 1")
    yield kind("class C:\n  class I:\n    v = 2.0\nH = C", "H.I.v", "C.I.v = 3.0", "C.I = Box(3.0)")
    # Metaclasses and abstract classes.
    yield kind("class M(type):\n  v = 2.0\nclass C(metaclass=M): pass\nH = C", "H.v", "M.v = 3.0")
    yield kind(
        "class M(type):\n  b = 2.0\n  @property\n  def v(c): return M.b\nclass C(metaclass=M): pass\nH = C",
        "H.v",
        "M.b = 3.0",
    )
    yield kind(
        "class M(type):\n  def __call__(c): return T[0]\nclass C(metaclass=M): pass\nT = [2.0]; H = C",
        "H()",
        "T[0] = 3.0",
    )
    yield kind(
        "class M(type):\n"
        "  def __eq__(c, o): return True\n"
        "  def __hash__(c): return 1\n"
        "class C(metaclass=M):\n"
        "  def v(s): return 2.0\n"
        "H = C()",
        "H.v()",
    )
    yield kind(
        "class M(type):\n  def __getattr__(c, n): return T[0]\nclass C(metaclass=M): pass\nT = [2.0]; H = C",
        "H.v",
        "T[0] = 3.0",
    )
    yield kind("class C(abc.ABC): pass\nH = C", "1.0 if isinstance(2, H) else 2.0", "C.register(int)")
    # Classes that derive from others.
    for base in ("int", "float", "str", "bytes", "complex"):
        of = {"str": "'2.0'", "bytes": "b'2.0'", "int": "2"}.get(base, "2.0")
        yield kind(f"class C({base}): pass\nH = C({of}); H.v = 2.0", "H.v", "H.v = 3.0")
        plain = "H.real" if base == "complex" else f"float({'H' if base in ('int', 'float') else base + '(H)'})"
        yield kind(f"class C({base}):\n  def __getnewargs__(s): return ()\nH = C({of})", plain)
    for base, of, read in [
        ("tuple", "(2.0,)", "H[0]"), ("list", "[2.0]", "H[0]"), ("dict", "{0: 2.0}", "H[0]"),
        ("set", "{2.0}", "sum(H)"), ("frozenset", "{2.0}", "sum(H)"), ("collections.deque", "[2.0]", "H[0]"),
        ("collections.OrderedDict", "{0: 2.0}", "H[0]"),
    ]:  # fmt: skip
        yield kind(f"class C({base}): pass\nH = C({of}); H.v = 2.0", "H.v", "H.v = 3.0")
        empty = "  def __iter__(s): return iter(())\n  def keys(s): return ()\n  def values(s): return ()\n"
        plain = read if "sum" not in read else f"1.0 if {base}.__contains__(H, 2.0) else 3.0"
        yield kind(f"class C({base}):\n{empty}H = C({of})", plain)
    yield kind("class C(dict):\n  def __missing__(s, k): return T[0]\nT = [2.0]; H = C()", "H['a']", "T[0] = 3.0")
    yield kind("class C(functools.partial): pass\nH = C(max, 2.0)", "H(1.0)")
    yield kind("class C(property): pass\nclass D:\n  v = C(lambda s: T[0])\nT = [2.0]; H = D()", "H.v", "T[0] = 3.0")
    yield kind("class C(Exception): pass\nH = C(2.0)", "H.args[0]", "H.args = (3.0,)")
    yield kind("class C(OSError): pass\nH = C(2, 'a')", "float(H.errno)", "H.errno = 3")
    yield kind("class C(np.float64): pass\nH = C(2.0)", "float(H)")
    yield kind("class C(datetime.timedelta): pass\nH = C(seconds=2.0)", "H.total_seconds()")
    yield kind("class C(decimal.Decimal): pass\nH = C(2.0)", "float(H)")
    yield kind("class C(fractions.Fraction): pass\nH = C(2.0)", "float(H)")
    yield kind("class C(types.ModuleType): pass\nH = C('m'); H.v = 2.0", "H.v", "H.v = 3.0")
    yield kind("class C(threading.local): pass\nH = C(); H.v = 2.0", "H.v", "H.v = 3.0")
    yield kind("class C(ctypes.Structure):\n  _fields_ = [('v', ctypes.c_double)]\nH = C(2.0)", "H.v", "H.v = 3.0")
    yield kind("H = ctypes.c_double(2.0)", "H.value", "H.value = 3.0")
    # Dataclasses, named tuples, enumerations.
    yield kind("@dataclasses.dataclass\nclass C:\n  v: float\nH = C(2.0)", "H.v", "H.v = 3.0")
    yield kind(
        "@dataclasses.dataclass(frozen=True)\nclass C:\n  v: float\nH = C(2.0)",
        "H.v",
        "object.__setattr__(H, 'v', 3.0)",
    )
    yield kind(
        "@dataclasses.dataclass(slots=True)\nclass C:\n  v: float\n  def get(s): return s.v\nH = C(2.0)",
        "H.get()",
        "H.v = 3.0",
    )
    yield kind(
        "@dataclasses.dataclass\nclass C:\n  v: float = 2.0\nH = C",
        "H().v",
        "C.__init__.__defaults__ = (3.0,)",
    )
    yield kind(
        "@dataclasses.dataclass\nclass C:\n  v: float = 2.0\nH = C()",
        "dataclasses.fields(H)[0].default",
        "dataclasses.fields(H)[0].default = 3.0",
    )
    yield kind(
        "@dataclasses.dataclass\nclass C:\n  v: float = dataclasses.field(default=2.0, compare=False)\nH = C()",
        "H.v",
        "H.v = 3.0",
    )
    yield kind("@dataclasses.dataclass\nclass C:\n  k: typing.ClassVar[float] = 2.0\nH = C()", "H.k", "C.k = 3.0")
    yield kind("class C(typing.NamedTuple):\n  v: float\nH = C(2.0)", "H.v", "C.v = property(lambda s: 5.0)")
    yield kind("class C(collections.namedtuple('P', 'v')):\n  k = 2.0\nH = C(1.0)", "H.k * H.v", "C.k = 3.0")
    yield kind("class E(enum.Enum):\n  A = 2.0\n  B = 3.0\nH = E.A", "H.value", "H._value_ = 3.0")
    yield kind(
        "class E(enum.Enum):\n  A = 1\n  def __init__(s, v): s.scale = 2.0\nH = E.A",
        "H.scale",
        "E.A.scale = 3.0",
    )
    yield kind(
        "class E(enum.IntEnum):\n  A = 2\n  def get(s): return T[0]\nT = [2.0]; H = E.A",
        "H.get()",
        "T[0] = 3.0",
    )
    yield kind("class E(enum.Flag):\n  A = 2\nH = E", "float(len(H))", "E._member_names_.append('A')")
    # Functions.
    yield kind("def H(v=2.0): return v", "H()", "H.__defaults__ = (3.0,)")
    yield kind("def H(v=[2.0]): return v[0]", "H()", "H.__defaults__[0][0] = 3.0")
    yield kind("def H(*, v=2.0): return v", "H()", "H.__kwdefaults__['v'] = 3.0", "H.__kwdefaults__ = {'v': 3.0}")
    yield kind("def H(): return T\nT = 2.0", "H()", "T = 3.0", "H.__code__ = (lambda: 5.0).__code__")
    yield kind("def H(): return G()\ndef G(): return T\nT = 2.0", "H()", "T = 3.0", "G = lambda: 5.0")
    yield kind("def H(): pass\nH.v = 2.0", "H.v", "H.v = 3.0")
    yield kind("def H(): 'text'", "float(len(H.__doc__))", "H.__doc__ = ''")
    yield kind("def H(): pass", "float(len(H.__name__))", "H.__name__ = 'longer'")
    yield kind(
        "def made(c):\n  def inner(): return c\n  return inner\nH = made(2.0)",
        "H()",
        "H.__closure__[0].cell_contents = 3.0",
    )
    yield kind(
        "def made():\n  c = [2.0]\n  return lambda: c[0]\nH = made()",
        "H()",
        "H.__closure__[0].cell_contents[0] = 3.0",
    )
    yield kind("@functools.wraps(math.hypot)\ndef H(): return T\nT = 2.0", "H()", "T = 3.0")
    yield kind("@functools.wraps(np.sum)\ndef H(): return T\nT = 2.0", "H()", "T = 3.0")
    yield kind("H = functools.partial(lambda c: c, 2.0)", "H()")
    yield kind("H = functools.partial(lambda c: c, c=2.0)", "H()", "H.keywords['c'] = 3.0")
    yield kind("H = functools.partial(lambda: T[0]); H.v = 2.0; T = [2.0]", "H.v * H()", "H.v = 3.0", "T[0] = 3.0")
    yield kind("@functools.lru_cache\ndef H(): return T[0]\nT = [2.0]", "H()", "T[0] = 3.0; H.cache_clear()")
    yield kind("@functools.singledispatch\ndef H(c): return 2.0", "H(1)", "H.register(int, lambda c: 3.0)")
    yield kind(
        "class C:\n  @functools.cached_property\n  def v(s): return T[0]\nT = [2.0]; H = C()",
        "H.v",
        "T[0] = 3.0",
        "vars(H)['v'] = 3.0",
    )
    yield kind(
        "@contextlib.contextmanager\ndef ctx(): yield T[0]\ndef H():\n  with ctx() as v: return v\nT = [2.0]",
        "H()",
        "T[0] = 3.0",
    )
    yield kind("H = np.frompyfunc(lambda a: a * T[0], 1, 1); T = [2.0]", "float(H(1.0))", "T[0] = 3.0")
    yield kind("H = np.vectorize(lambda a: a * T[0]); T = [2.0]", "float(H(1.0))", "T[0] = 3.0")
    yield kind("H = Box(2.0).get", "H()", "H.__self__.v = 3.0")
    yield kind("H = [Box(2.0).get, lambda: 1.0]", "H[0]() * H[1]()", "H[1] = lambda: 5.0")
    # The process, the clock, what has an end.
    yield kind(
        "H = os; os.environ['CUTEPY_TEST'] = '2.0'",
        "float(H.environ['CUTEPY_TEST'])",
        "os.environ['CUTEPY_TEST'] = '3.0'",
    )
    yield kind("H = os.environ; H['CUTEPY_TEST'] = '2.0'", "float(H['CUTEPY_TEST'])", "H['CUTEPY_TEST'] = '3.0'")
    yield kind(
        "H = os.getenv; os.environ['CUTEPY_TEST'] = '2.0'",
        "float(H('CUTEPY_TEST'))",
        "os.environ['CUTEPY_TEST'] = '3.0'",
    )
    yield kind("H = contextvars.ContextVar('v', default=2.0)", "H.get()", "H.set(3.0)")
    yield kind("B0 = Box(2.0); H = weakref.ref(B0)", "H().v", "B0.v = 3.0")
    yield kind("B0 = Box(2.0); H = weakref.proxy(B0)", "H.v", "B0.v = 3.0")
    yield kind("B0 = Box(2.0); H = weakref.WeakValueDictionary(a=B0)", "H['a'].v", "B0.v = 3.0")
    yield kind("H = sys.modules; sys.cutepy_test = 2.0", "H['sys'].cutepy_test", "sys.cutepy_test = 3.0")
    yield kind("H = sys; sys.cutepy_test = 2.0", "H.cutepy_test", "sys.cutepy_test = 3.0")
    yield kind("H = types.ModuleType('m'); H.v = 2.0", "H.v", "H.v = 3.0")
    yield kind("H = types.ModuleType('m'); H.__getattr__ = lambda n: T[0]; T = [2.0]", "H.v", "T[0] = 3.0")
    yield kind("H = itertools.count(2.0)", "next(H)", "next(H)")
    yield kind("H = iter([2.0, 3.0])", "next(H)", "pass")
    yield kind("H = (v for v in [2.0, 3.0])", "next(H)", "pass")
    yield kind("H = io.StringIO('2.0')", "float(H.getvalue())", "H.seek(0); H.write('3.0')")
    yield kind("H = random.Random(0)", "H.random()", "pass")
    yield kind("H = np.random.default_rng(0)", "H.random()", "pass")
    yield kind("H = random.random", "H()", "pass")
    yield kind("H = time.perf_counter", "H()", "pass")
    yield kind("H = lambda: np.random.rand()", "float(H())", "pass")
    yield kind("H = lambda: float(datetime.datetime.now().microsecond)", "H()", "pass")
    yield kind("H = lambda: float(eval('T')); T = 2.0", "H()", "T = 3.0")
    yield kind("H = lambda: float(builtins.eval('T')); T = 2.0", "H()", "T = 3.0")
    yield kind("H = lambda: globals()['T']; T = 2.0", "H()", "T = 3.0")
    yield kind("def H(): pass\nT = 2.0", "H.__globals__['T']", "T = 3.0")
    yield kind("def H(): pass\nT = 2.0", "getattr(H, '__globals__')['T']", "T = 3.0")
    yield kind("def H(): return sys._getframe().f_globals['T']\nT = 2.0", "H()", "T = 3.0")
    yield kind(
        "def H():\n  import sys\n  return sys.cutepy_test\nsys.cutepy_test = 2.0",
        "H()",
        "sys.cutepy_test = 3.0",
    )
    yield kind("H = logging.getLogger('cutepy_test'); H.setLevel(20)", "float(H.level)", "H.setLevel(30)")
    yield kind(
        "H = lambda: float(1 / decimal.Decimal(3)); decimal.getcontext().prec = 2",
        "H()",
        "decimal.getcontext().prec = 5",
    )
    yield kind(
        "H = decimal.Decimal(1); decimal.getcontext().prec = 2",
        "float(H / 3)",
        "decimal.getcontext().prec = 5",
    )
    yield kind(
        "H = lambda: len('ab') * 1.0",
        "H()",
        "__builtins__ = dict(vars(builtins), len=lambda s: 5)",
        "len = lambda s: 5",
    )
    yield kind("H = lambda: math.tau; math.tau = 2.0", "H()", "math.tau = 3.0")
    yield kind("H = lambda: float(id(T) % 7); T = object()", "H()", "T = object()")


KINDS = {kind.name: kind for kind in _kinds()}
#: A value inside another: how it is put in H, and how it is read out again.
WRAPPED = {
    "itself": ("H = H", "{}"),
    "in a list": ("H = [[1, H]]", "{}[0][1]"),
    "in a dictionary": ("H = {'k': {'l': H}}", "{}['k']['l']"),
    "in a tuple": ("H = ((H,),)", "{}[0][0]"),
    "in an object": ("H = Box(Box(H))", "{}.v.v"),
    "behind a method": ("H = Box(H)", "{}.get()"),
    "in a closure": ("H = (lambda h: lambda: h)(H)", "{}()"),
    "in a default": ("H = lambda h=H: h", "{}()"),
    "in a partial": ("H = functools.partial(lambda h: h, H)", "{}()"),
    "in a class": ("H = type('W', (), {'h': H})", "vars({})['h']"),
    "in a slice": ("H = slice(H, None)", "{}.start"),
}
