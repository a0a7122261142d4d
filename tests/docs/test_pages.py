"""The pages as they are written: every fence runs or is known not to, every name is in the reference, links exist."""

import importlib
import importlib.util
import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import cutepy
from cutepy.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUN = {"python", "text", "wgsl", "console", "layout", "kernel"}
SHOWN = {
    "sh": "changes the machine, or says what the machine has",
    "toml": "compared with zensical.toml below",
    "yaml": "for MkDocs, where tests/docs_hooks builds with it; for Quarto, pre-commit and GitHub, compared below",
    "rst": "for Sphinx; tests/docs_hooks builds with it",
    "markdown": "the source of the fence after it, compared below",
    "js": "a page's own script; tests/browser/test_export.py runs it",
    "c": "examples/hosts; tests/gpu/targets/export/test_hosts.py compiles and runs it",
    "rust": "examples/hosts; tests/gpu/targets/export/test_hosts.py says how far it runs",
    "py": "a script of examples/ that runs there, or a line of a conf.py",
}
FENCE = re.compile(r"^(?P<marks>`{3,})(?P<language>.*)\n(?P<body>(?:.*\n)*?)(?P=marks)$", re.MULTILINE)
LINK = re.compile(r"\]\((?P<to>[^)\s]+)\)")
NAV = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]


def fences(page: Path) -> list[tuple[str, str]]:
    """Language and body of the fences of a page; a fence within a fence counts as body."""
    return [(found["language"].strip(), found["body"]) for found in FENCE.finditer(page.read_text())]


