"""Do a room's own tests notice a fault in it? 300 small changes of `lower`, `trace`, `verify` and the integer
simplifier, drawn by a seed, 75 a room, each run against the tests of that room alone.

    python tools/fuzz/room_mutants.py [ROOM ...] [--seed N] [--count N] [--jobs N] [--first N] [--last N] [--list]

`--first` and `--last` (exclusive) choose a chunk of the list, which is numbered over the rooms that are named: several
processes may share the work.

A change is one of the classical ones (Offutt's sufficient operators, and statement deletion): a comparison, a logical
or arithmetic operator, a negated condition, a constant off by one, min for max, a statement left out. Changes of
messages, annotations and assertions are none. Exit status 1 where less than 95 % of the changes that are no equals are
noticed. `EQUAL` are the changes that change nothing, or only how long is looked, each with its reason.
"""

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from queue import Queue

from mutate import COPIED, ROOT

SEED, COUNT, BAR = 27, 75, 0.95
LONGEST = 900
"""Seconds; a fault may keep a test from ending, which is a failure too."""


@dataclass(frozen=True, slots=True)
class Room:
    """Sources, and the tests that are theirs."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]


def _existing(*tests: str) -> tuple[str, ...]:
    return tuple(test for test in tests if (ROOT / test.partition("::")[0]).exists())


ROOMS = {
    "lower": Room(("cutepy/gpu/lower",), _existing("tests/gpu/lower")),
    "simplify": Room(
        ("cutepy/gpu/ir/simplify.py", "cutepy/gpu/ir/ranges.py"),
        _existing("tests/gpu/ir", "tests/gpu/test_simplify.py"),
    ),
    "verify": Room(
        ("cutepy/gpu/verify",),
        _existing(
            "tests/gpu/verify", "tests/gpu/test_proofs.py", "tests/gpu/test_contents.py", "tests/gpu/test_verify.py"
        ),
    ),
    "trace": Room(
        ("cutepy/gpu/trace",),
        _existing(
            "tests/gpu/trace", "tests/gpu/test_trace.py", "tests/gpu/test_control_flow.py", "tests/gpu/test_leaving.py",
            "tests/gpu/test_bytecode.py", "tests/gpu/test_complex.py", "tests/gpu/test_kernel_errors.py",
            "tests/gpu/test_slips.py", "tests/gpu/test_uniform.py", "tests/gpu/targets/export/test_export.py",
            "tests/device/test_recipes.py::test_a_recipe_reads_tuples_lists_and_dictionaries",
            "tests/device/test_sizes_on_device.py::test_a_call_like_the_one_before_is_not_bound_again",
        ),
    ),
}  # fmt: skip

#: Changes that leave every result as it is: (file, the line, the change) and why. Where the same change is possible
#: several times on such lines, " (2nd)" and so on tell which one it is.
EQUAL: dict[tuple[str, str, str], str] = {
    (
        "cutepy/gpu/verify/shadow_memory.py",
        "continue",
        "continue -> pass",
    ): "where nothing is written, and not both read and updated, no element is found in a race either",
    (
        "cutepy/gpu/verify/for_all_sizes.py",
        "none = np.zeros(1, np.int64)",
        "1 -> (2)",
    ): "a table of two equal entries has the bounds of one",
    (
        "cutepy/gpu/verify/__init__.py",
        "return sizes_of(kernel, limits) if uses_matrices(kernel) or uses_subgroups(kernel) else [32]",
        "32 -> (31)",
    ): "a kernel that asks nothing of subgroups is the same at every size of them",
    (
        "cutepy/gpu/trace/rewrite_source.py",
        "own = own and not _HOOKED.isdisjoint(code.co_code[::2])",
        "2 -> (1)",
    ): "a function that has no place for a hook is rewritten to itself; the look only saves the time",
    (
        "cutepy/gpu/lower/hoist.py",
        "if x.operands and self.holds(x):",
        "x.operands and self.holds(x) -> (x.operands or self.holds(x))",
    ): "an expression that holds nothing to be named is rebuilt of the same operands: it is itself",
    (
        "cutepy/gpu/trace/state.py",
        "emitted: int = 0",
        "0 -> (1)",
    ): "a limit of effort: one statement less",
    (
        "cutepy/gpu/lower/hoist.py",
        "break",
        "break -> pass",
    ): "the rest of the operands are looked at as well: what holds is not taken back",
    (
        "cutepy/gpu/lower/hoist.py",
        'lo, hi = range_of(value) if value.dtype.kind in "iub" else (0, 0)',
        "0 -> (1) (2nd)",
    ): "the bounds of a name that is no integer are never read",
    (
        "cutepy/gpu/lower/hoist.py",
        'lo, hi = range_of(value) if value.dtype.kind in "iub" else (0, 0)',
        "0 -> (-1) (2nd)",
    ): "the same",
    (
        "cutepy/gpu/lower/hoist.py",
        "often = self.uses.get(value, 0) > 1",
        "0 -> (1)",
    ): "what is used never and what is used once are both not above 1",
    (
        "cutepy/gpu/lower/choose_widths.py",
        "if buffer.shape and width > 1:",
        "width > 1 -> (width >= 1)",
    ): "a sum whose terms are divided by 1 is itself",
    (
        "cutepy/gpu/lower/legalize_wgsl.py",
        "return -value if number < 0 else value",
        "0 -> (1)",
    ): "the number is an infinity or NaN",
    (
        "cutepy/gpu/lower/branch_on_predicates.py",
        "_guard(out, stmt, predicates[0])",
        "0 -> (-1)",
    ): "the loads of a statement have one predicate",
    (
        "cutepy/gpu/ir/ranges.py",
        "return (a // d if a >= 0 else -(-a // c)), (b // c if b >= 0 else -(-b // d))",
        "a >= 0 -> (a > 0)",
    ): "0 divided by either is 0",
    (
        "cutepy/gpu/ir/ranges.py",
        "return (a, b) if 0 <= a and b < c else (max(min(a, 0), 1 - d), min(max(b, 0), d - 1))",
        "0 -> (1)",
    ): "from 0 to b, below every divisor, the other bounds are 0 and b too",
    (
        "cutepy/gpu/ir/simplify.py",
        "if split is None and not form.terms and form.constant:",
        "split is None and not form.terms and form.constant -> (not form.terms and form.constant)",
    ): "a sum without terms has no split",
    (
        "cutepy/gpu/verify/__init__.py",
        "return sizes_of(kernel, limits) if uses_matrices(kernel) or uses_subgroups(kernel) else [32]",
        "32 -> (33)",
    ): "a kernel that asks nothing of subgroups is the same at every size of them",
    (
        "cutepy/gpu/verify/alignment.py",
        'case Binary(op="%", left=left, right=Const(value=by)) if by > 0:',
        "by > 0 -> (by >= 0)",
    ): "a remainder by the constant 0 is folded where it is made",
    (
        "cutepy/gpu/verify/barriers.py",
        "_OTHER = 1 << 20",
        "20 -> (19)",
    ): "a distance between the orders of ids, which is greater than a kernel has loops",
    (
        "cutepy/gpu/verify/bounds.py",
        "if (first.steps(second) or 0) > 0",
        "0 -> (-1)",
    ): "what stands for None is not above 0 either way",
    (
        "cutepy/gpu/verify/loops.py",
        'down = least >= {">": 0, ">=": 1}.get(self.op, 1 << 32)',
        "1 -> (2) (2nd)",
    ): "no bound is as large as 2**32, nor as large as 2**33",
    (
        "cutepy/gpu/verify/races.py",
        "domain = model.domain(ids, each=model.threads * access.lanes, most=MOST // len(accesses))",
        "MOST // len(accesses) -> (MOST * len(accesses))",
    ): "a limit of effort",
    (
        "cutepy/gpu/verify/smt_encoding.py",
        "x.lanes > 1 for x in node.operands",
        "1 -> (2)",
    ): "no function that makes one number of two lanes has a rule: its value is free either way",
    (
        "cutepy/gpu/verify/smt_encoding.py",
        'return self._vote(name, operands[0], path) if name in ("subgroup_all", "subgroup_any") else None',
        "0 -> (-1)",
    ): "a vote has one operand",
    (
        "cutepy/gpu/verify/smt_encoding.py",
        "bits = 32 if most is None else max(1, min(32, max(most - 1, 1).bit_length()))",
        "1 -> (0)",
    ): "what has a bit length here is at least 1",
    (
        "cutepy/gpu/verify/z3_prover.py",
        "one, two = (z3.ZeroExt(4, x) * width for x in (a.index, index))",
        "4 -> (5)",
    ): "an index is below 2**32 and a vector has at most 4 elements: 4 bits more hold the product and the lanes",
    (
        "cutepy/gpu/verify/conflicts.py",
        "room = len(done) + len(todo) < _DIGITS",
        "len(done) + len(todo) < _DIGITS -> (len(done) + len(todo) <= _DIGITS)",
    ): "a limit of effort: one digit more",
    (
        "cutepy/gpu/verify/smt_encoding.py",
        "return (_number(number), *turns, *[_number(0)] * (self.depth - len(turns)))",
        "0 -> (1)",
    ): "the name of one barrier is always filled up alike, and its first number tells it from the others",
    (
        "cutepy/gpu/verify/smt_encoding.py",
        "return (_number(number), *turns, *[_number(0)] * (self.depth - len(turns)))",
        "0 -> (-1)",
    ): "the same",
    (
        "cutepy/gpu/ir/ranges.py",
        "kept = whole if unwrapped is None or by is None else (unwrapped[0] + by, unwrapped[1] + by)",
        "unwrapped is None or by is None -> (by is None)",
    ): "where there is no interval there is no copy of it",
    (
        "cutepy/gpu/ir/ranges.py",
        "if value.depth > MOST_DEPTH:  # lanes of memory are looked at one by one",
        "value.depth > MOST_DEPTH -> (value.depth >= MOST_DEPTH)",
    ): "the depth from which a list replaces recursion",
    (
        "cutepy/gpu/ir/ranges.py",
        "mixed = (at + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)",
        "1 -> (0)",
    ): "other made-up elements",
    (
        "cutepy/gpu/ir/ranges.py",
        "number = (mixed ^ (mixed >> np.uint64(29))) >> np.uint64(33) & np.uint64(63)",
        "63 -> (62)",
    ): "other made-up elements, still below 64",
    (
        "cutepy/gpu/ir/ranges.py",
        'return (number % np.uint64(2) if load.dtype.kind == "b" else number).astype(load.dtype.numpy)',
        "number % np.uint64(2) -> (number // np.uint64(2))",
    ): "other made-up bools",
    (
        "cutepy/gpu/ir/ranges.py",
        'return (number % np.uint64(2) if load.dtype.kind == "b" else number).astype(load.dtype.numpy)',
        "2 -> (3)",
    ): "other made-up bools",
    (
        "cutepy/gpu/ir/simplify.py",
        'case "&" if number > 0:',
        "0 -> (-1)",
    ): "a mask of 0 is folded where it is made",
    (
        "cutepy/gpu/ir/simplify.py",
        "return c < 0, bound, -abs(c), met",
        "0 -> (1)",
    ): "no coefficient of a sum is 0",
    (
        "cutepy/gpu/ir/simplify.py",
        "if form is None or other is None or range_of(x)[0] < 0 or range_of(y)[0] < 0:",
        "0 -> (1)",
    ): "the bits of x below a power of 2 are Euclid's remainder, also where x is negative",
    (
        "cutepy/gpu/lower/join_neighbours.py",
        'most = {b: 4 for b in arrays if b.dtype.kind not in "bm" and b not in atomic}',
        "b.dtype.kind not in \"bm\" and b not in atomic -> (b.dtype.kind not in 'bm')",
    ): "an array that atomics update is as wide as an element: vectors of it are taken back",
    (
        "cutepy/gpu/lower/join_neighbours.py",
        "most = {b: n for b, n in (most | narrower).items() if n > 1}",
        "n > 1 -> (n >= 1)",
    ): "a vector of one element is none",
    (
        "cutepy/gpu/ir/ranges.py",
        'if op in ("+", "-", "<<") or (op == "*" and (isinstance(left, Const) or isinstance(right, Const))):',
        "isinstance(left, Const) or isinstance(right, Const) -> (isinstance(left, Const) and isinstance(right, Const))",
    ): "the corners of a product by a constant are the ends of the sum: what wraps is moved by multiples of 2**32",
    (
        "cutepy/gpu/ir/simplify.py",
        "above = Affine({atom: -c // g for atom, c in apart.terms.items() if c < 0}, max(-constant, 0))",
        "0 -> (1)",
    ): "no coefficient of a sum is 0",
    (
        "cutepy/gpu/trace/call.py",
        "offset: int = 0",
        "0 -> (-1)",
    ): "a tensor's is always given, and of a number nothing reads it",
    (
        "cutepy/gpu/trace/engine.py",
        '_BREADTH = {"b": 0, "i": 1, "u": 1, "f": 2}',
        "0 -> (-1)",
    ): "it is compared with 0, 1 and 2 alone, and stays below all others",
    (
        "cutepy/gpu/trace/hooks.py",
        "self.scope.count += 1",
        "1 -> (2)",
    ): "the numbers of blocks are names, which differ either way",
    (
        "cutepy/gpu/trace/registers.py",
        "if isinstance(first, Tensor) and isinstance(second, Tensor):",
        "isinstance(first, Tensor) and isinstance(second, Tensor) -> (isinstance(second, Tensor))",
    ): "the two have one type here",
    (
        "cutepy/gpu/trace/source.py",
        "frame = user_frame(sys._getframe(1))",
        "1 -> (0)",
    ): "the look goes outwards, past the frames of cutepy",
}


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a source: the bytes from `start` to `end` of `file` become `new`. `text` is the line without its
    indent, `before` the number of like changes of like lines before it."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str
    text: str
    before: int

    @property
    def key(self) -> tuple[str, str, str]:
        """What `EQUAL` knows it by, wherever the line stands."""
        which = {0: "", 1: " (2nd)", 2: " (3rd)"}.get(self.before, f" ({self.before + 1}th)")
        return self.file, self.text, f"{self.old} -> {self.new}{which}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {' '.join(self.old.split())}  ->  {self.new}"


_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand for a node."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield ast.Compare(left, [_COMPARISONS[type(op)]()], [right])
        case ast.BoolOp(op=op, values=[first, *others]):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), [first, *others])
            yield first
            yield others[0] if len(others) == 1 else ast.BoolOp(op, others)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            yield ast.BinOp(left, _OPERATORS[type(op)](), right)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in _CALLS:
            yield ast.Call(ast.Name(_CALLS[name]), args, keywords)
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Continue() | ast.Break():
            yield ast.Pass()


def _tests(tree: ast.AST) -> Iterator[ast.expr]:
    """The conditions of a source."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            yield node.test
        elif isinstance(node, ast.comprehension):
            yield from node.ifs
        elif isinstance(node, ast.match_case) and node.guard is not None:
            yield node.guard


