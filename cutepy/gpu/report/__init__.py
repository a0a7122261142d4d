"""What a kernel asks of a machine: bytes, memory transactions, bank conflicts, operations - counted, not sampled.

Everything follows from the kernel's index arithmetic, so a report needs no device and no data.
"""

from .figures import AccessFigures as AccessFigures
from .figures import ArrayFigures as ArrayFigures
from .figures import Hardware as Hardware
from .figures import Report as Report
from .measure import report as report
