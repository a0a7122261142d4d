"""What a kernel can say beyond the vocabulary of tensors: control flow, functions, atomics, collectives, printing."""
