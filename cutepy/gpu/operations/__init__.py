"""Operations on whole tensors, each a kernel over partitioned tensors: elementwise, copies, reductions, softmax.

`operand` says what may be given and where results go, `domain` how several layouts are walked at once; on these rest
`pointwise` (with `formula`), `copies`, `fold`, `reductions` and `softmax`.
"""
