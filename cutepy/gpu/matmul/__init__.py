"""Matrix products by kernels: one plan, the kernels that follow it, a cost model, a tuner. `ops.matmul` runs them."""

from .api import explain_matmul, matmul, of_8_bits
from .contraction import summed_products
from .epilogue import EpilogueLike
from .plan import MatrixPlan, Plan, Sums
from .tuner import tune

__all__ = [
    "EpilogueLike",
    "MatrixPlan",
    "Plan",
    "Sums",
    "explain_matmul",
    "matmul",
    "of_8_bits",
    "summed_products",
    "tune",
]
