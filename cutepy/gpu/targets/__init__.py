"""What runs or prints lowered IR: printers of WGSL and CUDA C++, the NumPy interpreter; `export`, for other hosts."""