def entries(nav: object) -> Iterator[str]:
    """The files that a navigation names."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for entry in nav.values():
            yield from entries(entry)
    elif isinstance(nav, list):
        for entry in nav:
            yield from entries(entry)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_fences_run(page: Path) -> None:
    languages = {language for language, _body in fences(page)}
    generated = {""} if page.name in ("benchmarks.md", "README.md") else set()
    assert languages <= RUN | set(SHOWN) | generated, f"{languages - RUN - set(SHOWN)}: conftest.py runs none of these"


def test_markdown_is_shown_as_it_is_drawn() -> None:
    found = fences(ROOT / "docs" / "diagrams.md")
    found += [fence for fence in fences(ROOT / "docs" / "documents.md") if ":::" not in fence[1]]
    pairs = [(found[i][1], found[i + 1]) for i in range(len(found) - 1) if found[i][0] == "markdown"]
    assert len(pairs) >= 10
    for source, (language, body) in pairs:
        assert (language, source) == ("layout", f"```layout\n{body}```\n")


def test_the_settings_for_zensical_are_those_of_this_site() -> None:
    shown = []
    for name in ("diagrams.md", "run.md"):
        (body,) = [body for language, body in fences(ROOT / "docs" / name) if language == "toml"]
        shown += tomllib.loads(body)["project"]["markdown_extensions"]["pymdownx"]["superfences"]["custom_fences"]
    assert shown == NAV["markdown_extensions"]["pymdownx"]["superfences"]["custom_fences"]


GROWN = [page for page in sorted((ROOT / "docs" / "examples").glob("*.md")) if '--8<-- "kernels/' in page.read_text()]
WISHED = sorted(set((ROOT / "docs" / "algebra").glob("*.md")) - {ROOT / "docs/algebra/cheat-sheet.md"})


@pytest.mark.parametrize(
    "page",
    [*WISHED, *GROWN, *(ROOT / f"docs/{name}.md" for name in ("tensors", "kernels", "diagrams"))],
    ids=lambda page: page.stem,
)
def test_a_page_begins_with_a_wish_and_a_picture(page: Path) -> None:
    assert re.match(r"# .+\n\n\*I (?:.+\n)+\n```layout\n|# .+\n\n\*(?:.+\n)*.+\*\n\n```layout\n", page.read_text())


def test_hooks_and_jobs_run_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    yaml = pytest.importorskip("yaml")
    shown = [yaml.safe_load(body) for kind, body in fences(ROOT / "docs" / "documents.md") if kind == "yaml"]
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    local = next(data["repos"][0]["hooks"][0] for data in shown if "repos" in data)
    assert hook == {**local, "language": "python"}
    job = next(data["jobs"]["check"] for data in shown if "jobs" in data)
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert next(data["filters"][0]["path"] for data in shown if "filters" in data) in scripts
    for command in (hook["entry"], job["steps"][-1]["run"]):
        name, *arguments = command.split()
        assert name in scripts
        paths = [part for part in arguments[1:] if not part.startswith("-")]
        assert main([*arguments[:2], *(str(ROOT / path) for path in paths or ["README.md"])]) == 0
    assert "0 stale" in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_nothing_is_imported_that_a_star_brought(page: Path) -> None:
    """`from cutepy.tensor import x` says that `cutepy` has no x."""
    for names in re.findall(r"^(?:>>> )?from cutepy\.\w+ import ([\w, ]+)$", page.read_text(), re.MULTILINE):
        assert not set(names.split(", ")) & set(cutepy.__all__), names


def test_every_page_is_in_the_navigation() -> None:
    there = {str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]}
    assert set(entries(NAV["nav"])) == there


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text()))
    for to in (found["to"] for found in LINK.finditer(text)):
        if not to.startswith(("http://", "https://", "#", "explore:")):
            assert (page.parent / to.partition("#")[0]).exists(), f"{page.name}: {to}"


def test_forty_things_are_told_how_to_do() -> None:
    page = (ROOT / "docs" / "how-do-i.md").read_text()
    told = page.split("\n### How do I ")[1:]
    asked = [section.partition("?\n\n```python\n")[0] for section in told]
    assert all(re.search(r"\n```\n(?:\n(?:.+\n)+)?\nMore: \[.+\]\(.+\)\.\n", section) for section in told)
    assert len(asked) == len(set(asked)) == page.count("\n### ") == 40 and not any("\n" in name for name in asked)


def public_names() -> Iterator[tuple[str, str]]:
    """(where a public thing is defined, its name), for functions and classes."""
    for layer in ("cutepy", "cutepy.layout", "cutepy.tensor", "cutepy.gpu", "cutepy.ops", "cutepy.draw"):
        module = importlib.import_module(layer)
        names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
        for name in names:
            if module is cutepy.gpu and name not in vars(module):
                continue  # an id of the running thread
            thing = inspect.getattr_static(module, name, None) or getattr(module, name)
            if (inspect.isclass(thing) or inspect.isfunction(thing)) and thing.__module__.startswith("cutepy"):
                yield inspect.unwrap(thing).__module__, name


def test_the_reference_has_every_public_name() -> None:
    pages = "\n".join(page.read_text() for page in (ROOT / "docs" / "api").glob("*.md"))
    shown = set(re.findall(r"^::: (\S+)$", pages, re.MULTILINE))
    missing = {f"{module}: {name}" for module, name in public_names() if module not in shown}
    assert not missing, f"add `::: module` to a page of docs/api: {sorted(missing)}"
    assert all(importlib.util.find_spec(module) for module in shown)
    assert len(set(cutepy.__all__)) > 100


def test_the_benchmarks_page_is_what_the_results_say() -> None:
    spec = importlib.util.spec_from_file_location("benchmarks_tool", ROOT / "tools" / "benchmarks.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.PAGE.read_text() == tool.page(tool.RESULTS), "run python tools/benchmarks.py"
    assert tool.STORY.read_text() == tool.story(tool.STORY.read_text()), "run python tools/benchmarks.py"
    for path, wanted in tool.profile().items():
        assert path.read_text() == wanted, "run python tools/benchmarks.py"
    assert tool.story("<!-- steps -->\nold\n<!-- /steps -->").count("old") == 0


def test_the_figures_of_the_readme_are_those_of_the_benchmarks() -> None:
    measured = (ROOT / "docs" / "benchmarks.md").read_text().splitlines()
    said = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("|")]
    assert len(said) > 3 and set(said) <= set(measured)


def test_the_picture_of_the_readme_is_what_its_comment_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["figures", str(ROOT / "README.md"), "--check"]) == 0
    assert capsys.readouterr().out == "1 figures, 0 stale\n"


@pytest.mark.parametrize("peer", ["pycute", "tensor_layouts"])
def test_what_is_said_of_peers(peer: str) -> None:
    """docs/coming-from: two results that break their law, in the versions that are named there."""
    if importlib.util.find_spec(peer) is None:
        pytest.skip(f"NOT TESTED: what docs/coming-from says of {peer}, which is not installed")
    module = importlib.import_module(peer)
    compose = getattr(module, "composition", None) or module.compose
    A, B = module.Layout((6, 2), (1, 7)), module.Layout((3, 2), (2, 3))
    wrong = compose(A, B)
    assert (A(B(2, 1)), wrong(2, 1)) == (8, 7)
    divided = module.logical_divide(module.Layout((10, 8), (8, 1)), (4, 4))
    assert module.size(divided) == 96
