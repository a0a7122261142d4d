"""Every kind of picture, drawn into a folder: `python examples/gallery.py [FOLDER] [--suffix .svg] [--check]`.

The folder is docs/img unless another is named. `--check` writes nothing and fails if a picture is missing or differs,
which is how the committed ones are kept true.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cutepy.draw import Banks, Drawing, Memory, Steps, Swizzled, ThreadValue, Tiles, Tree, draw, steps
from cutepy.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    _,
    blocked_product,
    coalesce,
    complement,
    composition,
    logical_divide,
    make_identity_layout,
    raked_product,
    zipped_divide,
)
from cutepy.tensor import (
    COPY_ATOMS,
    MMA_ATOMS,
    local_tile,
    make_gmem_ptr,
    make_layout_tv,
    make_tensor,
    make_tiled_copy,
    universal_copy,
)

ROW_MAJOR = Layout((8, 8), (8, 1))
NESTED = Layout(((2, 2), (4, 2)), ((1, 8), (2, 16)))
MATRIX = make_tensor(make_gmem_ptr(np.arange(30, dtype=np.float32) / 4, name="A"), (5, 6))
WAVE = make_tensor(make_gmem_ptr(np.sin(np.arange(48, dtype=np.float32) / 4), name="wave"), (6, 8))
PART = Layout(((4, 2), (2, 4)), ((16, 1), (8, 2)))
"""Eight threads of eight values each over a tile of 8 x 8."""


def thread_value() -> Drawing:
    """32 threads with four values each, as `make_layout_tv` deals them out."""
    tile, layout_tv = make_layout_tv(Layout((4, 8), (8, 1)), Layout((2, 2)))
    return draw(layout_tv, view=ThreadValue(tile))


GALLERY: dict[str, Callable[[], Drawing]] = {
    "layout": lambda: draw(ROW_MAJOR),
    "nested": lambda: draw(NESTED),
    "vector": lambda: draw(Layout(((4, 2),), ((2, 1),))),
    "rank3": lambda: draw(Layout((2, 4, 3), (4, 1, 8))),
    "slice": lambda: draw(NESTED, color="none", highlight=((1, _), (_, 0))),
    "coordinates": lambda: draw(ROW_MAJOR, label="coordinate", color="row"),
    "identity": lambda: draw(make_identity_layout((4, (2, 2)))),
    "corners": lambda: draw(Layout((1000, 1000)), limit=256),
    "thread_value": thread_value,
    "shared": lambda: draw(Layout((8, 4), (0, 1)), view=ThreadValue(4)),
    "holes": lambda: draw(Layout((4, 2), (1, 8)), view=ThreadValue((4, 4))),
    "partition": lambda: draw(Layout((4, 2, (2, 2)), (1, 4, (8, 16))), view=ThreadValue((4, 8))),
    "memory": lambda: draw(Layout((4, 4), (1, 6)), view=Memory()),
    "overlap": lambda: draw(Layout((4, 4), (1, 2)), view=Memory(), label="index"),
    "tiles": lambda: draw(ROW_MAJOR, view=Tiles((4, 2))),
    "one_tile": lambda: draw(Layout((16, 16), (16, 1)), tiler=(8, 8), tile=(0, 1), threads=PART, thread=5),
    "banks": lambda: draw(Layout((8, 16), (32, 1)), view=Banks(element_bytes=4)),
    "swizzle": lambda: draw(ComposedLayout(Swizzle(3, 0, 3), 0, ROW_MAJOR), view=Swizzled()),
    "conflict_free": lambda: draw("S<5,0,5> o 0 o (32,32):(32,1)", view="banks", heads="none", label="none"),
    "bits": lambda: draw(Swizzle(3, 4, 3)),
    "tree": lambda: draw(Layout(((4, (2, 3)), 8), ((1, (4, 8)), 24)), view=Tree()),
    "coalesce": lambda: draw(steps(coalesce, Layout((2, (1, 6)), (1, (6, 2)))), view=Steps()),
    "composition": lambda: draw(steps(composition, Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))), view=Steps()),
    "complement": lambda: draw(steps(complement, Layout((2, 2), (1, 6)), 24), view=Steps()),
    "logical_divide": lambda: draw(steps(logical_divide, ROW_MAJOR, (4, 2)), view=Steps()),
    "zipped_divide": lambda: draw(steps(zipped_divide, ROW_MAJOR, (4, 4)), view=Steps()),
    "blocked_product": lambda: draw(steps(blocked_product, Layout((2, 5), (5, 1)), Layout((3, 4))), view=Steps()),
    "raked_product": lambda: draw(steps(raked_product, Layout((2, 5), (5, 1)), Layout((3, 4))), view=Steps()),
    "tensor": lambda: draw(MATRIX),
    "heat": lambda: draw(WAVE, color="value"),
    "guard": lambda: draw(local_tile(MATRIX, (4, 4), (1, 1))),
    "mma_atom": lambda: draw(MMA_ATOMS["sm_75.mma.m16n8k8.f32.f16.f16.f32"]),
    "ldmatrix": lambda: draw(COPY_ATOMS["sm_75.ldmatrix.m8n8.x1.b16"]),
    "tiled_copy": lambda: draw(make_tiled_copy(universal_copy(4), Layout((8, 4), (4, 1)), Layout((1, 4)))),
}
"""Name and maker of every picture."""


def main() -> int:
    """Draw the gallery, or compare it with what is there; 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent.parent / "docs" / "img")
    parser.add_argument("--suffix", default=".svg", help=".svg, .html, .txt, .tex or .png")
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a picture is missing or differs")
    options = parser.parse_args()
    stale = []
    if not options.check:
        options.folder.mkdir(parents=True, exist_ok=True)
    for name, make in GALLERY.items():
        path = options.folder / f"{name}{options.suffix}"
        made = make().encoded(options.suffix)
        if not options.check:
            path.write_bytes(made)
        elif not path.is_file() or path.read_bytes() != made:
            stale.append(str(path))
    if stale:
        print(f"{len(stale)} pictures are stale: {', '.join(stale)}; run {Path(__file__).name}", file=sys.stderr)
        return 1
    print(f"{len(GALLERY)} pictures {'are as they are drawn' if options.check else 'drawn into'} {options.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
