"""The README as an index of packages shows it, where a link or a picture of this repository leads nowhere.

Law: outside of its fences no link and no picture is relative. They lead to where `repository`, an entry of the hook in
pyproject.toml, says that the project is published; until then a link is its words, a picture its description.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->\n*", re.DOTALL)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)\s]+)\)")


def index_page(text: str, repository: str) -> str:
    """A page of Markdown whose links into the repository are absolute, or plain words where it has no address.

    >>> index_page("See [the docs](docs/start.md).", ""), index_page("![a tile](img/a.svg)", "https://example.org/cutepy")
    ('See the docs.', '![a tile](https://example.org/cutepy/raw/main/img/a.svg)')
    """

    def absolute(link: re.Match[str]) -> str:
        picture, words, target = link.groups()
        if not repository:
            return f"*{words}*" if picture else words
        return f"{picture}[{words}]({repository}/{'raw' if picture else 'blob'}/main/{target})"

    # The pieces with odd numbers are the fences.
    pieces = _FENCE.split(text)
    return "".join(
        piece if number % 2 else _LINK.sub(absolute, _COMMENT.sub("", piece)) for number, piece in enumerate(pieces)
    )


class IndexPage(MetadataHookInterface):
    """Gives hatchling the README in that form, and the addresses of the project where there are some."""

    def update(self, metadata: dict[str, object]) -> None:
        """Set what `dynamic` of pyproject.toml leaves open."""
        repository = str(self.config.get("repository", "")).rstrip("/")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": index_page(text, repository)}
        if repository:
            metadata["urls"] = {"Repository": repository, "Changes": f"{repository}/blob/main/CHANGELOG.md"}
