"""What runs or prints lowered IR: the WGSL printer and the NumPy interpreter."""
