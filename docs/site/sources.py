"""Gathers the repository's documents for the site: where each goes, and its links with it.

On GitHub a document stays where it is and its relative links work there. In the site every page
lies flat, so links between documents are turned to where the documents went, links to other files
to copies of those files, and links to folders, which a site cannot show, become plain text.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from words import keywords

LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\[]*(?:\[[^\]]*\])?[^\]\[]*)\]\((?P<target>[^)\s]+)\)")
IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<target>[^)\s:]+)\)")
PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="(?P<dark>[^"]+)">\s*'
    r'<img alt="(?P<alt>[^"]*)" src="(?P<light>[^"]+)"[^>]*>\s*</picture>'
)
FENCE = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)
MOVED = {
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "data/branches/README.md": "branches.md",
}


def documents(root: Path) -> dict[str, str]:
    """Every document of the site: its path in the repository, and its path in the site."""
    found = {name: moved for name, moved in MOVED.items() if (root / name).exists()}
    for path in sorted((root / "docs").glob("*.md")):
        found[f"docs/{path.name}"] = path.name
    for path in sorted((root / "docs" / "decisions").glob("*.md")):
        found[f"docs/decisions/{path.name}"] = f"decisions/{path.name}"
    if (root / "examples" / "README.md").exists():
        found["examples/README.md"] = "examples.md"
    for path in sorted((root / "examples").glob("*/README.md")):
        found[f"examples/{path.parent.name}/README.md"] = f"examples/{path.parent.name}.md"
    return found


def gather(root: Path, into: Path) -> None:
    """Copy every document and what it links to."""
    known = documents(root)
    for source, page in known.items():
        text = (root / source).read_text(encoding="utf-8")
        target = into / page
        target.parent.mkdir(parents=True, exist_ok=True)
        turned = _turned(text, root, into, source, page, known)
        target.write_text(_found_by(page) + turned, encoding="utf-8")
    shutil.copytree(root / "docs" / "pictures", into / "extra" / "pictures")


def _found_by(page: str) -> str:
    """The lines before a page's text that tell the search its keywords; none without any."""
    found = ", ".join(keywords(page.removesuffix(".md")))
    return f"---\nmyst:\n  html_meta:\n    keywords: {found}\n---\n\n" if found else ""


def _turned(
    text: str, root: Path, into: Path, source: str, page: str, known: dict[str, str]
) -> str:
    def link(match: re.Match[str]) -> str:
        target, _, anchor = match["target"].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        at = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if at in known:
            shown = _relative(known[at], page) + (f"#{anchor}" if anchor else "")
            return f"[{match['text']}]({shown})"
        if (root / at).is_file():
            copy = into / "files" / at
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / at, copy)
            return f"[{match['text']}]({_relative(f'files/{at}', page)})"
        if (root / at).is_dir():
            return match["text"]
        raise ValueError(f"{source}: links to {target}, which is not there")

    def picture(match: re.Match[str]) -> str:
        pair = (("light", match["light"]), ("dark", match["dark"]))
        up = "../" * (len(PurePosixPath(page).parts) - 1)
        shown = [
            f'<img class="only-{when}" alt="{match["alt"]}" src="{up}pictures/{Path(file).name}"'
            ' loading="lazy">'
            for when, file in pair
        ]
        return '<p class="chart">' + "".join(shown) + "</p>"

    def image(match: re.Match[str]) -> str:
        at = posixpath.normpath(posixpath.join(posixpath.dirname(source), match["target"]))
        copy = into / "files" / at
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / at, copy)
        return f"![{match['alt']}]({_relative(f'files/{at}', page)})"

    pieces = FENCE.split(text)
    for number in range(0, len(pieces), 2):
        pieces[number] = LINK.sub(link, PICTURE.sub(picture, IMAGE.sub(image, pieces[number])))
    return "".join(pieces)


def _relative(target: str, page: str) -> str:
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


def external_links(root: Path) -> Iterator[tuple[str, str]]:
    """Every link that leaves the site: the document, and the address."""
    for source in documents(root):
        text = FENCE.sub("", (root / source).read_text(encoding="utf-8"))
        for match in LINK.finditer(text):
            if re.match(r"[a-z]+:", match["target"]):
                yield source, match["target"]


def fresh(folder: Path) -> Path:
    """An empty folder."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder
