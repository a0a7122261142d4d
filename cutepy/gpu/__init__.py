"""Kernels: the IR, what reads, prints and runs it, the tracing front end and the operations built on them."""
