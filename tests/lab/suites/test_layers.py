"""Suites build on each other in one direction alone."""

from __future__ import annotations

from tests.test_imports import MODULES, imports

HOME = "thisthat_lab.suites."


def test_no_two_suites_import_each_other() -> None:
    arrows = {
        (module.split(".")[2], each.split(".")[2])
        for module in MODULES
        if module.startswith(HOME)
        for each in imports(module)
        if each.startswith(HOME)
    }
    assert not {(one, other) for one, other in arrows if one < other and (other, one) in arrows}
    assert not {other for one, other in arrows if one == "base"} - {"base"}
