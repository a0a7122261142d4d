"""What a layout is: int tuples, coordinates, strides, layouts, swizzles. Data and evaluation; nothing reaches up."""