def _passed_over(node: ast.AST) -> bool:
    """Whether nothing is changed in a node: what it says to people or to type checkers, and what cannot happen."""
    match node:
        case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.ImportFrom() | ast.Import() | ast.pattern():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.Call(func=ast.Name(id="isinstance" | "TypeVar" | "cast" | "dataclass")):
            return True
    return False


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    if _passed_over(node):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _nodes(child)


def changes(file: str) -> list[Change]:
    """All changes of a source, in order of text."""
    text = (ROOT / file).read_text()
    tree, lines = ast.parse(text), text.encode().splitlines(keepends=True)
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line))
    conditions = set(map(id, _tests(tree)))
    times: Counter[tuple[str, str, str]] = Counter()
    out = []
    for node in _nodes(tree):
        new = list(_replacements(node))
        if id(node) in conditions and not isinstance(node, ast.Compare):
            new.append(ast.UnaryOp(ast.Not(), node))
        if not new or not isinstance(node, ast.expr | ast.stmt):
            continue
        start, end = begins[node.lineno - 1] + node.col_offset, begins[node.end_lineno - 1] + node.end_col_offset  # type: ignore[operator]
        old, line = text.encode()[start:end].decode(), lines[node.lineno - 1].decode().strip()
        for other in new:
            spelled = ast.unparse(ast.fix_missing_locations(other))
            spelled = spelled if isinstance(node, ast.stmt) else f"({spelled})"
            out.append(Change(file, node.lineno, start, end, old, spelled, line, times[line, old, spelled]))
            times[line, old, spelled] += 1
    return out


