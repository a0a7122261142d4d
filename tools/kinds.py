"""Write the table of docs/algebra/kinds.md: `kinds.py COUNT [NAME ...]`, COUNT answers checked for each cell.

A cell is an operation and a kind of layout: *exact* with the number of answers that were checked, or *refuses* with its
reason. With names only those rows are drawn again. Exits with 1, and leaves the page, where an answer is wrong,
or a cell that should refuse answers, or one that should answer does not.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from layout.kind_cases import COLUMNS, LAWS, REFUSALS, Outcome, refusal, tried  # noqa: E402

PAGE = ROOT / "docs" / "algebra" / "kinds.md"
MOST = 60
"""How many times COUNT the cases of a cell may be, where most calls are refused."""


def cell(name: str, kind: str, count: int) -> tuple[str, Outcome]:
    """What stands in the table, and what became of the cases."""
    total = Outcome()
    letter = refusal(name, kind)
    for batch in range(1 if letter else 4 * MOST):
        found = tried(name, kind, count if letter else -(-count // 4), f"0 {batch}")
        total.exact, total.refused = total.exact + found.exact, total.refused + found.refused
        total.wrong, total.first_wrong = found.wrong, found.first_wrong
        if found.wrong or total.exact >= count:
            break
    return f"refuses ({letter})" if letter else f"exact {total.exact:,}", total


def row(name: str, count: int) -> tuple[str, list[str]]:
    """The row of an operation, and its faults."""
    words: list[str] = []
    faults: list[str] = []
    for kind in COLUMNS:
        word, outcome = cell(name, kind, count)
        words.append(word)
        if outcome.wrong:
            faults.append(f"{outcome.wrong} wrong: {outcome.first_wrong[:400]}")
        elif (outcome.exact > 0) == word.startswith("refuses") or (outcome.exact < count and "exact" in word):
            faults.append(f"{name}, {kind}: {outcome.exact} answers, {outcome.refused} refused, the table: {word}")
    return f"| `{name}` | " + " | ".join(words) + " |", faults


def main(count: int, *names: str) -> int:
    before, after = PAGE.read_text().split("<!-- table -->\n")
    table, after = after.split("<!-- end -->\n")
    rows = {line.split("`")[1]: line for line in table.splitlines() if line.startswith("| `")}
    wrong = 0
    for name in names or LAWS:
        rows[name], faults = row(name, count)
        print(rows[name], *faults, sep="\n", flush=True)
        wrong += len(faults)
    if wrong:
        return 1
    lines = ["| operation | " + " | ".join(COLUMNS) + " |", "|" + "---|" * (len(COLUMNS) + 1)]
    lines += [rows[name] for name in LAWS if name in rows]
    notes = [f"- ({letter}) Because {reason.because}." for letter, reason in REFUSALS.items()]
    PAGE.write_text("\n".join([f"{before}<!-- table -->\n", *lines, "", *notes, "", f"<!-- end -->\n{after}"]))
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
