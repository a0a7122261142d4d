"""A Markdown extension of the docs site: scripts as pages, and sessions coloured as sessions.

`<!-- tour: tour/swizzle.py -->` is that script of examples/, cell by cell, with what each cell prints and draws. It
runs in a process of its own, without a GPU driver, so that a page is the same wherever it is built; a script that
fails ends the build. A row `| 7 |` of a table is a link to what `# 7` of a session calls, in the explorer; so is
`[text](explore:EXPRESSION&puzzle=3)`. A `python` fence that begins with `>>>` is shown as `pycon`: its output has no
colours of Python.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from urllib.parse import quote_plus

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor

from cutepy.docs import live_script

ROOT = Path(__file__).resolve().parents[1]
LIVE = "application/vnd.cutepy.live+json"
TOUR = re.compile(r"<!-- tour: (?P<script>[\w/]+\.py) -->")
TRIED = re.compile(r"\[(?P<text>[^\]]+)\]\(explore:(?P<asked>[^\s()]+)\)")
CALLED = re.compile(r">>> # (?P<number>\d+)\n>>> (?P<call>(?:.*\n)(?:\.\.\. .*\n)*)")
AROUND = (r"print\((.*)\)", r"str\((.*)\)\.splitlines\(\)\[0\]", r"(.*)\.(?:grid\(\)|shuffles)")
NO_DRIVER = {"VK_DRIVER_FILES": "/nonexistent", "VK_ICD_FILENAMES": "/nonexistent"}


def cells(script: Path) -> list[dict[str, object]]:
    """The cells of a script as a notebook keeps them, outputs included: their pictures are SVGs."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "tour.ipynb"
        command = [
            sys.executable,
            str(ROOT / "tools" / "notebook.py"),
            str(script),
            str(target),
            "image/svg+xml",
            "+live",
        ]
        environment = {**os.environ, **NO_DRIVER, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{script} failed:\n{done.stderr}")
        found: list[dict[str, object]] = json.loads(target.read_text(encoding="utf-8"))["cells"]
        return found


def questions(text: str) -> dict[str, str]:
    """The calls of a page's sessions by their numbers, as texts: what is printed of them is left out."""
    found = {}
    for match in CALLED.finditer(text):
        call = " ".join(match["call"].replace("\n...", "").split())
        for around in AROUND:
            call = re.sub(f"^{around}$", r"\1", call)
        found[match["number"]] = call
    return found


def tried(text: str, expression: str, *others: str) -> str:
    """A link that opens the explorer at an expression, which is quoted; the page's script knows where that is."""
    asked = "&".join([f"e={expression}", *others])
    return f'<a class="cutepy-try" data-explore="{escape(asked)}">{text}</a>'


class Pages(Preprocessor):
    """Markdown in the place of a tour's comment; pictures are put in as they are. Sessions have their own language."""

    def run(self, lines: list[str]) -> list[str]:
        """The page, with its tours."""
        found: list[str] = []
        for line in lines:
            tour = TOUR.fullmatch(line)
            found += self.tour(ROOT / "examples" / tour["script"]) if tour else [line]
        calls = questions("\n".join(found))
        for place, line in enumerate(found):
            row = re.match(r"\| (\d+) \|", line)
            if row and row[1] in calls:
                found[place] = f"| {tried(row[1], quote_plus(calls[row[1]]))} |{line[row.end() :]}"
            found[place] = TRIED.sub(lambda link: tried(link["text"], *link["asked"].split("&")), found[place])
        following = [*found[1:], ""]
        return [
            "```pycon" if line == "```python" and after.startswith(">>>") else line
            for line, after in zip(found, following, strict=True)
        ]

    def tour(self, script: Path) -> list[str]:
        """The lines of a script's cells."""
        shown: list[str] = []
        for cell in cells(script):
            source = "".join(cell["source"])  # type: ignore[arg-type]
            shown += ["", *(source.splitlines() if cell["cell_type"] == "markdown" else fenced(source, "python")), ""]
            for output in cell.get("outputs", ()):  # type: ignore[attr-defined]
                data = output.get("data", {})
                if "image/svg+xml" in data:
                    picture = "".join(data["image/svg+xml"]).rstrip()
                    live = escape("".join(data[LIVE]))
                    figure = (
                        f'<figure class="cutepy layout" data-live="{live}" style="overflow-x:auto">{picture}</figure>'
                    )
                    shown += ["", self.md.htmlStash.store(figure + live_script(self.md)), ""]
                else:
                    shown += ["", *fenced("".join(output.get("text", data.get("text/plain", ""))), "text"), ""]
        return shown


def fenced(text: str, language: str) -> list[str]:
    """A fence."""
    return [f"```{language}", *text.rstrip().splitlines(), "```"]


class PagesExtension(Extension):
    """The extension, for Python-Markdown."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Register it."""
        md.preprocessors.register(
            Pages(md), "cutepy_pages", 28
        )  # after Markdown has tidied the lines, before fences are read


def makeExtension(**options: object) -> PagesExtension:
    """What Python-Markdown calls."""
    return PagesExtension(**options)
