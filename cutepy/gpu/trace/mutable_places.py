"""Items of lists and dictionaries, and attributes of objects: places of Python's that a block may set, as it may names.

Law: after a block a place holds what Python would have left there for each thread, where what holds it keeps its length
and its keys. Only what the function itself has made or was given counts, not what it reaches outside.
"""

from dataclasses import dataclass
from types import FrameType
from typing import Any

from .python_state import is_of_library
from .registers import numbers_of


@dataclass(slots=True)
class Item:
    """An item of a list or dictionary, or an attribute, with the interface of a variable's cell. It is read and set by
    the builtin type's own methods, for a user's subclass may do more."""

    holder: Any
    key: Any

    @property
    def cell_contents(self) -> object:
        return self.kind.__getitem__(self.holder, self.key)

    @cell_contents.setter
    def cell_contents(self, value: object) -> None:
        self.kind.__setitem__(self.holder, self.key, value)

    @property
    def kind(self) -> Any:
        return next(kind for kind in (list, tuple, dict) if isinstance(self.holder, kind))


def items_of(frame: FrameType) -> dict[str, Item]:
    """The places that hold a number or a tuple of them, by how the function writes them."""
    items: dict[str, Item] = {}
    seen: set[int] = set()
    pending = [(n, v) for n, v in frame.f_locals.items() if n[0] != "." and n not in frame.f_code.co_freevars]
    for name, value in pending:
        if id(value) in seen:
            continue
        seen.add(id(value))
        members: list[tuple[Any, str]] = []
        holder: Any = value
        if isinstance(value, list | tuple):
            members = [(i, f"{name}[{i}]") for i in range(len(value))]
        elif isinstance(value, dict):
            members = [(key, f"{name}[{key!r}]") for key in value]
        elif hasattr(value, "__dict__") and not isinstance(value, type) and not is_of_library(type(value)):
            holder = vars(value)
            members = [(key, f"{name}.{key}") for key in holder]
        for key, spelling in members:
            item = Item(holder, key)
            if isinstance(holder, tuple) or numbers_of(item.cell_contents) is None:
                pending.append((spelling, item.cell_contents))
            else:
                items[spelling] = item
    return items
