# %% [markdown]
# # A diagram in a paper
#
# `python examples/tour/paper.py [FOLDER]` writes two figures as TikZ, a paper that includes them, and the same figures
# as SVG for the talk. The numbers in them cannot be wrong, for nobody typed them.

# %%
import sys
from pathlib import Path

from cutepy import Layout, Swizzle, composition, draw, make_composed_layout, make_layout_tv
from cutepy.draw import Steps, Style, ThreadValue, steps

folder = Path(sys.argv[1] if len(sys.argv) == 2 else "paper")
folder.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# ## Figures
#
# For print: the light palette, no background, no title, since the caption says what is shown.

# %%
PRINT = Style(theme="light", background=False, title="")
tile, layout_tv = make_layout_tv(Layout((4, 8), (8, 1)), Layout((2, 2)))
swizzled = make_composed_layout(Swizzle(2, 0, 3), 0, Layout((4, 8), (8, 1)))
left, right = Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))

FIGURES = {
    "partition": (
        draw(layout_tv, view=ThreadValue(tile), style=PRINT),
        f"The thread-value layout $\\texttt{{{layout_tv}}}$ over a tile of ${tile[0]} \\times {tile[1]}$.",
    ),
    "composition": (
        draw(steps(composition, left, right), view=Steps(), style=PRINT),
        f"$\\texttt{{{left}}} \\circ \\texttt{{{right}}} = \\texttt{{{composition(left, right)}}}$.",
    ),
    "swizzle": (
        draw(swizzled, view="swizzle", style=PRINT),
        f"The tile $\\texttt{{{swizzled.inner}}}$, before and after $S\\langle 2,0,3 \\rangle$.",
    ),
}
for name, (picture, _caption) in FIGURES.items():
    (folder / f"{name}.tex").write_text(picture.tikz(body=True))
    picture.save(folder / f"{name}.svg")

# %% [markdown]
# ## The paper
#
# A `tikzpicture` scales to the column with `adjustbox` or `resizebox`.

# %%
FIGURE = r"""\begin{figure}
  \centering
  \resizebox{%(width)s\linewidth}{!}{\input{%(name)s}}
  \caption{%(caption)s}
\end{figure}
"""
figures = "".join(
    FIGURE % {"name": name, "caption": caption, "width": "0.7" if name == "partition" else ""}
    for name, (_picture, caption) in FIGURES.items()
)
PREAMBLE = r"\documentclass{article}" + "\n" + r"\usepackage{tikz,graphicx}" + "\n"
(folder / "paper.tex").write_text(f"{PREAMBLE}\\begin{{document}}\n{figures}\\end{{document}}\n")
print("wrote", ", ".join(sorted(path.name for path in folder.iterdir())), "in", folder)
