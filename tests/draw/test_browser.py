"""Chromium looks at the gallery: labels in their cells and clear of one another, tooltips, both themes, no requests."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from chromium import Page
from colors import contrast

from cutepy.docs import figure
from cutepy.draw import Drawing, Style, ThreadValue, draw

GEOMETRY = """
(() => {
  const box = e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; };
  const texts = [...document.querySelectorAll('svg text')];
  const labels = texts.filter(t => !t.closest('.h, .l, .t'));
  const cells = [...document.querySelectorAll('svg path')].filter(p => p.querySelector('title'));
  const color = e => getComputedStyle(e).fill;
  return {
    view: box(document.querySelector('svg')),
    texts: texts.map(t => ({text: t.textContent, box: box(t)})),
    labels: labels.map(t => {
      const b = t.getBoundingClientRect();
      const under = document.elementFromPoint((b.left + b.right) / 2, (b.top + b.bottom) / 2);
      const here = under && under.matches(t.closest('.k') ? '.f' : ':has(title)');
      return {text: t.textContent, box: box(t), cell: here ? box(under) : null,
              ink: color(t), paint: under ? color(under) : ''};
    }),
    hints: cells.map(c => {
      const b = c.getBoundingClientRect();
      const under = document.elementFromPoint((b.left + b.right) / 2, (b.top + b.bottom) / 2);
      return under === c;
    }),
  };
})()
"""


def overlaps(one: list[float], other: list[float]) -> bool:
    """True if two boxes share more than a hair."""
    return min(one[2], other[2]) - max(one[0], other[0]) > 0.5 and min(one[3], other[3]) - max(one[1], other[1]) > 0.5


def inside(inner: list[float], outer: list[float]) -> bool:
    """True if a box is in another, give or take half a pixel."""
    return (
        inner[0] >= outer[0] - 0.5
        and inner[1] >= outer[1] - 0.5
        and inner[2] <= outer[2] + 0.5
        and inner[3] <= outer[3] + 0.5
    )


def hexadecimal(color: str) -> str:
    """`rgb(1, 2, 3)` as six digits."""
    return bytes(int(part) for part in color[4:-1].split(",")).hex()


def test_svg(picture: tuple[str, Callable[[], Drawing]], page: Page, tmp_path: Path) -> None:
    path = picture[1]().save(tmp_path / "picture.svg")
    page.requests.clear()
    page.dark(False)
    page.resize(2600, 2600)
    page.open(path)
    found = page.evaluate(GEOMETRY)
    page.dark(True)  # in which the labels stand where they stood
    in_the_dark = page.evaluate(GEOMETRY)["labels"]
    texts = sorted(found["texts"], key=lambda text: text["box"][1])
    assert texts
    for place, text in enumerate(texts):
        assert inside(text["box"], found["view"]), text
        for other in texts[place + 1 :]:
            if other["box"][1] > text["box"][3]:
                break
            assert not overlaps(text["box"], other["box"]), (text, other)
    for label in found["labels"]:
        assert label["cell"] is not None, label
        assert inside(label["box"], label["cell"]), label
    assert len(in_the_dark) == len(found["labels"]) and in_the_dark != found["labels"]
    for label in [*found["labels"], *in_the_dark]:
        assert contrast(hexadecimal(label["ink"]), hexadecimal(label["paint"])) >= 4.5, label
    assert all(found["hints"]), "a cell whose tooltip cannot be reached"
    assert {address.partition(":")[0] for address in page.requests} <= {"file", "about"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nested", "((0,0),(0,0)) → index 0 → 0·1 + 0·8 + 0·2 + 0·16 = 0"),
        ("swizzle", "(0,0) → index 0 → 0·8 + 0·1 = 0"),
        ("thread_value", "(0,0) → T0 V0 → "),
        ("tree", "the whole: ((4,(2,3)),8)"),
    ],
)
def test_html_tells_how_a_value_comes_about(name: str, words: str, page: Page, tmp_path: Path) -> None:
    from gallery import GALLERY

    drawing = GALLERY[name]()
    page.resize(1600, 1200)
    page.open(drawing.save(tmp_path / "picture.html"))
    shown = "[...document.querySelectorAll('td span')].filter(s => getComputedStyle(s).display !== 'none')"
    page.point_at(1590, 1190)
    assert page.evaluate(f"{shown}.length") == 0
    cells = "[...document.querySelectorAll('td')].filter(t => t.querySelector('span'))"
    count = page.evaluate(f"{cells}.length")
    for place in {0, int(count) // 2, int(count) - 1}:
        left, top, right, bottom = page.evaluate(
            f"[{cells}[{place}].getBoundingClientRect()].map(r => [r.left, r.top, r.right, r.bottom])[0]"
        )
        page.point_at((left + right) / 2, (top + bottom) / 2)
        assert page.evaluate(f"{shown}.length") == 1
        said = page.evaluate(f"{shown}[0].textContent")
        assert said == words or place or (words.endswith(" ") and said.startswith(words))
        box, view = page.evaluate(
            f"[{shown}[0], document.querySelector('figure')].map(e => {{ const r = e.getBoundingClientRect();"
            " return [r.left, r.top, r.right, r.bottom]; })"
        )
        assert inside(box, view)
        assert page.evaluate(f"[...document.querySelectorAll('td')].every(t => !({_overlap(box)})(t))")
    page.evaluate(f"{cells}[0].focus()")
    page.point_at(1590, 1190)
    assert page.evaluate(f"{shown}.length") == 1


def _overlap(box: list[float]) -> str:
    """JavaScript: does a cell lie under the read-out?"""
    left, top, right, bottom = box
    return (
        f"t => {{ const r = t.getBoundingClientRect(); return r.left < {right} && r.right > {left}"
        f" && r.top < {bottom} && r.bottom > {top}; }}"
    )


def test_html_has_two_themes_and_asks_for_nothing(page: Page, tmp_path: Path) -> None:
    from gallery import GALLERY

    path = GALLERY["tiles"]().save(tmp_path / "picture.html")
    page.requests.clear()
    colors = []
    style = "t => [getComputedStyle(t).color, getComputedStyle(t).backgroundColor]"
    for dark in (False, True):
        page.dark(dark)
        page.open(path)
        colors.append(page.evaluate(f"[...document.querySelectorAll('td')].map({style})"))
    for light, dark in zip(*colors, strict=True):
        assert light != dark
        assert contrast(*map(hexadecimal, light)) >= 4.5
        assert contrast(*map(hexadecimal, dark)) >= 4.5
    assert {address.partition(":")[0] for address in page.requests} == {"file"}


def test_several_pictures_on_one_page_do_not_change_one_another(page: Page, tmp_path: Path) -> None:
    from gallery import GALLERY

    names = ["layout", "thread_value", "tiles", "tree", "slice"]
    alone = {}
    fills = "[...document.querySelectorAll('svg')].map(s => [...s.querySelectorAll('path,text')].map(e => {"
    fills += " const c = getComputedStyle(e); return [c.fill, c.stroke, c.strokeWidth, c.fontSize, c.textAnchor]; }))"
    page.dark(False)
    for name in names:
        page.open(GALLERY[name]().save(tmp_path / f"{name}.svg"))
        (alone[name],) = page.evaluate(fills)
    together = tmp_path / "together.html"
    together.write_text("<!doctype html><meta charset=utf-8>" + "".join(GALLERY[name]().svg() for name in names))
    page.open(together)
    assert page.evaluate(fills) == [alone[name] for name in names]


FILLS = (
    "[...document.querySelectorAll('svg')].map(s => [getComputedStyle(s).fill, ...[...s.querySelectorAll('g[class]')]"
)
FILLS += ".map(g => getComputedStyle(g).fill)])"
SWITCHES = {
    "Material": '<body data-md-color-scheme="{}" style="color-scheme:{scheme}">',
    "Furo": '<body data-theme="{}" style="color-scheme:{scheme}">',
    "a theme of one's own": '<body data-theme="{}">',
    "JupyterLab": '<body data-jp-theme-light="{}">',
}
WORDS = {"Material": ("default", "slate"), "JupyterLab": ("true", "false")}


def embedded(folder: Path, body: str, *pictures: str) -> Path:
    path = folder / "page.html"
    path.write_text(f"<!doctype html><meta charset=utf-8>{body}{''.join(pictures)}", encoding="utf-8")
    return path


@pytest.mark.parametrize("system", [False, True], ids=["light", "dark"])
def test_a_picture_follows_the_switch_of_its_page(system: bool, page: Page, tmp_path: Path) -> None:
    picture = draw("((4,8),(2,2)):((32,1),(16,8))", view=ThreadValue((16, 8)))
    page.dark(system)
    cells = "[...document.querySelectorAll('td')].map(t => getComputedStyle(t).backgroundColor)"
    for dark, scheme in enumerate(("light", "dark")):
        fixed = Drawing(picture.figure, Style(theme=scheme))
        page.open(embedded(tmp_path, "<body>", fixed.html()))
        wanted = page.evaluate(cells)
        for theme, body in SWITCHES.items():
            word = WORDS.get(theme, ("light", "dark"))[dark]
            here = body.format(word, scheme=scheme)
            page.open(embedded(tmp_path, here, picture.svg(), fixed.svg(), picture.html()))
            followed, as_fixed = page.evaluate(FILLS)
            assert followed == as_fixed, (theme, scheme)
            assert page.evaluate(cells) == wanted, (theme, scheme)


def test_a_page_that_knows_no_dark_has_no_dark_pictures(page: Page, tmp_path: Path) -> None:
    picture = draw("(4,8):(8,1)")
    page.dark(True)
    page.open(embedded(tmp_path, "<body>", picture.svg(), Drawing(picture.figure, Style(theme="light")).svg()))
    followed, fixed = page.evaluate(FILLS)
    assert followed == fixed


@pytest.mark.parametrize("form", ["svg", "html"])
def test_pictures_of_two_themes_on_one_page_differ(form: str, page: Page, tmp_path: Path) -> None:
    figure = draw("(4,8):(8,1)").figure
    light, dark, follows = (getattr(Drawing(figure, Style(theme=theme)), form)() for theme in ("light", "dark", "auto"))
    paints = "[...document.querySelectorAll('svg,.cutepy-html')].map(s => [...s.querySelectorAll('g[class],td')].map("
    paints += "e => [getComputedStyle(e).fill, getComputedStyle(e).backgroundColor, getComputedStyle(e).color]))"
    for order in ((light, dark, follows), (follows, dark, light), (dark, follows, light)):
        page.open(embedded(tmp_path, '<body data-theme="light">', *order))
        seen = dict(zip(order, page.evaluate(paints), strict=True))
        assert seen[light] == seen[follows]
        assert all(one != other for one, other in zip(seen[light], seen[dark], strict=True))


def test_html_without_its_styles_is_legible(page: Page, tmp_path: Path) -> None:
    picture = draw("(4,8):(8,1)", color="row").html()
    bare = re.sub(r"<style>.*?</style>", "", picture)
    page.dark(False)
    page.open(embedded(tmp_path, "<body>", bare))
    cells = "[...document.querySelectorAll('td')].map(t => getComputedStyle(t).backgroundColor)"
    stripped = page.evaluate(cells)
    assert page.evaluate("[...document.querySelectorAll('td span')].every(s => getComputedStyle(s).display === 'none')")
    page.open(embedded(tmp_path, "<body>", picture))
    assert page.evaluate(cells) == stripped
    assert len(set(stripped)) == 4


def test_labels_stay_readable_on_a_phone(page: Page, tmp_path: Path) -> None:
    """At 390 pixels, though the theme shrinks pictures to the width of the page."""
    from gallery import GALLERY

    shrink = "<style>img,svg,video{max-width:100%;height:auto}</style><body>"
    page.resize(390, 844)
    figures = [figure(make(), {}, 'class="cutepy"', "") for make in GALLERY.values()]
    page.open(embedded(tmp_path, shrink, *figures))
    sizes = page.evaluate(
        "[...document.querySelectorAll('svg')].map(s => Math.min(...[...s.querySelectorAll('text')].map(t =>"
        " parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a)))"
    )
    small = {name: size for name, size in zip(GALLERY, sizes, strict=True) if not size >= 9}
    assert not small and page.evaluate("document.documentElement.scrollWidth") <= 390


JUPYTERLAB = """
.jp-RenderedHTMLCommon{font-family:serif;font-size:14px;line-height:1.6;padding-right:20px}
.jp-RenderedHTMLCommon table{border-collapse:collapse;border-spacing:0;border:none;font-size:12px;table-layout:fixed;
  margin-left:auto;margin-right:auto;margin-bottom:1em}
