"""Sizes that are known later: facts, what follows from them, operations on layouts that have them."""
