"""The newcomer's path uses no word of the glossary before it says what it means, or links to where that is said."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
PATH = tuple(ROOT / name for name in ("README.md", "docs/what-is-a-layout.md", "docs/start.md"))
"""In the order of reading. The first own picture and the first own kernel are parts of the last."""

GROWN = ("attention", "layer_norm", "scan", "top_k", "int4", "dropout", "fft", "convolution")
FURTHER = (
    "algebra/layouts",
    "algebra/swizzle",
    "tensors",
    "kernels",
    *(f"kernels/{path.stem}" for path in sorted((ROOT / "docs" / "kernels").glob("*.md"))),
    "diagrams",
    *(f"examples/{name}" for name in GROWN),
)
"""What is read next, in any order."""

NO_PROSE = re.compile(r"^(`{3,}).*?^\1$|<!--.*?-->|`[^`\n]*`|!\[[^\]]*\]\([^)]*\)", re.MULTILINE | re.DOTALL)
EMPHASIS = re.compile(r"(?<![*\w])\*([^*\n]{1,40})\*(?![*\w])")
LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


def terms(text: str) -> dict[str, str]:
    """Every word that the glossary explains, with the anchor of its entry."""
    found = {}
    for heading in re.findall(r"^### (.+)$", text, re.MULTILINE):
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found |= dict.fromkeys(heading.lower().split(", "), anchor)
    return found


def early(pages: list[str], glossary: dict[str, str]) -> list[str]:
    """The words of the glossary whose first use explains nothing: not `*word*`, nor a link to the entry."""
    prose = "\n\n".join(NO_PROSE.sub(" ", page) for page in pages)
    wrong = []
    for word, anchor in sorted(glossary.items(), key=lambda entry: -len(entry[0])):
        plain = re.escape(word).replace(r"\ ", r"[\s-]+")
        pattern = re.compile(rf"(?<![\w-])({plain})(?:e?s)?(?![\w-])", re.IGNORECASE)
        explained = [span.span() for span in EMPHASIS.finditer(prose) if pattern.fullmatch(span[1])]
        explained += [span.span(1) for span in LINK.finditer(prose) if span[2].endswith(f"glossary.md#{anchor}")]
        targets = [span.span(2) for span in LINK.finditer(prose)]
        for use in pattern.finditer(prose):
            if any(start <= use.start() < end for start, end in targets):
                continue
            if not any(start <= use.start() < end for start, end in explained):
                wrong.append(f"{word}: ...{prose[max(0, use.start() - 40) : use.end() + 20]!r}")
            break
        prose = pattern.sub(lambda found: "_" * len(found[0]), prose)  # a bank conflict is no use of bank
    return wrong


def test_no_word_comes_before_its_explanation() -> None:
    glossary = terms(GLOSSARY.read_text())
    assert len(glossary) > 50
    assert not early([page.read_text() for page in PATH], glossary)


@pytest.mark.parametrize("name", FURTHER)
def test_a_page_after_the_path_needs_no_other(name: str) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text()
    assert not early([*(page.read_text() for page in PATH), page], terms(GLOSSARY.read_text()))


def test_what_the_path_explains_is_in_the_glossary() -> None:
    glossary = terms(GLOSSARY.read_text())
    for page in PATH:
        for span in EMPHASIS.finditer(NO_PROSE.sub(" ", page.read_text())):
            word = span[1].lower()
            known = any(word in (form, f"{form}s") for form in glossary)
            assert known or len(word.split()) > 3 or word.endswith(":"), f"{page.name}: *{span[1]}*"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("A *tile* is a piece. Tiles are many.", []),
        ("A tile is a piece.", ["tile"]),
        ("Tiles come first; a *tile* is a piece.", ["tile"]),
        ("See [tiles](glossary.md#tile), then a tile.", []),
        ("See [tiles](tensors.md#tile).", ["tile"]),
        ("`tile` and\n```\ntile\n```\nare code.", []),
        ("A *bank conflict* is slow. A *bank* is a column.", []),
        ("A *bank conflict* is slow. A bank is a column.", ["bank"]),
        ("See [this](tile.md), of textiles.", []),
        ("*A sentence about a tile.*", ["tile"]),
    ],
)
def test_what_counts_as_an_explanation(text: str, wrong: list[str]) -> None:
    glossary = {"tile": "tile", "bank": "bank", "bank conflict": "bank-conflict"}
    assert [found.partition(":")[0] for found in early([text], glossary)] == wrong


def test_links_to_entries_exist() -> None:
    anchors = set(terms(GLOSSARY.read_text()).values()) | {"where-it-comes-from"}
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for to in re.findall(r"glossary\.md#([\w-]+)", page.read_text()):
            assert to in anchors, f"{page.name}: glossary.md#{to}"
