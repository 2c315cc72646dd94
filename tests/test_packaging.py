"""The wheel and the sdist: built, looked into, installed into a clean environment, asked."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest

import thisthat

ROOT = Path(__file__).parents[1]
NAME = f"thisthat-{thisthat.__version__}"
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both; the wheel is made from the sdist, so the sdist is whole."""
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("built")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl")


def test_the_wheel_has_what_it_needs_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    for name in (
        "thisthat/py.typed",
        "thisthat/checkpoint/default/decision.json",
        "thisthat/checkpoint/default/delta.safetensors",
        "thisthat/engine/native/kernels/kernels.c",
        "thisthat/serve/schemas.json",
        "thisthat/serve/page/static/index.html",
        "thisthat_lab/bench/registry.json",
        f"{NAME}.dist-info/licenses/LICENSE",
        f"{NAME}.dist-info/licenses/NOTICE",
    ):
        assert name in names
    tops = {name.split("/")[0] for name in names}
    assert tops == {"thisthat", "thisthat_lab", f"{NAME}.dist-info"}
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in str(path)
    }
    assert source <= names


def test_the_wheel_weighs_what_the_release_notes_say(built: Path, wheel: zipfile.ZipFile) -> None:
    notes = (ROOT / "docs" / "release-notes.md").read_text(encoding="utf-8")

    def told(beginning: str) -> float:
        found = re.search(rf"^\| {beginning} \| ([\d.]+) MB", notes, re.MULTILINE)
        assert found is not None, beginning
        return float(found[1]) * MEGABYTE

    size = (built / f"{NAME}-py3-none-any.whl").stat().st_size
    assert size == pytest.approx(told("wheel"), rel=0.03)
    assert (built / f"{NAME}.tar.gz").stat().st_size == pytest.approx(told("sdist"), rel=0.05)
    laboratory = sum(
        each.compress_size for each in wheel.infolist() if each.filename.startswith("thisthat_lab/")
    )
    assert laboratory == pytest.approx(1.8 * MEGABYTE, rel=0.1)


def test_the_sdist_has_tests_and_documents_but_no_second_checkpoint(built: Path) -> None:
    with tarfile.open(built / f"{NAME}.tar.gz") as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    for name in ("README.md", "CITATION.cff", "NOTICE", "tests/test_packaging.py", "docs/start.md"):
        assert name in names
    assert not any(name.startswith("checkpoints/") for name in names)


def ask_in(python: Path, folder: Path) -> None:
    """Its package is this version and answers a question and its twin."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*command: str) -> str:
        done = subprocess.run(
            [python, *command], capture_output=True, text=True, cwd=folder, env=environment
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = run("-c", "import thisthat; print(thisthat.__file__)").strip()
    assert Path(where).is_relative_to(python.parents[1])
    question = "Does the customer say that the parcel never came?"
    asked = f"import thisthat, sys; print(thisthat.open().ask(sys.argv[1], {question!r}).best)"
    assert run("-c", asked, "The parcel never came.").strip() == "True"
    assert run("-c", asked, "You charged me twice.").strip() == "False"
    assert thisthat.__version__ in run("-m", "thisthat", "--version")


@pytest.mark.weights
def test_a_clean_environment_answers_with_the_wheel(built: Path, tmp_path: Path) -> None:
    """The wheel in an environment of its own; only its dependencies come from this one."""
    home = tmp_path / "clean"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    python = home / "bin" / "python"
    wheel = built / f"{NAME}-py3-none-any.whl"
    install = ["install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install], check=True)
    places = {"base": str(home), "platbase": str(home)}
    packages = Path(sysconfig.get_path("purelib", "venv", places))
    here = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "dependencies.pth").write_text("\n".join(sorted(here)))
    ask_in(python, tmp_path)


PYTHONS = os.environ.get("THISTHAT_PYTHONS", "").split()


@pytest.mark.weights
@pytest.mark.skipif(not PYTHONS, reason="make pythons: minutes, and a registry to install from")
@pytest.mark.parametrize("interpreter", PYTHONS)
def test_the_wheel_and_what_it_needs_install_on(
    interpreter: str, built: Path, tmp_path: Path
) -> None:
    """Dependencies are resolved afresh, with the server's, by the pip that Python brings."""
    home = tmp_path / "fresh"
    subprocess.run([interpreter, "-m", "venv", home], check=True)
    python = home / "bin" / "python"
    wheel = f"{built / NAME}-py3-none-any.whl[serve]"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)
    subprocess.run([python, "-m", "pip", "check"], check=True)
    subprocess.run([python, "-c", "import thisthat.serve.http.app"], check=True, cwd=tmp_path)
    ask_in(python, tmp_path)


@pytest.mark.parametrize("minor", [10, 11, 12, 13])
def test_the_source_is_the_language_of_every_supported_python(minor: int) -> None:
    for path in sorted((ROOT / "src").rglob("*.py")):
        ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, minor))


def test_the_supported_pythons_are_told_alike() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'requires-python = ">=3.10"' in project
    told = re.findall(r"Python :: 3\.(\d+)", project)
    assert told == ["10", "11", "12", "13"]
    assert "Python 3.10 to 3.13" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_source_of_the_model_card_that_asks_for_attribution_is_in_the_notice() -> None:
    notice = " ".join((ROOT / "NOTICE").read_text(encoding="utf-8").split())
    card = (ROOT / "docs" / "model-card.md").read_text(encoding="utf-8")
    cells = [
        cell.strip() for row in re.findall(r"^\|.*CC BY.*$", card, re.M) for cell in row.split("|")
    ]
    found = [
        name.split(" (")[0]
        for source, licence in pairwise(cells)
        if "CC BY" in licence and "CC BY" not in source
        for name in source.split(", ")
    ]
    assert len(found) >= 10
    assert [name for name in found if name not in notice] == []


def test_words_of_others_are_in_the_notice() -> None:
    """Each under its own heading: what the wheel has, and what the sdist has besides."""
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    parts = re.split(r"^\d\. ", notice, flags=re.MULTILINE)
    (in_wheel,) = (part for part in parts if "in the wheel." in part)
    (in_sdist,) = (part for part in parts if "in the sdist alone." in part)
    assert "published_sets.py" in in_wheel
    assert "Copyright (c) 2026 OpenJev contributors" in in_wheel
    assert "Permission is hereby granted, free of charge" in notice
    file = "tests/prompt/chat_templates.json"
    assert file in in_sdist
    told = " ".join(in_sdist.split())
    for model in json.loads((ROOT / file).read_text(encoding="utf-8")):
        assert re.search(rf"- {re.escape(model)},|formats of .*{re.escape(model)}", told), model


def test_what_the_notice_names_is_there() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    named = re.findall(r"(?<![\w/])(?:src|tests|docs|data|checkpoints)/[\w./-]*\w", notice)
    assert len(named) >= 6
    assert [name for name in named if not (ROOT / name).exists()] == []
