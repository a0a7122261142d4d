"""Chains of operations as one kernel: `chains` has their kernels, `block` `gpu.fused`, which makes them."""

from .block import Fused, fused
from .chains import FusedChain, chain_of

__all__ = ["Fused", "FusedChain", "chain_of", "fused"]
