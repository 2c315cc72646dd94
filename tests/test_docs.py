"""Every block of the README and the docs runs: python and bash in order, `$ thisthat` lines."""

import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(page: Path, language: str) -> list[str]:
    return [
        text for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language
    ]


def commands(page: Path) -> list[str]:
    lines = [line for block in blocks(page, "console") for line in block.splitlines()]
    return [
        line.removeprefix("$ ") for line in lines if line.startswith("$ ") and "thisthat" in line
    ]


@pytest.mark.weights
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_python_blocks_run_in_order(page: Path) -> None:
    namespace: dict[str, object] = {"__name__": page.stem}
    for text in blocks(page, "python"):
        exec(compile(text, str(page), "exec"), namespace)


@pytest.mark.weights
@pytest.mark.parametrize(
    "command", [c for page in PAGES for c in commands(page)], ids=lambda c: c[:60]
)
def test_console_lines_run(command: str, tmp_path: Path) -> None:
    thisthat = shlex.quote(str(Path(sys.executable).with_name("thisthat")))
    line = re.sub(r"(^|\| )thisthat ", rf"\1{thisthat} ", command)
    done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.weights
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "bash")], ids=lambda p: p.name)
def test_bash_blocks_run_in_order(page: Path, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    script = "\n".join(["set -euo pipefail", *blocks(page, "bash")]).replace("8017", str(port))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    said = tmp_path / "said"
    with said.open("w") as out:
        shell = subprocess.Popen(
            ["bash", "-c", script],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        assert shell.wait(600) == 0, said.read_text()
    finally:
        # A block that fails leaves its server behind.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
