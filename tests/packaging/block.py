"""To import this is to have no numpy, sympy or wgpu, nor what only the docs' site needs, which `make test` has not."""

import sys

PACKAGES = ("numpy", "sympy", "wgpu", "wgpudawn", "pymdownx")


class Blocked:
    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in PACKAGES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Blocked())
