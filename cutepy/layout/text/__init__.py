"""Layouts as text: one grammar for all notations and calls, writers, grids, explanations."""
