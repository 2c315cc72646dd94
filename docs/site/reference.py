"""The pages of the reference that no one writes: the command line and the HTTP interface."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

HEAD = "made from the program by `make docs`"


def command_line(app: typer.Typer) -> str:
    """Every command with its arguments and options, as Markdown."""
    group = typer.main.get_command(app)
    lines = ["# Command line", "", f"`thisthat COMMAND --help` says the same; this page is {HEAD}."]
    for name, command in sorted(_commands(group)):
        lines += ["", f"## thisthat {name}", "", *_told(command)]
    return "\n".join([*lines, ""])


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if command.hidden:
            continue
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def _told(command: Any) -> list[str]:
    shown = [each for each in command.params if not getattr(each, "hidden", False)]
    rows = [_row(each) for each in shown if each.name not in ("help", "version")]
    lines = [" ".join((command.help or "").split()), ""]
    if rows:
        lines += ["| argument or option | | default |", "|---|---|---|", *rows]
    return lines


def _row(parameter: Any) -> str:
    if parameter.opts[0].startswith("-"):
        both = [*parameter.opts, *parameter.secondary_opts]
        name = ", ".join(f"`{each}`" for each in both)
    else:
        name = f"`{parameter.name.upper()}`" + (" …" if parameter.nargs == -1 else "")
    if parameter.required:
        name += " (required)"
    if parameter.multiple:
        name += " (may be repeated)"
    told = " ".join((getattr(parameter, "help", None) or "").split())
    return f"| {name} | {_cell(told)} | {_default(parameter)} |"


def _default(parameter: Any) -> str:
    value = parameter.default
    if value is None or value is False or callable(value) or value in ((), [], ""):
        return ""
    return f"`{_cell(str(getattr(value, 'value', value)))}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def openapi_document() -> dict[str, Any]:
    """The document that a server answers at /openapi.json; no checkpoint is opened."""
    from starlette.testclient import TestClient

    from thisthat.serve.http.app import create_app
    from thisthat.serve.service import Service
    from thisthat.serve.settings import Settings

    def nothing(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a document needs no checkpoint")

    client = TestClient(create_app(Service(Settings(), nothing)), base_url="http://127.0.0.1")
    answer = client.get("/openapi.json")
    answer.raise_for_status()
    document: dict[str, Any] = answer.json()
    return document


def http_interface(document: dict[str, Any], file: Path) -> str:
    """Every operation of the document, its schemas folded; the document itself as ``file``."""
    file.write_text(json.dumps(document, indent=1, ensure_ascii=False), encoding="utf-8")
    lines = [
        "# HTTP interface",
        "",
        "What a [server](serve.md) takes, answers and refuses. The whole is one"
        f" [OpenAPI {document['openapi']} document](files/{file.name}), which a running server"
        f" has at `/openapi.json`; this page is {HEAD}.",
    ]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            lines += ["", f"## {method.upper()} {path}", "", f"{operation['summary']}", ""]
            body = operation.get("requestBody", {}).get("content", {})
            lines += _schemas("Request", body)
            lines += _schemas("Answer", operation["responses"]["200"].get("content", {}))
            refusals = [(c, r) for c, r in operation["responses"].items() if c != "200"]
            if refusals:
                lines += ["<details><summary>Refusals</summary>", "", "| status | |", "|---|---|"]
                lines += [f"| {code} | {_cell(each['description'])} |" for code, each in refusals]
                lines += ["", "</details>", ""]
    return "\n".join(lines)


def _schemas(title: str, content: dict[str, Any]) -> list[str]:
    lines = []
    for kind, each in content.items():
        shown = json.dumps(each["schema"], indent=1, ensure_ascii=False)
        lines += [f"<details><summary>{title}: {kind}</summary>", "", "```json", shown, "```", ""]
        lines += ["</details>", ""]
    return lines


GROUPS = {
    "Open and ask": ["open", "connect", "Decider", "BatchDecider"],
    "Questions": ["Boolean", "Choice", "Score", "Option", "Describe", "Scale"],
    "Answers": [
        "Decision",
        "TypedDecision",
        "Answer",
        "BooleanAnswer",
        "ChoiceAnswer",
        "ScoreAnswer",
        "Source",
        "Usage",
        "Cut",
    ],
}
MODULES = {
    "Thresholds": [
        "thisthat.decide.target.parse_target",
        "thisthat.calibrate.fit_policy.fit_policy",
        "thisthat.decide.policy.Policy",
    ],
    "Labels, evaluation, checks": [
        "thisthat.items.labels.LabelledStates",
        "thisthat.teach.evaluate.evaluate",
        "thisthat.calibrate.coherence.check_schema",
        "thisthat.calibrate.coherence.Tolerance",
    ],
    "Log and loop": [
        "thisthat.audit.log.DecisionLog",
        "thisthat.loop.outcomes.Outcome",
        "thisthat.loop.outcomes.record",
        "thisthat.loop.labels.make_labels",
        "thisthat.loop.registry.Registry",
    ],
    "A server from Python": [
        "thisthat.remote.decider.RemoteDecider",
    ],
}


def library() -> str:
    """The page of the library: every public name of ``thisthat`` and what the pages import."""
    import thisthat

    errors = [name for name in thisthat.__all__ if name.endswith("Error")]
    grouped = {name for names in GROUPS.values() for name in names}
    more = [name for name in thisthat.__all__ if name not in grouped and name not in errors]
    groups = {
        title: [name for name in names if name in thisthat.__all__]
        for title, names in GROUPS.items()
    }
    lines = ["# Library", "", f"Everything `import thisthat` gives, from its docstrings; {HEAD}."]
    for title, names in {**groups, "More": more, "Errors": errors}.items():
        if names:
            lines += ["", f"## {title}", "", *_documented([f"thisthat.{name}" for name in names])]
    lines += ["", "The parts below are imported from their modules."]
    for title, names in MODULES.items():
        lines += ["", f"## {title}", "", *_documented(names)]
    return "\n".join([*lines, ""])


def _documented(names: list[str]) -> list[str]:
    lines = ["```{eval-rst}"]
    for name in names:
        module, _, attribute = name.rpartition(".")
        found = getattr(importlib.import_module(module), attribute)
        kind = "autoclass" if isinstance(found, type) else "autofunction"
        # A decider is opened, never made by hand.
        lines += [f".. {kind}:: {name}" + ("()" if attribute == "Decider" else "")]
        if kind == "autoclass" and not issubclass(found, Exception):
            lines += ["   :members:"]
        lines += [""]
    return [*lines, "```"]
