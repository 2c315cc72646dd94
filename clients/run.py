"""Every client in its own environment, unmodified, against a live `thisthat serve`.

    python clients/run.py                all of them; prints the table
    python clients/run.py --only ollama  one of them (by package), the others as they last were
    python clients/run.py --write docs/tested-clients.md          the table goes there too
    python clients/run.py --table --write docs/tested-clients.md  from the last results

Starts two servers on loopback: one as it comes, one with keys, small limits, a rate and a queue
with room for one request. Environments, results and logs lie in build/clients. Exits 1 when a check
failed. Needs the server installed beside this interpreter, and npm for the JavaScript clients.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent
BUILD = ROOT.parent / "build" / "clients"
MARK = "<!-- clients: written by clients/run.py -->"
END = "<!-- end of clients -->"
PURPOSES = ("errors", "rate", "busy", "turned-away", "again", "patient")
STRICT = ["--body-bytes", "20000", "--expanded-bytes", "20000"]
STRICT += ["--requests-per-minute", "30", "--queue-tokens", "1"]


@dataclass(frozen=True)
class Client:
    """One client: where it comes from, what is installed, which script checks it.

    ``loosen`` names dependencies whose version the package asks for is not to be had from the
    index; they are installed in the newest version there is.
    """

    package: str
    registry: str
    install: tuple[str, ...]
    script: str
    loosen: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Its environment."""
        return BUILD / f"{self.registry}-{self.package.strip('@').replace('/', '-')}"

    @property
    def result(self) -> Path:
        """What its last run found."""
        return self.folder / "result.json"


CLIENTS = (
    Client("typesafe-sdk", "pypi", ("typesafe-sdk[zstd]==0.7.5",), "check_typesafe_sdk.py"),
    Client("ollama", "pypi", ("ollama==0.6.3",), "check_ollama.py"),
    Client("openrouter", "pypi", ("openrouter==1.3.84",), "check_openrouter.py"),
    Client("pydantic-ai-slim", "pypi", ("pydantic-ai-slim==2.66.0",), "check_pydantic_ai.py"),
    Client("semantic-router", "pypi", ("semantic-router==1.1.1",), "check_semantic_router.py"),
    Client("system-one", "pypi", ("system-one[http]==0.4.0",), "check_system_one.py"),
    Client("systemone-client", "pypi", ("systemone-client==0.1.0",), "check_systemone_client.py"),
    Client("jevbench", "pypi", ("jevbench==0.1.0",), "check_jevbench.py"),
    Client("openai", "pypi", ("openai>=3.49",), "check_openai.py"),
    Client("litellm", "pypi", ("litellm==1.108.0",), "check_litellm.py", ("certifi",)),
    Client("@typesafe-ai/sdk", "npm", ("@typesafe-ai/sdk@0.6.0",), "check_typesafe_sdk.mjs"),
    Client("ollama", "npm", ("ollama@0.6.4",), "check_ollama.mjs"),
    Client("@openrouter/sdk", "npm", ("@openrouter/sdk@1.3.19",), "check_openrouter.mjs"),
    Client(
        "@ai-sdk/typesafe-ai",
        "npm",
        ("@ai-sdk/typesafe-ai@3.0.0", "ai@7.0.103"),
        "check_ai_sdk.mjs",
    ),
)


class InstallError(Exception):
    """The client cannot be installed here; the message is the package manager's."""


def command(line: list[str | Path], folder: Path | None = None) -> None:
    """Run an installer. Raises InstallError with its last line of complaint."""
    try:
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=1200)
    except OSError as error:
        raise InstallError(str(error)) from None
    if done.returncode:
        said = (done.stderr + done.stdout).strip().splitlines()
        raise InstallError((said or ["no reason given"])[-1][:300])