def drawn(room: Room, seed: int, count: int) -> list[Change]:
    """The fixed list of a room: the changes whose hashes with the seed are least, so that it stays as it is where other
    lines of the room change."""
    files = [
        str(path.relative_to(ROOT))
        for source in room.sources
        for path in (sorted((ROOT / source).rglob("*.py")) if (ROOT / source).is_dir() else [ROOT / source])
    ]
    ranked: list[tuple[bytes, Change]] = []
    for file in files:
        for change in changes(file):
            site = file, change.text, f"{change.old} -> {change.new}"
            ranked.append((sha256(f"{seed} {site} {change.before}".encode()).digest(), change))
    least = sorted(ranked, key=lambda entry: entry[0])[:count]
    return sorted([change for _, change in least], key=lambda c: (c.file, c.start))


def _copy(folder: Path) -> Path:
    """A tree to change."""
    folder.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.png", "*.wasm"))
        elif source.exists():
            shutil.copy(source, folder / name)
    return folder


def failure(tree: Path, tests: tuple[str, ...]) -> str:
    """What the first test that fails in a tree says, "" where none does."""
    command = [
        sys.executable,
        "-B",
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "--hypothesis-seed=0",
        *tests,
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree), os.environ.get("PYTHONPATH", "")])}
    try:
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return f"no end within {LONGEST} s"
    return done.stdout[-3000:] + done.stderr[-3000:] if done.returncode else ""


