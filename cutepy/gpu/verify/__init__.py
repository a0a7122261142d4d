"""Is a kernel correct for every invocation? Decided from its index arithmetic, before it runs.

`verify` answers with verdicts: each claim is proven, refuted with the invocations and the address, or undecided with
the reason. What memory holds is never guessed to be harmless.
"""

from .claims import CHECKS as CHECKS
from .claims import check_matrices as check_matrices
from .claims import needs_checks as needs_checks
from .claims import verify as verify
from .verdict import Use as Use
from .verdict import Verdict as Verdict
from .verdict import Verification as Verification
from .verdict import Witness as Witness