def install(client: Client) -> str:
    """Make the client's environment unless it is there; gives a note for the table."""
    marker = client.folder / "installed.txt"
    if marker.is_file() and marker.read_text().splitlines()[0] == " ".join(client.install):
        return marker.read_text().partition("\n")[2].strip()
    shutil.rmtree(client.folder, ignore_errors=True)
    client.folder.mkdir(parents=True)
    note = ""
    if client.registry == "npm":
        (client.folder / "package.json").write_text('{"private": true, "type": "module"}\n')
        command(["npm", "install", "--no-audit", "--no-fund", *client.install], client.folder)
    else:
        command([sys.executable, "-m", "venv", client.folder])
        pip: list[str | Path] = [client.folder / "bin" / "pip", "install", "--quiet"]
        try:
            command([*pip, *client.install])
        except InstallError:
            if not client.loosen:
                raise
            note = loosened(client, pip)
    marker.write_text(" ".join(client.install) + "\n" + note + "\n")
    return note


def loosened(client: Client, pip: list[str | Path]) -> str:
    """Install with some dependencies in whatever version the index has; says so."""
    command([*pip, "--no-deps", *client.install])
    asked = "import sys, importlib.metadata as m; print(*m.requires(sys.argv[1]), sep='\\n')"
    python = client.folder / "bin" / "python"
    listed = subprocess.run(
        [python, "-c", asked, client.package], capture_output=True, text=True, check=True
    )
    needed = [line for line in listed.stdout.splitlines() if "extra ==" not in line]
    loose = [line for line in needed if line.startswith(client.loosen)]
    command([*pip, *(line for line in needed if line not in loose), *client.loosen])
    return f"{', '.join(loose)} is not in the index; the newest one there is was installed"


@contextlib.contextmanager
def served(name: str, options: list[str], keys: str | None = None) -> Iterator[tuple[str, Any]]:
    """A live server; gives its address and what its log said when it was ready."""
    environment = {**os.environ, **({} if keys is None else {"THISTHAT_KEYS": keys})}
    line = [Path(sys.executable).with_name("thisthat"), "serve", "--port", "0", *options]
    server = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment)
    assert server.stderr is not None
    address, ready = "", None
    log = (BUILD / f"{name}-{os.getpid()}.log").open("w")
    for text in server.stderr:
        log.write(text)
        if not text.startswith("{"):
            continue  # a complaint of the interpreter, for whoever reads the log
        event = json.loads(text)
        address = event.get("address", address)
        if event["message"] == "ready":
            ready = event
            break
    if ready is None:
        log.close()
        raise SystemExit(f"the server {name} did not start; see {log.name}")
    stderr = server.stderr
    reader = threading.Thread(target=lambda: shutil.copyfileobj(stderr, log))
    reader.start()
    try:
        yield address, ready
    finally:
        server.terminate()
        server.wait(60)
        reader.join()
        log.close()


def check(client: Client, url: str, strict: str) -> dict[str, Any]:
    """Run the client's script; its last line of output is the result."""
    if client.registry == "npm":
        for script in (ROOT / "javascript").glob("*.mjs"):
            shutil.copy(script, client.folder)
        line: list[str | Path] = ["node", client.script, url, strict]
    else:
        line = [client.folder / "bin" / "python", ROOT / "python" / client.script, url, strict]
    try:
        done = subprocess.run(line, cwd=client.folder, capture_output=True, text=True, timeout=7200)
    except subprocess.TimeoutExpired:
        return {"failed": "took more than two hours"}
    (client.folder / "output.txt").write_text(done.stdout + done.stderr)
    try:
        found = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        said = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["nothing said"]
        return {"failed": said[-1][:300]}
    return dict(found)


def run(client: Client, url: str, strict: str, ready: dict[str, Any]) -> dict[str, Any]:
    """Install and check one client; the result is kept."""
    try:
        note = install(client)
        found = {**check(client, url, strict), "note": note}
    except InstallError as error:
        client.folder.mkdir(parents=True, exist_ok=True)
        found = {"not installed": str(error)}
    served_by = {name: ready[name] for name in ("checkpoint", "version", "lambda", "engine")}
    found = {"package": client.package, "registry": client.registry, "server": served_by} | found
    # Paths of this machine say nothing to a reader of the table.
    text = json.dumps(found, indent=1, ensure_ascii=False).replace(f"{ROOT.parent}/", "")
    client.result.write_text(text, encoding="utf-8")
    return found


