"""WGSL of others, read into the IR: the proofs that cutepy has of its own kernels, of any compute shader."""

from .declared import Bindings
from .shader import read_shader, verify_shader

__all__ = ["Bindings", "read_shader", "verify_shader"]
