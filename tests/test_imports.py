"""Which package may import which: the runtime never the laboratory, and no circles."""

import ast
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


def test_answering_loads_no_laboratory_and_no_torch() -> None:
    program = (
        "import sys, thisthat, thisthat.serve.settings, thisthat.calibrate.fit_policy;"
        "print([name for name in sys.modules if name.split('.')[0] in ('thisthat_lab', 'torch')])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.strip() == "[]", ran.stderr


def test_a_decision_loads_no_validation_library() -> None:
    program = (
        "import sys, thisthat;print('pydantic' in sys.modules, thisthat.BatchDecider.__name__)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.split() == ["False", "BatchDecider"], ran.stderr


def test_the_command_line_works_without_a_laboratory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "LAB", "thisthat_lab_that_is_not_here")
    app = typer.Typer()
    lab.add_lab_commands(app)
    assert not app.registered_commands
    assert not app.registered_groups
    with pytest.raises(MissingExtraError, match="teaching a checkpoint"):
        lab.trainer()
