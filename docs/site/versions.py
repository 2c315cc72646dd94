"""The versions that a site offers: those whose pages are there, and what changed in the others.

`versions.js` lies in every version's folder, because pages opened as files can load a script but
fetch nothing. Adding a version renews the lists of those beside it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

LIST = "versions.js"
HEADING = re.compile(r"^## (\d+(?:\.\d+)+) \(([^)]+)\)$", re.MULTILINE)
FORWARD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>thisthat</title>
<meta http-equiv="refresh" content="0; url={newest}/index.html">
<p><a href="{newest}/index.html">thisthat {newest}</a></p>
</html>
"""


def released(changelog: str) -> dict[str, str]:
    """The changelog's versions, newest first, each with its date."""
    return dict(HEADING.findall(changelog))


def offered(version: str, beside: list[str], changelog: str) -> list[dict[str, str | bool]]:
    """What the pages of one version offer: a label, where it leads, whether it is this one."""
    dates = released(changelog)
    found: list[dict[str, str | bool]] = []
    for each in sorted({*dates, *beside, version}, key=newness, reverse=True):
        label, target = each, f"../{each}/index.html"
        if each == version:
            target = "index.html"
            label += f" ({dates[each]})" if dates.get(each) == "unreleased" else ""
        elif each not in beside:
            # Where MyST puts the heading, as GitHub does.
            anchor = f"{each.replace('.', '')}-{dates[each].replace(' ', '-')}"
            label, target = f"{each}: what changed", f"changelog.html#{anchor}"
        found.append({"label": label, "target": target, "this": each == version})
    return found


def newness(version: str) -> tuple[int, tuple[int, ...], str]:
    """Sorts numbered versions by their numbers, and any other name after all of them."""
    if re.fullmatch(r"\d+(\.\d+)*", version):
        return 0, tuple(map(int, version.split("."))), ""
    return 1, (), version


def write_list(folder: Path, version: str, beside: list[str], changelog: str) -> None:
    """The list of one version's pages."""
    shown = json.dumps(offered(version, beside, changelog), indent=1)
    (folder / LIST).write_text(f"const VERSIONS = {shown};\n", encoding="utf-8")


def renew(site: Path, changelog: str) -> None:
    """The lists of all versions in a site, and its first page, which leads to the newest."""
    found = [path.parent.name for path in site.glob(f"*/{LIST}")]
    for version in found:
        write_list(site / version, version, found, changelog)
    numbered = [version for version in found if newness(version)[0] == 0] or found
    page = FORWARD.format(newest=max(numbered, key=newness))
    (site / "index.html").write_text(page, encoding="utf-8")
