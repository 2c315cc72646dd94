"""Which package may import which: down the documented list, never the laboratory, no circles."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer

from thisthat.cli import lab
from thisthat.errors import MissingExtraError

SOURCE = Path(__file__).parents[1] / "src"
HOOK = "thisthat.cli.lab"
TABLE = "thisthat._moved"
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
UPWARDS = {
    "thisthat": "the root gives callers their names: open, Decider, Policy, BatchDecider",
    "thisthat.__main__": "python -m thisthat is the command line",
}
"""Modules that import what stands above them in the list, with their reasons; at most three."""


def _module(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {_module(path): path for path in SOURCE.rglob("*.py")}


@cache
def imports(module: str, *, at_once: bool = False) -> frozenset[str]:
    """Our modules that a module names in import statements; ``at_once``: while it is imported."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    found = set()
    for node in _run_on_import(tree) if at_once else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            named = {f"{node.module}.{each.name}" for each in node.names}
            found |= {each if each in MODULES else str(node.module) for each in named}
    return frozenset(each for each in found if each in MODULES and each != module)


def _run_on_import(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _run_on_import(child)


@pytest.mark.parametrize("module", [name for name in MODULES if name.split(".")[0] == "thisthat"])
def test_the_runtime_never_imports_the_laboratory(module: str) -> None:
    assert not [each for each in imports(module) if each.split(".")[0] == lab.LAB]
    if module not in (HOOK, TABLE):
        assert f'"{lab.LAB}' not in MODULES[module].read_text(encoding="utf-8")


def test_no_circle_of_modules_imports_each_other() -> None:
    done: set[str] = set()

    def follow(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path[path.index(module) :], module))
        if module not in done:
            for each in imports(module, at_once=True):
                follow(each, (*path, module))
            done.add(module)

    for module in MODULES:
        follow(module, ())


def test_no_circle_of_packages_imports_each_other() -> None:
    below: dict[str, set[str]] = {}
    for module in MODULES:
        below.setdefault(_package(module), set()).update(map(_package, imports(module)))
    left = {package: names - {package} for package, names in below.items()}
    while ground := [package for package, names in left.items() if not names]:
        for package in ground:
            del left[package]
        left = {package: names - set(ground) for package, names in left.items()}
    assert not left


def _package(module: str) -> str:
    return ".".join(module.split(".")[:2])


def _documented() -> dict[str, list[str]]:
    """The packages in the order of the page's tree, what may import the others first."""
    tree = PAGE.read_text(encoding="utf-8").split("```text\n")[1].split("```")[0]
    found: dict[str, list[str]] = {}
    for top, inside in re.findall(r"^src/(\w+)/\n((?:  .*\n)+)", tree, re.MULTILINE):
        found[top] = re.findall(r"^  (\w+)/ ", inside, re.MULTILINE)
    return found


ORDER = _documented()


def _inside(module: str) -> str:
    """The package below the top one; empty for a module at the root."""
    top, *rest = module.split(".")
    return rest[0] if rest and rest[0] in ORDER[top] else ""


def _imported(top: str, package: str) -> set[str]:
    mine = [name for name in MODULES if name.split(".")[0] == top and _inside(name) == package]
    found = {each for name in mine for each in imports(name) if each.split(".")[0] == top}
    return {_inside(each) for each in found} - {"", package}


def test_the_page_lists_every_package() -> None:
    for top in ("thisthat", "thisthat_lab"):
        packages = {path.parent.name for path in SOURCE.glob(f"{top}/*/__init__.py")}
        assert set(ORDER[top]) == packages
        assert len(ORDER[top]) == len(packages)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down_the_documented_list(module: str) -> None:
    top = module.split(".")[0]
    height = {name: len(ORDER[top]) - number for number, name in enumerate(ORDER[top])}
    above = {
        each
        for each in imports(module)
        if each.split(".")[0] == top
        and height.get(_inside(each), 0) > height.get(_inside(module), 0)
    }
    assert bool(above) == (module in UPWARDS), above


def test_few_modules_import_upwards() -> None:
    assert len(UPWARDS) <= 3


@pytest.mark.parametrize(
    ("top", "package"), [(top, package) for top in ORDER for package in ORDER[top]]
)
def test_a_package_says_what_it_imports(top: str, package: str) -> None:
    tree = ast.parse(MODULES[f"{top}.{package}"].read_text(encoding="utf-8"))
    said = " ".join((ast.get_docstring(tree) or "").split())
    [may] = re.findall(r"May import ([^;.]*)", said)
    if may.startswith("every package"):
        return
    named = set(re.findall(r"``(\w+)``", may)) & set(ORDER[top])
    assert named == _imported(top, package)
    assert all(ORDER[top].index(each) > ORDER[top].index(package) for each in named)


def test_answering_loads_no_laboratory_and_no_torch() -> None:
    program = (
        "import sys, thisthat, thisthat.serve.settings, thisthat.calibrate.fit_policy;"
        "print([name for name in sys.modules if name.split('.')[0] in ('thisthat_lab', 'torch')])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.strip() == "[]", ran.stderr


def test_a_decision_loads_no_validation_library_and_no_event_loop() -> None:
    program = (
        "import sys, thisthat;"
        "print(*{'pydantic', 'asyncio'} & set(sys.modules));"
        "print(thisthat.BatchDecider.__name__, thisthat.Policy.__name__)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.split() == ["BatchDecider", "Policy"], ran.stderr


def test_the_command_line_works_without_a_laboratory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "LAB", "thisthat_lab_that_is_not_here")
    app = typer.Typer()
    lab.add_lab_commands(app)
    assert not app.registered_commands
    assert not app.registered_groups
    with pytest.raises(MissingExtraError, match="teaching a checkpoint"):
        lab.trainer()
