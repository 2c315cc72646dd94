"""Old import paths lead to the modules at their new places, with a warning."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from thisthat import _moved

SOURCE = Path(_moved.__file__).parents[1]


@pytest.mark.parametrize("old", _moved.MOVED)
def test_an_old_path_gives_the_module_at_its_new_place(
    old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = import_module(_moved.MOVED[old])
    for name in [each for each in sys.modules if _moved.new_name(each)]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.warns(DeprecationWarning, match=f"{old} is now {new.__name__}"):
        found = import_module(old)
    assert found is new
    assert new.__spec__ is not None
    assert new.__spec__.name == new.__name__


def test_nothing_is_listed_that_is_still_there() -> None:
    for old in _moved.MOVED:
        path = SOURCE.joinpath(*old.split("."))
        assert not path.with_suffix(".py").exists()
        assert not (path / "__init__.py").exists()


def test_names_below_a_package_move_with_it() -> None:
    assert _moved.new_name("thisthat.suites.spatial.training") == (
        "thisthat_lab.suites.spatial.training"
    )
    assert _moved.new_name("thisthat.suites.item") == "thisthat.items.item"
    assert _moved.new_name("thisthat.questions") is None
    assert _moved.new_name("thisthat") is None
    assert _moved.new_name("thisthatched.random") is None


def test_the_warning_names_the_line_that_imports() -> None:
    program = "import thisthat\nfrom thisthat.suites.item import Item\n"
    ran = subprocess.run(
        [sys.executable, "-W", "always", "-c", program], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert "<string>:2: DeprecationWarning: thisthat.suites.item is now" in ran.stderr
