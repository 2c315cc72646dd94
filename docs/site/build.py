"""Builds the site: `python docs/site/build.py build/site`. Needs the extra `docs`, no network.

With `--version 0.6.0` it goes to `build/site/0.6.0`, beside the versions that lie there already,
each built from its own tag; the pages of all of them offer the new one.

Every warning is an error: a link that leads nowhere, a page that no menu has, a docstring that
cannot be read.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import build_main

from reference import command_line, http_interface, library, openapi_document
from sources import fresh, gather
from versions import renew, write_list

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def build(out: Path, version: str | None = None) -> int:
    """Gather the sources beside ``out`` and build it; Sphinx's exit code.

    With a ``version`` the pages go to its folder in ``out``.
    """
    from thisthat import __version__
    from thisthat.cli import app

    site, shown = out, version or __version__
    if version is not None:
        out = site / version

    source = fresh(site.with_name(f"{site.name}-source"))
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
    options += ["-D", f"release={shown}", "-D", f"html_title=thisthat {shown}"]
    code: int = build_main([*options, "-d", f"{source}-doctrees", str(source), str(fresh(out))])
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    write_list(out, shown, [], changelog)
    if version is not None:
        renew(site, changelog)
    return code


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the site.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--version", help="build beside other versions, below OUT/VERSION")
    given = parser.parse_args()
    sys.exit(build(given.out.resolve(), given.version))
