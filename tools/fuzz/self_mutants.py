# ruff: noqa: E501  the texts are those of the tree
"""Faults in the compiler's own proofs, each of which a test must notice.

    python tools/fuzz/self_mutants.py [WORD ...]

A mutant is (file, text, other text, pytest target): in a copy of the tree the text, which stands there once, is
replaced, and the target must fail. With words, only mutants whose file or text holds one of them are tried.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
Mutant = tuple[str, str, str, str]

PROOFS = "tests/gpu/test_proofs.py"
VALUES = "tests/gpu/test_simplify.py"
VERDICTS = "tests/gpu/test_verify.py"
WILD = f"{VERDICTS}::test_verdicts_on_wild_kernels_are_true"
AFFINE, RANGES, SIMPLIFY = "cutepy/layout/affine.py", "cutepy/gpu/ranges.py", "cutepy/gpu/simplify.py"
FOLDER = "cutepy/gpu/verify/"

MUTANTS: list[Mutant] = [
    # The eleven of the review that went unnoticed, where they are now (those of `layout` are in layout_mutants.py).
    (RANGES, "return (a, b) if 0 <= a and b < c else", "return (a, b) if 0 <= a and b <= c else", PROOFS),
    (RANGES, "return (a // d if a >= 0", "return (a // c if a >= 0", PROOFS),
    (SIMPLIFY, "return quotient(y, int(d) * c)", "return quotient(y, int(d) + c)", PROOFS),
    (SIMPLIFY, 'joined if op == "&" else joined.plus', 'joined.plus(low.modulo()) if op == "&" else joined.plus', PROOFS),
    (FOLDER + "initial.py", "if not (write.loops & loops) or write.own.size == 1:", "if True:", PROOFS),
    (FOLDER + "digits.py", "if _window(family, lows) >= base:", "if _window(family, lows) > base:", PROOFS),
    # Sums.
    (AFFINE, "return least * WRAP if least == most else None", "return least * WRAP if least <= most else None", VALUES),
    (AFFINE, "-((hi - first) // WRAP), (last - lo) // WRAP", "-((hi - first) // WRAP), (last - hi) // WRAP", VALUES),
    (AFFINE, "lo, hi = (lo + c * a, hi + c * b) if c > 0", "lo, hi = (lo + c * a, hi + c * b) if c", VALUES),
    (AFFINE, "Affine(high, self.constant // by), Affine(low, self.constant % by)", "Affine(high, self.constant // by), Affine(low, 0 * self.constant)", VALUES),
    (AFFINE, "best = min(best, self.plus(limit, -factor)", "best = min(best, self.plus(limit, factor)", PROOFS),
    # Ranges and simpler forms.
    (RANGES, "Affine(form.terms, form.constant).interval(range_of)", "Affine(form.terms, form.constant + 1).interval(range_of)", VALUES),
    (RANGES, "return min(a, c), min(b, d)", "return max(a, c), min(b, d)", VALUES),
    (RANGES, "(1 << max(b, d).bit_length()) - 1", "max(b, d)", VALUES),
    (RANGES, "(min(a, 0), max(b, 0))", "(0, max(b, 0))", VALUES),
    (SIMPLIFY, 'case ">>" if number >= 0 and range_of(left)[0] >= 0:', 'case ">>" if number >= 0:', PROOFS),
    (SIMPLIFY, "if lo < 0 or form is None:\n        return binary(\"//\"", "if form is None:\n        return binary(\"//\"", VALUES),
    (SIMPLIFY, "if within(low.interval(range_of), (0, g - 1)):", "if within(low.interval(range_of), (0, g)):", PROOFS),
    (SIMPLIFY, '"<=": hi <= 0, ">": lo > 0', '"<=": hi < 0, ">": lo >= 0', VALUES),
    (SIMPLIFY, "-((low.constant - number) // g)", "(number - low.constant) // g", VALUES),
    (SIMPLIFY, "Congruent({}, lo // c * c), -1)", "Congruent({}, lo // c), -1)", VALUES),
    # Proofs.
    (FOLDER + "evaluate.py", 'return not told or value.dtype.kind == "f"', "return not told", PROOFS),
    (FOLDER + "forms.py", '"<": (below.moved(1),),', '"<": (below.moved(2),),', PROOFS),
    (FOLDER + "forms.py", '"<": ((a, min(b, d - 1)), (max(c, a + 1), d)),', '"<": ((a, min(b, c - 1)), (max(c, a + 1), d)),', PROOFS),
    (FOLDER + "forms.py", "limits=(*facts.limits, form.negative().moved(window[0]))", "limits=(*facts.limits, form.negative().moved(window[0] + 1))", PROOFS),
    (FOLDER + "collect.py", 'inside = binary("&", inside, binary(">=", counter, start))', "pass", PROOFS),
    (FOLDER + "collect.py", "bounded = end - 1 + most <= top", "bounded = end - 1 <= top", PROOFS),
    (FOLDER + "collect.py", "        self.state.forget(stmt.body)\n        return [Repeat", "        return [Repeat", PROOFS),
    (FOLDER + "state.py", "            return buffer not in self.readable", "            return False", PROOFS),
    (FOLDER + "state.py", "select(test, other[c], here[c])", "here[c]", PROOFS),
    (FOLDER + "bounds.py", "            put[leaf] = replace(leaf)", "            pass", PROOFS),
    (FOLDER + "policy.py", "return True  # nothing was looked at", "return False  # nothing was looked at", PROOFS),
    (FOLDER + "initial.py", "        if unsure:\n            self.memory = before", "", f"{VERDICTS}::test_workgroup_memory_must_be_written_first"),
    (FOLDER + "digits.py", "if _window(family, [m.index for m in family]) < base:", "if True:", PROOFS),
    (FOLDER + "search.py", "found = lcm(found, int(by))", "found = int(by)", PROOFS),
]  # fmt: skip


def noticed(tree: Path, mutant: Mutant) -> bool:
    """Whether the target fails in `tree` with the fault in it."""
    name, old, new, target = mutant
    path = tree / name
    source = path.read_text()
    if source.count(old) != 1:
        raise SystemExit(f"{name}: {old!r} stands there {source.count(old)} times, not once")
    path.write_text(source.replace(old, new))
    try:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", target]
        return subprocess.run(command, cwd=tree, capture_output=True, check=False).returncode == 1
    finally:
        path.write_text(source)


def run(mutants: Sequence[Mutant], words: Sequence[str] = ()) -> int:
    """Try the mutants; 1 if one goes unnoticed."""
    chosen = [m for m in mutants if not words or any(word in m[0] + m[1] for word in words)]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name in ("cutepy", "tests", "examples"):
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", tree)
        for mutant in chosen:
            if not noticed(tree, mutant):
                missed += 1
                print(f"not noticed by {mutant[3]}: {mutant[0]}: {mutant[2].strip()!r} for {mutant[1].strip()!r}")
    print(f"{len(chosen)} mutants: {missed} not noticed")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(run(MUTANTS, sys.argv[1:]))