.jp-RenderedHTMLCommon :is(td,th,tr){vertical-align:top;padding:0.5em;line-height:normal;white-space:normal;
  max-width:none;border:none}
:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon :is(td,th,tr){text-align:right}
.jp-RenderedHTMLCommon tbody tr:nth-child(odd){background:#fff}
.jp-RenderedHTMLCommon tbody tr:nth-child(even){background:#f5f5f5}
.jp-RenderedHTMLCommon tbody tr:hover{background:#e1f0fa}
"""
"""What JupyterLab's style sheet says of tables in outputs, at the weight that it has there."""
HEADS = """(() => {
  const middle = (e) => { const b = e.getBoundingClientRect(); return b.left + b.width / 2; };
  const texts = (e) => { const r = document.createRange(); r.selectNodeContents(e.firstChild); return middle(r); };
  const wrong = [];
  for (const table of document.querySelectorAll('table')) {
    const below = [...table.querySelectorAll('tr')].find((row) => row.querySelector('td')).querySelectorAll('td');
    for (const row of table.querySelectorAll('tr')) {
      if (row.querySelector('td')) continue;
      let column = 0;
      for (const head of row.querySelectorAll('th')) {
        if (!head.textContent) continue;
        const own = [...below].slice(column, (column += head.colSpan));
        const [first, last] = [own[0], own.at(-1)].map((e) => e.getBoundingClientRect());
        if (Math.abs(texts(head) - (first.left + last.right) / 2) > 2) wrong.push(`head ${head.textContent}`);
      }
    }
    for (const cell of table.querySelectorAll('td'))
      if (cell.textContent && Math.abs(texts(cell) - middle(cell)) > 2) wrong.push(`cell ${cell.textContent}`);
    for (const row of table.querySelectorAll('tr'))
      if (getComputedStyle(row).backgroundColor !== 'rgba(0, 0, 0, 0)') wrong.push('a stripe');
  }
  return wrong;
})()"""


@pytest.mark.parametrize("theme", ["auto", "dark"])
@pytest.mark.parametrize("host", ["", JUPYTERLAB], ids=["alone", "JupyterLab"])
def test_heads_stand_over_their_columns_whatever_the_host_says_of_tables(
    page: Page, tmp_path: Path, host: str, theme: str
) -> None:
    shown = draw("((2,2),(2,(2,2))):((1,8),(2,(4,16)))", theme=theme).html()  # type: ignore[arg-type]
    path = tmp_path / "output.html"
    body = f'<div class="jp-RenderedHTMLCommon jp-RenderedHTML">{shown}</div>'
    path.write_text(f"<!doctype html><meta charset=utf-8><style>{host}</style>{body}", encoding="utf-8")
    page.open(path)
    assert page.evaluate(HEADS) == []
