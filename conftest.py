"""What pytest leaves out: modules for tools that are not installed here."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("sphinx") else ["cutepy/sphinxext.py"]
