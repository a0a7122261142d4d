"""Arrays over many devices: a placement is a layout from (device, local coordinate) to the array's coordinates.

`Placement` answers who holds what, `redistribution` plans the collectives from one placement to another. Both ways to
PyTorch's DTensor and JAX's shardings; torch and jax are imported only there.
"""

from .dtensor import from_dtensor, to_dtensor
from .named_sharding import from_named_sharding, from_partition_spec, to_partition_spec
from .placement import Holders, Partial, Placement
from .plan import Certificate, Collective, Plan, Step, redistribution, transfers

__all__ = [
    "Certificate",
    "Collective",
    "Holders",
    "Partial",
    "Placement",
    "Plan",
    "Step",
    "from_dtensor",
    "from_named_sharding",
    "from_partition_spec",
    "redistribution",
    "to_dtensor",
    "to_partition_spec",
    "transfers",
]
