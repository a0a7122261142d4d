"""The choice of bank bits: sums of address bits over F2 that give the words of every access different banks.

Law: rows do when they have full rank on the span of each access. What is simple comes first: single bits, sums of two,
then all, up to a change of basis of the bank; trying all of those proves that none do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice
from typing import NamedTuple

from ..values.bit_map import Columns, Image, apply

MOST_TRIED = 1 << 17
"""How many partial choices are tried before a search for three or more accesses gives up without a proof."""


class BankProblem(NamedTuple):
    """The accesses in a basis of the element bits: elements taken at once differ in the lowest `fixed` bits, those of
    one word in the lowest `word`.

    Wanted are `free` rows: sums of the bits from `fixed` on that, with the bits between, choose the bank.
    """

    bits: int
    word: int
    fixed: int
    free: int
    phases: tuple[tuple[int, ...], ...]  # the vectors of each access

    def words(self, phase: Sequence[int]) -> int:
        """The dimension of the words that a phase wants."""
        return rank_of([vector >> self.word for vector in phase])

    def needed(self, phase: Sequence[int]) -> int:
        """The rank that no choice of rows exceeds: that of the fixed bits, and one more for each row."""
        low = (1 << self.fixed) - 1
        return min(self.words(phase), rank_of([(vector & low) >> self.word for vector in phase]) + self.free)

    def rank(self, phase: Sequence[int], rows: Sequence[int]) -> int:
        """How many dimensions of a phase the bank tells apart."""
        low = (1 << self.fixed) - 1
        return rank_of(
            [
                (vector & low) >> self.word
                | sum(((vector >> self.fixed & row).bit_count() & 1) << self.fixed + at for at, row in enumerate(rows))
                for vector in phase
            ]
        )

    def rounds(self, rows: Sequence[int]) -> int:
        """The rounds of all accesses: 2 for each dimension of words that an access does not tell apart, multiplied."""
        return sum(1 << self.words(phase) - self.rank(phase, rows) for phase in self.phases)

    def lacking(self, rows: Sequence[int]) -> tuple[int, ...]:
        """By how many dimensions each access falls short."""
        return tuple(self.needed(phase) - self.rank(phase, rows) for phase in self.phases)


def completed(vectors: Sequence[int], bits: int) -> list[int]:
    """A basis that begins with these vectors and goes on with single bits, the lowest first."""
    return independent((*vectors, *(1 << bit for bit in range(bits))))


def independent(vectors: Iterable[int]) -> list[int]:
    """Those vectors that are no XOR of ones before them.

    >>> independent((1, 3, 2, 4))
    [1, 3, 4]
    """
    basis: list[int] = []
    reduced: list[int] = []
    for vector in vectors:
        rest = vector
        for other in reduced:
            rest = min(rest, rest ^ other)
        if rest:
            reduced.append(rest)
            basis.append(vector)
    return basis


def rank_of(vectors: Iterable[int]) -> int:
    """The dimension of what vectors span."""
    return len(independent(vectors))


def rows_for(problem: BankProblem) -> tuple[list[int], str]:
    """The rows that lack least, and the certificate."""
    high = problem.bits - problem.fixed
    # Bits of the bank that the order of a lane's own elements fixes.
    fixed = problem.fixed - problem.word
    bank_bits = fixed + problem.free
    bound = [problem.needed(phase) for phase in problem.phases]
    reason = "the best of the choices tried of elements that share a word"
    for at, phase in enumerate(problem.phases):
        if bound[at] < min(bank_bits, problem.words(phase)):
            reason = (
                f"none has fewer: what is taken at once fixes {fixed} of the {bank_bits} bits that choose the bank, "
                f"and the lanes of access {at} differ in {bound[at] - problem.free} of those"
            )
    for rows in _simple(problem, high):
        if not any(problem.lacking(rows)):
            return rows, reason
    return _least(problem, reason)


def _least(problem: BankProblem, reason: str) -> tuple[list[int], str]:
    """The rows whose worst access takes the fewest rounds, and of those the ones of the fewest rounds in all."""
    # Deficit of each access under any choice of rows.
    inevitable = [problem.words(phase) - problem.needed(phase) for phase in problem.phases]
    proven = True
    # The worst access first: the least deficit that some rows keep to.
    for worst in range(max(inevitable), max(map(problem.words, problem.phases)) + 1):
        search = Search(problem, worst, None)
        best = search.run()
        proven = proven and search.proven
        if best is not None:
            break
    else:
        raise AssertionError("without a demand any rows do")
    # Then the sum: rows of fewer rounds are looked for until there are none.
    while (total := problem.rounds(best)) > sum(1 << deficit for deficit in inevitable):
        search = Search(problem, worst, total - 1)
        fewer = search.run()
        if fewer is None:
            proven = proven and search.proven
            break
        best = fewer
    else:
        return best, reason
    if not proven:
        return best, f"the best of {MOST_TRIED} choices that were tried, not of all"
    return best, (
        "no map of bits has a better worst access, nor with that fewer rounds in all: every choice of bank bits on the "
        "span of the accesses was tried"
    )


def _simple(problem: BankProblem, high: int) -> Iterator[list[int]]:
    """Rows of single bits, an order of the modes; then rows of two bits, a swizzle after an order."""
    # Orders of the modes first: rows of one bit each.
    singles = [[1 << bit for bit in chosen] for chosen in islice(combinations(range(high), problem.free), 1000)]
    yield from singles
    singles.sort(key=lambda rows: sum(problem.lacking(rows)))
    for rows in singles[:40]:
        yield _paired(problem, rows, high)


def _paired(problem: BankProblem, rows: list[int], high: int) -> list[int]:
    """Add to rows of one bit a second one each, where an access gains and none loses; those with two come first."""
    best = problem.lacking(rows)
    for other in range(high):
        if not any(best) or 1 << other in rows:
            continue
        for at, row in enumerate(rows):
            if row.bit_count() == 1:
                tried = [*rows[:at], row | 1 << other, *rows[at + 1 :]]
                lacking = problem.lacking(tried)
                if sum(lacking) < sum(best) and all(new <= old for new, old in zip(lacking, best, strict=True)):
                    rows, best = tried, lacking
                    break
    return sorted(rows, key=lambda row: row.bit_count() == 1)


class Search:
    """All rows on the span of the accesses, up to a change of basis of the bank: what depends on nothing else.

    A basis of the span gets its values one vector after the other, each from the values that exist or one more. Each
    access has at most one vector that ends there: its image must be new to the access, but for `worst` times, and the
    rounds of all accesses are at most `total`. `proven` says that all were tried.
    """

    def __init__(self, problem: BankProblem, worst: int, total: int | None) -> None:
        self.problem, self.left, self.proven = problem, MOST_TRIED, True
        self.worst = worst
        self.total = total if total is not None else len(problem.phases) << worst
        self.basis = independent(vector >> problem.fixed for phase in problem.phases for vector in phase)
        image = Image(self.basis)
        self.ends: list[dict[int, tuple[int, int]]] = []  # by access: where its vectors end, the vector, made of what
        self.start: list[tuple[tuple[int, ...], int]] = []  # by access: images so far, how many were old
        for phase in problem.phases:
            inside, ends = _echelon([(vector, image.solve(vector >> problem.fixed) or 0) for vector in phase])
            self.ends.append(ends)
            images = tuple(vector >> problem.word for vector in inside)
            self.start.append((images, 0))

    def run(self) -> list[int] | None:
        """Rows that do it, or None."""
        values = self._extended([], 0, self.start)
        return None if values is None else self._rows(values)

    def _extended(self, values: list[int], used: int, state: list[tuple[tuple[int, ...], int]]) -> list[int] | None:
        """Depth-first search: images of all basis vectors that continue `values`; None if there are none, or the
        budget is spent."""
        if len(values) == len(self.basis):
            return values
        # Canonical choice up to a change of basis: values so far, or the next unused unit vector.
        fresh = [1 << used] if used < self.problem.free else []
        for value in [*fresh, *sorted(range(1 << used), key=int.bit_count)]:
            self.left -= 1
            if self.left < 0:
                self.proven = False
                return None
            extended = [*values, value]
            after = self._after(extended, state)
            if after is not None:
                done = self._extended(extended, used + (value >> used), after)
                if done is not None or self.left < 0:
                    return done
        return None

    def _after(
        self, values: list[int], state: list[tuple[tuple[int, ...], int]]
    ) -> list[tuple[tuple[int, ...], int]] | None:
        """The images of each access with those that end here; None if one has too few."""
        problem, end = self.problem, len(values)
        low = (1 << problem.fixed) - 1
        after = list(state)
        for at, ends in enumerate(self.ends):
            if end in ends:
                vector, made_of = ends[end]
                # Image of the vector under the candidate rows, reduced by the images before it.
                new = (vector & low | apply(values, made_of) << problem.fixed) >> problem.word
                images, old = after[at]
                for image in images:
                    new = min(new, new ^ image)
                after[at] = ((*images, new), old) if new else (images, old + 1)
                if after[at][1] > self.worst:
                    return None
        return after if sum(1 << old for _images, old in after) <= self.total else None

    def _rows(self, values: list[int]) -> list[int]:
        """The values of all bits: of the span as found, of the rest so that the rows are independent."""
        high = self.problem.bits - self.problem.fixed
        # Extend the values from the span to all bits, keeping the rows independent.
        basis, reached = completed(self.basis, high), Image(values)
        for _vector in basis[len(values) :]:
            missing = (1 << at for at in range(self.problem.free) if reached.add(1 << at) is None)
            values = [*values, next(missing, 0)]
        image = Image(basis)
        columns = [apply(values, image.solve(1 << bit) or 0) for bit in range(high)]
        return [
            sum((column >> row & 1) << bit for bit, column in enumerate(columns)) for row in range(self.problem.free)
        ]


def _echelon(pairs: list[tuple[int, int]]) -> tuple[tuple[int, ...], dict[int, tuple[int, int]]]:
    """A basis of the span of vectors: those made of no basis vector, each reduced by the ones before it, so that no two
    have one highest bit; the others, each ending at its own."""
    ends: dict[int, tuple[int, int]] = {}
    inside: tuple[int, ...] = ()
    for vector, made_of in pairs:
        while made_of and made_of.bit_length() in ends:
            other, other_made_of = ends[made_of.bit_length()]
            vector, made_of = vector ^ other, made_of ^ other_made_of
        if made_of:
            ends[made_of.bit_length()] = vector, made_of
            continue
        for other in inside:
            vector = min(vector, vector ^ other)
        if vector:
            inside = (*inside, vector)
    return inside, ends


def columns_for(problem: BankProblem, rows: Sequence[int]) -> Iterator[Columns]:
    """What each bit becomes: the fixed ones stay, the rows follow, then single bits that complete them, in two orders.

    The second bits of the rows come first of those, in order: so rows of two bits are one swizzle. Then come the lowest
    bits, or those that go on where the rows end: so a mode stays in one piece.
    """
    high = problem.bits - problem.fixed
    seconds = [row & (row - 1) for row in rows if row.bit_count() == 2]
    end = max([(row & -row).bit_length() for row in rows[-1:]], default=0)
    singles = [1 << bit for bit in range(high)]
    for order in (singles, singles[end:] + singles[:end]):
        complete = independent((*rows, *seconds, *order))
        columns = [sum((row >> bit & 1) << at for at, row in enumerate(complete)) for bit in range(high)]
        yield (*(1 << bit for bit in range(problem.fixed)), *(column << problem.fixed for column in columns))
