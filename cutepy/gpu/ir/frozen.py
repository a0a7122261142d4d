"""Dataclasses that are frozen where types are checked, and not where they run: Python takes three times as long to make
one that is, and a trace makes thousands."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(**options: bool) -> Callable[[type], type]:
        """As `dataclasses.dataclass`."""
        return dataclasses.dataclass(**options | {"frozen": False})
