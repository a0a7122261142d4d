"""The tracing front end: kernels written as Python functions over tensors."""
