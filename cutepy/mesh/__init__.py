"""Arrays over many devices: a placement is a layout from (device, local coordinate) to the array's coordinates.

`Placement` answers who holds what, `redistribution` plans the collectives from one placement to another; `draw` shows
both. Both ways to
PyTorch's DTensor and JAX's shardings; torch and jax are imported only there.
"""

from .dtensor import from_dtensor, to_dtensor
from .named_sharding import from_named_sharding, from_partition_spec, to_partition_spec
from .picture import PlacementView, PlanView
from .placement import Holders, Partial, Placement
from .plan import Collective, CollectiveStep, PlanCertificate, RedistributionPlan, redistribution
from .transfers import transfers

__all__ = [
    "Collective", "CollectiveStep", "Holders", "Partial", "Placement", "PlacementView", "PlanCertificate", "PlanView",
    "RedistributionPlan", "from_dtensor", "from_named_sharding", "from_partition_spec", "redistribution", "to_dtensor",
    "to_partition_spec", "transfers",
]  # fmt: skip
