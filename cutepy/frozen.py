"""`dataclass(frozen=True)` for what is made by the thousand: a trace, and a proof, make many small values."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(**options: bool) -> Callable[[type], type]:
        """Frozen where types are checked, not where it runs: Python takes three times as long to make one that is."""
        return dataclasses.dataclass(**options | {"frozen": False})
