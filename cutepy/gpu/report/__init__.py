"""What a kernel asks of a machine: bytes, memory transactions, bank conflicts, operations - counted, not sampled.

Everything follows from the kernel's index arithmetic, so a report needs no device and no data.
"""

from .measure import AccessFigures as AccessFigures
from .measure import ArrayFigures as ArrayFigures
from .measure import Hardware as Hardware
from .measure import Report as Report
from .measure import report as report