def own_tests(file: str, tests: tuple[str, ...]) -> tuple[str, ...]:
    """Of a room's tests, those that are called as the file."""
    name = f"test_{Path(file).stem}.py"
    return tuple(f"{test}/{name}" for test in tests if (ROOT / test / name).exists())


def noticed(change: Change, tests: tuple[str, ...], tree: Path) -> bool:
    """Whether the tests notice the change: the file's own first, which take the least time."""
    path = tree / change.file
    source = path.read_bytes()
    path.write_bytes(source[: change.start] + change.new.encode() + source[change.end :])
    try:
        own = own_tests(change.file, tests)
        return bool((own and failure(tree, own)) or failure(tree, tests))
    finally:
        path.write_bytes(source)


def fate(number: int, name: str, change: Change, trees: "Queue[Path]") -> str:
    """ "equal", "noticed" or "missed"; printed with the change."""
    tree = trees.get()
    try:
        told = "equal" if change.key in EQUAL else "noticed" if noticed(change, ROOMS[name].tests, tree) else "missed"
    finally:
        trees.put(tree)
    print(f"{told:7} {number} {name} {change}", flush=True)
    return told


def examine(chosen: list[tuple[int, str, Change]], jobs: int) -> bool:
    """Try changes, `jobs` at a time; whether the bar is met."""
    with tempfile.TemporaryDirectory(prefix="cutepy-mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        trees: Queue[Path] = Queue()
        for number in range(jobs):
            trees.put(_copy(Path(folder) / str(number)))
        unchanged = _copy(Path(folder) / "unchanged")
        rooms = sorted({name for _, name, _ in chosen})
        faults = pool.map(lambda name: failure(unchanged, ROOMS[name].tests), rooms)
        fates = list(pool.map(lambda item: fate(*item, trees), chosen))
        for name, fault in zip(rooms, faults, strict=True):
            if fault:
                raise SystemExit(f"{name}: tests fail on the source as it is: {fault}")
    counts = Counter(fates)
    tried = len(fates) - counts["equal"]
    print(f"{tried} changes, {counts['noticed']} noticed, {counts['missed']} missed; {counts['equal']} change nothing")
    return counts["noticed"] >= BAR * tried


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", choices=[[], *ROOMS], default=[])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=COUNT, help="changes a room")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--last", type=int, default=None)
    parser.add_argument("--step", type=int, default=1, help="every so many of the list, for a sample")
    parser.add_argument("--list", action="store_true", help="print the changes and try none")
    options = parser.parse_args()
    whole = [(name, one) for name in options.rooms or ROOMS for one in drawn(ROOMS[name], options.seed, options.count)]
    numbered = [(at, *one) for at, one in enumerate(whole)][options.first : options.last : options.step]
    if options.list:
        print(*(f"{at} {name} {one}" for at, name, one in numbered), sep="\n")
        sys.exit()
    sys.exit(0 if examine(numbered, options.jobs) else 1)
