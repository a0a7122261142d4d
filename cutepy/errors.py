"""What cutepy raises. Each kind is also the builtin that a caller expects.

A message holds the call with its operands, the failing part with its numbers, and a way out.
"""


class CutepyError(Exception):
    """The root of every error that cutepy raises on purpose."""


class LayoutError(CutepyError, ValueError):
    """An operand of the layout algebra, or the pair of them, does not have the asked-for property."""


class CompositionError(LayoutError):
    """A composition is not a layout.

    `witness` is the coordinate of the right operand where no layout can hold, `values` what the composition is there and
    what a layout would have to be, `clause` the condition that failed: "stride", "shape" or "carry".
    """

    def __init__(self, message: str, witness: object, values: tuple[object, object], clause: str) -> None:
        self.witness, self.values, self.clause = witness, values, clause
        super().__init__(message)


class CoordinateError(CutepyError, IndexError):
    """A coordinate does not fit the shape: nested in another way, or out of range."""


class NotationError(LayoutError):
    """A text is not a layout. `column` (from 0) is where reading stopped; the message carries a caret."""

    def __init__(self, message: str, text: str = "", column: int = 0) -> None:
        self.text, self.column = text, column
        super().__init__(f"{message}\n  {text}\n  {' ' * column}^" if text else message)


class TensorError(CutepyError, ValueError):
    """A tensor, or an algorithm over tensors, got operands that it cannot serve."""


class KernelError(CutepyError, ValueError):
    """A kernel cannot be traced, printed or launched as written."""


class VerificationError(KernelError):
    """A kernel was refuted: the message names the invocations and the address."""


class DeviceError(CutepyError, RuntimeError):
    """No adapter, a lost device, memory that ran out, or a limit of the device exceeded."""


class DrawError(CutepyError, ValueError):
    """A thing cannot be drawn as asked."""


class CommandError(CutepyError, ValueError):
    """The command line was used wrongly; `cutepy` exits with code 2."""
