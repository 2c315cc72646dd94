"""Builds the site: `python docs/site/build.py build/site`. Needs the extra `docs`, no network.

Every warning is an error: a link that leads nowhere, a page that no menu has, a docstring that
cannot be read.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

from reference import command_line, http_interface, library, openapi_document
from sources import fresh, gather

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def build(out: Path) -> int:
    """Gather the sources beside ``out`` and build it; Sphinx's exit code."""
    from thisthat.cli import app

    source = fresh(out.with_name(f"{out.name}-source"))
    (source / "files").mkdir()
    gather(ROOT, source)
    for page in sorted(HERE.glob("*.md")):
        shutil.copyfile(page, source / page.name)
    (source / "command-line.md").write_text(command_line(app), encoding="utf-8")
    (source / "library.md").write_text(library(), encoding="utf-8")
    document = source / "files" / "openapi.json"
    (source / "http.md").write_text(http_interface(openapi_document(), document), encoding="utf-8")
    options = ["-b", "html", "-W", "--keep-going", "-n", "-q", "-E", "-c", str(HERE)]
    options += ["-D", f"html_extra_path={source / 'extra'}"]
    return build_main([*options, "-d", f"{source}-doctrees", str(source), str(fresh(out))])


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]).resolve()))
