"""The source distribution holds what its README, its Makefile and its tests need; the README names real places."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ALWAYS = {"pyproject.toml"}  # hatchling puts it in unasked


def test_every_file_of_the_repository_is_in_it() -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("NOT TESTED: no git repository to compare the source distribution with")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    tops = {path.partition("/")[0] for path in listed}
    included = set(PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    assert tops == included | ALWAYS
    left_out = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["exclude"]
    assert all(any(Path(path).match(pattern) for path in listed) for pattern in left_out)


BUILD = "from hatchling import build; build.build_sdist('built'); build.build_wheel('built')"
README = ("print", "(4,8):(8,1)"), ("explain", "composition((6,2):(8,2), (4,3):(3,1))")


def run(folder: Path, *command: str, path: Path) -> str:
    """What a Python says that finds cutepy in `path` alone of all places that hold it."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**variables, "PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution and the wheel, unpacked, of what a fresh clone would hold."""
    hatchling = pytest.importorskip(
        "hatchling", reason="NOT TESTED: no hatchling to build the source distribution with"
    )
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("NOT TESTED: no git repository to build the source distribution of")
    place = tmp_path_factory.mktemp("built")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (place / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / "clone" / name)
    (place / "clone" / "built").mkdir()
    run(place / "clone", "-c", BUILD, path=Path(hatchling.__file__).parents[1])
    (archive,), (wheel,) = (list((place / "clone" / "built").glob(form)) for form in ("*.tar.gz", "*.whl"))
    with tarfile.open(archive) as source, zipfile.ZipFile(wheel) as packed:
        source.extractall(place, filter="data")
        packed.extractall(place / "wheel")
    return place / archive.name.removesuffix(".tar.gz"), place / "wheel"


def test_tests_and_demo_of_the_source_distribution_run(built: tuple[Path, Path]) -> None:
    source, _wheel = built
    some = "packaging/test_without.py::test_it_runs", "packaging/test_sdist.py", "layout/test_operation.py"
    chosen = [f"tests/{test}" for test in some]  # all of them are in it, see above
    assert " passed" in run(source, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, path=source)
    run(source, "examples/demo.py", path=source)
    assert (source / "demo").is_dir()


def test_the_wheel_does_what_the_readme_says(built: tuple[Path, Path], tmp_path: Path) -> None:
    wheel = built[1]
    assert (wheel / "cutepy" / "py.typed").exists()
    assert {path.suffix for path in (wheel / "cutepy" / "explore" / "web").iterdir()} == {".js", ".html", ".css"}
    readme = (ROOT / "README.md").read_text()
    for command in README:
        name, text = command
        assert f'cutepy {name} "{text}"' in readme
        program = f"from cutepy.cli import main; import cutepy; assert cutepy.__file__.startswith({str(wheel)!r})"
        said = run(tmp_path, "-c", f"{program}; raise SystemExit(main({list(command)!r}))", path=wheel)
        assert text in said


def test_an_index_shows_no_link_that_leads_nowhere(built: tuple[Path, Path]) -> None:
    (metadata,) = built[1].glob("*.dist-info/METADATA")
    page = metadata.read_text().partition("\n\n")[2]
    words = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    assert "# cutepy" in words and "cutepy" in page and "<!--" not in words
    targets = re.findall(r"\]\(([^)]*)\)", words)
    assert targets and all(target.startswith(("https://", "#")) for target in targets)
    assert len(page) > 0.8 * len((ROOT / "README.md").read_text()) * 0.8  # links are shorter, nothing else is


@pytest.mark.parametrize("repository", ["", "https://example.org/me/cutepy"])
def test_links_and_pictures_of_the_readme_lead_to_where_it_is_published(repository: str) -> None:
    index_page = runpy.run_path(str(ROOT / "tools" / "index_page.py"))["index_page"]
    readme = (ROOT / "README.md").read_text()
    page = index_page(readme, repository)
    here = re.findall(r"\]\((?!http|#)([^)\s]+)\)", re.sub(r"^```.*?^```$", "", readme, flags=re.MULTILINE | re.DOTALL))
    assert len(here) > 40 and all((ROOT / target.partition("#")[0]).exists() for target in here)
    for target in here:
        assert (f"{repository}/blob/main/{target})" in page or f"{repository}/raw/main/{target})" in page) == bool(
            repository
        )
    fences = re.findall(r"^```.*?^```$", readme, flags=re.MULTILINE | re.DOTALL)
    assert all(fence in page for fence in fences)


def test_nothing_that_is_left_out_is_asked_for() -> None:
    for pattern in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["exclude"]:
        for path in ROOT.glob(pattern):
            for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
                assert path.name not in page.read_text(), page


def test_the_readme_says_where_the_command_is() -> None:
    makefile, readme = (ROOT / "Makefile").read_text(), (ROOT / "README.md").read_text()
    (venv,) = re.findall(r"^VENV := (\S+)$", makefile, re.MULTILINE)
    assert f". {venv}/bin/activate" in readme and f"are in {venv}/bin" in readme
    assert "cutepy" in PROJECT["project"]["scripts"]
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    for page in ("README.md", "docs/start.md", "docs/explorer.md", "CONTRIBUTING.md"):
        asked = re.findall(r"(?:^|`)make ([a-z]+)", (ROOT / page).read_text(), re.MULTILINE)
        assert set(asked) <= targets, page
    least = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert f"Python {least} or newer" in readme
