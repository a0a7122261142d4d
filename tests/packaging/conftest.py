"""What takes packages away is loaded by the Pythons that are to miss them alone."""

collect_ignore = ["block.py", "blocked.py"]
"""Doctests are looked for in every module, which imports it."""
