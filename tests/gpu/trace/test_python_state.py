"""`python_state`: what code reads and sets outside, from its byte code."""

from cutepy.gpu.trace.python_state import references


def test_a_module_that_code_imports_is_told_by_its_name_and_one_of_its_own_package_by_none() -> None:
    def imported(text: str) -> tuple[str, ...]:
        return references(compile(text, "<text>", "exec")).imported

    for text in ("import os.path", "import os.path as p", "from os.path import join", "from os.path import *"):
        assert imported(text) == ("os.path",)
    for text in ("from . import a", "from .os import path", "from ..os.path import join as j"):
        assert imported(text) == ("",)
    assert imported("import os\ndef f():\n    from .a import b\n    import re") == ("os", "", "re")
