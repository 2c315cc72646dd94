"""A class name of the runtime means one thing."""

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "thisthat"
MOST_LINES = 300


def _classes(folder: Path) -> dict[str, list[tuple[str, int]]]:
    found = defaultdict(list)
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                where = f"{path.relative_to(folder)}:{node.lineno}"
                found[node.name].append((where, (node.end_lineno or 0) - node.lineno + 1))
    return found


def test_no_class_name_of_the_runtime_stands_for_two_things() -> None:
    own = {name: at for name, at in _classes(SOURCE).items() if not name.startswith("_")}
    assert not {name: at for name, at in own.items() if len(at) > 1}


def test_no_class_is_longer_than_a_reader_can_hold() -> None:
    every = _classes(SOURCE.parent).values()
    assert not [each for found in every for each in found if each[1] > MOST_LINES]


def test_no_folder_holds_more_files_than_a_reader_can_scan() -> None:
    folders = {each for each in SOURCE.parent.rglob("*") if each.is_dir()}
    made = {each for each in folders if each.name == "__pycache__"}
    full = {str(each): sum(map(Path.is_file, each.iterdir())) for each in folders - made}
    assert not {name: files for name, files in full.items() if files > 25}