def last_result(client: Client) -> dict[str, Any]:
    """What the client's last run found."""
    if client.result.is_file():
        return dict(json.loads(client.result.read_text(encoding="utf-8")))
    return {"package": client.package, "registry": client.registry, "failed": "not run yet"}


def table(results: list[dict[str, Any]]) -> str:
    """The results as Markdown: a table, what its marks mean, and jevbench's scores."""
    names = list(next((each["checks"] for each in results if "checks" in each), ()))
    lines = [
        "| client | version | " + " | ".join(names) + " |",
        "|---|---|" + "---|" * len(names),
    ]
    notes: dict[str, int] = {}

    def noted(mark: str, text: str) -> str:
        if not text:
            return mark
        return f"{mark}{chr(160)}[{notes.setdefault(text, len(notes) + 1)}]"

    marks = {"ok": "✓", "none": "–", "failed": "✗"}
    for each in results:
        title = f"`{each['package']}` ({'PyPI' if each['registry'] == 'pypi' else 'npm'})"
        if "checks" not in each:
            why = each.get("failed") or f"not installed: {each['not installed']}"
            cells = [noted("✗", why)] + [""] * len(names)
        else:
            cells = [noted(each["version"], each.get("failed", each["note"]))]
            for name in names:
                found = each["checks"][name]
                cells.append(noted(marks[found["result"]], found["note"]))
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    lines += ["", "✓ passed, – the client has no such thing, ✗ failed.", ""]
    lines += [f"{number}. {text}" for text, number in notes.items()]
    for each in results:
        if "scores" in each:
            lines += ["", *scores(each)]
    return "\n".join(lines)


def scores(result: dict[str, Any]) -> list[str]:
    """jevbench's own numbers, and which checkpoint they belong to."""
    server, found = result["server"], result["scores"]
    head = (
        f"`jevbench` {result['version']}, suite `{found['suite']}`, on {server['checkpoint']} "
        f"{server['version']}, λ = {server['lambda']:g} ({server['engine']}): "
        f"{found['requests']} requests, {found['errors']} errors. Shares of tests without a "
        f"violation, at a tolerance of {found['tolerance']:g}:"
    )
    lines = [head, "", "| dimension | score | tests |", "|---|---|---|"]
    for row in found["rows"]:
        score = "not scored" if row["score"] is None else f"{row['score']:.3f}"
        lines.append(f"| {row['name']} | {score} | {row['tests']} |")
    return lines


def write(path: Path, text: str) -> None:
    """Put the table between its marks. Raises SystemExit when the file has none."""
    document = path.read_text(encoding="utf-8")
    before, mark, rest = document.partition(MARK)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise SystemExit(f"{path} has no place for the table: {MARK} … {END}")
    path.write_text(f"{before}{MARK}\n{text}\n{END}{after}", encoding="utf-8")


def run_all(chosen: list[Client]) -> None:
    """Start both servers and run the clients one after the other."""
    BUILD.mkdir(parents=True, exist_ok=True)
    keys = ",".join(f"{each.package}-{why}" for each in CLIENTS for why in PURPOSES)
    with served("server", []) as (url, ready), served("strict", STRICT, keys) as (strict, _):
        for client in chosen:
            print(f"{client.registry} {client.package} …", file=sys.stderr, flush=True)
            run(client, url, strict, ready)


def main() -> int:
    """Run what was asked for, print the table, say with the exit status whether all passed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", help="packages to run; the others stay")
    parser.add_argument("--table", action="store_true", help="run nothing")
    parser.add_argument("--write", type=Path, help="Markdown file that holds the table")
    options = parser.parse_args()
    unknown = set(options.only or ()) - {each.package for each in CLIENTS}
    if unknown:
        parser.error(f"no such client: {', '.join(sorted(unknown))}")
    if not options.table:
        run_all([each for each in CLIENTS if not options.only or each.package in options.only])
    results = [last_result(each) for each in CLIENTS]
    text = table(results)
    print(text)
    if options.write:
        write(options.write, text)
    failed = [
        each
        for each in results
        if "failed" in each
        or any(found["result"] == "failed" for found in each.get("checks", {}).values())
    ]
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
