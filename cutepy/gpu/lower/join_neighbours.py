"""Unrolled accesses to neighbours become vectors, whoever wrote them.

Law: each invocation reads and writes the same elements, with the same values. Neighbours that a block loads are loaded
by the first of these loads, what it stores side by side by the last of these stores: no access moves past a statement
that touches its element, that changes what it is computed from, or that orders it for other invocations.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from .. import ir
from ..ir.ranges import Sum, linear
from ..ir.simplify import simplify
from ..ir.superword import pack, runs
from .choose_widths import widths_of

Most = dict[ir.Buffer, int]
"""The elements of one access, at most, of each array of which accesses are joined."""


def join_neighbours(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` with vectors for scalar accesses to neighbours, of each array that is then declared over such vectors,
    and of which every scalar that is left knows its lane."""
    changes = [s for s in ir.statements(kernel.body) if isinstance(s, ir.Change)]
    atomic = {s.buffer for s in changes if s.VERB == ir.Verb.UPDATES}
    arrays = [b for b in (*kernel.buffers, *kernel.local) if b.is_shared]
    most = {b: 4 for b in arrays if b.dtype.kind not in "bm" and b not in atomic}
    # What is loaded in order stays between the same barriers, too.
    written = frozenset([*(s.buffer for s in changes), *(b for b in arrays if b.in_order)])
    while most:
        joining = _Joining(most, written)
        joined = replace(kernel, body=joining.block(kernel.body))
        if not joining.joined:
            break
        narrower = {b: n // 2 for b, n in most.items() if b in _losing(joined)}
        if not narrower:
            return joined
        most = {b: n for b, n in (most | narrower).items() if n > 1}
    return kernel


def _losing(kernel: ir.Kernel) -> set[ir.Buffer]:
    """The arrays with an access that is wider than what they are declared over, or that does not know its lane."""
    widths, losing = widths_of(kernel), set[ir.Buffer]()
    for stmt in ir.statements(kernel.body):
        if isinstance(stmt, ir.Store) and stmt.value.lanes > widths[stmt.buffer]:
            losing.add(stmt.buffer)
        for x in (x for root in stmt.expressions for x in ir.loads(root)):
            width = widths[x.buffer]
            if x.lanes > width or (x.lanes < width and not isinstance(simplify(x.index % width), ir.Const)):
                losing.add(x.buffer)
    return losing


@dataclass(slots=True, eq=False)
class _Group:
    """Scalar accesses of a block to elements that differ by constants, of one array, by their places in the block.
    `reads` are the names that they are computed from; `stored` the elements that are written after the first load.
    """

    buffer: ir.Buffer
    form: Sum
    where: ir.Expr | None
    stores: bool
    places: dict[int, list[int]] = field(default_factory=dict)
    reads: set[ir.Var] = field(default_factory=set)
    stored: set[int] = field(default_factory=set)

    def apart(self, form: Sum, lanes: int) -> bool:
        """Whether an access to these elements of its array touches none of it, as far as is known."""
        if form.terms != self.form.terms:
            return False
        return not any(form.constant + i in self.places for i in range(lanes))


class _Joining:
    """One walk over the blocks, each by itself. `most` are the arrays of which accesses are joined, `written` those
    that the kernel writes."""

    def __init__(self, most: Most, written: frozenset[ir.Buffer]) -> None:
        self.most, self.written = most, written
        self.joined = False

    def block(self, block: ir.Block) -> ir.Block:
        out: list[ir.Stmt | None] = [ir.with_blocks(s, [self.block(b) for b in s.blocks]) for s in block]
        groups = [group for group in _groups(block, self.most, self.written) if len(group.places) > 1]
        # Loads first: what is stored is then packed of the lanes of what was loaded.
        lanes_of: dict[ir.Expr, ir.Expr] = {}
        for group in groups:
            if not group.stores:
                self.load(group, out, lanes_of)
        if lanes_of:
            memo: dict[ir.Expr, ir.Expr] = {}
            named = [s or ir.Comment("") for s in out]
            new = ir.map_block(tuple(named), lambda x: ir.rewrite(x, lambda y: lanes_of.get(y, y), memo))
            out = [None if old is None else stmt for old, stmt in zip(out, new, strict=True)]
        for group in groups:
            if group.stores:
                self.store(group, out)
        return tuple([s for s in out if s is not None])

    def vectors(self, group: _Group) -> Iterable[tuple[ir.Expr, list[int]]]:
        """The vectors of a group: the first element of each, and the places of its lanes."""
        for access in runs(group.form.terms, group.places, group.where, self.most[group.buffer]):
            if len(access.positions) > 1:
                self.joined = True
                yield access.index, [places[0] for places in access.positions]

    def load(self, group: _Group, out: list[ir.Stmt | None], lanes_of: dict[ir.Expr, ir.Expr]) -> None:
        """Load the vectors of a group where their first lane was, and note which lane each name is."""
        for index, places in self.vectors(group):
            lets = [let for place in places if isinstance(let := out[place], ir.Let)]
            first = out[min(places)]
            assert isinstance(first, ir.Let)
            value = ir.load(group.buffer, index, lanes=len(lets), where=group.where, place=first.place)
            low, high = min(let.var.lo for let in lets), max(let.var.hi for let in lets)
            name = replace(first.var, lanes=len(lets), lo=low, hi=high)
            lanes_of.update({let.var: ir.component(name, lane) for lane, let in enumerate(lets)})
            for place in places:
                out[place] = None
            out[min(places)] = replace(first, var=name, value=value)

    def store(self, group: _Group, out: list[ir.Stmt | None]) -> None:
        """Store the vectors of a group where their last lane was."""
        for index, places in self.vectors(group):
            stores = [store for place in places if isinstance(store := out[place], ir.Store)]
            last = out[max(places)]
            assert isinstance(last, ir.Store)
            for place in places:
                out[place] = None
            out[max(places)] = replace(last, index=index, value=pack([store.value for store in stores]))


def _groups(block: ir.Block, most: Most, written: frozenset[ir.Buffer]) -> list[_Group]:
    """The groups of accesses of a block that may be made together."""
    found: list[_Group] = []
    open_groups: list[_Group] = []
    for place, stmt in enumerate(block):
        if isinstance(stmt, ir.Comment):
            continue
        open_groups = [group for group in open_groups if _stays(group, stmt, written)]
        access: ir.Load | ir.Store
        value: ir.Expr
        if isinstance(stmt, ir.Let) and type(stmt.value) is ir.Load:
            access, value, where = stmt.value, stmt.value, stmt.value.where
        elif isinstance(stmt, ir.Store):
            access, value, where = stmt, stmt.value, None
        else:
            continue
        if access.buffer not in most or value.lanes > 1 or any(x.buffer in written for x in ir.loads(access.index)):
            continue
        form = linear(simplify(access.index))
        group = next((g for g in open_groups if _joins(g, access, form, where)), None)
        if group is None:
            group = _Group(access.buffer, form, where, access is stmt)
            # A store before this load may be made after it: what it writes is not loaded here.
            alike = [g for g in open_groups if g.stores and g.buffer is access.buffer and not group.stores]
            group.stored.update(element for g in alike for element in g.places)
            found.append(group)
            open_groups.append(group)
        group.places.setdefault(form.constant, []).append(place)
        roots = (access.index, where, value if group.stores else None)
        group.reads.update(name for root in roots if root is not None for name in ir.variables(root))
    return found


def _joins(group: _Group, access: ir.Load | ir.Store, form: Sum, where: ir.Expr | None) -> bool:
    """Whether an access goes with a group: its elements are neighbours, and not among those of the group."""
    same = group.buffer is access.buffer and group.stores is isinstance(access, ir.Store) and group.where is where
    return same and group.apart(form, 1) and form.terms == group.form.terms and form.constant not in group.stored


def _stays(group: _Group, stmt: ir.Stmt, written: frozenset[ir.Buffer]) -> bool:
    """Whether accesses after a statement may be made with those of a group before it."""
    inside = [stmt, *(s for b in stmt.blocks for s in ir.statements(b))]
    # What a path may leave at, and what changes a name that the group is computed from.
    if any(isinstance(s, ir.Break) or s.sets in group.reads for s in inside):
        return False
    if group.buffer not in written:
        return True
    if not isinstance(stmt, ir.Let | ir.Declare | ir.Assign | ir.Store):
        return False
    # A load moves up past stores of other elements, a store down past loads and stores of others.
    touched: list[tuple[ir.Load | ir.Store, int]] = []
    if group.stores:
        touched += [(x, x.lanes) for root in stmt.expressions for x in ir.loads(root)]
    if isinstance(stmt, ir.Store):
        touched.append((stmt, stmt.value.lanes))
    for access, lanes in touched:
        if access.buffer is not group.buffer:
            continue
        form = linear(simplify(access.index))
        if isinstance(access, ir.MatrixLoad) or form.terms != group.form.terms:
            return False
        if group.stores and not group.apart(form, lanes):
            return False
        if not group.stores:
            group.stored.update(range(form.constant, form.constant + lanes))
    return True
